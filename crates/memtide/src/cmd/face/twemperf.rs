//! `memtide twemperf`, and `mcperf` with options that only twemperf has: a command line carried
//! out on this machine, its report and its exit codes.

use super::screen::json;
use super::stop_flag;
use crate::cmd::outlets::close;
use crate::cmd::run::surroundings;
use crate::exit::{INTERRUPTED, Stop, UNREACHABLE, unwritable};
use crate::late::check_distinct;
use crate::observer::HostObserver;
use crate::output::{say, say_part, show, wants_notes};
use memtide_compat::twemperf::text::{Material, report};
use memtide_compat::twemperf::{Options, lower, parse};
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, HostFleet, machine};
use memtide_run::{Failure, Outcome};
use memtide_schema::Settings;
use memtide_schema::record::EndedBy;
use std::fs::OpenOptions;
use std::io::Write;

/// What the original exits with when it cannot begin.
pub(super) const FATAL: u8 = 1;

/// Carries out a command line; returns the exit code.
pub(super) fn run(words: &[String]) -> u8 {
    let options = match parse(words) {
        Ok(options) => options,
        Err(stop) => return super::ended(&stop),
    };
    let performed = lower(&options).map_err(Refusal::Worded).and_then(|settings| {
        note(&options)?;
        let stop = stop_flag()?;
        Ok((perform(&options, &settings, &stop)?, stop))
    });
    match performed {
        Ok((code, stop)) => {
            // The original catches no signal.
            stop.die();
            code
        }
        Err(Refusal::Worded(stop)) => super::ended(&stop),
        Err(Refusal::Plain(stop)) => {
            say(&format!("mcperf: {}", stop.message));
            FATAL
        }
    }
}

/// Why there is no report.
enum Refusal {
    /// In the face's own words.
    Worded(memtide_compat::Stop),
    Plain(Stop),
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Self {
        Self::Plain(stop)
    }
}

/// Says what a user should know before the load: to the log, or to stderr if it is wanted there.
fn note(options: &Options) -> Result<(), Stop> {
    let Some(path) = &options.output.log else {
        if wants_notes(options.output.has_notes).map_err(Stop::usage)? {
            options.notes.iter().for_each(|note| say(note));
        }
        return Ok(());
    };
    let log = OpenOptions::new().create(true).append(true).open(path);
    let said = log.and_then(|mut log| options.notes.iter().try_for_each(|n| writeln!(log, "{n}")));
    said.map_err(|error| unwritable("--output", &error))
}

fn perform(options: &Options, settings: &Settings, stop: &StopFlag) -> Result<u8, Stop> {
    let output = &options.output;
    let places = [("--output", output.log.as_deref()), ("--json", output.json.as_deref())];
    check_distinct(&places, output.is_on_stdout).map_err(Stop::usage)?;
    let scenario = &settings.scenario;
    machine::raise_file_limit();
    let machine = machine::look();
    let around = surroundings(settings, None, &machine)?;
    let lowered = memtide_run::lower(scenario, &around)?;
    let outlets = json(output.json.as_deref(), None)?;
    let mut fleet = HostFleet::new(Clock::start(), stop.clone(), &lowered.places.workers, None);
    let mut observer = HostObserver::new(machine, true, outlets);
    let Outcome { record, failure, .. } =
        memtide_run::run(&mut fleet, scenario, &lowered, false, &mut observer)?;
    let trouble = close(observer.take_outlets());
    let material = Material::of(&record).map_err(Stop::usage)?;
    let text = report(&material, output.is_histogram_shown);
    match output.is_on_stdout {
        true => show(&text).map_err(|error| unwritable("stdout", &error))?,
        false => say_part(&text),
    }
    if let Some(stop) = trouble.into_iter().next() {
        return Err(stop);
    }
    match failure {
        // Connections that cannot be had are counted, and no reason to fail.
        None | Some(Failure { exit: UNREACHABLE, .. }) => {}
        Some(Failure { message, .. }) => return Err(Stop { code: FATAL, message }),
    }
    let is_wrong = output.is_error_fatal && material.errors.total() > 0;
    Ok(match record.ended_by {
        EndedBy::Interrupted => INTERRUPTED,
        _ if is_wrong => FATAL,
        _ => 0,
    })
}
