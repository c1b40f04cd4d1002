//! Which cases fail, and that names stay names.

use super::*;
use crate::fixture;
use memtide_record::steps::{Answer, Undecided};
use memtide_record::{Believable, Check};

#[test]
fn a_bad_day_fails_cases_that_say_why() {
    let mut record = fixture::bad_day();
    record.scenario.insert("strict".to_owned(), true.into());
    let text = junit(&record);
    for part in [
        "<testsuites name=\"memtide\" tests=\"",
        "<testcase classname=\"memtide.verdict\" name=\"believable\"",
        "<failure type=\"not believable\" message=\"no — ",
        "<testcase classname=\"memtide.errors\" name=\"timed_out\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_verdict_fails_nothing_that_the_exit_code_does_not() {
    let mut record = fixture::bad_day();
    record.goals.clear();
    let text = junit(&record);
    assert!(text.contains(r#"failures="0""#) && !text.contains("<failure"), "{text}");
    assert!(text.contains("<skipped message=\"not believable: no — "), "{text}");
}

#[test]
fn times_of_cases_add_up_to_the_runs_length() {
    let text = junit(&fixture::open());
    let cases = text.lines().filter(|line| line.contains("<testcase"));
    let times = cases.filter_map(|line| line.split("time=\"").nth(1)?.split('"').next());
    let sum: f64 = times.map(|time| time.parse::<f64>().unwrap()).sum();
    assert!((sum - fixture::open().measured_s).abs() < 0.001, "{sum}: {text}");
}

#[test]
fn a_quiet_run_fails_nothing() {
    let text = junit(&fixture::open());
    assert!(text.contains(r#"failures="0""#) && !text.contains("<failure"), "{text}");
}

#[test]
fn names_that_mean_something_in_xml_are_escaped() {
    let mut record = fixture::open();
    record.goals = fixture::bad_day().goals;
    record.goals[0].goal = "a<b&\"c\"\u{1}".to_owned();
    let text = junit(&record);
    assert!(text.contains(r#"name="a&lt;b&amp;&quot;c&quot; ""#), "{text}");
}

/// A search that `--steps-max` ended exits with 0, and its case failed; one that could not decide
/// was said to have found no rate that meets the goals.
#[test]
fn a_search_fails_where_its_exit_code_does_and_says_what_its_text_says() {
    let found = Answer { rate_per_s: Some(7e4), missed_per_s: Some(7.1e4), ..Answer::default() };
    let gap = Undecided { from_per_s: 7e4, to_per_s: 7e4, decidable_ns: Some(6e6), pause_ns: None };
    let undecided = Answer { undecided: Some(gap), ..Answer::default() };
    for (exit, ended_by, answer, said) in [
        (0, StepsEnd::Done, found, ""),
        (0, StepsEnd::StepsMax, found, "<skipped message=\"partial: the search did not finish; "),
        (130, StepsEnd::Interrupted, found, "<failure type=\"partial\" message=\"interrupted "),
        (1, StepsEnd::Done, undecided, "<failure type=\"undecided\" message=\"undecided: longer "),
        (1, StepsEnd::StepsMax, Answer::default(), "<failure type=\"missed\" message=\"no tested "),
        (1, StepsEnd::Done, found, "<failure type=\"output\" message=\"an output could not be "),
    ] {
        let answer = Some(answer);
        let conclusion = Conclusion { exit, ended_by, answer, ..Conclusion::default() };
        let junit = StepsJunit::new(CourseKind::Search, &["all.p95<10ms".to_owned()]);
        let text = junit.text(&conclusion);
        assert!(text.contains(said), "{said}: {text}");
        assert_eq!(text.contains("<failure "), exit != 0, "{text}");
    }
}

/// A failed output was said to be a wrong value.
#[test]
fn wrong_values_of_a_step_are_named() {
    let mut record = fixture::open();
    record.phases.measure.totals.verification.corrupt = 1;
    record.phases.measure.totals.verification.checked += 1;
    let mut junit = StepsJunit::new(CourseKind::Scan, &[]);
    junit.step(&fixture::step(1, record));
    let text = junit.text(&Conclusion { exit: 1, ..Conclusion::default() });
    let said = r#"<failure type="wrong values" message="a value was wrong""#;
    assert!(text.contains(said), "{text}");
}

/// Nothing is wrong with a scan's answer, because it has none; its steps decide the exit code.
#[test]
fn a_strict_scan_fails_if_a_step_is_not_believable() {
    let text = |record: Record| {
        let mut junit = StepsJunit::new(CourseKind::Scan, &[]);
        junit.step(&fixture::step(1, record));
        junit.text(&Conclusion::default())
    };
    let strict = |mut record: Record, code| {
        record.goals.clear();
        record.scenario.insert("strict".to_owned(), true.into());
        let (message, result) = ("late".to_owned(), CheckResult::Failed);
        let check = Check { code, result, message, measured: None, allowed: None };
        record.believable = Believable::from_checks(vec![check]);
        record
    };
    let said = r#"<failure type="not believable" message="a step is not believable""#;
    assert!(text(strict(fixture::open(), CheckKind::GeneratorP99)).contains(said));
    assert!(!text(fixture::open()).contains("a step is not"), "nothing failed");
}
