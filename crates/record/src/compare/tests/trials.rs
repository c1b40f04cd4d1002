//! Trials and groups: shares, few pairs, lost pairs, rules, and groups made one after the other.

use super::*;

/// A record of a server that answered this number of 1 000 operations, and as many per second.
fn answering(answered: u64) -> Record {
    let mut record = timed(1e6, 1e3);
    (record.totals.intended, record.totals.answered) = (1_000, answered);
    record.totals.timed_out = 1_000 - answered;
    (record.rate.achieved_per_s, record.rate.answered_per_s) = (1e3, Some(answered as f64));
    (record.totals.keys, record.totals.hits) = (1_000, answered);
    record.totals.misses = 1_000 - answered;
    record
}

/// Pairs of servers that answer as A and as B.
fn answering_pairs(pairs: u64, a: u64, b: fn(u64) -> u64) -> Vec<[Record; 2]> {
    (0..pairs).map(|number| [answering(a), answering(b(number))]).collect()
}

fn finding(figure: &str, pairs: &[[Record; 2]]) -> TrialFinding {
    trial_of(figure, pairs).figures[0].finding
}

/// It was undecided, because 0 has no ratio.
#[test]
fn shares_and_zeros_are_compared_by_their_difference() {
    let lossy = answering_pairs(6, 1_000, |number| 728 + number);
    let figure = trial_of("errors", &lossy).figures.remove(0);
    assert_eq!((figure.finding, figure.in_unit), (TrialFinding::Worse, true), "{figure:?}");
    assert!((figure.change.unwrap() - 0.2695).abs() < 1e-9, "{figure:?}");
    let [low, high] = figure.range.unwrap();
    assert!((0.26..0.2695).contains(&low) && (0.2695..0.28).contains(&high), "{figure:?}");
    for (name, worse) in [("hit_ratio", true), ("misses", true), ("hits", true)] {
        assert_eq!(finding(name, &lossy) == TrialFinding::Worse, worse, "{name}");
    }
    let silent = answering_pairs(6, 400, |number| number % 2);
    assert_eq!(finding("answered", &silent), TrialFinding::Worse);
    let back: Vec<[Record; 2]> = lossy.into_iter().map(|[a, b]| [b, a]).collect();
    assert_eq!(finding("errors", &back), TrialFinding::Better);
    // Now and then one operation of 1 000 is no difference.
    let few = answering_pairs(6, 1_000, |number| 1_000 - number % 2);
    assert_eq!(finding("errors", &few), TrialFinding::Equal);
}

/// The rate that was sent is the same, so that it was called equal.
#[test]
fn a_server_that_answers_a_quarter_of_what_it_is_sent_is_worse() {
    let slow = answering_pairs(6, 400, |_| 100);
    assert_eq!(finding("rate", &slow), TrialFinding::Equal);
    assert_eq!(finding("answered", &slow), TrialFinding::Worse);
    let [a, b] = slow[0].each_ref().map(|record| (String::new(), record.clone()));
    let rule = judged("answered<-70%", &[a, b]);
    assert_eq!((rule.result, rule.change), (RuleOutcome::Failed, Some(-0.75)), "{}", rule.why);
    assert!(rule.why.contains("it is 100/s, −75.0 % compared with 400/s in A"), "{}", rule.why);
}

/// Where nothing else scatters, one answer more or less at the window's end made a server worse.
#[test]
fn a_rate_of_answers_is_known_to_a_thousandth_at_best() {
    let pairs = |of_b: f64| {
        let pair = [timed(1e6, 1e3), timed(1e6, 1e3)];
        let mut pairs = vec![pair; 6];
        for [a, b] in &mut pairs {
            (a.rate.answered_per_s, b.rate.answered_per_s) = (Some(1e5), Some(of_b));
        }
        pairs
    };
    assert_eq!(finding("answered", &pairs(99_990.0)), TrialFinding::Equal);
    assert_eq!(finding("answered", &pairs(99_800.0)), TrialFinding::Worse);
}

/// Two equal pairs said that the arms are equal.
#[test]
fn fewer_than_six_pairs_decide_nothing_although_they_do_not_scatter() {
    for (b, decided) in [(1e6, TrialFinding::Equal), (2e6, TrialFinding::Worse)] {
        for pairs in 2..8 {
            let same: Vec<_> = (0..pairs).map(|_| [timed(1e6, 1e3), timed(b, 1e3)]).collect();
            let expected = if pairs < 6 { TrialFinding::Undecided } else { decided };
            assert_eq!(finding("all.mean", &same), expected, "{pairs} pairs, {b}");
        }
    }
}

#[test]
fn pairs_lost_to_one_cause_in_a_row_end_a_trial() {
    let lost = |kinds: &[CheckKind], names: &[&str]| {
        let names: Vec<Named> = names.iter().map(|name| Named::parse(name).unwrap()).collect();
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names, &[]);
        for kind in kinds {
            let spoilt = failing(timed(1e6, 1e3), &[*kind]);
            trial.add('A', 1, &[timed(1e6, 1e3), spoilt]);
        }
        (trial.lost().and_then(|pair| pair.cause), trial.has_lost_all())
    };
    use CheckKind::{Errors, OwnCpus, WorkerBusy};
    let figures = ["all.mean", "answered"];
    assert_eq!(lost(&[WorkerBusy; 5], &figures), (Some(WorkerBusy), true));
    assert_eq!(lost(&[WorkerBusy; 4], &figures), (None, true));
    assert_eq!(lost(&[OwnCpus, WorkerBusy, WorkerBusy, WorkerBusy, WorkerBusy], &figures).0, None);
    // What a server does not carry counts for its rates, if they are looked at.
    assert_eq!(lost(&[Errors; 5], &figures), (None, false));
    assert_eq!(lost(&[Errors; 5], &["all.mean"]), (Some(Errors), true));
    assert_eq!(lost(&[], &figures), (None, false));
    let kept = trial_of("all.mean", &answering_pairs(2, 1_000, |_| 1_000)).to_json();
    let read: Trial = serde_json::from_str(&kept).unwrap();
    assert!(!read.has_lost_all(), "its file says as much");
}

