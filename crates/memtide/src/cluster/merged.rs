//! Merges what agents send: each second of their load, and at the end their records.

use super::seconds::Seconds;
use crate::exit::FAILED;
use memtide_base::{Sentence, Span};
use memtide_cluster::master::{Lost, RoundEnd};
use memtide_run::{Failure, RunOutcome};
use memtide_schema::event::LoadSoFar;
use memtide_schema::record::Aborted;
use memtide_schema::scenario::Goal;
use memtide_schema::{
    Interval, Merging, Progress, Record, Scenario, Scenarios, WrongValues, beside,
};
use std::ops::Range;

/// Largest number of agents, lost for one reason, that are named.
const NAMED_MAX: usize = 4;

/// Data received from the agents of one run.
pub(super) struct Taking {
    /// The agents' load, followed by the master's own, if it has one.
    parts: Vec<TakenPart>,
    seconds: Seconds,
    so_far: LoadSoFar,
    /// Conditions that end the run, and the timeout of operations.
    abort_on: Vec<Goal>,
    timeout: Span,
}

/// Data received for one load of a run.
pub(super) struct TakenPart {
    /// Digest of the scenario, which all its shares have in common.
    digest: String,
    /// Its agents by number, each with the range of its shares.
    members: Vec<(u32, Range<u32>)>,
    merging: Merging,
    /// The received record of a load that a single process makes.
    whole: Option<Record>,
    /// Number of records merged.
    count: usize,
}

impl TakenPart {
    /// Nothing received yet, for a load whose scenario has this digest; `members` are its agents,
    /// each with its number of shares.
    pub(super) fn new(digest: String, members: &[(u32, u32)]) -> Self {
        let mut first = 0;
        let range = |&(number, units): &(u32, u32)| {
            let range = first..first + units;
            first = range.end;
            (number, range)
        };
        let members = members.iter().map(range).collect();
        Self { digest, members, merging: Merging::new(Scenarios::Same), whole: None, count: 0 }
    }

    fn of(&self) -> u32 {
        self.members.last().map_or(0, |(_, range)| range.end)
    }

    /// The shares of an agent, if it belongs to this load.
    fn range(&self, number: u32) -> Option<&Range<u32>> {
        self.members.iter().find(|(member, _)| *member == number).map(|(_, range)| range)
    }

    /// Adds a record of the shares in `range`. In a run that is stopping, the record may be of no
    /// load.
    ///
    /// Cause: The record is damaged, or belongs to another share or run.
    ///
    /// To do: use the same version of memtide on all machines; if it is, report it.
    fn record(
        &mut self,
        bytes: &[u8],
        range: &Range<u32>,
        is_stopping: bool,
    ) -> Result<(), String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "its record is not text".to_owned())?;
        let record = Record::from_json(text).map_err(|why| format!("its record: {why}"))?;
        let share = record.share.as_ref().ok_or("its record is not the record of a share")?;
        let given = (range.start, range.len() as u32, self.of());
        if (share.number, share.units, share.of) != given {
            let theirs = (share.number, share.units, share.of);
            let words = |(number, units, of): (u32, u32, u32)| match units {
                1 => format!("{number} of {of}"),
                _ => format!("{number} to {} of {of}", number.saturating_add(units) - 1),
            };
            return Err(format!(
                "it sent the record of share {}, but carried out {}",
                words(theirs),
                words(given)
            ));
        }
        if share.scenario_digest != self.digest {
            return Err("its record has another scenario than the run".to_owned());
        }
        if let (Some(why), false) = (&share.not_run, is_stopping) {
            return Err(format!("it did not run: {why}"));
        }
        // A record that does not fit must leave nothing behind.
        let mut with_it = self.merging.clone();
        with_it.add(record.clone()).map_err(|error| error.message(|_| "its record".to_owned()))?;
        self.merging = with_it;
        self.whole = (self.of() == 1).then_some(record);
        self.count += 1;
        Ok(())
    }

    fn finish(self) -> Result<Record, Failure> {
        self.merging.finish().map_err(|error| {
            let message = error.message(|at| format!("the record of agent {at}"));
            Failure { exit: FAILED, sentence: Sentence::new(message) }
        })
    }
}

/// One second of the load of all agents.
pub(super) struct Row {
    /// The second for the outputs: of the agents' load, as in the record's `seconds`, without the
    /// master's own.
    pub(super) interval: Interval,
    pub(super) progress: Progress,
    /// The condition that came true in it, if any.
    pub(super) aborted: Option<Aborted>,
}

impl Taking {
    /// Nothing received yet, for a run whose agents make `scenario` together.
    pub(super) fn new(scenario: &Scenario, parts: Vec<TakenPart>) -> Self {
        Self {
            parts,
            seconds: Seconds::default(),
            so_far: LoadSoFar::new(scenario.warmup, scenario.duration, scenario.ops_max),
            abort_on: scenario.trust.abort_on.clone(),
            timeout: scenario.timeout,
        }
    }

