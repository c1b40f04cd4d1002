//! What became of connections that were themselves the load, and the law that they add up.
//!
//! Their calls are operations and stand with these.

use super::{Distribution, Phases};
use memtide_metrics::{LifeCounters, LifeFate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Connections as the load; figures without a phase are of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifeRecord {
    /// Mean rate that the schedule called for, in connections per second; none when each came
    /// when another had ended.
    pub target_per_s: Option<f64>,
    /// Connections begun, per second.
    pub begun_per_s: f64,
    /// The most that lived at once, connecting included; over workers and shards the sum of what
    /// each had, so it is a bound.
    pub concurrent_max: u64,
    /// Connections intended before the window.
    pub warmup: LifeCounts,
    /// Connections intended in it.
    pub measure: LifeCounts,
    /// Connections intended after it.
    pub cooldown: LifeCounts,
    /// From a connection's intended instant to its being open; those that never opened rank above
    /// all others.
    pub connect: Distribution,
    /// From the beginning of the connect to its being open.
    pub connect_service: Distribution,
    /// From the beginning of the connect to the end, of those that opened.
    pub lifetime: Distribution,
    /// Calls that all intended connections would have made.
    pub calls_planned: u64,
    /// Calls that were intended.
    pub calls_intended: u64,
}

/// What became of connections. Each ends in exactly one of lived, failed, lost, dropped and
/// abandoned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LifeCounts {
    /// Connections that the schedule, or the end of another, called for.
    pub intended: u64,
    /// Those of which the connect was begun.
    pub begun: u64,
    /// Those that opened.
    pub opened: u64,
    /// Opened, made all calls, and were closed.
    pub lived: u64,
    /// Could not be opened.
    pub failed: u64,
    /// Opened, and lost before the end.
    pub lost: u64,
    /// Never begun, because every place was taken.
    pub dropped: u64,
    /// Not at their end when the run was.
    pub abandoned: u64,
    /// Calls that those never made which failed, were lost, dropped or abandoned.
    pub calls_unmade: u64,
    /// Why they failed or were lost, by name: refused, no_ports, reset…
    pub causes: BTreeMap<String, u64>,
}

impl From<&LifeCounters> for LifeCounts {
    fn from(counters: &LifeCounters) -> Self {
        let of = |fate: LifeFate| counters.fates[fate as usize];
        let cause = |fate: &LifeFate| (fate.is_failed() || fate.is_lost()) && of(*fate) > 0;
        let causes = LifeFate::ALL.into_iter().filter(cause);
        Self {
            intended: counters.intended,
            begun: counters.started,
            opened: counters.opened,
            lived: of(LifeFate::Lived),
            failed: counters.of(LifeFate::is_failed),
            lost: counters.of(LifeFate::is_lost),
            dropped: of(LifeFate::Dropped),
            abandoned: of(LifeFate::Abandoned),
            calls_unmade: counters.calls_unmade,
            causes: causes.map(|fate| (fate.name().to_owned(), of(fate))).collect(),
        }
    }
}

impl LifeCounts {
    /// Whether each ended once; the error shows the sum.
    fn check_conservation(&self) -> Result<(), String> {
        // A record that was read may hold any numbers.
        let sum = |counts: &[u64]| counts.iter().map(|&count| u128::from(count)).sum::<u128>();
        let Self { intended, lived, failed, lost, dropped, abandoned, .. } = *self;
        let ended = sum(&[lived, failed, lost, dropped, abandoned]);
        if ended != u128::from(intended) {
            return Err(format!(
                "{intended} connections were intended but {ended} ended: {lived} lived, {failed} \
                 failed, {lost} lost, {dropped} dropped, {abandoned} abandoned"
            ));
        }
        let caused: u128 = self.causes.values().map(|&count| u128::from(count)).sum();
        match caused == sum(&[failed, lost]) {
            true => Ok(()),
            false => Err(format!(
                "{failed} connections failed and {lost} were lost, but there are causes for \
                 {caused}"
            )),
        }
    }
}

impl LifeRecord {
    /// The counts of each phase by its name.
    pub fn phases(&self) -> [(&'static str, &LifeCounts); 3] {
        [("warmup", &self.warmup), ("measure", &self.measure), ("cooldown", &self.cooldown)]
    }

    /// Whether every intended connection ended once, and every call that they would have made was
    /// either intended or left unmade. The error names what does not add up.
    pub(crate) fn check_conservation(&self) -> Result<(), String> {
        for (phase, counts) in self.phases() {
            counts.check_conservation().map_err(|why| format!("{phase}: {why}"))?;
        }
        let unmade: u128 =
            self.phases().iter().map(|(_, counts)| u128::from(counts.calls_unmade)).sum();
        match u128::from(self.calls_intended) + unmade == u128::from(self.calls_planned) {
            true => Ok(()),
            false => Err(format!(
                "connections would have made {} calls, but {} were intended and {unmade} left \
                 unmade",
                self.calls_planned, self.calls_intended
            )),
        }
    }

    /// Calls that are intended according to `phases`, which are of nothing else.
    pub fn calls_of(phases: &Phases) -> u64 {
        let Phases { warmup, measure, cooldown, .. } = phases;
        [warmup, measure, cooldown]
            .iter()
            .fold(0, |sum, phase| sum.saturating_add(phase.totals.intended))
    }
}
