//! Slices hold what a list of all operations gives, whatever the length of the window.

use super::*;
use crate::counter::Fate;
use crate::interval::{Answer, UnansweredCount};
use crate::{Series, Shape, Tally, TallySum};
use memtide_base::Random;

#[test]
fn slices_of_any_length_are_64_or_up_to_128() {
    assert_eq!(first_width(Some(Span::from_s(10))), Span::from_ns(156_250_000));
    assert_eq!(first_width(Some(Span::from_ms(100))), WIDTH_LEAST);
    assert_eq!(first_width(None), WIDTH_LEAST);
    let ms = |ms: u64| ms * 1_000_000;
    let of = |at| bounds(ms(at), ms(10));
    assert_eq!(of(1_279), (ms(1_270), ms(1_280)));
    assert_eq!(of(1_280), (ms(1_280), ms(1_300)), "from here on 64 of 20 ms");
    assert_eq!(of(2_559), (ms(2_540), ms(2_560)));
    assert_eq!(of(2_560), (ms(2_560), ms(2_600)));
    assert_eq!(bounds(u64::MAX, ms(10)).1, u64::MAX);
}

/// An operation of the list that slices are compared with.
struct Listed {
    intended: Span,
    server: u16,
    slot: u8,
    kind: u8,
    /// Response and service time, if it was answered.
    times: Option<(Span, Span)>,
    is_sent: bool,
}

fn listed(random: &mut Random, intended: Span) -> Listed {
    let longest = 1 << (8 + random.below(26));
    let response = Span::from_ns(1 + random.below(longest));
    let service = Span::from_ns(1 + random.below(response.ns()));
    let kind = random.below(2) as u8;
    Listed {
        intended,
        server: random.below(2) as u16,
        // Kind 0 has its answers in slots of their own.
        slot: if kind == 0 { 2 + random.below(2) as u8 } else { 1 },
        kind,
        times: (random.below(12) > 0).then_some((response, service)),
        is_sent: random.below(2) == 0,
    }
}

fn shape(window: Option<Span>) -> Shape {
    Shape {
        slots: vec![true; 4],
        response: vec![false, true, true, true],
        service: vec![true, true, false, false],
        servers: 2,
        slice_width: first_width(window),
        cells: 5,
        ..Shape::default()
    }
}

fn note(tally: &mut Tally, operation: &Listed) {
    let &Listed { intended, server, slot, kind, times, is_sent } = operation;
    tally.intended(intended, 1);
    let counters = &mut tally.segments[0];
    counters.intended += 1;
    counters.settle(kind.into(), if times.is_some() { Fate::Answered } else { Fate::TimedOut });
    match times {
        Some((response, service)) => {
            let (hits, misses) = (1, 0);
            let answer = Answer { count: 1, slot, kind, server, response, service, hits, misses };
            tally.answered(intended, answer);
        }
        None => tally.lost(
            intended,
            UnansweredCount { kind, server: Some(server), is_sent, hits: 0, misses: 0, count: 1 },
        ),
    }
}

/// The slices that the list gives, of this width.
fn reference(operations: &[Listed], width: Span) -> Vec<SliceSet> {
    let mut slices = Vec::new();
    for operation in operations {
        let number = (operation.intended.ns() / width.ns()) as usize;
        slices.resize(slices.len().max(number + 1), SliceSet::default());
        let set = &mut slices[number];
        let put = |slice: &mut Slice, time: Option<Span>| match time {
            Some(time) => {
                *slice.buckets.entry(coarse(time.ns())).or_default() += 1;
                slice.answered += 1;
                slice.sum_ns += u128::from(time.ns());
            }
            None => slice.unanswered += 1,
        };
        let response = operation.times.map(|(response, _)| response);
        let of_response = if response.is_some() { operation.slot } else { operation.kind };
        put(SliceSet::of(&mut set.response, of_response.into()), response);
        put(SliceSet::of(&mut set.servers, operation.server.into()), response);
        if response.is_some() || operation.is_sent {
            let service = operation.times.map(|(_, service)| service);
            put(SliceSet::of(&mut set.service, operation.kind.into()), service);
        }
    }
    slices
}

