//! Distributions: figures of many times, with all that is needed to merge them exactly.
//!
//! Unanswered operations rank above every answered one. A percentile that falls among them, or has
//! too few samples, is absent, with the reason.

use memtide_scenario::Kind;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Figures of many times, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Distribution {
    /// Number of operations ranked, unanswered ones included.
    pub count: u64,
    /// Number of operations that failed, timed out, were lost, dropped or abandoned; these rank
    /// highest.
    pub unanswered: u64,
    /// Mean; none if there were no operations, or if some were not answered.
    pub mean_ns: Option<f64>,
    /// Lower bound of the mean if some operations were not answered; absent if nothing is known.
    /// Each counts with the least time that is known of it. If nothing is, it counts as long as the
    /// mean of the answered ones, above which it ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_at_least_ns: Option<f64>,
    /// Lower bound of the mean's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ci_low_ns: Option<f64>,
    /// Upper bound of the mean's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ci_high_ns: Option<f64>,
    /// Standard deviation; none if there were no operations, or if some were not answered.
    pub stddev_ns: Option<f64>,
    /// Lower bound of the standard deviation if some operations were not answered, to the width of
    /// a bucket; absent if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_at_least_ns: Option<f64>,
    /// Shortest answered operation, exact.
    pub min_ns: Option<u64>,
    /// Longest operation, exact; none if there were none, or if some were not answered.
    pub max_ns: Option<u64>,
    /// Lower bound of the longest operation if some were not answered; absent if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_at_least_ns: Option<u64>,
    /// Longest answered operation, exact, if others were not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_max_ns: Option<u64>,
    /// Median. Like every percentile, none if listed in `missing`.
    pub p50_ns: Option<u64>,
    /// Lower bound of the median's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci_low_ns: Option<u64>,
    /// Upper bound of the median's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci_high_ns: Option<u64>,
    /// The 90th percentile.
    pub p90_ns: Option<u64>,
    /// Lower bound of the 90th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ci_low_ns: Option<u64>,
    /// Upper bound of the 90th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ci_high_ns: Option<u64>,
    /// The 95th percentile.
    pub p95_ns: Option<u64>,
    /// Lower bound of the 95th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ci_low_ns: Option<u64>,
    /// Upper bound of the 95th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ci_high_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// Lower bound of the 99th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci_low_ns: Option<u64>,
    /// Upper bound of the 99th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ci_high_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Lower bound of the 99.9th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ci_low_ns: Option<u64>,
    /// Upper bound of the 99.9th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ci_high_ns: Option<u64>,
    /// The 99.99th percentile.
    pub p9999_ns: Option<u64>,
    /// Lower bound of the 99.99th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ci_low_ns: Option<u64>,
    /// Upper bound of the 99.99th percentile's 95 % confidence interval; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ci_high_ns: Option<u64>,
    /// Lower bound of every unanswered operation's time; none if all were answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    /// Lower bounds of the operations cut off by the end of the window; none if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Reasons for absent percentiles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<Percentile, Missing>,
    /// Independent operations that would know a percentile as exactly as these operations, which
    /// depend on each other. Absent for percentiles without an interval.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub n_effective: BTreeMap<Percentile, f64>,
    /// Reasons why percentiles have no confidence interval, as clauses for people. The mean has
    /// none if the median has none, or if there is no mean.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub no_interval: BTreeMap<Percentile, String>,
    /// Bounds of memtide's own share; absent if none are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnShare>,
    /// Number of times above the histogram's range; they are counted in its last bucket.
    pub saturated: u64,
    /// Sum of the answered operations' times, in ns.
    pub sum_ns: Wide,
    /// Sum of the squares of these times, in ns².
    pub sum_squares_ns2: Wide,
    /// Times of the answered operations as an HdrHistogram: V2, deflated, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
}

impl Distribution {
    /// Returns a percentile in ns; none if it cannot be printed.
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

    /// The 95 % confidence interval of a percentile, in ns; none if it was refused or is unknown.
    pub fn interval(&self, percentile: Percentile) -> Option<[u64; 2]> {
        let (low, high) = match percentile {
            Percentile::P50 => (self.p50_ci_low_ns, self.p50_ci_high_ns),
            Percentile::P90 => (self.p90_ci_low_ns, self.p90_ci_high_ns),
            Percentile::P95 => (self.p95_ci_low_ns, self.p95_ci_high_ns),
            Percentile::P99 => (self.p99_ci_low_ns, self.p99_ci_high_ns),
            Percentile::P999 => (self.p999_ci_low_ns, self.p999_ci_high_ns),
            Percentile::P9999 => (self.p9999_ci_low_ns, self.p9999_ci_high_ns),
        };
        low.zip(high).map(<[u64; 2]>::from)
    }

