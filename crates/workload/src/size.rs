//! Laws of sizes in bytes, as users write them. A size is a function of one uniform number; callers
//! clamp it to what a key or value may be.

mod draws;

pub use draws::Draws;

use crate::word::{Grammar, WordError, split};
use memtide_base::law::{ETC_KEY, Law};
use memtide_base::rng::Stream;
use memtide_base::units::parse_size;
use std::fmt;
use std::str::FromStr;

/// A law of sizes in whole bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeLaw {
    law: Law,
    least: u64,
    most: Option<u64>,
    /// True if each size is the law's draw plus the number of sizes before it.
    ascends: bool,
    /// The word in its canonical form, which parses to an equal law.
    word: String,
}

/// The largest size allowed: memcached's own limit.
const SIZE_MAX: u64 = 1 << 30;
/// A table has at most this many rows.
const ROWS_MAX: usize = 1000;

const GRAMMAR: Grammar = Grammar {
    what: "a size law",
    names: &[
        "fixed",
        "uniform",
        "uniform-real",
        "ascending",
        "normal",
        "mutilate-normal",
        "exponential",
        "pareto",
        "gev",
        "etc-key",
        "etc-value",
        "table",
    ],
    forms: "a size up to 1GiB (such as 200 or 64KiB), fixed:SIZE, uniform:LEAST,MOST, \
            uniform-real:LEAST,MOST, ascending:FIRST, normal:MEAN,DEVIATION, \
            mutilate-normal:MEAN,DEVIATION, exponential:MEAN, pareto:LOCATION,SCALE,SHAPE, \
            gev:LOCATION,SCALE,SHAPE, etc-key, etc-value, or table:SIZE=WEIGHT,SIZE=WEIGHT,…",
};

impl SizeLaw {
    /// Always `bytes`, at most 1 GiB.
    pub fn fixed(bytes: u64) -> Self {
        let bytes = bytes.min(SIZE_MAX);
        let word = format!("fixed:{bytes}");
        let (law, most) = (Law::Fixed(bytes as f64), Some(bytes));
        Self { law, least: bytes, most, ascends: false, word }
    }

    /// The law over real numbers; a size is its draw rounded to whole bytes. A uniform law extends
    /// half a byte past both ends, so that all sizes are equally likely.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// The smallest size in bytes, and the largest if there is one.
    pub fn bounds(&self) -> (u64, Option<u64>) {
        (self.least, self.most)
    }

    /// The largest size in bytes, clamped to `bytes_max`.
    pub fn largest(&self, bytes_max: u64) -> u64 {
        self.most.map_or(bytes_max, |most| most.min(bytes_max))
    }

    /// The size of a law that has only one.
    pub(crate) fn constant(&self) -> Option<u64> {
        match self.law {
            Law::Fixed(_) if !self.ascends => Some(self.least),
            _ => None,
        }
    }

    /// True if the user wrote both bounds, so that they must not be clamped.
    pub(crate) fn is_spelt_out(&self) -> bool {
        !self.ascends && matches!(self.law, Law::Fixed(_) | Law::Uniform(..) | Law::Table(_))
    }

    /// True if a size depends on the number of sizes before it.
    pub fn ascends(&self) -> bool {
        self.ascends
    }

    /// The share of draws above `bytes`; 0 if sizes ascend.
    pub(crate) fn share_above(&self, bytes: u64) -> f64 {
        if self.ascends || self.most.is_some_and(|most| most <= bytes) {
            return 0.0;
        }
        // mutilate's draws of a normal law neither grow with `u` nor differ much from that law's.
        let grows = match self.law {
            Law::MutilateNormal(mean, deviation) => Law::Normal(mean, deviation),
            ref law => law.clone(),
        };
        let (mut below, mut above) = (0.0, 1.0);
        for _ in 0..u64::BITS {
            let between = f64::midpoint(below, above);
            let is_above = grows.quantile(between) + 0.5 >= (bytes + 1) as f64;
            *(if is_above { &mut above } else { &mut below }) = between;
        }
        1.0 - above
    }

    /// The size for `u` in (0, 1).
    pub(crate) fn size_at(&self, u: f64) -> u64 {
        // A cast saturates: negative numbers become zero.
        let size = (self.law.quantile(u) + 0.5) as u64;
        size.clamp(self.least, self.most.unwrap_or(u64::MAX))
    }

