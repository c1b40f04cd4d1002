//! The law of the lengths that memaslap assigns to each 1024 objects of a window. Draws nothing.

use crate::memaslap::configuration::{Range, mean};
use std::collections::BTreeMap;

/// The shortest key and value, in bytes.
pub(super) const KEY_BYTES_LEAST: u64 = 16;
pub(super) const VALUE_BYTES_LEAST: u64 = 1;
/// The number of objects that shares divide.
const UNIT: u64 = 1024;
/// The most lengths of a range in a table; they are evenly spaced.
const POINTS_MAX: u64 = 64;

/// The law of lengths within `ranges`; no length is shorter than `least`.
///
/// Each range has its share of every 1024 objects, rounded down, as long as objects are left.
/// Objects without a range have the mean length of the ranges.
pub(super) fn law(ranges: &[Range], least: u64) -> String {
    let mut left = UNIT;
    let mut dealt: Vec<(u64, Range)> = Vec::new();
    for range in ranges {
        let count = ((UNIT as f64 * range.share) as u64).min(left);
        left -= count;
        if count > 0 {
            dealt.push((count, narrowed(*range)));
        }
    }
    if left > 0 {
        dealt.push((left, Range::fixed(mean(ranges).max(least))));
    }
    match dealt[..] {
        [(_, Range { least, most, .. })] if least == most => format!("fixed:{least}"),
        [(_, Range { least, most, .. })] => format!("uniform:{least},{most}"),
        _ => table(&dealt),
    }
}

/// memaslap adds to the middle of a range, or subtracts from it, less than half its width, so the
/// ends do not occur.
fn narrowed(range: Range) -> Range {
    let (middle, half) = (range.least.midpoint(range.most), (range.most - range.least) / 2);
    let around = half.saturating_sub(1);
    Range { least: middle - around, most: middle + around, ..range }
}

fn table(dealt: &[(u64, Range)]) -> String {
    let mut weights: BTreeMap<u64, f64> = BTreeMap::new();
    for (count, range) in dealt {
        let width = range.most - range.least + 1;
        let points = width.min(POINTS_MAX);
        for point in 0..points {
            let length = range.least + (2 * point + 1) * width / (2 * points);
            *weights.entry(length).or_default() += *count as f64 / points as f64;
        }
    }
    // Digits beyond a millionth of an object would only lengthen the word.
    let weights = weights.iter().map(|(length, weight)| (length, (weight * 1e6).round() / 1e6));
    let rows: Vec<String> = weights.map(|(length, weight)| format!("{length}={weight}")).collect();
    format!("table:{}", rows.join(","))
}
