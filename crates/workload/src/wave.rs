//! How the rate changes over time: the words for it, and the curve that turns a schedule's
//! positions into instants. Draws only the levels of a random wave.

mod curve;

pub use curve::{Cursor, RateCurve};

use crate::word::{Grammar, WordError, split};
use memtide_base::Span;
use memtide_base::units::{parse_rate, parse_span};
use std::fmt;
use std::str::FromStr;

/// The rate over time, in operations per second over all workers. At least one rate is above 0, and
/// none is above 1G.
#[derive(Clone, Debug, PartialEq)]
pub enum Wave {
    /// The requested rate, throughout.
    Constant,
    /// Linear from one rate to another over the measured window; the second rate afterwards.
    Ramp {
        /// The rate at the beginning of the window.
        from: f64,
        /// The rate at its end.
        to: f64,
    },
    /// One rate after the other, starting over after the last.
    Step {
        /// The rates, at most 100 000.
        rates: Vec<f64>,
        /// The length of each step, at least 10 ms.
        every: Span,
    },
    /// A sine wave that starts at its mean, rising.
    Sine {
        /// The mean rate, above 0.
        mean: f64,
        /// The amplitude; at most the mean.
        amplitude: f64,
        /// The period, at least 10 ms.
        period: Span,
    },
    /// Rates drawn uniformly between two bounds.
    Random {
        /// The lower bound.
        min: f64,
        /// The upper bound, at least 1.
        max: f64,
        /// The length of each level, at least 10 ms.
        every: Span,
    },
}

impl Wave {
    /// The time after which the wave repeats itself; `None` if it does not, or has one rate.
    pub fn period(&self) -> Option<Span> {
        match self {
            Self::Step { rates, every } => {
                Some(Span::from_ns(every.ns().saturating_mul(rates.len() as u64)))
            }
            Self::Sine { period, .. } => Some(*period),
            Self::Constant | Self::Ramp { .. } | Self::Random { .. } => None,
        }
    }

    /// The highest rate of the wave; `None` if the wave does not change the requested rate.
    pub fn peak(&self) -> Option<f64> {
        match self {
            Self::Constant => None,
            Self::Ramp { from, to } => Some(from.max(*to)),
            Self::Step { rates, .. } => rates.iter().copied().reduce(f64::max),
            Self::Sine { mean, amplitude, .. } => Some(mean + amplitude),
            Self::Random { max, .. } => Some(*max),
        }
    }
}

/// The highest rate; instants have a resolution of one nanosecond.
const RATE_MAX: f64 = 1e9;
/// A random wave sums its levels one by one; this rate and [`EVERY_MIN`] bound how many lie between
/// two operations.
const RANDOM_RATE_MIN: f64 = 1.0;
/// The shortest step, level or period.
const EVERY_MIN: Span = Span::from_ms(10);
/// The most rates of a step wave.
const STEPS_MAX: usize = 100_000;

const GRAMMAR: Grammar = Grammar {
    what: "a wave",
    names: &["constant", "ramp", "step", "sine", "random"],
    forms: "constant, ramp:FROM,TO, step:RATE,RATE,…@EVERY, sine:MEAN,AMPLITUDE,PERIOD, or \
            random:MIN,MAX@EVERY (such as ramp:1k,20k, step:1k,5k,2k@10s, sine:10k,5k,60s, \
            random:5k,20k@1s)",
};

impl FromStr for Wave {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        match name {
            "constant" => GRAMMAR.arguments::<0>(word, arguments).map(|_| Self::Constant),
            "ramp" => {
                let [from, to] = GRAMMAR.arguments(word, arguments)?;
                let rates = [rate(word, from)?, rate(word, to)?];
                some_rate(word, &rates)?;
                Ok(Self::Ramp { from: rates[0], to: rates[1] })
            }
            "step" => {
                let (list, every) = levels(word, arguments)?;
                let rates: Vec<f64> =
                    list.split(',').map(|part| rate(word, part)).collect::<Result<_, _>>()?;
                if rates.len() > STEPS_MAX {
                    return Err(GRAMMAR.wrong(word, format!("at most {STEPS_MAX} rates fit")));
                }
                some_rate(word, &rates)?;
                Ok(Self::Step { rates, every })
            }
            "sine" => sine(word, GRAMMAR.arguments(word, arguments)?),
            "random" => random(word, arguments),
            _ => Err(GRAMMAR.unknown(word, name)),
        }
    }
}

