//! `--ui` and the key that shows the screen: the terminal is as it was before, whatever ends the
//! run, and a terminal that stands still disturbs nothing.

use crate::hostile::terminal::terminal;
use crate::peer::rogue::readable;
use crate::prelude::*;
use memtide_sinks::{Screen, ScreenControl, ScreenKeys, SharedLive};
use rustix::process::{Pid, kill_process};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use std::sync::atomic::{AtomicBool, Ordering};

const LINE: &str = "run --rate 1k --warmup 0 --keys 50 --ui";
const SHORT: &str = "--duration 3s --timeout 60s";
/// Of runs that a deed ends.
const LONG: &str = "--duration 10m --timeout 60s";
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const PATIENCE: Duration = Duration::from_secs(120);

/// The variable that makes the test of a panic the process that panics.
const PANICS: &str = "IT_PANICS";

/// What a user does once the screen is there.
enum Deed {
    Nothing,
    Keys(&'static str),
    Signal(Signal),
    /// Gives the terminal this size.
    Resize((u16, u16)),
    /// Reads nothing for this long.
    Stall(Duration),
}

/// Runs the line at a terminal; returns what the terminal got, and the exit code.
fn watched(deed: Deed, more: &str) -> (String, Option<i32>) {
    of_line(&format!("{LINE} {more}"), vec![("answered", deed)])
}

fn of_line(line: &str, deeds: Vec<(&str, Deed)>) -> (String, Option<i32>) {
    let mut inner = program();
    inner.args(line.split_whitespace());
    at_a_terminal(&inner, deeds)
}

/// Runs a command at the terminal that it belongs to, and does each deed once the terminal has got
/// that word after the deed before.
fn at_a_terminal(inner: &Command, deeds: Vec<(&str, Deed)>) -> (String, Option<i32>) {
    let (mut person, theirs) = terminal((80, 24));
    let before = tcgetattr(&theirs).unwrap();
    let kept = theirs.try_clone().unwrap();
    // In a session of its own, whose terminal this is, it is in the foreground.
    let mut command = crate::child::cleared(Command::new("setsid"));
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.arg("--ctty").arg(inner.get_program()).args(inner.get_args());
    command.env("TERM", "xterm").env_remove("CI").env_remove("NO_COLOR");
    let end = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(end()).stdout(Stdio::null()).stderr(end()).spawn().unwrap();
    drop((command, theirs));
    let (mut said, mut bytes, mut deeds) = (Vec::new(), [0; 65_536], deeds.into_iter().peekable());
    let mut seen = 0;
    let deadline = Instant::now() + PATIENCE;
    let code = loop {
        if readable(&person)
            && let Ok(count @ 1..) = person.read(&mut bytes)
        {
            said.extend(&bytes[..count]);
        }
        let is_there =
            |(word, _): &(&str, Deed)| String::from_utf8_lossy(&said[seen..]).contains(word);
        if let Some((_, deed)) = deeds.next_if(is_there) {
            seen = said.len();
            match deed {
                Deed::Keys(keys) => person.write_all(keys.as_bytes()).unwrap(),
                Deed::Signal(signal) => {
                    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
                    kill_process(pid, signal).unwrap();
                }
                Deed::Resize((columns, rows)) => {
                    let size =
                        Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
                    tcsetwinsize(&person, size).unwrap();
                }
                Deed::Stall(length) => thread::sleep(length),
                Deed::Nothing => {}
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
    let after = tcgetattr(&kept).unwrap();
    assert_eq!(after.local_modes, before.local_modes, "the modes are as before");
    assert_eq!(after.output_modes, before.output_modes, "the modes are as before");
    (String::from_utf8_lossy(&said).into_owned(), code)
}

/// Asserts that the screen was entered and left once, in this order.
fn assert_left(said: &str) {
    assert_left_times(said, 1);
}

/// Asserts that the screen was entered and left this number of times.
fn assert_left_times(said: &str, times: usize) {
    let (enter, leave) = (said.find(ENTER), said.rfind(LEAVE));
    assert!(enter.is_some() && enter < leave, "{said:?}");
    let counts = (said.matches(ENTER).count(), said.matches(LEAVE).count());
    assert_eq!(counts, (times, times), "{said:?}");
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
        let (said, ended) = watched(deed, if code == Some(0) { SHORT } else { LONG });
        assert_left(&said);
        assert_eq!(ended, code, "{said:?}");
    }
}

/// A simulation catches no signal, so each ends it at once; Ctrl-C is that signal, too.
#[test]
fn a_simulation_that_a_signal_ends_leaves_the_terminal() {
    let _turn = shared();
    let line = "sim --rate 1k --duration 10h --keys 50 --ui";
    for deed in [
        Deed::Signal(Signal::TERM),
        Deed::Signal(Signal::INT),
        Deed::Signal(Signal::HUP),
        Deed::Keys("\x03"),
        Deed::Keys("s"),
    ] {
        let (said, code) = of_line(line, vec![("answered", deed)]);
        assert_left(&said);
        assert_eq!(code, None, "a signal ends it: {said:?}");
    }
}

#[test]
fn a_key_shows_the_screen_beside_the_progress_line_and_leaves_it() {
    let _turn = shared();
    let line = "run --rate 1k --duration 10m --warmup 0 --keys 50";
    // Other keys do nothing.
    let deeds = vec![
        ("measure ", Deed::Keys("xq")),
        ("measure ", Deed::Keys("u")),
        ("[overview]", Deed::Keys("u")),
        ("measure ", Deed::Keys("u")),
        ("[overview]", Deed::Keys("q")),
        ("measure ", Deed::Keys("\x03")),
    ];
    let (said, code) = of_line(line, deeds);
    assert_eq!(code, Some(130), "{said:?}");
    assert_left_times(&said, 2);
    let (first, _) = said.split_once(ENTER).unwrap();
    assert!(first.contains("measure ") && !first.contains("xq"), "no key is shown: {first:?}");
    for deed in [Deed::Keys("\x03"), Deed::Keys("\x03\x03"), Deed::Signal(Signal::TERM)] {
        let (said, code) = of_line(line, vec![("measure ", deed)]);
        assert_eq!((code, said.contains(ENTER)), (Some(130), false), "{said:?}");
    }
}

#[test]
fn a_terminal_that_changes_its_size_is_drawn_anew() {
    let _turn = shared();
    // The last line of the larger screen.
    let last = "\x1b[40;1H";
    let deeds = vec![("answered", Deed::Resize((132, 40))), (last, Deed::Keys("\x03"))];
    let (said, code) = of_line(&format!("{LINE} {LONG}"), deeds);
    assert_eq!(code, Some(130), "{said:?}");
    assert_left(&said);
    assert!(said.contains(last), "{said:?}");
}

#[test]
fn a_panic_restores_the_terminal() {
    if std::env::var_os(PANICS).is_some() {
        let (is_stopping, stop) = (Box::new(|| false), Box::new(|| {}));
        static HAS_SCREEN: AtomicBool = AtomicBool::new(false);
        let has_screen = |has: bool| HAS_SCREEN.store(has, Ordering::Relaxed);
        let keys = ScreenKeys { take: || false, restore: || {}, are_ours: || true, has_screen };
        let control = ScreenControl { is_stopping, stop, has_colours: false, keys };
        let screen = Screen::start(SharedLive::default(), control, true).unwrap();
        until("there is no screen", || HAS_SCREEN.load(Ordering::Relaxed));
        std::mem::forget(screen);
        panic!("planted");
    }
    let _turn = shared();
    let mut inner = Command::new(std::env::current_exe().unwrap());
    let name = "watching::screen::a_panic_restores_the_terminal";
    inner.args([name, "--exact", "--nocapture"]).env(PANICS, "1");
    let (said, code) = at_a_terminal(&inner, Vec::new());
    assert_eq!(code, Some(101), "{said:?}");
    assert_left(&said);
    // The message can be read.
    assert!(said.split(LEAVE).nth(1).is_some_and(|rest| rest.contains("planted")), "{said:?}");
}

#[test]
fn a_terminal_that_stands_still_disturbs_nothing() {
    let _turn = shared();
    let folder = crate::outputs::room("stalled-screen");
    let record = folder.join("r.json");
    let more = format!("{SHORT} --json {}", record.display());
    let (said, code) = watched(Deed::Stall(Duration::from_secs(6)), &more);
    assert_eq!(code, Some(0), "{said:?}");
    let record: Value = serde_json::from_str(&fs::read_to_string(record).unwrap()).unwrap();
    assert!(record["totals"]["answered"].as_u64().unwrap() > 1_000, "{}", record["totals"]);
}

#[test]
fn a_terminal_that_can_do_nothing_keeps_the_line() {
    let _turn = shared();
    let (person, theirs) = terminal((80, 24));
    let mut command = program();
    command.args(LINE.split_whitespace()).args(SHORT.split(' ')).env("TERM", "dumb");
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