/// Channels without trailing ones that hold nothing.
fn trimmed(set: &SliceSet) -> SliceSet {
    let mut set = set.clone();
    for channels in [&mut set.response, &mut set.service, &mut set.servers] {
        while channels.last().is_some_and(|slice| *slice == Slice::default()) {
            channels.pop();
        }
    }
    set
}

#[test]
fn slices_equal_those_of_a_list_of_all_operations() {
    for (seed, length_ms, known) in [
        (1, 10_000, true),
        (2, 10_000, false),
        (3, 700, true),
        (4, 1_281, false),
        (5, 90_500, false),
        (6, 130_001, true),
    ] {
        let mut random = Random::new(seed);
        let window = Span::from_ms(length_ms);
        let shape = shape(known.then_some(window));
        let mut sums = TallySum::new(&shape);
        let mut tallies = [Tally::new(&shape), Tally::new(&shape), Tally::new(&shape)];
        let mut operations = Vec::new();
        for nth in 0..30_000 {
            let now = window.ns() / 30_000 * nth;
            // Most end soon; some were intended long before: a worker stood still.
            let back = if random.below(40) == 0 { random.below(now + 1) } else { 0 };
            let operation = listed(&mut random, Span::from_ns(now - back));
            note(&mut tallies[random.below(3) as usize], &operation);
            operations.push(operation);
            if random.below(500) == 0 {
                sums.absorb(&mut tallies[random.below(3) as usize]);
            }
        }
        tallies.iter_mut().for_each(|tally| sums.absorb(tally));
        let found: Vec<SliceSet> = sums.slices.rows().iter().map(trimmed).collect();
        let wanted = reference(&operations, sums.slices.width());
        assert_eq!(found, wanted.iter().map(trimmed).collect::<Vec<_>>(), "seed {seed}");
        let least = if length_ms > 1_280 { 62 } else { 1 };
        assert!((least..=SLICES_KEPT).contains(&found.len()), "{} slices", found.len());
        let rows: u64 = sums.series.rows().iter().map(|row| row.intended).sum();
        assert_eq!(rows, operations.len() as u64);
        let answered = operations.iter().filter(|operation| operation.times.is_some()).count();
        let times = sums.times.response.iter().flatten().map(Histogram::count);
        assert_eq!(times.sum::<u64>(), answered as u64);
        let service = sums.times.service.iter().flatten().map(|times| times.moments().sum);
        let in_list = operations.iter().filter_map(|operation| operation.times);
        let in_list: u128 = in_list.map(|(_, service)| u128::from(service.ns())).sum();
        assert_eq!(service.sum::<u128>(), in_list);
    }
}

#[test]
fn a_backlog_is_divided_evenly_between_slices() {
    let shape = shape(Some(Span::from_s(10)));
    let (mut tally, mut sums) = (Tally::new(&shape), TallySum::new(&shape));
    let stretch = Span::from_ms(1_000)..Span::from_ms(2_000);
    tally.unsent(
        stretch,
        UnansweredCount { kind: 1, server: None, is_sent: false, hits: 0, misses: 0, count: 1_000 },
    );
    sums.absorb(&mut tally);
    let series: &Series<SliceSet> = &sums.slices;
    let each = series.rows().iter().map(|set| set.response.get(1).map_or(0, |one| one.unanswered));
    let each: Vec<u64> = each.collect();
    assert_eq!(each.iter().sum::<u64>(), 1_000);
    assert!(each[7..12].iter().all(|count| count.abs_diff(156) <= 1), "{each:?}");
    assert!(sums.slices.rows().iter().all(|set| set.service.iter().all(|one| one.unanswered == 0)));
    assert_eq!(sums.series.rows()[1].unanswered, 1_000);
}
