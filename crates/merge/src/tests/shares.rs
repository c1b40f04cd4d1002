//! Shares of one run: any grouping gives the same bits; missing, late or unlike shares are
//! reported.

use super::generate::{Generator, believable, run};
use super::{expect_valid, json, numbered};
use crate::{MergeError, Merging, Scenarios};
use memtide_base::{Random, Span};
use memtide_metrics::Histogram;
use memtide_record::*;
use memtide_scenario::Kind;

const MS: u64 = 1_000_000;

/// Makes the record of a share of a run: two lanes of the plan each, 100 operations a second.
pub(super) fn share(number: u32, of: u32, length_s: u64) -> Record {
    let record = run(u64::from(number), length_s);
    let monotonic = 5_000_000_000 + u128::from(number) * u128::from(MS);
    as_share(record, number, of, monotonic)
}

fn as_share(mut record: Record, number: u32, of: u32, monotonic: u128) -> Record {
    record.lanes = Some(Lanes { first: number * 2, count: 2, total: of * 2 });
    record.share = Some(ShareRecord {
        units: 1,
        number,
        of,
        scenario_digest: "d1".to_owned(),
        start: ShareStart::Pmi,
        not_run: None,
        agent: None,
    });
    record.clock = Some(ClockRecord {
        window_start_monotonic_ns: Some(Wide(monotonic)),
        boot_id: Some("boot".to_owned()),
        time_namespace: Some(4_026_531_834),
        synchronised: Some(true),
        error_max_ns: Some(MS),
        reference: None,
    });
    record.plan.arrival = "fixed".to_owned();
    record.planned = Some(record.totals.intended);
    record
}

fn not_run(number: u32, of: u32) -> Record {
    let mut record = share(number, of, 1);
    let why = "it is late by 2s".to_owned();
    let share = record.share.take().map(|share| ShareRecord { not_run: Some(why), ..share });
    Record {
        share,
        lanes: record.lanes,
        plan: record.plan,
        scenario: record.scenario,
        ended_by: EndedBy::NotRun,
        partial: true,
        started_unix_ms: record.started_unix_ms,
        ..Record::default()
    }
}

fn try_merge(records: &[Record]) -> Result<Record, MergeError> {
    let mut merging = Merging::new(Scenarios::Same);
    records.iter().try_for_each(|record| merging.add(record.clone()))?;
    merging.finish()
}

fn merged(records: &[Record]) -> Record {
    try_merge(records).unwrap_or_else(|error| panic!("{}", error.message(numbered)))
}

fn refused(records: &[Record]) -> String {
    try_merge(records).map(|record| json(&record)).unwrap_err().message(numbered)
}

#[test]
fn any_grouping_of_shares_gives_the_same_bits() {
    for seed in 0..8 {
        let mut generator = Generator::new(seed);
        let of = 3 + (seed % 4) as u32;
        let mut random = Random::new(seed ^ 77);
        let mut all: Vec<Record> = Vec::new();
        for number in 0..of {
            let mut record = generator.record();
            record.scenario = run(0, 1).scenario;
            record.plan.loop_kind = LoopKind::Open;
            record.churn = None;
            let jitter = u128::from(random.below(3_000_000_000));
            all.push(as_share(record, number, of, 1_000_000_000 + jitter));
        }
        if random.below(2) == 0 {
            all.remove(random.below(all.len() as u64) as usize);
        }
        let whole = json(&merged(&all));
        for _ in 0..4 {
            let mut pile = all.clone();
            while pile.len() > 1 {
                let a = pile.swap_remove(random.below(pile.len() as u64) as usize);
                let b = pile.swap_remove(random.below(pile.len() as u64) as usize);
                let both = merged(&[a, b]);
                // As if it had been written to a file in between.
                pile.push(Record::from_json(&json(&both)).unwrap());
            }
            assert_eq!(json(&merged(&pile)), whole, "seed {seed}");
        }
    }
}

