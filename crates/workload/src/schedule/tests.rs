//! Intended instants: golden values, independent of the number of lanes, true to their law under
//! every wave, and without drift.

use super::*;
use crate::tests::{critical_distance, distance, exponential};
use crate::wave::Wave;
use memtide_base::rng::{mix, rand48_draw};

fn constant(rate: f64) -> RateCurve {
    RateCurve::new(&Wave::Constant, rate, Span::ZERO, Span::from_s(10), 1)
}

fn lane(index: u32, count: u32, own_stream: bool) -> Lane {
    Lane { index, count, own_stream }
}

fn single(arrival: Arrival, rate: f64) -> Schedule {
    Schedule::new(arrival, constant(rate), 1, lane(0, 1, false))
}

fn take(mut schedule: Schedule, n: usize) -> Vec<Due> {
    (0..n)
        .map(|_| {
            let due = schedule.due();
            schedule.advance();
            due
        })
        .collect()
}

/// The first `n` operations of `count` lanes together, ordered by time.
fn merged(arrival: Arrival, count: u32, own_stream: bool, n: usize) -> Vec<Due> {
    let mut all: Vec<Due> = (0..count)
        .map(|index| lane(index, count, own_stream))
        .map(|lane| Schedule::new(arrival, constant(1e4), 1, lane))
        .flat_map(|schedule| take(schedule, n / count as usize))
        .collect();
    all.sort_by_key(|due| (due.at, due.index));
    all
}

/// The gaps between neighbours, in units of their mean at 10 000 operations a second.
fn unit_gaps(dues: &[Due]) -> Vec<f64> {
    dues.windows(2).map(|pair| (pair[1].at.ns() - pair[0].at.ns()) as f64 / 1e5).collect()
}

const LAWS: [Arrival; 5] = [
    Arrival::Poisson,
    Arrival::Fixed,
    Arrival::Uniform,
    Arrival::Pareto(1.0, 16.0, 0.15),
    Arrival::Etc,
];

#[test]
fn the_first_instants_are_golden() {
    let first = |arrival| -> Vec<u64> {
        take(single(arrival, 1e4), 5).iter().map(|due| due.at.ns()).collect()
    };
    assert_eq!(first(Arrival::Fixed), [0, 100_000, 200_000, 300_000, 400_000]);
    assert_eq!(first(Arrival::Poisson), [105_405, 161_092, 270_752, 276_744, 517_618]);
    assert_eq!(first(Arrival::Uniform), [130_295, 215_696, 348_894, 360_527, 542_541]);
    let fingerprint = |arrival| {
        take(single(arrival, 1e4), 1000).iter().fold(0, |sum, due| mix(sum ^ due.at.ns()))
    };
    let golden = [
        221_256_076_594_159_886,
        15_805_262_440_821_360_992,
        13_267_698_332_044_150_764,
        11_782_117_485_203_100_203,
        2_372_963_664_097_016_714,
    ];
    assert_eq!(LAWS.map(fingerprint), golden);
}

#[test]
fn any_number_of_lanes_plans_the_same_operations() {
    for arrival in LAWS {
        if arrival == Arrival::Poisson {
            continue; // Its lanes draw their own gaps.
        }
        let whole = take(single(arrival, 1e4), 4200);
        for count in [1, 2, 3, 7] {
            assert_eq!(merged(arrival, count, false, 4200), whole, "{arrival}, {count} lanes");
        }
    }
    // Lanes that draw gaps of their own share the grid of equal gaps.
    assert_eq!(merged(Arrival::Fixed, 7, true, 700), take(single(Arrival::Fixed, 1e4), 700));
}

#[test]
fn every_lane_takes_its_own_indices_in_order() {
    for arrival in LAWS {
        for own_stream in [false, true] {
            let dues = take(Schedule::new(arrival, constant(1e3), 1, lane(2, 5, own_stream)), 100);
            assert!(dues.iter().enumerate().all(|(k, due)| due.index == 2 + 5 * k as u64));
            assert!(dues.windows(2).all(|pair| pair[0].at <= pair[1].at));
        }
    }
}

#[test]
fn gaps_follow_their_law() {
    let n = 30_000;
    let critical = critical_distance(n - 1);
    let gaps = |arrival| unit_gaps(&take(single(arrival, 1e4), n));
    assert!(distance(gaps(Arrival::Poisson), exponential) < critical);
    assert!(distance(gaps(Arrival::Uniform), |x| x / 2.0) < critical);
    let etc = |x: f64| {
        let z = x / (1.0 - 0.154_971);
        1.0 - (1.0 + 0.154_971 * z).powf(-1.0 / 0.154_971)
    };
    assert!(distance(gaps(Arrival::Etc), etc) < critical);
    assert!(gaps(Arrival::Fixed).iter().all(|&gap| gap == 1.0));
}

