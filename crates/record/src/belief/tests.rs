//! The figures of records: their ranges, memtide's own share, their grades, and what joins them.

use super::*;
use crate::record::{Believable, Drifting, GoalResult, SliceRecord, Totals, Wide};
use memtide_belief::Grade;
use memtide_metrics::slices::coarse;
use memtide_scenario::Measure;
use std::collections::BTreeMap;

/// A record of 64 slices of 1 000 operations whose times are 100 to 199 µs in turn, of which
/// memtide added `own_us` to each. One slice is empty, so that the rate scatters.
fn record(own_us: u64) -> Record {
    grown(own_us, 0.0)
}

/// Such a record whose times grow by this fraction from the beginning to the end.
fn grown(own_us: u64, growth: f64) -> Record {
    let (mut times, mut punctual) = (Histogram::new(), Histogram::new());
    let mut slices = vec![Slice::default(); 64];
    for (number, slice) in slices.iter_mut().enumerate().skip(1) {
        for nth in 0..1_000 {
            let ns = (100 + nth * 7 % 100) * 1_000;
            let ns = (ns as f64 * (1.0 + growth * number as f64 / 64.0)) as u64;
            times.record(ns);
            punctual.record(ns - own_us * 1_000);
            *slice.buckets.entry(coarse(ns)).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(ns);
        }
    }
    let of = |times| BTreeMap::from([(Kind::All, Distribution::of(times, 0, Span::ZERO))]);
    let text = slices::to_text(&slices);
    let mut record = Record {
        window_ns: 64_000_000_000,
        response: of(&times),
        punctual: of(&punctual),
        slicing: Some(Slicing {
            width_ns: 1_000_000_000,
            count: 64,
            response: BTreeMap::from([(Kind::All, text)]),
            ..Slicing::default()
        }),
        ..Record::default()
    };
    record.rate.achieved_per_s = 63_000.0 / 64.0;
    record.believable = Believable::from_checks(Vec::new());
    record.derive();
    record
}

/// A record of 64 slices of 1 000 operations of 100 to 110 µs, all of which are longer by a
/// fraction in every other stretch of eight slices: few effective operations.
fn in_stretches(longer: f64) -> Record {
    let level = |number: usize| if (number / 8).is_multiple_of(2) { 1.0 } else { 1.0 + longer };
    of_slices(level, |nth| 100_000 + nth * 7 % 100 * 100)
}

/// A record of 64 slices of 1 000 operations, each of which took this many ns times the level of
/// its slice.
fn of_slices(level: impl Fn(usize) -> f64, base_ns: impl Fn(u64) -> u64) -> Record {
    let mut record = record(0);
    let (mut times, mut slices) = (Histogram::new(), vec![Slice::default(); 64]);
    record.slices.clear();
    for (number, slice) in slices.iter_mut().enumerate() {
        let mut of_slice = Histogram::<u64>::new();
        for nth in 0..1_000 {
            let ns = (base_ns(nth) as f64 * level(number)) as u64;
            times.record(ns);
            of_slice.record(ns);
            *slice.buckets.entry(coarse(ns)).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(ns);
        }
        record.slices.push(SliceRecord {
            start_s: number as f64,
            length_s: 1.0,
            answered: 1_000,
            unanswered: 0,
            histogram: of_slice.to_text(),
        });
    }
    let of = Distribution::of(&times, 0, Span::ZERO);
    record.response = BTreeMap::from([(Kind::All, of.clone())]);
    record.punctual = BTreeMap::from([(Kind::All, of)]);
    let slicing = record.slicing.as_mut().expect("it has slices");
    slicing.response = BTreeMap::from([(Kind::All, slices::to_text(&slices))]);
    record.derive();
    record
}

