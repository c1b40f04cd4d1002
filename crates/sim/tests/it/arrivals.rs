//! Every arrival law under every wave, as the simulated server sees it.
//!
//! Time rescaling (Papangelou 1972; Brown et al., Neural Computation 14, 2002) maps arrivals at the
//! rate λ(t) to a process of rate 1, by the number Λ(t) of operations expected until t. So the
//! differences of Λ at successive arrivals must follow the law of the gaps, scaled to a mean of 1,
//! under any wave. Checked by the Kolmogorov–Smirnov test at 1 %, with fixed seeds.

mod quiet;

use crate::prelude::*;
use memtide_workload::{RateCurve, Wave};

const SEED: u64 = 11;
const RATE: f64 = 2_000.0;
const DURATION_S: f64 = 8.0;
/// A distance above this times 1/√n occurs by chance in 1 % of cases (Smirnov 1948).
pub(crate) const KS_AT_1_PERCENT: f64 = 1.628;

/// A law's word and the share of its gaps, in units of their mean, that are at most x.
pub(crate) type Law = (&'static str, fn(f64) -> f64);

pub(crate) const LAWS: [Law; 4] = [
    ("poisson", |x| 1.0 - (-x).exp()),
    ("uniform", |x| (x / 2.0).clamp(0.0, 1.0)),
    ("pareto:4,16,0.15", |x| pareto(x, 4.0, 16.0, 0.15)),
    // Atikoglu et al., SIGMETRICS 2012, table 5.
    ("etc", |x| pareto(x, 0.0, 16.0292, 0.154_971)),
];

fn pareto(x: f64, location: f64, scale: f64, shape: f64) -> f64 {
    let mean = location + scale / (1.0 - shape);
    let excess = ((x * mean - location) / scale).max(0.0);
    1.0 - (1.0 + shape * excess).powf(-1.0 / shape)
}

/// A wave's word, and the number of operations that it expects until t seconds.
type Expected = (&'static str, fn(f64) -> f64);

const WAVES: [Expected; 5] = [
    ("constant", |t| RATE * t),
    ("ramp:500,3500", |t| 500.0 * t + 3_000.0 * t * t / (2.0 * DURATION_S)),
    ("step:500,4000,1500@700ms", |t| {
        let whole = (t / 0.7).floor();
        let rates = [500.0, 4_000.0, 1_500.0];
        let past: f64 = (0..whole as usize).map(|step| rates[step % 3] * 0.7).sum();
        past + rates[whole as usize % 3] * (t - whole * 0.7)
    }),
    ("sine:2000,1500,3s", |t| {
        let turn = std::f64::consts::TAU / 3.0;
        2_000.0 * t + 1_500.0 / turn * (1.0 - (turn * t).cos())
    }),
    ("random:500,3500@300ms", |t| {
        // Its levels are drawn; another test checks how.
        let wave: Wave = "random:500,3500@300ms".parse().expect("a wave");
        let window = Span::from_s_f64(DURATION_S);
        RateCurve::new(&wave, RATE, Span::ZERO, window, SEED).cumulative(Span::from_s_f64(t))
    }),
];

/// The instants at which operations of a law under a wave reach a server without delay.
fn instants(law: &str, wave: &str) -> Vec<Instant> {
    let pace = if wave == "constant" { format!("rate={RATE}") } else { format!("wave={wave}") };
    let rehearsal = World::of(&format!(
        "{pace} arrival={law} duration={DURATION_S}s warmup=0s mix=get=1 load=never threads=1 \
         connections=64"
    ))
    .seed(SEED)
    .rehearse();
    let mut sent: Vec<Instant> = rehearsal.samples.iter().map(|sample| sample.sent).collect();
    sent.sort_unstable();
    sent
}

/// Arrivals in seconds from the beginning, at which a metronome beats first.
fn arrivals(law: &str, wave: &str) -> Vec<f64> {
    let begin = instants("fixed", "constant")[0];
    instants(law, wave).iter().map(|at| at.since(begin).as_s_f64()).collect()
}

/// The largest distance between the distribution of `values` and `law`.
pub(crate) fn distance(values: &mut [f64], law: fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let steps = values.iter().enumerate();
    steps
        .map(|(below, &value)| {
            let expected = law(value);
            (expected - below as f64 / n).max((below + 1) as f64 / n - expected)
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_gaps_of_every_law_under_every_wave_are_the_laws() {
    for (law, share) in LAWS {
        for (wave, expected) in WAVES {
            let arrivals = arrivals(law, wave);
            let rescaled: Vec<f64> = arrivals.iter().map(|&t| expected(t)).collect();
            let mut gaps: Vec<f64> = rescaled.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let critical = KS_AT_1_PERCENT / (gaps.len() as f64).sqrt();
            let distance = distance(&mut gaps, share);
            assert!(
                distance < critical,
                "{law} under {wave}, seed {SEED}: distance {distance:.4} over {} gaps, \
                 {critical:.4} is allowed",
                gaps.len()
            );
        }
    }
}

#[test]
fn a_metronome_under_every_wave_beats_once_for_each_operation_expected() {
    for (wave, expected) in WAVES {
        let arrivals = arrivals("fixed", wave);
        for (number, &at) in arrivals.iter().enumerate() {
            // An instant is a whole number of nanoseconds, and the rate is at most 4 000/s.
            let off = (expected(at) - number as f64).abs();
            assert!(off < 1e-4, "{wave}: operation {number} at {at} s is {off} off");
        }
    }
}
