//! Agents that report in step, that stand still, and that are lost.

use super::*;
use memtide_base::Random;
use memtide_record::{SettledCounts, WorkerSecond};

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
    let each = std::iter::from_fn(|| seconds.row(loading, None, &[]).map(|(all, _)| all));
    each.map(|row| (ms(row.start), ms(row.end()), row.counts.settled)).collect()
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
    // A row that ended at 5.3 s would have only a part of the others' second in it.
    assert_eq!(rows(&mut two, &[0, 1]), []);
    two.add(1, stretch(5_300, 6_050, 7), LATE).unwrap();
    assert_eq!(rows(&mut two, &[0, 1]), [(2_000, 6_050, 1_695)]);
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
fn the_masters_own_load_is_in_the_sum_and_in_no_row_of_the_agents() {
    let names = ["berlin".to_owned()];
    let mut two = seconds(&[(0, stretch(0, 1_000, 30)), (7, stretch(0, 1_040, 4))]);
    let (all, agents) = two.row(&[0, 7], Some(7), &names).unwrap();
    let agents = agents.unwrap();
    // Each agent has a part, and the master's own load has none.
    let each: Vec<(&str, u64)> =
        agents.agents.iter().map(|part| (part.name.as_str(), part.counts.settled)).collect();
    assert_eq!((each, all.agents.len()), (vec![("berlin", 30)], 0));
    assert_eq!((all.counts.settled, agents.counts.settled), (34, 30));
    // Without the master's load, the row ends as in the record of the agents.
    assert_eq!((all.end(), agents.end()), (Span::from_ms(1_040), Span::from_s(1)));
    two.add(7, stretch(1_040, 2_000, 5), LATE).unwrap();
    let (all, agents) = two.row(&[7], Some(7), &names).unwrap();
    assert_eq!((all.counts.settled, agents), (5, None));
}

/// Agents whose stretches are drawn: some stand still, are lost, or report late.
#[test]
fn drawn_seconds_are_in_one_row_each_and_in_the_row_of_their_time() {
    const NEAR_MS: u64 = 250;
    for seed in 1..=500 {
        let mut draw = Random::new(seed);
        let mut below = |bound| draw.below(bound);
        let agents = 1 + below(5) as u32;
        let mut seconds = Seconds::default();
        let mut reported: Vec<Vec<Interval>> = vec![Vec::new(); agents as usize];
        let mut made: Vec<(u64, u64, u64)> = Vec::new();
        let mut loading: Vec<u32> = (0..agents).collect();
        for _ in 0..60 {
            let Some(&number) = loading.get(below(u64::from(agents)) as usize) else { continue };
            let own = &mut reported[number as usize];
            let from = own.last().map_or(0, |it| it.end().ns() / 1_000_000);
            // Up to 4 s long if it stood still; a stretch ends shortly after a whole second.
            let seconds_long = if below(8) == 0 { 1 + below(4) } else { 1 };
            let late = if below(10) == 0 { below(999) } else { below(90) };
            let to = (from / 1_000 + seconds_long) * 1_000 + late;
            own.push(stretch(from, to, below(1_000)));
            seconds.add(number, own[own.len() - 1].clone(), LATE).unwrap();
            if below(40) == 0 {
                loading.retain(|other| *other != number);
            }
            made.extend(rows(&mut seconds, &loading));
        }
        made.extend(rows(&mut seconds, &[]));
        assert!(made.windows(2).all(|two| two[0].1 == two[1].0), "seed {seed}: {made:?}");
        let mut ended = 0;
        for (number, (_, to, settled)) in made.iter().enumerate() {
            ended += settled;
            let within = |is_in: &dyn Fn(&&Interval) -> bool| -> u64 {
                reported.iter().flatten().filter(is_in).map(|it| it.counts.settled).sum()
            };
            let ms = |span: Span| span.ns() / 1_000_000;
            let least = within(&|it| ms(it.end()) + NEAR_MS <= *to);
            let most = within(&|it| ms(it.start) < to + NEAR_MS);
            assert!((least..=most).contains(&ended), "seed {seed}, row {number}: {made:?}");
        }
    }
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
    let mut sum = with(stretch(0, 3_000, 2), 1.0);
    let next = Interval { is_over: true, ..with(stretch(3_000, 4_000, 3), 0.2) };
    sum.then(&next);
    assert_eq!((sum.counts.settled, sum.end()), (5, Span::from_s(4)));
    assert_eq!((sum.workers, sum.is_over), (vec![worker(0.8)], true));
}

/// Nothing bounded what one agent may report before rows are made, and an assertion ended the
/// master.
#[test]
fn an_agent_that_reports_too_much_at_once_is_refused() {
    let mut two = seconds(&[(1, stretch(0, 0, 0))]);
    let added: Vec<_> = (0..200).map(|_| two.add(0, stretch(0, 0, 0), LATE)).collect();
    assert!(added[..WAITING_MAX].iter().all(Result::is_ok));
    let why = added[WAITING_MAX].as_ref().unwrap_err();
    assert!(why.contains("128 stretches"), "{why}");
    assert!(!rows(&mut two, &[0, 1]).is_empty());
}