#[test]
fn rules_of_a_trial_are_judged_by_its_pairs() {
    let outcome = |pairs: u64, rule: &str| {
        let rules: [Rule; 1] = [rule.parse().unwrap()];
        let names = [Named::parse("all.mean").unwrap()];
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names, &rules);
        for [a, b] in answering_pairs(pairs, 1_000, |number| 728 + number) {
            trial.add('A', 1, &[a, b]);
        }
        trial.judge(&rules);
        let passed = [trial.has_passed(false), trial.has_passed(true)];
        (trial.rules.remove(0), passed)
    };
    let (failed, undecided) = (RuleOutcome::Failed, RuleOutcome::Undecided);
    for (pairs, rule, result) in [
        (6, "errors>+0.2", failed),
        (6, "errors>+0.3", RuleOutcome::Passed),
        (6, "errors>+0.27", undecided),
        (5, "errors>+0.2", undecided),
        (6, "errors>+10%", failed),
        (6, "hit_ratio<-20%", failed),
        (6, "hit_ratio<-30%", RuleOutcome::Passed),
        (6, "answered<-20%", failed),
        (6, "misses>+100", failed),
        (6, "all.mean>+5%", RuleOutcome::Passed),
        (6, "errors>1%", failed),
        (6, "errors>30%", RuleOutcome::Passed),
        (1, "all.mean>+5%", RuleOutcome::Missing),
        (6, "touch.p99>+5%", RuleOutcome::Missing),
    ] {
        let (judged, passed) = outcome(pairs, rule);
        assert_eq!(judged.result, result, "{rule}, {pairs} pairs: {}", judged.why);
        assert_eq!(passed, [judged.passes(false), judged.passes(true)]);
    }
    let (judged, _) = outcome(6, "errors>+0.2");
    assert_eq!(judged.why, "+26.7 points to +27.2 points compared with A, by 6 pairs");
    let (unknown, _) = outcome(6, "touch.p99>+5%");
    assert_eq!(unknown.why, "no pair has it: no such operation was measured");
}

/// The machine was 4 % slower when it measured the same server again.
#[test]
fn groups_made_one_after_the_other_have_an_allowance_for_the_machine() {
    let group = |factor: f64, minutes: [u64; 3]| -> Vec<(String, Record)> {
        let runs = minutes.into_iter().zip([1.0, 1.002, 0.998]);
        let record = |(minute, scatter): (u64, f64)| {
            let mut record = timed(1e6 * factor * scatter, 1e3);
            record.started_unix_ms = 1_800_000_000_000 + minute * 60_000;
            record.ended_unix_ms = record.started_unix_ms + 50_000;
            (String::new(), record)
        };
        runs.map(record).collect()
    };
    let outcome = |factor: f64, b: [u64; 3], rule: &str, drift: f64| {
        let groups = [group(1.0, [0, 2, 4]), group(factor, b)];
        let mut compared = compare_groups(&groups, 0.05, &[], &[rule.parse().unwrap()], drift);
        let is_said = compared.rules[0].why.contains("a drift of the machine of ");
        assert_eq!(is_said, compared.are_apart() && drift > 0.0, "{:?}", compared.rules);
        compared.rules.remove(0).result
    };
    let (later, between) = ([10, 12, 14], [1, 3, 5]);
    let (failed, undecided, passed) =
        (RuleOutcome::Failed, RuleOutcome::Undecided, RuleOutcome::Passed);
    for (factor, b, rule, drift, result) in [
        (1.04, later, "all.mean>+1%", 0.05, undecided),
        (1.04, later, "all.mean>+1%", 0.0, failed),
        (1.04, later, "all.mean>+10us", 0.05, undecided),
        (1.04, between, "all.mean>+1%", 0.05, failed),
        (1.09, later, "all.mean>+1%", 0.05, failed),
        (1.09, later, "all.mean>+10us", 0.05, failed),
        (1.04, later, "all.mean>+5%", 0.05, passed),
        (0.96, later, "all.mean<-1%", 0.05, undecided),
        (0.90, later, "all.mean<-1%", 0.05, failed),
    ] {
        let found = outcome(factor, b, rule, drift);
        assert_eq!(found, result, "{factor} {b:?} {rule}, drift {drift}");
    }
    // A simulation has no time of day.
    let mut groups = [group(1.0, [0, 2, 4]), group(1.0, later)];
    groups.iter_mut().flatten().for_each(|(_, record)| {
        (record.started_unix_ms, record.ended_unix_ms) = (0, 0);
    });
    assert!(!compare_groups(&groups, 0.05, &[], &[], 0.05).are_apart());
}
