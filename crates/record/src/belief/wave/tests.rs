//! Loads whose rate changes by plan are judged by that plan.

use super::*;
use crate::record::{Distribution, Drifting, Percentile};
use memtide_metrics::slices::{coarse, to_text};
use memtide_metrics::{Histogram, Slice};
use memtide_scenario::{Kind, Measure};
use std::collections::BTreeMap;

const SLICES: usize = 64;

/// A record of this wave over `window_s`: each slice has the operations that were intended, to
/// within a few, whose times depend on their slice's rate and on the part of the window before it.
fn record(wave: &str, window_s: f64, time_us: fn(f64, f64) -> f64) -> Record {
    let mut record = Record { window_ns: (window_s * 1e9) as u64, ..Record::default() };
    record.measured_s = window_s;
    record.plan.wave = wave.to_owned();
    record.plan.duration_s = Some(window_s);
    let (width_ns, count) = (record.window_ns.div_ceil(SLICES as u64), SLICES as u32);
    let slicing = Slicing { width_ns, count, ..Slicing::default() };
    let intended = record.intended(&slicing);
    let (mut times, mut slices) = (Histogram::<u64>::new(), Vec::new());
    for (at, (meant, rate)) in intended.operations.iter().zip(&intended.rates).enumerate() {
        let mut slice = Slice::default();
        for nth in 0..*meant as u64 + (at * 7 % 5) as u64 {
            let scatter = 1.0 + (nth * 37 % 100) as f64 / 50.0;
            let ns = (time_us(*rate, at as f64 / SLICES as f64) * scatter * 1e3) as u64;
            times.record(ns);
            *slice.buckets.entry(coarse(ns)).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(ns);
        }
        slices.push(slice);
    }
    record.rate.achieved_per_s = times.count() as f64 / window_s;
    record.response = BTreeMap::from([(Kind::All, Distribution::of(&times, 0, Span::ZERO))]);
    let response = BTreeMap::from([(Kind::All, to_text(&slices))]);
    record.slicing = Some(Slicing { response, ..slicing });
    record.derive();
    record
}

fn half_width(record: &Record, percent: f64) -> f64 {
    let figure = record.response_figure(Kind::All, Measure::Percentile(percent));
    figure.and_then(|figure| figure.half_width).unwrap_or(f64::INFINITY)
}

#[test]
fn a_waves_own_shape_is_no_scatter() {
    for wave in ["step:500,1000@2s", "sine:800,500,4s", "ramp:200,2000", "random:300,2000@1s"] {
        let record = record(wave, 10.0, |rate, _| 100.0 + rate / 20.0);
        let rate = record.rate_figure().half_width.expect("it has a range");
        assert!(rate < 0.02, "{wave}: rate ± {rate}");
        for percent in [50.0, 90.0] {
            assert!(half_width(&record, percent) < 0.1, "{wave}: p{percent}");
        }
        let all = &record.response[&Kind::All];
        assert!(!all.no_interval.contains_key(&Percentile::P99), "{wave}: {:?}", all.no_interval);
        assert!(record.drift.is_empty(), "{wave}: {:?}", record.drift);
    }
}

#[test]
fn periods_of_a_wave_drift_if_the_server_slows_down() {
    let slower = |rate: f64, part: f64| (50.0 + rate / 10.0) * (1.0 + 0.3 * part);
    let record = record("step:500,1000@500ms", 20.0, slower);
    let change = record.drift[&Drifting::P50];
    assert!((change - 0.26).abs() < 0.05, "{:?}", record.drift);
}

#[test]
fn the_intended_operations_are_those_of_the_schedule() {
    let of = |wave: &str| {
        let record = record(wave, 10.0, |_, _| 100.0);
        record.intended(record.slicing.as_ref().expect("it has slices"))
    };
    let steps = of("step:500,1000@2s");
    assert!((steps.operations.iter().sum::<f64>() - 7_000.0).abs() < 1e-6);
    assert!((steps.rates[0] - 500.0).abs() < 1e-6 && (steps.rates[14] - 1_000.0).abs() < 1e-6);
    let constant = of("constant");
    assert!(constant.rates.is_empty() && (constant.operations[0] - 0.15625).abs() < 1e-9);
}
