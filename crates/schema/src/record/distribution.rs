//! Distributions: the figures of many times, with what is needed to merge them exactly.
//!
//! Unanswered operations rank above every answered one; a percentile that falls among them, or
//! has too few samples, is absent and says why.

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Many times, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Distribution {
    /// Operations ranked, unanswered ones included.
    pub count: u64,
    /// Operations that failed, timed out, were lost, dropped or abandoned: they rank highest.
    pub unanswered: u64,
    /// The mean of the answered operations; none when there were none.
    pub mean_ns: Option<f64>,
    /// The lower bound of the mean, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ci_low_ns: Option<f64>,
    /// The upper bound of the mean, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ci_high_ns: Option<f64>,
    /// The standard deviation of the answered operations; none below two.
    pub stddev_ns: Option<f64>,
    /// The shortest of the answered operations, exact.
    pub min_ns: Option<u64>,
    /// The longest of the answered operations, exact.
    pub max_ns: Option<u64>,
    /// The median; like every percentile none when it is in `missing`.
    pub p50_ns: Option<u64>,
    /// The lower bound of the median, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci_low_ns: Option<u64>,
    /// The upper bound of the median, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci_high_ns: Option<u64>,
    /// The 90th percentile.
    pub p90_ns: Option<u64>,
    /// The lower bound of the 90th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ci_low_ns: Option<u64>,
    /// The upper bound of the 90th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ci_high_ns: Option<u64>,
    /// The 95th percentile.
    pub p95_ns: Option<u64>,
    /// The lower bound of the 95th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ci_low_ns: Option<u64>,
    /// The upper bound of the 95th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ci_high_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The lower bound of the 99th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci_low_ns: Option<u64>,
    /// The upper bound of the 99th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci_high_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// The lower bound of the 99.9th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ci_low_ns: Option<u64>,
    /// The upper bound of the 99.9th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ci_high_ns: Option<u64>,
    /// The 99.99th percentile.
    pub p9999_ns: Option<u64>,
    /// The lower bound of the 99.99th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ci_low_ns: Option<u64>,
    /// The upper bound of the 99.99th percentile, with 95 % confidence; absent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ci_high_ns: Option<u64>,
    /// What every unanswered operation took at least; none when all were answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    /// What is known of those that the end of the window cut off; none when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Why percentiles are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<Percentile, Missing>,
    /// Times above the histogram's range, counted at its end.
    pub saturated: u64,
    /// The sum of the answered operations, in ns.
    pub sum_ns: Wide,
    /// The sum of their squares, in ns².
    pub sum_squares_ns2: Wide,
    /// The answered operations as an HdrHistogram: V2, deflated, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
}

impl Distribution {
    /// A percentile in ns, when it can be printed.
    pub const fn percentile(&self, percentile: Percentile) -> Option<u64> {
        match percentile {
            Percentile::P50 => self.p50_ns,
            Percentile::P90 => self.p90_ns,
            Percentile::P95 => self.p95_ns,
            Percentile::P99 => self.p99_ns,
            Percentile::P999 => self.p999_ns,
            Percentile::P9999 => self.p9999_ns,
        }
    }

    /// What a percentile that falls among the unanswered operations is at least, in ns.
    pub fn percentile_at_least(&self, percentile: Percentile) -> Option<u64> {
        if self.missing.get(&percentile) != Some(&Missing::Unanswered) {
            return None;
        }
        let bound = self.bounds.as_ref().and_then(|bounds| bounds.percentiles_ns.get(&percentile));
        bound.copied().or(self.at_least_ns)
    }

    /// What the longest operation of all took at least, in ns, when it was not answered.
    pub fn max_at_least(&self) -> Option<u64> {
        let at_least = self.at_least_ns.filter(|_| self.unanswered > 0)?;
        let Some(bounds) = &self.bounds else { return Some(at_least) };
        let known = [self.max_ns, Some(bounds.max_ns), bounds.others_at_least_ns];
        known.into_iter().flatten().max()
    }

