//! A rate with its unit: operations or keys per second.
//!
//! Rates of different units cannot be compared or added: an assertion forbids it. Settings, records
//! and plans hold the number alone, beside a unit that is said once for all of their rates; what
//! reads two of them makes a [`Rate`] of each.

use crate::choice::RateUnit;
use crate::units::{exact_digits, rate_digits};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Sub};

/// A rate per second, with what it counts. Its text rounds to three digits: `471 keys/s`,
/// `3 000/s`.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// The number per second; not a number if it is unknown.
    pub per_s: f64,
    /// Unit of the rate.
    pub unit: RateUnit,
}

impl Rate {
    /// A rate of `per_s` of `unit`.
    pub const fn new(per_s: f64, unit: RateUnit) -> Self {
        Self { per_s, unit }
    }

    /// The text of a rate that was given, with all its digits: `1 000.5 keys/s`.
    pub fn exactly(self) -> String {
        format!("{}{}", exact_digits(self.per_s), self.unit.per_s())
    }

    /// The numbers of this rate and of `other`, which count the same.
    fn with(self, other: Self) -> (f64, f64) {
        assert_eq!(self.unit, other.unit, "rates of one unit are compared");
        (self.per_s, other.per_s)
    }
}

impl RateUnit {
    /// The end of a rate's text: `/s` for operations, else with its word.
    pub const fn per_s(self) -> &'static str {
        match self {
            Self::Operations => "/s",
            Self::Keys => " keys/s",
        }
    }

    /// The noun for one of what is counted.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Operations => "operation",
            Self::Keys => "key",
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", rate_digits(self.per_s), self.unit.per_s()))
    }
}

impl PartialEq for Rate {
    fn eq(&self, other: &Self) -> bool {
        let (this, other) = self.with(*other);
        this == other
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (this, other) = self.with(*other);
        this.partial_cmp(&other)
    }
}

impl Add for Rate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (this, other) = self.with(other);
        Self { per_s: this + other, ..self }
    }
}

impl Sub for Rate {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let (this, other) = self.with(other);
        Self { per_s: this - other, ..self }
    }
}

impl Mul<f64> for Rate {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { per_s: self.per_s * factor, ..self }
    }
}

impl Div for Rate {
    type Output = f64;

    /// The ratio of two rates.
    fn div(self, other: Self) -> f64 {
        let (this, other) = self.with(other);
        this / other
    }
}

#[cfg(test)]
mod tests;