#[test]
fn eighths_that_are_alike_decide_where_operations_say_too_little() {
    let record = in_stretches(0.06);
    for (percent, low, high) in [(50.0, 103.5e3, 112.9e3), (90.0, 107.4e3, 117.3e3)] {
        let figure = figure(&record, percent);
        let refused = record.response[&Kind::All].no_interval.values().next();
        assert!(refused.is_some_and(|why| why.contains("effective operations")), "{refused:?}");
        let [from, to] = figure.eighths.expect("they decide");
        assert!((from / low - 1.0).abs() < 0.01 && (to / high - 1.0).abs() < 0.01, "{figure:?}");
        assert!(from <= figure.value.unwrap() && figure.value.unwrap() <= to, "{figure:?}");
        assert_eq!(figure.grade.to_string(), "within ± 6 %", "{figure:?}");
        let reason = figure.reason.expect("it is no yes");
        assert!(reason.ends_with(" µs in each eighth of the run"), "{reason}");
    }
    // Eighths that differ decide nothing.
    assert_eq!(figure(&in_stretches(0.16), 50.0).grade, Grade::No);
    // What a good interval says stands.
    assert_eq!(figure(&in_stretches(0.0), 50.0).eighths, None);
}

/// Slices whose operations are all in one bucket look alike, and every figure was a yes.
#[test]
fn what_moves_within_a_bucket_of_the_slices_is_no_yes() {
    let steady = within_a_bucket(0.0);
    let moving = within_a_bucket(0.05);
    for percent in [50.0, 90.0, 99.0] {
        assert_eq!(figure(&steady, percent).grade, Grade::Yes, "p{percent}");
        let figure = figure(&moving, percent);
        assert_eq!(figure.grade.to_string(), "within ± 4 %", "{figure:?}");
        let [low, high] = figure.range.expect("the eighths decide");
        assert!(low < 100.5e3 && high > 104.5e3, "{figure:?}");
    }
}

/// A record of 64 slices of 1 000 operations of 99 to 99.5 µs, which grow by this fraction until
/// the end, all in one bucket of the slices.
fn within_a_bucket(growth: f64) -> Record {
    of_slices(|number| 1.0 + growth * number as f64 / 63.0, |nth| 99_000 + nth * 7 % 5 * 100)
}

#[test]
fn eighths_with_few_operations_beyond_a_percentile_decide_nothing() {
    let record = in_stretches(0.06);
    assert!(figure(&record, 99.0).eighths.is_some(), "80 operations are above it in each");
    assert_eq!(figure(&record, 99.9).eighths, None, "8 operations are above it in each");
    let mut short = record;
    short.slices.truncate(7);
    assert_eq!(figure(&short, 50.0).eighths, None, "there are no eighths");
}

fn figure(record: &Record, percent: f64) -> GradedFigure {
    record.response_figure(Kind::All, Measure::Percentile(percent)).expect("it was measured")
}

#[test]
fn a_quiet_run_has_narrow_intervals_and_a_yes_for_each_figure() {
    let record = record(0);
    for percent in [50.0, 90.0, 99.0, 75.0] {
        let figure = figure(&record, percent);
        let [low, high] = figure.range.expect("it has a range");
        let value = figure.value.expect("it has a value");
        assert!(low <= value && value <= high && high / low < 1.04, "{figure:?}");
        assert_eq!((figure.grade, &figure.reason), (Grade::Yes, &None), "{figure:?}");
        assert!(figure.own.expect("it is bounded") < 0.01, "{figure:?}");
    }
    let mean = record.response_figure(Kind::All, Measure::Mean).expect("it was measured");
    assert_eq!(mean.grade, Grade::Yes, "{mean:?}");
    let rate = record.rate_figure();
    let [low, high] = rate.range.expect("the slices scatter");
    assert!(low < record.rate.achieved_per_s && record.rate.achieved_per_s < high, "{rate:?}");
    let words = joined(&record.judged_figures());
    assert!(words.starts_with("p50, p90, p99 yes; rate within ± "), "{words}");
}