    /// Sets a percentile, or why it is absent.
    pub fn set_percentile(&mut self, percentile: Percentile, value: Result<u64, Missing>) {
        let slot = match percentile {
            Percentile::P50 => &mut self.p50_ns,
            Percentile::P90 => &mut self.p90_ns,
            Percentile::P95 => &mut self.p95_ns,
            Percentile::P99 => &mut self.p99_ns,
            Percentile::P999 => &mut self.p999_ns,
            Percentile::P9999 => &mut self.p9999_ns,
        };
        *slot = value.as_ref().ok().copied();
        match value {
            Ok(_) => self.missing.remove(&percentile),
            Err(why) => self.missing.insert(percentile, why),
        };
    }
}

/// How long operations took at least which the end of the window cut off: they were due and not
/// sent, or sent and not answered within the second after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Bounds {
    /// How many there were; they are some of the unanswered ones.
    pub count: u64,
    /// The least bound, exact.
    pub min_ns: u64,
    /// The greatest bound, exact.
    pub max_ns: u64,
    /// What each of the other unanswered operations took at least; none when there was no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_at_least_ns: Option<u64>,
    /// Of the percentiles that fall among the unanswered operations what they are at least: the
    /// same percentile of the answered times and all bounds together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles_ns: BTreeMap<Percentile, u64>,
    /// Bounds above the histogram's range, counted at its end.
    pub saturated: u64,
    /// The sum of the bounds, in ns.
    pub sum_ns: Wide,
    /// The sum of their squares, in ns².
    pub sum_squares_ns2: Wide,
    /// The bounds as an HdrHistogram: V2, deflated, in base64.
    pub histogram: String,
}

/// The percentiles that are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Percentile {
    /// The median.
    P50,
    /// 90 %.
    P90,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// 99.99 %.
    P9999,
}

impl Percentile {
    /// Every published percentile, ascending.
    pub const ALL: [Self; 6] =
        [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999, Self::P9999];

    /// The part of the operations at or below it, 0 to 1.
    pub const fn fraction(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
            Self::P9999 => 0.9999,
        }
    }
}

impl fmt::Display for Percentile {
    /// As people write it: `p99.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
        })
    }
}

/// Why a percentile is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Missing {
    /// Too few operations to tell it with 95 % confidence.
    TooFew {
        /// How many it needs.
        needed: u64,
        /// How many there were.
        has: u64,
    },
    /// It falls among the unanswered operations, so it is above `at_least_ns`, and above what
    /// `bounds` says of it.
    Unanswered,
}

/// How many, rather than how long: the figures of many counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Counts {
    /// How many counts were taken.
    pub count: u64,
    /// Their mean; none when there were none.
    pub mean: Option<f64>,
    /// The lowest.
    pub min: Option<u64>,
    /// The median.
    pub p50: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// The highest.
    pub max: Option<u64>,
    /// Their sum.
    pub sum: Wide,
    /// The sum of their squares.
    pub sum_squares: Wide,
    /// The counts as an HdrHistogram: V2, deflated, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
}

/// Whose the lag was. Each part is a distribution over all operations sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LagSplit {
    /// The operation could have been sent, and the generator had not come to it.
    pub generator: Distribution,
    /// Connections were full or not writable while the worker was busy: the generator's too.
    pub client_busy: Distribution,
    /// Connections were full or not writable while the worker was idle: the server's.
    pub server: Distribution,
    /// No connection was open.
    pub disconnected: Distribution,
}

/// A whole number that may exceed what JSON readers hold exactly; written as a decimal string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wide(pub u128);

impl Serialize for Wide {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Wide {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        word.parse().map(Self).map_err(|_| {
            de::Error::custom(format_args!("'{word}' is not a whole number below 2^128"))
        })
    }
}

#[cfg(test)]
impl JsonSchema for Wide {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Wide".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]{1,39}$",
            "description": "A whole number as a decimal string, because it may exceed 2^53."
        })
    }
}