#[test]
fn percentiles_are_those_of_the_pooled_samples() {
    let mut random = Random::new(9);
    let mut pooled = Histogram::<u64>::new();
    let mut all = Vec::new();
    for number in 0..4 {
        let mut record = share(number, 4, 10);
        let mut times = Histogram::<u64>::new();
        for _ in 0..1_000 {
            let ns = 10_000 + random.below(1 << (10 + 4 * number));
            times.record(ns);
            pooled.record(ns);
        }
        let response = Distribution::of(&times, 0, Span::from_s(5));
        record.response.insert(Kind::All, response);
        all.push(record);
    }
    let expected = Distribution::of(&pooled, 0, Span::from_s(5));
    assert_eq!(merged(&all).response[&Kind::All], expected);
}

#[test]
fn a_run_of_all_shares_is_whole() {
    let all = merged(&[0, 1, 2, 3].map(|number| share(number, 4, 10)));
    assert_eq!(all.missing, None);
    assert_eq!((all.planned, all.totals.intended), (Some(4_000), 4_000));
    assert_eq!(all.start_skew_ns, Some(3 * MS));
    let alignment = all.alignment.as_ref().unwrap();
    assert_eq!(alignment.by, AlignedBy::Monotonic);
    assert_eq!(alignment.common_ns, 10_000 * MS - 3 * MS);
    assert_eq!(all.rate.achieved_per_s, 400.0, "nothing is diluted by the skew");
    assert_eq!(all.rate.target_per_s, Some(400.0));
    assert_eq!(all.intervals.iter().map(|row| row.ops).collect::<Vec<_>>(), [400; 10]);
    assert_eq!(all.shards.iter().map(|s| s.scenario.len()).sum::<usize>(), 0);
    assert_eq!(all.scenario, share(0, 4, 1).scenario);
    assert_eq!(all.check_conservation(), Ok(()));
    // The last share begins 3 ms after the first one.
    assert_eq!(all.answered_until_s, Some(0.003 + 10.001));
}

#[test]
fn what_is_missing_is_named_with_its_part_of_the_load() {
    let some = merged(&[share(0, 4, 10), share(3, 4, 10), not_run(1, 4)]);
    let missing = some.missing.as_ref().unwrap();
    assert_eq!((&missing.shares[..], &missing.lanes[..]), (&[1, 2][..], &[[2, 5]][..]));
    assert_eq!((missing.unreported, some.planned), (Some(2_000), Some(4_000)));
    assert_eq!((some.exit, some.partial), (1, true));
    assert_eq!(some.believable.verdict, Verdict::Within);
    let reason = &some.believable.reasons[0];
    assert_eq!(
        reason.message,
        "2 of 4 shares are missing, with 50.0 % of the load: share 1-2 (lane 2-5); share 1 did \
         not run: it is late by 2s"
    );
    assert_eq!(some.machine.os, share(0, 4, 10).machine.os, "share 1 does not know its machine");
    let rest = merged(&[some, share(2, 4, 10), share(1, 4, 10)]);
    assert_eq!(rest.missing, None);
    assert_eq!(rest.planned, Some(4_000));
}

#[test]
fn checks_count_the_shares_of_the_run_and_not_those_that_are_there() {
    let busy = |record: &Record| {
        let is_it = |check: &&Check| check.code == CheckKind::WorkerBusy;
        record.believable.checks.iter().find(is_it).unwrap().message.clone()
    };
    assert_eq!(
        busy(&merged(&[share(0, 2, 10)])),
        "1 of 2 shares passed (1 of 2 shares missing); worst is share 0: busy 0.2"
    );
    let bad = |number| Record {
        believable: believable(CheckResult::Failed, 0.9),
        ..share(number, 3, 10)
    };
    let one = merged(&[share(0, 3, 10), bad(1)]);
    assert_eq!(busy(&one), "share 1 of 3: busy 0.9");
    assert_eq!(one.believable.verdict, Verdict::No);
    assert_eq!(
        busy(&merged(&[bad(0), bad(1)])),
        "2 of 3 shares failed (1 of 3 shares missing); worst is share 0: busy 0.9"
    );
    assert_eq!(
        busy(&merged(&[0, 1, 2].map(bad))),
        "3 of 3 shares failed; worst is share 0: busy 0.9"
    );
}

