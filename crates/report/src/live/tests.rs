//! The model by hand-made seconds: what is kept, and who is suspected.

use super::*;
use memtide_base::Span;
use memtide_record::{HostSecond, ServerReport, ServerSecond, UnderWay, WorkerSecond};

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
fn memory_is_bounded() {
    let live = fed((0..1_000).map(|number| second(number, 100, 300_000, 5_000)));
    assert_eq!(live.seconds.len(), SHOWN_MAX);
    assert_eq!(live.counts.answered, 100_000);
    assert_eq!(live.measured[&Kind::All].0.count(), 100_000);
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
    assert!(matches!(with(0.3, 0.0, 0.0), Suspect::Server(_)));
}

#[test]
fn what_was_due_follows_from_what_ended_and_what_waits() {
    let mut late = second(1, 600, 300_000, 5_000);
    late.under_way.backlog = Some(400);
    let live = fed([second(0, 998, 300_000, 5_000), late]);
    let due: Vec<_> = live.seconds.iter().map(|second| second.due_per_s).collect();
    assert_eq!(due, [Some(1_000.0), Some(1_000.0)]);
}
