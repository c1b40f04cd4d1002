//! The distributions of twemperf's rates and sizes: `R`, `dT`, `uA,B`, `eT`, `sA`. Reads one word;
//! the caller checks the range of seconds or bytes.

use crate::number;
use memtide_base::Law;

/// The distribution of gaps in seconds, or sizes in bytes. All parameters are finite and above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same number.
    Fixed(f64),
    /// Uniform from the first bound to the second, which is not below it.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// The first draw is this number, and each further one is 1 more.
    Ascending(f64),
}

impl Distribution {
    /// Reads a word; `None` for a plain 0, which means "when the one before has ended". A number
    /// without a letter is a *rate*: the draw is 1 divided by it.
    ///
    /// # Errors
    /// The original's text, without the program's name. Infinite numbers and NaN, which it would
    /// accept, are refused in the same words.
    pub(super) fn read(word: &str) -> Result<Option<Self>, String> {
        let kinds = ['d', 'u', 'e', 's'];
        let Some(rest) = word.strip_prefix(kinds) else {
            let rate = real(word).ok_or_else(|| format!("invalid distribution value '{word}'"))?;
            let gap = 1.0 / rate;
            return match rate > 0.0 {
                true if !gap.is_finite() => Err(format!("invalid distribution value '{word}'")),
                true => Ok(Some(Self::Fixed(gap))),
                false => Ok(None),
            };
        };
        if word.starts_with('u') {
            let (least, most) = rest
                .split_once(',')
                .ok_or_else(|| format!("invalid uniform distribution value '{rest}'"))?;
            let (least, most) = (above_0(least, "minimum")?, above_0(most, "maximum")?);
            if most < least {
                return Err(format!(
                    "maximum value '{}' should be greater than or equal to minium value '{}'",
                    number::general(most),
                    number::general(least)
                ));
            }
            return Ok(Some(Self::Uniform(least, most)));
        }
        let mean = above_0(rest, "mean")?;
        Ok(Some(match word.as_bytes()[0] {
            b'd' => Self::Fixed(mean),
            b'e' => Self::Exponential(mean),
            _ => Self::Ascending(mean),
        }))
    }

    /// The law of one draw, for the units of the client's [stream](super::Load::seed_words); `None`
    /// if a draw depends on the number of earlier ones.
    pub fn law(&self) -> Option<Law> {
        match *self {
            Self::Fixed(value) => Some(Law::Fixed(value)),
            Self::Uniform(least, most) => Some(Law::Uniform(least, most)),
            Self::Exponential(mean) => Some(Law::Exponential(mean)),
            Self::Ascending(_) => None,
        }
    }

    /// The mean of a draw; for ascending draws, the first.
    pub(super) fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(value) | Self::Exponential(value) | Self::Ascending(value) => value,
            Self::Uniform(least, most) => 0.5 * (least + most),
        }
    }
}

/// Reads a number above 0; `what` names it in the error.
fn above_0(word: &str, what: &str) -> Result<f64, String> {
    let value = real(word).filter(|&value| value > 0.0);
    value.ok_or_else(|| format!("invalid {what} value '{word}'"))
}

/// Reads a whole word as C's strtod does: a finite number that is not negative.
pub(super) fn real(word: &str) -> Option<f64> {
    let value = number::decimal(word).filter(|_| !word.is_empty())?;
    let mantissa = word.split(['e', 'E']).next().unwrap_or(word);
    let vanished = value == 0.0 && mantissa.contains(|digit: char| ('1'..='9').contains(&digit));
    // C reports underflow for a number below its normal numbers.
    let is_normal = value.is_normal() || value == 0.0;
    (value >= 0.0 && is_normal && !vanished).then_some(value.abs())
}
