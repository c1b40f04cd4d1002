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
    /// Response times of all answered operations without the most that memtide may have added; 0
    /// where that is more than a quarter of the time. See [`punctual`].
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
        (mean - self.by_others()).max(0.0)
    }

    /// The most, in ns, that other workers' lateness may have added to the mean: if it delayed the
    /// longest operations, the longest of them most, and none by more than it took.
    fn by_others(&self) -> f64 {
        let count = self.punctual.count() as f64;
        let recorded: Vec<(u64, u64)> = self.punctual.recorded().collect();
        let mut longest = recorded.into_iter().rev();
        let (mut value, mut left, mut sum) = (0.0, 0.0, 0.0);
        for (class, part) in self.others.iter().enumerate().rev() {
            let is_last = class == LATE_CLASSES - 1;
            let most = if is_last { f64::INFINITY } else { class_ns(class + 1) };
            let mut delayed = part * count;
            while delayed > 0.0 {
                if left == 0.0 {
                    let Some((ns, times)) = longest.next() else { break };
                    (value, left) = (ns as f64, times as f64);
                }
                let of_these = delayed.min(left);
                sum += of_these * most.min(value);
                (delayed, left) = (delayed - of_these, left - of_these);
            }
        }
        sum / count
    }
}

/// The fewest operations that must be drawn, as a part of all.
const DRAWN_MIN: f64 = 1.0 / 8.0;

/// `response`, the times of all answered operations, without the most that memtide may have added.
/// That is known of operations that were drawn, each of which counts as often as it stands for:
/// `drawn` holds their times, and `punctual` these times without it. Only the difference of the two
/// is an estimate: where memtide added nothing, the result is `response`, whatever was drawn. Empty
/// if too few were drawn. In records from before `drawn` was kept, `punctual` stands for all.
pub fn punctual(
    response: &Histogram<u64>,
    drawn: Option<&Histogram<u64>>,
    punctual: &Histogram<u64>,
) -> Histogram<u64> {
    match drawn.filter(|drawn| drawn.count() == punctual.count()) {
        None => punctual.clone(),
        Some(drawn) if (drawn.count() as f64) < DRAWN_MIN * response.count() as f64 => {
            Histogram::new()
        }
        Some(drawn) => response.moved(drawn, punctual),
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
