//! Two arms compared by pairs of runs: Student's interval of the mean logarithm of their ratios.
//!
//! An interval of one run knows nothing of what differs from run to run, such as the layout of
//! memory or the order of connections, and calls equal arms different in a quarter of the cases.
//! Pairs do know it. They must not be counted until a difference shows: [`Paired::is_exact`] ends a
//! trial by its precision, which does not depend on the difference.

use crate::law::{NORMAL_975, student};

/// Fewest pairs that end a trial by its precision.
pub const PAIRS_MIN: usize = 6;
/// A trial is exact once the interval's half width is this part of the difference that it is to
/// find: a true difference of that size is then found in more than nine of ten trials.
const EXACT: f64 = 0.6;
/// Error rate of all intervals of a trial together.
const ERRORS: f64 = 0.05;

/// A figure of two arms, as ratios of the second arm's to the first's, pair by pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Number of pairs.
    pub pairs: usize,
    /// Mean of the ratios' logarithms.
    mean: f64,
    /// Half width of its interval.
    half: f64,
}

/// Result of pairs for a figure of two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The second arm's is higher.
    Higher,
    /// The second arm's is lower.
    Lower,
    /// The arms differ by less than was asked for.
    Equal,
    /// The pairs do not tell.
    Undecided,
}

impl Paired {
    /// The ratios of all pairs of one figure of `figures` that are looked at: the intervals of all
    /// of them hold together in 95 % of the trials (Bonferroni). `None` with fewer than two
    /// ratios, or if one is not a number above 0.
    pub fn of(ratios: &[f64], figures: usize) -> Option<Self> {
        let pairs = ratios.len();
        let is_ratio = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        if pairs < 2 || !ratios.iter().all(is_ratio) {
            return None;
        }
        let count = pairs as f64;
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count;
        let squares = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1.0) / count).sqrt();
        let half = student(ERRORS / figures.max(1) as f64, count - 1.0) * error;
        Some(Self { pairs, mean, half })
    }

    /// The runs of two groups that are no pairs, of one figure of `figures` that are looked at.
    /// `None` with fewer than two runs of either, or if a value is not a number above 0. Source:
    /// Welch, Biometrika 34 (1947).
    pub fn of_groups(a: &[f64], b: &[f64], figures: usize) -> Option<Self> {
        let is_value = |value: &f64| value.is_finite() && *value > 0.0;
        if a.len().min(b.len()) < 2 || !a.iter().chain(b).all(is_value) {
            return None;
        }
        let of = |values: &[f64]| {
            let count = values.len() as f64;
            let mean = values.iter().map(|value| value.ln()).sum::<f64>() / count;
            let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum::<f64>();
            (mean, squares / (count - 1.0) / count, count - 1.0)
        };
        let ((a_mean, a_square, a_free), (b_mean, b_square, b_free)) = (of(a), of(b));
        let square = a_square + b_square;
        let parts = a_square.powi(2) / a_free + b_square.powi(2) / b_free;
        let freedom = if parts > 0.0 { square.powi(2) / parts } else { a_free + b_free };
        let half = student(ERRORS / figures.max(1) as f64, freedom) * square.sqrt();
        Some(Self { pairs: a.len().min(b.len()), mean: b_mean - a_mean, half })
    }

    /// The mean change from the first arm to the second, as a fraction.
    pub fn change(&self) -> f64 {
        self.mean.exp_m1()
    }

    /// The interval of the change.
    pub fn range(&self) -> [f64; 2] {
        [self.mean - self.half, self.mean + self.half].map(f64::exp_m1)
    }

    /// True once more pairs are not needed to find a change by the fraction `difference`.
    pub fn is_exact(&self, difference: f64) -> bool {
        self.pairs >= PAIRS_MIN && self.visible() <= difference
    }

    /// The smallest change that this number of pairs finds in more than nine of ten trials.
    pub fn visible(&self) -> f64 {
        (self.half / EXACT).exp_m1()
    }

    /// Result of the pairs, if arms that differ by less than the fraction `difference` are equal.
    pub fn finding(&self, difference: f64) -> Finding {
        let bound = difference.ln_1p();
        match [self.mean - self.half, self.mean + self.half] {
            [low, _] if low > 0.0 => Finding::Higher,
            [_, high] if high < 0.0 => Finding::Lower,
            [low, high] if -bound <= low && high <= bound => Finding::Equal,
            _ => Finding::Undecided,
        }
    }
}

