//! Output is read back as the values that it was made of, for material of all sizes.

use crate::parser::{self, Counts, Dialect, Progress, Step, Total};
use memtide_base::rng::Random;
use memtide_compat::mutilate::text::*;
use memtide_metrics::histogram::Histogram;

const SEED: u64 = 0x766f_6963_6500;
const ROUNDS: u64 = 60;

const FORMATS: [(Format, Dialect); 4] = [
    (Format::Mutilate, Dialect::Mutilate),
    (Format::Mutilate2012, Dialect::Mutilate2012),
    (Format::Mcperf, Dialect::Mcperf),
    (Format::McperfDynamic, Dialect::McperfDynamic),
];

/// Calls `check` with each format and random material; a failure names the seed.
fn for_all(check: impl Fn(&mut Random, Format, Dialect) + std::panic::RefUnwindSafe) {
    for seed in SEED..SEED + ROUNDS {
        for (format, dialect) in FORMATS {
            let round = || check(&mut Random::new(seed), format, dialect);
            let passed = std::panic::catch_unwind(round);
            assert!(passed.is_ok(), "{format} with seed {seed}: see above");
        }
    }
}

#[test]
fn reports_read_back() {
    for_all(|random, format, dialect| {
        let material = material(random);
        let save = some(random).then(|| "a.file, of samples.".to_owned());
        let formatter = Formatter { format, save: save.clone() };
        let peak = number(random) as f64 / 7.0 + 1.0;
        for (text, peak) in
            [(formatter.run(&material), None), (formatter.search(&material, peak), Some(peak))]
        {
            let read = parser::report(dialect, &text).unwrap();
            let rows =
                [(&material.reads, 1e3), (&material.updates, 1e3), (&material.outstanding, 1.0)];
            for (read, (figures, units)) in read.rows.iter().zip(rows) {
                same_figures(format, read, figures, units);
            }
            let is_dynamic = format == Format::McperfDynamic;
            let times = (material.started_unix_ms, material.ended_unix_ms);
            assert_eq!(read.timestamps, is_dynamic.then_some(times));
            let kinds = (material.gets as f64, material.sets as f64);
            same_total(&read.total, &material, is_dynamic.then_some(kinds));
            assert_eq!(read.peak_per_s.is_some(), peak.is_some());
            close(read.peak_per_s.unwrap_or(0.0), peak.unwrap_or(0.0), 0.1);
            same_counts(&read.counts, &material, format);
            assert_eq!(read.saved, save);
            same_cpu(read.cpu.as_ref(), &material, format);
        }
    });
}

#[test]
fn scans_read_back_after_every_row() {
    for_all(|random, format, dialect| {
        let formatter = Formatter::new(format);
        let steps: Vec<(Material, u64)> =
            (0..4).map(|_| (material(random), number(random))).collect();
        let mut text = formatter.scan_header();
        for (done, (step, target)) in steps.iter().enumerate() {
            text += &formatter.scan_row(step, *target);
            let read = parser::scan(dialect, &text).unwrap();
            assert_eq!(read.rows.len(), done + 1);
            let row = &read.rows[done];
            same_step(format, row, (&step.reads, step.rate_per_s(), *target));
            let times = (step.started_unix_ms, step.ended_unix_ms);
            assert_eq!(row.timestamps, (format == Format::McperfDynamic).then_some(times));
        }
        text += &formatter.scan_end(steps[3].0.cpu.as_ref());
        same_cpu(parser::scan(dialect, &text).unwrap().cpu.as_ref(), &steps[3].0, format);
    });
}

