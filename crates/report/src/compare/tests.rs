//! Comparisons as text and Markdown, compared with files.

use super::*;
use crate::fixture;
use crate::fixture::expect;
use memtide_record::compare::{Named, RepeatedFigure, Repeats, Trial, Unit, compare};
use memtide_record::{Believable, Check, CheckKind, CheckResult, FloorRecord, WarningRecord};
use memtide_scenario::Kind;

fn records() -> Vec<(String, Record)> {
    let first = fixture::open();
    let mut second = first.clone();
    second.machine.memtide_version = "0.2.0 <b>|".to_owned();
    second.rate.achieved_per_s = 19_000.0;
    second.totals.misses = 0;
    second.plan.servers[0].name = "cache2:11211".to_owned();
    let slower = fixture::with_unanswered(200_031, 3_000, [99_000, 140_000, 1, 1]);
    second.response.insert(Kind::All, slower);
    let rule = second.response.get_mut(&Kind::Get).unwrap();
    (rule.mean_ci_low_ns, rule.mean_ci_high_ns) = (Some(8e4), Some(9e4));
    let mut third = second.clone();
    third.response.remove(&Kind::Set);
    vec![
        ("before.json".to_owned(), first),
        ("after.json".to_owned(), second),
        ("later.json".to_owned(), third),
    ]
}

#[test]
fn a_comparison_shows_what_differs_and_each_figure_with_its_ratio() {
    let records = records();
    let rules = ["all.mean>+5%", "rate<-10%", "touch.p99>+5%"].map(|rule| rule.parse().unwrap());
    let comparison = compare(&records, &rules);
    expect("compare.txt", &comparison_text(&comparison, &records, None));
    expect("compare.md", &comparison_markdown(&comparison, &records, false));
    let undecided = RuleResult { result: RuleOutcome::Undecided, ..comparison.rules[0].clone() };
    let comparison = Comparison { rules: vec![undecided], ..comparison };
    for (strict, mark) in [(false, "✅"), (true, "❌")] {
        let text = comparison_markdown(&comparison, &records, strict);
        assert!(text.starts_with(&format!("### memtide: 3 records compared {mark}\n")), "{text}");
    }
}

#[test]
fn two_alike_runs_say_so() {
    let records = [0, 1].map(|number| (format!("{number}.json"), fixture::open()));
    let comparison = compare(&records, &[]);
    assert!(comparison.alike && comparison.differences.is_empty());
    let text = comparison_text(&comparison, &records, None);
    assert!(text.contains("\nalike      the runs have the same load"), "{text}");
    assert!(text.contains("1.000"), "{text}");
}

#[test]
fn two_runs_that_are_not_believable_do_not_differ_in_that() {
    let records = [0, 1].map(|number| {
        let mut record = fixture::open();
        record.believable.verdict = Verdict::No;
        (format!("{number}.json"), record)
    });
    let comparison = compare(&records, &[]);
    assert!(!comparison.alike && comparison.differences.is_empty());
    let text = comparison_text(&comparison, &records, None);
    assert!(text.contains("unlike     none of the runs is believable"), "{text}");
}

#[test]
fn runs_that_differ_by_more_than_each_knows_of_itself_are_named() {
    let figure = |unsteady: bool| RepeatedFigure {
        name: "all.p99".to_owned(),
        unit: Unit::Ns,
        runs: 8,
        median: Some(1e6),
        range: Some([9e5, 1.3e6]),
        confidence: Some(0.99),
        between: Some(0.2),
        within: Some(0.01),
        unsteady,
    };
    for unsteady in [true, false] {
        let repeats = Repeats { figures: vec![figure(unsteady)], ..Repeats::new(8) };
        for text in [repeats_text(&repeats, None), repeats_markdown(&repeats)] {
            let is_said = text.contains(
                "all.p99: runs differ by more than each knows of itself: state kept by server or \
                 kernel.",
            );
            assert_eq!(is_said, unsteady, "{text}");
        }
    }
}

#[test]
fn figures_of_a_trial_near_their_floor_are_named() {
    let floor = FloorRecord { p50_ns: Some(20_000), ..FloorRecord::default() };
    for (median, is_near) in [(59_000.0, true), (61_000.0, false)] {
        let names = [Named::parse("all.p50").unwrap()];
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names);
        trial.figures[0].medians = [Some(1e6), Some(median)];
        assert!(!trial_text(&trial, None).contains("floor"));
        trial.floors = Some([floor.clone(), floor.clone()]);
        let text = trial_text(&trial, None);
        assert!(text.contains("floor of A: p50 20.0 µs (an embedded server); of B: "), "{text}");
        assert_eq!(text.contains("below 3 × the floor: all.p50."), is_near, "{text}");
    }
}

#[test]
fn a_machine_that_spoils_pairs_is_told_with_what_to_do_once() {
    let spoilt = |code: &str| {
        let check = Check {
            code: CheckKind::WorkerBusy,
            result: CheckResult::Failed,
            message: "worker 0 waited".to_owned(),
            measured: None,
            allowed: None,
        };
        let warning = WarningRecord {
            code: code.to_owned(),
            remedy: "use two".to_owned(),
            ..WarningRecord::default()
        };
        Record {
            believable: Believable::from_checks(vec![check]),
            warnings: vec![warning],
            ..Record::default()
        }
    };
    for (code, is_told) in [("cpu_taken", true), ("evictions", false)] {
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &[]);
        for number in 1..3 {
            trial.add('B', 1, &[Record::default(), spoilt(code)]);
            let line = pair_line(&trial);
            assert!(line.starts_with(&format!("pair {number}: left out (")), "{line}");
            assert_eq!(line.contains("\n  to do: use two\n"), is_told && number == 1, "{line}");
        }
        let text = trial_text(&trial, None);
        assert!(text.contains("2 pairs left out"), "{text}");
        assert_eq!(text.contains("To have pairs that count, use two."), is_told, "{text}");
    }
}
