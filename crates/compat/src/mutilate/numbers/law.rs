//! The grammar of distributions, as the originals' createGenerator reads it. Draws nothing: the
//! base crate has the formulas.

use crate::number::{leading_decimal, leading_integer, strtod};
use memtide_base::law;
use std::fmt;

/// A distribution with all its parameters; missing ones are 0, as in the originals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always the same number: a bare number, or `fixed:N`.
    Fixed(f64),
    /// Evenly between two bounds.
    Uniform {
        /// The lower bound.
        least: f64,
        /// The upper bound.
        most: f64,
    },
    /// A normal distribution.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        deviation: f64,
    },
    /// The originals' draws for a normal distribution, from one uniform number in place of two.
    OriginalNormal {
        /// The mean of the normal distribution that is approximated.
        mean: f64,
        /// Its standard deviation.
        deviation: f64,
    },
    /// An exponential distribution; a rate of 0 or less always gives 0.
    Exponential {
        /// The reciprocal of its mean.
        rate: f64,
    },
    /// A generalised Pareto distribution.
    Pareto {
        /// The location, which is its lower end.
        location: f64,
        /// The scale, which is its width.
        scale: f64,
        /// The shape, which is the weight of its tail.
        shape: f64,
    },
    /// A generalised extreme value distribution.
    Gev {
        /// The location.
        location: f64,
        /// The scale, which is its width.
        scale: f64,
        /// The shape, which is the weight of its tail.
        shape: f64,
    },
    /// `fb_key`: the key sizes of Facebook's ETC pool, in bytes.
    FacebookKey,
    /// `fb_value`: the value sizes of Facebook's ETC pool, in bytes.
    FacebookValue,
    /// `fb_ia`: the gaps between the requests of Facebook's ETC pool, in microseconds.
    FacebookGap,
}

/// Why a word is not a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mutilate) enum LawFault {
    /// No text is before the first colon, or behind it.
    Empty,
    /// No distribution has that name.
    Unknown,
}

/// The part of a distribution's word that has text where a number must be, which the originals
/// ignore; `None` if there is none.
pub(in crate::mutilate) fn misread(word: &str) -> Option<&str> {
    if leading_integer(word) != 0 {
        return Some(word).filter(|word| !is_number(word));
    }
    let (_, numbers) = word.split_once(':')?;
    let numbers = numbers.trim_start_matches(':').split(':').next().unwrap_or("");
    numbers.split(',').find(|piece| !piece.is_empty() && !is_number(piece))
}

fn is_number(text: &str) -> bool {
    strtod(text).1.is_empty()
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => write!(f, "{value}"),
            Self::Uniform { least, most } if *least == 0.0 => write!(f, "uniform:{most}"),
            Self::Uniform { least, most } => write!(f, "uniform:{least},{most}"),
            Self::Normal { mean, deviation } | Self::OriginalNormal { mean, deviation } => {
                write!(f, "normal:{mean},{deviation}")
            }
            Self::Exponential { rate } => write!(f, "exponential:{rate}"),
            Self::Pareto { location, scale, shape } => {
                write!(f, "pareto:{location},{scale},{shape}")
            }
            Self::Gev { location, scale, shape } => write!(f, "gev:{location},{scale},{shape}"),
            Self::FacebookKey => f.write_str("fb_key"),
            Self::FacebookValue => f.write_str("fb_value"),
            Self::FacebookGap => f.write_str("fb_ia"),
        }
    }
}

impl Law {
    /// Reads a distribution; `Ok(None)` for `none`, which only the mcperfs accept and which means
    /// no distribution. `two_bounds` is true if `uniform` takes a lower bound.
    pub(in crate::mutilate) fn read(
        word: &str,
        two_bounds: bool,
    ) -> Result<Option<Self>, LawFault> {
        match word {
            "fb_key" => return Ok(Some(Self::FacebookKey)),
            "fb_value" => return Ok(Some(Self::FacebookValue)),
            "fb_ia" => return Ok(Some(Self::FacebookGap)),
            _ if leading_integer(word) != 0 || word == "0" => {
                return Ok(Some(Self::Fixed(leading_decimal(word))));
            }
            _ => {}
        }
        let mut pieces = word.split(':').filter(|piece| !piece.is_empty());
        pieces.next().ok_or(LawFault::Empty)?;
        let mut numbers = pieces.next().unwrap_or("").split(',').filter(|piece| !piece.is_empty());
        let [a, b, c] = [(); 3].map(|()| numbers.next().map_or(0.0, leading_decimal));
        let name = word.to_ascii_lowercase();
        Ok(Some(if name.contains("fixed") {
            Self::Fixed(a)
        } else if name.contains("normal") {
            Self::Normal { mean: a, deviation: b }
        } else if name.contains("exponential") {
            Self::Exponential { rate: a }
        } else if name.contains("pareto") {
            Self::Pareto { location: a, scale: b, shape: c }
        } else if name.contains("gev") {
            Self::Gev { location: a, scale: b, shape: c }
        } else if name.contains("uniform") && two_bounds && b > 0.0 {
            Self::Uniform { least: a, most: b }
        } else if name.contains("uniform") {
            Self::Uniform { least: 0.0, most: a }
        } else if name.contains("none") && two_bounds {
            return Ok(None);
        } else {
            return Err(LawFault::Unknown);
        }))
    }

    /// This law, with a normal law replaced by the one that the originals draw.
    pub(in crate::mutilate) fn as_drawn_there(self) -> Self {
        match self {
            Self::Normal { mean, deviation } => Self::OriginalNormal { mean, deviation },
            other => other,
        }
    }

    /// True if gaps with this law can be scaled to a requested rate.
    pub(in crate::mutilate) fn has_rate(self) -> bool {
        !matches!(self, Self::Gev { .. } | Self::FacebookKey | Self::FacebookValue)
    }

    /// This law in the form that the base crate draws from.
    pub fn quantiles(self) -> law::Law {
        match self {
            Self::Fixed(value) => law::Law::Fixed(value),
            Self::Uniform { least, most } => law::Law::Uniform(least, most),
            Self::Normal { mean, deviation } => law::Law::Normal(mean, deviation),
            Self::OriginalNormal { mean, deviation } => law::Law::MutilateNormal(mean, deviation),
            Self::Exponential { rate } if rate <= 0.0 => law::Law::Fixed(0.0),
            Self::Exponential { rate } => law::Law::Exponential(1.0 / rate),
            Self::Pareto { location, scale, shape } => law::Law::Pareto(location, scale, shape),
            Self::Gev { location, scale, shape } => law::Law::Gev(location, scale, shape),
            Self::FacebookKey => law::ETC_KEY,
            Self::FacebookValue => law::Law::EtcValue,
            Self::FacebookGap => law::ETC_GAP_US,
        }
    }
}
