//! Scales of charts, those of the page and those in files: positions of figures on an axis, and the
//! figures with ticks.

/// Largest number of ticks on a logarithmic axis of a page.
const TICKS_MAX: usize = 7;
/// Smallest number of ticks on an axis of a page: fewer do not show how it is divided.
const TICKS_MIN: usize = 4;

/// Division of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic.
    Log,
    /// By distance to 1, logarithmic: 90 %, 99 % and 99.9 % are equally far apart.
    Nines,
}

impl Scale {
    /// Where `value` is on this scale, from an origin that all values share.
    fn position(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.max(1e-9).log10(),
            Self::Nines => -(1.0 - value).max(1e-9).log10(),
        }
    }
}

/// An axis with its range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Formats a figure.
    word: fn(f64) -> String,
}

impl Axis {
    /// An axis whose range contains all finite `values`.
    pub(crate) fn over(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        word: fn(f64) -> String,
    ) -> Self {
        // A logarithmic axis cannot contain zero.
        let least = if scale == Scale::Log { 1.0 } else { 0.0 };
        let known = values.filter(|value| value.is_finite() && *value >= least);
        let (low, high) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let is_empty = low > high;
        let (low, high) = match scale {
            Scale::Linear if is_empty || high <= 0.0 => (0.0, 1.0),
            Scale::Linear => (0.0, high * 1.04),
            Scale::Log if is_empty => (1e3, 1e6),
            Scale::Log => (low / 1.25, (high * 1.25).max(low / 1.25 * 2.0)),
            Scale::Nines if is_empty => (0.0, 0.99),
            Scale::Nines => (0.0, high.max(0.9)),
        };
        Self { scale, low, high, word }
    }

    /// This axis with its upper end at exactly `high`.
    pub(crate) fn up_to(self, high: f64) -> Self {
        Self { high, ..self }
    }

    /// This axis from exactly `low` to exactly `high`, which is above it.
    pub(crate) fn between(self, low: f64, high: f64) -> Self {
        Self { low, high: high.max(low + 1e-9), ..self }
    }

    /// Position of `value`: 0 to 1 within the range.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let [low, at, high] = [self.low, value, self.high].map(|it| self.scale.position(it));
        if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Formats a figure of this axis.
    pub(crate) fn word(&self, value: f64) -> String {
        (self.word)(value)
    }

    /// The edges of `count` cells of equal height over the range, ascending.
    pub(crate) fn edges(&self, count: usize) -> Vec<f64> {
        let shares = (0..=count).map(|number| number as f64 / count.max(1) as f64);
        let edges = shares.map(|share| match self.scale {
            Scale::Log => self.low * (self.high / self.low).powf(share),
            Scale::Linear | Scale::Nines => self.low + (self.high - self.low) * share,
        });
        edges.collect()
    }

    /// The range.
    #[cfg(feature = "plot")]
    pub(crate) const fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }

    /// A few round figures within the range, ascending, each with its label.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear => self.enough_ticks(),
            Scale::Log => self.log_ticks(),
            Scale::Nines if self.high < 0.99 => vec![0.0, 0.5, 0.75, 0.9],
            Scale::Nines => {
                let nines = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9];
                nines.into_iter().filter(|value| *value <= self.high).collect()
            }
        };
        let labelled = values.into_iter().map(|value| match (self.scale, value == 0.0) {
            // Zero needs no unit.
            (Scale::Linear, true) => (value, "0".to_owned()),
            _ => (value, self.word(value)),
        });
        labelled.collect()
    }

    /// At most one more than `wanted` values at equal distances.
    fn even_ticks(&self, wanted: usize) -> Vec<f64> {
        let distance = (self.high - self.low) / wanted.max(1) as f64;
        let decade = 10f64.powf(distance.log10().floor());
        let step = [1.0, 2.0, 5.0].into_iter().map(|digit| digit * decade);
        let step = step.into_iter().find(|step| *step >= distance).unwrap_or(10.0 * decade);
        let first = (self.low / step).ceil() as u64;
        let ticks = (first..=first + wanted as u64).map(|tick| tick as f64 * step);
        ticks.take_while(|value| *value <= self.high).collect()
    }

    /// Values at equal distances, enough to read the axis.
    fn enough_ticks(&self) -> Vec<f64> {
        let mut finer = [5, 9, 14].into_iter().map(|wanted| self.even_ticks(wanted));
        finer.find(|ticks| ticks.len() >= TICKS_MIN).unwrap_or_else(|| self.even_ticks(20))
    }

    /// At most `most` values of one digit; equal distances if they would be too few.
    pub(crate) fn round_ticks(&self, most: usize) -> Vec<f64> {
        let (fine, coarse) = (self.with_digits(&[1.0, 2.0, 5.0]), self.with_digits(&[1.0]));
        match fine.len() {
            0..3 => self.even_ticks(most.min(5)),
            count if count <= most => fine,
            _ => {
                let step = coarse.len().div_ceil(most.max(1)).max(1);
                coarse.into_iter().step_by(step).collect()
            }
        }
    }

    /// Between [`TICKS_MIN`] and [`TICKS_MAX`] values of one digit, if some division has them.
    fn log_ticks(&self) -> Vec<f64> {
        let divisions: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let mut ticks = divisions.into_iter().map(|digits| self.with_digits(digits));
        let fit = ticks.find(|ticks| (TICKS_MIN..=TICKS_MAX).contains(&ticks.len()));
        fit.unwrap_or_else(|| match self.with_digits(&[1.0, 2.0, 5.0]).len() {
            0..TICKS_MIN => self.enough_ticks(),
            _ => self.round_ticks(TICKS_MAX),
        })
    }

    /// The values within the range that are one of `digits` times a power of ten.
    fn with_digits(&self, digits: &[f64]) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = decades.flat_map(|decade| digits.iter().map(move |d| d * 10f64.powi(decade)));
        all.filter(|value| (self.low..=self.high).contains(value)).collect()
    }
}

#[cfg(test)]
mod tests;
