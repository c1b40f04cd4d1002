//! The load's own shape: what the schedule of a wave intended in each slice of the window, and the
//! stretches in which its load is alike.

use crate::record::{Record, Slicing};
use memtide_base::Span;
use memtide_workload::{RateCurve, Wave};

/// A period counts as whole if this little of it is missing: lengths are sums of doubles.
const SLACK_S: f64 = 1e-6;

/// What the schedule intended in each slice. A constant load intends as much as a slice is long.
pub(super) struct Intended {
    /// Operations of each slice: their number, or what is in proportion to it.
    pub(super) operations: Vec<f64>,
    /// The rate of each slice; empty if all have the same.
    pub(super) rates: Vec<f64>,
}

/// How the load changes over the window, for figures that are compared over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phases {
    /// It is alike throughout, or changes by chance alone.
    Alike,
    /// It repeats itself after this many seconds.
    Periods(f64),
    /// Each of its rates comes once, so that time and rate cannot be told apart.
    Once,
}

impl Record {
    /// The wave that the load followed; none with one rate, and in a closed loop.
    pub(super) fn wave(&self) -> Option<Wave> {
        self.plan.wave.parse().ok().filter(|wave| *wave != Wave::Constant)
    }

    /// How the load changes over the window.
    pub(super) fn phases(&self) -> Phases {
        let Some(wave) = self.wave() else { return Phases::Alike };
        match (wave.period(), wave) {
            (Some(period), _) => Phases::Periods(period.as_s_f64()),
            (None, Wave::Ramp { .. }) => Phases::Once,
            (None, _) => Phases::Alike,
        }
    }

    /// What the schedule intended in each slice of `slicing`.
    pub(super) fn intended(&self, slicing: &Slicing) -> Intended {
        let starts = (0..=u64::from(slicing.count)).map(|at| slicing.width_ns.saturating_mul(at));
        let bounds: Vec<Span> = starts.map(|ns| Span::from_ns(ns.min(self.window_ns))).collect();
        let lengths = bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).as_s_f64());
        let lengths: Vec<f64> = lengths.collect();
        let Some(wave) = self.wave() else {
            return Intended { operations: lengths, rates: Vec::new() };
        };
        let window = self.plan.duration_s.map_or(Span::from_ns(self.window_ns), Span::from_s_f64);
        let curve = RateCurve::new(&wave, 0.0, Span::ZERO, window, self.plan.seed);
        let until = curve.cumulative_each(&bounds);
        let operations: Vec<f64> = until.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let each = operations.iter().zip(&lengths);
        let rates = each.map(|(count, s)| if *s > 0.0 { count / s } else { 0.0 }).collect();
        Intended { operations, rates }
    }
}

impl Phases {
    /// Stretches of equal load from `slices`, each of which comes with its middle in seconds after
    /// a window of `window_s` began: whole periods, or the slices themselves. Empty if the load of
    /// no two is alike.
    pub(super) fn alike<T>(
        self,
        slices: impl Iterator<Item = (f64, T)>,
        window_s: f64,
        absorb: impl Fn(&mut T, &T),
    ) -> Vec<T> {
        let period_s = match self {
            Self::Alike => return slices.map(|(_, slice)| slice).collect(),
            Self::Periods(period_s) => period_s,
            Self::Once => return Vec::new(),
        };
        let mut periods: Vec<(u64, T)> = Vec::new();
        for (middle_s, slice) in slices {
            let number = (middle_s / period_s) as u64;
            match periods.last_mut().filter(|(last, _)| *last == number) {
                Some((_, sum)) => absorb(sum, &slice),
                None => periods.push((number, slice)),
            }
        }
        periods.retain(|(number, _)| (number + 1) as f64 * period_s <= window_s + SLACK_S);
        periods.into_iter().map(|(_, period)| period).collect()
    }
}

#[cfg(test)]
mod tests;