    fn of(law: Law, word: String) -> Self {
        let (least, most) = bounds_of(&law);
        Self { law, least: whole(least), most: most.map(whole), ascends: false, word }
    }
}

/// The nearest whole size.
fn whole(bound: f64) -> u64 {
    (bound + 0.5) as u64
}

/// The range of a law's draws; the upper end may be open.
fn bounds_of(law: &Law) -> (f64, Option<f64>) {
    match law {
        Law::Fixed(value) => (*value, Some(*value)),
        Law::Uniform(low, high) => (low + 0.5, Some(high - 0.5)),
        Law::Normal(..) | Law::MutilateNormal(..) => (0.0, None),
        Law::Exponential(_) | Law::EtcValue => (0.0, None),
        Law::Pareto(location, scale, shape) => {
            (*location, (*shape < 0.0).then(|| location - scale / shape))
        }
        Law::Gev(location, scale, shape) if *shape > 0.0 => (location - scale / shape, None),
        Law::Gev(location, scale, shape) => (0.0, (*shape < 0.0).then(|| location - scale / shape)),
        Law::Table(entries) => {
            let ends = entries.first().zip(entries.last());
            let (first, last) = ends.expect("a table has at least one row");
            (first.0, Some(last.0))
        }
    }
}

impl FromStr for SizeLaw {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        match name {
            "fixed" => {
                let [bytes] = GRAMMAR.arguments(word, arguments)?;
                Ok(Self::fixed(size(word, bytes)?))
            }
            "uniform" => {
                let [least, most] = GRAMMAR.arguments(word, arguments)?;
                uniform(word, size(word, least)?, size(word, most)?)
            }
            "uniform-real" => {
                let [least, most] = GRAMMAR.arguments(word, arguments)?;
                uniform_real(word, amount(word, least)?, amount(word, most)?)
            }
            "ascending" => {
                let [first] = GRAMMAR.arguments(word, arguments)?;
                let first = amount(word, first)?;
                let law = Self::of(Law::Fixed(first), format!("ascending:{first}"));
                Ok(Self { most: None, ascends: true, ..law })
            }
            "normal" | "mutilate-normal" => {
                let [mean, deviation] = GRAMMAR.arguments(word, arguments)?;
                let (mean, deviation) = (amount(word, mean)?, amount(word, deviation)?);
                let canonical = format!("{name}:{mean},{deviation}");
                let law = if name == "normal" { Law::Normal } else { Law::MutilateNormal };
                Ok(Self::of(law(mean, deviation), canonical))
            }
            "exponential" => {
                let [mean] = GRAMMAR.arguments(word, arguments)?;
                let mean = amount(word, mean)?;
                Ok(Self::of(Law::Exponential(mean), format!("exponential:{mean}")))
            }
            "pareto" | "gev" => {
                let (location, scale, shape) = three(word, arguments)?;
                let canonical = format!("{name}:{location},{scale},{shape}");
                let law = if name == "gev" { Law::Gev } else { Law::Pareto };
                Ok(Self::of(law(location, scale, shape), canonical))
            }
            "etc-key" | "etc-value" => {
                let [] = GRAMMAR.arguments(word, arguments)?;
                let law = if name == "etc-key" { ETC_KEY } else { Law::EtcValue };
                Ok(Self::of(law, name.to_owned()))
            }
            "table" => table(word, arguments.unwrap_or("")),
            _ if arguments.is_none() && name.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok(Self::fixed(size(word, name)?))
            }
            _ => Err(GRAMMAR.unknown(word, name)),
        }
    }
}

fn uniform(word: &str, least: u64, most: u64) -> Result<SizeLaw, WordError> {
    if least > most {
        let reason = format!("the least size {least} is above the greatest {most}");
        return Err(GRAMMAR.wrong(word, reason));
    }
    let law = Law::Uniform(least as f64 - 0.5, most as f64 + 0.5);
    Ok(SizeLaw::of(law, format!("uniform:{least},{most}")))
}

fn uniform_real(word: &str, least: f64, most: f64) -> Result<SizeLaw, WordError> {
    if least > most {
        let reason = format!("the least size {least} is above the greatest {most}");
        return Err(GRAMMAR.wrong(word, reason));
    }
    let canonical = format!("uniform-real:{least},{most}");
    let law = Law::Uniform(least, most);
    let (least, most) = (whole(least), Some(whole(most)));
    Ok(SizeLaw { law, least, most, ascends: false, word: canonical })
}

