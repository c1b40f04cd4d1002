//! `--ui`: the terminal is as it was before, whatever ends the run, and a terminal that stands
//! still disturbs nothing.

use crate::hostile::terminal::terminal;
use crate::peer::rogue::readable;
use crate::prelude::*;
use rustix::process::{Pid, kill_process};

const LINE: &str = "run --rate 1k --duration 3s --warmup 0 --keys 50 --ui";
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const PATIENCE: Duration = Duration::from_secs(60);

/// What a user does once the screen is there.
enum Deed {
    Nothing,
    Keys(&'static str),
    Signal(Signal),
    /// Reads nothing for this long.
    Stall(Duration),
}

/// Runs the line at a terminal; returns what the terminal got, and the exit code.
fn watched(deed: Deed, more: &str) -> (String, Option<i32>) {
    let (mut person, theirs) = terminal((80, 24));
    let mut command = program();
    command.args(format!("{LINE} {more}").split_whitespace());
    command.env("TERM", "xterm").env_remove("CI").env_remove("NO_COLOR");
    let end = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(end()).stdout(Stdio::null()).stderr(end()).spawn().unwrap();
    drop((command, theirs));
    let (mut said, mut bytes, mut deed) = (Vec::new(), [0; 65_536], Some(deed));
    let deadline = Instant::now() + PATIENCE;
    let code = loop {
        if readable(&person)
            && let Ok(count @ 1..) = person.read(&mut bytes)
        {
            said.extend(&bytes[..count]);
        }
        if String::from_utf8_lossy(&said).contains("answered") {
            match deed.take() {
                Some(Deed::Keys(keys)) => person.write_all(keys.as_bytes()).unwrap(),
                Some(Deed::Signal(signal)) => {
                    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
                    kill_process(pid, signal).unwrap();
                }
                Some(Deed::Stall(length)) => thread::sleep(length),
                Some(Deed::Nothing) | None => {}
            }
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if Instant::now() > deadline {
            drop(child.kill());
        }
    };
    while readable(&person)
        && let Ok(count @ 1..) = person.read(&mut bytes)
    {
        said.extend(&bytes[..count]);
    }
    (String::from_utf8_lossy(&said).into_owned(), code)
}

/// Asserts that the screen was entered and left once, in this order.
fn assert_left(said: &str) {
    let (enter, leave) = (said.find(ENTER), said.rfind(LEAVE));
    assert!(enter.is_some() && enter < leave, "{said:?}");
    assert_eq!((said.matches(ENTER).count(), said.matches(LEAVE).count()), (1, 1));
    assert!(said[leave.unwrap()..].contains("\x1b[?25h"), "the cursor is shown again");
}

#[test]
fn the_terminal_is_left_whatever_ends_the_run() {
    let _turn = shared();
    for (deed, code) in [
        (Deed::Nothing, Some(0)),
        (Deed::Keys("q"), Some(0)),
        (Deed::Keys("23 p?\t"), Some(0)),
        (Deed::Keys("\x03"), Some(130)),
        (Deed::Keys("s"), Some(130)),
        (Deed::Signal(Signal::TERM), Some(130)),
        (Deed::Signal(Signal::INT), Some(130)),
    ] {
        let (said, ended) = watched(deed, "");
        assert_left(&said);
        assert_eq!(ended, code, "{said:?}");
    }
}

#[test]
fn a_terminal_that_stands_still_disturbs_nothing() {
    let _turn = shared();
    let folder = crate::outputs::room("stalled-screen");
    let record = folder.join("r.json");
    let more = format!("--json {}", record.display());
    let (said, code) = watched(Deed::Stall(Duration::from_secs(6)), &more);
    assert_eq!(code, Some(0), "{said:?}");
    let record: Value = serde_json::from_str(&fs::read_to_string(record).unwrap()).unwrap();
    assert!(record["totals"]["answered"].as_u64().unwrap() > 2_500, "{}", record["totals"]);
}

#[test]
fn a_terminal_that_can_do_nothing_keeps_the_line() {
    let _turn = shared();
    let (person, theirs) = terminal((80, 24));
    let mut command = program();
    command.args(LINE.split_whitespace()).env("TERM", "dumb");
    let end = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(end()).stdout(Stdio::null()).stderr(end()).spawn().unwrap();
    drop((command, theirs));
    let mut person = person;
    let mut said = Vec::new();
    drop(person.read_to_end(&mut said));
    assert!(child.wait().unwrap().success());
    let said = String::from_utf8_lossy(&said);
    assert!(!said.contains(ENTER) && said.contains("measure "), "{said:?}");
}