    /// Sets or removes the confidence interval of a percentile.
    pub(crate) fn set_interval(&mut self, percentile: Percentile, interval: Option<[u64; 2]>) {
        let (low, high) = match percentile {
            Percentile::P50 => (&mut self.p50_ci_low_ns, &mut self.p50_ci_high_ns),
            Percentile::P90 => (&mut self.p90_ci_low_ns, &mut self.p90_ci_high_ns),
            Percentile::P95 => (&mut self.p95_ci_low_ns, &mut self.p95_ci_high_ns),
            Percentile::P99 => (&mut self.p99_ci_low_ns, &mut self.p99_ci_high_ns),
            Percentile::P999 => (&mut self.p999_ci_low_ns, &mut self.p999_ci_high_ns),
            Percentile::P9999 => (&mut self.p9999_ci_low_ns, &mut self.p9999_ci_high_ns),
        };
        (*low, *high) = (interval.map(|[low, _]| low), interval.map(|[_, high]| high));
    }

    /// The confidence interval of the mean, in ns; none if it was refused or is unknown.
    pub fn mean_interval(&self) -> Option<[f64; 2]> {
        self.mean_ci_low_ns.zip(self.mean_ci_high_ns).map(<[f64; 2]>::from)
    }

    /// Lower bound, in ns, of a percentile that falls among the unanswered operations.
    pub fn percentile_at_least(&self, percentile: Percentile) -> Option<u64> {
        if self.missing.get(&percentile) != Some(&Missing::Unanswered) {
            return None;
        }
        let bound = self.bounds.as_ref().and_then(|bounds| bounds.percentiles_ns.get(&percentile));
        bound.copied().or(self.at_least_ns)
    }

    /// Longest answered operation, in ns; none if nothing was answered.
    pub fn longest_answered(&self) -> Option<u64> {
        self.answered_max_ns.or(self.max_ns)
    }

    /// Sets a percentile, or the reason for its absence.
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

/// Lower bounds of what figures would have been had memtide sent and read every operation at its
/// instant. The measured figures are the upper bounds. A bound of 0 says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OwnShare {
    /// Lower bounds of percentiles.
    pub low_ns: BTreeMap<Percentile, u64>,
    /// Lower ends of percentiles' ranges, which hold the true value in 95 % of runs although
    /// operations were few and memtide late. Absent for percentiles without an interval.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub range_low_ns: BTreeMap<Percentile, u64>,
    /// Lower bound of the mean; none if nothing was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_low_ns: Option<f64>,
    /// Lower end of the mean's range; none without an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_range_low_ns: Option<f64>,
}

/// The measured window in slices of equal width by intended instant, each with few buckets: what
/// confidence intervals are computed from.
///
/// A channel is a text: for each slice the number of unanswered operations, the sum of the answered
/// operations' times in ns, the number of its buckets, and for each bucket the distance from the
/// bucket before (at first from 0) and the count; seven bits per byte, deflated, base64. A bucket
/// is a sixteenth of the number of an HdrHistogram's bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Slicing {
    /// Width of a slice; the last one ends with the window.
    pub width_ns: u64,
    /// Number of slices.
    pub count: u32,
    /// Reason why no interval can be computed from the slices, as a clause for people; absent if
    /// they can be used. There are no channels then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// Response times by kind of operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    pub response: BTreeMap<Kind, String>,
    /// Service times by kind of operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    pub service: BTreeMap<Kind, String>,
    /// Response times by server, if there are 2 to 8.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, String>,
}

impl Slicing {
    /// Slices that cannot be used, and why.
    pub fn unusable(why: &str) -> Self {
        Self { unusable: Some(why.to_owned()), ..Self::default() }
    }
}

