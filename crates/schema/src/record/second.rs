//! A load in seconds, by what ended in them and what was under way at their ends.

use super::count::Totals;
use super::server::ServerReport;
use memtide_metrics::Counters;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What ended in about a second of the load, whenever it was intended, and what was under way at
/// its end. Together, these have the counts of warm-up, measured window and cool-down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SecondRecord {
    /// Where it begins, in seconds after the load began.
    pub start_s: f64,
    /// How long it is, in seconds.
    pub length_s: f64,
    /// Operations that ended in it, and what became of them.
    #[serde(flatten)]
    pub counts: SettledCounts,
    /// The median response of the measured operations that were answered in it; none when too few.
    pub response_p50_ns: Option<u64>,
    /// The 99th percentile of their response; none when too few.
    pub response_p99_ns: Option<u64>,
    /// What was under way at its end.
    #[serde(flatten)]
    pub under_way: UnderWay,
    /// Counts of each server, in the order of `plan.servers`; absent with one server, and with
    /// more than 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerSecond>,
    /// Counts of operations that no server was chosen for; absent where there were none. With
    /// those of all servers they add up to the second's counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_server: Option<SettledCounts>,
    /// What each worker had under way at its end, in their order; absent with more than 16 workers,
    /// and after the last of them has finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerSecond>,
    /// What servers said of themselves in it, by name; absent where none was asked, and with more
    /// than 16.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<String, ServerReport>,
}

/// What ended of one server's operations in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerSecond {
    /// Operations that ended, and what became of them.
    #[serde(flatten)]
    pub counts: SettledCounts,
    /// Connections to it that were open at the end; none where connections are the load.
    pub connections_open: Option<u64>,
}

/// How one worker was at the end of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WorkerSecond {
    /// Operations that were sent and have not ended.
    pub in_flight: u64,
    /// Connections that are open.
    pub connections_open: u64,
    /// How long its oldest operation has been due that is not sent yet, in seconds; none where
    /// nothing waits.
    pub oldest_due_s: Option<f64>,
    /// The part of the stretch in which it was busy, 0 to 1; none unless all of it is in the
    /// measured window.
    pub busy: Option<f64>,
}

macro_rules! settled {
    (
        told {
            $(
                $(#[doc = $doc:tt])* $(#[missing = $missing:ident])?
                $counter:ident => $count:ident: $of_server:ty
                $(, second $second:ident $meaning:literal)?;
            )*
        }
        untold $untold:tt
    ) => {
        /// Operations that ended, in a stretch of time, and what became of them.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize,
        )]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct SettledCounts {
            /// Operations that ended.
            pub settled: u64,
            $($(
                #[doc = $meaning]
                pub $second: u64,
            )?)*
        }

        impl From<&Counters> for SettledCounts {
            fn from(counters: &Counters) -> Self {
                Self { settled: counters.settled(), $($($second: counters.$second,)?)* }
            }
        }

        impl From<&Totals> for SettledCounts {
            /// Of operations that have all ended.
            fn from(totals: &Totals) -> Self {
                let ended = [totals.unanswered(), totals.unacknowledged];
                let settled = ended.iter().fold(totals.answered, |sum, n| sum.saturating_add(*n));
                Self { settled, $($($second: totals.$second,)?)* }
            }
        }

        impl SettledCounts {
            /// Each count of `self` with that of `other`, by `of`.
            fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
                Self {
                    settled: of(self.settled, other.settled),
                    $($($second: of(self.$second, other.$second),)?)*
                }
            }
        }
    };
}

memtide_metrics::counters!(settled);

impl SettledCounts {
    /// The sum of both; it stops at the end of its type.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// All outcomes of operations that ended; none when that is more than fits.
    pub fn ended(&self) -> Option<u64> {
        let outcomes = [
            self.answered,
            self.failed,
            self.timed_out,
            self.lost,
            self.dropped,
            self.unacknowledged,
            self.abandoned,
        ];
        outcomes.into_iter().try_fold(0u64, u64::checked_add)
    }

    /// What came after `earlier`, of which all is in this.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, |now, then| now - then)
    }
}

/// What is under way at an instant of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UnderWay {
    /// Operations that were sent and have not ended.
    pub in_flight: Option<u64>,
    /// Operations that are due and not sent: exact with fixed gaps, else as many as the rate called
    /// for since the oldest of them. None in a closed loop, and where how long a worker is behind
    /// does not tell by how many: with a schedule for each connection or client, with a rate in
    /// keys, and where connections are the load.
    pub backlog: Option<u64>,
    /// How long the oldest operation has been due that is not sent yet, in seconds; 0 where nothing
    /// waits, none in a closed loop, which has no backlog.
    pub oldest_due_s: Option<f64>,
    /// Connections that are open.
    pub connections_open: Option<u64>,
}
