//! Mean, deviation and maximum of times; where operations were not answered, the least that they
//! can be. Percentiles are not found here: they rank, and need no bounds.

use crate::record::{Distribution, Record};
use memtide_metrics::Histogram;
use memtide_metrics::histogram::Moments;
use std::collections::BTreeMap;

/// What is known of the times of unanswered operations.
pub(super) struct Unanswered<'a> {
    /// Lower bounds of those that were cut off.
    pub(super) bounds: &'a Histogram<u64>,
    /// Number of the others.
    pub(super) others: u64,
    /// Least time of each of the others; 0 if nothing is known.
    pub(super) others_at_least_ns: u64,
}

/// Lower bound of the mean of `times` and of `unanswered` operations, each of which took at least
/// `at_least_ns` (0 if nothing is known); none if nothing is known of any.
///
/// An operation of which nothing is known ranks above the answered ones, and counts as long as
/// their mean.
pub fn mean_at_least(times: &Moments, unanswered: u64, at_least_ns: u64) -> Option<f64> {
    let bounds = &Histogram::new();
    let others = Unanswered { bounds, others: unanswered, others_at_least_ns: at_least_ns };
    others.mean_at_least(times)
}

impl Distribution {
    /// Sets mean, deviation and maximum of these answered times; their lower bounds if others are
    /// `unanswered`.
    pub(super) fn set_moments(&mut self, times: &Moments, unanswered: &Unanswered<'_>) {
        let longest = (times.count > 0).then_some(times.max);
        let is_whole = self.unanswered == 0;
        self.mean_ns = times.mean().filter(|_| is_whole);
        self.stddev_ns = times.deviation().filter(|_| is_whole);
        self.max_ns = longest.filter(|_| is_whole);
        if is_whole {
            return;
        }
        self.mean_at_least_ns = unanswered.mean_at_least(times);
        self.stddev_at_least_ns = unanswered.deviation_at_least(times);
        self.max_at_least_ns = unanswered.longest().into_iter().chain(longest).max();
        self.answered_max_ns = longest;
    }

    /// Brings the figures of an older record into their present form: if operations were not
    /// answered, it has mean, deviation and maximum of the others.
    fn renew_moments(&mut self) {
        let is_older = self.mean_ns.is_some() || self.stddev_ns.is_some() || self.max_ns.is_some();
        if self.unanswered == 0 || !is_older {
            return;
        }
        self.answered_max_ns = self.answered_max_ns.or(self.max_ns);
        (self.mean_ns, self.stddev_ns, self.max_ns) = (None, None, None);
        (self.mean_ci_low_ns, self.mean_ci_high_ns) = (None, None);
        // What is damaged has no bounds either.
        let Some((times, bounds)) = self.times().zip(self.bounds()) else { return };
        let others_at_least_ns = match &self.bounds {
            Some(bounds) => bounds.others_at_least_ns,
            None => self.at_least_ns,
        };
        let unanswered = Unanswered {
            bounds: &bounds,
            others: self.unanswered.saturating_sub(bounds.count()),
            others_at_least_ns: others_at_least_ns.unwrap_or(0),
        };
        self.set_moments(times.moments(), &unanswered);
    }
}

impl Record {
    /// Brings mean, deviation and maximum of an older record into their present form.
    pub(crate) fn renew_moments(&mut self) {
        let kinds = [&mut self.response, &mut self.service];
        let kinds = kinds.into_iter().flat_map(BTreeMap::values_mut);
        let servers = self.servers.iter_mut().map(|server| &mut server.response);
        let churn = self.churn.iter_mut().map(|churn| &mut churn.connect);
        kinds.chain(servers).chain(churn).for_each(Distribution::renew_moments);
        self.own.iter_mut().for_each(|own| own.renew_moments());
    }
}

impl Unanswered<'_> {
    /// The longest time that one of them took at least; none if nothing is known.
    fn longest(&self) -> Option<u64> {
        let bounds = self.bounds.moments();
        let cut_off = (bounds.count > 0).then_some(bounds.max);
        let others = (self.others > 0).then_some(self.others_at_least_ns).filter(|ns| *ns > 0);
        cut_off.max(others)
    }

    fn mean_at_least(&self, times: &Moments) -> Option<f64> {
        let bounds = self.bounds.moments();
        let each = match self.others_at_least_ns {
            0 => times.mean().unwrap_or(0.0),
            ns => ns as f64,
        };
        let sum = times.sum as f64 + bounds.sum as f64 + each * self.others as f64;
        let count = times.count as f64 + bounds.count as f64 + self.others as f64;
        Some(sum / count).filter(|ns| *ns > 0.0)
    }

    /// The least deviation of any times that keep the bounds: each unanswered operation is as near
    /// to the mean of all as its bound allows. None without two operations and an answer.
    fn deviation_at_least(&self, times: &Moments) -> Option<f64> {
        let (own_mean, own) = times.mean().zip(times.deviation())?;
        let others = (self.others_at_least_ns, self.others);
        let mut bounds: Vec<(u64, u64)> = self.bounds.recorded().chain([others]).collect();
        bounds.sort_unstable_by(|one, other| other.cmp(one));
        let (mut sum, mut count) = (times.sum as f64, times.count as f64);
        // Those below the mean of all that are longer can be as long as this mean.
        let mut above = 0;
        for (ns, number) in bounds.iter().map(|(ns, number)| (*ns as f64, *number as f64)) {
            if ns * count <= sum {
                break;
            }
            sum += ns * number;
            count += number;
            above += 1;
        }
        let mean = sum / count;
        let of_bounds: f64 = bounds[..above]
            .iter()
            .map(|(ns, number)| (*ns as f64 - mean).powi(2) * *number as f64)
            .sum();
        let answered = times.count as f64;
        let of_answered = answered * (own.powi(2) + (own_mean - mean).powi(2));
        let all = answered + self.bounds.count() as f64 + self.others as f64;
        Some(((of_answered + of_bounds) / all).sqrt()).filter(|ns| *ns > 0.0)
    }
}

#[cfg(test)]
mod tests;
