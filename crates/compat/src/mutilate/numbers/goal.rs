//! The words of `--search` and `--scan`. Makes no step itself.

use super::RATE_MAX;
use crate::number::decimal;

/// What must stay below its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The mean service time.
    Mean,
    /// The service time below which this many of a hundred lie; 0 to 100.
    Percentile(f64),
}

/// `--search`: the highest rate at which a statistic of service times stays within a bound.
///
/// First a run at the given rate (0: the peak). If it misses the bound, halves between 1 and the
/// rate it reached, until the bounds are 2 % apart or below `rate_floor` of the peak; then, while
/// the bound is still missed, down by `retreat` each, not below 90 % of the last good rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// What is bounded.
    pub statistic: Statistic,
    /// The first half of the word as it was written, for progress lines.
    pub word: String,
    /// The bound, in microseconds.
    pub bound_us: f64,
    /// What the bound holds for.
    pub searched: Searched,
    /// The share of the peak below which the search gives up.
    pub rate_floor: f64,
    /// By what the rate is multiplied in the last part.
    pub retreat: f64,
}

/// Which operations a search looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// Gets alone.
    Gets,
    /// Sets alone, where there is nothing else.
    Sets,
    /// The slower of gets and sets.
    Both,
}

/// `--scan`: a run at each of several rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The first rate, in operations a second over all connections; 0 for the peak.
    pub min: u32,
    /// The last rate, if a step falls on it.
    pub max: u32,
    /// What is added for each next run; 0 stays at `min` for ever.
    pub step: u32,
}

/// The non-empty pieces between colons, as strtok gives them.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split(':').filter(|piece| !piece.is_empty())
}

impl Statistic {
    /// Reads `95`, per mille from above 100 (`999`), per ten thousand from above 1000 (`9999`), or
    /// a piece of `avg`. Of a fraction the whole part counts, as in C's atoi: `99.9` is 99.
    fn read(word: &str) -> Option<Self> {
        if "avg".contains(word) {
            return Some(Self::Mean);
        }
        let number = decimal(word).filter(|number| (0.0..=10_000.0).contains(number))?.trunc();
        let scale = match number {
            ..=100.0 => 1.0,
            ..=1000.0 => 10.0,
            _ => 100.0,
        };
        Some(Self::Percentile(number / scale))
    }
}

impl Search {
    /// Whether a number of `word` has a fraction, which does not count.
    pub(in crate::mutilate) fn has_fraction(word: &str) -> bool {
        pieces(word).take(2).filter_map(decimal).any(|number| number.fract() != 0.0)
    }

    /// Reads `N:X`; what follows a second colon is passed over, and so are fractions of both.
    /// `is_mutilate` tells whose search it is, `sets` the share of sets.
    pub(in crate::mutilate) fn read(word: &str, is_mutilate: bool, sets: f64) -> Option<Self> {
        let mut pieces = pieces(word);
        let (order, bound) = (pieces.next()?, pieces.next()?);
        let (rate_floor, retreat) = if is_mutilate { (0.1, 0.98) } else { (0.01, 0.99) };
        Some(Self {
            statistic: Statistic::read(order)?,
            word: order.to_owned(),
            bound_us: decimal(bound).filter(|bound| *bound >= 0.0 && bound.is_finite())?.trunc(),
            searched: match is_mutilate {
                _ if sets >= 1.0 => Searched::Sets,
                true => Searched::Gets,
                false => Searched::Both,
            },
            rate_floor,
            retreat,
        })
    }
}

impl Scan {
    /// Reads `min:max:step`; what follows a third colon is passed over.
    pub(in crate::mutilate) fn read(word: &str) -> Option<Self> {
        let number = |piece: &str| piece.parse().ok().filter(|rate| *rate <= RATE_MAX);
        let mut numbers = pieces(word).map(number);
        let (min, max, step) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(Self { min, max, step })
    }
}
