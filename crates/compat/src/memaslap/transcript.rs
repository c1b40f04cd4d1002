//! memaslap's output during a run: turns each event into the text printed then. Prints nothing
//! itself, and keeps only the state that later texts need.

use super::options::{Length, Options};
use super::text::{Formatter, Kinds, Period, RunCounts, TimeFigures};
use crate::Printed;
use crate::printed::beside;
use memtide_base::Span;
use memtide_metrics::Histogram;
use memtide_record::{Distribution, Event, Record, TimesSoFar};
use memtide_scenario::{Kind, Scenario};
use std::collections::BTreeMap;

/// The output of one command line, from the events of its run.
#[derive(Clone, Debug)]
pub struct Transcript<'a> {
    formatter: Formatter<'a>,
    options: &'a Options,
    /// The mean length of a key and its value.
    object_bytes: f64,
    /// The state at the last print of statistics.
    last: Seen,
}

/// The counts at an instant of a run.
#[derive(Clone, Debug, Default)]
struct Seen {
    elapsed: Span,
    gets: Histogram<u64>,
    sets: Histogram<u64>,
    misses: u64,
}

impl<'a> Transcript<'a> {
    /// The transcript for `options` and the `scenario` made of them.
    pub fn new(options: &'a Options, scenario: &Scenario) -> Self {
        let lengths = [scenario.key_size.law().mean(), scenario.value_size.law().mean()];
        let known = lengths.into_iter().sum::<Option<f64>>();
        let object_bytes = known.unwrap_or_else(|| options.data.object_bytes() as f64);
        Self { formatter: Formatter::new(options), options, object_bytes, last: Seen::default() }
    }

    /// The text before the first event.
    pub fn begin(&self) -> Printed {
        Printed { stdout: self.formatter.header(), ..Printed::default() }
    }

    /// The interval at which [`Event::Times`] is needed.
    pub fn looks_every(&self) -> Option<Span> {
        let is_timed = matches!(self.options.length, Length::Time(_));
        self.options.output.statistics_every.filter(|_| is_timed)
    }

    /// The text for `event`.
    ///
    /// # Errors
    /// If a record's histogram cannot be read back; the sentence names it.
    pub fn on(&mut self, event: &Event) -> Result<Printed, String> {
        Ok(match event {
            Event::Times(times) => Printed { stdout: self.period(times), ..Printed::default() },
            Event::Done(record) => {
                let notes = warnings(record) + &beside(record);
                let stdout = self.formatter.end(&self.totals(record)?);
                Printed { stdout, stderr: self.returns(record), notes }
            }
            _ => Printed::default(),
        })
    }

