//! The points of InfluxDB: one for a measured operation, or for a second of one kind of operations.
//!
//! Tags have few values each; figures that differ from operation to operation are fields. The time
//! of a point is the intended instant of its operation, moved by single nanoseconds if another
//! point of its series has it; the true instant is in the field `intended`.

use super::delivery::Feed;
use super::line::{number, series, tag};
use super::unique::Instants;
use crate::ending::OutputStop;
use crate::{SampleOrigin, Sink};
use memtide_base::rng::mix;
use memtide_base::{Instant, Span};
use memtide_record::event::IntervalRow;
use memtide_record::{Event, Record, Sample, SampleOutcome};
use memtide_scenario::{InfluxNames, Kind, RUN_TAG, Tags};
use serde_json::Value;
use std::collections::HashMap;
use std::io;

/// The facts that all points of a run share.
#[derive(Clone, Debug)]
pub struct InfluxRun {
    /// The names of measurements and tags.
    pub names: InfluxNames,
    /// The run's id, which no other run has: the user's tag `run`.
    pub run: String,
    /// The share of a run that several processes make; empty for a whole run.
    pub share: String,
    /// The user's other tags.
    pub tags: Vec<(String, String)>,
}

impl InfluxRun {
    /// A run with the user's `tags`, of which `run` is its id.
    pub fn new(names: InfluxNames, tags: &Tags, share: String) -> Self {
        let run = tags.get(RUN_TAG).cloned().unwrap_or_default();
        let others = tags.iter().filter(|(name, _)| *name != RUN_TAG);
        let tags = others.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { names, run, share, tags }
    }

    fn series(&self, name: &str, own: &[(&str, &str)]) -> String {
        let names = &self.names;
        let mut tags = own.to_vec();
        tags.extend([(&*names.run, &*self.run), (&*names.share, &*self.share)]);
        tags.extend(self.tags.iter().map(|(name, value)| (&**name, &**value)));
        series(name, &tags)
    }
}

/// A sink that makes a point of each measured operation.
#[derive(Debug)]
pub struct InfluxOperations {
    run: InfluxRun,
    feed: Feed,
    /// The meaning of the samples' numbers.
    origin: SampleOrigin,
    known: HashMap<(Kind, SampleOutcome, Option<usize>), Series>,
    /// The number of series so far.
    series: usize,
    /// The step of a search or scan.
    step: Option<u32>,
    instants: Instants,
}

/// A series of operations.
#[derive(Debug)]
struct Series {
    number: usize,
    /// Its measurement and tags.
    head: String,
}

impl InfluxOperations {
    /// A sink that makes points of `run` for `feed`; in a search or scan from step `step` on.
    pub fn new(run: InfluxRun, feed: Feed, step: Option<u32>) -> Self {
        Self {
            run,
            feed,
            origin: SampleOrigin::default(),
            known: HashMap::new(),
            series: 0,
            step,
            instants: Instants::default(),
        }
    }

    fn add(&mut self, sample: &Sample) {
        let server = sample.connection.and_then(|at| self.origin.leads.get(&at).copied());
        let next = &mut self.series;
        let key = (sample.kind, sample.outcome, server);
        let (run, servers, step) = (&self.run, &self.origin.servers, self.step);
        let series = self.known.entry(key).or_insert_with(|| {
            let names = &run.names;
            let step = step.map_or_else(String::new, |step| step.to_string());
            let server = server.and_then(|at| servers.get(at)).map_or("", String::as_str);
            let own = [
                (&*names.kind, sample.kind.name()),
                (&*names.outcome, sample.outcome.name()),
                (&*names.server, server),
                (&*names.step, &*step),
            ];
            *next += 1;
            Series { number: *next, head: run.series(&names.operations, &own) }
        });
        let intended = self.origin.unix_ns + sample.intended.since(Instant::ZERO).ns();
        let at = self.instants.take(series.number, intended);
        let out = self.feed.lines();
        out.extend_from_slice(series.head.as_bytes());
        field(out, " intended=", intended);
        field(out, ",index=", sample.index);
        field(out, ",bytes=", sample.bytes);
        if let Some(connection) = sample.connection {
            field(out, ",connection=", connection.into());
        }
        let intended = Some(sample.intended);
        for (name, end, start) in [
            (",response=", sample.received, intended),
            (",service=", sample.received, sample.sent),
            (",lag=", sample.sent, intended),
        ] {
            if let Some((end, start)) = end.zip(start) {
                field(out, name, end.since(start).ns());
            }
        }
        out.push(b' ');
        number(out, at);
        out.push(b'\n');
        self.feed.added();
    }
}

impl Sink for InfluxOperations {
    fn set_origin(&mut self, origin: &SampleOrigin) {
        self.origin = origin.clone();
    }

