//! The variance of a sum over a run whose operations depend on each other, from one residual per
//! slice.
//!
//! Neighbouring slices are merged while they are correlated; what correlation is left is modelled
//! as that of an autoregression of order 1. Which textbook ways fail, and how often this one holds,
//! is in docs/measurement.md.

/// Slices are not merged below this number.
const SLICES_MIN: usize = 32;
/// Lag-1 correlation counts as significant above this many standard errors: 10 % of independent
/// slices have more.
const SIGNIFICANT: f64 = 1.2816;
/// The largest correlation that is modelled.
const CORRELATION_MAX: f64 = 0.9;
/// Squares of residuals whose sum is no more than this are what rounding leaves of zeros.
const ROUNDING: f64 = 1e-15;

/// What the residuals of slices say about their sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LongRun {
    /// Variance of the sum.
    pub(crate) variance: f64,
    /// Degrees of freedom of the variance, by the residuals' fourth moment.
    pub(crate) freedom: f64,
    /// Degrees of freedom by the number of slices alone.
    pub(crate) freedom_plain: f64,
    /// A sixth of the skewness of the sum.
    pub(crate) skew: f64,
}

impl LongRun {
    /// The variance of the sum of `residuals`, one per slice in order of time, whose sum is 0 and
    /// from which this number of other parameters was `fitted`.
    pub(crate) fn of(mut residuals: Vec<f64>, fitted: usize) -> Self {
        loop {
            let slices = residuals.len() as f64;
            let squares: f64 = residuals.iter().map(|d| d * d).sum();
            if squares <= ROUNDING {
                let freedom = free(slices, fitted);
                return Self { variance: 0.0, freedom, freedom_plain: freedom, skew: 0.0 };
            }
            let next: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
            let lag = next / squares;
            let is_significant = (lag + 1.0 / slices) * slices.sqrt() >= SIGNIFICANT;
            if residuals.len() < SLICES_MIN || !is_significant {
                return Self::independent(&residuals, squares, lag, fitted);
            }
            residuals = merged(&residuals);
        }
    }

    /// The variance from residuals with this sum of `squares` and this correlation at `lag` 1,
    /// which merging slices does not make smaller.
    fn independent(residuals: &[f64], squares: f64, lag: f64, fitted: usize) -> Self {
        let slices = residuals.len() as f64;
        let correlation = (lag + (1.0 + 3.0 * lag) / slices).clamp(0.0, CORRELATION_MAX);
        let growth = (1.0 + correlation) / (1.0 - correlation);
        let fourth: f64 = residuals.iter().map(|d| d.powi(4)).sum();
        let third: f64 = residuals.iter().map(|d| d.powi(3)).sum();
        let excess = (fourth - squares * squares / slices).max(1e-300);
        let free = free(slices, fitted);
        let freedom_plain = free / growth;
        let skewness = third / slices / (squares / slices).powf(1.5);
        Self {
            variance: squares * slices / free * growth,
            freedom: freedom_plain.min(2.0 * squares * squares / excess).max(1.0),
            freedom_plain,
            skew: skewness / (6.0 * slices.sqrt()),
        }
    }
}

/// Degrees of freedom of independent slices, from which their mean and other parameters were
/// `fitted`.
fn free(slices: f64, fitted: usize) -> f64 {
    (slices - 1.0 - fitted as f64).max(1.0)
}

/// Half as many slices; of an odd number, one holds three.
fn merged(residuals: &[f64]) -> Vec<f64> {
    let (count, half) = (residuals.len(), residuals.len() / 2);
    let parts =
        (0..half).map(|number| &residuals[number * count / half..(number + 1) * count / half]);
    parts.map(|part| part.iter().sum()).collect()
}

#[cfg(test)]
mod tests;