    /// The lines about lost and restored servers, in the order of their events.
    fn returns(&self, record: &Record) -> String {
        if !self.options.target.is_reconnecting {
            return String::new();
        }
        let mut lines = Vec::new();
        for of in &record.servers {
            let mut servers = self.options.target.servers.iter();
            let server = servers.find(|server| server.to_string() == of.name);
            let Some(server) = server else { continue };
            for away in &of.outages {
                lines.push((away.from_unix_ms, self.formatter.lost(server)));
                if let Some(until_unix_ms) = away.until_unix_ms {
                    let away_s = (until_unix_ms - away.from_unix_ms).div_ceil(1_000);
                    lines.push((until_unix_ms, self.formatter.back(server, away_s)));
                }
            }
        }
        lines.sort_by_key(|(at_unix_ms, _)| *at_unix_ms);
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn period(&mut self, times: &TimesSoFar) -> String {
        let now = Seen::of(times);
        let before = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        let [elapsed_s, before_s] = [now, &before].map(|seen| seen.elapsed.ns() / 1_000_000_000);
        self.formatter.period(&Period {
            length_s: elapsed_s.saturating_sub(before_s),
            elapsed_s,
            period: kinds(
                &now.gets.since(&before.gets),
                &now.sets.since(&before.sets),
                now.misses - before.misses,
            ),
            whole: kinds(&now.gets, &now.sets, now.misses),
        })
    }

    /// The counts of the whole run, without the fill.
    fn totals(&self, record: &Record) -> Result<RunCounts, String> {
        let missed = record.response.get(&Kind::GetMiss).map_or(0, |times| times.count);
        let (gets, sets) = (times(&record.service, Kind::Get)?, times(&record.service, Kind::Set)?);
        let kinds = kinds(&gets, &sets, missed);
        let (measure, cooldown) = (&record.phases.measure, &record.phases.cooldown);
        let phases = [measure, cooldown].map(|phase| &phase.totals);
        let sum = |of: fn(&memtide_record::Totals) -> u64| phases.into_iter().map(of).sum();
        let sets = [measure, cooldown].map(|phase| phase.ops.get(&Kind::Set).copied().unwrap_or(0));
        let sets = sets.into_iter().sum::<u64>();
        Ok(RunCounts {
            kinds,
            gets: sum(|totals| totals.keys_asked),
            sets,
            misses: sum(|totals| totals.misses),
            verify_misses: sum(|totals| totals.verification.verify_misses),
            verify_failed: sum(|totals| {
                totals.verification.checked.saturating_sub(totals.verification.ok)
            }),
            expired_found: sum(|totals| totals.verification.expired_get),
            unexpired_missed: sum(|totals| totals.verification.unexpired_unget),
            bytes_sent: sum(|totals| totals.bytes_sent),
            bytes_received: sum(|totals| totals.bytes_received),
            // Exact if all lengths are equal.
            object_bytes: (sets as f64 * self.object_bytes).round() as u64,
            datagrams_disordered: sum(|totals| totals.datagrams.disordered),
            datagrams_lost: sum(|totals| totals.datagrams.lost),
            udp_timeouts: sum(|totals| totals.timed_out),
            run_s: record.measured_s,
        })
    }
}

impl Seen {
    fn of(times: &TimesSoFar) -> Self {
        let [gets, sets] = [Kind::Get, Kind::Set]
            .map(|kind| times.service.get(&kind).cloned().unwrap_or_default());
        let misses = times.service.get(&Kind::GetMiss).map_or(0, Histogram::count);
        Self { elapsed: times.elapsed, gets, sets, misses }
    }
}

/// Further warnings about the run, one per line, with remedies where memaslap has options for them.
fn warnings(record: &Record) -> String {
    let lines = record.warnings.iter().map(|warning| {
        let remedy =
            remedy(&warning.remedy).map_or_else(String::new, |remedy| format!("; {remedy}"));
        format!("memtide: {}{remedy}\n", warning.message)
    });
    lines.collect()
}

/// memaslap's options for memtide's options that remedies name.
const OPTIONS: [(&str, &str); 5] = [
    ("--duration", "--time"),
    ("--rate", "--tps"),
    ("--connections", "--concurrency"),
    ("--keys", "--win_size"),
    ("--threads", "--threads"),
];

/// A remedy with memaslap's options, without the parts that need another option; `None` if nothing
/// is left.
fn remedy(ours: &str) -> Option<String> {
    let parts = ours.split(", ").filter_map(|part| {
        let mut words = Vec::new();
        for word in part.split(' ') {
            let Some(at) = word.find("--") else {
                words.push(word.to_owned());
                continue;
            };
            let (before, flag) = word.split_at(at);
            let end = flag.find([')', ';', ':']).unwrap_or(flag.len());
            let (flag, after) = flag.split_at(end);
            let (_, theirs) = OPTIONS.iter().find(|(known, _)| *known == flag)?;
            words.push(format!("{before}{theirs}{after}"));
        }
        Some(words.join(" "))
    });
    let parts: Vec<String> = parts.collect();
    let said = parts.join(", ");
    let said = said.strip_prefix("or ").unwrap_or(&said);
    (!said.is_empty()).then(|| said.to_owned())
}

/// The figures of get, of set, and of both.
fn kinds(gets: &Histogram<u64>, sets: &Histogram<u64>, misses: u64) -> Kinds {
    let mut total = gets.clone();
    total.absorb(sets);
    Kinds {
        gets: TimeFigures::of(gets, misses),
        sets: TimeFigures::of(sets, 0),
        total: TimeFigures::of(&total, misses),
    }
}

fn times(of: &BTreeMap<Kind, Distribution>, kind: Kind) -> Result<Histogram<u64>, String> {
    let times = of.get(&kind).map_or_else(|| Some(Histogram::new()), Distribution::times);
    times.ok_or_else(|| {
        format!(
            "the record is damaged: the histogram of {} does not hold what its counts say",
            kind.name()
        )
    })
}

#[cfg(test)]
mod tests;