#[test]
fn memtides_own_delay_widens_a_figure_from_below_and_is_its_reason() {
    let record = record(20);
    let median = figure(&record, 50.0);
    let own = median.own.expect("it is bounded");
    assert!((own - 20.0 / 150.0).abs() < 0.01, "{median:?}");
    let Grade::Within(x) = median.grade else { panic!("{median:?}") };
    assert!((x - (150f64 / 130.0).sqrt() + 1.0).abs() < 0.01, "{x}");
    assert_eq!(median.reason.as_deref(), Some("memtide was late"));

    assert!(record.stands());
}

#[test]
fn a_figure_without_an_interval_is_a_no_with_its_reason() {
    let mut old = record(0);
    old.slicing = None;
    old.derive();
    let p99 = figure(&old, 99.0);
    assert_eq!((p99.interval, p99.grade), (None, Grade::No));
    assert_eq!(joined(&[p99]), "p99 no (kept no slices)");
    assert!(old.stands(), "an old record is judged by its verdict");
    let mut pooled = record(0);
    pooled.slicing = Some(Slicing::unusable("pooled runs have no common slices"));
    pooled.derive();
    assert_eq!(joined(&[figure(&pooled, 50.0)]), "p50 no (pooled runs have no common slices)");
    assert!(!pooled.stands());
}

#[test]
fn goals_choose_the_figures_on_which_a_run_is_judged() {
    let mut record = record(0);
    let goals: Vec<_> =
        ["all.p90<1ms", "errors<1%", "all.p75<1ms"].map(|it| it.parse().unwrap()).into();
    record.goals = crate::judge::judge(&goals, &record);
    let names: Vec<String> = record.judged_figures().iter().map(GradedFigure::full_name).collect();
    assert_eq!(names, ["all.p90", "all.p75"]);
}

#[test]
fn a_precision_is_not_reached_by_a_window_that_is_much_wider_than_asked() {
    let settled = |word: &str, reached| {
        let mut record = record(0);
        let (asked, at_most_s) = (vec![word.to_owned()], 60.0);
        record.plan.precision =
            Some(crate::record::PrecisionRecord { asked, at_most_s, reached: Some(reached) });
        record.settle_precision();
        record.plan.precision.and_then(|it| it.reached)
    };
    assert_eq!(settled("p50 20%", true), Some(true));
    assert_eq!(settled("p50 20%", false), Some(true), "no look fell on the end");
    assert_eq!(settled("p50 0.1%", true), Some(false), "the look missed what was in flight");
    assert_eq!(settled("p50 0.1%", false), Some(false));
}

/// The grade said no, and the goal was met by the value alone.
#[test]
fn a_goal_about_a_figure_without_a_range_is_decided_by_a_bound_that_is_far_away() {
    let mut record = in_stretches(0.16);
    assert_eq!(figure(&record, 50.0).range, None);
    let result = |record: &Record, goal: &str| {
        crate::judge::judge(&[goal.parse().unwrap()], record).remove(0).result
    };
    for (goal, expected) in [
        ("all.p50<120us", GoalResult::Undecided),
        ("all.p50<1ms", GoalResult::Met),
        ("all.p50<1us", GoalResult::Missed),
        ("all.p50>1us", GoalResult::Met),
    ] {
        assert_eq!(result(&record, goal), expected, "{goal}");
    }
    let all = record.response.get_mut(&Kind::All).unwrap();
    (all.count, all.unanswered) = (all.count + 10, 10);
    let partial = GoalResult::Undecided;
    assert_eq!(result(&record, "all.p50<1ms"), partial, "the slices do not hold all");
}

