//! All who are told what happens in a run: the user who watches, the outputs, and the screens of
//! the front.

use super::front::{InStep, Screen};
use super::outlets::{close, failed};
use super::world::Gauge;
use crate::exit::Stop;
use crate::output::StatusLine;
use memtide_base::{Instant, Span};
use memtide_report::{progress_line, step_progress_line};
use memtide_run::Observer;
use memtide_schema::record::{Believable, MachineCpu, MachineRecord, Verdict};
use memtide_schema::steps::Step;
use memtide_schema::{Event, StepBegun};
use memtide_sinks::{Outlets, Sink};
use std::io;
use std::time::Duration;

/// The observer of a run.
pub(super) struct Audience<'a> {
    gauge: Box<dyn Gauge>,
    /// The line on the terminal, if there is one.
    status: Outlets,
    outlets: Outlets,
    /// The outlet without whose reader no further step is of use.
    reader: Option<&'static str>,
    screens: Vec<Shown<'a>>,
    /// Rates of steps that are not to be believed.
    doubted: Vec<f64>,
}

/// A screen, and how it went so far. One that failed is told nothing more.
struct Shown<'a> {
    name: &'static str,
    screen: Box<dyn Screen + 'a>,
    result: io::Result<()>,
}

impl Shown<'_> {
    fn tell(&mut self, say: impl FnOnce(&mut dyn Screen) -> io::Result<()>) {
        if self.result.is_ok() {
            self.result = say(&mut *self.screen);
        }
    }
}

/// How long a terminal may take to clear the line before a result is written below it.
const CLEARING: Duration = Duration::from_secs(1);
/// How long an output may take between two steps until the next one begins all the same.
const SETTLING: Duration = Duration::from_secs(2);

impl<'a> Audience<'a> {
    /// Tells `outlets` what happens, and the user's terminal unless `is_quiet`.
    pub(super) fn new(
        gauge: Box<dyn Gauge>,
        is_quiet: bool,
        outlets: Outlets,
        reader: Option<&'static str>,
    ) -> Self {
        let mut status = Outlets::default();
        if let Some(line) = StatusLine::new(is_quiet) {
            // Without a thread for it there is no line, which costs no result.
            drop(status.add("status", Status { line, step: None }));
        }
        Self { gauge, status, outlets, reader, screens: Vec::new(), doubted: Vec::new() }
    }

    /// Tells these too, of which each shows what it shows before anything happens.
    pub(super) fn show(&mut self, screens: Vec<InStep<'a>>) {
        for InStep { name, screen } in screens {
            let mut shown = Shown { name, screen, result: Ok(()) };
            shown.tell(|screen| screen.begin());
            self.screens.push(shown);
        }
    }

    /// Nothing more happens, and nothing is left on the terminal. Adds what went wrong with screens
    /// and outlets to `trouble`; returns the rates that are doubted.
    pub(super) fn close(mut self, trouble: &mut Vec<Stop>) -> Vec<f64> {
        drop(self.status.close());
        for mut shown in self.screens {
            shown.tell(|screen| screen.finish());
            trouble.extend(failed(shown.name, shown.result));
        }
        trouble.extend(close(self.outlets));
        self.doubted
    }

    fn doubt(&mut self, step: &Step) {
        let rate = step.rate_per_s.unwrap_or(step.achieved_per_s);
        let Believable { verdict, reasons, .. } = &step.record.believable;
        let unjudged = *verdict == Verdict::No && reasons.is_empty();
        if (unjudged || step.doubt().is_some()) && !self.doubted.contains(&rate) {
            self.doubted.push(rate);
        }
    }
}

/// The line that says how far a run is.
struct Status {
    line: StatusLine,
    /// The step that runs, of a search or a scan.
    step: Option<StepBegun>,
}

impl Sink for Status {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Progress(progress) => self.line.update(&match &self.step {
                Some(step) => step_progress_line(step, progress),
                None => progress_line(progress),
            }),
            Event::Note(note) => self.line.update(note),
            Event::Done(_) | Event::StepsDone(_) => self.line.clear(),
            Event::StepBegun(step) => self.step = Some(*step),
            _ => {}
        }
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| {
            use Event::{Done, Note, Progress, StepBegun, StepsDone};
            matches!(event, Progress(_) | Note(_) | Done(_) | StepBegun(_) | StepsDone(_))
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.line.clear();
        Ok(())
    }
}

impl Observer for Audience<'_> {
    fn on(&mut self, event: &Event) {
        if let Event::StepBegun(_) = event {
            // Each step has a window of its own.
            self.gauge.restart();
        }
        self.status.on(event);
        if let Event::Done(_) | Event::StepsDone(_) = event {
            self.status.settle(CLEARING);
        }
        self.outlets.on(event);
        if let Event::StepDone(step) = event {
            self.doubt(step);
        }
        for shown in &mut self.screens {
            if shown.screen.takes()(event) {
                shown.tell(|screen| screen.on(event));
            }
        }
    }

    fn has_gone(&self) -> bool {
        if self.screens.iter().any(|shown| shown.screen.is_gone()) {
            return true;
        }
        let Some(reader) = self.reader else { return false };
        self.outlets.settle(SETTLING);
        self.outlets.is_gone(reader)
    }

    fn looks_every(&self) -> Option<Span> {
        self.screens.iter().find_map(|shown| shown.screen.looks_every())
    }

    fn tick(&mut self, at: Instant) {
        self.gauge.read(at);
    }

    fn machine_cpu(&self) -> Option<MachineCpu> {
        self.gauge.cpu()
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        self.gauge.rss_max_bytes()
    }

    fn machine(&self) -> MachineRecord {
        self.gauge.machine()
    }
}