fn sine(word: &str, [mean, amplitude, period]: [&str; 3]) -> Result<Wave, WordError> {
    let (mean, amplitude) = (rate(word, mean)?, rate(word, amplitude)?);
    some_rate(word, &[mean])?;
    if amplitude > mean {
        let reason = "the amplitude is above the mean, so the rate would fall below 0";
        return Err(GRAMMAR.wrong(word, reason));
    }
    if mean + amplitude > RATE_MAX {
        return Err(GRAMMAR.wrong(word, "mean and amplitude together are above 1G"));
    }
    Ok(Wave::Sine { mean, amplitude, period: span(word, period)? })
}

fn random(word: &str, arguments: Option<&str>) -> Result<Wave, WordError> {
    let (list, every) = levels(word, arguments)?;
    let [min, max] = GRAMMAR.arguments(word, Some(list))?;
    let (min, max) = (rate(word, min)?, rate(word, max)?);
    if min > max {
        return Err(GRAMMAR.wrong(word, "the least rate is above the greatest"));
    }
    if max < RANDOM_RATE_MIN {
        return Err(GRAMMAR.wrong(word, "the greatest rate must be at least 1 per second"));
    }
    Ok(Wave::Random { min, max, every })
}

/// Splits `LIST@EVERY`.
fn levels<'a>(word: &str, arguments: Option<&'a str>) -> Result<(&'a str, Span), WordError> {
    let (list, every) = arguments
        .and_then(|arguments| arguments.split_once('@'))
        .ok_or_else(|| GRAMMAR.wrong(word, "there is no @EVERY, the time that each rate lasts"))?;
    Ok((list, span(word, every)?))
}

fn rate(word: &str, argument: &str) -> Result<f64, WordError> {
    match parse_rate(argument) {
        Ok(rate) if rate <= RATE_MAX => Ok(rate),
        Ok(_) => Err(GRAMMAR.wrong(word, format!("'{argument}' is above 1G per second"))),
        Err(error) => Err(GRAMMAR.wrong(word, error.to_string())),
    }
}

fn some_rate(word: &str, rates: &[f64]) -> Result<(), WordError> {
    if rates.iter().all(|&rate| rate == 0.0) {
        return Err(GRAMMAR.wrong(word, "its rate would always be 0"));
    }
    Ok(())
}

fn span(word: &str, argument: &str) -> Result<Span, WordError> {
    match parse_span(argument) {
        Ok(span) if span >= EVERY_MIN => Ok(span),
        Ok(_) => Err(GRAMMAR.wrong(word, format!("'{argument}' is shorter than 10ms"))),
        Err(error) => Err(GRAMMAR.wrong(word, error.to_string())),
    }
}

impl fmt::Display for Wave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Ramp { from, to } => write!(f, "ramp:{from},{to}"),
            Self::Step { rates, every } => {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                write!(f, "step:{}@{}", rates.join(","), exact(*every))
            }
            Self::Sine { mean, amplitude, period } => {
                write!(f, "sine:{mean},{amplitude},{}", exact(*period))
            }
            Self::Random { min, max, every } => write!(f, "random:{min},{max}@{}", exact(*every)),
        }
    }
}

/// A span without rounding, in the largest unit that divides it.
fn exact(span: Span) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let fits = units.iter().find(|(factor, _)| span.ns().is_multiple_of(*factor));
    let (factor, unit) = fits.expect("one nanosecond divides every span");
    format!("{}{unit}", span.ns() / factor)
}

#[cfg(test)]
mod tests;
