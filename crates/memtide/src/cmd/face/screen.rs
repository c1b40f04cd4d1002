//! The outputs of a face: its text on stdout and stderr during a run, the record's file, and
//! charts.

use crate::output::wants_notes;
use memtide_base::{Instant, Span};
use memtide_compat::mutilate::text::{
    Formatter, Material, ScaledHistogram, TimeBasis, Whose, histogram_csv, histogram_name,
};
use memtide_compat::{Printed, memaslap, mutilate};
use memtide_host::clock;
use memtide_host::machine::Busyness;
use memtide_record::steps::CourseKind;
use memtide_record::{Event, Record};
#[cfg(feature = "plot")]
use memtide_report::chart::histogram_png;
use memtide_session::console::{say, say_part, show_part};
use memtide_session::exit::Stop;
use memtide_session::{Ended, InStep, Opened, Screen};
use memtide_sinks::{Document, OutputStop, Place, Sink, no_file, open_json};
use std::io::{self, Write};
use std::path::Path;

/// Turns events into a face's text.
pub(super) trait FormatEvents: Send {
    fn begin(&self) -> Printed;
    fn on(&mut self, event: &Event) -> Result<Printed, String>;
    fn looks_every(&self) -> Option<Span> {
        None
    }
}

impl FormatEvents for mutilate::Transcript {
    fn begin(&self) -> Printed {
        self.begin()
    }

    fn on(&mut self, event: &Event) -> Result<Printed, String> {
        let log = self.log(event);
        let printed = self.on(event)?;
        Ok(Printed { stderr: log + &printed.stderr, ..printed })
    }
}

impl FormatEvents for memaslap::Transcript<'_> {
    fn begin(&self) -> Printed {
        self.begin()
    }

    fn on(&mut self, event: &Event) -> Result<Printed, String> {
        self.on(event)
    }

    fn looks_every(&self) -> Option<Span> {
        self.looks_every()
    }
}

/// A face's text on both streams during a run.
pub(super) struct Text<T> {
    transcript: T,
    /// True to show notes on stderr.
    has_notes: bool,
    /// The error that ended writing to stdout. Text for stderr is still written.
    unwritten: Option<io::Error>,
}

impl<'a, T: FormatEvents + 'a> Text<T> {
    /// The screen for `transcript`, with notes if requested.
    pub(super) fn in_step(transcript: T, has_notes: bool) -> InStep<'a> {
        InStep { name: "stdout", screen: Box::new(Self { transcript, has_notes, unwritten: None }) }
    }

    fn tell(&mut self, printed: &Printed) {
        if !printed.stdout.is_empty() && self.unwritten.is_none() {
            self.unwritten = show_part(&printed.stdout).err();
        }
        say_part(&printed.stderr);
        if self.has_notes {
            say_part(&printed.notes);
        }
    }
}

impl<T: FormatEvents> Screen for Text<T> {
    fn begin(&mut self) -> io::Result<()> {
        let printed = self.transcript.begin();
        self.tell(&printed);
        Ok(())
    }

    fn is_gone(&self) -> bool {
        self.unwritten.is_some()
    }

    fn looks_every(&self) -> Option<Span> {
        self.transcript.looks_every()
    }
}

impl<T: FormatEvents> Sink for Text<T> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let printed = self.transcript.on(event).map_err(damaged)?;
        self.tell(&printed);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.unwritten.take().map_or(Ok(()), Err)
    }
}

/// The error of a record whose figures cannot be read.
fn damaged(message: String) -> io::Error {
    OutputStop::usage(message).into()
}

/// Opens the outputs of a face beside its text: `--json`, with one record or those of all steps.
pub(super) fn json(path: Option<&str>, steps: Option<CourseKind>) -> Result<Opened, Stop> {
    let mut opened = Opened::default();
    let Some(path) = path else { return Ok(opened) };
    open_json(&mut opened.outlets, "--json", path, steps)?;
    Ok(opened)
}

