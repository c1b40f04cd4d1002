//! Counts: outcomes of the operations of a phase, and the invariant that they add up.
//!
//! All figures are sums, so records merge by addition. The lists in `memtide_metrics::table` name
//! them all.

use memtide_base::worded;
use memtide_metrics::counter::{Counters, DatagramClass, ErrorClass, ReplyClass, VerifyClass};
use memtide_metrics::interval::ConnectionCounters;
use memtide_scenario::Kind;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

worded! {
    /// A part of a run, in the order of time.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(test, derive(JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Phase {
        /// Filling the server.
        #[default]
        Load = "load",
        /// Load before the measured window.
        Warmup = "warmup",
        /// The measured window.
        Measure = "measure",
        /// The time after the measured window, while its last operations end.
        Cooldown = "cooldown",
    }
    /// Name in records and progress lines.
    pub const fn name;
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Counts of all phases; zero for a phase that did not happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Phases {
    /// Filling the server, with the probes before and after.
    pub load: PhaseCounts,
    /// Load before the measured window.
    pub warmup: PhaseCounts,
    /// Operations intended in the measured window.
    pub measure: PhaseCounts,
    /// Operations intended after the measured window.
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

    /// Adds the counts of `part`, phase by phase, saturating.
    pub fn add(&mut self, part: &Self) {
        let sums = [&mut self.load, &mut self.warmup, &mut self.measure, &mut self.cooldown];
        for (sum, (_, part)) in sums.into_iter().zip(part.each()) {
            sum.totals.add(&part.totals);
            add_counts(&mut sum.ops, &part.ops);
        }
    }

    /// Results of verification, over all phases.
    pub fn verification(&self) -> VerificationCounts {
        let mut sum = VerificationCounts::default();
        self.each().iter().for_each(|(_, phase)| sum.add(&phase.totals.verification));
        sum
    }
}

/// Counts of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PhaseCounts {
    /// Outcomes of the phase's operations.
    #[serde(flatten)]
    pub totals: Totals,
    /// Operations sent, by kind; kinds that were never sent are absent.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub ops: BTreeMap<Kind, u64>,
}

/// Declares a struct of counts that merge by addition. It may have members of other types, each
/// with its own `add`.
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
            /// Adds `part`, saturating.
            pub fn add(&mut self, part: &Self) {
                $($crate::record::add(&mut self.$count, part.$count);)*
                $($($add(&mut self.$also, &part.$also);)*)?
            }
        }
    };
}
pub(super) use summed;

