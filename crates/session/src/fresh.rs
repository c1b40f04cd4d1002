//! A run in a process of its own: this program again, which reads the scenario from its stdin and
//! writes its record to its stdout.

use crate::console::complain;
use crate::exit::{FAILED, INTERRUPTED};
use memtide_base::Span;
use memtide_host::signal::interrupt_process;
use memtide_record::Record;
use memtide_scenario::field::find;
use memtide_scenario::{Placement, Settings, ShardWord, scenario_file};
use serde_json::{Map, Value};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// This program, also if its file was replaced since it started.
const PROGRAM: &str = "/proc/self/exe";
/// How the environment names fields. The settings hold them already.
const PREFIX: &str = "MEMTIDE_";
const PASSWORD: &str = "MEMTIDE_PASSWORD";
/// How long a run measures whose settings do not say it, unless it chooses that by itself.
const LENGTH: Span = Span::from_s(10);
/// How often an interrupt is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the process may take to end by itself after an interrupt.
const GRACE: Duration = Duration::from_secs(2);

/// Carries the run out, with further words of the command line; interrupts it if `is_stopped`, or
/// ends it at once if it `is_silent`. The error is the exit code; the process has said why, unless
/// it is silent.
pub fn run(
    settings: &Settings,
    words: &[&str],
    is_silent: bool,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Record, u8> {
    let settings = own(settings);
    let grace = if is_silent { Duration::ZERO } else { GRACE };
    let finished =
        start(&settings, words, is_silent).and_then(|child| finish(child, grace, is_stopped));
    let (status, out) = finished.map_err(|error| {
        if !is_silent {
            complain(&format!("a process for the run cannot be started: {error}"));
        }
        FAILED
    })?;
    match status.code() {
        Some(0) => Record::from_json(&String::from_utf8_lossy(&out)).map_err(|_| FAILED),
        Some(code) => Err(code as u8),
        None => Err(if is_stopped() { INTERRUPTED } else { FAILED }),
    }
}

/// The settings of the process, which makes the whole run, also if a launcher has started this one
/// several times. As one of several runs it chooses no length by itself.
fn own(settings: &Settings) -> Settings {
    let outputs = settings.outputs.of_one_of_several();
    let placement = Placement { shard: Some(ShardWord::Whole), ..Placement::default() };
    let mut own = Settings { outputs, placement, ..settings.clone() };
    let mut first = own.clone();
    first.decide_first_length();
    if first != own {
        own.scenario.duration = Some(LENGTH);
    }
    own
}

/// Starts the process and hands it the settings.
fn start(settings: &Settings, words: &[&str], is_silent: bool) -> io::Result<Child> {
    let mut command = Command::new(PROGRAM);
    command.arg0("memtide").args(["run", "-"]).args(words);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(PREFIX) {
            command.env_remove(name);
        }
    }
    // A document shows no password.
    if let Some(password) = &settings.scenario.password {
        command.env(PASSWORD, password.reveal());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if is_silent {
        command.stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that reads no further has ended, and its exit code says why.
        drop(stdin.write_all(scenario_file(&document(settings)).as_bytes()));
    }
    Ok(child)
}

/// The settings as the process reads them. Lengths of values that the user left to memtide are left
/// out: servers with values of other lengths are refused only if the user said which they have.
fn document(settings: &Settings) -> Map<String, Value> {
    let mut document = settings.words();
    document.remove("password");
    document.insert("json".to_owned(), "-".into());
    let lengths = find("value-size").expect("it is a field");
    if !settings.sets(lengths) {
        document.remove(lengths.name);
    }
    document
}

/// Waits until the process has ended; returns what it wrote. Once `is_stopped`, it is interrupted,
/// and killed if it has not ended after `grace`.
fn finish(
    mut child: Child,
    grace: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut stdout = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut out = Vec::new();
        stdout.as_mut().map(|from| from.read_to_end(&mut out));
        out
    });
    let mut stopped: Option<Instant> = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if is_stopped() {
            // A terminal has interrupted it already; a second signal so soon means the same.
            let since = *stopped.get_or_insert_with(|| {
                interrupt_process(&child);
                Instant::now()
            });
            if since.elapsed() >= grace {
                child.kill()?;
            }
        }
        thread::sleep(LOOK_EVERY);
    };
    Ok((status, reader.join().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_makes_the_whole_run_and_chooses_no_length() {
        let mut settings = Settings::default();
        let shard = |settings: &Settings| own(settings).words().get("shard").cloned();
        assert_eq!(shard(&settings), Some("none".into()));
        let lengths = |settings: &Settings| {
            let mut own = own(settings);
            own.decide_first_length();
            (own.scenario.duration, own.scenario.precision.len())
        };
        assert_eq!(lengths(&settings), (Some(LENGTH), 0));
        settings.scenario.ops_max = Some(100);
        assert_eq!(lengths(&settings), (None, 0), "operations end it");
    }
}
