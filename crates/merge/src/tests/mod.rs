//! Algebraic laws of merging on random records, a run against its own shards, and refusals.

mod generate;
mod seconds;
mod cut;
mod shares;

use super::*;
use generate::{Generator, run};
use memtide_base::Random;
use memtide_record::{
    Aborted, Believable, CheckResult, ChurnCounts, ChurnRecord, Distribution, Figure, GoalResult,
    LagSplit, LateCause, MachineCpu, MachineRecord, Outage, Percentile, PlannedServer, Reconnects,
    ServerCounters, ServerRecord, Verdict, Warning, judge,
};
use memtide_scenario::{Kind, Scenario};
use std::collections::BTreeMap;

fn json(record: &Record) -> String {
    record.to_json()
}

fn same(records: &[Record]) -> Record {
    merge(records, Scenarios::Same).unwrap_or_else(|e| panic!("{}", e.message(numbered)))
}

fn any(records: &[&Record]) -> Record {
    let records: Vec<Record> = records.iter().map(|&record| record.clone()).collect();
    merge(&records, Scenarios::Any).unwrap_or_else(|e| panic!("{}", e.message(numbered)))
}

fn numbered(record: usize) -> String {
    format!("{}.json", char::from(b'A' + record as u8))
}

/// Asserts that the published schema holds a record.
fn expect_valid(record: &Record) {
    let schema = include_str!("../../../../docs/record.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let value = serde_json::to_value(record).unwrap();
    let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn merging_is_commutative_and_associative_to_the_bit() {
    for seed in 0..12 {
        let mut generator = Generator::new(seed);
        let [a, b, c, d] = [0; 4].map(|_| generator.record());
        let whole = json(&any(&[&a, &b, &c, &d]));
        assert_eq!(json(&any(&[&b, &a])), json(&any(&[&a, &b])), "seed {seed}");
        assert_eq!(json(&any(&[&d, &b, &a, &c])), whole, "seed {seed}");
        let (left, right) = (any(&[&any(&[&a, &b]), &c]), any(&[&a, &any(&[&b, &c])]));
        assert_eq!(json(&left), json(&right), "seed {seed}");
        assert_eq!(json(&any(&[&left, &d])), whole, "seed {seed}");
        assert_eq!(json(&any(&[&any(&[&d, &a]), &any(&[&c, &b])])), whole, "seed {seed}");
    }
}

#[test]
fn files_between_merges_change_nothing() {
    for seed in 0..20 {
        let mut generator = Generator::new(seed);
        let [a, b, c] = [0; 3].map(|_| generator.record());
        let file = |record: &Record| Record::from_json(&json(record)).unwrap();
        let through = any(&[&file(&any(&[&file(&c), &file(&a)])), &file(&b)]);
        assert_eq!(json(&through), json(&any(&[&a, &b, &c])), "seed {seed}");
        assert_eq!(file(&through), through, "seed {seed}");
    }
}

#[test]
fn a_merged_record_keeps_the_law_of_conservation_and_its_schema() {
    let mut generator = Generator::new(7);
    let merged = any(&[&generator.record(), &generator.record(), &generator.record()]);
    assert_eq!(merged.check_conservation(), Ok(()));
    expect_valid(&merged);
}

#[test]
fn each_time_is_merged_with_the_same_time_of_the_others() {
    let mut generator = Generator::new(3);
    let [a, b] = [0; 2].map(|_| generator.record());
    let merged = any(&[&a, &b]);
    let parts = |record: &Record| {
        let LagSplit { generator, client_busy, server, disconnected } = record.lag_split.clone();
        [generator, client_busy, server, disconnected, record.client_delay.clone()]
    };
    for (place, sum) in parts(&merged).iter().enumerate() {
        let [one, other] = [&parts(&a)[place], &parts(&b)[place]];
        assert_eq!(sum.count, one.count + other.count, "part {place}");
        assert_eq!(sum.max_ns, one.max_ns.max(other.max_ns), "part {place}");
    }
}

#[test]
fn a_single_record_stays_as_it_is() {
    let record = Generator::new(1).record();
    assert_eq!(same(std::slice::from_ref(&record)), record);
    let merged = same(&[run(0, 10), run(1, 10)]);
    assert_eq!(same(std::slice::from_ref(&merged)), merged);
}

#[test]
fn rates_are_divided_by_the_union_of_the_windows() {
    // Two windows of 10 s, the second one 4 s later: their union is 14 s.
    let merged = same(&[run(0, 10), run(4_000, 10)]);
    assert_eq!((merged.window_ns, merged.measured_s), (14_000_000_000, 14.0));
    assert_eq!(merged.start_skew_ns, Some(4_000_000_000));
    assert_eq!(merged.rate.achieved_per_s, 2_000.0 / 14.0);
    assert_eq!(merged.rate.target_per_s, Some(2_000.0 / 14.0));
    // Disjoint windows cover only their own lengths.
    let apart = same(&[run(0, 10), run(3_600_000, 10)]);
    assert_eq!((apart.measured_s, apart.rate.achieved_per_s), (20.0, 100.0));
    assert!(apart.intervals.len() <= memtide_metrics::series::ROWS_MAX);
    assert_eq!(apart.intervals.iter().map(|row| row.ops).sum::<u64>(), 2_000);
}

#[test]
fn a_record_that_does_not_bound_memtides_own_delay_leaves_the_whole_without() {
    let with = |start_ms, is_drawn: bool, is_punctual: bool| {
        let mut record = run(start_ms, 10);
        let times = || record.response.clone();
        let (drawn, punctual) = (is_drawn.then(times), is_punctual.then(times));
        record.drawn = drawn.unwrap_or_default();
        record.punctual = punctual.unwrap_or_default();
        record
    };
    let all = Some(run(0, 10).response[&Kind::All].count * 2);
    for (is_drawn, is_punctual, expected) in [
        (true, true, [all, all]),
        // Of an older version: what is left of the times stands for all.
        (false, true, [None, all]),
        (false, false, [None, None]),
    ] {
        let merged = same(&[with(0, true, true), with(1, is_drawn, is_punctual)]);
        let count = |of: &BTreeMap<Kind, Distribution>| of.get(&Kind::All).map(|all| all.count);
        assert_eq!([count(&merged.drawn), count(&merged.punctual)], expected);
    }
}

#[test]
fn runs_one_after_the_other_are_not_one_load() {
    // Each shard has a target of 100/s over 16 connections.
    let together = same(&[run(0, 10), run(1, 10), run(2, 10)]).plan;
    assert_eq!((together.rate_per_s, together.connections, together.workers), (Some(300.0), 48, 6));
    let apart = same(&[run(0, 10), run(10_000, 10), run(25_000, 10)]);
    let plan = &apart.plan;
    assert_eq!((plan.rate_per_s, plan.connections, plan.workers), (Some(100.0), 16, 2));
    assert_eq!(apart.rate.target_per_s, Some(100.0));
    let mut other = run(10_000, 10);
    other.plan.rate_per_s = Some(250.0);
    assert_eq!(same(&[run(0, 10), other]).plan.rate_per_s, None);
    // Two overlapping runs out of three do not make one load of all.
    assert_eq!(same(&[run(0, 10), run(5_000, 10), run(12_000, 10)]).plan.connections, 16);
}

#[test]
fn reconnects_to_a_server_add_up_and_the_longest_absence_is_that_of_any_run() {
    let with = |seed, [lost, reconnected, sum, max]: [u64; 4]| {
        let reconnects =
            Reconnects { lost, reconnected, disconnected_ns: sum, disconnected_ns_max: max };
        let name = "a:11211".to_owned();
        let server = ServerRecord { name, reconnects, ..ServerRecord::default() };
        Record { servers: vec![server], ..Generator::new(seed).record() }
    };
    let merged = any(&[&with(1, [3, 2, 500, 400]), &with(2, [2, 2, 90, 60])]);
    let Reconnects { lost, reconnected, disconnected_ns, disconnected_ns_max } =
        merged.servers[0].reconnects;
    assert_eq!([lost, reconnected, disconnected_ns, disconnected_ns_max], [5, 4, 590, 400]);
}

/// The merged record ended with 0, because no run had lost all of its servers.
#[test]
fn a_server_that_one_of_the_runs_lost_for_good_is_lost() {
    let with = |until_unix_ms| {
        let outages = vec![Outage { from_unix_ms: 4_000, until_unix_ms }];
        let server = ServerRecord { name: "a:1".to_owned(), outages, ..ServerRecord::default() };
        Record { servers: vec![server], ..run(0, 10) }
    };
    assert_eq!(same(&[run(1, 10), with(Some(5_000))]).exit, 0);
    assert_eq!(same(&[run(1, 10), with(None)]).exit, 3);
}

#[test]
fn copies_of_writes_are_in_no_rate() {
    let copied = |start_ms| Record {
        sent_in_window: [(Kind::Get, 1_000), (Kind::Set, 200)].into(),
        copies_in_window: [(Kind::Set, 100)].into(),
        ..run(start_ms, 10)
    };
    let merged = same(&[copied(0), copied(1)]);
    assert!((merged.rate.achieved_per_s - 220.0).abs() < 0.1, "{:?}", merged.rate);
    assert!((merged.rate.kinds_per_s[&Kind::Set] - 20.0).abs() < 0.1, "{:?}", merged.rate);
    assert_eq!(merged.copies_in_window, [(Kind::Set, 200)].into());
}

#[test]
fn the_last_answer_of_all_is_told_from_the_first_beginning_on() {
    let late = same(&[run(0, 10), run(4_000, 10)]).answered_until_s;
    assert_eq!(late, Some(14.001));
    // The shard that begins last need not receive the last answer.
    assert_eq!(same(&[run(0, 10), run(4_000, 2)]).answered_until_s, Some(10.001));
    let mute = |start_ms| Record { answered_until_s: None, ..run(start_ms, 10) };
    assert_eq!(same(&[mute(0), run(1_000, 10)]).answered_until_s, Some(11.001));
    assert_eq!(same(&[mute(0), mute(1)]).answered_until_s, None);
}

#[test]
fn rows_are_aligned_by_the_time_of_day() {
    let merged = same(&[run(0, 10), run(300, 10), run(3_000, 10)]);
    let ops: Vec<u64> = merged.intervals.iter().map(|row| row.ops).collect();
    // The second shard begins 0.3 s late, within the same row; the third three rows later.
    let expected = [[200; 3].as_slice(), &[300; 7], &[100; 3]].concat();
    assert_eq!(ops, expected);
    assert_eq!(merged.intervals[3].start_s, 3.0);
    assert_eq!(merged.intervals[3].rate_per_s, 300.0);
    assert_eq!(merged.slices.iter().map(|row| row.answered).collect::<Vec<_>>(), expected);
    assert!(merged.intervals.iter().all(|row| row.response_p50_ns.is_some()));
}

#[test]
fn rows_have_rates_that_the_runs_had() {
    let rates = |starts: &[u64]| -> Vec<f64> {
        let runs: Vec<Record> = starts.iter().map(|&start_ms| run(start_ms, 3)).collect();
        same(&runs).intervals.iter().map(|row| row.rate_per_s).collect()
    };
    // Each has 100 operations per second. The second one begins behind the first, within a row.
    assert_eq!(rates(&[0, 3_350]), [100.0; 6]);
    assert_eq!(rates(&[0, 3_600]), [100.0; 6]);
    assert_eq!(rates(&[0, 650]), [100.0, 200.0, 200.0, 100.0]);
    assert_eq!(rates(&[0, 350]), [200.0; 3]);
    // Row 3 holds the last 0.4 s of one run and the first second of the next.
    let mut short = run(0, 4);
    short.window_ns = 3_400_000_000;
    short.intervals[3].length_s = 0.4;
    short.intervals[3].ops = 40;
    let row = &same(&[short, run(3_450, 3)]).intervals[3];
    assert_eq!((row.ops, row.length_s, row.rate_per_s), (140, 1.4, 100.0));
}

/// Nothing ran for 11 s: no line over time may join what was before and after.
#[test]
fn a_stretch_without_a_run_is_a_gap() {
    let merged = same(&[run(0, 3), run(14_000, 2)]);
    let rows: Vec<(f64, f64, u64)> =
        merged.intervals.iter().map(|row| (row.start_s, row.length_s, row.ops)).collect();
    let [.., last, gap, next, _] = rows[..] else { panic!("{rows:?}") };
    assert_eq!([last, gap, next], [(2.0, 1.0, 100), (3.0, 0.0, 0), (14.0, 1.0, 100)]);
    let gap = &merged.intervals[3];
    assert_eq!((gap.response_p50_ns, gap.response_p99_ns), (None, None));
    assert_eq!(merged.slices.iter().filter(|slice| slice.length_s == 0.0).count(), 1);
    // Half a row is none.
    assert_eq!(same(&[run(0, 3), run(3_500, 2)]).intervals.len(), 5);
}

#[test]
fn the_servers_own_clock_orders_their_counters() {
    let of = |start_ms, [before, after]: [(i64, i64); 2]| {
        let figures = |(time, gets)| -> BTreeMap<String, BTreeMap<String, Figure>> {
            let figures = [("time", time), ("cmd_get", gets)];
            let figures = figures.map(|(name, figure)| (name.to_owned(), Figure::Whole(figure)));
            [("a:11211".to_owned(), figures.into())].into()
        };
        Record { server: ServerCounters::new(figures(before), figures(after)), ..run(start_ms, 1) }
    };
    // The clock of the machine that ran last is behind; the server was restarted in between.
    let merged = same(&[of(9_000, [(10, 500), (12, 900)]), of(0, [(20, 0), (22, 50)])]);
    assert_eq!(merged.server.before["a:11211"]["cmd_get"], Figure::Whole(500));
    assert_eq!(merged.server.after["a:11211"]["cmd_get"], Figure::Whole(50));
    assert_eq!(merged.server.expected, None);
}

#[test]
fn a_no_of_any_shard_is_a_no_that_names_it() {
    let mut bad = run(5, 10);
    bad.believable = generate::believable(CheckResult::Failed, 0.9);
    let merged = same(&[bad.clone(), run(0, 10), run(9, 10)]);
    assert_eq!(merged.believable.verdict, Verdict::No);
    assert_eq!(merged.believable.reasons[0].message, "run 2 of 3: busy 0.9");
    bad.window_start_unix_ns = run(6, 10).window_start_unix_ns;
    bad.believable = generate::believable(CheckResult::Failed, 0.8);
    let worse = same(&[merged, bad]);
    let reason = &worse.believable.reasons[0].message;
    assert_eq!(reason, "2 of 4 runs failed; worst is run 2: busy 0.9");
    let good = same(&[run(0, 10), run(5, 10)]);
    assert_eq!(good.believable.verdict, Verdict::Yes);
    let nothing = Record { believable: Believable::default(), ..run(0, 10) };
    let merged = same(&[nothing, run(5, 10)]);
    assert_eq!(merged.believable.verdict, Verdict::No, "nothing was concluded of a shard");
}

#[test]
fn goals_are_judged_by_the_merged_numbers() {
    let record = |start_ms: u64| {
        let mut record = run(start_ms, 1);
        record.scenario["goal"] = vec!["all.p99<2ms", "rate>=150", "all.p99.9<1s"].into();
        record.goals = judge(&agree::goals([&record.scenario].into_iter()), &record);
        record
    };
    let results = |record: &Record| -> Vec<GoalResult> {
        record.goals.iter().map(|goal| goal.result).collect()
    };
    use GoalResult::{Met, Missed, Undecided};
    assert_eq!(results(&record(0)), [Undecided, Missed, Undecided]);
    let merged = same(&[0, 1, 2, 3].map(record));
    assert_eq!(results(&merged), [Met, Met, Undecided]);
    assert_eq!((merged.exit, merged.partial), (1, false));
}

#[test]
fn warnings_stand_once_and_too_few_is_cured_by_more() {
    let record = |start_ms: u64| {
        let mut record = run(start_ms, 1);
        let lost = Warning::SampleOverflow { lost: 3 };
        let all = Warning::of_response(&record.response).into_iter().chain([lost]);
        record.warnings = all.map(|warning| (&warning).into()).collect();
        record
    };
    let codes = |record: &Record| -> Vec<String> {
        record.warnings.iter().map(|warning| warning.code.clone()).collect()
    };
    assert_eq!(codes(&record(0)), ["too_few_samples", "sample_overflow"]);
    assert_eq!(codes(&same(&[record(0), record(1)])), ["sample_overflow", "too_few_samples"]);
    assert_eq!(codes(&same(&[0, 1, 2, 3].map(record))), ["sample_overflow"]);
}

#[test]
fn that_generators_were_late_is_told_once() {
    let record = |start_ms: u64, ideal_ns: Option<u64>| {
        let mut record = run(start_ms, 1);
        let percentile = Percentile::P99;
        let cause = LateCause::Wake;
        let late =
            |ideal_ns| Warning::GeneratorLate { percentile, seen_ns: 20_000, ideal_ns, cause };
        record.warnings = ideal_ns.map(|ns| (&late(ns)).into()).into_iter().collect();
        record
    };
    let messages = |lags: [Option<u64>; 3]| -> Vec<String> {
        let records: Vec<Record> = (0..).zip(lags).map(|(at, lag)| record(at, lag)).collect();
        let late = same(&records).warnings.into_iter().filter(|it| it.code == "generator_late");
        late.map(|warning| warning.message).collect()
    };
    let [one] = &messages([None, Some(7_000), None])[..] else { panic!("it is one") };
    assert!(one.starts_with("run 2 of 3: memtide itself sent late"), "{one}");
    let [all] = &messages([None, Some(7_000), Some(9_000)])[..] else { panic!("it is one") };
    assert!(all.starts_with("2 of 3 runs, such as run 2: memtide itself"), "{all}");
    assert!(
        all.contains(
            "p99 is 20.0 µs; without memtide's own delay it may have been as little as 7.00 µs"
        ),
        "{all}"
    );
    assert_eq!(messages([None; 3]), [""; 0]);
}

#[test]
fn what_ended_worst_ended_the_whole() {
    let ended =
        |start_ms, ended_by, exit, partial| Record { ended_by, exit, partial, ..run(start_ms, 1) };
    let fine = ended(0, EndedBy::Duration, 0, false);
    let interrupted = ended(1, EndedBy::Interrupted, 130, true);
    let lost = ended(2, EndedBy::ServersLost, 3, true);
    let merged = same(&[fine.clone(), interrupted.clone()]);
    assert_eq!((merged.ended_by, merged.exit), (EndedBy::Interrupted, 130));
    assert!(merged.partial);
    let merged = same(&[lost.clone(), interrupted.clone(), fine]);
    assert_eq!((merged.ended_by, merged.exit), (EndedBy::ServersLost, 3));
    let cut = ended(3, EndedBy::ConnectionLost, 3, true);
    let merged = same(&[cut.clone(), interrupted]);
    assert_eq!((merged.ended_by, merged.exit), (EndedBy::ConnectionLost, 3));
    assert_eq!(same(&[cut, lost]).ended_by, EndedBy::ServersLost);
    let mut aborted = ended(4, EndedBy::Aborted, 1, true);
    aborted.aborted = Some(Aborted {
        condition: "errors>50%".to_owned(),
        measured: Some(0.9),
        why: "it was 90 %".to_owned(),
        after_s: 5.1,
    });
    let merged = same(&[run(0, 1), aborted.clone()]);
    assert_eq!((merged.ended_by, merged.exit), (EndedBy::Aborted, 1));
    assert_eq!(merged.aborted, aborted.aborted);
    let mut wrong = run(3, 1);
    wrong.totals.verification.checked = 1;
    wrong.phases.measure.totals = wrong.totals.clone();
    assert_eq!(same(&[run(0, 1), wrong]).exit, 1, "a wrong value of any shard is one of the whole");
    let shut = |start_ms, opened| {
        let measure = ChurnCounts { started: 7, intended: 7, opened, ..ChurnCounts::default() };
        let (failed, completed) = (7 - opened, opened);
        let causes = [("refused".to_owned(), failed)].into();
        let measure = ChurnCounts { failed, completed, causes, ..measure };
        let churn = ChurnRecord { measure, calls_planned: 100, ..ChurnRecord::default() };
        Record { churn: Some(ChurnRecord { calls_intended: 100, ..churn }), ..run(start_ms, 1) }
    };
    assert_eq!(same(&[shut(0, 0), shut(1, 0)]).exit, 3, "no connection opened");
    assert_eq!(same(&[shut(0, 0), shut(1, 1)]).exit, 0);
}

#[test]
fn stolen_time_is_that_of_the_machines_that_say_it() {
    let stolen = |start_ms, cpus, stolen| {
        let machine = MachineRecord { cpus, ..MachineRecord::default() };
        let cpu = MachineCpu { stolen, ..MachineCpu::default() };
        Record { machine, machine_cpu: Some(cpu), ..run(start_ms, 10) }
    };
    let all = [stolen(0, 4, Some(0.1)), stolen(1, 2, Some(0.4)), stolen(2, 8, None)];
    let share = same(&all).machine_cpu.unwrap().stolen.unwrap();
    assert!((share - 0.2).abs() < 1e-12, "{share}");
    assert_eq!(same(&[stolen(0, 4, None)]).machine_cpu.unwrap().stolen, None);
}

#[test]
fn the_busiest_second_is_that_of_the_busiest_machine() {
    let busy = |start_ms, least_of_1s, most_of_1s| {
        let of_all = MachineCpu { avg: 0.5, min: 0.25, max: 0.75, ..MachineCpu::default() };
        let cpu = MachineCpu { least_of_1s, most_of_1s, ..of_all };
        Record { machine_cpu: Some(cpu), ..run(start_ms, 10) }
    };
    let merged = same(&[busy(0, Some(0.4), Some(0.6)), busy(1, Some(0.3), Some(0.5))]);
    let cpu = merged.machine_cpu.unwrap();
    assert_eq!((cpu.least_of_1s, cpu.most_of_1s), (Some(0.3), Some(0.6)));
    let merged = same(&[busy(0, None, None), busy(1, Some(0.3), Some(0.5))]);
    assert_eq!(merged.machine_cpu.unwrap().most_of_1s, Some(0.5));
}

#[test]
fn facts_are_kept_where_shards_agree() {
    let mut other = run(1, 10);
    other.machine.kernel = "6.9".to_owned();
    other.machine.cpus = 8;
    other.plan.seed = 77;
    let merged = same(&[other, run(0, 10)]);
    assert_eq!((merged.machine.kernel.as_str(), merged.machine.cpus), ("6.1, 6.9", 0));
    assert_eq!(merged.machine.memtide_version, "0.1.0");
    let plan = &merged.plan;
    assert_eq!((plan.workers, plan.connections, plan.rate_per_s), (4, 32, Some(200.0)));
    assert_eq!(plan.seed, run(0, 10).plan.seed);
    assert_eq!(merged.shards.iter().map(|shard| shard.machine.cpus).collect::<Vec<_>>(), [4, 8]);
    assert_eq!(merged.servers.len(), 1);
    assert_eq!(merged.servers[0].connections, 32);
    assert_eq!(merged.client.worker_busy.len(), 4);
}

fn refused(records: &[Record], scenarios: Scenarios) -> String {
    merge(records, scenarios).map(|record| json(&record)).unwrap_err().message(numbered)
}

#[test]
fn different_scenarios_are_refused_unless_the_user_insists() {
    let words = |field: fn(&mut Scenario)| {
        let mut scenario = Scenario::default();
        field(&mut scenario);
        scenario.words()
    };
    let of = |start_ms, scenario| Record { scenario, ..run(start_ms, 10) };
    let free = of(1, words(|s| (s.seed, s.threads) = (9, Some(3))));
    same(&[run(0, 10), free.clone()]);
    let faster = of(2, words(|s| s.rate = Some(2e4)));
    let records = [run(0, 10), free, faster];
    assert_eq!(
        refused(&records, Scenarios::Same),
        "A.json and C.json have different scenarios: rate is not given in one and '20000' in the \
         other; merge runs of one scenario, or add --force"
    );
    let forced = merge(&records, Scenarios::Any).unwrap();
    assert_eq!(forced.shards.len(), 3);
    // A record that was forced together is not accepted as one scenario later.
    assert!(refused(&[run(7, 10), forced], Scenarios::Same).contains("A.json and B.json"));
}

#[test]
fn runs_may_have_servers_of_their_own() {
    let of = |start_ms, servers: &[&str]| {
        let mut record = run(start_ms, 10);
        record.scenario["server"] = servers.to_vec().into();
        let server = |name: &&str| PlannedServer { name: (*name).into(), ..Default::default() };
        record.plan.servers = servers.iter().map(server).collect();
        record
    };
    let (a, b, c) = (of(0, &["a:1", "b:1"]), of(1, &["c:1"]), of(2, &["b:1", "d:1"]));
    let merged = same(&[c.clone(), a.clone(), b.clone()]);
    let all = ["a:1", "b:1", "c:1", "d:1"];
    assert_eq!(merged.scenario["server"], serde_json::json!(all));
    assert_eq!(merged.plan.servers.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), all);
    let named = |record: &Record| record.shards[1].scenario["server"].clone();
    assert_eq!(named(&merged), serde_json::json!(["c:1"]));
    let note = merged.warnings.iter().find(|warning| warning.code == "servers_differ").unwrap();
    assert!(note.message.starts_with("the 3 merged runs loaded 4 servers"), "{}", note.message);
    // In any grouping, and reported once.
    assert_eq!(json(&same(&[same(&[b.clone(), c]), a.clone()])), json(&merged));
    let alike = same(&[a.clone(), of(3, &["a:1", "b:1"])]);
    assert!(alike.warnings.iter().all(|warning| warning.code != "servers_differ"));
    // A run with an embedded server is not among them.
    let sentence = refused(&[a, of(4, &[])], Scenarios::Same);
    assert!(sentence.contains("server is 'a:1,b:1' in one and not given"), "{sentence}");
}

#[test]
fn what_does_not_belong_together_is_refused_in_any_case() {
    let (a, b) = (run(0, 10), run(1, 10));
    let merged = same(&[a.clone(), b.clone()]);
    assert_eq!(
        refused(&[merged.clone(), run(3, 10), a.clone()], Scenarios::Any),
        "the same run is in A.json and C.json and would count twice; leave one of them out"
    );
    let mut closed = run(2, 10);
    closed.plan.loop_kind = memtide_record::LoopKind::Closed;
    let sentence = refused(&[a.clone(), closed], Scenarios::Any);
    assert!(sentence.starts_with("A.json and B.json cannot be merged: one is an open loop"));
    let client = Record { shards: vec![merged.shards[0].clone(); 600], ..merged };
    let sentence = refused(&[client.clone(), client], Scenarios::Any);
    assert!(sentence.starts_with("1200 runs are more than the 1024"), "{sentence}");
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    type Damage = fn(&mut Record);
    let cases: [(&str, Damage); 14] = [
        ("operations were intended but", |r| r.totals.intended += 1),
        ("a histogram of response.all", |r| {
            r.response.get_mut(&Kind::All).unwrap().count += 1;
        }),
        ("a histogram of lag_split", |r| r.lag_split.server.unanswered = 1),
        ("a histogram of in_flight_at_send", |r| {
            r.in_flight_at_send.histogram = Some("!".to_owned());
        }),
        ("a histogram of servers.a:11211", |r| r.servers[0].response.histogram = None),
        ("the start of its window is not a valid time", |r| {
            r.window_start_unix_ns = Some(Wide(u128::MAX))
        }),
        ("a histogram of outstanding_at_send", |r| r.outstanding_at_send.count = 7),
        ("a histogram of interval 3 is damaged", |r| {
            r.intervals[3].gets.get_or_insert_default().service.count += 1;
        }),
        ("slice 0 does not contain", |r| r.slices[0].answered += 1),
        ("a histogram of response.all", |r| {
            r.response.get_mut(&Kind::All).unwrap().p50_ns = Some(1)
        }),
        ("a histogram of servers.a:11211", |r| r.servers[0].response.mean_ns = Some(7.5)),
        ("a histogram of client_delay", |r| r.client_delay.stddev_ns = Some(1e9)),
        ("a histogram of in_flight_at_send", |r| r.in_flight_at_send.p99 = Some(1_000)),
        ("a goal of its scenario", |r| r.scenario["goal"] = vec!["warp<9"].into()),
    ];
    for (words, damage) in cases {
        let mut record = run(1, 10);
        damage(&mut record);
        record.phases.measure.totals = record.totals.clone();
        let sentence = refused(&[run(0, 10), record], Scenarios::Any);
        assert!(sentence.starts_with("B.json contradicts itself: "), "{sentence}");
        assert!(sentence.contains(words), "{sentence} does not say: {words}");
    }
}

#[test]
fn numbers_at_the_end_of_their_types_are_no_panic() {
    let mut merged = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut value = serde_json::to_value(run(1, 3)).unwrap();
        for _ in 0..=random.below(4) {
            spoil(&mut value, &mut random);
        }
        let Ok(mut record) = Record::from_json(&value.to_string()) else { continue };
        record.phases.measure.totals = record.totals.clone();
        let twice = std::panic::catch_unwind(|| {
            let once = merge(&[record, run(0, 3)], Scenarios::Any)?;
            merge(&[once, run(2, 3)], Scenarios::Any)
        });
        let twice = twice.unwrap_or_else(|_| panic!("seed {seed}"));
        merged += u32::from(twice.is_ok());
    }
    assert!((20..190).contains(&merged), "{merged} of 200 were merged");
}

