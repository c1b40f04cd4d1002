//! Repeats of one run: the median with its interval, the spread between runs, and whether that is
//! more than each run knows of its own error.

use crate::law::NORMAL_99;

/// Part of the cases in which the median lies outside of its interval, if there are runs enough.
const BEYOND: f64 = 0.05;

/// Fewer runs have no interval of 95 %.
pub const RUNS_MIN: usize = 6;

/// A figure of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// Number of runs.
    pub runs: usize,
    /// The median.
    pub median: f64,
    /// The interval of the median, between two of the runs.
    pub range: [f64; 2],
    /// In this part of the cases the interval holds the median of all runs that could be made. Few
    /// runs reach less than 95 %.
    pub confidence: f64,
    /// Standard deviation of the logarithms: about the relative spread between runs.
    pub between: f64,
}

impl Repeated {
    /// The values of a figure, one of each run. `None` with fewer than two, or if one is not a
    /// number above 0.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        if runs < 2 || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = f64::midpoint(sorted[(runs - 1) / 2], sorted[runs / 2]);
        let (cut, beyond) = outside(runs);
        let count = runs as f64;
        let mean = sorted.iter().map(|value| value.ln()).sum::<f64>() / count;
        let squares = sorted.iter().map(|value| (value.ln() - mean).powi(2)).sum::<f64>();
        let between = (squares / (count - 1.0)).sqrt();
        let range = [sorted[cut], sorted[runs - 1 - cut]];
        Some(Self { runs, median, range, confidence: 1.0 - beyond, between })
    }

    /// True if the median's interval holds in 95 % of the cases, as it does from six runs on.
    pub fn is_sure(&self) -> bool {
        1.0 - self.confidence <= BEYOND
    }

    /// The number of runs that would probably tell on which side of `bound` the median lies; none
    /// if that is more than a hundred times as many.
    pub fn runs_needed(&self, bound: f64) -> Option<usize> {
        let distance = (self.median / bound).ln().abs();
        let needed = (2.0 * self.between / distance).powi(2).ceil().max(RUNS_MIN as f64);
        let needed = needed.max(if self.is_sure() { self.runs as f64 + 1.0 } else { 0.0 });
        (needed <= 100.0 * self.runs as f64).then_some(needed as usize)
    }

    /// True if the runs differ by more than each knows of its own error; `within` are these errors,
    /// as standard deviations of logarithms. Says so wrongly in about 1 of 100 cases.
    pub fn is_unsteady(&self, within: &[f64]) -> bool {
        if within.is_empty() {
            return false;
        }
        let square = within.iter().map(|error| error.powi(2)).sum::<f64>() / within.len() as f64;
        let freedom = self.runs as f64 - 1.0;
        // The quantile of χ². Source: Wilson and Hilferty, PNAS 17 (1931).
        let ninth = 2.0 / (9.0 * freedom);
        let most = freedom * (1.0 - ninth + NORMAL_99 * ninth.sqrt()).powi(3);
        freedom * self.between.powi(2) > most * square
    }
}

/// How many of `runs` values on each side lie outside of the median's interval, and in which part
/// of the cases the median does: by the binomial distribution.
fn outside(runs: usize) -> (usize, f64) {
    let mut part = 0.5f64.powi(runs as i32);
    let (mut cut, mut beyond) = (0, 2.0 * part);
    let mut sum = part;
    for next in 1..runs / 2 {
        part *= (runs - next + 1) as f64 / next as f64;
        sum += part;
        if 2.0 * sum > BEYOND {
            break;
        }
        (cut, beyond) = (next, 2.0 * sum);
    }
    (cut, beyond)
}

#[cfg(test)]
mod tests;
