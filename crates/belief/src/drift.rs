//! Drift: a figure that rises or falls from the window's beginning to its end is not one number.
//!
//! Source of the test: Mann, Econometrica 13 (1945); of the slope: Sen, JASA 63 (1968).

use memtide_metrics::{Slice, slices};

/// Slices are not merged below this number of values.
const VALUES_MIN: usize = 10;
/// More slices than this are merged first: each is compared with each.
const VALUES_MANY: usize = 256;
/// Neighbours count as correlated above this many standard errors of the lag-1 correlation.
const SIGNIFICANT: f64 = 1.2816;
/// A trend counts above this deviate: 2.5 % of steady runs have a larger one, so that about 5 % of
/// them show one in either of two figures.
const DEVIATE: f64 = 2.2414;
/// Smaller changes over the whole run, as a fraction, decide nothing.
const CHANGE_MIN: f64 = 0.03;

/// The trend of a figure over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change from the beginning to the end, as a fraction of the median slice's value.
    pub change: f64,
    /// How surprising the trend would be in a steady run, in standard deviations.
    deviate: f64,
}

impl Drift {
    /// The trend of percentile `p` (between 0 and 1) of these times, in order of time; `None` if
    /// too few slices have one.
    pub fn of_percentile(slices: &[Slice], p: f64) -> Option<Self> {
        Self::settled(slices.to_vec(), |slice| percentile(slice, p), Slice::absorb)
    }

    /// The trend of a ratio, given as numerator and denominator of each slice: operations and
    /// seconds, or hits and gets. `None` if too few slices have one.
    pub fn of_ratio(slices: &[(f64, f64)]) -> Option<Self> {
        Self::settled(
            slices.to_vec(),
            |&(part, whole)| (whole > 0.0).then(|| part / whole),
            |sum, more| *sum = (sum.0 + more.0, sum.1 + more.1),
        )
    }

    /// True if the figure drifts: the trend is no accident, and large enough to matter.
    pub fn is_established(&self) -> bool {
        self.deviate.abs() > DEVIATE && self.change.abs() > CHANGE_MIN
    }

    /// The trend of values whose neighbours are independent: slices are merged in pairs until they
    /// are.
    fn settled<T: Clone>(
        mut slices: Vec<T>,
        value: impl Fn(&T) -> Option<f64>,
        absorb: impl Fn(&mut T, &T),
    ) -> Option<Self> {
        loop {
            let values: Vec<f64> = slices.iter().filter_map(&value).collect();
            if values.len() < VALUES_MIN {
                return None;
            }
            if slices.len() <= VALUES_MANY {
                let (drift, slope) = Self::of(&values);
                if slices.len() < 2 * VALUES_MIN || are_independent(&values, slope) {
                    return Some(drift);
                }
            }
            let (count, half) = (slices.len(), slices.len() / 2);
            let merged = (0..half).map(|number| {
                let part = &slices[number * count / half..(number + 1) * count / half];
                let mut sum = part[0].clone();
                part[1..].iter().for_each(|more| absorb(&mut sum, more));
                sum
            });
            slices = merged.collect();
        }
    }

    /// The trend of independent values, and its slope per value.
    fn of(values: &[f64]) -> (Self, f64) {
        let n = values.len();
        let (mut rises, mut slopes) = (0.0f64, Vec::new());
        for (at, one) in values.iter().enumerate() {
            for (distance, later) in (1u32..).zip(&values[at + 1..]) {
                let rise = later - one;
                rises += if rise == 0.0 { 0.0 } else { rise.signum() };
                slopes.push(rise / f64::from(distance));
            }
        }
        let slope = median(slopes);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        // Equal values scatter less.
        let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|equal| spread(equal.len())).sum();
        let variance = (spread(n) - ties) / 18.0;
        let towards_zero = if rises == 0.0 { 0.0 } else { rises - rises.signum() };
        let deviate = if variance > 0.0 { towards_zero / variance.sqrt() } else { 0.0 };
        let middle = median(sorted);
        let change = if middle > 0.0 { slope * n as f64 / middle } else { 0.0 };
        (Self { change, deviate }, slope)
    }
}

/// Variance of the number of rises among `n` values in a random order, times 18.
fn spread(n: usize) -> f64 {
    (n * (n - 1) * (2 * n + 5)) as f64
}

/// The parts of a run that are compared to find growth.
const PARTS: usize = 8;

/// The mean times of the first and the last eighth of a run, in ns, if every eighth has a longer
/// mean than the one before it: a queue that grows all the time. `None` otherwise.
pub fn growth(slices: &[Slice]) -> Option<[f64; 2]> {
    let count = slices.len();
    if count < 2 * PARTS {
        return None;
    }
    let means = (0..PARTS).map(|part| {
        let part = &slices[part * count / PARTS..(part + 1) * count / PARTS];
        let answered: u64 = part.iter().map(|slice| slice.answered).sum();
        let sum: u128 = part.iter().map(|slice| slice.sum_ns).sum();
        sum as f64 / answered as f64
    });
    // Without an answer there is no mean, and nothing is longer than that.
    let means: Vec<f64> = means.collect();
    means.is_sorted_by(|one, next| one < next).then(|| [means[0], means[PARTS - 1]])
}

/// True if what is left of `values` without their trend shows no correlation of neighbours.
fn are_independent(values: &[f64], slope: f64) -> bool {
    let n = values.len() as f64;
    let left = values.iter().enumerate().map(|(at, value)| value - slope * at as f64);
    let mut left: Vec<f64> = left.collect();
    let mean = left.iter().sum::<f64>() / n;
    left.iter_mut().for_each(|value| *value -= mean);
    let squares: f64 = left.iter().map(|d| d * d).sum();
    let next: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
    squares <= 0.0 || (next / squares + 1.0 / n) * n.sqrt() < SIGNIFICANT
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// A percentile of a slice in ns, between the edges of its bucket; `None` if the slice is empty or
/// the percentile falls among its unanswered operations.
fn percentile(slice: &Slice, p: f64) -> Option<f64> {
    let wanted = p * slice.count() as f64;
    let mut below = 0.0;
    for (&bucket, &count) in &slice.buckets {
        let count = count as f64;
        if count > 0.0 && below + count >= wanted {
            let [low, high] = [bucket, bucket + 1].map(|it| slices::coarse_floor(it) as f64);
            return Some(low + (high - low) * (wanted - below) / count);
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests;
