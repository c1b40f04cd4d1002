//! Merging of the shards' seconds.

use super::generate::run;
use super::{json, same};
use crate::record::{
    PlannedServer, Record, SecondRecord, ServerSecond, SettledCounts, UnderWay, Wide,
};

/// A run that measured from `start_ms` into the day, after 2 s of warm-up in which nothing ended,
/// with `length_s` seconds of 1.05 s each.
fn shard(start_ms: u64, length_s: u64, seed: u64) -> Record {
    let mut record = run(start_ms, length_s);
    record.plan.seed = seed;
    record.plan.warmup_s = 2.0;
    let mut left = SettledCounts::from(&record.totals);
    let each = left.settled / (length_s + 2);
    record.seconds = (0..length_s + 2)
        .map(|number| {
            let settled = if number > length_s { left.settled } else { each };
            let part = SettledCounts {
                settled,
                answered: settled,
                sent: settled,
                ..SettledCounts::default()
            };
            left = left.since(&part);
            let under_way = UnderWay {
                in_flight: Some(3),
                oldest_due_s: Some(0.5 * seed as f64),
                ..UnderWay::default()
            };
            let (start_s, length_s) = (1.05 * number as f64, 1.05);
            SecondRecord { start_s, length_s, counts: part, under_way, ..SecondRecord::default() }
        })
        .collect();
    record
}

fn sum(record: &Record) -> SettledCounts {
    record.seconds.iter().fold(SettledCounts::default(), |sum, second| sum.plus(&second.counts))
}

#[test]
fn seconds_of_shards_lie_where_they_were_and_add_up() {
    let [a, b, c] = [shard(10_000, 8, 1), shard(13_150, 4, 2), shard(10_020, 8, 3)];
    let merged = same(&[a.clone(), b.clone(), c.clone()]);
    assert_eq!(sum(&merged), SettledCounts::from(&merged.totals));
    assert_eq!(sum(&merged).settled, 2_000);
    let first = &merged.seconds[0];
    assert_eq!((first.start_s, first.length_s, first.counts.settled), (0.0, 1.05, 160));
    assert_eq!((first.under_way.in_flight, first.under_way.oldest_due_s), (Some(6), Some(1.5)));
    // The second shard's load begins 3.15 s after the first one's.
    let fourth = &merged.seconds[3];
    assert_eq!((fourth.counts.settled, fourth.under_way.in_flight), (80 + 66 + 80, Some(9)));
    assert_eq!(fourth.response_p50_ns, None);
    // Any order and grouping gives the same seconds.
    let grouped = same(&[same(&[c, a]), b]);
    assert_eq!(json(&grouped), json(&merged));
}

#[test]
fn seconds_of_runs_one_after_the_other_have_the_rate_of_each() {
    let merged = same(&[shard(10_000, 8, 1), shard(30_600, 8, 2)]);
    assert_eq!(sum(&merged).settled, 1_600);
    for second in &merged.seconds {
        let rate = second.counts.settled as f64 / second.length_s;
        assert!((rate - 80.0 / 1.05).abs() < 1e-6, "{second:?}");
    }
}

#[test]
fn seconds_that_would_not_add_up_are_not_told() {
    let (a, b) = (shard(10_000, 8, 1), shard(10_000, 8, 2));
    let older = Record { seconds: Vec::new(), ..b.clone() };
    assert_eq!(same(&[a.clone(), older]).seconds, []);
    let undated = Record { window_start_unix_ns: Some(Wide(1)), ..b };
    assert_eq!(same(&[a, undated]).seconds, [], "its load would begin before 1970");
}

#[test]
fn servers_are_told_apart_where_all_shards_load_the_same_ones() {
    let two = |seed, other: &str| {
        let mut record = shard(10_000, 2, seed);
        let second = PlannedServer { name: other.to_owned(), addresses: Vec::new() };
        record.plan.servers.push(second);
        for second in &mut record.seconds {
            let (counts, none) = (second.counts, SettledCounts::default());
            let server = |counts| ServerSecond { counts, connections_open: Some(4) };
            second.servers = vec![server(counts), server(none)];
        }
        record
    };
    let alike = same(&[two(1, "b"), two(2, "b")]);
    for second in &alike.seconds {
        assert_eq!(second.servers[0].counts, second.counts);
        assert_eq!(second.servers[1].counts, SettledCounts::default());
        assert_eq!(second.servers[0].connections_open, Some(8));
    }
    let other = same(&[two(1, "b"), two(2, "c")]);
    assert!(!other.seconds.is_empty());
    assert!(other.seconds.iter().all(|second| second.servers.is_empty()));
}