/// The number of operations that a run's other shares did not report.
fn unreported(records: &[Record]) -> Option<u64> {
    merged(records).missing.unwrap().unreported
}

#[test]
fn what_is_left_of_a_number_of_operations_is_exact() {
    let counted = |warmup: u64, ops_max| {
        let mut record = share(0, 2, 10);
        record.ended_by = EndedBy::Operations;
        // By chance the share's own part took a little longer than the rate lets expect.
        record.plan.arrival = "exponential".to_owned();
        record.rate.target_per_s = Some(97.73);
        record.plan.ops_max = Some(ops_max);
        let totals = &mut record.phases.warmup.totals;
        (totals.intended, totals.answered, totals.sent) = (warmup, warmup, warmup);
        record
    };
    assert_eq!(unreported(&[counted(0, 2_000)]), Some(1_000));
    assert_eq!(unreported(&[counted(0, 1_999)]), Some(999));
    assert_eq!(unreported(&[counted(250, 2_500)]), Some(1_000), "of 1250, 250 in the warm-up");
    // The duration ended the run, before as many operations as were allowed, or almost so.
    let timed = |ops_max| Record { ended_by: EndedBy::Duration, ..counted(0, ops_max) };
    assert_eq!(unreported(&[timed(9_000)]), Some(977));
    assert_eq!(unreported(&[timed(1_900)]), Some(900));
}

#[test]
fn what_was_not_reported_is_operations_where_the_rate_counts_keys() {
    let keyed = |arrival: &str, length_s| {
        let mut record = share(0, 4, length_s);
        record.plan.arrival = arrival.to_owned();
        record.plan.rate_unit = Some("keys".to_owned());
        // Each operation has 16 keys.
        record.rate.target_per_s = Some(1_600.0);
        record.rate.keys_per_s = Some(1_590.0);
        record
    };
    for arrival in ["fixed", "exponential"] {
        let some = merged(&[keyed(arrival, 10)]);
        assert_eq!(some.missing.unwrap().unreported, Some(3_000), "{arrival}");
        assert_eq!(some.planned, Some(4_000));
    }
    let interrupted = Record { partial: true, ..keyed("fixed", 5) };
    let other = share(1, 4, 10);
    let other = Record { share: other.share, lanes: other.lanes, ..keyed("fixed", 10) };
    assert_eq!(unreported(&[interrupted, other]), Some(2_000), "of 10 s each");
}

#[test]
fn what_a_closed_loop_would_have_made_is_unknown() {
    let mut record = share(0, 2, 10);
    (record.planned, record.rate.target_per_s) = (None, None);
    let some = merged(&[record]);
    assert_eq!(some.missing.as_ref().unwrap().unreported, None);
    assert_eq!(some.planned, None);
    assert!(json(&some).contains("\"unreported\": null"));
}

#[test]
fn what_is_no_share_of_this_run_is_refused() {
    let first = share(0, 4, 10);
    let sentence = refused(&[first.clone(), run(5, 10)]);
    assert!(
        sentence.starts_with("A.json and B.json cannot be merged: one is a share"),
        "{sentence}"
    );
    let mut other = share(1, 4, 10);
    other.share.as_mut().unwrap().scenario_digest = "d2".to_owned();
    other.scenario["keys"] = "17".into();
    let sentence = refused(&[first.clone(), other]);
    assert!(sentence.contains("not shares of one run: keys is '"), "{sentence}");
    let mut reseeded = share(1, 4, 10);
    reseeded.share.as_mut().unwrap().scenario_digest = "d3".to_owned();
    reseeded.scenario["seed"] = "17".into();
    // Each process may have its own number of threads.
    reseeded.scenario.insert("threads".to_owned(), "3".into());
    let sentence = refused(&[first.clone(), reseeded]);
    assert!(sentence.contains("not shares of one run: seed is '"), "{sentence}");
    assert!(sentence.contains(" in one and '17' in the other; merge shares"), "{sentence}");
    let sentence = refused(&[first.clone(), share(1, 3, 10)]);
    assert!(sentence.contains("'4 with 8 lanes' in one and '3 with 6 lanes'"), "{sentence}");
    let mut again = share(0, 4, 10);
    again.started_unix_ms += 9_000;
    let sentence = refused(&[share(1, 4, 10), first.clone(), again]);
    assert!(sentence.contains("B.json and C.json both contain lanes 0 to 1"), "{sentence}");
    // With one thread a share is one lane.
    let of_one_lane = |started_unix_ms| {
        let lanes = Some(Lanes { first: 0, count: 1, total: 4 });
        Record { lanes, started_unix_ms, ..share(0, 4, 10) }
    };
    let sentence = refused(&[of_one_lane(1), of_one_lane(2)]);
    assert!(sentence.contains("A.json and B.json both contain lanes 0 to 0"), "{sentence}");
    let sentence = refused(&[first.clone(), first.clone()]);
    assert!(sentence.contains("would count twice"), "{sentence}");
    let mut none = first;
    none.lanes = None;
    assert!(refused(&[none]).contains("the lanes of its share are missing"));
}

