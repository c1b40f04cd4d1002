//! Seconds of the load, written as they end: rows as CSV or JSON Lines, histograms as an
//! HdrHistogram log. The crate record defines the content of a row or line.

use crate::Sink;
use memtide_record::event::{IntervalRow, log_head};
use memtide_record::{Event, Interval};
use memtide_scenario::RowText;
use std::io::{self, Write};

/// A sink that writes a row for each second and kind.
#[derive(Debug)]
pub struct IntervalRows<W> {
    out: W,
    form: RowText,
    step: Option<u32>,
    begun: bool,
}

impl<W: Write> IntervalRows<W> {
    /// A sink that writes rows of this form to `out`.
    pub const fn new(out: W, form: RowText) -> Self {
        Self { out, form, step: None, begun: false }
    }

    fn write(&mut self, rows: &[IntervalRow]) -> io::Result<()> {
        let text = IntervalRow::text(rows, self.form, !self.begun);
        self.begun = true;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write + Send> Sink for IntervalRows<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepBegun(step) => {
                self.step = Some(step.number);
                Ok(())
            }
            Event::Interval(interval) => self.write(&IntervalRow::of_interval(interval, self.step)),
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepBegun(_) | Event::Interval(_))
    }
}

/// A sink that writes a tagged histogram for each second and kind.
#[derive(Debug)]
pub struct IntervalLog<W> {
    out: W,
    /// The clock, in nanoseconds since 1970; `None` if the world has no time of day.
    unix_ns: Option<fn() -> u64>,
    step: Option<u32>,
    /// Time from the beginning of the first load to the beginning of this one, in seconds.
    before_s: f64,
    /// The end of the written part of this load, in seconds after its beginning.
    until_s: f64,
    begun: bool,
}

impl<W: Write> IntervalLog<W> {
    /// A sink that writes lines to `out`; their instants count from the beginning of the load.
    pub const fn new(out: W, unix_ns: Option<fn() -> u64>) -> Self {
        Self { out, unix_ns, step: None, before_s: 0.0, until_s: 0.0, begun: false }
    }

    fn write(&mut self, interval: &Interval) -> io::Result<()> {
        self.until_s = (interval.start + interval.length).as_s_f64();
        if !self.begun {
            self.begun = true;
            let start = self.unix_ns.map(|now| now() as f64 / 1e9 - self.until_s);
            self.out.write_all(log_head(start).as_bytes())?;
        }
        self.out.write_all(interval.log_lines(self.step, self.before_s).as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write + Send> Sink for IntervalLog<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepBegun(step) => {
                self.step = Some(step.number);
                self.before_s += self.until_s;
                self.until_s = 0.0;
                Ok(())
            }
            Event::Interval(interval) => self.write(interval),
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepBegun(_) | Event::Interval(_))
    }
}