/// The fraction of cases in which two runs of equal set-ups have 95 % intervals that are apart, if
/// the logarithms of their figures differ by a run effect of this deviation beside sampling; given
/// are half the widths of the intervals' logarithms.
pub fn apart_by_chance([a, b]: [f64; 2], run_effect: f64) -> f64 {
    let sampling = |half: f64| (half / NORMAL_975).powi(2);
    let deviation = (sampling(a) + sampling(b) + 2.0 * run_effect.powi(2)).sqrt();
    libm::erfc((a + b) / deviation / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ratio by a normal law of this mean and deviation of its logarithm: the sum of twelve
    /// uniform draws.
    fn ratio(random: &mut impl FnMut() -> f64, mean: f64, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| random()).sum();
        (mean + deviation * (sum - 6.0)).exp()
    }

    /// The findings of trials that end as soon as they are exact, and their mean number of pairs.
    fn trials(seed: u64, mean: f64, deviation: f64, figures: usize) -> ([usize; 4], f64) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut found, mut pairs) = ([0; 4], 0);
        for _ in 0..TRIALS {
            let mut ratios = vec![Vec::new(); figures];
            loop {
                for of in &mut ratios {
                    of.push(ratio(&mut random, mean, deviation));
                }
                let all: Vec<_> = ratios.iter().filter_map(|of| Paired::of(of, figures)).collect();
                if all.len() == figures && all.iter().all(|of| of.is_exact(0.05)) {
                    let findings = all.iter().map(|of| of.finding(0.05));
                    // One figure that is called different counts for the trial.
                    let differs = |it: &Finding| matches!(it, Finding::Higher | Finding::Lower);
                    let first = all[0].finding(0.05);
                    let finding = findings.clone().find(differs).unwrap_or(first);
                    found[finding as usize] += 1;
                    pairs += all[0].pairs;
                    break;
                }
            }
        }
        (found, pairs as f64 / TRIALS as f64)
    }

    const TRIALS: usize = 400;

    #[test]
    fn equal_arms_are_called_different_in_few_trials() {
        for (figures, deviation) in [(1, 0.01), (1, 0.05), (3, 0.02), (3, 0.05)] {
            let ([higher, lower, ..], pairs) = trials(1, 0.0, deviation, figures);
            let wrong = higher + lower;
            let case = format!("{figures} figures, deviation {deviation}, {pairs} pairs");
            assert!(wrong as f64 <= 0.08 * TRIALS as f64, "{case}: {wrong} of {TRIALS}");
        }
    }

    #[test]
    fn the_asked_difference_is_found() {
        for deviation in [0.01, 0.03, 0.06] {
            let ([higher, ..], pairs) = trials(2, 0.05f64.ln_1p(), deviation, 1);
            let case = format!("deviation {deviation}, {pairs} pairs");
            assert!(higher as f64 >= 0.9 * TRIALS as f64, "{case}: {higher} of {TRIALS}");
        }
    }

    /// Groups of ten runs each, with a run effect of 2 %; and how often one run each is apart.
    #[test]
    fn groups_of_ten_find_differences_and_rarely_where_there_are_none() {
        let mut state = 3u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut wrong, mut found) = (0, 0);
        for _ in 0..TRIALS {
            let mut group =
                |mean| -> Vec<f64> { (0..10).map(|_| ratio(&mut random, mean, 0.02)).collect() };
            let differs = |of: &[[Vec<f64>; 2]]| {
                let each = of.iter().filter_map(|[a, b]| Paired::of_groups(a, b, of.len()));
                each.filter(|it| it.range()[0] > 0.0 || it.range()[1] < 0.0).count() > 0
            };
            let figures: Vec<_> = (0..3).map(|_| [group(0.0), group(0.0)]).collect();
            wrong += usize::from(differs(&figures));
            found += usize::from(differs(&[[group(0.0), group(0.05f64.ln_1p())]]));
        }
        assert!(wrong as f64 <= 0.08 * TRIALS as f64, "{wrong} of {TRIALS} equal groups differ");
        assert!(found as f64 >= 0.9 * TRIALS as f64, "5 % were found in {found} of {TRIALS}");
        assert_eq!(Paired::of_groups(&[1.0], &[1.0, 2.0], 1), None);
        // Sampling alone leaves intervals apart in few cases; an effect beside it in many.
        assert!(apart_by_chance([0.02, 0.02], 0.0) < 0.01);
        assert!(apart_by_chance([0.01, 0.01], 0.01) > 0.15);
    }

    #[test]
    fn what_is_no_ratio_or_too_few_has_no_interval() {
        assert_eq!(Paired::of(&[1.1], 1), None);
        assert_eq!(Paired::of(&[1.1, 0.0], 1), None);
        assert_eq!(Paired::of(&[1.1, f64::NAN, 1.0], 1), None);
        let same = Paired::of(&[1.0; 6], 4).unwrap();
        assert_eq!((same.range(), same.finding(0.01)), ([0.0; 2], Finding::Equal));
        assert!(same.is_exact(0.001) && !Paired::of(&[1.0; 5], 4).unwrap().is_exact(0.001));
    }
}
