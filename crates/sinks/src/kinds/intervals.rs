//! Seconds of the load, written as they end: rows as CSV or JSON Lines, histograms as an
//! HdrHistogram log. The crate record defines the content of a row or line.

use crate::Sink;
use memtide_base::Span;
use memtide_record::event::{IntervalRow, log_end, log_head};
use memtide_record::{Event, Interval};
use memtide_scenario::RowText;
use std::io::{self, Write};

/// A sink that writes a row for each second and kind.
#[derive(Debug)]
pub struct IntervalRows<W> {
    out: W,
    form: RowText,
    step: Option<u32>,
    /// The end of the last row of this load.
    until: Span,
    begun: bool,
}

impl<W: Write> IntervalRows<W> {
    /// A sink that writes rows of this form to `out`.
    pub const fn new(out: W, form: RowText) -> Self {
        Self { out, form, step: None, until: Span::ZERO, begun: false }
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
            Event::Interval(interval) => {
                self.until = interval.end();
                self.write(&IntervalRow::of_interval(interval, self.step))
            }
            Event::Done(record) => match IntervalRow::surplus(record, self.step, self.until) {
                Some(row) => self.write(&[row]),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepBegun(_) | Event::Interval(_) | Event::Done(_))
    }
}

/// A sink that writes a tagged histogram for each second and kind.
#[derive(Debug)]
pub struct IntervalLog<W> {
    out: W,
    /// True if the world has a time of day.
    has_time_of_day: bool,
    /// When the first load began, in nanoseconds since 1970.
    began_unix_ns: u64,
    step: Option<u32>,
    /// Time from the beginning of the first load to the beginning of this one, in seconds.
    before_s: f64,
    /// The end of the written part of this load, in seconds after its beginning.
    until_s: f64,
    begun: bool,
}

impl<W: Write> IntervalLog<W> {
    /// A sink that writes lines to `out`; their instants count from the beginning of the load.
    pub const fn new(out: W, has_time_of_day: bool) -> Self {
        let (before_s, until_s, began_unix_ns) = (0.0, 0.0, 0);
        Self { out, has_time_of_day, began_unix_ns, step: None, before_s, until_s, begun: false }
    }

    fn write(&mut self, interval: &Interval) -> io::Result<()> {
        self.until_s = (interval.start + interval.length).as_s_f64();
        if !self.begun {
            self.begun = true;
            let start = self.has_time_of_day.then_some(self.began_unix_ns as f64 / 1e9);
            self.out.write_all(log_head(start, interval.is_of_agents).as_bytes())?;
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
            Event::LoadBegun(unix_ns) => {
                if !self.begun {
                    self.began_unix_ns = *unix_ns;
                }
                Ok(())
            }
            Event::Interval(interval) => self.write(interval),
            Event::Done(record) => {
                self.out.write_all(log_end(record, self.step).as_bytes())?;
                self.out.flush()
            }
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        use Event::{Done, Interval, LoadBegun, StepBegun};
        |event| matches!(event, StepBegun(_) | LoadBegun(_) | Interval(_) | Done(_))
    }
}
