//! Counts: what became of the operations of a phase, and the law that they add up.
//!
//! All figures are sums, so records merge by adding them. Which there are is said by the lists of
//! `memtide_metrics::table`.

mod verification;

pub use verification::VerificationCounts;

use crate::kind::Kind;
use memtide_metrics::counter::{Counters, DatagramClass, ErrorClass, ReplyClass};
use memtide_metrics::interval::ConnectionCounters;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Filling the server.
    Load,
    /// Load before the measured window.
    Warmup,
    /// The measured window.
    Measure,
    /// After it, while the last measured operations end.
    Cooldown,
}

impl Phase {
    /// The name in records and progress lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Warmup => "warmup",
            Self::Measure => "measure",
            Self::Cooldown => "cooldown",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The counts of all phases; zero where one did not happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Phases {
    /// Filling the server, with the probes before and after.
    pub load: PhaseCounts,
    /// Load before the measured window.
    pub warmup: PhaseCounts,
    /// Operations intended in the measured window.
    pub measure: PhaseCounts,
    /// Operations intended after it.
    pub cooldown: PhaseCounts,
}

impl Phases {
    /// Every phase with its counts, in order.
    pub fn each(&self) -> [(Phase, &PhaseCounts); 4] {
        [
            (Phase::Load, &self.load),
            (Phase::Warmup, &self.warmup),
            (Phase::Measure, &self.measure),
            (Phase::Cooldown, &self.cooldown),
        ]
    }
}

impl Phases {
    /// What verification found in all phases together.
    pub fn verification(&self) -> VerificationCounts {
        let mut sum = VerificationCounts::default();
        self.each().iter().for_each(|(_, phase)| sum.add(&phase.totals.verification));
        sum
    }
}

/// The counts of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PhaseCounts {
    /// What became of its operations.
    #[serde(flatten)]
    pub totals: Totals,
    /// Operations sent, by kind; kinds that were never sent are absent.
    pub ops: BTreeMap<Kind, u64>,
}

