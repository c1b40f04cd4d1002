//! `memtide twemperf`, and `mcperf` with options that only twemperf has: runs a command line on
//! this machine, with its report and exit codes.

use super::screen::{FormatEvents, Text, json, say_notes, written};
use super::{Asked, Face};
use memtide_compat::twemperf::text::{Material, report};
use memtide_compat::twemperf::{Options, lower, parse};
use memtide_compat::{Printed, TWEMPERF_WORDS};
use memtide_host::signal::StopFlag;
use memtide_record::{EndedBy, Event};
use memtide_run::Failure;
use memtide_run::steps::RunTask;
use memtide_scenario::Settings;
use memtide_session::console::say;
use memtide_session::exit::{INTERRUPTED, Stop, UNREACHABLE, unwritable};
use memtide_session::{Came, Ended, Front, FrontProfile, InStep, Opened, Task, failed_in};
use memtide_sinks::check_distinct;
use std::fs::OpenOptions;
use std::io::Write;

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
            return say_notes(output.has_notes, notes).map(drop);
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
        vec![Text::in_step(Report { options: &self.options }, false)]
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

impl FormatEvents for Report<'_> {
    fn begin(&self) -> Printed {
        Printed::default()
    }

    fn on(&mut self, event: &Event) -> Result<Printed, String> {
        let Event::Done(record) = event else { return Ok(Printed::default()) };
        let output = &self.options.output;
        let text = report(&Material::of(record)?, output.is_histogram_shown);
        Ok(match output.is_on_stdout {
            true => Printed { stdout: text, ..Printed::default() },
            false => Printed { stderr: text, ..Printed::default() },
        })
    }
}
