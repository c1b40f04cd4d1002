//! The grade of a figure: yes, within ± x %, or no, by the width of the range that holds it.

use std::fmt;

/// Up to this half width of its range, a figure can be believed as it stands.
pub const YES_MAX: f64 = 0.025;
/// Up to this half width, a figure can be believed within its range.
pub const WITHIN_MAX: f64 = 0.30;

/// How far a figure can be believed, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Grade {
    /// As it stands: its range is at most ± 2.5 % wide.
    Yes,
    /// Within ± this fraction, at most 0.3.
    Within(f64),
    /// Not at all: its range is wider, or unknown.
    No,
}

impl Grade {
    /// The grade of a figure whose range has the half width `x`.
    pub fn of(x: f64) -> Self {
        match x {
            x if x <= YES_MAX => Self::Yes,
            x if x <= WITHIN_MAX => Self::Within(x),
            _ => Self::No,
        }
    }

    /// The grade of a figure with the half width `x`, where something else forbids a yes.
    pub fn at_most_within(x: f64) -> Self {
        if x <= YES_MAX { Self::Within(x) } else { Self::of(x) }
    }
}

impl fmt::Display for Grade {
    /// Formats the grade for people: `yes`, `within ± 18 %` or `no`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.pad("yes"),
            // Rounded up, because the figure may be this far off.
            Self::Within(x) => write!(f, "within ± {:.0} %", (x * 100.0 - 1e-9).ceil()),
            Self::No => f.pad("no"),
        }
    }
}

/// Half the width of the range from `low` to `high` as a fraction of its middle, in the sense of
/// ratios: √(high ÷ low) − 1. Infinite if the range begins at 0.
pub fn half_width(low: f64, high: f64) -> f64 {
    if high <= low {
        return 0.0;
    }
    (high / low.max(0.0)).sqrt() - 1.0
}

#[cfg(test)]
mod tests;