/// Shows `notes` on stderr if the user wants them; returns true if so.
pub(super) fn say_notes(is_asked: bool, notes: &[String]) -> Result<bool, Stop> {
    let are_wanted = wants_notes(is_asked).map_err(Stop::usage)?;
    notes.iter().filter(|_| are_wanted).for_each(|note| say(note));
    Ok(are_wanted)
}

/// Returns the first error of an output.
pub(super) fn written(ended: Ended) -> Result<(), Stop> {
    ended.trouble.into_iter().next().map_or(Ok(()), Err)
}

/// `--plot_all`: histograms as charts and tables, in the working directory. None for op_q, which is
/// no time; the record has it.
pub(super) struct Pictures {
    times: TimeBasis,
    whose: Whose,
    runs: u32,
}

impl Pictures {
    /// The charts of response or service times.
    pub(super) fn in_step(times: TimeBasis, whose: Whose) -> InStep<'static> {
        InStep { name: "--plot_all", screen: Box::new(Self { times, whose, runs: 0 }) }
    }

    fn draw(&mut self, record: &Record) -> Result<(), OutputStop> {
        let material = Material::of(record, self.times, self.whose).map_err(OutputStop::usage)?;
        let (number, rate_per_s) = (self.runs, material.rate_per_s());
        self.runs += 1;
        let rows: [(&str, &ScaledHistogram); 2] =
            [("read", &material.reads), ("update", &material.updates)];
        for (tag, figures) in rows.into_iter().filter(|(_, figures)| figures.count() > 0) {
            #[cfg(feature = "plot")]
            write(&histogram_name(tag, number, "png"), &histogram_png(tag, figures.values()))?;
            let table = histogram_name(tag, number, "csv");
            write(&table, histogram_csv(figures.values(), rate_per_s).as_bytes())?;
        }
        Ok(())
    }
}

/// Draws on the run's own thread, so that no step of a search runs while charts are drawn.
impl Screen for Pictures {}

impl Sink for Pictures {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Done(record) = event else { return Ok(()) };
        Ok(self.draw(record)?)
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_))
    }
}

/// The only text of the mcperfs about a fill: the warning that this machine was busy in one of its
/// seconds. The originals measure a whole second even if the fill is shorter.
pub(super) struct BusyFill {
    formatter: Formatter,
    busyness: Busyness,
    began: Instant,
    /// The last reading.
    read: Instant,
}

impl BusyFill {
    /// The warning in the words of `formatter`, about the time from now on.
    pub(super) fn in_step(formatter: Formatter) -> InStep<'static> {
        let (began, mut busyness) = (now(), Busyness::default());
        busyness.read(began);
        let screen = Self { formatter, busyness, began, read: began };
        InStep { name: "stdout", screen: Box::new(screen) }
    }

    /// The busiest second so far, in percent.
    fn busiest(&self) -> f64 {
        let Some(busy) = self.busyness.summary() else { return 0.0 };
        let passed_s = self.read.since(self.began).as_s_f64();
        let busiest = busy.seconds.map_or(busy.mean * passed_s.min(1.0), |(_, most)| most);
        busiest * 100.0
    }
}

impl Screen for BusyFill {}

impl Sink for BusyFill {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let (at, is_over) = (now(), matches!(event, Event::Done(_)));
        let is_first = self.read == self.began;
        if at.since(self.read) >= Span::from_s(1) || (is_over && is_first) {
            self.busyness.read(at);
            self.read = at;
        }
        if is_over { show_part(self.formatter.cpu_warning(self.busiest())) } else { Ok(()) }
    }
}

/// The kernel's monotonic clock.
fn now() -> Instant {
    Instant::from_ns(clock::monotonic_ns())
}

fn write(name: &str, bytes: &[u8]) -> Result<(), OutputStop> {
    let place = Place::whole(Path::new(name));
    let mut file = place.map_err(|error| no_file("--plot_all", name, &error))?;
    let written = file.write_all(bytes).and_then(|()| file.complete());
    written.map_err(|error| OutputStop::unwritable(name, &error))
}