/// Issue 58, point 1: a mean of the answered operations alone met goals.
#[test]
fn a_goal_about_a_mean_is_decided_by_its_lower_bound_if_operations_were_not_answered() {
    let mut times = Histogram::new();
    (0..990).for_each(|_| times.record(1_000_000));
    let timed = |unanswered, timeout_ms| {
        let times = Distribution::of(&times, unanswered, Span::from_ms(timeout_ms));
        Record { response: [(Kind::All, times)].into(), ..Record::default() }
    };
    let result = |record: &Record, goal: &str| {
        let judged = crate::judge::judge(&[goal.parse().unwrap()], record).remove(0);
        (judged.result, judged.measured, judged.why)
    };
    let whole = timed(0, 200);
    assert_eq!(result(&whole, "all.mean<2ms").0, GoalResult::Met);
    // Ten of a thousand waited for 200 ms at least: together they are a mean of 2.99 ms or more.
    let partly = timed(10, 200);
    let (missed, measured, why) = result(&partly, "all.mean<2ms");
    assert_eq!((missed, measured), (GoalResult::Missed, None));
    assert_eq!(why, "it was at least 2.99 ms: operations were not answered");
    assert_eq!(result(&partly, "all.mean<3ms").0, GoalResult::Undecided);
    assert_eq!(result(&partly, "all.mean>2ms").0, GoalResult::Met);
    assert_eq!(result(&partly, "all.mean>3ms").0, GoalResult::Undecided);
    assert_eq!(result(&partly, "all.max<10s").0, GoalResult::Missed);
    let figure = partly.response_figure(Kind::All, Measure::Mean).unwrap();
    assert_eq!((figure.value, figure.interval, figure.range), (None, None, None));
    assert_eq!(figure.reason.as_deref(), Some("operations were not answered"));
}

/// `--errors-max` counted fewer operations than the goal about errors that sets it.
#[test]
fn a_goal_about_errors_counts_the_operations_that_were_to_be_answered() {
    let mut record = record(0);
    record.totals = Totals {
        intended: 1_100,
        answered: 450,
        failed: 50,
        dropped: 100,
        unacknowledged: 500,
        ..Totals::default()
    };
    let goal = ["errors<15%".parse().unwrap()];
    let judged = crate::judge::judge(&goal, &record).remove(0);
    assert_eq!((judged.result, judged.measured), (GoalResult::Met, Some(0.1)), "{judged:?}");
    // Drops at the end were not asked for.
    record.totals.dropped_at_end = 100;
    assert_eq!(crate::judge::judge(&goal, &record).remove(0).measured, Some(0.25));
}

#[test]
fn late_workers_of_a_closed_loop_never_leave_a_yes() {
    let mut record = record(0);
    record.loop_kind = LoopKind::Closed;
    record.plan.workers = 2;
    record.servers = vec![crate::record::ServerRecord {
        late: Some(Lateness {
            operations: 63_000,
            late_ns: vec![1_000_000_000],
            weighted_ns: vec![Wide(31_500_000_000_000)],
        }),
        ..Default::default()
    }];
    record.derive();
    let median = figure(&record, 50.0);
    assert_ne!(median.grade, Grade::Yes, "{median:?}");
    assert_eq!(record.totals, Totals::default());
}

#[test]
fn a_figure_that_drifts_is_at_most_within_half_of_its_change() {
    assert!(record(0).drift.is_empty());
    let rising = grown(0, 0.12);
    let change = rising.drift[&Drifting::P50];
    assert!((change - 0.115).abs() < 0.01 && rising.drift.len() == 2, "{:?}", rising.drift);
    let median = figure(&rising, 50.0);
    assert_eq!(median.reason.as_deref(), Some("a rise of 11 % during the run"));
    assert_ne!(median.grade, Grade::Yes);
    assert!(median.half_width.is_some_and(|x| x >= change / 2.0), "{median:?}");
    let doubled = figure(&grown(0, -0.8), 99.0);
    assert_eq!(doubled.grade, Grade::No, "{doubled:?}");
    assert!(doubled.reason.as_deref().is_some_and(|why| why.starts_with("a fall")), "{doubled:?}");
}

