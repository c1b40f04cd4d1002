//! The laws of the gaps between operations, scaled to a mean of 1. The rate is somebody else's
//! business: see [`crate::wave`].

use crate::word::{Grammar, WordError, split};
use memtide_base::law::{ETC_GAP_US, Law};
use std::fmt;
use std::str::FromStr;

/// How operations follow each other. Whatever the law, its gaps are scaled to the asked rate, so
/// only the shape counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// Exponential gaps: many independent users.
    Poisson,
    /// Equal gaps.
    Fixed,
    /// Gaps evenly between 0 and twice the mean.
    Uniform,
    /// Generalised Pareto gaps: location, scale, shape.
    Pareto(f64, f64, f64),
    /// The gaps of Facebook's ETC pool.
    Etc,
}

/// The law behind [`Arrival::Etc`].
const ETC: Arrival = match ETC_GAP_US {
    Law::Pareto(location, scale, shape) => Arrival::Pareto(location, scale, shape),
    _ => panic!("the gaps of the ETC pool follow a Pareto law"),
};

const GRAMMAR: Grammar = Grammar {
    what: "an arrival law",
    names: &["poisson", "fixed", "uniform", "pareto", "etc"],
    forms: "poisson, fixed, uniform, etc, or pareto:LOCATION,SCALE,SHAPE (such as \
            pareto:0,16,0.15)",
};

impl Arrival {
    /// The gap that belongs to `u` in (0, 1), in units of the mean gap; never negative.
    pub fn unit_gap(&self, u: f64) -> f64 {
        match self {
            // 1 - u is exact for every u that base::rng::unit gives.
            Self::Poisson => -(1.0 - u).ln(),
            Self::Fixed => 1.0,
            Self::Uniform => 2.0 * u,
            Self::Pareto(location, scale, shape) => {
                Law::Pareto(*location, *scale, *shape).quantile(u)
                    / pareto_mean(*location, *scale, *shape)
            }
            Self::Etc => ETC.unit_gap(u),
        }
    }

    /// Whether operation i stands at position i exactly, so that nothing has to be added up.
    pub const fn is_grid(&self) -> bool {
        matches!(self, Self::Fixed)
    }

    /// The variance of a gap of mean 1. The variance of the number of operations in a long window
    /// tends to this times its mean. Infinite for a Pareto law of shape 0.5 or more.
    pub fn squared_variation(&self) -> f64 {
        match self {
            Self::Poisson => 1.0,
            Self::Fixed => 0.0,
            Self::Uniform => 1.0 / 3.0,
            Self::Pareto(_, _, shape) if *shape >= 0.5 => f64::INFINITY,
            Self::Pareto(location, scale, shape) => {
                let deviation = scale / ((1.0 - shape) * pareto_mean(*location, *scale, *shape));
                deviation * deviation / (1.0 - 2.0 * shape)
            }
            Self::Etc => ETC.squared_variation(),
        }
    }
}

fn pareto_mean(location: f64, scale: f64, shape: f64) -> f64 {
    location + scale / (1.0 - shape)
}

impl FromStr for Arrival {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        let plain = |arrival| GRAMMAR.arguments::<0>(word, arguments).map(|_| arrival);
        match name {
            "poisson" => plain(Self::Poisson),
            "fixed" => plain(Self::Fixed),
            "uniform" => plain(Self::Uniform),
            "etc" => plain(Self::Etc),
            "pareto" => {
                let [location, scale, shape] = GRAMMAR.arguments(word, arguments)?;
                let location =
                    GRAMMAR.number(word, location, "a location from 0 to 1e12", |v| {
                        (0.0..=1e12).contains(&v)
                    })?;
                let scale = GRAMMAR.number(word, scale, "a scale from 1e-12 to 1e12", |v| {
                    (1e-12..=1e12).contains(&v)
                })?;
                let range = "a shape from -10 to 0.99 (from 1 on there is no mean gap)";
                let shape = GRAMMAR.number(word, shape, range, |v| (-10.0..=0.99).contains(&v))?;
                Ok(Self::Pareto(location, scale, shape))
            }
            _ => Err(GRAMMAR.unknown(word, name)),
        }
    }
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson => f.write_str("poisson"),
            Self::Fixed => f.write_str("fixed"),
            Self::Uniform => f.write_str("uniform"),
            Self::Pareto(location, scale, shape) => write!(f, "pareto:{location},{scale},{shape}"),
            Self::Etc => f.write_str("etc"),
        }
    }
}

#[cfg(test)]
mod tests;
