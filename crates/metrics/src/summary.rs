//! Quantiles that can be printed: operations without an answer rank above all others, and a
//! quantile is known only if the sample is large enough for it.

use crate::histogram::{Count, Histogram};

/// The knowledge about a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// The value, in the unit of the distribution.
    Known(u64),
    /// It falls among operations that were never answered: longer than any measured time.
    Unanswered,
    /// Too few samples for a two-sided 95 % confidence interval.
    TooFew {
        /// The number of samples that it takes.
        needed: u64,
    },
}

impl Quantile {
    /// The value, if it is known.
    pub const fn known(self) -> Option<u64> {
        if let Self::Known(value) = self { Some(value) } else { None }
    }
}

/// The fewest samples for which a two-sided 95 % interval of quantile `p` has an upper end: the
/// least n with p^n ≤ 0.025 (an order statistic above the quantile must exist).
pub fn samples_needed(p: f64) -> u64 {
    // The mirrored bound covers quantiles below the median.
    let tail = p.max(1.0 - p);
    (0.025f64.ln() / tail.ln()).ceil() as u64
}

/// Quantile `p` of the answered values in `times`, with `unanswered` operations ranked above them
/// all, so that failing fast cannot improve it.
pub fn quantile<C: Count>(times: &Histogram<C>, unanswered: u64, p: f64) -> Quantile {
    let total = times.count().saturating_add(unanswered);
    let needed = samples_needed(p);
    if total < needed {
        return Quantile::TooFew { needed };
    }
    match times.value_at_rank(rank(p, total)) {
        Some(value) => Quantile::Known(value),
        None => Quantile::Unanswered,
    }
}

/// The rank (1 is the smallest) of quantile `p` among `total` values.
pub fn rank(p: f64, total: u64) -> u64 {
    // The small step keeps 0.99 × 100 from becoming 99.000000000000014.
    ((p * total as f64 - 1e-9).ceil() as u64).clamp(1, total.max(1))
}

#[cfg(test)]
mod tests;
