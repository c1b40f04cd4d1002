//! Two arms compared by pairs of runs: Student's interval of the mean logarithm of their ratios,
//! or of the mean of their differences where a ratio says nothing, as of shares and of zeros.
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

/// A figure of two arms: ratios of the second arm's to the first's, or differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Number of pairs.
    pub pairs: usize,
    scale: Scale,
    /// Mean of the ratios' logarithms, or of the differences.
    mean: f64,
    /// Half width of its interval.
    half: f64,
}

/// What a change is measured by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// The logarithm of the ratio.
    Ratio,
    /// The difference; a change by all of the figure is as large as this.
    Difference(f64),
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
        if pairs < 2 || !ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0) {
            return None;
        }
        let Mean { value: mean, square, freedom } = Mean::of(ratios.iter().map(|it| it.ln()));
        let half = student(ERRORS / figures.max(1) as f64, freedom) * square.sqrt();
        Some(Self { pairs, scale: Scale::Ratio, mean, half })
    }

    /// The values of both arms pair by pair, compared by their differences, of one figure of
    /// `figures` that are looked at. A change by the fraction 1 is a difference of `whole`. `None`
    /// with fewer than two pairs, or if a value is not finite.
    pub fn by_difference(a: &[f64], b: &[f64], whole: f64, figures: usize) -> Option<Self> {
        let [low, high] = contrast_of_pairs(a, b, 1.0, figures)?;
        Some(Self::between(low, high, whole, a.len()))
    }

    /// The runs of two groups that are no pairs, compared as in [`Self::by_difference`].
    pub fn of_groups_by_difference(
        a: &[f64],
        b: &[f64],
        whole: f64,
        figures: usize,
    ) -> Option<Self> {
        let [low, high] = contrast(a, b, 1.0, figures)?;
        Some(Self::between(low, high, whole, a.len().min(b.len())))
    }

    fn between(low: f64, high: f64, whole: f64, pairs: usize) -> Self {
        let (mean, half) = (f64::midpoint(low, high), (high - low) / 2.0);
        Self { pairs, scale: Scale::Difference(whole), mean, half }
    }

    /// The runs of two groups that are no pairs, of one figure of `figures` that are looked at.
    /// `None` with fewer than two runs of either, or if a value is not a number above 0. Source:
    /// Welch, Biometrika 34 (1947).
    pub fn of_groups(a: &[f64], b: &[f64], figures: usize) -> Option<Self> {
        let pairs = a.len().min(b.len());
        if pairs < 2 || !a.iter().chain(b).all(|value| value.is_finite() && *value > 0.0) {
            return None;
        }
        let [a, b] = [a, b].map(|values| Mean::of(values.iter().map(|value| value.ln())));
        let (mean, half) = welch(a, b, figures);
        Some(Self { pairs, scale: Scale::Ratio, mean, half })
    }

    /// With half the width of the interval of ratios not below that of values that are known to
    /// this factor alone, above 1: the steps of a histogram.
    #[must_use]
    pub fn not_finer_than(mut self, factor: f64) -> Self {
        if !self.is_difference() {
            self.half = self.half.max(factor.ln());
        }
        self
    }

    /// The least that [`Self::visible`] can be for values that are known to this factor alone.
    pub fn finest(factor: f64) -> f64 {
        (factor.ln() / EXACT).exp_m1()
    }

    /// True if the change is a difference in the figure's unit, not a fraction of the first arm's.
    pub const fn is_difference(&self) -> bool {
        matches!(self.scale, Scale::Difference(_))
    }

    /// The mean change from the first arm to the second.
    pub fn change(&self) -> f64 {
        self.of_scale(self.mean)
    }

    /// The interval of the change.
    pub fn range(&self) -> [f64; 2] {
        [self.mean - self.half, self.mean + self.half].map(|end| self.of_scale(end))
    }

    fn of_scale(&self, change: f64) -> f64 {
        if self.is_difference() { change } else { change.exp_m1() }
    }

    /// True once more pairs are not needed to find a change by the fraction `difference`.
    pub fn is_exact(&self, difference: f64) -> bool {
        self.pairs >= PAIRS_MIN && self.visible() <= difference
    }

    /// The smallest change that this number of pairs finds in more than nine of ten trials, as a
    /// fraction.
    pub fn visible(&self) -> f64 {
        match self.scale {
            Scale::Ratio => (self.half / EXACT).exp_m1(),
            Scale::Difference(_) if self.half == 0.0 => 0.0,
            Scale::Difference(whole) => self.half / EXACT / whole,
        }
    }

    /// Result of the pairs, if arms that differ by less than the fraction `difference` are equal.
    pub fn finding(&self, difference: f64) -> Finding {
        let bound = match self.scale {
            Scale::Ratio => difference.ln_1p(),
            Scale::Difference(whole) => difference * whole,
        };
        match [self.mean - self.half, self.mean + self.half] {
            [low, _] if low > 0.0 => Finding::Higher,
            [_, high] if high < 0.0 => Finding::Lower,
            [low, high] if -bound <= low && high <= bound => Finding::Equal,
            _ => Finding::Undecided,
        }
    }
}