#[test]
fn waveforms_read_back() {
    for_all(|random, format, _| {
        if format != Format::McperfDynamic {
            return;
        }
        let mut material = material(random);
        let segment = |random: &mut Random| Segment {
            reads: times(random),
            ops: number(random),
            length_s: if some(random) { 10.0 } else { 0.0 },
            target_per_s: number(random),
        };
        material.segments = (0..random.bits() % 5).map(|_| segment(random)).collect();
        let targets_per_s: Vec<u64> = material.segments.iter().map(|s| s.target_per_s).collect();
        let waveform = Waveform { given: some(random), seeded: some(random), targets_per_s };
        let formatter = Formatter::new(format);
        let text = formatter.waveform_header(&waveform) + &formatter.waveform(&material);
        let read = parser::waveform(&text).unwrap();
        assert_eq!(read.targets_per_s, waveform.targets_per_s);
        assert_eq!(read.kind.starts_with("Supplied"), waveform.given);
        assert_eq!(read.kind.ends_with("supplied seed"), waveform.seeded && !waveform.given);
        let sum: u64 = waveform.targets_per_s.iter().sum();
        assert_eq!(read.mean_per_s, sum.checked_div(material.segments.len() as u64).unwrap_or(0));
        assert_eq!(read.timestamps, (material.started_unix_ms, material.ended_unix_ms));
        assert_eq!(read.rows.len(), material.segments.len());
        for (row, segment) in read.rows.iter().zip(&material.segments) {
            let rate = if segment.length_s > 0.0 { segment.ops as f64 / 10.0 } else { 0.0 };
            same_step(format, row, (&segment.reads, rate, segment.target_per_s));
        }
        same_total(&read.total, &material, None);
        same_counts(&read.counts, &material, format);
        same_cpu(read.cpu.as_ref(), &material, format);
    });
}

#[test]
fn searches_read_back() {
    for_all(|random, format, dialect| {
        let limit_us = number(random);
        let order = ["95", "999", "avg"][(random.bits() % 3) as usize];
        let goal = SearchGoal { order: order.to_owned(), limit_us };
        let (rate, measured) = (number(random) as f64 / 3.0, number(random) as f64 / 9.0);
        let trial = Trial {
            target_per_s: number(random),
            rate_per_s: rate,
            measured_us: measured,
            low_per_s: number(random),
            high_per_s: number(random),
        };
        let steps = [
            SearchStep::Begin,
            SearchStep::Peak { rate_per_s: rate, measured_us: measured },
            SearchStep::Bisected(trial),
            SearchStep::Lowered(trial),
        ];
        let text: String = steps.iter().map(|step| search_line(format, &goal, step)).collect();
        let read = parser::progress(dialect, &text).unwrap();
        let is_mcperf = matches!(format, Format::Mcperf | Format::McperfDynamic);
        let order = if order == "avg" && !is_mcperf { "0" } else { order };
        assert_eq!(read[0], Progress::Begin { limit_us, order: order.to_owned() });
        let Progress::Peak { rate_per_s, measured_us } = read[1] else { panic!("{read:?}") };
        assert_eq!(rate_per_s, rate as u64);
        close(measured_us, measured, 0.1);
        for read in &read[2..] {
            let Progress::Trial { target_per_s, rate_per_s, measured_us, bounds } = read else {
                panic!("{read:?}")
            };
            assert_eq!(*target_per_s, trial.target_per_s);
            close(*rate_per_s, rate, 1.0);
            close(*measured_us, measured, 0.1);
            let known = (trial.low_per_s, trial.high_per_s);
            assert_eq!(*bounds, is_mcperf.then_some(known));
        }
    });
}

/// A run of any size: empty, a handful of operations, or more than 32 bits can count.
fn material(random: &mut Random) -> Material {
    let gets = number(random);
    let sets = number(random);
    let started_unix_ms = 1_600_000_000_000 + number(random);
    Material {
        reads: times(random),
        updates: times(random),
        outstanding: ScaledHistogram::counts(histogram(random, 64)),
        gets,
        sets,
        misses: gets.min(number(random)),
        skipped: (gets + sets).min(number(random)),
        bytes_received: number(random).saturating_mul(200),
        bytes_sent: number(random).saturating_mul(40),
        measured_s: (number(random) % 100_000) as f64 / 7.0,
        connections: number(random),
        started_unix_ms,
        ended_unix_ms: started_unix_ms + number(random),
        cpu: some(random).then(|| {
            let mut percent = || (random.bits() % 10_001) as f64 / 100.0;
            Cpu { mean: percent(), min: percent(), max: percent() }
        }),
        segments: Vec::new(),
    }
}

fn times(random: &mut Random) -> ScaledHistogram {
    let magnitude = 10u64.pow((random.bits() % 12) as u32);
    ScaledHistogram::times(histogram(random, magnitude))
}

fn histogram(random: &mut Random, below: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new();
    for _ in 0..random.bits() % 300 {
        histogram.record(random.bits() % below);
    }
    histogram
}

