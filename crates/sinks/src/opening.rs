//! How outputs are opened: their destinations, and what becomes of those that cannot be written.
//!
//! It knows no kind of output.

use crate::Sink;
use crate::ending::OutputStop;
use crate::outlet::{Outlets, StallLimits};
use crate::place::{Place, is_pipe};
use crate::sample_outlet::Samples;
use memtide_record::Event;
use memtide_record::steps::CourseKind;
use memtide_scenario::{Goal, Output, Settings};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// The longest time for which the end waits for a pipe that takes nothing.
const PIPE_STALL_MAX: Duration = Duration::from_secs(10);

/// Subject of the outputs of a command.
#[derive(Clone, Copy, Debug)]
pub enum OutputSubject<'a> {
    /// A run, while it runs.
    Run,
    /// The steps of a search or scan, as they end.
    Steps(CourseKind, &'a [Goal]),
    /// An existing record.
    Record,
}

/// Facts about a command that its outputs need.
#[derive(Clone, Copy, Debug)]
pub struct OutputFacts<'a> {
    /// The user's settings.
    pub settings: &'a Settings,
    /// Subject of the outputs.
    pub shown: OutputSubject<'a>,
    /// The clock, in nanoseconds since 1970; none if there is no time of day.
    pub unix_ns: Option<fn() -> u64>,
    /// The number of the share whose measured operations are written as points; none for a whole
    /// run.
    pub share: Option<u32>,
    /// True if points of measured operations are written.
    pub has_operations: bool,
    /// True if points of seconds are written.
    pub has_seconds: bool,
    /// The step of a search or scan that this process carries out alone.
    pub step: Option<u32>,
    /// The flag of another program that stands for the output of points in messages.
    pub flag: Option<&'static str>,
}

impl<'a> OutputFacts<'a> {
    /// The outputs of a command that write everything, without a clock.
    pub const fn new(settings: &'a Settings, shown: OutputSubject<'a>) -> Self {
        let (unix_ns, share, step, flag) = (None, None, None, None);
        let (has_operations, has_seconds) = (true, true);
        Self { settings, shown, unix_ns, share, has_operations, has_seconds, step, flag }
    }

    /// The course of a search or scan, its goals, and their words.
    pub(crate) fn course(&self) -> (CourseKind, &'a [Goal], Vec<String>) {
        let OutputSubject::Steps(kind, goals) = self.shown else {
            unreachable!("the sink is of a search or scan")
        };
        (kind, goals, goals.iter().map(Goal::to_string).collect())
    }
}

/// The sinks of a command, as they are opened.
pub(crate) struct Opening<'a> {
    pub(crate) outlets: &'a mut Outlets,
    pub(crate) samples: &'a mut Samples,
    pub(crate) facts: &'a OutputFacts<'a>,
    pub(crate) output: &'a Output,
}

impl<'a> Opening<'a> {
    /// The destination.
    pub(crate) fn named(&self) -> Named<'a> {
        let Self { output, .. } = self;
        Named { flag: output.flag(), name: output.name(), path: &output.place, is_strict: false }
    }

    /// Adds the sink of an output that is written as a whole.
    pub(crate) fn whole<S: Sink + 'static>(
        &mut self,
        sink: impl FnOnce(Place) -> S,
    ) -> Result<(), OutputStop> {
        let named = self.named();
        named.add(self.outlets, Place::whole, |out| Box::new(sink(out)))
    }

    /// Adds the sink of an output that grows with each second of the load.
    pub(crate) fn stream<S: Sink + 'static>(
        &mut self,
        sink: impl FnOnce(Place) -> S,
    ) -> Result<(), OutputStop> {
        let named = self.named();
        named.add(self.outlets, Place::stream, |out| Box::new(sink(out)))
    }

    /// Adds an output of measured operations.
    pub(crate) fn samples(
        &mut self,
        open: fn(&Path) -> io::Result<Place>,
        sink: impl FnOnce(Place) -> Box<dyn Sink>,
    ) -> Result<(), OutputStop> {
        let named = self.named();
        let sink = named.sink(open, self.samples.patience(), self.outlets, sink)?;
        self.samples.add(&named.name, sink);
        Ok(())
    }
}

/// A destination with its names in messages.
pub(crate) struct Named<'a> {
    pub(crate) flag: String,
    pub(crate) name: String,
    pub(crate) path: &'a str,
    /// True if a destination that exists but takes no result is refused, like a wrong name.
    pub(crate) is_strict: bool,
}

impl Named<'_> {
    /// Adds a sink that writes to the destination. A pipe that takes nothing is given up.
    pub(crate) fn add(
        &self,
        outlets: &mut Outlets,
        open: fn(&Path) -> io::Result<Place>,
        sink: impl FnOnce(Place) -> Box<dyn Sink>,
    ) -> Result<(), OutputStop> {
        let stall_max = is_pipe(Path::new(self.path)).then_some(PIPE_STALL_MAX);
        let patience = StallLimits { stall_max, ..StallLimits::default() };
        let sink = self.sink(open, &patience, outlets, sink)?;
        attach(outlets, &self.name, sink, patience)
    }

    /// A sink that writes to the destination. An unwritable one affects only that output, unless it
    /// is strict.
    fn sink(
        &self,
        open: fn(&Path) -> io::Result<Place>,
        patience: &StallLimits,
        outlets: &mut Outlets,
        sink: impl FnOnce(Place) -> Box<dyn Sink>,
    ) -> Result<Box<dyn Sink>, OutputStop> {
        let opened = match self.path {
            "-" => Place::stdout(),
            path => open(Path::new(path)),
        };
        match opened {
            Ok(place) => Ok(sink(place.counting(&patience.written))),
            Err(error) if !self.is_strict && takes_no_file(&error) => {
                let name = &self.name;
                outlets.note(format!("{name} cannot be written: {error}; the others are written"));
                Ok(Box::new(Unwritable(Some(error))))
            }
            Err(error) => Err(no_file(&self.flag, self.path, &error)),
        }
    }
}

/// True if the destination exists but is unwritable; other errors mean a wrong name.
fn takes_no_file(error: &io::Error) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

/// The failure of an output whose file cannot be opened.
pub fn no_file(flag: &str, path: &str, error: &io::Error) -> OutputStop {
    OutputStop::usage(format!("{flag} '{path}' cannot be written: {error}; name another file"))
}

/// An output with an unwritable destination. The run continues without it, and the end reports the
/// error.
pub(crate) struct Unwritable(pub(crate) Option<io::Error>);

impl Sink for Unwritable {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |_| false
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }
}

/// Adds a sink named by its flag.
pub(crate) fn attach(
    outlets: &mut Outlets,
    flag: &str,
    sink: Box<dyn Sink>,
    patience: StallLimits,
) -> Result<(), OutputStop> {
    outlets.add_within(flag, sink, patience).map_err(|error| {
        OutputStop::failed(format!(
            "{flag}: the system started no thread to write it: {error}; allow this user more \
             processes"
        ))
    })
}