/// The fraction of cases in which the figures of two runs of equal set-ups are as far apart as
/// `distance`, the difference of their logarithms, if they differ by a run effect of this deviation
/// beside sampling; given are half the widths of the logarithms of their 95 % intervals.
pub fn by_chance(distance: f64, [a, b]: [f64; 2], run_effect: f64) -> f64 {
    let [a, b] = [a, b].map(|half| (half / NORMAL_975).powi(2));
    let deviation = (a + b + 2.0 * run_effect.powi(2)).sqrt();
    libm::erfc(distance.abs() / deviation / std::f64::consts::SQRT_2)
}

/// The interval of the mean of group `b` minus `factor` times that of `a`, of one figure of
/// `figures` that are looked at: of use where a value is 0 and no ratio exists. The mean of `b`
/// exceeds `factor` times that of `a` for certain if the whole interval is above 0. `None` with
/// fewer than two runs of either, or if a value is not finite. Source: Welch, Biometrika 34 (1947).
pub fn contrast(a: &[f64], b: &[f64], factor: f64, figures: usize) -> Option<[f64; 2]> {
    if a.len().min(b.len()) < 2 || !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    let of_a = Mean::of(a.iter().map(|value| value * factor));
    let (mean, half) = welch(of_a, Mean::of(b.iter().copied()), figures);
    Some([mean - half, mean + half])
}

/// The interval of the mean of `b` minus `factor` times `a`, pair by pair, of one figure of
/// `figures` that are looked at. `None` with fewer than two pairs, or if a value is not finite.
pub fn contrast_of_pairs(a: &[f64], b: &[f64], factor: f64, figures: usize) -> Option<[f64; 2]> {
    let pairs = a.len().min(b.len());
    if pairs < 2 || !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    let each = a[..pairs].iter().zip(&b[..pairs]).map(|(a, b)| b - factor * a);
    let Mean { value, square, freedom } = Mean::of(each);
    let half = student(ERRORS / figures.max(1) as f64, freedom) * square.sqrt();
    Some([value - half, value + half])
}

/// A mean of at least two values.
struct Mean {
    value: f64,
    /// Its error, squared.
    square: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl Mean {
    fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let count = values.len() as f64;
        let value = values.clone().sum::<f64>() / count;
        let squares = values.map(|it| (it - value).powi(2)).sum::<f64>();
        Self { value, square: squares / (count - 1.0) / count, freedom: count - 1.0 }
    }
}

/// The mean of `b` minus that of `a`, and half the width of its interval.
fn welch(a: Mean, b: Mean, figures: usize) -> (f64, f64) {
    let square = a.square + b.square;
    let parts = a.square.powi(2) / a.freedom + b.square.powi(2) / b.freedom;
    let freedom = if parts > 0.0 { square.powi(2) / parts } else { a.freedom + b.freedom };
    let half = student(ERRORS / figures.max(1) as f64, freedom) * square.sqrt();
    (b.value - a.value, half)
}

#[cfg(test)]
mod tests;
