//! The times of one kind of operation as figures, in microseconds.
//!
//! memaslap has whole microseconds and keeps no times; its percentiles are powers of two.

use memtide_metrics::histogram::Histogram;

const MIB: f64 = 1_048_576.0;

/// Statistics at one instant of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Period {
    /// The length of a period, in seconds; at least 1.
    pub length_s: u64,
    /// The time since the run began, in seconds; at least 1.
    pub elapsed_s: u64,
    /// Operations of the last period.
    pub period: Kinds,
    /// Operations since the run began.
    pub whole: Kinds,
}

/// The figures of get, of set, and of both together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinds {
    /// Gets; one of many keys counts once.
    pub gets: TimeFigures,
    /// Sets.
    pub sets: TimeFigures,
    /// Both.
    pub total: TimeFigures,
}

/// The times of some operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeFigures {
    /// The number of operations; if it is 0, so are all other figures.
    pub count: u64,
    /// Operations that found nothing.
    pub misses: u64,
    /// The shortest time.
    pub min_us: u64,
    /// The longest time.
    pub max_us: u64,
    /// The arithmetic mean.
    pub mean_us: f64,
    /// The geometric mean.
    pub geometric_mean_us: f64,
    /// The deviation of the sample (divided by count − 1); 0 below two operations.
    pub deviation_us: f64,
    /// The number of times above 2^(i−1) and at most 2^i whole microseconds, at index i; times of
    /// at most 1 are at index 0. Ends with the last count that is not 0.
    pub log2_counts: Vec<u64>,
}

impl TimeFigures {
    /// The figures of `times`, which are in nanoseconds. All are exact except the geometric mean
    /// and the counts at powers of two, which have the resolution of the histogram's buckets.
    pub fn of(times: &Histogram<u64>, misses: u64) -> Self {
        let moments = times.moments();
        let Some(mean_ns) = moments.mean() else { return Self::default() };
        let count = moments.count as f64;
        let of_sample = if moments.count > 1 { (count / (count - 1.0)).sqrt() } else { 0.0 };
        let mut logarithms = 0.0;
        let mut log2_counts = Vec::new();
        for (middle_ns, count) in times.recorded() {
            let time_ns = middle_ns.clamp(moments.min, moments.max);
            logarithms += count as f64 * (time_ns.max(1) as f64 / 1e3).ln();
            let place = log2_place(time_ns / 1000);
            if log2_counts.len() <= place {
                log2_counts.resize(place + 1, 0);
            }
            log2_counts[place] += count;
        }
        Self {
            count: moments.count,
            misses,
            min_us: moments.min / 1000,
            max_us: moments.max / 1000,
            mean_us: mean_ns / 1e3,
            geometric_mean_us: (logarithms / count).exp(),
            deviation_us: moments.deviation().unwrap_or(0.0) * of_sample / 1e3,
            log2_counts,
        }
    }

    /// The mean in whole microseconds, truncated as memaslap does.
    pub(super) fn mean_us_whole(&self) -> u64 {
        self.mean_us as u64
    }
}

/// The least i with `us` at most 2^i.
fn log2_place(us: u64) -> usize {
    us.checked_next_power_of_two().map_or(64, |power| power.trailing_zeros() as usize)
}

/// Bytes as MiB per second; 0 if no time passed.
pub(super) fn per_second_mib(bytes: u128, length_s: f64) -> f64 {
    per_second(bytes as f64 / MIB, length_s)
}

/// An amount per second; 0 if no time passed.
pub(super) fn per_second(amount: f64, length_s: f64) -> f64 {
    if length_s > 0.0 { amount / length_s } else { 0.0 }
}
