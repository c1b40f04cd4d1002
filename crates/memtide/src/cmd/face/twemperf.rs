//! `memtide twemperf`, and `mcperf` with options that only twemperf has: runs a command line on
//! this machine, with its report and exit codes.

use super::screen::{damaged, json, written};
use super::{Asked, Face};
use crate::exit::{INTERRUPTED, Stop, UNREACHABLE, unwritable};
use crate::output::{say, say_part, show_part, wants_notes};
use crate::session::{Came, Ended, Front, FrontProfile, InStep, Opened, Screen, Task, failed_in};
use memtide_compat::TWEMPERF_WORDS;
use memtide_compat::twemperf::text::{Material, report};
use memtide_compat::twemperf::{Options, lower, parse};
use memtide_host::signal::StopFlag;
use memtide_record::EndedBy;
use memtide_record::Event;
use memtide_run::Failure;
use memtide_run::steps::RunTask;
use memtide_scenario::Settings;
use memtide_sinks::{Sink, check_distinct};
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Exit code of the original if it cannot begin.
const FATAL: u8 = 1;

/// twemperf's face.
pub(super) struct Twemperf;

impl Face for Twemperf {
    fn fatal(&self) -> u8 {
        FATAL
    }

    fn read(&self, _program: &str, words: &[String]) -> Result<Asked, memtide_compat::Stop> {
        let options = parse(words)?;
        let settings = Box::new(lower(&options)?);
        Ok(Asked::Run {
            settings,
            task: Task::Run(RunTask::Whole),
            front: Box::new(Line { options }),
        })
    }
}

/// A command line of twemperf.
struct Line {
    options: Options,
}

impl Front for Line {
    /// Writes to the log, or to stderr if requested.
    fn preface(&mut self) -> Result<(), Stop> {
        let (output, notes) = (&self.options.output, &self.options.notes);
        let Some(path) = &output.log else {
            if wants_notes(output.has_notes).map_err(Stop::usage)? {
                notes.iter().for_each(|note| say(note));
            }
            return Ok(());
        };
        let log = OpenOptions::new().create(true).append(true).open(path);
        let said =
            log.and_then(|mut log| notes.iter().try_for_each(|note| writeln!(log, "{note}")));
        said.map_err(|error| unwritable("--output", &error))
    }

    fn profile(&self, _settings: &Settings) -> FrontProfile {
        FrontProfile { words: Some(&TWEMPERF_WORDS), ..FrontProfile::default() }
    }

    fn open(&mut self, _settings: &Settings) -> Result<Opened, Stop> {
        let output = &self.options.output;
        let places = [("--output", output.log.as_deref()), ("--json", output.json.as_deref())];
        check_distinct(&places, output.is_on_stdout).map_err(Stop::usage)?;
        json(output.json.as_deref(), None)
    }

    fn screens<'a>(&'a self, _settings: &'a Settings) -> Vec<InStep<'a>> {
        vec![InStep { name: "stdout", screen: Box::new(Report { options: &self.options }) }]
    }

    fn end(&self, _settings: &Settings, ended: Ended) -> Result<u8, Stop> {
        let Came::Run(outcome) = &ended.came else { return Ok(0) };
        let (record, failure) = (outcome.record.clone(), outcome.failure.clone());
        written(ended)?;
        match failure {
            // Failed connections are counted; they do not fail the run.
            None | Some(Failure { exit: UNREACHABLE, .. }) => {}
            Some(failure) => return Err(failed_in(Some(&TWEMPERF_WORDS), &failure)),
        }
        let material = Material::of(&record).map_err(Stop::usage)?;
        let is_wrong = self.options.output.is_error_fatal && material.errors.total() > 0;
        Ok(match record.ended_by {
            EndedBy::Interrupted => INTERRUPTED,
            _ if is_wrong => FATAL,
            _ => 0,
        })
    }

    fn exit(&self, ended: Result<u8, Stop>, stop: &StopFlag) -> u8 {
        match ended {
            Ok(code) => {
                // The original catches no signal.
                stop.die();
                code
            }
            Err(stop) => {
                say(&format!("mcperf: {}", stop.message));
                FATAL
            }
        }
    }
}

/// The report, on the requested stream.
struct Report<'a> {
    options: &'a Options,
}

impl Screen for Report<'_> {}

impl Sink for Report<'_> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Done(record) = event else { return Ok(()) };
        let output = &self.options.output;
        let material = Material::of(record).map_err(damaged)?;
        let text = report(&material, output.is_histogram_shown);
        match output.is_on_stdout {
            true => show_part(&text),
            false => {
                say_part(&text);
                Ok(())
            }
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_))
    }
}
