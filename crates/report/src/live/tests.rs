//! The model by hand-made seconds: what is kept, and who is suspected.

use super::*;
use memtide_base::Span;
use memtide_record::{
    AgentSecond, HostSecond, Record, ServerReport, ServerSecond, UnderWay, WorkerSecond,
};

/// Second `number` of a load in which each of `count` operations took `ns`, and was sent `lag` ns
/// late.
pub(crate) fn second(number: u64, count: u64, ns: u64, lag: u64) -> Interval {
    let times = |ns: u64| BTreeMap::from([(Kind::All, Histogram::from_recorded([(ns, count)]))]);
    let counts = SettledCounts { settled: count, answered: count, ..SettledCounts::default() };
    let of_kinds = |ns: u64| {
        let get = Histogram::from_recorded([(ns, count)]);
        BTreeMap::from([(Kind::All, get.clone()), (Kind::Get, get)])
    };
    let report = ServerReport {
        answers: 1,
        length_ns: 1_000_000_000,
        operations: Some(count),
        gets: Some(count),
        hits: Some(count * 9 / 10),
        cpu_user_us: Some(120_000),
        cpu_system_us: Some(180_000),
        items: Some(10_000),
        evictions: Some(0),
        ..ServerReport::default()
    };
    Interval {
        start: Span::from_s(number),
        length: Span::from_s(1),
        counts,
        response: of_kinds(ns),
        service: times(ns.saturating_sub(lag)),
        lag: times(lag),
        under_way: UnderWay {
            in_flight: Some(2),
            backlog: Some(0),
            oldest_due_s: Some(0.0),
            connections_open: Some(8),
        },
        servers: vec![ServerSecond { counts, connections_open: Some(8) }],
        reports: BTreeMap::from([("127.0.0.1:11211".to_owned(), report)]),
        workers: vec![WorkerSecond { busy: Some(0.2), kept: Some(0.0), ..WorkerSecond::default() }],
        host: Some(HostSecond {
            cpus: vec![0.3, 0.5],
            cpu_busy: Some(0.4),
            cpu_busy_max: Some(0.5),
            stolen: Some(0.0),
            runnable: Some(2),
            ..HostSecond::default()
        }),
        ..Interval::default()
    }
}

fn fed(seconds: impl IntoIterator<Item = Interval>) -> Live {
    let mut live = Live::new(&["all.p99<1ms".parse().unwrap(), "errors<1%".parse().unwrap()]);
    seconds.into_iter().for_each(|second| live.on(&Event::Interval(Box::new(second))));
    live
}

#[test]
fn agents_have_a_row_each_and_one_that_is_silent_says_nothing() {
    let of = |name: &str, ns: u64| AgentSecond::of(name, &second(0, 1_000, ns, 5_000));
    let all = |number: u64, agents: Vec<AgentSecond>| Interval {
        agents,
        ..second(number, 200, 300_000, 5_000)
    };
    let mut live = fed([all(0, vec![of("berlin", 300_000), of("ankara", 900_000)])]);
    let (rows, more) = live.agent_rows();
    let cells = |row: &[String]| row[..4].join(", ");
    assert_eq!(cells(&rows[0]), "ankara, 1 000/s, 0, 900 µs");
    assert_eq!((cells(&rows[1]), more), ("berlin, 1 000/s, 0, 300 µs".to_owned(), 0));
    live.on(&Event::Interval(Box::new(all(1, vec![of("berlin", 300_000)]))));
    assert_eq!(live.agent_rows().0[0][..3], ["ankara", "no report", "—"]);
    // Of hundreds, the slowest are shown, by name.
    let many = (0..100).map(|number| of(&format!("a{number:03}"), 300_000 + number * 1_000));
    live.on(&Event::LoadBegun(0));
    live.on(&Event::Interval(Box::new(all(2, many.collect()))));
    let (rows, more) = live.agent_rows();
    assert_eq!((rows.len(), more, &*rows[0][0], &*rows[63][0]), (64, 36, "a036", "a099"));
}

