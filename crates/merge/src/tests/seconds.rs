//! Merging of the shards' seconds.

use super::generate::run;
use super::shares::share;
use super::{json, same};
use memtide_base::Random;
use memtide_record::{
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
    // One is the gap between both.
    for second in merged.seconds.iter().filter(|second| second.length_s > 0.0) {
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

#[test]
fn seconds_without_a_run_are_a_gap() {
    let merged = same(&[shard(10_000, 2, 1), shard(31_000, 2, 2)]);
    let gaps: Vec<&SecondRecord> =
        merged.seconds.iter().filter(|second| second.length_s == 0.0).collect();
    let [gap] = gaps[..] else { panic!("{:?}", merged.seconds) };
    assert_eq!((gap.start_s, gap.counts), (4.2, SettledCounts::default()));
    assert_eq!(gap.under_way, UnderWay::default());
}

/// A share whose load ended, in ms after its beginning, in these stretches.
fn share_of(number: u32, ends_ms: &[u64], draw: &mut Random) -> Record {
    let mut record = share(number, 8, 2);
    let mut left = record.totals.answered;
    let mut from_ms = 0;
    for (at, &to_ms) in ends_ms.iter().enumerate() {
        let is_last = at + 1 == ends_ms.len();
        let settled = if is_last { left } else { draw.below(left / 4 + 1) };
        left -= settled;
        let counts =
            SettledCounts { settled, answered: settled, sent: settled, ..SettledCounts::default() };
        let (start_s, length_s) = (from_ms as f64 / 1e3, (to_ms - from_ms) as f64 / 1e3);
        record.seconds.push(SecondRecord { start_s, length_s, counts, ..SecondRecord::default() });
        from_ms = to_ms;
    }
    record
}

/// Start, end and operations of each second.
fn rows(record: &Record) -> Vec<(f64, f64, u64)> {
    let row = |it: &SecondRecord| (it.start_s, it.start_s + it.length_s, it.counts.settled);
    record.seconds.iter().map(row).collect()
}

/// Seconds were added by their number: those of an agent that stood still for 3 s were added to the
/// first of the seconds in which it stood still, and rows overlapped.
#[test]
fn a_share_that_stood_still_does_not_shift_its_seconds() {
    let mut draw = Random::new(1);
    let steady = share_of(0, &[1_000, 2_000, 3_000, 4_000, 5_000, 6_000], &mut draw);
    let stood_still = share_of(1, &[1_020, 2_050, 5_400, 6_010], &mut draw);
    let merged = same(&[steady, stood_still]);
    let times: Vec<(f64, f64)> = rows(&merged).iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(times, [(0.0, 1.02), (1.02, 2.05), (2.05, 6.01)]);
    assert_eq!(sum(&merged).settled, 400);
}

/// Fleets of shares whose seconds are drawn: some stand still, some end early.
#[test]
fn drawn_seconds_of_shares_are_in_the_row_of_their_time() {
    const NEAR_S: f64 = 0.25;
    for seed in 1..=500 {
        let mut draw = Random::new(seed);
        let number = 1 + draw.below(5) as u32;
        let each = (0..number).map(|number| {
            let (mut ends, mut end_s) = (Vec::new(), 0);
            let until_s = 2 + draw.below(12);
            while end_s < until_s {
                end_s += if draw.below(8) == 0 { 1 + draw.below(4) } else { 1 };
                // It stood still, and went on at any time.
                let late = if draw.below(10) == 0 { draw.below(999) } else { draw.below(90) };
                ends.push(end_s * 1_000 + late);
            }
            share_of(number, &ends, &mut draw)
        });
        let each: Vec<Record> = each.collect();
        let merged = same(&each);
        let made = rows(&merged);
        assert_eq!(sum(&merged).settled, 200 * u64::from(number), "seed {seed}");
        assert_eq!(made[0].0, 0.0);
        let follow = made.windows(2).all(|two| (two[0].1 - two[1].0).abs() < 1e-6);
        assert!(follow, "seed {seed}: {made:?}");
        let mut ended = 0;
        for (_, until, settled) in &made {
            ended += settled;
            let within = |is_in: &dyn Fn(&(f64, f64, u64)) -> bool| -> u64 {
                each.iter().flat_map(rows).filter(is_in).map(|row| row.2).sum()
            };
            let least = within(&|part| part.1 <= until - NEAR_S);
            let most = within(&|part| part.0 < until + NEAR_S);
            assert!((least..=most).contains(&ended), "seed {seed}, until {until}: {made:?}");
        }
        let mut groups = each.clone();
        groups.rotate_left(draw.below(number.into()) as usize);
        let (some, others) = groups.split_at(number as usize / 2);
        if !some.is_empty() {
            let grouped = same(&[same(others), same(some)]);
            assert_eq!(rows(&grouped), made, "seed {seed}");
        }
    }
}