#[test]
fn clocks_that_cannot_be_compared_give_no_number() {
    type Change = fn(&mut ClockRecord);
    let of = |change: Change| {
        let mut all = [0, 1].map(|number| share(number, 2, 10));
        change(all[1].clock.as_mut().unwrap());
        merged(&all)
    };
    let by = |record: &Record| record.alignment.as_ref().unwrap().by;
    // Another, synchronised machine: its time of day is about 1 ms later.
    let other = of(|clock| clock.boot_id = Some("other".to_owned()));
    assert_eq!((by(&other), other.start_skew_ns), (AlignedBy::TimeOfDay, Some(MS)));
    assert_eq!(other.alignment.unwrap().error_max_ns, Some(2 * MS));
    let cases: [(Change, &str); 4] = [
        (|clock| clock.synchronised = Some(false), "the clock of share 1 is not synchronised"),
        (|clock| clock.synchronised = None, "the accuracy of share 1's time of day"),
        (|clock| clock.error_max_ns = None, "the accuracy of share 1's time of day"),
        (|clock| clock.window_start_monotonic_ns = None, ""),
    ];
    for (change, why) in cases {
        let mut all = [0, 1].map(|number| share(number, 2, 10));
        let clock = all[1].clock.as_mut().unwrap();
        clock.boot_id = Some("other".to_owned());
        change(clock);
        let record = merged(&all);
        if why.is_empty() {
            assert_eq!(by(&record), AlignedBy::TimeOfDay);
            continue;
        }
        assert_eq!((by(&record), record.start_skew_ns), (AlignedBy::Unknown, None));
        let alignment = record.alignment.as_ref().unwrap();
        assert!(alignment.why.starts_with(why), "{}", alignment.why);
        assert_eq!(record.rate.achieved_per_s, 200.0, "rows are compared by the schedule");
    }
}

/// Shares that agents carried out on their own machines, each with its clock's offset from the
/// master's. By the master's clock, share *n* began *n* ms late.
fn of_agents(of: u32) -> Vec<Record> {
    let each = (0..of).map(|number| {
        let mut record = share(number, of, 10);
        record.scenario["goal"] = vec!["start_skew<5ms"].into();
        let clock = record.clock.as_mut().unwrap();
        clock.boot_id = Some(format!("machine {number}"));
        clock.synchronised = Some(false);
        let reference = ReferenceClock { ahead_ns: -9_000_000_000, error_max_ns: 40_000 };
        clock.reference = Some(ReferenceClock {
            error_max_ns: reference.error_max_ns + u64::from(number) * 1_000,
            ..reference
        });
        let agent = AgentRecord {
            name: format!("a{number}"),
            began_late_ns: Some(1_000),
            ..AgentRecord::default()
        };
        record.share.as_mut().unwrap().agent = Some(agent);
        record.share.as_mut().unwrap().start = ShareStart::Agents;
        record
    });
    each.collect()
}

