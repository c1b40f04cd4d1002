//! Goals: met, missed, and undecided if the sample is too small.

use crate::world::{Script, ms, run_toml};
use memtide_record::GoalResult::{Met, Missed, Undecided};
use memtide_record::{GoalRecord, GoalResult};

const BASE: &str = "server = 'unix:/s'\nrate = 1000\narrival = 'fixed'\nkeys = 100\n\
                    connections = 4\nthreads = 1\n";

/// The result of a goal in a run whose every answer takes 100 µs.
fn judged(script: Script, extra: &str, goal: &str) -> (GoalRecord, u8) {
    let ran = run_toml(script, &format!("{BASE}{extra}goal = '{goal}'\n"));
    let record = ran.record();
    (record.goals[0].clone(), record.exit)
}

#[test]
fn goals_are_met_and_missed_at_their_bounds() {
    let cases: [(&str, GoalResult); 12] = [
        ("all.p99<101us", Met),
        ("all.p99<=100us", Met),
        ("all.p99<100us", Missed),
        ("get.p50<99us", Missed),
        ("get_hit.max<=100us", Met),
        ("all.max<100us", Missed),
        ("all.mean<=100us", Met),
        ("all.p50>99us", Met),
        ("rate>=995", Met),
        ("rate>1100", Missed),
        ("errors<0.1%", Met),
        ("get.p99.9<1ms", Undecided),
    ];
    for (goal, result) in cases {
        let (record, exit) = judged(Script::default(), "duration = '2s'\n", goal);
        assert_eq!(record.result, result, "{goal}: {}", record.why);
        assert_eq!(exit, u8::from(result != Met), "{goal}");
    }
}

#[test]
fn a_kind_that_did_not_occur_decides_nothing() {
    let (record, exit) = judged(Script::default(), "duration = '1s'\n", "get_miss.p50<1ms");
    assert_eq!((record.result, exit), (Undecided, 1));
}

#[test]
fn what_falls_among_failures_is_longer_than_any_bound() {
    let script =
        || Script { says: Some((ms(1_000), b"SERVER_ERROR busy\r\n")), ..Script::default() };
    let quick = "duration = '2s'\nload = 'never'\n";
    assert_eq!(judged(script(), quick, "all.p99<1h").0.result, Missed);
    assert_eq!(judged(script(), quick, "all.p99>1ms").0.result, Met);
    assert_eq!(judged(script(), quick, "all.max<1h").0.result, Missed);
    assert_eq!(judged(script(), quick, "errors>40%").0.result, Met);
    assert_eq!(judged(script(), quick, "errors<60%").0.result, Met);
}