#[test]
fn hits_and_the_rate_of_a_closed_loop_can_drift() {
    let mut record = record(0);
    record.intervals = (0..64)
        .map(|at| crate::record::IntervalRecord {
            hits: 500 + at,
            misses: 500,
            ..Default::default()
        })
        .collect();
    record.derive();
    assert_eq!(record.drift.keys().collect::<Vec<_>>(), [&Drifting::HitRatio]);
    let slicing = record.slicing.as_mut().expect("it has slices");
    let text = slicing.response.get_mut(&Kind::All).expect("of all");
    let mut of = slices::from_text(text, 64).expect("they can be read");
    let all = Slice::clone(&of[1]);
    for (number, slice) in of.iter_mut().enumerate() {
        *slice = all.clone();
        (0..number / 8).for_each(|_| slice.absorb(&all));
    }
    *text = slices::to_text(&of);
    record.derive();
    assert!(!record.drift.contains_key(&Drifting::Rate), "a schedule makes the rate");
    record.loop_kind = LoopKind::Closed;
    record.derive();
    assert!(record.drift[&Drifting::Rate] > 1.0, "{:?}", record.drift);
    assert_ne!(record.rate_figure().grade, Grade::Yes);
}

/// A run whose goals were met with a wide margin was not believable, because its p99.9 was wide.
#[test]
fn a_strict_run_is_asked_for_decided_goals_and_for_nothing_that_they_do_not_name() {
    let ends = |goals: &[&str]| {
        let mut record = in_stretches(0.5);
        assert!(!record.stands(), "its figures are not known");
        let goals: Vec<_> = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        record.goals = crate::judge::judge(&goals, &record);
        (record.stands(), record.fails_undecided())
    };
    assert_eq!(ends(&["all.p50<100ms"]), (true, false));
    assert_eq!(ends(&["all.p50<1us"]), (true, false), "it is missed for certain");
    assert_eq!(ends(&["all.p50<100ms", "all.p50<120us"]), (false, true));
    assert_eq!(ends(&["all.p50<1us", "all.p50<120us"]), (false, false), "one is missed");
}

#[test]
fn a_run_whose_times_grow_all_the_time_is_overloaded() {
    let overload = |growth: f64| {
        let mut record = grown(0, growth);
        record.window_ns = 10_000_000;
        record.overload()
    };
    let [from, to] = overload(9.0).expect("by ten times");
    assert!(to.ns() > 5 * from.ns(), "{from:?} {to:?}");
    assert_eq!(overload(0.0), None);
    assert_eq!(overload(0.3), None, "by less than a hundredth of the window");
    let mut closed = grown(0, 9.0);
    (closed.window_ns, closed.loop_kind) = (10_000_000, LoopKind::Closed);
    assert_eq!(closed.overload(), None);
}

#[test]
fn a_strict_run_may_ask_for_a_bound_of_its_own() {
    let stands = |word: serde_json::Value| {
        let mut record = record(20);
        record.scenario.insert("strict".to_owned(), word);
        (record.is_strict(), record.stands())
    };
    // Its own delay makes p50 uncertain by ± 7 %.
    assert_eq!(stands(false.into()), (false, true));
    assert_eq!(stands(true.into()), (true, true));
    assert_eq!(stands("10%".into()), (true, true));
    assert_eq!(stands("5%".into()), (true, false));
}

#[test]
fn a_last_slice_that_is_shorter_does_not_widen_the_rate() {
    let ns = 100_000;
    let of = |answered: u64| Slice {
        buckets: BTreeMap::from([(coarse(ns), answered)]),
        answered,
        sum_ns: u128::from(answered * ns),
        ..Slice::default()
    };
    let whole = (0..63).map(|number| 999 + number % 3);
    let slices: Vec<Slice> = whole.chain([500]).map(of).collect();
    let mut record = record(0);
    let slicing = record.slicing.as_mut().expect("it keeps slices");
    slicing.response.insert(Kind::All, slices::to_text(&slices));
    record.window_ns = 63_500_000_000;
    record.derive();
    let rate = record.rate;
    let [low, high] = [rate.achieved_ci_low_per_s, rate.achieved_ci_high_per_s]
        .map(|end| end.expect("the slices scatter"));
    assert!(high / low < 1.002, "{low} to {high}");
}
