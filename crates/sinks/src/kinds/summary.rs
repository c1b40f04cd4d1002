//! Totals of runs as a table that grows: a row of CSV for each run, or for each step of a search or
//! scan, appended to a file for spreadsheets.

use crate::Sink;
use memtide_record::compare::FIGURES;
use memtide_record::{Distribution, Event, Record};
use memtide_scenario::Kind;
use serde_json::{Value, to_value};
use std::io::{self, Write};

/// A column: its name, and its cell for a run. A figure that the run does not have is empty.
type Column = (&'static str, fn(&Record) -> String);

/// The columns before those of [`FIGURES`], with the names of the record's members. A file keeps
/// its columns: see [`SummaryRows::heading`].
const COLUMNS: &[Column] = &[
    ("started_unix_ms", |it| it.started_unix_ms.to_string()),
    ("version", |it| it.machine.memtide_version.clone()),
    ("tags", |it| joined(it.tags.iter().map(|(name, value)| format!("{name}={value}")))),
    ("servers", |it| joined(it.servers.iter().map(|server| server.name.clone()))),
    ("loop", |it| word(to_value(it.loop_kind))),
    ("measured_s", |it| it.measured_s.to_string()),
    ("target_per_s", |it| given(it.rate.target_per_s)),
    ("achieved_per_s", |it| number(it.rate.achieved_per_s)),
    ("keys_per_s", |it| given(it.rate.keys_per_s)),
    ("intended", |it| it.totals.intended.to_string()),
    ("answered", |it| it.totals.answered.to_string()),
    ("unanswered", |it| it.totals.unanswered().to_string()),
    ("bytes_sent", |it| it.totals.bytes_sent.to_string()),
    ("bytes_received", |it| it.totals.bytes_received.to_string()),
    ("mean_ns", |it| given(all(it).and_then(|times| times.mean_ns))),
    ("p50_ns", |it| given(all(it).and_then(|times| times.p50_ns))),
    ("p90_ns", |it| given(all(it).and_then(|times| times.p90_ns))),
    ("p95_ns", |it| given(all(it).and_then(|times| times.p95_ns))),
    ("p99_ns", |it| given(all(it).and_then(|times| times.p99_ns))),
    ("p999_ns", |it| given(all(it).and_then(|times| times.p999_ns))),
    ("p9999_ns", |it| given(all(it).and_then(|times| times.p9999_ns))),
    ("max_ns", |it| given(all(it).and_then(|times| times.max_ns))),
    ("mean_at_least_ns", |it| given(all(it).and_then(|times| times.mean_at_least_ns))),
    ("max_at_least_ns", |it| given(all(it).and_then(|times| times.max_at_least_ns))),
    ("believable", |it| word(to_value(it.believable.verdict))),
    ("ended_by", |it| word(to_value(it.ended_by))),
    ("partial", |it| it.partial.to_string()),
    ("exit", |it| it.exit.to_string()),
];

/// A sink that writes a row for each run that ends, and one for a master's own load beside it.
#[derive(Debug)]
pub struct SummaryRows<W> {
    out: W,
    has_heading: bool,
    /// True for the steps of a search or scan.
    of_steps: bool,
}

impl<W: Write> SummaryRows<W> {
    /// A sink for a run that appends to `out`, which has the heading already or not.
    pub const fn new(out: W, has_heading: bool) -> Self {
        Self { out, has_heading, of_steps: false }
    }

    /// This sink, for the steps of a search or scan.
    #[must_use]
    pub fn of_steps(self) -> Self {
        Self { of_steps: true, ..self }
    }

    /// The first line of every file.
    pub fn heading() -> String {
        let figures = FIGURES.iter().map(|figure| figure.member("_per_s"));
        let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).chain(figures);
        names.chain(["load".to_owned()]).collect::<Vec<_>>().join(",") + "\n"
    }
}

impl<W: Write + Send> Sink for SummaryRows<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let record = match event {
            Event::Done(record) if !self.of_steps => record,
            Event::StepDone(step) if self.of_steps => &step.record,
            _ => return Ok(()),
        };
        let mut text = if self.has_heading { String::new() } else { Self::heading() };
        self.has_heading = true;
        match &record.own {
            None => text += &row(record, ""),
            Some(own) => text += &(row(record, "agents") + &row(own, "master")),
        }
        // In one piece, so that rows of runs that end together do not mix.
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_) | Event::StepDone(_))
    }

    /// The exit code of a step is its own.
    fn has_exit(&self) -> bool {
        !self.of_steps
    }
}

/// The row of a load, with the word that tells it apart from another load of the same run.
fn row(record: &Record, load: &str) -> String {
    let figures = FIGURES.iter().map(|figure| given(figure.of(record).value));
    let cells = COLUMNS.iter().map(|(_, cell)| quoted(cell(record))).chain(figures);
    cells.chain([load.to_owned()]).collect::<Vec<_>>().join(",") + "\n"
}

fn all(record: &Record) -> Option<&Distribution> {
    record.response.get(&Kind::All)
}

fn given<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn number(value: f64) -> String {
    given(value.is_finite().then_some(value))
}

/// A choice as the record spells it.
fn word(value: serde_json::Result<Value>) -> String {
    value.ok().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// A cell in quotes if it needs them (RFC 4180 §2).
fn quoted(cell: String) -> String {
    match cell.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests;