/// Declares the counters of operations in a record.
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
            /// Outcomes of operations. Each operation ends in exactly one of answered, failed,
            /// timed_out, lost, dropped, unacknowledged and abandoned.
            Totals {
                $($(#[doc = $doc])* $(#[missing = $missing])? $count;)*
            }
            and {
                /// Errors by name: kind of error reply, cause of loss, or stage of a time-out.
                errors: BTreeMap<String, u64>, add_counts;
                /// Answers by their meaning: stored, not_stored, exists, not_found…
                replies: BTreeMap<String, u64>, add_counts;
                /// Outcomes of connections.
                connections: ConnectionCounts, ConnectionCounts::add;
                /// Results of verification; all zero without it.
                verification: VerificationCounts, VerificationCounts::add;
                /// Unusual datagrams, counted in the phase in which they were noticed; absent if
                /// there were none.
                #[serde(default, skip_serializing_if = "DatagramCounts::is_zero")]
                datagrams: DatagramCounts, DatagramCounts::add;
            }
        }

        impl From<&Counters> for Totals {
            /// Copies every counter to the member of its name; connections are counted elsewhere
            /// and stay zero.
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
    /// Checks that the outcomes add up to the intended operations; the error shows the sum.
    pub fn check_conservation(&self) -> Result<(), String> {
        if self.dropped_at_end > self.dropped {
            let (part, whole) = (self.dropped_at_end, self.dropped);
            return Err(format!("{part} of {whole} dropped operations at the end of the window"));
        }
        if self.refused > self.answered {
            let (part, whole) = (self.refused, self.answered);
            return Err(format!("{part} of {whole} answered operations were refused"));
        }
        let Self { answered, failed, timed_out, lost, dropped, unacknowledged, abandoned, .. } =
            *self;
        let outcomes = [answered, failed, timed_out, lost, dropped, unacknowledged, abandoned];
        // A record from a file may hold any numbers.
        let ended: u128 = outcomes.into_iter().map(u128::from).sum();
        match ended == u128::from(self.intended) {
            true => Ok(()),
            false => Err(format!(
                "{} operations were intended but {ended} ended: {answered} answered, {failed} \
                 failed, {timed_out} timed out, {lost} lost, {dropped} dropped, {unacknowledged} \
                 unacknowledged, {abandoned} abandoned",
                self.intended
            )),
        }
    }

    /// The part of `dropped` that found every connection full, where the scenario says to drop.
    pub const fn dropped_when_full(&self) -> u64 {
        self.dropped.saturating_sub(self.dropped_at_end)
    }

    /// Operations that were to be answered, and those of them without a good answer, as
    /// `--errors-max` counts: without noreply, without the drops that `--on-full` asked for, and
    /// with errors that count as answers.
    pub const fn tried(&self) -> (u64, u64) {
        let asked = self.dropped.saturating_sub(self.dropped_at_end);
        let left_out = self.unacknowledged.saturating_add(asked);
        let bad = self.unanswered().saturating_add(self.refused);
        (self.intended.saturating_sub(left_out), bad.saturating_sub(asked))
    }

    /// Operations without a good answer: failed, timed out, lost, dropped, abandoned.
    pub const fn unanswered(&self) -> u64 {
        self.failed + self.timed_out + self.lost + self.dropped + self.abandoned
    }
}

macro_rules! of_datagrams {
    ($($(#[doc = $doc:tt])* $class:ident => $count:ident;)*) => {
        summed! {
            /// Datagrams of replies that did not arrive once and in order. A lost datagram shows
            /// only as a timeout.
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
    /// True if all counts are zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

macro_rules! of_connections {
    ($($(#[doc = $doc:tt])* $(#[missing = $missing:ident])? $count:ident;)*) => {
        summed! {
            /// Outcomes of connections.
            ConnectionCounts {
                $($(#[doc = $doc])* $(#[missing = $missing])? $count;)*
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

/// Adds counts, name by name.
pub fn add_counts<K: Clone + Ord>(sums: &mut BTreeMap<K, u64>, parts: &BTreeMap<K, u64>) {
    for (name, count) in parts {
        add(sums.entry(name.clone()).or_default(), *count);
    }
}

/// Adds `part`, saturating: counts that were read may be near the largest value.
pub(crate) fn add(sum: &mut u64, part: u64) {
    *sum = sum.saturating_add(part);
}

macro_rules! of_verification {
    (
        of_values { $($(#[doc = $doc:tt])* $class:ident => $count:ident;)* }
        of_presence { $($(#[doc = $presence:tt])* $other:ident => $told:ident;)* }
    ) => {
        summed! {
            /// Results of verification. Each checked value is exactly one of ok, corrupt,
            /// wrong_key, stale and truncated.
            VerificationCounts {
                /// Values that were checked.
                checked;
                /// Values that were right.
                ok;
                $($(#[doc = $doc])* $count;)*
                /// Expected values that did not arrive, except for keys whose expiry is verified. A
                /// cache may have reasons to miss.
                #[missing = default]
                verify_misses;
                $(
                    $(#[doc = $presence])*
                    #[missing = default]
                    $told;
                )*
            }
        }

        impl From<&Counters> for VerificationCounts {
            fn from(counters: &Counters) -> Self {
                let of_values = VerifyClass::ALL.into_iter().filter(|class| class.is_of_value());
                let of_values = of_values.map(|class| counters.wrong[class as usize]);
                Self {
                    checked: counters.verified,
                    ok: counters.verified - of_values.sum::<u64>(),
                    $($count: counters.wrong[VerifyClass::$class as usize],)*
                    verify_misses: counters.verify_misses,
                    $($told: counters.wrong[VerifyClass::$other as usize],)*
                }
            }
        }
    };
}

memtide_metrics::verify_classes!(of_verification);

impl VerificationCounts {
    /// Number of faults of any kind: a wrong value, an unexpected value, or a missing one.
    pub const fn wrong(&self) -> u64 {
        self.checked.saturating_sub(self.ok) + self.expired_get + self.unexpired_unget
    }
}
