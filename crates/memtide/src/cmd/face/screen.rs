//! Where a face's words go as they are said: stdout row by row, stderr, the record's file, and
//! pictures.

use crate::cmd::outlets::{attach, close, create};
use crate::exit::{Stop, unwritable};
use crate::late::{Sheet, finish};
use crate::observer::HostObserver;
use crate::output::{complain, say_part, show_part};
use memtide_base::{Instant, Span};
use memtide_compat::mutilate::text::{Figures, Material, Times, histogram_csv, histogram_name};
use memtide_compat::{Printed, memaslap, mutilate};
use memtide_host::clock;
#[cfg(feature = "plot")]
use memtide_report::chart::histogram_png;
use memtide_run::Observer;
use memtide_schema::Event;
use memtide_schema::record::{MachineCpu, MachineRecord, Record};
use memtide_schema::steps::CourseKind;
use memtide_sinks::{Outlets, RecordJson, StepsJson};
use std::io::{self, Write};

/// What turns events into a face's words.
pub(super) trait FormatEvents {
    fn begin(&self) -> Printed;
    /// What is said when `event` happens, `unix_s` seconds after 1970.
    fn on(&mut self, event: &Event, unix_s: f64) -> Result<Printed, String>;
    fn looks_every(&self) -> Option<Span> {
        None
    }
}

impl FormatEvents for mutilate::Transcript {
    fn begin(&self) -> Printed {
        self.begin()
    }

    fn on(&mut self, event: &Event, unix_s: f64) -> Result<Printed, String> {
        let log = self.log(event, unix_s);
        let printed = self.on(event)?;
        Ok(Printed { stderr: log + &printed.stderr, ..printed })
    }
}

impl FormatEvents for memaslap::Transcript<'_> {
    fn begin(&self) -> Printed {
        self.begin()
    }

    fn on(&mut self, event: &Event, _unix_s: f64) -> Result<Printed, String> {
        self.on(event)
    }

    fn looks_every(&self) -> Option<Span> {
        self.looks_every()
    }
}

/// The observer of a face.
pub(super) struct Screen<T> {
    observer: HostObserver,
    transcript: T,
    pictures: Option<Pictures>,
    /// Notes are shown on stderr.
    has_notes: bool,
    /// Nobody reads stdout any more.
    gone: bool,
    trouble: Vec<Stop>,
}

/// Where `--json` of a face goes, opened before its run: one record, or those of all steps.
pub(super) fn json(path: Option<&str>, steps: Option<CourseKind>) -> Result<Outlets, Stop> {
    let mut outlets = Outlets::default();
    let Some(path) = path else { return Ok(outlets) };
    let out = Sheet::File(create("--json", path)?);
    match steps {
        None => attach(&mut outlets, "--json", RecordJson::new(out))?,
        Some(kind) => attach(&mut outlets, "--json", StepsJson::new(out, kind, Vec::new()))?,
    }
    Ok(outlets)
}

impl<T: FormatEvents> Screen<T> {
    pub(super) fn new(
        observer: HostObserver,
        transcript: T,
        pictures: Option<Pictures>,
        has_notes: bool,
    ) -> Self {
        Self { observer, transcript, pictures, has_notes, gone: false, trouble: Vec::new() }
    }

    /// Says what is said before anything happens.
    pub(super) fn begin(&mut self) {
        let printed = self.transcript.begin();
        self.tell(&printed);
    }

    /// The end of a run that cannot go on; what is known is shown already.
    pub(super) fn fatal(&mut self, message: String) -> Stop {
        self.trouble.extend(close(self.observer.take_outlets()));
        for stop in &self.trouble {
            complain(&stop.message);
        }
        // A face has no option for it.
        let message = message.replace(" with reconnect never", "");
        Stop { code: crate::exit::UNREACHABLE, message }
    }

    /// The first thing that went wrong with an output.
    pub(super) fn finish(mut self) -> Result<(), Stop> {
        self.trouble.extend(close(self.observer.take_outlets()));
        self.trouble.into_iter().next().map_or(Ok(()), Err)
    }

    fn tell(&mut self, printed: &Printed) {
        if !printed.stdout.is_empty() && !self.gone {
            match show_part(&printed.stdout) {
                Ok(()) => {}
                Err(error) => {
                    self.gone = true;
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        self.trouble.push(unwritable("stdout", &error));
                    }
                }
            }
        }
        say_part(&printed.stderr);
        if self.has_notes {
            say_part(&printed.notes);
        }
    }
}

impl<T: FormatEvents> Observer for Screen<T> {
    fn on(&mut self, event: &Event) {
        self.observer.on(event);
        let unix_s = clock::since_unix().as_s_f64();
        match self.transcript.on(event, unix_s) {
            Ok(printed) => self.tell(&printed),
            Err(message) => self.trouble.push(Stop::usage(message)),
        }
        if let (Event::Done(record), Some(pictures)) = (event, &mut self.pictures)
            && let Err(stop) = pictures.draw(record)
        {
            self.trouble.push(stop);
        }
    }

    fn looks_every(&self) -> Option<Span> {
        self.transcript.looks_every()
    }

    fn has_gone(&self) -> bool {
        self.gone
    }

    fn tick(&mut self, at: Instant) {
        self.observer.tick(at);
    }

    fn machine_cpu(&self) -> Option<MachineCpu> {
        self.observer.machine_cpu()
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        self.observer.rss_max_bytes()
    }

    fn machine(&self) -> MachineRecord {
        self.observer.machine()
    }
}

/// `--plot_all`: histograms as pictures and as tables, in the folder in which the program runs. Not
/// of op_q, which are no times; the record has them.
pub(super) struct Pictures {
    times: Times,
    runs: u32,
}

impl Pictures {
    pub(super) fn new(times: Times) -> Self {
        Self { times, runs: 0 }
    }

    fn draw(&mut self, record: &Record) -> Result<(), Stop> {
        let material = Material::of(record, self.times).map_err(Stop::usage)?;
        let (number, rate_per_s) = (self.runs, material.rate_per_s());
        self.runs += 1;
        let rows: [(&str, &Figures); 2] =
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

fn write(name: &str, bytes: &[u8]) -> Result<(), Stop> {
    let mut file = create("--plot_all", name)?;
    let written = file.write_all(bytes).and_then(|()| finish(file));
    written.map_err(|error| unwritable(name, &error))
}