#[test]
fn an_agent_without_its_cpu_is_named() {
    let mut starved = second(0, 100, 300_000, 5_000);
    starved.workers[0].kept = Some(0.4);
    let agents = vec![
        AgentSecond::of("ankara", &second(0, 100, 300_000, 5_000)),
        AgentSecond::of("berlin", &starved),
    ];
    let suspect = fed([Interval { agents, ..starved }]).suspect().unwrap();
    let words = "memtide: agent berlin: another program had a worker's CPU";
    assert!(suspect.sentence().starts_with(words), "{suspect:?}");
}

#[test]
fn percentiles_have_grades_once_enough_seconds_are_over() {
    // A run of alike seconds is exact but for memtide's own delay.
    let of = |lag: u64| fed((0..40).map(|at| second(at, 10_000, 300_000, lag))).grades();
    let words = |lag: u64| {
        let each = of(lag).into_iter().map(|(name, grade)| format!("{name} {grade}"));
        each.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(words(1_000), "p50 yes, p99 yes");
    assert_eq!(words(100_000), "p50 within ± 23 %, p99 within ± 23 %");
    assert_eq!(words(250_000), "p50 no, p99 no");
    let few = fed((0..15).map(|at| second(at, 10_000, 300_000, 1_000)));
    assert_eq!(few.grades(), []);
    // The slices of a long run are merged, and hold every operation.
    let long = fed((0..3_000).map(|at| second(at, 100, 300_000 + at % 7, 1_000)));
    assert_eq!(long.grades().len(), 2);
}

#[test]
fn where_a_run_is_says_how_long_the_rest_takes() {
    let mut live = fed([second(0, 100, 300_000, 5_000)]);
    live.plan = Some(Box::new(crate::fixture::open().plan));
    let (phase, elapsed_s) = (Phase::Cooldown, 0.25);
    let cooldown = Progress { phase, elapsed_s, done: 100, ..Progress::default() };
    live.on(&Event::Progress(cooldown));
    let said = live.whereabouts();
    assert!(said.starts_with("cooldown 0.2 s, 2 in flight, at most "), "{said}");
    live.on(&Event::Note("waiting for agent berlin: 5 keys stored".to_owned()));
    assert_eq!(live.whereabouts(), "waiting for agent berlin: 5 keys stored");
    live.next_run("pair 3, arm A".to_owned());
    assert!(live.whereabouts().starts_with("pair 3, arm A  waiting"));
    assert!(!live.is_over());
    live.end();
    assert!(live.is_over());
}

#[test]
fn memory_is_bounded() {
    let live = fed((0..1_000).map(|number| second(number, 100, 300_000, 5_000)));
    assert_eq!(live.seconds.len(), SHOWN_MAX);
    assert_eq!(live.counts.answered, 100_000);
    assert_eq!(live.measured[&Kind::All].times.count(), 100_000);
    assert_eq!(live.version(), 1_000);
}

#[test]
fn goals_are_told_as_they_stand() {
    let live = fed((0..3).map(|number| second(number, 1_000, 2_000_000, 5_000)));
    let aims = live.aims();
    assert_eq!((aims[0].word(), &*aims[0].goal), ("missed so far", "all.p99<1ms"));
    assert_eq!(aims[1].word(), "met so far");
    assert_eq!(Live::new(&["all.p99<1ms".parse().unwrap()]).aims()[0].word(), "not known yet");
}

/// Issue 58, point 1: operations without an answer were no part of a mean.
#[test]
fn a_goal_about_a_mean_stands_open_while_operations_are_not_answered() {
    let aim = |goal: &str, unanswered: u64| {
        let mut live = Live::new(&[goal.parse().unwrap()]);
        let mut second = second(0, 1_000, 2_000_000, 5_000);
        second.unanswered = [(Kind::All, unanswered)].into();
        live.on(&Event::Interval(second.into()));
        let aim = live.aims().remove(0);
        (aim.word(), aim.figure)
    };
    assert_eq!(aim("all.mean<3ms", 0), ("met so far", "2.00 ms".to_owned()));
    assert_eq!(aim("all.mean<3ms", 5), ("not known yet", "≥ 2.00 ms".to_owned()));
    assert_eq!(aim("all.mean<1ms", 5), ("missed so far", "≥ 2.00 ms".to_owned()));
    assert_eq!(aim("all.max<3ms", 5).0, "missed so far");
}

#[test]
fn a_stalled_server_is_suspected() {
    let calm = || (0..5).map(|number| second(number, 1_000, 300_000, 5_000));
    let suspect = |last: Interval| fed(calm().chain([last])).suspect().unwrap();
    assert!(matches!(suspect(second(5, 1_000, 310_000, 5_000)), Suspect::Calm(_)));
    // Replies come late, and nothing is sent late.
    assert!(matches!(suspect(second(5, 1_000, 40_000_000, 5_000)), Suspect::Server(_)));
    // So late that every connection is full.
    let mut full = second(5, 500, 400_000_000, 300_000_000);
    full.under_way.oldest_due_s = Some(0.4);
    let of = suspect(full);
    assert!(matches!(of, Suspect::Server(_)) && of.sentence().contains("backlog 400 ms"), "{of:?}");
    let nothing = Interval { counts: SettledCounts::default(), ..second(5, 0, 1, 0) };
    assert!(suspect(nothing).sentence().contains("no answer"));
}

/// It was said in 10 of 12 quiet seconds, with 64 connections for one operation at a time.
#[test]
fn operations_wait_for_a_connection_only_where_replies_fill_all() {
    let late = |schedule: &str, connections| {
        // 1 000/s, replies of 1 ms, and sent 700 µs late.
        let mut live = fed((0..5).map(|number| second(number, 1_000, 1_700_000, 700_000)));
        let mut plan = crate::fixture::open().plan;
        (plan.schedule, plan.connections, plan.depth) = (schedule.to_owned(), connections, 1);
        live.plan = Some(Box::new(plan));
        live.suspect().unwrap().sentence().contains("free connection")
    };
    assert!(!late("shared", 64), "one connection is in use");
    assert!(late("shared", 1) && late("connection", 64));
    assert!(!late("connection", 1_024), "two operations are hardly due at once");
}

#[test]
fn an_embedded_server_without_its_cpu_is_not_to_blame() {
    let late = |embedded: bool, ready: u64| {
        let mut late = second(5, 1_000, 40_000_000, 5_000);
        let host = HostSecond { cpu_busy: Some(1.0), runnable: Some(ready), ..late.host.unwrap() };
        late.host = Some(host);
        let mut live = fed((0..5).map(|number| second(number, 1_000, 300_000, 5_000)));
        live.plan = Some(Box::new(crate::fixture::open().plan));
        live.plan.as_mut().unwrap().embedded = embedded;
        live.on(&Event::Interval(Box::new(late)));
        live.suspect().unwrap()
    };
    let (Suspect::Own(own), Suspect::Server(far)) = (late(true, 9), late(false, 9)) else {
        panic!("another is suspected");
    };
    assert!(own.contains("take CPUs from the embedded server"), "{own}");
    assert!(far.ends_with("CPUs 100 % busy, 9 threads ready here"), "{far}");
    assert!(matches!(late(true, 2), Suspect::Server(_)), "no thread lacks a CPU");
}

#[test]
fn a_stall_that_is_longer_than_a_worker_lacked_its_cpu_is_the_servers() {
    let stalled = |kept: f64| {
        let mut stalled = second(5, 1_000, 400_000_000, 5_000);
        stalled.workers[0].kept = Some(kept);
        fed((0..5).map(|number| second(number, 1_000, 300_000, 5_000)).chain([stalled])).suspect()
    };
    let (Some(Suspect::Server(theirs)), Some(Suspect::Own(_))) = (stalled(0.14), stalled(0.6))
    else {
        panic!("another is suspected");
    };
    assert!(theirs.ends_with("memtide lacked its CPU for 140 ms alone"), "{theirs}");
}

#[test]
fn a_starved_or_busy_worker_is_suspected() {
    let with = |busy: f64, kept: f64, stolen: f64| {
        let mut last = second(0, 1_000, 40_000_000, 30_000_000);
        last.workers[0] = WorkerSecond { busy: Some(busy), kept: Some(kept), ..last.workers[0] };
        last.host.as_mut().unwrap().stolen = Some(stolen);
        fed([last]).suspect().unwrap()
    };
    for (of, word) in [
        (with(0.3, 0.4, 0.0), "another program had a worker's CPU for 40 %"),
        (with(0.95, 0.0, 0.0), "a worker was busy for 95 %"),
        (with(0.3, 0.0, 0.2), "the hypervisor took 20 %"),
    ] {
        assert!(matches!(of, Suspect::Own(_)) && of.sentence().contains(word), "{of:?}");
    }
    // No program can have had a CPU for longer than any of them was busy.
    let mut last = second(0, 1_000, 40_000_000, 30_000_000);
    last.workers[0].kept = Some(0.8);
    last.host.as_mut().unwrap().cpu_busy_max = Some(0.3);
    let quota = fed([last]).suspect().unwrap();
    assert!(quota.sentence().contains("lacked its CPU for 80 %"), "{quota:?}");
    assert!(quota.sentence().ends_with("probably a CPU quota"), "{quota:?}");
    // Sent 30 ms late, and no reply took longer than 10 ms.
    let late = with(0.3, 0.0, 0.0);
    assert!(matches!(late, Suspect::Own(_)) && late.sentence().contains("sent late"), "{late:?}");
}

#[test]
fn what_was_due_follows_from_what_ended_and_what_waits() {
    let mut late = second(1, 600, 300_000, 5_000);
    late.under_way.backlog = Some(400);
    let live = fed([second(0, 998, 300_000, 5_000), late]);
    let due: Vec<_> = live.seconds.iter().map(|second| second.due_per_s).collect();
    assert_eq!(due, [Some(1_000.0), Some(1_000.0)]);
}

/// A step that was behind was shown as one that met its goals, and a peak as one that missed them.
#[test]
fn only_a_step_that_decides_moves_an_end_of_the_bracket() {
    let over = |rate_per_s, (behind, spoilt), goal| {
        let mut live = Live::new(&[]);
        let role = if rate_per_s == Some(500.0) { StepRole::Narrow } else { StepRole::Peak };
        live.on(&Event::StepDone(Box::new(Step {
            number: 1,
            role,
            rate_per_s,
            achieved_per_s: 400.0,
            behind,
            spoilt,
            goal: Some(goal),
            figure_ns: None,
            low_per_s: Some(300.0),
            high_per_s: Some(900.0),
            record: Record::default(),
        })));
        (live.steps[0].goal, live.bracket().map(Option::unwrap))
    };
    let (in_time, behind, spoilt) = ((false, false), (true, false), (true, true));
    for (rate, state, goal, word, bracket) in [
        (Some(500.0), in_time, GoalResult::Met, "met", [500.0, 900.0]),
        (Some(500.0), in_time, GoalResult::Missed, "missed", [300.0, 500.0]),
        (Some(500.0), behind, GoalResult::Met, "behind", [300.0, 900.0]),
        (Some(500.0), spoilt, GoalResult::Met, "undecided", [300.0, 900.0]),
        (None, in_time, GoalResult::Missed, "—", [300.0, 900.0]),
    ] {
        assert_eq!(over(rate, state, goal), (word, bracket), "{rate:?} {state:?} {goal:?}");
    }
}
