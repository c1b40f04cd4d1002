//! Agents that report in step, that stand still, and that are lost.

use super::*;
use memtide_record::SettledCounts;

const LATE: Span = Span::from_s(3600);

/// A stretch in which `settled` operations ended.
fn stretch(from_ms: u64, to_ms: u64, settled: u64) -> Interval {
    let counts = SettledCounts { settled, answered: settled, ..SettledCounts::default() };
    let (start, length) = (Span::from_ms(from_ms), Span::from_ms(to_ms - from_ms));
    Interval { start, length, counts, no_server: counts, ..Interval::default() }
}

fn seconds(reported: &[(u32, Interval)]) -> Seconds {
    let mut seconds = Seconds::default();
    for (number, interval) in reported {
        seconds.add(*number, interval.clone(), LATE).unwrap();
    }
    seconds
}

/// All rows as start and end in ms and operations ended.
fn rows(seconds: &mut Seconds, loading: &[u32]) -> Vec<(u64, u64, u64)> {
    let ms = |span: Span| span.ns() / 1_000_000;
    let each = std::iter::from_fn(|| seconds.row(loading));
    each.map(|row| (ms(row.start), ms(end(&row)), row.counts.settled)).collect()
}

#[test]
fn a_row_is_the_same_second_of_all_agents() {
    let mut two = seconds(&[
        (0, stretch(0, 1_020, 10)),
        (1, stretch(0, 1_090, 20)),
        (0, stretch(1_020, 2_050, 30)),
    ]);
    assert_eq!(rows(&mut two, &[0, 1]), [(0, 1_090, 30)]);
    two.add(1, stretch(1_090, 2_000, 40), LATE).unwrap();
    assert_eq!(rows(&mut two, &[0, 1]), [(1_090, 2_050, 70)]);
    // The rest of a load belongs to no whole second.
    two.add(0, stretch(2_050, 2_400, 5), LATE).unwrap();
    assert_eq!(rows(&mut two, &[]), [(2_050, 2_400, 5)]);
}

/// Seconds were added by their number: what an agent did after it had stood still for 3 s
/// appeared in a second in which it stood still, all its later seconds were 3 s early, and rows
/// overlapped.
#[test]
fn an_agent_that_stood_still_does_not_shift_its_seconds() {
    let mut two = seconds(&[(1, stretch(0, 1_000, 1)), (1, stretch(1_000, 2_000, 1))]);
    for second in 0..6 {
        two.add(0, stretch(second * 1_000, second * 1_000 + 1_000, 100), LATE).unwrap();
    }
    assert_eq!(rows(&mut two, &[0, 1]), [(0, 1_000, 101), (1_000, 2_000, 101)]);
    two.add(1, stretch(2_000, 5_300, 1_288), LATE).unwrap();
    assert_eq!(rows(&mut two, &[0, 1]), [(2_000, 5_300, 1_588)]);
    two.add(1, stretch(5_300, 6_050, 7), LATE).unwrap();
    assert_eq!(rows(&mut two, &[0, 1]), [(5_300, 6_050, 107)]);
}

#[test]
fn an_agent_that_is_lost_is_not_waited_for_and_one_far_ahead_does_not_wait() {
    let mut two = seconds(&[(0, stretch(0, 1_000, 1)), (0, stretch(1_000, 2_000, 2))]);
    assert_eq!(rows(&mut two, &[0, 1]), []);
    assert_eq!(rows(&mut two, &[0]), [(0, 1_000, 1), (1_000, 2_000, 2)]);
    let mut made = 0;
    for second in 2..200 {
        two.add(0, stretch(second * 1_000, second * 1_000 + 1_000, 1), LATE).unwrap();
        made += rows(&mut two, &[0, 1]).len();
    }
    assert_eq!(made, 198 - SECONDS_AHEAD_MAX);
}

#[test]
fn stretches_that_cannot_be_are_refused() {
    let mut seconds = seconds(&[(0, stretch(0, 1_000, 1))]);
    let twice = seconds.add(0, stretch(500, 1_500, 1), LATE).unwrap_err();
    assert!(twice.contains("twice"), "{twice}");
    let early = seconds.add(0, stretch(1_000, 60_000, 1), Span::from_s(2)).unwrap_err();
    assert!(early.contains("until 60 s, but only 2 s have passed"), "{early}");
}

#[test]
fn the_state_of_two_stretches_is_that_at_the_end() {
    let worker = |busy| WorkerSecond { busy: Some(busy), ..WorkerSecond::default() };
    let with = |part: Interval, busy| Interval { workers: vec![worker(busy)], ..part };
    let first = with(stretch(0, 3_000, 2), 1.0);
    let next = Interval { is_over: true, ..with(stretch(3_000, 4_000, 3), 0.2) };
    let sum = followed(&first, next);
    assert_eq!((sum.counts.settled, end(&sum)), (5, Span::from_s(4)));
    assert_eq!((sum.workers, sum.is_over), (vec![worker(0.8)], true));
}
