//! What a master makes of what agents send: rows from the seconds of their load, and at the end one
//! record from their records.
//!
//! It is pure, and asks nothing of agents.

mod seconds;

use crate::MASTER_SILENT_MAX;
use crate::master::{Lost, LostMember, Master, NAME_CHARS_MAX, Round, RoundEnd, RoundLoad, titled};
use memtide_base::Span;
use memtide_base::hex::to_hex;
use memtide_base::printable::printable;
use memtide_merge::{Merging, Scenarios, beside};
use memtide_record::event::LoadSoFar;
use memtide_record::{Aborted, Interval, Progress, Record, WarmupEnd, Warning, Wide};
use memtide_scenario::{Goal, Scenario};
use seconds::Seconds;
use std::ops::Range;

/// The most agents, lost for one reason, that are named.
const NAMED_MAX: usize = 4;

/// Data received from the agents of one run.
pub struct Taking {
    /// The agents' load, followed by the master's own, if it has one.
    parts: Vec<Part>,
    /// The run in hexadecimal, and the names of its agents by number.
    run: String,
    names: Vec<String>,
    /// The number of the master's own agent, if it makes a load of its own.
    own: Option<u32>,
    seconds: Seconds,
    so_far: LoadSoFar,
    /// The lengths of the warm-up and of the window, as far as all agents were told to end them.
    told: [Option<Span>; 2],
    /// Conditions that end the run, and the timeout of operations.
    abort_on: Vec<Goal>,
    timeout: Span,
}

/// Data received for one load of a run.
struct Part {
    /// Digest of the scenario, which all its shares have in common.
    digest: String,
    /// Its agents by number, each with the range of its shares.
    members: Vec<(u32, Range<u32>)>,
    /// The longest time that the load may take; none if unknown.
    load_max: Option<Span>,
    merging: Merging,
    /// The received record of a load that a single process makes.
    whole: Option<Record>,
    /// The agents whose records are merged.
    recorded: Vec<u32>,
    /// Those of them that made load.
    ran: Vec<u32>,
}

/// What the record of an agent must be of.
struct Expected<'a> {
    run: &'a str,
    /// The agent's name.
    name: &'a str,
    /// Its shares.
    range: Range<u32>,
    /// The beginning of its load by its own clock, if it was told.
    armed_ns: Option<u64>,
    /// Whether it was told when its window opens and closes.
    told: [bool; 2],
    /// True in a run that is stopping: the record may be of no load.
    is_stopping: bool,
}

impl Part {
    fn new(load: &RoundLoad, load_max: Option<Span>) -> Self {
        let mut first = 0;
        let members = load.members.iter().map(|&(number, units)| {
            let range = first..first + units;
            first = range.end;
            (number, range)
        });
        let members = members.collect();
        let (digest, merging) = (load.digest.clone(), Merging::new(Scenarios::Same));
        Self {
            digest,
            members,
            load_max,
            merging,
            whole: None,
            recorded: Vec::new(),
            ran: Vec::new(),
        }
    }

    fn of(&self) -> u32 {
        self.members.last().map_or(0, |(_, range)| range.end)
    }

    /// The shares of an agent, if it belongs to this load.
    fn range(&self, number: u32) -> Option<&Range<u32>> {
        self.members.iter().find(|(member, _)| *member == number).map(|(_, range)| range)
    }

    /// Adds the record of some shares; true if they made load.
    fn record(&mut self, bytes: &[u8], expected: &Expected<'_>) -> Result<bool, String> {
        let Expected { run, name, range, armed_ns, told, is_stopping } = expected;
        let text = std::str::from_utf8(bytes).map_err(|_| "its record is not text".to_owned())?;
        let record = Record::from_json(text).map_err(|why| format!("its record: {why}"))?;
        let share = record.share.as_ref().ok_or("its record is not the record of a share")?;
        let given = (range.start, range.len() as u32, self.of());
        if (share.number, share.units, share.of) != given {
            return Err(format!(
                "it sent the record of share {}, but carried out {}",
                share_words(share.number, share.units, share.of),
                share_words(range.start, range.len() as u32, self.of())
            ));
        }
        let agent = share.agent.as_ref().ok_or("its record is not that of an agent")?;
        if agent.run != *run {
            return Err("its record is of another run, such as an earlier one".to_owned());
        }
        if printable(&agent.name, NAME_CHARS_MAX) != *name {
            return Err(format!("its record is of another agent, {}", agent.name));
        }
        let agreed = armed_ns.map(|ns| Wide(ns.into()));
        let has_measured = record.measured_s > 0.0 && agreed.is_some();
        if agent.armed_ns.map_or(has_measured, |armed| Some(armed) != agreed) {
            return Err("its record is of a load that began at another instant".to_owned());
        }
        let most_s = self.load_max.map_or(f64::INFINITY, Span::as_s_f64);
        if !(0.0..=most_s + 1.0).contains(&record.measured_s) {
            let measured_s = record.measured_s;
            return Err(format!("its record measured {measured_s} s, and its load {most_s} s"));
        }
        let precision = record.plan.precision.as_ref();
        let was_told = [
            record.plan.warmup_end == WarmupEnd::Steady,
            precision.is_some_and(|it| it.reached == Some(true)),
        ];
        if has_measured && *told != was_told && !is_stopping && !record.partial {
            return Err("it did not learn in time when its measured window opens or closes".into());
        }
        if share.scenario_digest != self.digest {
            return Err("its record has another scenario than the run".to_owned());
        }
        if let (Some(why), false) = (&share.not_run, *is_stopping) {
            return Err(format!("it did not run: {why}"));
        }
        let has_run = share.not_run.is_none();
        // A record that does not fit must leave nothing behind.
        let mut with_it = self.merging.clone();
        with_it.add(record.clone()).map_err(|error| error.message(|_| "its record".to_owned()))?;
        self.merging = with_it;
        self.whole = (self.of() == 1).then_some(record);
        Ok(has_run)
    }