/// A number of any magnitude below 10^12, often 0.
fn number(random: &mut Random) -> u64 {
    let magnitude = 10u64.pow((random.bits() % 13) as u32);
    random.bits() % magnitude
}

fn some(random: &mut Random) -> bool {
    random.below(2) == 0
}

fn close(read: f64, meant: f64, step: f64) {
    let rounding = step / 2.0 + meant.abs() * 1e-12;
    assert!((read - meant).abs() <= rounding, "{read} was read, and {meant} was meant");
}

/// Compares the figures; `units` of a recorded value make one printed unit.
fn same_figures(format: Format, read: &[f64], figures: &ScaledHistogram, units: f64) {
    let at = |percent: f64| figures.percentile(percent);
    let moments = figures.values().moments();
    let least = if moments.count > 0 { moments.min as f64 / units } else { 0.0 };
    let (mean, deviation) = (figures.mean(), moments.deviation().unwrap_or(0.0) / units);
    let meant: Vec<f64> = match format {
        Format::Mutilate => {
            [vec![mean, deviation, least], [5.0, 10.0, 90.0, 95.0, 99.0].map(at).to_vec()].concat()
        }
        Format::Mutilate2012 => {
            [vec![mean, least], [1.0, 5.0, 10.0, 90.0, 95.0, 99.0].map(at).to_vec()].concat()
        }
        Format::Mcperf | Format::McperfDynamic => {
            let percents = [5.0, 10.0, 50.0, 67.0, 75.0, 80.0, 85.0, 90.0, 95.0, 99.0, 99.9, 99.99];
            [vec![mean, deviation, least], percents.map(at).to_vec()].concat()
        }
    };
    assert_eq!(read.len(), meant.len());
    for (&read, &meant) in read.iter().zip(&meant) {
        close(read, meant, 0.1);
        assert!(meant.is_finite() && (figures.count() > 0 || read == 0.0));
    }
}

fn same_total(read: &Total, material: &Material, kinds: Option<(f64, f64)>) {
    assert_eq!(read.ops, material.gets + material.sets);
    close(read.measured_s, material.measured_s, 0.1);
    let rate = if material.measured_s > 0.0 { read.ops as f64 / material.measured_s } else { 0.0 };
    close(read.rate_per_s, rate, 0.1);
    assert_eq!(read.kinds, kinds);
}

fn same_counts(read: &Counts, material: &Material, format: Format) {
    let is_mcperf = matches!(format, Format::Mcperf | Format::McperfDynamic);
    assert_eq!(read.connections, is_mcperf.then_some(material.connections));
    assert_eq!(read.misses.0, material.misses);
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    close(read.misses.1, percent(material.misses, material.gets), 0.1);
    assert_eq!(read.skipped.is_some(), format != Format::Mutilate2012);
    if let Some((skipped, share)) = read.skipped {
        assert_eq!(skipped, material.skipped);
        close(share, percent(skipped, material.gets + material.sets), 0.1);
    }
    for (read, bytes) in
        [(read.received, material.bytes_received), (read.sent, material.bytes_sent)]
    {
        assert_eq!(read.0, bytes);
        let s = material.measured_s;
        let speed = if s > 0.0 { bytes as f64 / s / 1_048_576.0 } else { 0.0 };
        close(read.1, speed, 0.1);
    }
}

fn same_cpu(read: Option<&parser::Cpu>, material: &Material, format: Format) {
    let is_mcperf = matches!(format, Format::Mcperf | Format::McperfDynamic);
    let meant = material.cpu.filter(|_| is_mcperf);
    assert_eq!(read.is_some(), meant.is_some());
    if let (Some(read), Some(Cpu { mean, min, max })) = (read, meant) {
        assert_eq!(read.warned, max > 95.0);
        for (read, meant) in read.percent.into_iter().zip([mean, min, max]) {
            close(read, meant, 0.01);
        }
    }
}

fn same_step(format: Format, read: &Step, (reads, rate, target): (&ScaledHistogram, f64, u64)) {
    same_figures(format, &read.figures, reads, 1e3);
    close(read.rate_per_s, rate, 0.1);
    assert_eq!(read.target_per_s, target);
}