/// Lateness of memtide's workers towards one server. A worker is late from the intended instant of
/// the first operation that it sends over 2 µs late until it has nothing in flight at the server.
/// Such a stretch is of class *k* if its largest lag is from 2^k to 2^(k+1) times 2 µs, of 16
/// classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Lateness {
    /// Operations of all workers at the server.
    pub operations: u64,
    /// Length of all workers' stretches, by class.
    pub late_ns: Vec<u64>,
    /// By class, the sum over the workers of the length of a worker's stretches times its
    /// operations.
    pub weighted_ns: Vec<Wide>,
}

impl From<&memtide_metrics::Lateness> for Lateness {
    fn from(late: &memtide_metrics::Lateness) -> Self {
        Self {
            operations: late.operations,
            late_ns: late.late_ns.to_vec(),
            weighted_ns: late.weighted_ns.map(Wide).to_vec(),
        }
    }
}

impl Lateness {
    /// Adds that of other workers, saturating.
    pub fn add(&mut self, part: &Self) {
        self.operations = self.operations.saturating_add(part.operations);
        self.late_ns.resize(self.late_ns.len().max(part.late_ns.len()), 0);
        for (sum, ns) in self.late_ns.iter_mut().zip(&part.late_ns) {
            *sum = sum.saturating_add(*ns);
        }
        self.weighted_ns.resize(self.weighted_ns.len().max(part.weighted_ns.len()), Wide(0));
        for (sum, ns) in self.weighted_ns.iter_mut().zip(&part.weighted_ns) {
            sum.0 = sum.0.saturating_add(ns.0);
        }
    }
}

/// Lower bounds of the times of operations cut off by the end of the window: due but not sent, or
/// sent but not answered within the second after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Bounds {
    /// Number of these operations; they are among the unanswered ones.
    pub count: u64,
    /// Smallest bound, exact.
    pub min_ns: u64,
    /// Largest bound, exact.
    pub max_ns: u64,
    /// Lower bound for every other unanswered operation; none if there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_at_least_ns: Option<u64>,
    /// Lower bounds of the percentiles that fall among the unanswered operations: the percentile of
    /// answered times and all bounds pooled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles_ns: BTreeMap<Percentile, u64>,
    /// Number of bounds above the histogram's range; they are counted in its last bucket.
    pub saturated: u64,
    /// Sum of the bounds, in ns.
    pub sum_ns: Wide,
    /// Sum of the squares of the bounds, in ns².
    pub sum_squares_ns2: Wide,
    /// The bounds as an HdrHistogram: V2, deflated, base64.
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

    /// The percentiles of which none may claim to be known better than the one before.
    pub(crate) const CHAIN: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::P9999];

    /// Fraction of operations at or below the percentile, 0 to 1.
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
    /// Formats the percentile for people: `p99.9`.
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

/// Reason why a percentile is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Missing {
    /// Too few operations for 95 % confidence.
    TooFew {
        /// Number of operations needed.
        needed: u64,
        /// Number of operations measured.
        has: u64,
    },
    /// It falls among the unanswered operations: it is above `at_least_ns` and above its entry in
    /// `bounds`.
    Unanswered,
}

/// Figures of many counts, rather than times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Counts {
    /// Number of counts taken.
    pub count: u64,
    /// Mean; none if no count was taken.
    pub mean: Option<f64>,
    /// Lowest count.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Highest count.
    pub max: Option<u64>,
    /// Sum.
    pub sum: Wide,
    /// Sum of squares.
    pub sum_squares: Wide,
    /// The counts as an HdrHistogram: V2, deflated, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
}

/// The lag by cause. Each part is a distribution over all operations sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LagSplit {
    /// memtide's own delay: the operation could have been sent earlier.
    pub generator: Distribution,
    /// Connections were full or not writable while the worker was busy: also memtide's own delay.
    pub client_busy: Distribution,
    /// Connections were full or not writable while the worker was idle: the server's delay.
    pub server: Distribution,
    /// No connection was open.
    pub disconnected: Distribution,
}

/// A whole number that may exceed what JSON readers represent exactly; written as a decimal string.
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

/// A figure of all operations whose trend over the window is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Drifting {
    /// The median of the response time.
    P50,
    /// The 99th percentile of the response time.
    P99,
    /// The rate of a closed loop.
    Rate,
    /// Keys found, of those read.
    HitRatio,
}

impl fmt::Display for Drifting {
    /// Writes the figure's name as reports have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Rate => "rate",
            Self::HitRatio => "hit ratio",
        })
    }
}
