//! How searches and scans end, what they refuse, and the command that carries them out again.

use super::*;
use memtide_record::steps::Answer;
use memtide_scenario::field;
use std::ffi::OsString;

/// What the command line says to the command that it names.
fn matches(words: &[&str]) -> ArgMatches {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let all = flags::command_for(&words).try_get_matches_from(words).unwrap();
    let (_, own) = all.subcommand().unwrap();
    own.clone()
}

/// The exit code of strict steps between 100/s and 120/s, of which those at `doubted` are not
/// believable.
fn strict(kind: CourseKind, doubted: f64) -> Option<u8> {
    let front = NativeSteps { kind, goals: Vec::new(), is_simulated: false, trace: None };
    let mut settings = Settings::default();
    settings.scenario.trust.strict = Some(0.3);
    let answer = Answer { rate_per_s: Some(100.0), missed_per_s: Some(120.0), ..Answer::default() };
    let conclusion = Conclusion { answer: Some(answer), ..Conclusion::default() };
    let came = Came::Steps(StepsOutcome { conclusion, failure: None });
    let doubted = vec![Rate::new(doubted, RateUnit::Operations)];
    let ended = Ended { came, doubted, trouble: Vec::new(), is_recorded: true };
    front.end(&settings, ended).ok()
}

/// A strict search ended with 0 although the step above its result was not believable.
#[test]
fn a_strict_search_needs_both_ends_of_its_interval() {
    for doubted in [100.0, 120.0] {
        assert_eq!(strict(CourseKind::Search, doubted), Some(UNBELIEVABLE), "{doubted}");
    }
    assert_eq!(strict(CourseKind::Search, 90.0), Some(0));
    assert_eq!(strict(CourseKind::Scan, 90.0), Some(UNBELIEVABLE));
}

/// A list of rates with spaces was not one word of the command that a page shows.
#[test]
fn words_of_the_command_are_quoted_for_a_shell() {
    let command =
        |rates| command(&matches(&["memtide", "scan", "--rates", rates]), false, CourseKind::Scan);
    assert_eq!(command("10k, 20k"), "memtide scan scenario.toml --rates '10k, 20k'");
    assert_eq!(command("1k..9k+2k"), "memtide scan scenario.toml --rates 1k..9k+2k");
}

/// `search --agents 2 --floor fresh` ignored the flag in silence.
#[test]
fn agents_are_asked_for_no_floor() {
    let mut settings = Settings::default();
    let refuses = |words: &[&str], settings: &Settings| {
        let words = [&["memtide", "search"][..], words].concat();
        flags::floors(&matches(&words), FloorMode::Kept, settings).is_err()
    };
    assert!(!refuses(&["--floor", "fresh"], &settings));
    field::find("agents").unwrap().set(&mut settings, "2").unwrap();
    assert!(refuses(&["--floor", "fresh"], &settings));
    assert!(!refuses(&["--floor", "off"], &settings) && !refuses(&[], &settings));
}

/// `search --at-most` asked for a precision, and a search with one asked to remove it.
#[test]
fn no_step_asks_for_what_it_refuses() {
    for (command, own) in [("search", ["--goal", "all.p95<10ms"]), ("scan", ["--rates", "1k"])] {
        let words = [&["memtide", command][..], &own, &["--at-most", "1m"]].concat();
        let refused = settings(&matches(&words), true, command, "it sets");
        let message = refused.err().map(|stop| stop.message).unwrap_or_default();
        assert!(message.contains("use duration"), "{message}");
        assert!(!message.contains("precision"), "{message}");
    }
}