/// Shifts an agent's clock, and the master's recorded beside it.
fn shifted(record: &mut Record, by_ns: i64) {
    let clock = record.clock.as_mut().unwrap();
    let start = clock.window_start_monotonic_ns.as_mut().unwrap();
    start.0 = start.0.checked_add_signed(by_ns.into()).unwrap();
    clock.reference.as_mut().unwrap().ahead_ns -= by_ns;
}

#[test]
fn shares_of_agents_are_compared_by_the_masters_clock() {
    let all = of_agents(4);
    let record = merged(&all);
    let alignment = record.alignment.as_ref().unwrap();
    assert_eq!((alignment.by, alignment.error_max_ns), (AlignedBy::Reference, Some(85_000)));
    assert_eq!(alignment.why, "by the master's clock");
    assert_eq!((record.start_skew_ns, record.goals[0].result), (Some(3 * MS), GoalResult::Met));
    assert_eq!(record.rate.achieved_per_s, 400.0);
    let again = Record::from_json(&json(&record)).unwrap();
    assert_eq!(json(&again), json(&record));
    for seed in 0..24 {
        let mut random = Random::new(0xC10C + seed);
        let mut moved = all.clone();
        for record in &mut moved {
            // Up to 10 000 s forward, or 4 s back: an instant cannot be before its clock's
            // beginning.
            shifted(record, random.below(10_004_000_000_000) as i64 - 4_000_000_000);
        }
        let mut moved = merged(&moved);
        let clocks = record.shards.iter().map(|shard| shard.clock.clone());
        moved.shards.iter_mut().zip(clocks).for_each(|(shard, clock)| shard.clock = clock);
        assert_eq!(json(&moved), json(&record), "seed {seed}");
    }
    // A single bound is not the error of a distance, and one unknown clock leaves no number.
    let one = merged(&all[..1]);
    assert_eq!((one.start_skew_ns, one.alignment.unwrap().error_max_ns), (Some(0), Some(0)));
    let mut some = all;
    some[2].clock.as_mut().unwrap().reference = None;
    assert_eq!(merged(&some).alignment.unwrap().by, AlignedBy::Unknown);
}

#[test]
fn what_cannot_be_an_agents_share_is_refused_by_its_name() {
    type Change = fn(&mut Record);
    // The share's 1000 operations in one second, and in one row.
    let second = |start_s: f64| {
        let counts = SettledCounts { settled: 1_000, ..SettledCounts::default() };
        SecondRecord { start_s, length_s: 1.0, counts, ..SecondRecord::default() }
    };
    let row = |start_s: f64| IntervalRecord {
        start_s,
        length_s: 1.0,
        intended: 1_000,
        ..IntervalRecord::default()
    };
    let mut whole = of_agents(3);
    (whole[1].seconds, whole[1].intervals) = (vec![second(0.0)], vec![row(0.0)]);
    let mut twice = whole.clone();
    twice[1].seconds.push(second(1.0));
    assert!(refused(&twice).contains("2000 operations ended in its seconds, and 1000 in its load"));
    twice[1].seconds = vec![second(0.0); 2];
    assert!(refused(&twice).contains("its 2 seconds are not those of a load"));
    twice[1].seconds =
        (0..8_000).map(|at| SecondRecord { start_s: at.into(), ..second(0.0) }).collect();
    assert!(refused(&twice).contains("its 8000 seconds are not those of a load"));
    whole[1].intervals.push(row(1.0));
    assert!(refused(&whole).contains("its rows have 2000 operations, and its window 1000"));
    whole[1].intervals = vec![row(0.0); 20_000];
    assert!(refused(&whole).contains("its 20000 rows are not those of a window"));
    let cases: [(Change, &str); 7] = [
        (|it| it.lanes.as_mut().unwrap().first = 4, "share 1 of 3 cannot have 2 lanes from 4 on"),
        (|it| it.lanes.as_mut().unwrap().count = 1, "share 1 of 3 cannot have 1 lanes from 2 on"),
        (|it| it.lanes.as_mut().unwrap().total = 8, "cannot have 2 lanes from 2 on of 8"),
        (|it| it.share.as_mut().unwrap().number = 0, "share 0 of 3 cannot have 2 lanes from 2 on"),
        (|it| it.totals.answered += 1, "ended"),
        (
            |it| {
                let server = ServerRecord { name: "s".to_owned(), ..ServerRecord::default() };
                it.servers = vec![server];
            },
            "the servers' counts add up to",
        ),
        (
            |it| it.share.as_mut().unwrap().agent.as_mut().unwrap().name = "a\u{1b}[2J".to_owned(),
            "the name of its agent is not 1 to 253 bytes without control characters",
        ),
    ];
    for (change, expected) in cases {
        let mut all = of_agents(3);
        change(&mut all[1]);
        let both = [all[1].totals.clone(), all[1].phases.measure.totals.clone()];
        if both[0] != both[1] {
            all[1].phases.measure.totals = both[0].clone();
        }
        let error = try_merge(&all).unwrap_err();
        let sentence = error.message(|number| format!("agent a{number}"));
        assert!(sentence.starts_with("agent a1 contradicts itself: "), "{sentence}");
        assert!(sentence.contains(expected), "{sentence} is not about {expected}");
    }
    let mut times = of_agents(3);
    let mut response = Distribution::of(&Histogram::from_recorded([(7, 9)]), 0, Span::ZERO);
    (response.min_ns, response.max_ns) = (Some(9), Some(8));
    times[1].response.insert(Kind::All, response);
    assert!(refused(&times).contains("B.json contradicts itself: a histogram of response.all"));
    let mut huge = of_agents(3);
    huge[1].share.as_mut().unwrap().of = u32::MAX;
    huge[1].lanes = Some(Lanes { first: 1, count: 1, total: u32::MAX });
    assert!(refused(&huge).contains("cannot have 1 lanes from 1 on of 4294967295"));
}

