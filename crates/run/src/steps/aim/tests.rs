//! Goals and single figures against records with known times.

use super::*;
use memtide_base::Span;
use memtide_metrics::Histogram;

/// A record with gets of 1 ms, 2 ms and so on (`count` in all), and `unanswered` unanswered ones.
fn record(count: u64, unanswered: u64) -> Record {
    let mut times = Histogram::<u64>::new();
    (1..=count).for_each(|ms| times.record(ms * 1_000_000));
    let of = |unanswered| Distribution::of(&times, unanswered, Span::from_s(5));
    Record {
        response: [(Kind::All, of(unanswered)), (Kind::Get, of(unanswered))].into(),
        service: [(Kind::Get, of(0))].into(),
        ..Record::default()
    }
}

fn goals(words: &[&str], record: &mut Record) -> Vec<Goal> {
    let goals: Vec<Goal> = words.iter().map(|word| word.parse().unwrap()).collect();
    record.goals = memtide_record::judge(&goals, record);
    goals
}

fn judged(goals: &[Goal], record: &Record) -> Option<GoalResult> {
    Aim::Goals.judge(goals, record, Confidence::P98)
}

#[test]
fn all_goals_must_be_met() {
    let mut record = record(1_000, 0);
    for (words, result) in [
        (&["get.p50<600ms", "all.mean<1s"][..], Some(GoalResult::Met)),
        (&["get.p50<600ms", "all.mean<1ms"], Some(GoalResult::Missed)),
        (&["get.p99.99<900ms"], Some(GoalResult::Missed)),
        (&["get.p99.99<2s"], Some(GoalResult::Undecided)),
        (&["get.p99.99<2s", "all.mean<1ms"], Some(GoalResult::Missed)),
        (&[], None),
    ] {
        let goals = goals(words, &mut record);
        assert_eq!(judged(&goals, &record), result, "{words:?}");
    }
}

/// Without a slow operation among fewer than 3 688, more than one in a thousand may be slow.
#[test]
fn a_step_of_few_operations_is_not_met_by_luck() {
    let mut whole = record(100, 0);
    let met = goals(&["get.p99.9<200ms"], &mut whole);
    assert_eq!(whole.goals[0].result, GoalResult::Undecided);
    assert_eq!(judged(&met, &whole), Some(GoalResult::Undecided));
    let missed = goals(&["get.p99.9<10ms"], &mut whole);
    assert_eq!(judged(&missed, &whole), Some(GoalResult::Missed), "90 of 100 were slower");
}

#[test]
fn what_nothing_answered_is_missed() {
    let mut silent = record(0, 100);
    for word in ["get.p50<1ms", "all.p95<1h", "get.mean<1s"] {
        let goals = goals(&[word], &mut silent);
        assert_eq!(judged(&goals, &silent), Some(GoalResult::Missed), "{word}");
    }
}

#[test]
fn one_figure_is_the_highest_of_its_kinds() {
    let figure = |kinds: &[Kind], measure, time, record: &Record| {
        let measured = Measured { kinds: kinds.to_vec(), measure, time, with_agents: Vec::new() };
        Aim::AtMost { measured, bound_ns: 95e6 }.figure_ns(record)
    };
    let whole = record(100, 0);
    let p95 = Measure::Percentile(95.0);
    let ns = figure(&[Kind::Get, Kind::Set], p95, Time::Service, &whole).unwrap();
    assert!((ns / 95e6 - 1.0).abs() < 0.01, "{ns}");
    assert_eq!(figure(&[Kind::Set], p95, Time::Service, &whole), None);
    assert_eq!(figure(&[Kind::Get], Measure::Mean, Time::Response, &whole), Some(50.5e6));
    let torn = record(100, 10);
    assert_eq!(figure(&[Kind::Get], p95, Time::Response, &torn), Some(f64::INFINITY));
    let ns = figure(&[Kind::Get], p95, Time::Service, &torn).unwrap();
    assert!((ns / 95e6 - 1.0).abs() < 0.01, "service times are those of the answered: {ns}");
}