    fn finish(self) -> Result<Record, Lost> {
        self.merging.finish().map_err(|error| {
            let why = error.message(|at| format!("the record of agent {at}"));
            Lost { exit: Lost::UNFIT, why }
        })
    }
}

fn share_words(number: u32, units: u32, of: u32) -> String {
    match units {
        1 => format!("{number} of {of}"),
        _ => format!("{number} to {} of {of}", number.saturating_add(units) - 1),
    }
}

/// One second of the load of all agents.
#[derive(Debug)]
pub struct Row {
    /// The second for the outputs: of the agents' load, as in the record's `seconds`, without the
    /// master's own; none if no agent had a load in it.
    pub interval: Option<Interval>,
    /// The progress of the run at its end.
    pub progress: Progress,
    /// The condition that came true in it, if any.
    pub aborted: Option<Aborted>,
}

impl Taking {
    /// Nothing received yet, for the run that `master` has begun, whose agents make `scenario`
    /// together, with these lengths of the warm-up and of the window, or the longest ones. The
    /// second load of the round is the master's own.
    pub fn new(
        scenario: &Scenario,
        warmup: Span,
        duration: Option<Span>,
        round: &Round,
        master: &Master,
    ) -> Self {
        let parts = round.parts.iter().map(|load| Part::new(load, round.load_max)).collect();
        let agents = master.agents();
        Self {
            parts,
            run: to_hex(&master.run()),
            names: agents.iter().map(|agent| agent.name.clone()).collect(),
            own: agents.iter().find(|agent| agent.is_own).map(|agent| agent.number),
            seconds: Seconds::default(),
            so_far: LoadSoFar::new(warmup, duration, scenario.ops_max),
            told: [None; 2],
            abort_on: scenario.trust.abort_on.clone(),
            timeout: scenario.timeout,
        }
    }

    /// Takes note that all agents were told to open their windows after this warm-up.
    pub fn opened(&mut self, warmup: Span) {
        self.told[0] = Some(warmup);
        self.so_far.warmup = warmup;
    }

    /// Takes note that all agents were told to close their windows at this length.
    pub fn closed(&mut self, duration: Span) {
        self.told[1] = Some(duration);
        self.so_far.duration = Some(duration);
    }

    /// The records so far of agents, merged; none if they do not fit together.
    pub fn merged(records: impl Iterator<Item = Vec<u8>>) -> Option<Record> {
        let mut merging = Merging::new(Scenarios::Same);
        for bytes in records {
            let record = Record::from_json(std::str::from_utf8(&bytes).ok()?).ok()?;
            merging.add(record).ok()?;
        }
        merging.finish().ok()
    }

    /// Adds a second of agent `number`, when `passed` has passed since all loads were armed.
    ///
    /// # Errors
    /// If it cannot be read, or the agent counts other seconds than this master.
    pub fn second(&mut self, number: u32, bytes: &[u8], passed: Span) -> Result<(), String> {
        self.seconds.add(number, Interval::from_bytes(bytes)?, passed)
    }

    /// The next second of the load of all agents, once each whose load runs has reported it.
    /// Progress and conditions are of all that the servers get.
    pub fn row(&mut self, loading: &[u32]) -> Option<Row> {
        let own = self.parts.get(1).and_then(|own| Some(own.members.first()?.0));
        let (all, interval) = self.seconds.row(loading, own, &self.names)?;
        let is_of_agents = own.is_some();
        let interval = interval.map(|it| Interval { is_of_agents, ..it });
        let progress = self.so_far.after(&all);
        let aborted = all.aborted(&self.abort_on, self.timeout);
        Some(Row { interval, progress, aborted })
    }