#[test]
fn poisson_lanes_are_poisson_together_and_alone() {
    for count in [2, 3, 7] {
        // Lanes end at different times; the merged sequence is incomplete after the first end.
        let together = merged(Arrival::Poisson, count, false, 42_000);
        let complete = &together[..40_000];
        let critical = critical_distance(complete.len() - 1);
        assert!(distance(unit_gaps(complete), exponential) < critical, "{count} lanes");
        let alone = Schedule::new(Arrival::Poisson, constant(1e4), 1, lane(1, count, false));
        let gaps: Vec<f64> =
            unit_gaps(&take(alone, 20_000)).iter().map(|gap| gap / f64::from(count)).collect();
        assert!(distance(gaps, exponential) < critical_distance(19_999));
    }
}

#[test]
fn lanes_with_their_own_streams_differ_and_keep_the_rate() {
    let at =
        |index| take(Schedule::new(Arrival::Uniform, constant(1e4), 1, lane(index, 4, true)), 9);
    assert!(at(0).iter().zip(at(1)).all(|(a, b)| a.at != b.at));
    for arrival in LAWS {
        let n = 10_000;
        let mut lane = Schedule::new(arrival, constant(1e4), 1, lane(1, 4, true));
        (0..n).for_each(|_| lane.advance());
        let position = lane.due().at.as_s_f64() * 1e4 / 4.0;
        let sigma = (arrival.squared_variation() * f64::from(n)).sqrt();
        assert!((position - f64::from(n)).abs() < 4.0 * sigma + 2.0, "{arrival}: {position}");
    }
}

/// Under any wave, the expected number of operations between neighbours is exponential.
#[test]
fn poisson_arrivals_follow_every_wave() {
    for word in [
        "ramp:500,5k",
        "ramp:0,5k",
        "step:1k,5k,0,2k@1s",
        "sine:2k,1k,5s",
        "sine:2k,2k,5s",
        "random:100,5k@500ms",
    ] {
        let wave = word.parse().unwrap();
        let curve = RateCurve::new(&wave, 0.0, Span::from_s(1), Span::from_s(10), 3);
        let schedule = Schedule::new(Arrival::Poisson, curve.clone(), 1, lane(0, 1, false));
        let expected: Vec<f64> =
            take(schedule, 10_000).iter().map(|due| curve.cumulative(due.at)).collect();
        let gaps: Vec<f64> = expected.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distance(gaps, exponential) < critical_distance(9_999), "{word}");
    }
}

#[test]
fn a_grid_does_not_drift() {
    // One lane of very many reaches operation 10^12 in a few hundred steps.
    let count = 4_000_000_000;
    let mut schedule = Schedule::new(Arrival::Fixed, constant(3e6), 1, lane(1, count, false));
    for _ in 0..300 {
        let due = schedule.due();
        let exact_ns = (u128::from(due.index) * 1_000_000_000 + 1_500_000) / 3_000_000;
        assert!(due.at.ns().abs_diff(exact_ns as u64) <= 1, "{due:?} for {exact_ns}");
        schedule.advance();
    }
    assert!(schedule.due().index > 1_000_000_000_000);
}

/// Equal gaps, summed far from the start, must give equal sums.
#[test]
fn sums_keep_their_digits_after_a_week_at_a_million_a_second() {
    let week: u64 = 604_800 * 1_000_000;
    for arrival in [Arrival::Uniform, Arrival::Etc, Arrival::Poisson] {
        let mut near = single(arrival, 1e6);
        let mut far = near.clone();
        far.gaps.whole += week;
        for _ in 0..100_000 {
            near.advance();
            far.advance();
        }
        let off_ns = far.due().at.ns() - week * 1000 - near.due().at.ns();
        assert!(off_ns <= 1, "{arrival}: {off_ns} ns");
    }
}

#[test]
fn a_rate_that_ends_plans_nothing_more() {
    let wave = "ramp:100,0".parse().unwrap();
    let curve = RateCurve::new(&wave, 0.0, Span::ZERO, Span::from_s(10), 1);
    let dues = take(Schedule::new(Arrival::Fixed, curve, 1, lane(0, 1, false)), 600);
    assert!(dues[499].at < Span::from_s(10));
    assert!(dues[500..].iter().all(|due| due.at == Span::MAX));
}

#[test]
#[should_panic(expected = "one of those")]
fn a_lane_that_is_none_of_the_lanes_is_a_bug() {
    Schedule::new(Arrival::Fixed, constant(1.0), 1, lane(3, 3, false));
}

#[test]
fn several_steps_at_once_end_where_single_ones_do() {
    for (arrival, own_stream) in
        [(Arrival::Fixed, false), (Arrival::Poisson, true), (Arrival::Uniform, false)]
    {
        let lane = Lane { index: 2, count: 3, own_stream };
        let curve =
            RateCurve::new(&Wave::Constant, 1_000.0, Span::ZERO, Span::from_s(1_000_000), 5);
        let mut single = Schedule::new(arrival, curve, 5, lane);
        let mut several = single.clone();
        for times in 1..50 {
            several.advance_by(times);
            (0..times).for_each(|_| single.advance());
            assert_eq!(several.due(), single.due(), "{arrival} by {times}");
            let end = several.due().index + 7;
            assert_eq!(several.left_before(end), 3);
        }
    }
}