fn three(word: &str, arguments: Option<&str>) -> Result<(f64, f64, f64), WordError> {
    let [location, scale, shape] = GRAMMAR.arguments(word, arguments)?;
    let scale = amount(word, scale)?;
    if scale <= 0.0 {
        return Err(GRAMMAR.wrong(word, "the scale must be above 0"));
    }
    let range = "a shape from -10 to 10";
    let shape = GRAMMAR.number(word, shape, range, |value| value.abs() <= 10.0)?;
    Ok((amount(word, location)?, scale, shape))
}

fn table(word: &str, rows: &str) -> Result<SizeLaw, WordError> {
    let mut weighted = Vec::new();
    for row in rows.split(',') {
        let (bytes, weight) = row
            .split_once('=')
            .ok_or_else(|| GRAMMAR.wrong(word, format!("'{row}' is not SIZE=WEIGHT")))?;
        let bytes = size(word, bytes.trim())?;
        let range = "a weight above 0 and up to 1e12";
        let weight = GRAMMAR.number(word, weight.trim(), range, |v| v > 0.0 && v <= 1e12)?;
        weighted.push((bytes, weight));
    }
    weighted.sort_by_key(|&(bytes, _)| bytes);
    if let Some(pair) = weighted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(GRAMMAR.wrong(word, format!("the size {} is given twice", pair[0].0)));
    }
    if weighted.len() > ROWS_MAX {
        return Err(GRAMMAR.wrong(word, format!("a table has at most {ROWS_MAX} rows")));
    }
    let rows: Vec<String> = weighted.iter().map(|(bytes, w)| format!("{bytes}={w}")).collect();
    let weighted: Vec<(f64, f64)> = weighted.iter().map(|&(b, w)| (b as f64, w)).collect();
    let law = Law::table(&weighted).expect("all weights are positive and finite");
    Ok(SizeLaw::of(law, format!("table:{}", rows.join(","))))
}

/// Parses a whole size in bytes.
fn size(word: &str, argument: &str) -> Result<u64, WordError> {
    match parse_size(argument) {
        Ok(bytes) if bytes <= SIZE_MAX => Ok(bytes),
        Ok(_) => Err(GRAMMAR.wrong(word, format!("'{argument}' is above 1GiB"))),
        Err(error) => Err(GRAMMAR.wrong(word, error.to_string())),
    }
}

/// Parses a parameter in bytes, which need not be whole.
fn amount(word: &str, argument: &str) -> Result<f64, WordError> {
    match argument.parse::<f64>() {
        Ok(value) if (0.0..=SIZE_MAX as f64).contains(&value) => Ok(value),
        Ok(_) => Err(GRAMMAR.wrong(word, format!("'{argument}' must be from 0 to 1GiB"))),
        Err(_) => size(word, argument).map(|bytes| bytes as f64),
    }
}

impl fmt::Display for SizeLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)
    }
}

/// Sizes of a law, by index.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    law: SizeLaw,
    constant: Option<u64>,
    size_max: u64,
    draws: Draws,
    seed: u64,
    stream: Stream,
}

impl Sizes {
    /// Sizes by `law`, clamped to `0..=size_max`, drawn by the run's seed.
    pub(crate) fn new(law: SizeLaw, size_max: u64, seed: u64, stream: Stream) -> Self {
        let constant = law.constant().map(|size| size.min(size_max));
        Self { law, constant, size_max, draws: Draws::Seed, seed, stream }
    }

    /// These sizes with another source of draws.
    pub(crate) fn with_draws(self, draws: Draws) -> Self {
        Self { draws, ..self }
    }

    /// The source of draws.
    pub(crate) fn draws(&self) -> Draws {
        self.draws
    }

    /// The largest possible size.
    pub(crate) fn largest(&self) -> u64 {
        self.law.largest(self.size_max)
    }

    /// Size `index`.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        match self.constant {
            Some(size) => size,
            None => self.drawn(index),
        }
    }

    fn drawn(&self, index: u64) -> u64 {
        if let (true, Law::Fixed(first)) = (self.law.ascends, &self.law.law) {
            let size = (first + index as f64).round_ties_even() as u64;
            return size.min(self.size_max);
        }
        let unit = self.draws.unit(self.seed, self.stream, index);
        let size = self.law.size_at(unit).min(self.size_max);
        debug_assert!(size <= self.largest(), "a law draws more than its largest size");
        size
    }
}

#[cfg(test)]
mod tests;