#[test]
fn a_shifted_time_of_day_does_not_shift_what_one_clock_measured() {
    let mut all = [0, 1, 2].map(|number| share(number, 3, 10));
    let start = all[1].window_start_unix_ns.as_mut().unwrap();
    start.0 += 250_000_000;
    let same_machine = merged(&all);
    assert_eq!(same_machine.start_skew_ns, Some(2 * MS));
    assert_eq!(same_machine.rate.achieved_per_s, 300.0);
    // With a share on another machine the time of day must decide, and it contradicts itself.
    all[2].clock.as_mut().unwrap().boot_id = Some("other".to_owned());
    let record = merged(&all);
    assert_eq!(record.start_skew_ns, None);
    let why = record.alignment.unwrap().why;
    assert!(why.contains("shares 0 and 1 read one monotonic clock, but their"), "{why}");
}

#[test]
fn shares_that_never_overlapped_are_not_one_load() {
    let mut late = share(1, 2, 10);
    late.clock.as_mut().unwrap().window_start_monotonic_ns = Some(Wide(60_000_000_000));
    late.scenario["goal"] = vec!["rate>=100", "start_skew<5ms"].into();
    let mut first = share(0, 2, 10);
    first.scenario = late.scenario.clone();
    let record = merged(&[first, late]);
    assert!(!record.is_one_load());
    assert!(record.rate.achieved_per_s.is_nan());
    assert_eq!(record.measured_s, 20.0, "nothing was measured between them");
    assert!(json(&record).contains("\"achieved_per_s\": null"));
    let results: Vec<GoalResult> = record.goals.iter().map(|goal| goal.result).collect();
    assert_eq!(results, [GoalResult::Undecided, GoalResult::Missed]);
    assert!(Record::from_json(&json(&record)).unwrap().rate.achieved_per_s.is_nan());
}

#[test]
fn the_start_skew_is_a_goal_where_it_is_known() {
    let with_goal = |boot: &str| {
        let mut all = [0, 1].map(|number| share(number, 2, 10));
        all.iter_mut().for_each(|record| {
            record.scenario["goal"] = vec!["start_skew<5ms"].into();
            record.clock.as_mut().unwrap().synchronised = Some(false);
        });
        all[1].clock.as_mut().unwrap().boot_id = Some(boot.to_owned());
        merged(&all)
    };
    let known = with_goal("boot");
    assert_eq!((known.goals[0].result, known.exit), (GoalResult::Met, 0));
    assert_eq!(known.goals[0].why, "it was 1.00 ms");
    let unknown = with_goal("other");
    assert_eq!((unknown.goals[0].result, unknown.exit), (GoalResult::Undecided, 1));
    assert!(unknown.goals[0].why.contains("not synchronised"));
}

