//! Bounds of what a figure would have been had memtide sent and read every operation at its
//! instant.
//!
//! The measured percentile is an upper bound: lateness only adds. The lower bound takes from each
//! response time the most that memtide's own lateness may have added to it; docs/measurement.md
//! derives it and says where it does not hold.

use memtide_metrics::summary::rank;
use memtide_metrics::{Histogram, LATE_CLASSES, LATE_MIN_NS};

/// Data that bound memtide's own share of response times.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// Response times without the most that memtide may have added, of all answered operations or
    /// of a part drawn at random; 0 where that is more than a quarter of the time.
    pub punctual: &'a Histogram<u64>,
    /// Operations without an answer, as a fraction of all.
    pub unanswered: f64,
    /// By class of lateness, the fraction of operations that other workers' lateness may have
    /// delayed.
    pub others: [f64; LATE_CLASSES],
}

impl Own<'_> {
    /// Lower bound, in ns, of the value below which the fraction `p` of operations would have been;
    /// 0 if there is no bound.
    pub fn at(&self, p: f64) -> f64 {
        let count = self.punctual.count();
        let has_others = self.others.iter().any(|part| *part > 0.0);
        // With others, the bound is for the largest of several guesses: one bucket lower.
        let guesses = if has_others { LATE_CLASSES } else { 1 };
        let bounds = (0..guesses).map(|class| {
            // Others delayed these operations by more than `delay`, and the rest by no more.
            let delay = if class == 0 { 0.0 } else { class_ns(class) };
            let delayed: f64 = self.others[class..].iter().sum();
            let answered = (p - delayed) / (1.0 - self.unanswered);
            if answered <= 0.0 || answered > 1.0 || count == 0 {
                return 0.0;
            }
            let edges = self.punctual.edges_at_rank(rank(answered, count));
            edges.map_or(0.0, |(low, high)| {
                let bucket = if has_others { (high - low) as f64 } else { 0.0 };
                (low as f64).max(self.punctual.moments().min as f64) - bucket - delay
            })
        });
        bounds.fold(0.0, f64::max)
    }

    /// Lower bound, in ns, of the mean response time of answered operations.
    pub fn mean(&self) -> f64 {
        let Some(mean) = self.punctual.moments().mean() else { return 0.0 };
        let delays = self.others.iter().enumerate();
        let by_others: f64 = delays.map(|(class, part)| part * class_ns(class + 1)).sum();
        // The last class has no end.
        if self.others[LATE_CLASSES - 1] > 0.0 { 0.0 } else { (mean - by_others).max(0.0) }
    }
}

/// The least lag of a class, in ns.
fn class_ns(class: usize) -> f64 {
    (LATE_MIN_NS << class) as f64
}

/// For each class of lateness, the fraction of one server's operations that lateness of other
/// workers may have delayed, over a window of `window_ns`: from the total length of the workers'
/// stretches, and the sum of each worker's length times its operations, of which `operations` is
/// the number for all workers together.
pub fn others(
    late_ns: &[u64],
    weighted: &[u128],
    operations: u64,
    window_ns: u64,
) -> [f64; LATE_CLASSES] {
    let mut parts = [0.0; LATE_CLASSES];
    if operations == 0 || window_ns == 0 {
        return parts;
    }
    for (part, (&late, &weighted)) in parts.iter_mut().zip(late_ns.iter().zip(weighted)) {
        let of_others = late as f64 - weighted as f64 / operations as f64;
        *part = (of_others / window_ns as f64).clamp(0.0, 1.0);
    }
    parts
}

#[cfg(test)]
mod tests;
