//! A load by second: outcomes in each second, and in flight and backlog at its end.

use super::count::Totals;
use super::server::ServerReport;
use memtide_metrics::Counters;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of about one second of the load: outcomes in it, whenever operations were intended, and
/// the state at its end. Together, the seconds have the counts of warm-up, measured window and
/// cool-down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SecondRecord {
    /// Beginning, in seconds after the load began.
    pub start_s: f64,
    /// Length, in seconds.
    pub length_s: f64,
    /// Operations that ended in the second, by outcome.
    #[serde(flatten)]
    pub counts: SettledCounts,
    /// Median response time of measured operations that ended in the second; unanswered ones rank
    /// above the others. None if it falls among these, or if there are too few.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of these response times.
    pub response_p99_ns: Option<u64>,
    /// In flight and backlog at the second's end.
    #[serde(flatten)]
    pub under_way: UnderWay,
    /// Counts by server, in the order of `plan.servers`; absent with one server, and with more than
    /// 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerSecond>,
    /// Counts of operations for which no server was chosen; absent if there were none. These and
    /// the counts of all servers add up to the second's counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_server: Option<SettledCounts>,
    /// State of each worker at the second's end, in the order of workers; absent with more than 16
    /// workers, and after the last worker has finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerSecond>,
    /// Reports of the servers, by name; absent if none was queried, and with more than 16.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<String, ServerReport>,
    /// The machine that made the load; absent if it is unknown, and in what several machines did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSecond>,
}

/// The machine that makes the load, in a stretch of time: all its processes, memtide among them. A
/// figure is none if the kernel does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct HostSecond {
    /// Busy fraction of each CPU, 0 to 1, in the order of their numbers; absent with more than 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<f64>,
    /// Busy fraction of all CPUs together.
    pub cpu_busy: Option<f64>,
    /// Busy fraction of the busiest CPU.
    pub cpu_busy_max: Option<f64>,
    /// Fraction of all CPUs' time in which work was ready and the hypervisor ran something else.
    pub stolen: Option<f64>,
    /// Threads that ran or were ready to run at the end.
    pub runnable: Option<u64>,
    /// Bytes that all network interfaces received, loopback included.
    pub received_bytes: Option<u64>,
    /// Bytes that all network interfaces sent.
    pub sent_bytes: Option<u64>,
    /// Packets that network interfaces dropped, of both directions.
    pub dropped_packets: Option<u64>,
    /// TCP segments that were sent again.
    pub retransmits: Option<u64>,
    /// Memory that new processes could use at the end, in bytes.
    pub available_bytes: Option<u64>,
}

impl HostSecond {
    /// Both stretches as one; `self` was before `next`, and each is as long as its number says.
    #[must_use]
    pub(crate) fn then(&self, length: f64, next: &Self, next_length: f64) -> Self {
        let lengths = [length, next_length];
        let is_same = self.cpus.len() == next.cpus.len() && length + next_length > 0.0;
        let cpus = self.cpus.iter().zip(&next.cpus).filter(|_| is_same);
        Self {
            cpus: cpus.map(|(a, b)| mean([*a, *b], lengths)).collect(),
            cpu_busy: known_mean([self.cpu_busy, next.cpu_busy], lengths),
            cpu_busy_max: self.cpu_busy_max.zip(next.cpu_busy_max).map(|(a, b)| a.max(b)),
            stolen: known_mean([self.stolen, next.stolen], lengths),
            runnable: next.runnable,
            received_bytes: plus(self.received_bytes, next.received_bytes),
            sent_bytes: plus(self.sent_bytes, next.sent_bytes),
            dropped_packets: plus(self.dropped_packets, next.dropped_packets),
            retransmits: plus(self.retransmits, next.retransmits),
            available_bytes: next.available_bytes,
        }
    }
}

/// The mean of two figures of stretches of these lengths.
fn mean(figures: [f64; 2], [length, next_length]: [f64; 2]) -> f64 {
    (figures[0] * length + figures[1] * next_length) / (length + next_length)
}

/// Such a mean; none unless both figures are known.
fn known_mean([a, b]: [Option<f64>; 2], lengths: [f64; 2]) -> Option<f64> {
    Some(mean([a?, b?], lengths)).filter(|mean| mean.is_finite())
}

/// The sum of two values; none unless both are known.
pub(crate) fn plus(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

/// Outcomes of one server's operations in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerSecond {
    /// Operations that ended, by outcome.
    #[serde(flatten)]
    pub counts: SettledCounts,
    /// Open connections to the server at the end; none under connection churn.
    pub connections_open: Option<u64>,
}

/// State of one worker at the end of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WorkerSecond {
    /// Operations in flight: sent and not ended.
    pub in_flight: u64,
    /// Open connections.
    pub connections_open: u64,
    /// Age of the worker's backlog in seconds: time since its oldest unsent operation was due; none
    /// without a backlog.
    pub oldest_due_s: Option<f64>,
    /// Fraction of the stretch in which the worker was busy, 0 to 1; none unless the whole stretch
    /// is in the measured window.
    pub busy: Option<f64>,
    /// Fraction of the stretch in which the worker was ready to run and another thread had its CPU;
    /// none unless the whole stretch is in the measured window, and if the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<f64>,
}

impl WorkerSecond {
    /// The state after both stretches; `self` was before `next`, and each is as long as its number
    /// says. How busy it was is known only if it is known of both.
    pub(crate) fn then(&self, length: f64, next: &Self, next_length: f64) -> Self {
        let lengths = [length, next_length];
        Self {
            busy: known_mean([self.busy, next.busy], lengths),
            kept: known_mean([self.kept, next.kept], lengths),
            ..*next
        }
    }
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
        /// Operations that ended in a stretch of time, by outcome.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize,
        )]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct SettledCounts {
            /// Number of operations that ended.
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
            /// Counts of operations that have all ended.
            fn from(totals: &Totals) -> Self {
                let ended = [totals.unanswered(), totals.unacknowledged];
                let settled = ended.iter().fold(totals.answered, |sum, n| sum.saturating_add(*n));
                Self { settled, $($($second: totals.$second,)?)* }
            }
        }

        impl SettledCounts {
            /// Combines each count of `self` with that of `other` by `of`.
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
    /// Sum of both, saturating.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// Number of operations that ended, over all outcomes; none on overflow.
    pub fn ended(&self) -> Option<u64> {
        let Self { answered, failed, timed_out, lost, dropped, unacknowledged, abandoned, .. } =
            *self;
        let outcomes = [answered, failed, timed_out, lost, dropped, unacknowledged, abandoned];
        outcomes.into_iter().try_fold(0u64, u64::checked_add)
    }

    /// Growth since `earlier`, which must be part of `self`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, |now, then| now - then)
    }
}

/// In flight and backlog at one instant of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UnderWay {
    /// Operations in flight: sent and not ended.
    pub in_flight: Option<u64>,
    /// Operations due and not sent: exact with fixed gaps, else the number that the rate called for
    /// since the oldest of them was due. None in a closed loop, and where a worker's delay does not
    /// determine the number: with a schedule for each connection or client, with a rate in keys,
    /// and under connection churn.
    pub backlog: Option<u64>,
    /// Age of the backlog in seconds: time since the oldest unsent operation was due; 0 without a
    /// backlog, none in a closed loop.
    pub oldest_due_s: Option<f64>,
    /// Open connections.
    pub connections_open: Option<u64>,
}