#[test]
fn a_schedule_that_begins_anew_is_due_at_once_and_draws_other_gaps() {
    for arrival in [Arrival::Fixed, Arrival::Poisson, Arrival::Uniform] {
        let mut schedule = single(arrival, 1e3);
        let instants = |schedule: &mut Schedule, stream| {
            schedule.restart(stream, 0);
            take(schedule.clone(), 100).iter().map(|due| due.at).collect::<Vec<_>>()
        };
        let first = instants(&mut schedule, Stream::CALL.of_lane(1));
        schedule.advance();
        let second = instants(&mut schedule, Stream::CALL.of_lane(2));
        assert_eq!((first[0], second[0]), (Span::ZERO, Span::ZERO));
        assert_eq!(instants(&mut schedule, Stream::CALL.of_lane(1)), first, "{arrival:?}");
        assert_eq!(first == second, arrival == Arrival::Fixed, "{arrival:?}");
    }
}

#[test]
fn gaps_of_a_stream_of_their_own_follow_the_law_and_are_not_the_operations() {
    let law = |stream| {
        let lane = lane(0, 1, false);
        let schedule = Schedule::of_stream(Arrival::Poisson, constant(1e4), 1, stream, lane);
        take(schedule, 20_000)
    };
    let openings = law(Stream::OPENING);
    assert_ne!(openings[..10], take(single(Arrival::Poisson, 1e4), 10)[..]);
    assert_eq!(law(Stream::GAP), take(single(Arrival::Poisson, 1e4), 20_000));
    let gaps = openings.windows(2).map(|two| (two[1].at.ns() - two[0].at.ns()) as f64 / 1e5);
    let gaps: Vec<f64> = gaps.collect();
    let critical = critical_distance(gaps.len());
    assert!(distance(gaps, exponential) < critical);
}

const WORDS: [u16; 3] = [4660, 22136, 25923];

/// The first `n` instants, in seconds, of a program that adds draws of erand48 to its interval.
fn program(gap: impl Fn(f64) -> f64, n: usize, skipped: u64) -> Vec<f64> {
    let mut at = 0.0;
    let next = |index| {
        let due = at;
        at += gap(rand48_draw(WORDS, index));
        due
    };
    (skipped..).map(next).take(n).collect()
}

fn assert_near(dues: &[Due], seconds: &[f64]) {
    for (due, second) in dues.iter().zip(seconds) {
        let off = due.at.as_s_f64() - second;
        assert!(off.abs() < 2e-9, "{due:?} is not at {second}");
    }
}

#[test]
fn gaps_of_a_c_program_are_its_own_for_any_number_of_lanes() {
    // 200 gaps of 3 ms on average, evenly from 2 ms up or exponential.
    type Gap = fn(f64) -> f64;
    let laws: [(Arrival, Gap); 2] = [
        (Arrival::UniformFrom(2.0 / 3.0), |u| 0.002 + 0.002 * u),
        (Arrival::Poisson, |u| -0.003 * (1.0 - u).ln()),
    ];
    for (arrival, gap) in laws {
        let expected = program(gap, 200, 0);
        for count in [1, 2, 5] {
            let of_lane = |index| {
                let schedule =
                    Schedule::new(arrival, constant(1e3 / 3.0), 1, lane(index, count, false));
                take(schedule.with_draws(Draws::Rand48(WORDS)), 200 / count as usize)
            };
            let mut all: Vec<Due> = (0..count).flat_map(of_lane).collect();
            all.sort_by_key(|due| due.index);
            assert_eq!(all[0], Due { index: 0, at: Span::ZERO });
            assert_near(&all, &expected);
        }
        // A schedule that starts over continues its stream where it is told to.
        let own = Schedule::new(arrival, constant(1e3 / 3.0), 1, lane(0, 1, true));
        let mut own = own.with_draws(Draws::Rand48(WORDS));
        own.advance();
        own.restart(Stream::CALL.of_lane(7), 70);
        assert_near(&take(own, 10), &program(gap, 10, 70));
    }
}

#[test]
fn ascending_gaps_grow_by_their_step() {
    // 10 a second at first: gaps of 100 ms, 350 ms, 600 ms.
    let arrival = Arrival::Ascending(2.5);
    let at = |dues: Vec<Due>| dues.iter().map(|due| due.at.ns() / 1_000_000).collect::<Vec<_>>();
    assert_eq!(at(take(single(arrival, 10.0), 5)), [0, 100, 450, 1_050, 1_900]);
    for own in [false, true] {
        let lanes = [0, 1]
            .map(|index| take(Schedule::new(arrival, constant(10.0), 1, lane(index, 2, own)), 3));
        assert_eq!(lanes.map(at), [[0, 450, 1_900], [100, 1_050, 3_000]]);
    }
    for (step, count) in [(2.5, 4.0), (0.0, 19.0), (1e9, 2.0)] {
        let law = Arrival::Ascending(step);
        let gaps = law.position(count as u64).unwrap();
        assert!((law.expected(gaps) - count).abs() < 1e-6, "{step}: {}", law.expected(gaps));
    }
    assert_eq!(Arrival::Poisson.expected(7.0), 7.0);
}
