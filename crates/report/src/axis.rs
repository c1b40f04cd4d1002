//! Scales of charts: positions of figures on an axis, and the figures with ticks.

/// Division of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic.
    Log,
    /// By distance to 1, logarithmic: 90 %, 99 % and 99.9 % are equally far apart.
    Nines,
}

/// An axis with its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Formats a figure.
    word: fn(f64) -> String,
}

impl Axis {
    /// An axis whose range contains all finite `values`.
    pub(super) fn over(
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
            Scale::Log => (low.max(1.0) / 1.15, (high * 1.15).max(low.max(1.0) * 2.0)),
            Scale::Nines if is_empty => (0.0, 0.99),
            Scale::Nines => (0.0, high.max(0.9)),
        };
        Self { scale, low, high, word }
    }

    /// This axis with its upper end at exactly `high`.
    pub(super) fn up_to(self, high: f64) -> Self {
        Self { high, ..self }
    }

    /// Position of `value`: 0 to 1 within the range.
    pub(super) fn place(&self, value: f64) -> f64 {
        let at = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(1e-9).log10(),
            Scale::Nines => -(1.0 - value).max(1e-9).log10(),
        };
        let (low, high) = (at(self.low), at(self.high));
        if high > low { ((at(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Formats a figure of this axis.
    pub(super) fn word(&self, value: f64) -> String {
        (self.word)(value)
    }

    /// The edges of `count` cells of equal height over the range, ascending.
    pub(super) fn edges(&self, count: usize) -> Vec<f64> {
        let share = |number: usize| number as f64 / count.max(1) as f64;
        let edge = |number: usize| match self.scale {
            Scale::Log => self.low * (self.high / self.low).powf(share(number)),
            Scale::Linear | Scale::Nines => self.low + (self.high - self.low) * share(number),
        };
        (0..=count).map(edge).collect()
    }

    /// A few round figures within the range, ascending, each with its label.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear => self.even_ticks(),
            Scale::Log => self.round_ticks(),
            Scale::Nines => {
                let nines = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9];
                nines.into_iter().filter(|value| *value <= self.high).collect()
            }
        };
        let word = |value: f64| match (self.scale, value == 0.0) {
            // Zero needs no unit.
            (Scale::Linear, true) => "0".to_owned(),
            _ => self.word(value),
        };
        values.into_iter().map(|value| (value, word(value))).collect()
    }

    fn even_ticks(&self) -> Vec<f64> {
        let wanted = (self.high - self.low) / 5.0;
        let decade = 10f64.powf(wanted.log10().floor());
        let step = [1.0, 2.0, 5.0].into_iter().map(|digit| digit * decade);
        let step = step.into_iter().find(|step| *step >= wanted).unwrap_or(10.0 * decade);
        let ticks = (0..12).map(|tick| f64::from(tick) * step);
        ticks.take_while(|value| *value <= self.high).collect()
    }

    fn round_ticks(&self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let digits: &[f64] = match decades.clone().count() {
            ..=3 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let of_decade = |decade: i32| digits.iter().map(move |digit| digit * 10f64.powi(decade));
        let all = decades.flat_map(of_decade);
        all.filter(|value| (self.low..=self.high).contains(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_placed_within_the_range_and_ticks_are_round() {
        let word = |value: f64| value.to_string();
        let log = Axis::over(Scale::Log, [2e3, 9e6].into_iter(), word);
        assert!(log.place(2e3) > 0.0 && log.place(9e6) < 1.0 && log.place(0.0) == 0.0);
        let ticks: Vec<f64> = log.ticks().into_iter().map(|(value, _)| value).collect();
        assert_eq!(ticks, [1e4, 1e5, 1e6, 1e7]);
        let linear = Axis::over(Scale::Linear, [3.0, f64::NAN, 47.0].into_iter(), word);
        let ticks: Vec<f64> = linear.ticks().into_iter().map(|(value, _)| value).collect();
        assert_eq!(ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
        let nines = Axis::over(Scale::Nines, [0.999].into_iter(), word);
        assert!((nines.place(0.99) - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(nines.ticks().len(), 5);
        let nothing = Axis::over(Scale::Linear, [].into_iter(), word);
        assert!(!nothing.ticks().is_empty());
    }
}