    /// Adds the record of agent `number`, whose load was to begin at `armed_ns` of its clock, if it
    /// was. In a run that is stopping, the record may be of no load.
    ///
    /// # Errors
    /// If it is damaged, or does not belong to the agent's share of this run.
    pub fn record(
        &mut self,
        number: u32,
        bytes: &[u8],
        armed_ns: Option<u64>,
        is_stopping: bool,
    ) -> Result<(), String> {
        let mut parts = self.parts.iter_mut();
        let found = parts.find_map(|part| Some((part.range(number)?.clone(), part)));
        let (range, part) = found.ok_or("it carried out no share of this run")?;
        let expected = Expected {
            run: &self.run,
            name: self.names.get(number as usize).map_or("", String::as_str),
            range,
            armed_ns,
            told: self.told.map(|of| of.is_some()),
            is_stopping,
        };
        if part.record(bytes, &expected)? {
            part.ran.push(number);
        }
        part.recorded.push(number);
        Ok(())
    }

    /// The record of a round with this end, and the reason why the run failed all the same, if it
    /// did.
    ///
    /// # Errors
    /// The reason why there is no record.
    pub fn finish(self, end: &RoundEnd) -> Result<(Record, Option<Lost>), Lost> {
        let surplus = self.surplus();
        let failure = end.has_failed.then(|| self.failure(end));
        let mut parts = self.parts.into_iter();
        let agents = match parts.next() {
            Some(agents) if !agents.recorded.is_empty() => agents.finish()?,
            _ => return Err(failure.unwrap_or_else(|| unfit("no agent sent a record"))),
        };
        let (mut record, failure) = match parts.next().map(|own| own.whole) {
            None => (agents, failure),
            Some(Some(own)) => (beside(agents, own), failure),
            Some(None) => (agents, failure.or_else(|| Some(unfit(UNMEASURED)))),
        };
        if let Some((agents, operations)) = surplus {
            record.rows_without_record = Some(operations);
            record.warnings.push((&Warning::RowsWithoutRecord { agents, operations }).into());
        }
        Ok((record, failure))
    }

    /// The failure of a run that lost agents. The master's own load is none of the agents that the
    /// user named.
    fn failure(&self, end: &RoundEnd) -> Lost {
        let exit = end.lost.first().map_or(Lost::UNREACHABLE, |agent| agent.lost.exit);
        let alone = end.alone.iter().map(|agent| {
            let why = format!("it heard nothing from its master for {MASTER_SILENT_MAX}");
            let lost = Lost { exit: Lost::UNREACHABLE, why };
            LostMember { number: 0, label: agent.clone(), lost }
        });
        let incomplete: Vec<_> = end.lost.iter().cloned().chain(alone).collect();
        let agents = (0..self.names.len() as u32).filter(|number| self.own != Some(*number));
        let ran = agents.clone().filter(|it| self.parts.iter().any(|part| part.ran.contains(it)));
        let rest = match (ran.count(), agents.count()) {
            (0, _) => "there is no result".to_owned(),
            (count, of) => format!("the result is partial: {count} of {of} agents"),
        };
        Lost { exit, why: format!("{}; {rest}", lost_sentences(&incomplete).join("; ")) }
    }

    /// The agents whose records did not arrive, and the number of their operations that rows hold.
    fn surplus(&self) -> Option<(String, u64)> {
        let numbers = (0..self.names.len() as u32)
            .filter(|number| !self.parts.iter().any(|part| part.recorded.contains(number)));
        let shown: Vec<(u32, u64)> = numbers.map(|it| (it, self.seconds.shown(it))).collect();
        let named = shown.iter().filter(|(_, operations)| *operations > 0);
        let named: Vec<&str> = named.map(|(at, _)| self.names[*at as usize].as_str()).collect();
        let operations = shown.iter().fold(0, |sum: u64, (_, of)| sum.saturating_add(*of));
        let agents = match named[..] {
            [] => return None,
            [one] => format!("agent {one}"),
            [first, .., last] if named.len() > NAMED_MAX => {
                format!("{} agents from {first} to {last}", named.len())
            }
            _ => format!("agents {}", named.join(", ")),
        };
        Some((agents, operations))
    }
}

fn unfit(why: &str) -> Lost {
    Lost { exit: Lost::UNFIT, why: why.to_owned() }
}

const UNMEASURED: &str = "the master's own load has no result, so nothing was measured";

/// For each reason for which agents were lost, a sentence without its full stop that names the
/// first of these agents.
pub fn lost_sentences(lost: &[LostMember]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for LostMember { label, lost: Lost { why, .. }, .. } in lost {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, labels)) => labels.push(label),
            None => reasons.push((why, vec![label])),
        }
    }
    let sentences = reasons.iter().map(|(why, labels)| match labels[..] {
        [one] => format!("{}: {why}", titled(one)),
        [..] if labels.len() <= NAMED_MAX => format!("agents {}: {why}", labels.join(", ")),
        [..] => {
            let (named, others) = (labels[..NAMED_MAX].join(", "), labels.len() - NAMED_MAX);
            format!("agents {named} and {others} more: {why}")
        }
    });
    sentences.collect()
}

#[cfg(test)]
mod tests;
