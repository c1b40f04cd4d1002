//! The observers of a run: the user's terminal, the outputs, and the front's screens.

use super::front::{InStep, Screen};
use super::world::Gauge;
use crate::exit::Stop;
use crate::output::StatusLine;
use memtide_base::{Instant, Rate, Span};
use memtide_record::steps::Step;
use memtide_record::{Believable, ClockRecord, HostSecond, MachineCpu, MachineRecord, Verdict};
use memtide_record::{Event, StepBegun};
use memtide_report::{progress_line, step_progress_line};
use memtide_run::Observer;
use memtide_sinks::{Outlets, OutputStop, Sink};
use std::io;
use std::time::Duration;

/// The observer of a run.
pub(crate) struct RunObserver<'a> {
    gauge: Box<dyn Gauge>,
    is_quiet: bool,
    /// Outlet of the terminal's progress line; empty without one.
    status: Outlets,
    outlets: Outlets,
    /// Name of the outlet whose reader decides on further steps: none is run once it has gone.
    reader: Option<String>,
    screens: Vec<OutputSubject<'a>>,
    /// Rates of steps whose figures cannot be believed.
    doubted: Vec<Rate>,
}

/// A screen and its result so far. One that failed gets no more events.
struct OutputSubject<'a> {
    name: &'static str,
    screen: Box<dyn Screen + 'a>,
    result: io::Result<()>,
}

impl OutputSubject<'_> {
    fn tell(&mut self, say: impl FnOnce(&mut dyn Screen) -> io::Result<()>) {
        if self.result.is_ok() {
            self.result = say(&mut *self.screen);
        }
    }
}

/// Longest wait for a terminal to clear its line before a result is written below it.
const CLEARING: Duration = Duration::from_secs(1);
/// Time that outputs may take to end before the user is told.
const HASTE: Duration = Duration::from_secs(1);
/// Longest wait for an output between two steps; the next step then begins anyway.
const SETTLING: Duration = Duration::from_secs(2);

impl<'a> RunObserver<'a> {
    /// An audience that passes events to `outlets`, and to the user's terminal unless `is_quiet`.
    pub(crate) fn new(
        gauge: Box<dyn Gauge>,
        is_quiet: bool,
        outlets: Outlets,
        reader: Option<String>,
    ) -> Self {
        let mut status = Outlets::default();
        if let Some(line) = StatusLine::new(is_quiet) {
            // If no thread can be started there is no progress line; the result is unaffected.
            drop(status.add("status", Status { line, step: None }));
        }
        let (screens, doubted) = Default::default();
        Self { gauge, is_quiet, status, outlets, reader, screens, doubted }
    }

    /// Adds screens; each shows its introduction.
    pub(crate) fn show(&mut self, screens: Vec<InStep<'a>>) {
        for InStep { name, screen } in screens {
            let mut shown = OutputSubject { name, screen, result: Ok(()) };
            shown.tell(|screen| screen.begin());
            self.screens.push(shown);
        }
    }

    /// Ends all outputs and clears the terminal's line. Adds the errors of screens and outlets to
    /// `trouble`; returns the doubted rates, and true if a requested record was written.
    pub(crate) fn close(mut self, trouble: &mut Vec<Stop>) -> (Vec<Rate>, bool) {
        drop(self.status.close());
        for mut shown in self.screens {
            shown.tell(|screen| screen.finish());
            trouble.extend(OutputStop::of(shown.name, shown.result).map(Stop::from));
        }
        await_end(&self.outlets, self.is_quiet);
        let mut is_recorded = true;
        for ending in self.outlets.close() {
            let is_record = ending.is_record();
            let Some(stop) = ending.stop() else { continue };
            is_recorded &= !is_record;
            trouble.push(stop.into());
        }
        (self.doubted, is_recorded)
    }

    fn doubt(&mut self, step: &Step) {
        let rate = step.rate();
        let Believable { verdict, reasons, .. } = &step.record.believable;
        let unjudged = *verdict == Verdict::No && reasons.is_empty();
        if (unjudged || step.doubt().is_some()) && !self.doubted.contains(&rate) {
            self.doubted.push(rate);
        }
    }
}

/// Waits until all outputs have ended, and tells the user which it waits for.
fn await_end(outlets: &Outlets, is_quiet: bool) {
    let mut slow = outlets.stop(HASTE);
    let Some(mut line) = StatusLine::new(is_quiet).filter(|_| !slow.is_empty()) else { return };
    while !slow.is_empty() {
        line.update(&format!(
            "waiting for {}; press Ctrl-C twice to end without it",
            slow.join(", ")
        ));
        slow = outlets.stop(HASTE);
    }
    line.clear();
}

/// Text of the progress line.
struct Status {
    line: StatusLine,
    /// Present step of a search or a scan.
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

impl Observer for RunObserver<'_> {
    fn on(&mut self, event: &Event) {
        if let Event::StepBegun(_) = event {
            // Each step has its own window.
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
        let Some(reader) = &self.reader else { return false };
        self.outlets.settle(SETTLING);
        self.outlets.is_gone(reader)
    }

    fn looks_every(&self) -> Option<Span> {
        self.screens.iter().find_map(|shown| shown.screen.looks_every())
    }

    fn tick(&mut self, at: Instant) {
        self.gauge.read(at);
    }

    fn host_second(&mut self) -> Option<HostSecond> {
        self.gauge.second()
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

    fn clock(&self, at: Instant) -> Option<ClockRecord> {
        self.gauge.clock(at)
    }
}
