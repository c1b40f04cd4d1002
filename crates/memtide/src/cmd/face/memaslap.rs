//! `memtide memaslap`: a command line of memaslap carried out on this machine, what it prints and
//! its exit codes.

use super::screen::{Screen, json};
use super::{ended, stop_flag};
use crate::cmd::run::{check_files, surroundings};
use crate::exit::Stop;
use crate::late::check_distinct;
use crate::observer::HostObserver;
use crate::output::{complain, say, say_part, wants_notes};
use memtide_compat::memaslap::text::failure;
use memtide_compat::memaslap::{Environment, Options, Transcript, Transport, lower, parse};
use memtide_host::signal::{Caught, StopFlag};
use memtide_host::{Clock, HostFleet, machine};
use memtide_run::{Outcome, Surroundings};
use memtide_schema::record::EndedBy;
use memtide_schema::{Settings, WrongValues};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// What memaslap exits with when something is wrong.
pub(super) const FATAL: u8 = 1;

/// The variable that names servers when no option does.
const SERVERS: &str = "MEMCACHED_SERVERS";

/// Carries out a command line; returns the exit code.
pub(super) fn run(program: &str, words: &[String]) -> u8 {
    let servers = match std::env::var_os(SERVERS).map(OsString::into_string).transpose() {
        Ok(servers) => servers,
        Err(servers) => {
            complain(&format!("{SERVERS}: the value {servers:?} is not UTF-8 text"));
            return FATAL;
        }
    };
    let home = home();
    let read = |path: &str| fs::read(path).ok();
    let environment =
        Environment { servers: servers.as_deref(), home: home.as_deref(), read: &read };
    let options = match parse(program, words, &environment) {
        Ok(options) => options,
        Err(stop) => return ended(&stop),
    };
    let settings = match lower(&options) {
        Ok(settings) => settings,
        Err(stop) => return ended(&stop),
    };
    let performed = wants_notes(options.output.has_notes).map_err(Stop::usage).and_then(|notes| {
        let stop = stop_flag()?;
        let code = perform(&options, &settings, (&stop, notes))?;
        Ok((code, stop))
    });
    match performed {
        Ok((code, stop)) => match stop.caught() {
            None => code,
            // memaslap catches this one alone.
            Some(Caught::Interrupt) => {
                say("SIGINT handled.");
                FATAL
            }
            Some(Caught::Terminate | Caught::HangUp) => {
                stop.die();
                FATAL
            }
        },
        Err(stop) => {
            complain(&stop.message);
            FATAL
        }
    }
}

/// The directory of whoever runs this, by the file of users and not by `$HOME`, as in memaslap.
fn home() -> Option<String> {
    let user = fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = String::from_utf8_lossy(&fs::read("/etc/passwd").ok()?).into_owned();
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&&*user)).then(|| fields.get(5).map(|home| (*home).to_owned()))
    };
    users.lines().find_map(home).flatten()
}

fn perform(
    options: &Options,
    settings: &Settings,
    (stop, has_notes): (&StopFlag, bool),
) -> Result<u8, Stop> {
    if has_notes {
        options.notes.iter().for_each(|note| say(note));
    }
    let scenario = &settings.scenario;
    let files_max = machine::raise_file_limit();
    let machine = machine::look();
    // A server may be named again, for more connections to it.
    let around = Surroundings { repeats: true, ..surroundings(settings, None, &machine)? };
    let lowered = memtide_run::lower(scenario, &around)?;
    check_files(&lowered, false, files_max).map_err(|stop| Stop {
        message: stop.message.replace("--connections", "--concurrency"),
        ..stop
    })?;
    let output = &options.output;
    check_distinct(&[("--json", output.json.as_deref())], true).map_err(Stop::usage)?;
    let outlets = json(output.json.as_deref(), None)?;
    let mut fleet = HostFleet::new(Clock::start(), stop.clone(), &lowered.places.workers, None);
    let observer = HostObserver::new(machine, true, outlets);
    let mut screen = Screen::new(observer, Transcript::new(options, scenario), None, has_notes);
    screen.begin();
    let Outcome { record, failure, wrong_values } =
        memtide_run::run(&mut fleet, scenario, &lowered, false, &mut screen)?;
    if output.is_verbose {
        tell(&wrong_values);
    }
    if let Some(failure) = failure {
        return Err(screen.fatal(failure.message));
    }
    if record.totals.sent > 0 && record.totals.bytes_received == 0 {
        return Err(screen.fatal(unanswered(options)));
    }
    screen.finish()?;
    let is_wrong = output.is_failing && record.phases.verification().wrong() > 0;
    Ok(if record.ended_by == EndedBy::Interrupted || is_wrong { FATAL } else { 0 })
}

/// The sentence about servers that said nothing at all.
fn unanswered(options: &Options) -> String {
    let why = match options.target.transport {
        Transport::Tcp => "the servers are there, but say nothing",
        Transport::Udp | Transport::Split => {
            "a server has to be told to listen for UDP, as by memcached -U PORT"
        }
    };
    format!("nothing was answered: {why}")
}

/// Each verification that failed, as far as they were kept.
fn tell(WrongValues { listed, not_listed }: &WrongValues) {
    listed.iter().for_each(|wrong| say_part(&failure(wrong)));
    if *not_listed > 0 {
        say(&format!("{not_listed} more verifications failed"));
    }
}