/// Two shares whose servers report these figures in turn.
fn counted(gets: [(i64, i64); 2], ours: [u64; 2]) -> [Record; 2] {
    [0, 1].map(|number| {
        let mut record = share(number, 2, 10);
        let side = |gets: i64, connections: i64| {
            let figures = [
                ("cmd_get".to_owned(), Figure::Whole(gets)),
                ("total_connections".to_owned(), Figure::Whole(connections)),
                ("pid".to_owned(), Figure::Whole(7)),
            ];
            [("a:11211".to_owned(), figures.into())].into()
        };
        let (before, after) = gets[number as usize];
        let turn = i64::from(number);
        record.server = ServerCounters::new(side(before, turn), side(after, 40 + turn));
        let ours = ours[number as usize];
        let counter = ExpectedCounter { ours, fewer: 0, of_commands: true };
        record.server.expected = Some(ExpectedCounters {
            counters: [("cmd_get".to_owned(), counter)].into(),
            connections: 21,
            not_compared: None,
        });
        record
    })
}

fn counters(record: &Record) -> &Check {
    let mut checks = record.believable.checks.iter();
    checks.find(|check| check.code == CheckKind::ServerCounters).unwrap()
}

#[test]
fn the_servers_counters_are_those_of_all_shares_together() {
    let fine = merged(&counted([(100, 800), (300, 1_100)], [600, 400]));
    assert_eq!(counters(&fine).result, CheckResult::Passed, "{:?}", counters(&fine));
    assert_eq!(counters(&fine).message, "1 server counters equal memtide's");
    let lost = merged(&counted([(100, 800), (300, 1_100)], [600, 401]));
    assert_eq!(counters(&lost).result, CheckResult::Failed);
    assert_eq!(lost.believable.verdict, Verdict::No);
    // All connections are the shares', so that no other client can have sent a command.
    let more = merged(&counted([(100, 800), (300, 1_100)], [600, 399]));
    assert_eq!(counters(&more).result, CheckResult::Failed, "{:?}", counters(&more));
    let [one, _] = counted([(100, 800), (300, 1_100)], [600, 400]);
    assert_eq!(counters(&merged(&[one])).result, CheckResult::Skipped);
    let mut restarted = counted([(100, 800), (300, 1_100)], [600, 400]);
    let after = restarted[1].server.after.get_mut("a:11211").unwrap();
    after.insert("pid".to_owned(), Figure::Whole(8));
    let restarted = merged(&restarted);
    assert!(counters(&restarted).message.contains("was restarted"), "{:?}", counters(&restarted));
}

/// One server's reset was hidden in the sum over all servers, and was a fault of memtide.
#[test]
fn a_reset_of_one_server_of_several_is_no_difference_of_shares() {
    let mut shares = counted([(100, 800), (300, 1_100)], [600, 400]);
    for record in &mut shares {
        let side = |gets, connections| {
            let figures = [("cmd_get", gets), ("total_connections", connections), ("pid", 7)];
            figures.map(|(name, count)| (name.to_owned(), Figure::Whole(count))).into()
        };
        let (mut before, mut after) = (record.server.before.clone(), record.server.after.clone());
        before.insert("b:11211".to_owned(), side(500, 60));
        after.insert("b:11211".to_owned(), side(200, 4));
        let expected = record.server.expected.take();
        record.server = ServerCounters { expected, ..ServerCounters::new(before, after) };
    }
    let merged = merged(&shares);
    let check = counters(&merged);
    assert_eq!(check.result, CheckResult::Skipped, "{check:?}");
    assert!(check.message.contains("server b:11211 were reset"), "{check:?}");
}

#[test]
fn a_schema_holds_what_is_merged_from_shares() {
    let merged = merged(&[share(0, 4, 10), not_run(1, 4)]);
    expect_valid(&merged);
}