/// Replaces a number, found by a random walk, with an extreme one.
fn spoil(value: &mut serde_json::Value, random: &mut Random) {
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => {
            let at = random.below(members.len() as u64) as usize;
            members.values_mut().nth(at).into_iter().for_each(|member| spoil(member, random));
        }
        serde_json::Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len() as u64) as usize;
            spoil(&mut items[at], random);
        }
        serde_json::Value::Number(_) => {
            *value = match random.below(4) {
                0 => 0.into(),
                1 => (1u64 << 63).into(),
                2 => 1e300.into(),
                _ => u64::MAX.into(),
            };
        }
        serde_json::Value::String(text) if text.parse::<u128>().is_ok() => {
            *value = u128::MAX.to_string().into();
        }
        _ => {}
    }
}

#[test]
fn every_error_says_what_to_merge_instead() {
    let (records, field) = ([0, 1], "rate".to_owned());
    let words = [Some("1k".to_owned()), None];
    let errors = [
        MergeError::Damaged { record: 0, why: "it has no window".to_owned() },
        MergeError::Scenarios { records, field: field.clone(), words: words.clone() },
        MergeError::Loops { records },
        MergeError::Twice { records },
        MergeError::Twice { records: [0, 0] },
        MergeError::Mixed { records },
        MergeError::TwoLoads { record: 0 },
        MergeError::Unlike { records, field, words },
        MergeError::Overlap { records, lanes: [0, 3] },
        MergeError::TooMany { shards: 1 << 20 },
    ];
    for error in errors {
        let message = error.message(|number| format!("record {number}"));
        let remedies = ["; merge ", "; leave ", "; use "];
        assert!(remedies.iter().any(|remedy| message.contains(remedy)), "{message}");
    }
}
