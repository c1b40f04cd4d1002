//! The intervals equal those of a reference implementation on 20 recorded sets of slices, to a
//! bucket.
//!
//! `recorded.txt` holds, for each set, the simulated server (M/D/1, M/M/1, on/off load, a server
//! that stalls), its utilisation, the seconds and the slices; the slices as text; the whole
//! histogram as pairs of a bucket's distance from the bucket before and its count; and for each
//! figure the value, the interval's ends and the effective operations that the reference computed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use memtide_belief::{Sample, interval};
use memtide_metrics::{Histogram, Slice, slices};

const RECORDED: &str = include_str!("recorded.txt");
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

struct Set<'a> {
    name: &'a str,
    seconds: f64,
    whole: Histogram<u64>,
    slices: Vec<Slice>,
    figures: Vec<(&'a str, [Option<f64>; 4])>,
}

impl Set<'_> {
    fn figure(&self, name: &str) -> [Option<f64>; 4] {
        self.figures.iter().find(|(of, _)| *of == name).unwrap().1
    }
}

/// Smallest value of a histogram's bucket, counted from the one that begins at 1 024 ns.
fn smallest(bucket: u64) -> u64 {
    (128 + bucket % 128) << (3 + bucket / 128)
}

fn sets() -> Vec<Set<'static>> {
    let one = |text: &'static str| {
        let mut lines = text.lines();
        let name = lines.next().unwrap();
        let facts: Vec<&str> = name.split(' ').collect();
        let slices = lines.next().unwrap().strip_prefix("slices ").unwrap();
        let whole = lines.next().unwrap().strip_prefix("whole ").unwrap();
        let numbers: Vec<u64> = whole.split(' ').map(|word| word.parse().unwrap()).collect();
        let mut bucket = 0;
        let counts = numbers.chunks(2).map(|pair| {
            bucket += pair[0];
            (smallest(bucket), pair[1])
        });
        let figure = |line: &'static str| {
            let (name, numbers) = line.split_once(' ').unwrap();
            let numbers: Vec<Option<f64>> =
                numbers.split(' ').map(|word| word.parse().ok()).collect();
            (name, <[Option<f64>; 4]>::try_from(numbers).unwrap())
        };
        Set {
            name,
            seconds: facts[2].parse().unwrap(),
            whole: Histogram::from_recorded(counts),
            slices: slices::from_text(slices, facts[3].parse().unwrap()).unwrap(),
            figures: lines.map(figure).collect(),
        }
    };
    RECORDED.split("set ").filter(|text| !text.is_empty()).map(one).collect()
}

#[test]
fn percentiles_equal_the_reference_to_a_bucket() {
    let sets = sets();
    assert_eq!(sets.len(), 20);
    let mut printed = 0;
    for set in &sets {
        let sample = Sample { whole: &set.whole, unanswered: 0, slices: &set.slices, rates: &[] };
        let ranks = sample.ranks(&PERCENTILES.map(|(_, p)| p));
        for ((name, _), ranks) in PERCENTILES.iter().zip(ranks) {
            let [_, low, high, effective] = set.figure(name);
            let at = format!("{} of {}", name, set.name);
            let Some((low, high)) = low.zip(high) else {
                assert!(ranks.is_err(), "{at}: the reference refuses it, and not {ranks:?}");
                continue;
            };
            let ranks = ranks.unwrap_or_else(|why| panic!("{at}: refused: {why:?}"));
            let of = sample.between(&ranks).unwrap();
            assert_eq!((of.low, of.high), (low, high), "{at}");
            let effective = effective.unwrap();
            assert!((ranks.effective / effective - 1.0).abs() < 1e-9, "{at}: {ranks:?}");
            printed += 1;
        }
    }
    assert_eq!(printed, 61, "many percentiles are compared");
}

#[test]
fn means_and_rates_equal_the_reference() {
    for set in sets() {
        let sample = Sample { whole: &set.whole, unanswered: 0, slices: &set.slices, rates: &[] };
        let [_, low, high, _] = set.figure("mean");
        let of = sample.mean().ok();
        let ends = |of: Option<f64>| of.unwrap_or(-1.0);
        assert!((ends(of.map(|of| of.low)) / ends(low) - 1.0).abs() < 1e-6, "{}", set.name);
        assert!((ends(of.map(|of| of.high)) / ends(high) - 1.0).abs() < 1e-6, "{}", set.name);
        let [rate, low, _, _] = set.figure("rate").map(Option::unwrap_or_default);
        let length = set.seconds * 1e9 / set.slices.len() as f64;
        let each: Vec<(u64, f64)> =
            set.slices.iter().map(|slice| (slice.count(), length)).collect();
        let half = interval::rate_half_width(&each).unwrap();
        assert!((half / (1.0 - low / rate) - 1.0).abs() < 1e-6, "{}: {half}", set.name);
    }
}
