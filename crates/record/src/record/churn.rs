//! Figures of connection churn, and the invariant that its counts add up.
//!
//! The calls on these connections are counted as operations.

use super::count::{add, add_counts, summed};
use super::{Distribution, Phases};
use memtide_metrics::{ChurnCounters, ChurnFate};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Connection churn; figures without a phase are of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ChurnRecord {
    /// Mean target rate in connections per second; none if each connection opened when another
    /// ended.
    pub target_per_s: Option<f64>,
    /// Connections started, per second.
    pub started_per_s: f64,
    /// Most connections open or connecting at once. Over workers and shards the sum of each one's
    /// maximum, so an upper bound.
    pub concurrent_max: u64,
    /// Connections intended before the measured window.
    pub warmup: ChurnCounts,
    /// Connections intended in the measured window.
    pub measure: ChurnCounts,
    /// Connections intended after the measured window.
    pub cooldown: ChurnCounts,
    /// Time from a connection's intended instant until it is open; connections that never opened
    /// rank above all others.
    pub connect: Distribution,
    /// Time from the start of the connect until the connection is open.
    pub connect_service: Distribution,
    /// Time from the start of the connect until TCP is established.
    #[serde(default)]
    pub connect_tcp: Distribution,
    /// Time from there until the connection is open: the handshake of TLS, and authentication.
    #[serde(default)]
    pub handshake: Distribution,
    /// Time from the open connection to its first answer.
    #[serde(default)]
    pub first_reply: Distribution,
    /// Time from the start of the connect to the connection's end, for connections that opened.
    pub lifetime: Distribution,
    /// Calls that all intended connections would have made.
    pub calls_planned: u64,
    /// Calls that became intended operations.
    pub calls_intended: u64,
}

summed! {
    /// Outcomes of connections. Each ends in exactly one of completed, failed, lost, dropped and
    /// abandoned.
    ChurnCounts {
        /// Connections that the schedule, or the end of another connection, called for.
        intended;
        /// Connections whose connect started.
        started;
        /// Connections that opened.
        opened;
        /// Opened, made all calls, and closed.
        completed;
        /// Could not be opened.
        failed;
        /// Opened, and lost before their end.
        lost;
        /// Never started, because every slot was taken.
        dropped;
        /// Still connecting or open when the run ended.
        abandoned;
        /// Calls that were not made because their connection failed, was lost, dropped or
        /// abandoned.
        calls_not_made;
    }
    and {
        /// Causes of failure and loss by name: refused, no_ports, reset…
        causes: BTreeMap<String, u64>, add_counts;
    }
}

impl From<&ChurnCounters> for ChurnCounts {
    fn from(counters: &ChurnCounters) -> Self {
        let fates = &counters.fates;
        let causes = ChurnFate::ALL.into_iter().filter(|fate| fate.is_failed() || fate.is_lost());
        let causes = causes.map(|fate| (fate.name().to_owned(), fates[fate as usize]));
        Self {
            intended: counters.intended,
            started: counters.started,
            opened: counters.opened,
            completed: fates[ChurnFate::Completed as usize],
            failed: counters.of(ChurnFate::is_failed),
            lost: counters.of(ChurnFate::is_lost),
            dropped: fates[ChurnFate::Dropped as usize],
            abandoned: fates[ChurnFate::Abandoned as usize],
            calls_not_made: counters.calls_unmade,
            causes: causes.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

impl ChurnCounts {
    /// Checks that each connection ended once; the error shows the sum.
    fn check_conservation(&self) -> Result<(), String> {
        // A record from a file may hold any numbers.
        let Self { intended, completed, failed, lost, dropped, abandoned, .. } = *self;
        let ended: u128 =
            [completed, failed, lost, dropped, abandoned].map(u128::from).iter().sum();
        if ended != u128::from(intended) {
            return Err(format!(
                "{intended} connections were intended but {ended} ended: {completed} completed, \
                 {failed} failed, {lost} lost, {dropped} dropped, {abandoned} abandoned"
            ));
        }
        let caused: u128 = self.causes.values().map(|&count| u128::from(count)).sum();
        match caused == u128::from(failed) + u128::from(lost) {
            true => Ok(()),
            false => Err(format!(
                "{failed} connections failed and {lost} were lost, but there are causes for \
                 {caused}"
            )),
        }
    }
}

impl ChurnRecord {
    /// The counts of each phase, by name.
    pub fn phases(&self) -> [(&'static str, &ChurnCounts); 3] {
        [("warmup", &self.warmup), ("measure", &self.measure), ("cooldown", &self.cooldown)]
    }

    /// Adds the counts of `part`, saturating; times and rates stay.
    pub fn add_counts(&mut self, part: &Self) {
        add(&mut self.concurrent_max, part.concurrent_max);
        add(&mut self.calls_planned, part.calls_planned);
        add(&mut self.calls_intended, part.calls_intended);
        let sums = [&mut self.warmup, &mut self.measure, &mut self.cooldown];
        sums.into_iter().zip(part.phases()).for_each(|(sum, (_, part))| sum.add(part));
    }

    /// True if connections were started and none opened.
    pub(crate) fn none_opened(&self) -> bool {
        let phases = self.phases();
        phases.iter().any(|(_, it)| it.started > 0) && phases.iter().all(|(_, it)| it.opened == 0)
    }

    /// Checks that every intended connection ended once, and that each of its calls was either
    /// intended or not made. The error names what does not add up.
    pub(crate) fn check_conservation(&self) -> Result<(), String> {
        for (phase, counts) in self.phases() {
            counts.check_conservation().map_err(|why| format!("{phase}: {why}"))?;
        }
        let unmade: u128 =
            self.phases().iter().map(|(_, counts)| u128::from(counts.calls_not_made)).sum();
        match u128::from(self.calls_intended) + unmade == u128::from(self.calls_planned) {
            true => Ok(()),
            false => Err(format!(
                "connections would have made {} calls, but {} were intended and {unmade} left \
                 unmade",
                self.calls_planned, self.calls_intended
            )),
        }
    }

    /// Calls intended according to `phases`, which must count nothing but calls.
    pub fn calls_of(phases: &Phases) -> u64 {
        let Phases { warmup, measure, cooldown, .. } = phases;
        [warmup, measure, cooldown]
            .iter()
            .fold(0, |sum, phase| sum.saturating_add(phase.totals.intended))
    }
}
