//! How often the intervals of a run under a wave hold the true value: a simulated single server
//! with exponential service, whose load follows the wave. The truth is that of all runs together,
//! each of which is the same wave. `MEMTIDE_COVERAGE=200` asks for this number of runs of each wave
//! (optimised; `--nocapture` shows the table).
#![allow(clippy::disallowed_methods, reason = "the number of runs comes from the environment")]
#![allow(clippy::print_stdout, reason = "the table is for people")]

mod random;

use memtide_belief::{Sample, interval};
use memtide_metrics::slices::coarse;
use memtide_metrics::{Histogram, Slice};
use random::Random;

const PERCENTILES: [f64; 3] = [0.5, 0.9, 0.99];
const FIGURES: [&str; 5] = ["p50", "p90", "p99", "mean", "rate"];
const SLICES: usize = 64;
const WINDOW_S: f64 = 10.0;
const WARM_S: f64 = 0.5;
/// The highest rate of every wave, per second, and the mean time of the server.
const PEAK_PER_S: f64 = 4_000.0;
const SERVICE_S: f64 = 0.7 / PEAK_PER_S;

/// A wave: its name, and its rate as a part of the peak at an instant of the window.
type Wave = (&'static str, fn(f64) -> f64);

const WAVES: [Wave; 4] = [
    ("two steps of 2 s", |s| [0.5, 1.0][(s / 2.0) as usize % 2]),
    ("four steps of 1 s", |s| [0.25, 1.0, 0.5, 0.75][s as usize % 4]),
    ("sine of 5 s", |s| 0.6 + 0.4 * (s / 5.0 * std::f64::consts::TAU).sin()),
    ("ramp", |s| 0.2 + 0.8 * s / WINDOW_S),
];

struct Run {
    whole: Histogram<u64>,
    slices: Vec<Slice>,
}

/// One run: Poisson arrivals at the wave's rate, of which those of the peak's rate are thinned.
fn run(seed: u64, wave: fn(f64) -> f64) -> Run {
    let mut random = Random(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(99));
    let mut run = Run { whole: Histogram::new(), slices: vec![Slice::default(); SLICES] };
    let (mut at, mut departure) = (-WARM_S, -WARM_S);
    loop {
        at += random.exponential(1.0 / PEAK_PER_S);
        if at >= WINDOW_S {
            return run;
        }
        if random.uniform() > wave(at.max(0.0)) {
            continue;
        }
        departure = departure.max(at) + random.exponential(SERVICE_S);
        if at < 0.0 {
            continue;
        }
        let ns = ((departure - at) * 1e9) as u64;
        run.whole.record(ns);
        let slice = &mut run.slices[(at / WINDOW_S * SLICES as f64) as usize];
        *slice.buckets.entry(coarse(ns)).or_default() += 1;
        slice.answered += 1;
        slice.sum_ns += u128::from(ns);
    }
}

/// The mean rate of each slice, as a part of the peak.
fn rates(wave: fn(f64) -> f64) -> Vec<f64> {
    let width_s = WINDOW_S / SLICES as f64;
    let at = |slice: usize, part: usize| (slice as f64 + (part as f64 + 0.5) / 100.0) * width_s;
    let of = |slice: usize| (0..100).map(|part| wave(at(slice, part))).sum::<f64>() / 100.0;
    (0..SLICES).map(of).collect()
}

/// The interval of each figure of a run, where it has one.
fn intervals(run: &Run, rates: &[f64]) -> [Option<[f64; 2]>; 5] {
    let sample = Sample { whole: &run.whole, unanswered: 0, slices: &run.slices, rates };
    let ranks = sample.ranks(&PERCENTILES);
    let percentile = |at: usize| {
        let of = sample.between(ranks[at].as_ref().ok()?)?;
        Some([of.low, of.high])
    };
    let each: Vec<(u64, f64)> =
        run.slices.iter().map(Slice::count).zip(rates.iter().copied()).collect();
    let count = run.whole.count() as f64;
    let rate = interval::rate_half_width(&each).map(|half| [1.0 - half, 1.0 + half]);
    let mean = sample.mean().ok().map(|of| [of.low, of.high]);
    [
        percentile(0),
        percentile(1),
        percentile(2),
        mean,
        rate.map(|ends| ends.map(|end| end * count)),
    ]
}

#[test]
fn intervals_of_a_wave_hold_its_true_values_and_are_printed() {
    let asked = std::env::var("MEMTIDE_COVERAGE").ok().and_then(|word| word.parse().ok());
    let runs: usize = asked.unwrap_or(30);
    // With few runs, the truth is theirs to within a fifth of an interval.
    let slack = 3.5 * (0.95 * 0.05 / runs as f64).sqrt();
    let mut failures = Vec::new();
    for (name, wave) in WAVES {
        let all: Vec<Run> = (0..runs).map(|seed| run(seed as u64, wave)).collect();
        let mut together = Histogram::<u64>::new();
        all.iter().for_each(|run| together.absorb(&run.whole));
        let count = together.count() as f64;
        let [p50, p90, p99] = PERCENTILES.map(|p| {
            let edges = together.edges_at_rank((p * count).ceil() as u64);
            edges.map(|(low, high)| f64::midpoint(low as f64, high as f64)).unwrap()
        });
        let mean = together.moments().mean().unwrap();
        let truth = [p50, p90, p99, mean, count / runs as f64];
        let rates = rates(wave);
        let each: Vec<_> = all.iter().map(|run| intervals(run, &rates)).collect();
        for (at, truth) in truth.iter().enumerate() {
            let printed: Vec<[f64; 2]> = each.iter().filter_map(|of| of[at]).collect();
            let holds = |[low, high]: &&[f64; 2]| low <= truth && truth <= high;
            let held = printed.iter().filter(holds).count() as f64 / printed.len() as f64;
            let mut halves: Vec<f64> =
                printed.iter().map(|[low, high]| (high - low) / 2.0 / truth).collect();
            halves.sort_by(f64::total_cmp);
            let half = halves.get(halves.len() / 2).copied().unwrap_or(f64::NAN);
            let share = printed.len() as f64 / runs as f64;
            println!("{name:18} {:5} {held:.3} / {share:.3} / {half:.3}", FIGURES[at]);
            if held < 0.93 - slack || (at != 2 && share < 0.98 - slack) {
                failures.push(format!("{name}: {}", FIGURES[at]));
            }
        }
    }
    assert!(failures.is_empty(), "beyond their bounds: {failures:?}");
}
