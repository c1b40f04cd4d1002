//! The observers of a run: the user's terminal, the outputs, and the front's screens.

use crate::console::StatusLine;
use crate::exit::Stop;
use crate::front::{InStep, Screen};
use crate::outlets::with_failed_output;
use crate::watching::Watching;
use crate::world::Gauge;
use memtide_base::{Instant, Rate, Span};
use memtide_record::steps::Step;
use memtide_record::{
    Believable, ClockRecord, Event, FloorRecord, HostSecond, MachineCpu, MachineRecord, PlanRecord,
    Verdict,
};
use memtide_run::Observer;
use memtide_sinks::{Ending, Outlets, OutputStop};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The observer of a run.
pub(crate) struct RunObserver<'a> {
    gauge: Box<dyn Gauge>,
    is_quiet: bool,
    /// Outlet of what the user watches: progress, screen, page; empty without any.
    status: Outlets,
    outlets: Outlets,
    /// Outlets that write the exit code, which a failure of the others changes.
    with_exit: Outlets,
    /// The last event, which those get once the others have ended.
    last: Option<Event>,
    /// True for the steps of a search or scan.
    has_steps: bool,
    /// Name of the outlet whose reader decides on further steps: none is run once it has gone.
    reader: Option<String>,
    screens: Vec<OutputSubject<'a>>,
    /// True while the terminal's screen shows the run, and the events that screens on stdout get
    /// once it is left.
    has_screen: Arc<AtomicBool>,
    held: Vec<Event>,
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
    fn take(&mut self, event: &Event) {
        if self.screen.takes()(event) {
            self.tell(|screen| screen.on(event));
        }
    }

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
/// Longest wait for the other outputs before those with the exit code are written.
const RECORD_WAIT: Duration = Duration::from_secs(3);
/// Longest wait for an output between two steps; the next step then begins anyway.
const SETTLING: Duration = Duration::from_secs(2);

impl<'a> RunObserver<'a> {
    /// An observer that passes events to `outlets`, and to what the user watches.
    pub(crate) fn new(
        gauge: Box<dyn Gauge>,
        watching: Watching,
        is_quiet: bool,
        mut outlets: Outlets,
        reader: Option<String>,
    ) -> Self {
        let mut status = Outlets::default();
        let with_exit = outlets.split_exit();
        // A result that goes elsewhere need not wait for the terminal.
        let is_seen = io::stdout().is_terminal();
        let has_screen = if is_seen { watching.screen_flag() } else { Arc::default() };
        if !watching.is_nothing() {
            // If no thread can be started there is no progress line; the result is unaffected.
            drop(status.add("status", watching));
        }
        let (last, has_steps) = (None, false);
        let (screens, held, doubted) = Default::default();
        Self {
            gauge,
            is_quiet,
            status,
            outlets,
            with_exit,
            last,
            has_steps,
            reader,
            screens,
            has_screen,
            held,
            doubted,
        }
    }

    /// Adds screens; each shows its introduction.
    pub(crate) fn show(&mut self, screens: Vec<InStep<'a>>) {
        for InStep { name, screen } in screens {
            let mut shown = OutputSubject { name, screen, result: Ok(()) };
            shown.tell(|screen| screen.begin());
            self.screens.push(shown);
        }
    }

    /// Ends all outputs and clears the terminal's line. Outlets that write the exit code end last,
    /// since a failure of the others changes it. Adds the errors of screens and outlets to
    /// `trouble`; returns the doubted rates, and true if a requested record was written.
    pub(crate) fn close(mut self, trouble: &mut Vec<Stop>) -> (Vec<Rate>, bool) {
        drop(self.status.close());
        self.catch_up();
        for mut shown in self.screens {
            shown.tell(|screen| screen.finish());
            trouble.extend(OutputStop::of(shown.name, shown.result).map(Stop::from));
        }
        // A slow output must not cost the record of a user who ends the program meanwhile.
        self.outlets.stop(RECORD_WAIT);
        let ended = self.outlets.take_ended();
        trouble.extend(ended.into_iter().filter_map(Ending::stop).map(Stop::from));
        if let Some(last) = self.last {
            // A share's process ends with 0 if its record is written.
            let is_share = matches!(&last, Event::Done(record) if record.share.is_some());
            let is_failed = !trouble.is_empty() && !is_share;
            self.with_exit.on(&if is_failed { with_failed_output(last) } else { last });
        }
        self.outlets.append(self.with_exit);
        await_end(&self.outlets, self.is_quiet);
        let mut is_recorded = true;
        for ending in self.outlets.close() {
            // That a reader has gone is no failure, but the record is not written then.
            is_recorded &= ending.is_whole() || !ending.is_record();
            trouble.extend(ending.stop().map(Stop::from));
        }
        (self.doubted, is_recorded)
    }

    /// Passes `event` to the outlets. Those that write the exit code get the last one at the end.
    fn pass(&mut self, event: &Event) {
        self.outlets.on(event);
        let is_last = match event {
            Event::StepsDone(_) => true,
            Event::Done(_) => !self.has_steps,
            _ => false,
        };
        match is_last {
            true => self.last = Some(event.clone()),
            false => self.with_exit.on(event),
        }
    }

    /// Tells the screens what was held back while the terminal showed the run.
    fn catch_up(&mut self) {
        for event in std::mem::take(&mut self.held) {
            self.screens.iter_mut().for_each(|shown| shown.take(&event));
        }
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

impl Observer for RunObserver<'_> {
    fn on(&mut self, event: &Event) {
        if let Event::StepBegun(_) = event {
            // Each step has its own window.
            self.gauge.restart();
            self.has_steps = true;
        }
        self.status.on(event);
        if let Event::Done(_) | Event::StepsDone(_) = event {
            self.status.settle(CLEARING);
        }
        self.pass(event);
        if let Event::StepDone(step) = event {
            self.doubt(step);
        }
        if self.has_screen.load(Ordering::Acquire) {
            if self.screens.iter().any(|shown| shown.screen.takes()(event)) {
                self.held.push(event.clone());
            }
            return;
        }
        self.catch_up();
        self.screens.iter_mut().for_each(|shown| shown.take(event));
    }

    fn has_gone(&self) -> bool {
        if self.screens.iter().any(|shown| shown.screen.is_gone()) {
            return true;
        }
        let Some(reader) = &self.reader else { return false };
        let both = [&self.outlets, &self.with_exit];
        both.iter().for_each(|outlets| outlets.settle(SETTLING));
        both.iter().any(|outlets| outlets.is_gone(reader))
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

    fn floor(&mut self, plan: &PlanRecord) -> Option<FloorRecord> {
        self.gauge.floor(plan)
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