/// A struct of counts that merge by adding. It may have members of other kinds, which have an
/// `add` of their own.
macro_rules! summed {
    (
        $(#[$about:meta])*
        $name:ident {
            $($(#[doc = $doc:tt])* $(#[missing = $missing:ident])? $count:ident;)*
        }
        $(and {
            $($(#[$also_about:meta])* $also:ident: $also_type:ty, $add:expr;)*
        })?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($missing)])?
                pub $count: u64,
            )*
            $($(
                $(#[$also_about])*
                pub $also: $also_type,
            )*)?
        }

        impl $name {
            /// Adds `part`. A sum stops at the end of its type.
            pub(crate) fn add(&mut self, part: &Self) {
                $($crate::record::add(&mut self.$count, part.$count);)*
                $($($add(&mut self.$also, &part.$also);)*)?
            }
        }
    };
}
pub(super) use summed;

/// What a record tells of the counters of operations.
macro_rules! totals {
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
        summed! {
            /// What became of operations. Each one ends in exactly one of answered, failed,
            /// timed_out, lost, dropped, unacknowledged and abandoned.
            Totals {
                $($(#[doc = $doc])* $(#[missing = $missing])? $count;)*
            }
            and {
                /// Errors by what they were: a kind of error reply, a cause of loss, a stage of a
                /// time-out.
                errors: BTreeMap<String, u64>, add_counts;
                /// Answers by what they said: stored, not_stored, exists, not_found…
                replies: BTreeMap<String, u64>, add_counts;
                /// What became of connections.
                connections: ConnectionCounts, ConnectionCounts::add;
                /// What verification found; all zero without it.
                verification: VerificationCounts, VerificationCounts::add;
                /// Unusual datagrams, by when they were noticed; absent where there were none.
                #[serde(default, skip_serializing_if = "DatagramCounts::is_zero")]
                datagrams: DatagramCounts, DatagramCounts::add;
            }
        }

        impl From<&Counters> for Totals {
            /// Every counter under its name; connections are counted elsewhere and stay zero.
            fn from(counters: &Counters) -> Self {
                let replies = ReplyClass::ALL.iter().map(|class| class.name().to_owned());
                let errors = ErrorClass::ALL.iter().map(|class| class.name().to_owned());
                Self {
                    $($count: counters.$counter,)*
                    errors: errors.zip(counters.errors).collect(),
                    replies: replies.zip(counters.replies).collect(),
                    connections: ConnectionCounts::default(),
                    verification: counters.into(),
                    datagrams: counters.into(),
                }
            }
        }
    };
}

memtide_metrics::counters!(totals);

impl Totals {
    /// Whether the outcomes add up to what was intended; the error shows the sum.
    pub fn check_conservation(&self) -> Result<(), String> {
        if self.dropped_at_end > self.dropped {
            let (part, whole) = (self.dropped_at_end, self.dropped);
            return Err(format!("{part} of {whole} dropped operations at the end of the window"));
        }
        let outcomes = [
            self.answered,
            self.failed,
            self.timed_out,
            self.lost,
            self.dropped,
            self.unacknowledged,
            self.abandoned,
        ];
        // A record that was read may hold any numbers.
        let ended: u128 = outcomes.into_iter().map(u128::from).sum();
        match ended == u128::from(self.intended) {
            true => Ok(()),
            false => Err(format!(
                "{} operations were intended but {ended} ended: {} answered, {} failed, \
                 {} timed out, {} lost, {} dropped, {} unacknowledged, {} abandoned",
                self.intended,
                self.answered,
                self.failed,
                self.timed_out,
                self.lost,
                self.dropped,
                self.unacknowledged,
                self.abandoned
            )),
        }
    }

    /// Those of `dropped` that found every connection full, which the scenario said to drop.
    pub const fn dropped_when_full(&self) -> u64 {
        self.dropped.saturating_sub(self.dropped_at_end)
    }

    /// Operations that ended without a good answer: failed, timed out, lost, dropped, abandoned.
    pub const fn unanswered(&self) -> u64 {
        self.failed + self.timed_out + self.lost + self.dropped + self.abandoned
    }
}

macro_rules! of_datagrams {
    ($($(#[doc = $doc:tt])* $class:ident => $count:ident;)*) => {
        summed! {
            /// Datagrams of replies that did not come once and in order. Only a timeout tells that
            /// one is lost.
            #[derive(Copy)]
            DatagramCounts {
                $($(#[doc = $doc])* $count;)*
            }
        }

        impl From<&Counters> for DatagramCounts {
            fn from(counters: &Counters) -> Self {
                Self { $($count: counters.datagrams[DatagramClass::$class as usize],)* }
            }
        }
    };
}

memtide_metrics::datagram_classes!(of_datagrams);

impl DatagramCounts {
    /// Whether there were none.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

macro_rules! of_connections {
    ($($(#[doc = $doc:tt])* $count:ident;)*) => {
        summed! {
            /// What became of connections.
            ConnectionCounts {
                $($(#[doc = $doc])* $count;)*
            }
        }

        impl From<&ConnectionCounters> for ConnectionCounts {
            fn from(counters: &ConnectionCounters) -> Self {
                Self { $($count: counters.$count,)* }
            }
        }
    };
}

memtide_metrics::connection_counters!(of_connections);

/// Adds counts by their names.
pub(crate) fn add_counts<K: Clone + Ord>(sums: &mut BTreeMap<K, u64>, parts: &BTreeMap<K, u64>) {
    for (name, count) in parts {
        add(sums.entry(name.clone()).or_default(), *count);
    }
}

/// Counts that were read may be near the end of their type; a sum stops there.
pub(crate) fn add(sum: &mut u64, part: u64) {
    *sum = sum.saturating_add(part);
}