    /// Adds a second of agent `number`, when `passed` has passed since all loads were armed.
    pub(super) fn second(&mut self, number: u32, bytes: &[u8], passed: Span) -> Result<(), String> {
        self.seconds.add(number, Interval::from_bytes(bytes)?, passed)
    }

    /// The next second of the load of all agents, once each whose load runs has reported it.
    /// Progress and conditions are of all that the servers get.
    pub(super) fn row(&mut self, loading: &[u32]) -> Option<Row> {
        let own = self.parts.get(1).and_then(|own| Some(own.members.first()?.0));
        let [all, interval] = self.seconds.row(loading, own)?;
        let progress = self.so_far.after(&all);
        let aborted = all.aborted(&self.abort_on, self.timeout);
        Some(Row { interval, progress, aborted })
    }

    /// Adds the record of agent `number`. In a run that is stopping, the record may be of no load.
    pub(super) fn record(
        &mut self,
        bytes: &[u8],
        number: u32,
        is_stopping: bool,
    ) -> Result<(), String> {
        let mut parts = self.parts.iter_mut();
        let found = parts.find_map(|part| Some((part.range(number)?.clone(), part)));
        let (range, part) = found.ok_or("it carried out no share of this run")?;
        part.record(bytes, &range, is_stopping)
    }

    /// The result of a round of `of` agents with this end.
    ///
    /// Cause: Agents were lost, and more than --allow-lost allows.
    ///
    /// To do: see why each was lost, and start the run again.
    pub(super) fn finish(self, end: &RoundEnd, of: usize) -> Result<RunOutcome, Failure> {
        let count = self.parts.iter().map(|part| part.count).sum();
        let failure = end.has_failed.then(|| failure(end, count, of));
        let mut parts = self.parts.into_iter();
        let none = || Failure { exit: FAILED, sentence: Sentence::new("no agent sent a record") };
        let agents = match parts.next() {
            Some(agents) if agents.count > 0 => agents.finish()?,
            _ => return Err(failure.unwrap_or_else(none)),
        };
        let (record, failure) = match parts.next().map(|own| own.whole) {
            None => (agents, failure),
            Some(Some(own)) => (beside(agents, own), failure),
            Some(None) => (agents, failure.or_else(|| Some(unmeasured()))),
        };
        Ok(RunOutcome { record, failure, wrong_values: WrongValues::default() })
    }
}

/// Cause: The load of the master's own, which was to be measured, has ended without a record.
///
/// To do: see what was said before, and start the run again.
fn unmeasured() -> Failure {
    let why = "the master's own load has no result, so nothing was measured";
    Failure { exit: FAILED, sentence: Sentence::new(why) }
}

/// The failure of a run that lost agents.
fn failure(end: &RoundEnd, count: usize, of: usize) -> Failure {
    let exit = end.lost.first().map_or(FAILED, |(_, _, lost)| lost.exit);
    let rest = match count {
        0 => "there is no result".to_owned(),
        count => format!("the result is partial: {count} of {of} agents"),
    };
    let text = format!("{}; {rest}", lost_sentences(&end.lost).join("; "));
    Failure { exit, sentence: Sentence::new(text) }
}

/// For each reason for which agents were lost, a sentence without its full stop that names the
/// first of these agents.
pub(super) fn lost_sentences(lost: &[(u32, String, Lost)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (_, label, Lost { why, .. }) in lost {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, labels)) => labels.push(label),
            None => reasons.push((why, vec![label])),
        }
    }
    let sentence = |(why, labels): &(&str, Vec<&str>)| match labels.len() {
        1 => format!("agent {}: {why}", labels[0]),
        count if count <= NAMED_MAX => format!("agents {}: {why}", labels.join(", ")),
        count => {
            let (named, others) = (labels[..NAMED_MAX].join(", "), count - NAMED_MAX);
            format!("agents {named} and {others} more: {why}")
        }
    };
    reasons.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::{Lost, lost_sentences};

    #[test]
    fn lost_agents_are_named_by_reason_and_not_all_of_many() {
        let lost = |number: u32, why: &str| {
            (number, format!("a{number}"), Lost { exit: 3, why: why.to_owned() })
        };
        let mut all: Vec<_> = (0..6).map(|number| lost(number, "it was silent")).collect();
        all.push(lost(6, "its disk is full"));
        let sentences = lost_sentences(&all);
        assert_eq!(
            sentences,
            ["agents a0, a1, a2, a3 and 2 more: it was silent", "agent a6: its disk is full"]
        );
    }
}