    /// Begins the next step of a search or scan.
    fn restart(&mut self) -> io::Result<()> {
        self.step = self.step.map(|step| step + 1);
        self.known.clear();
        Ok(())
    }

    fn on(&mut self, event: &Event) -> io::Result<()> {
        if let Event::Sample(sample) = event {
            self.add(sample);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.feed.tick();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.feed.flush();
        Ok(())
    }
}

/// Writes a field with a whole number; `name` has the separator before it.
fn field(out: &mut Vec<u8>, name: &str, value: u64) {
    out.extend_from_slice(name.as_bytes());
    number(out, value);
    out.push(b'i');
}

/// A sink that makes a point of each second and kind; its fields are the columns of an intervals
/// file.
#[derive(Debug)]
pub struct InfluxIntervals {
    run: InfluxRun,
    feed: Feed,
    /// True to take the seconds of a record.
    is_of_record: bool,
    step: Option<u32>,
    /// The instant at which the load began: the origin of a record's seconds, too, so that its
    /// points replace those of the run.
    began_unix_ns: u64,
    /// The end of the last row of this load.
    until: Span,
}

impl InfluxIntervals {
    /// A sink that makes points for `feed` of the seconds of a load, as they end.
    pub const fn live(run: InfluxRun, feed: Feed) -> Self {
        Self::new(run, feed, false)
    }

    /// A sink that makes points for `feed` of the seconds of a record.
    pub const fn of_record(run: InfluxRun, feed: Feed) -> Self {
        Self::new(run, feed, true)
    }

    const fn new(run: InfluxRun, feed: Feed, is_of_record: bool) -> Self {
        let (began_unix_ns, until) = (0, Span::ZERO);
        Self { run, feed, is_of_record, step: None, began_unix_ns, until }
    }

    /// Adds the point of a row that ends this long after the beginning of the load.
    fn add(&mut self, row: &IntervalRow, end: Span) {
        let at_unix_ns = self.began_unix_ns.saturating_add(end.ns());
        let names = &self.run.names;
        let step = self.step.map_or_else(String::new, |step| step.to_string());
        let mut kind = "";
        let mut fields = Vec::new();
        for (name, value) in row.cells() {
            match value {
                Value::String(word) if name == "kind" => kind = word,
                Value::String(word) => fields.push(format!("{}=\"{word}\"", tag(name))),
                Value::Number(number) if name != "step" => {
                    let end = if number.is_f64() { "" } else { "i" };
                    fields.push(format!("{}={number}{end}", tag(name)));
                }
                _ => {}
            }
        }
        let own = [(&*names.kind, kind), (&*names.step, &*step)];
        let head = self.run.series(&names.intervals, &own);
        let line = format!("{head} {} {at_unix_ns}\n", fields.join(","));
        self.feed.lines().extend_from_slice(line.as_bytes());
        self.feed.added();
    }

    /// Makes the points of a record's seconds: equal ones each time, with the tags of the record.
    ///
    /// # Errors
    /// If points cannot have a tag of the record.
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let names = self.run.names.clone();
        names
            .check(&record.tags)
            .map_err(|why| OutputStop::failed(format!("the record has the {why}")))?;
        let share = record.share.as_ref().map_or_else(String::new, |it| it.number.to_string());
        self.run = InfluxRun::new(names, &record.tags, share);
        if self.run.run.is_empty() {
            let facts = [record.started_unix_ms, record.ended_unix_ms, record.totals.intended];
            let word = facts.into_iter().fold(0, |word, fact| mix(word ^ fact));
            self.run.run = format!("{word:016x}");
        }
        let started = record.started_unix_ms.saturating_mul(1_000_000);
        self.began_unix_ns = record.load_began_unix_ns().unwrap_or(started);
        for (second, row) in record.seconds.iter().zip(IntervalRow::of_record(record)) {
            let end = Span::from_s_f64(second.start_s) + Span::from_s_f64(second.length_s);
            self.add(&row, end);
        }
        Ok(())
    }
}

impl Sink for InfluxIntervals {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Done(record) if self.is_of_record => self.record(record)?,
            _ if self.is_of_record => {}
            Event::StepBegun(step) => self.step = Some(step.number),
            Event::LoadBegun(unix_ns) => self.began_unix_ns = *unix_ns,
            Event::Done(record) => {
                if let Some(row) = IntervalRow::surplus(record, self.step, self.until) {
                    self.add(&row, self.until);
                    self.feed.flush();
                }
            }
            Event::Interval(interval) => {
                self.until = interval.end();
                for row in IntervalRow::of_interval(interval, self.step) {
                    self.add(&row, interval.start + interval.length);
                }
                self.feed.flush();
            }
            _ => {}
        }
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        use Event::{Done, Interval, LoadBegun, StepBegun};
        |event| matches!(event, StepBegun(_) | LoadBegun(_) | Interval(_) | Done(_))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.feed.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
