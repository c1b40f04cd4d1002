//! The words of `--search` and `--scan`. Makes no step itself.

use super::RATE_MAX;
use crate::number::decimal;

/// The statistic that must stay below its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The mean service time.
    Mean,
    /// A percentile of the service time; 0 to 100.
    Percentile(f64),
}

/// `--search`: the highest rate at which a statistic of service times stays within a bound.
///
/// The first run is at the requested rate (0: the peak). If it misses the bound, bisection between
/// 1 and the rate that it reached follows, until the ends are 2 % apart or below `rate_floor` of
/// the peak. While the bound is still missed, the rate is then multiplied by `retreat`, down to 90
/// % of the last good rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The bounded statistic.
    pub statistic: Statistic,
    /// The first half of the word as written, for progress lines.
    pub word: String,
    /// The bound, in microseconds.
    pub bound_us: f64,
    /// The operations to which the bound applies.
    pub searched: Searched,
    /// The share of the peak below which the search gives up.
    pub rate_floor: f64,
    /// The factor of the rate in the last part.
    pub retreat: f64,
}

/// The operations whose times a search judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// Only gets.
    Gets,
    /// Only sets, if there are no other operations.
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
    /// The difference between the rates of two runs; 0 repeats `min` without end.
    pub step: u32,
}

/// The non-empty pieces between colons, as strtok gives them.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split(':').filter(|piece| !piece.is_empty())
}

impl Statistic {
    /// Reads `95`, per mille above 100 (`999`), per ten thousand above 1000 (`9999`), or a piece of
    /// `avg`. Of a fraction only the whole part counts, as in C's atoi: `99.9` is 99.
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
    /// True if a number of `word` has a fraction, which is ignored.
    pub(in crate::mutilate) fn has_fraction(word: &str) -> bool {
        pieces(word).take(2).filter_map(decimal).any(|number| number.fract() != 0.0)
    }

    /// Reads `N:X`; text behind a second colon and fractions are ignored. `is_mutilate` selects
    /// whose search it is; `sets` is the share of sets.
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
    /// Reads `min:max:step`; text behind a third colon is ignored.
    pub(in crate::mutilate) fn read(word: &str) -> Option<Self> {
        let mut numbers =
            pieces(word).map(|piece| piece.parse().ok().filter(|rate| *rate <= RATE_MAX));
        let (min, max, step) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(Self { min, max, step })
    }
}
