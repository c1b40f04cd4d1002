//! `memtide memaslap`: runs a command line of memaslap on this machine, with its output and exit
//! codes.

use super::screen::{Text, json, say_notes, written};
use super::{Asked, Face};
use memtide_compat::SLAP_WORDS;
use memtide_compat::memaslap::text::failure;
use memtide_compat::memaslap::{Environment, Options, Transcript, Transport, lower, parse};
use memtide_host::signal::{Caught, StopFlag};
use memtide_record::{EndedBy, Event, WrongValues};
use memtide_run::steps::RunTask;
use memtide_scenario::Settings;
use memtide_session::console::{complain, complaint, say, say_part};
use memtide_session::exit::{Stop, UNREACHABLE};
use memtide_session::{
    Came, Ended, Front, FrontProfile, InStep, Manner, Opened, Screen, Task, failed_in,
};
use memtide_sinks::{Sink, check_distinct};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

/// memaslap's exit code for any error.
const FATAL: u8 = 1;

/// The variable that names servers if no option does.
const SERVERS: &str = "MEMCACHED_SERVERS";

/// memaslap's face.
pub(super) struct Memaslap;

impl Face for Memaslap {
    fn fatal(&self) -> u8 {
        FATAL
    }

    fn read(&self, program: &str, words: &[String]) -> Result<Asked, memtide_compat::Stop> {
        let servers = std::env::var_os(SERVERS).map(OsString::into_string).transpose();
        let servers = servers.map_err(|servers| {
            let why = format!("{SERVERS}: the value {servers:?} is not UTF-8 text");
            memtide_compat::Stop::complaint(complaint(&why), FATAL)
        })?;
        let home = home();
        let environment = Environment {
            servers: servers.as_deref(),
            home: home.as_deref(),
            read: &|path| fs::read(path).ok(),
        };
        let options = parse(program, words, &environment)?;
        let settings = lower(&options)?;
        let front = Box::new(Line { options, has_notes: false });
        let settings = Box::new(settings);
        Ok(Asked::Run { settings, task: Task::Run(RunTask::Whole), front })
    }
}

/// A command line of memaslap.
struct Line {
    options: Options,
    /// True to show notes on stderr.
    has_notes: bool,
}

impl Front for Line {
    fn preface(&mut self) -> Result<(), Stop> {
        self.has_notes = say_notes(self.options.output.has_notes, &self.options.notes)?;
        Ok(())
    }

    /// A repeated server gets more connections. memaslap installs its handler of SIGINT even if a
    /// shell has started it in the background, with SIGINT ignored.
    fn profile(&self, _settings: &Settings) -> FrontProfile {
        FrontProfile {
            words: Some(&SLAP_WORDS),
            repeats: true,
            manner: Manner::KillsButInterrupts,
            ..FrontProfile::default()
        }
    }

    fn open(&mut self, _settings: &Settings) -> Result<Opened, Stop> {
        let place = self.options.output.json.as_deref();
        check_distinct(&[("--json", place)], true).map_err(Stop::usage)?;
        json(place, None)
    }

    fn screens<'a>(&'a self, settings: &'a Settings) -> Vec<InStep<'a>> {
        let transcript = Transcript::new(&self.options, &settings.scenario);
        let mut screens = vec![Text::in_step(transcript, self.has_notes)];
        if self.options.output.is_verbose {
            screens.push(InStep { name: "stderr", screen: Box::new(Wrong::default()) });
        }
        screens
    }

    fn end(&self, _settings: &Settings, ended: Ended) -> Result<u8, Stop> {
        let Came::Run(outcome) = &ended.came else { return Ok(0) };
        let record = &outcome.record;
        if let Some(failure) = &outcome.failure {
            ended.complain();
            return Err(failed_in(Some(&SLAP_WORDS), failure));
        }
        if record.totals.sent > 0 && record.totals.bytes_received == 0 {
            ended.complain();
            return Err(Stop { code: UNREACHABLE, message: unanswered(&self.options) });
        }
        let is_failing = self.options.output.is_failing;
        let is_wrong = is_failing && record.phases.verification().wrong() > 0;
        let is_interrupted = record.ended_by == EndedBy::Interrupted;
        written(ended)?;
        Ok(if is_interrupted || is_wrong { FATAL } else { 0 })
    }

    fn exit(&self, ended: Result<u8, Stop>, stop: &StopFlag) -> u8 {
        let code = match ended {
            Ok(code) => code,
            Err(stop) => {
                complain(&stop.message);
                return FATAL;
            }
        };
        match stop.caught() {
            None => code,
            // memaslap handles only this signal.
            Some(Caught::Interrupt) => {
                say("SIGINT handled.");
                FATAL
            }
            Some(Caught::Terminate | Caught::HangUp) => {
                stop.die();
                FATAL
            }
        }
    }
}

/// The user's home directory, from the password database and not from `$HOME`, as in memaslap.
fn home() -> Option<String> {
    let user = fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = String::from_utf8_lossy(&fs::read("/etc/passwd").ok()?).into_owned();
    let mut users = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = users.find(|fields| fields.get(2) == Some(&&*user))?;
    own.get(5).map(|home| (*home).to_owned())
}

/// The sentence about servers that never answered.
fn unanswered(options: &Options) -> String {
    let why = match options.target.transport {
        Transport::Tcp => "the servers are there, but say nothing",
        Transport::Udp | Transport::Split => {
            "a server has to be told to listen for UDP, as by memcached -U PORT"
        }
    };
    format!("nothing was answered: {why}")
}

/// Lists failed verifications below the report, up to the number kept.
#[derive(Default)]
struct Wrong {
    values: WrongValues,
}

impl Screen for Wrong {}

impl Sink for Wrong {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::WrongValues(values) => self.values = (**values).clone(),
            Event::Done(_) => {
                let WrongValues { listed, not_listed } = &self.values;
                listed.iter().for_each(|wrong| say_part(&failure(wrong)));
                if *not_listed > 0 {
                    say(&format!("{not_listed} more verifications failed"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
