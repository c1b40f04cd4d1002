//! The native search: a bracket around the highest rate that meets the goals, halved until it is
//! narrow; then each of its ends is tested twice.
//!
//! Two errors threaten a search by single steps: a disturbance makes a step miss far below the
//! limit, and luck lets one pass just above it. So neither end of the last bracket rests on a
//! single step. The second test decides; if it contradicts the first, the search continues.

use crate::steps::course::{Course, Decision, Ledger, StepResult, Trial};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::steps::{Answer, StepRole};

/// Number of tests of each end.
const TRIES: u32 = 2;
/// Lowest rate to test, as a fraction of the highest.
const FLOOR: f64 = 0.01;
/// Factor by which a peak that turns out too low is raised.
const RAISE: f64 = 1.25;

/// Range and resolution of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// What the rates count.
    pub unit: RateUnit,
    /// Lowest rate to test; none means a hundredth of the highest.
    pub rate_min: Option<f64>,
    /// Highest rate to test; without one a closed loop finds the starting point.
    pub rate_max: Option<f64>,
    /// Largest distance between the found rate and one that misses the goals, as a fraction.
    pub resolution: f64,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Bracket {
    limits: Limits,
    ledger: Ledger,
    floor: Rate,
    /// Highest rate that meets the goals.
    low: Option<Rate>,
    /// Lowest rate above `low` that misses the goals or is still to be tested. None if no rate
    /// above may be tested.
    high: Option<Rate>,
    /// True if `high` misses the goals, as far as is known.
    high_tried: bool,
}

impl Bracket {
    /// A search that has not begun. Rates must be above 0, the lowest at most the highest, the
    /// resolution above 0.
    pub fn new(limits: Limits) -> Self {
        let (ledger, floor) = (Ledger::default(), Rate::new(0.0, limits.unit));
        Self { limits, ledger, floor, low: None, high: None, high_tried: false }
    }

    /// Sets the range, from the lowest rate to `top`.
    fn range(&mut self, top: Rate) {
        self.floor = self.limits.rate_min.map_or(top * FLOOR, |min| self.rate(min));
        self.high = Some(if top > self.floor { top } else { self.floor });
    }

    const fn rate(&self, per_s: f64) -> Rate {
        Rate::new(per_s, self.limits.unit)
    }

    fn decide(&self) -> Decision {
        let narrow = |rate| Decision::Try(Trial { rate, role: StepRole::Narrow });
        let confirm = |rate| Decision::Try(Trial { rate, role: StepRole::Confirm });
        let close = 1.0 + self.limits.resolution;
        let is_bracket = self.low.zip(self.high).is_none_or(|(low, high)| low < high);
        assert!(is_bracket, "what does is below what does not");
        match (self.low, self.high) {
            (None, Some(high)) if high > self.floor => {
                let half = self.rounded(high * 0.5);
                narrow(if half > self.floor * close { half } else { self.floor })
            }
            (None, Some(high)) if !self.high_tried => narrow(high),
            (None, Some(high)) if self.ledger.counts(high).1 < TRIES => confirm(high),
            (None, _) => Decision::Over,
            (Some(low), Some(high)) if high > low * close => {
                narrow(self.rounded((low + high) * 0.5))
            }
            (Some(_), Some(high)) if !self.high_tried => narrow(high),
            (Some(_), Some(high)) if self.ledger.counts(high).1 < TRIES => confirm(high),
            (Some(low), _) if self.ledger.counts(low).0 < TRIES => confirm(low),
            (Some(_), _) => Decision::Over,
        }
    }

    /// Rounds `rate` to a tenth of the resolution: further digits mean nothing.
    fn rounded(&self, Rate { per_s: rate, .. }: Rate) -> Rate {
        let unit = 10f64.powf((rate * self.limits.resolution).log10().floor() - 1.0);
        // A unit below 1 is represented by its reciprocal, a whole number, so that the figure is as
        // short as possible.
        self.rate(if unit >= 1.0 {
            (rate / unit).round() * unit
        } else {
            let per_one = (1.0 / unit).round();
            (rate * per_one).round() / per_one
        })
    }

    /// Notes that `rate` meets the goals; lower rates cannot be worse.
    fn raise_low(&mut self, rate: Rate) {
        self.low = self.low.filter(|low| *low > rate).or(Some(rate));
        if self.high.is_some_and(|high| high > rate) {
            return;
        }
        let missed = self.ledger.does_not_above(Some(rate));
        let untried = match self.limits.rate_max {
            None => Some(rate * RAISE),
            Some(top) => Some(self.rate(top)).filter(|top| *top > rate),
        };
        self.high = missed.or(untried);
        self.high_tried = missed.is_some();
    }

    /// Notes that `rate` misses the goals; higher rates cannot be better.
    fn lower_high(&mut self, rate: Rate) {
        self.high = Some(rate);
        self.high_tried = true;
        if self.low.is_some_and(|low| low >= rate) {
            self.low = self.ledger.does_below(Some(rate));
        }
    }
}

impl Course for Bracket {
    fn first(&mut self) -> Decision {
        match self.limits.rate_max {
            // Who names a highest rate hopes for it; a measured peak is always behind.
            Some(top) => {
                let rate = self.rate(top);
                self.range(rate);
                Decision::Try(Trial { rate, role: StepRole::Narrow })
            }
            None => Decision::Try(Trial { rate: self.rate(0.0), role: StepRole::Peak }),
        }
    }

    fn next(&mut self, result: &StepResult) -> Decision {
        if result.rate.per_s == 0.0 {
            if result.achieved.per_s <= 0.0 {
                return Decision::Over;
            }
            self.range(self.rounded(result.achieved));
            return self.decide();
        }
        self.ledger.note(result.rate, result.does());
        match result.does() {
            true => self.raise_low(result.rate),
            false => self.lower_high(result.rate),
        }
        self.decide()
    }

    fn answer(&self) -> Option<Answer> {
        Some(self.ledger.answer(self.low))
    }

    fn bracket(&self) -> (Option<Rate>, Option<Rate>) {
        (self.low, self.high)
    }
}
