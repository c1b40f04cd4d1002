//! What agents report, made one: each second of their load, and in the end their records.

use memtide_base::Sentence;
use memtide_base::Span;
use memtide_cluster::master::{AgentFacts, Lost, RoundEnd};
use memtide_run::{Failure, Outcome};
use memtide_schema::event::LoadSoFar;
use memtide_schema::record::Aborted;
use memtide_schema::scenario::Goal;
use memtide_schema::{Interval, Merging, Progress, Record, Scenario, Scenarios, WrongValues};

/// How many agents that were lost for one reason are named.
const NAMED_MAX: usize = 4;

/// What was taken of the agents of one run.
pub(super) struct Taking {
    merging: Merging,
    /// How many records are in it.
    count: usize,
    /// What all shares of the run have: the digest of their scenario.
    digest: String,
    so_far: LoadSoFar,
    /// Conditions that end the run, and how long operations wait for their answers.
    abort_on: Vec<Goal>,
    timeout: Span,
}

/// A second of the load of all agents.
pub(super) struct Seconds {
    pub(super) interval: Interval,
    pub(super) progress: Progress,
    /// The condition that it met, if any.
    pub(super) aborted: Option<Aborted>,
}

impl Taking {
    /// Nothing was taken yet of a run of `scenario` with this digest.
    pub(super) fn new(scenario: &Scenario, digest: String) -> Self {
        Self {
            merging: Merging::new(Scenarios::Same),
            count: 0,
            digest,
            so_far: LoadSoFar::new(scenario.warmup, scenario.duration, scenario.ops_max),
            abort_on: scenario.trust.abort_on.clone(),
            timeout: scenario.timeout,
        }
    }

    /// Takes a second of every agent; an error names the agent whose second cannot be read.
    pub(super) fn seconds(
        &mut self,
        seconds: &[(u32, Vec<u8>)],
    ) -> Result<Option<Seconds>, (u32, String)> {
        let mut intervals = Vec::with_capacity(seconds.len());
        for (number, bytes) in seconds {
            let interval = Interval::from_bytes(bytes);
            intervals.push(interval.map_err(|why| (*number, why))?);
        }
        let Some(interval) = Interval::merged(&intervals) else { return Ok(None) };
        let progress = self.so_far.after(&interval);
        let aborted = interval.aborted(&self.abort_on, self.timeout);
        Ok(Some(Seconds { interval, progress, aborted }))
    }

    /// Takes the record of agent `number`; of a run that is stopping it may be of no load.
    ///
    /// Cause: The record is damaged, or belongs to another share or run.
    ///
    /// To do: use the same version of memtide on all machines; if it is, report it.
    pub(super) fn record(
        &mut self,
        bytes: &[u8],
        number: u32,
        (agents, is_stopping): (&[AgentFacts], bool),
    ) -> Result<(), String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "its record is not text".to_owned())?;
        let record = Record::from_json(text).map_err(|why| format!("its record: {why}"))?;
        let share = record.share.as_ref().ok_or("its record is not of a share")?;
        let of = agents.len() as u32;
        if (share.number, share.of) != (number, of) {
            let (theirs, all) = (share.number, share.of);
            return Err(format!(
                "its record is of share {theirs} of {all}, but it was given {number} of {of}"
            ));
        }
        if share.scenario_digest != self.digest {
            return Err("its record is of another scenario than the run's".to_owned());
        }
        if let (Some(why), false) = (&share.not_run, is_stopping) {
            return Err(format!("it did not run: {why}"));
        }
        // One that does not fit leaves nothing of itself behind.
        let mut with_it = self.merging.clone();
        with_it.add(record).map_err(|error| error.message(|_| "its record".to_owned()))?;
        self.merging = with_it;
        self.count += 1;
        Ok(())
    }

    /// The result of the round that ended so.
    ///
    /// Cause: Agents were lost, and more than --allow-lost allows.
    ///
    /// To do: see why each was lost, and start the run again.
    pub(super) fn finish(self, end: &RoundEnd, of: usize) -> Result<Outcome, Failure> {
        let failure = end.has_failed.then(|| failure(end, self.count, of));
        match failure {
            Some(failure) if self.count == 0 => Err(failure),
            failure => {
                let record = self.merging.finish().map_err(|error| {
                    let message = error.message(|at| format!("the record of agent {at}"));
                    Failure { exit: 1, sentence: Sentence::new(message) }
                })?;
                Ok(Outcome { record, failure, wrong_values: WrongValues::default() })
            }
        }
    }
}

/// What the loss of agents means for the run.
fn failure(end: &RoundEnd, count: usize, of: usize) -> Failure {
    let exit = end.lost.first().map_or(1, |(_, _, lost)| lost.exit);
    let rest = match count {
        0 => "there is no result".to_owned(),
        count => format!("the result is of {count} of {of} agents and partial"),
    };
    let text = format!("{}; {rest}", lost_sentences(&end.lost).join("; "));
    Failure { exit, sentence: Sentence::new(text) }
}

/// What became of agents that were lost: a sentence, without its full stop, for each reason, with
/// the first of those that have it.
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
