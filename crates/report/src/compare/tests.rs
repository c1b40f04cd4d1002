//! Comparisons as text and Markdown, compared with files.

use super::*;
use crate::fixture;
use crate::fixture::expect;
use crate::{StepsText, TextOptions, text_for};
use memtide_record::compare::{
    Named, RepeatedFigure, Repeats, Trial, TrialEnd, Unit, compare, compare_groups,
};
use memtide_record::steps::{Conclusion, CourseKind};
use memtide_record::{Believable, Check, CheckKind, CheckResult, FloorRecord, Rule, WarningRecord};
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
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names, &[]);
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
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &[], &[]);
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

#[test]
fn a_trial_says_shares_in_points_and_what_its_rules_found() {
    let answering = |answered: u64| {
        let mut record = fixture::open();
        (record.totals.intended, record.totals.answered) = (1_000, answered);
        record.totals.timed_out = 1_000 - answered;
        record.believable = Believable::from_checks(Vec::new());
        record.believable.verdict = Verdict::Yes;
        record
    };
    let names = ["errors", "answered"].map(|name| Named::parse(name).unwrap());
    let rules: [Rule; 2] = ["errors>+0.1", "rate<-5%"].map(|rule| rule.parse().unwrap());
    let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names, &rules);
    let pair = |number: u64| [answering(1_000), answering(728 + number)];
    (0..5).for_each(|number| trial.add('A', 1, &pair(number)));
    let early = trial_text(&trial, None);
    assert!(early.contains("errors is undecided: 5 pairs of at least 6 measured it"), "{early}");
    trial.add('A', 1, &pair(5));
    trial.ended_by = Some(TrialEnd::Exact);
    trial.judge(&rules);
    let found = "fail-on: errors>+0.1 failed for B: +26.7 points to +27.2 points compared with A";
    let text = trial_text(&trial, None);
    for said in ["+27.0 points", "+26.7 to +27.2 points", found, "rate<-5% passed for B: "] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(text.contains("equal: A and B differ by less than 5 %."), "{text}");
    assert!(trial_markdown(&trial).contains("failed for B: +26.7 points"), "{text}");
    #[cfg(feature = "html")]
    assert!(crate::trial_page(&trial).contains("+26.7 points to +27.2 points"), "{text}");
}

#[test]
fn groups_made_one_after_the_other_are_told_with_their_times() {
    let group = |minutes: u64| {
        let record = |run: u64| {
            let mut record = fixture::open();
            record.started_unix_ms = (1_800_000_000 + 60 * (minutes + run)) * 1_000;
            record.ended_unix_ms = record.started_unix_ms + 50_000;
            (format!("{minutes}-{run}.json"), record)
        };
        (0..3).map(record).collect::<Vec<_>>()
    };
    let said = |b: u64| {
        let groups = compare_groups(&[group(0), group(b)], 0.05, &[], &[], 0.05);
        let text = groups_text(&groups, None);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.contains("cannot be told"), groups_markdown(&groups).contains("cannot"));
        text
    };
    let today = "A was measured 08:00–08:02, B 08:10–08:12 (UTC): a change of the machine between \
                 them cannot be told from the server's.";
    assert!(said(10).contains(today), "{}", said(10));
    let other_day = "A was measured 2027-01-15 08:00–08:02, B 2027-01-16 08:00–08:02 (UTC): ";
    assert!(said(1_440).contains(other_day), "{}", said(1_440));
    assert!(!said(1).contains("cannot be told"), "their runs alternate");
}

/// A record whose warning about trust comes last, as in files of older versions.
fn unchecked() -> Record {
    let mut record = fixture::open();
    let steal = Warning::CpuStolen { share: 0.2 };
    record.warnings =
        [steal.clone(), steal, Warning::TlsUnchecked].iter().map(Into::into).collect();
    record
}

/// All figures depend on who answered: a warning about that comes first, and in every report.
#[test]
fn warnings_about_trust_come_first_and_in_every_report() {
    let record = unchecked();
    let short = TextOptions { full: false, ..TextOptions::default() };
    let mut reports = vec![
        fixture::text(&record),
        text_for(&record, &short),
        crate::markdown(&record),
        #[cfg(feature = "html")]
        crate::page(&record),
    ];
    let mut steps = StepsText::new(CourseKind::Search, &[], None);
    steps.step(&fixture::step(1, record.clone()));
    reports.push(steps.conclusion(&Conclusion::default()));
    for report in reports {
        let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
        let trust = report.find("certificates were not checked").expect(&report);
        assert!(report.find("hypervisor").is_none_or(|steal| trust < steal), "{report}");
    }
    let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &[], &[]);
    trial.add('A', 1, &[fixture::open(), record.clone()]);
    let groups = [("a.json", fixture::open()), ("b.json", record.clone())]
        .map(|(name, record)| vec![(name.to_owned(), record)]);
    let groups = compare_groups(&groups, 0.05, &[], &[], 0.05);
    let repeats = Repeats { runs: vec![record.clone()], ..Repeats::new(1) };
    let records = [("a.json".to_owned(), fixture::open()), ("b.json".to_owned(), record)];
    let comparison = compare(&records, &[]);
    for report in [
        trial_text(&trial, None),
        trial_markdown(&trial),
        groups_text(&groups, None),
        groups_markdown(&groups),
        repeats_text(&repeats, None),
        repeats_markdown(&repeats),
        comparison_text(&comparison, &records, None),
        comparison_markdown(&comparison, &records, false),
    ] {
        let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = ["certificates were not checked", "certificates not checked"];
        assert!(words.iter().any(|words| report.contains(words)), "{report}");
    }
}
