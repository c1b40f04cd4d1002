//! Laws of the gaps between operations, scaled to a mean of 1. [`crate::wave`] holds the rate.

mod time_law;

pub use time_law::TimeLaw;

use crate::word::{Grammar, WordError, split};
use memtide_base::law::{ETC_GAP_US, Law};
use std::fmt;
use std::str::FromStr;

/// The law of the gaps between operations. Gaps are scaled to the requested rate, so only the law's
/// shape matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// Exponential gaps: many independent users.
    Poisson,
    /// Equal gaps.
    Fixed,
    /// Gaps uniform between 0 and twice the mean.
    Uniform,
    /// Gaps uniform between f and 2 - f mean gaps, for f from 0 to 1.
    UniformFrom(f64),
    /// The first gap is 1, and each further gap is longer by this amount: the behaviour of a
    /// program that adds a constant to its interval. It has no mean; the rate is that of the first
    /// gap.
    Ascending(f64),
    /// Gaps of a normal law, with none below 0.
    Normal(NormalGaps),
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
    names: &["poisson", "fixed", "uniform", "ascending", "normal", "pareto", "etc"],
    forms: "poisson, fixed, uniform, uniform:LEAST (of the mean gap, such as uniform:0.5), \
            ascending:STEP (of the first gap, such as ascending:0.5), \
            normal:DEVIATION (of the mean gap, such as normal:0.2), etc, or \
            pareto:LOCATION,SCALE,SHAPE (such as pareto:0,16,0.15)",
};

/// A normal law of mean 1 whose negative draws become 0. That raises the mean, so gaps are scaled
/// back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalGaps {
    /// The standard deviation before cutting and scaling, from 0 to 10.
    deviation: f64,
    /// The mean after cutting.
    mean: f64,
    /// The variance of a scaled gap.
    squared_variation: f64,
}

impl NormalGaps {
    fn new(deviation: f64) -> Self {
        if deviation <= 0.0 {
            return Self { deviation: 0.0, mean: 1.0, squared_variation: 0.0 };
        }
        // A draw is above 0 if it is above the mean less this many deviations.
        let below = 1.0 / deviation;
        let kept = 0.5 + integral(density, below.min(9.0));
        let edge = deviation * density(below);
        let mean = kept + edge;
        let square = (1.0 + deviation * deviation) * kept + edge;
        let squared_variation = (square / (mean * mean) - 1.0).max(0.0);
        Self { deviation, mean, squared_variation }
    }
}

/// The density of the standard normal distribution.
fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Integrates from 0 to `end` by Simpson's rule; ten correct digits for a smooth `f` and `end` <
/// 10.
fn integral(f: impl Fn(f64) -> f64, end: f64) -> f64 {
    const STEPS: u32 = 2000;
    let width = end / f64::from(STEPS);
    let inner = (1..STEPS).map(|k| {
        let weight = if k % 2 == 1 { 4.0 } else { 2.0 };
        weight * f(f64::from(k) * width)
    });
    (f(0.0) + inner.sum::<f64>() + f(end)) * width / 3.0
}

impl Arrival {
    /// The gap that belongs to `u` in (0, 1), in units of the mean gap; never negative.
    pub fn unit_gap(&self, u: f64) -> f64 {
        match self {
            // 1 - u is exact for every u that base::rng::unit gives.
            Self::Poisson => -(1.0 - u).ln(),
            // Operations of these laws have known positions, so nothing is summed.
            Self::Fixed | Self::Ascending(_) => 1.0,
            Self::Uniform => 2.0 * u,
            Self::UniformFrom(least) => least + (2.0 - 2.0 * least) * u,
            Self::Normal(normal) => {
                Law::Normal(1.0, normal.deviation).quantile(u).max(0.0) / normal.mean
            }
            Self::Pareto(location, scale, shape) => {
                Law::Pareto(*location, *scale, *shape).quantile(u)
                    / pareto_mean(*location, *scale, *shape)
            }
            Self::Etc => ETC.unit_gap(u),
        }
    }

    /// The position of operation `index`, in mean gaps after the first operation; `None` if gaps
    /// are drawn and must be summed.
    pub(crate) fn position(&self, index: u64) -> Option<f64> {
        let index = index as f64;
        match self {
            Self::Fixed => Some(index),
            Self::Ascending(step) => Some(index + step * index * (index - 1.0).max(0.0) / 2.0),
            _ => None,
        }
    }

    /// The expected number of operations within this many mean gaps.
    pub fn expected(&self, gaps: f64) -> f64 {
        match self {
            // The inverse of the position: step/2 · n² + (1 − step/2) · n = gaps.
            Self::Ascending(step) if *step > 0.0 => {
                let linear = 1.0 - step / 2.0;
                ((linear * linear + 2.0 * step * gaps).sqrt() - linear) / step
            }
            _ => gaps,
        }
    }

    /// The variance of a gap of mean 1. The variance of the number of operations in a long window
    /// tends to this times its mean. Infinite for a Pareto law of shape 0.5 or more.
    pub fn squared_variation(&self) -> f64 {
        match self {
            Self::Poisson => 1.0,
            Self::Fixed | Self::Ascending(_) => 0.0,
            Self::Uniform => 1.0 / 3.0,
            Self::UniformFrom(least) => (1.0 - least).powi(2) / 3.0,
            Self::Normal(normal) => normal.squared_variation,
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
            "uniform" if arguments.is_none() => Ok(Self::Uniform),
            "uniform" => {
                let [least] = GRAMMAR.arguments(word, arguments)?;
                let range = "a fraction of the mean gap, from 0 to 1";
                let least = GRAMMAR.number(word, least, range, |v| (0.0..=1.0).contains(&v))?;
                Ok(if least == 0.0 { Self::Uniform } else { Self::UniformFrom(least) })
            }
            "ascending" => {
                let [step] = GRAMMAR.arguments(word, arguments)?;
                let range = "a step from 0 to 1e12 first gaps";
                let step = GRAMMAR.number(word, step, range, |v| (0.0..=1e12).contains(&v))?;
                Ok(Self::Ascending(step))
            }
            "normal" => {
                let [deviation] = GRAMMAR.arguments(word, arguments)?;
                let range = "a deviation from 0 to 10 mean gaps";
                let deviation =
                    GRAMMAR.number(word, deviation, range, |v| (0.0..=10.0).contains(&v))?;
                Ok(Self::Normal(NormalGaps::new(deviation)))
            }
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
            Self::UniformFrom(least) => write!(f, "uniform:{least}"),
            Self::Ascending(step) => write!(f, "ascending:{step}"),
            Self::Normal(normal) => write!(f, "normal:{}", normal.deviation),
            Self::Pareto(location, scale, shape) => write!(f, "pareto:{location},{scale},{shape}"),
            Self::Etc => f.write_str("etc"),
        }
    }
}

#[cfg(test)]
mod tests;
