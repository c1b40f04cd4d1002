//! Confidence intervals of 95 % (of a search's steps: 98 %) of percentiles, mean and rate from one
//! run, whose operations depend on each other: the method of docs/measurement.md.
//!
//! An interval is printed early and wide, and refused rarely: runs that underestimate their own
//! scatter are the ones that would pass a strict refusal.

use crate::law::{
    NORMAL_99, NORMAL_975, NORMAL_995, NORMAL_9975, NORMAL_99875, beta_quantile, student,
};
use crate::longrun::LongRun;
use crate::shape::Unexplained;
use memtide_metrics::{Histogram, Slice};
use std::collections::BTreeMap;

/// Fewer slices than this say too little about their scatter.
pub const SLICES_MIN: usize = 16;
/// Operations beyond a percentile, effective ones, below which its interval is refused.
const BEYOND_MIN: f64 = 2.0;
/// Effective operations of the median below which every interval is refused. The reference of
/// `tests/recorded.rs` has 50, with which a 10 s run of on/off load at 90 % prints a wrong p90 in
/// 11 % of all runs: times are alike there for about as long as the run, so that their number is
/// overestimated by the runs that pass. With 80 it is 6 %.
const EFFECTIVE_MIN: f64 = 80.0;
/// The effective operations of any other percentile are at most those of the median divided by
/// this, as far as refusing is concerned: the median's are estimated well.
const MEDIAN_PART: f64 = 3.0;
/// Operations beyond a percentile that a rank above its upper end needs, about.
const BEYOND_OF_RANK: f64 = 3.7;
/// A run with too few slices is to be longer by this factor.
const LONGER_OF_FEW: f64 = 4.0;
/// From this percentile on, none has more effective operations than the one below it.
const TAIL: f64 = 0.9;

/// The times of one channel over a run.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The answered operations' times.
    pub whole: &'a Histogram<u64>,
    /// Operations without an answer; they rank above all others.
    pub unanswered: u64,
    /// These operations by slice, in order of time.
    pub slices: &'a [Slice],
    /// The rate that the schedule intended in each slice, in any unit; empty if it was the same in
    /// all.
    pub rates: &'a [f64],
}

/// How sure an interval is to hold the true value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// 95 of 100 do: for figures that are shown.
    P95,
    /// 98 of 100 do: for the first step of a search at a rate.
    P98,
    /// 99 of 100 do: for the second step there.
    P99,
    /// 99.5 of 100 do: for the third and fourth step there.
    P99_5,
    /// 99.75 of 100 do: for further steps there.
    P99_75,
}

impl Confidence {
    /// That of the step after `looks` earlier ones at the same rate. All steps of a rate together
    /// are wrong about a figure's side in at most 2.5 of 100 cases, if there are at most eight.
    pub const fn after(looks: u32) -> Self {
        match looks {
            0 => Self::P98,
            1 => Self::P99,
            2 | 3 => Self::P99_5,
            _ => Self::P99_75,
        }
    }

    /// The fraction of intervals that do not hold the true value.
    const fn beyond(self) -> f64 {
        match self {
            Self::P95 => 0.05,
            Self::P98 => 0.02,
            Self::P99 => 0.01,
            Self::P99_5 => 0.005,
            Self::P99_75 => 0.0025,
        }
    }

    /// The normal distribution's quantile above which half of them lie.
    const fn normal(self) -> f64 {
        match self {
            Self::P95 => NORMAL_975,
            Self::P98 => NORMAL_99,
            Self::P99 => NORMAL_995,
            Self::P99_5 => NORMAL_9975,
            Self::P99_75 => NORMAL_99875,
        }
    }

    /// Student's quantile above which half of them lie.
    fn student(self, freedom: f64) -> f64 {
        student(self.beyond(), freedom)
    }

    /// Lower end of the interval of a share that was `share` of `count` independent operations.
    /// Source: Clopper and Pearson, Biometrika 26 (1934).
    pub(crate) fn share_low(self, share: f64, count: f64) -> f64 {
        let with = share.clamp(0.0, 1.0) * count;
        match with > 0.0 {
            true => beta_quantile(self.beyond() / 2.0, with, count - with + 1.0),
            false => 0.0,
        }
    }

    /// Upper end of that interval.
    pub(crate) fn share_high(self, share: f64, count: f64) -> f64 {
        let with = share.clamp(0.0, 1.0) * count;
        match with < count {
            true => beta_quantile(1.0 - self.beyond() / 2.0, with + 1.0, count - with),
            false => 1.0,
        }
    }
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end, in ns.
    pub low: f64,
    /// Upper end, in ns.
    pub high: f64,
}

/// The interval of a percentile as fractions of the operations: the true value lies between the
/// values at these two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Fraction of the operations below the lower end.
    pub low: f64,
    /// Fraction of the operations below the upper end.
    pub high: f64,
    /// Independent operations that would be as exact.
    pub effective: f64,
}

/// Reason why a figure has no interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing was answered.
    Nothing,
    /// Too few slices hold operations.
    FewSlices,
    /// The slices do not hold every operation.
    Partial,
    /// The percentile, or its upper end, falls among unanswered operations.
    Unanswered,
    /// Too few effective operations above the percentile.
    FewBeyond {
        /// Effective operations above it.
        effective: f64,
        /// A run longer by this factor would have about enough.
        longer: f64,
    },
    /// Too few effective operations for any time.
    FewEffective {
        /// Effective operations of the median.
        effective: f64,
        /// A run longer by this factor would have about enough.
        longer: f64,
    },
}

impl Refusal {
    /// The reason as a clause for people. How much longer a run must be is no part of it: that is
    /// advice, and whether a longer run helps depends on more than this figure.
    pub fn words(&self) -> String {
        match *self {
            Self::Nothing => "nothing was answered".to_owned(),
            Self::FewSlices => "too few slices of the window hold operations".to_owned(),
            Self::Partial => "the slices do not hold every operation".to_owned(),
            Self::Unanswered => "it reaches into the unanswered operations".to_owned(),
            Self::FewBeyond { effective, .. } => format!("{} above it", operations(effective)),
            Self::FewEffective { effective, .. } => operations(effective),
        }
    }

    /// The factor by which a longer run would have about enough; none if no length would do.
    pub const fn longer(&self) -> Option<f64> {
        match *self {
            Self::FewBeyond { longer, .. } | Self::FewEffective { longer, .. } => Some(longer),
            Self::FewSlices => Some(LONGER_OF_FEW),
            Self::Nothing | Self::Partial | Self::Unanswered => None,
        }
    }
}

fn operations(effective: f64) -> String {
    match effective.floor() as u64 {
        1 => "1 effective operation".to_owned(),
        number => format!("{number} effective operations"),
    }
}

impl Sample<'_> {
    /// Number of operations, answered or not.
    pub fn count(&self) -> u64 {
        self.whole.count().saturating_add(self.unanswered)
    }

    /// The ranks between which each of `percentiles` lies, which ascend, are above 0 and below 1
    /// and begin with the median; or why they are unknown.
    pub fn ranks(&self, percentiles: &[f64]) -> Vec<Result<Ranks, Refusal>> {
        self.ranks_at(percentiles, Confidence::P95)
    }

    /// These ranks for intervals of this confidence.
    pub fn ranks_at(
        &self,
        percentiles: &[f64],
        confidence: Confidence,
    ) -> Vec<Result<Ranks, Refusal>> {
        assert_eq!(percentiles.first(), Some(&0.5), "the median decides whether any is printed");
        if let Some(refusal) = self.refusal() {
            return percentiles.iter().map(|_| Err(refusal)).collect();
        }
        let each = self.effective(percentiles, confidence);
        let of_median = each[0].plain;
        let mut tail = f64::INFINITY;
        let mut inflation = 1.0f64;
        let count = self.count() as f64;
        let ranks = percentiles.iter().zip(each).map(|(&p, mut of)| {
            if p >= TAIL {
                tail = tail.min(of.narrowed);
                inflation = inflation.max(count / of.plain);
                of = Effective { narrowed: tail, plain: count / inflation };
            }
            self.judged(p, confidence, of, of_median)
        });
        ranks.collect()
    }

    /// Independent operations that would be as exact for each of `percentiles`.
    pub(crate) fn effective(&self, percentiles: &[f64], confidence: Confidence) -> Vec<Effective> {
        let (all, count) = (Whole::of(self.slices), self.count() as f64);
        let each = percentiles.iter().map(|&p| {
            let long = self.long_run(all.residuals(self.slices, p), Slice::count);
            let inflation = (long.variance / (p * (1.0 - p) * count)).max(1.0);
            let by_student = (confidence.student(long.freedom) / confidence.normal()).powi(2);
            Effective { plain: count / inflation, narrowed: count / (inflation * by_student) }
        });
        each.collect()
    }

    /// The ranks from the effective operations of a percentile, without and with regard to how well
    /// their number is known, and from those of the median.
    fn judged(
        &self,
        p: f64,
        confidence: Confidence,
        Effective { plain: effective, narrowed }: Effective,
        of_median: f64,
    ) -> Result<Ranks, Refusal> {
        let rare = p.min(1.0 - p) / p.max(1.0 - p);
        let sure = effective.min(if p == 0.5 { of_median } else { of_median / MEDIAN_PART });
        if of_median < EFFECTIVE_MIN {
            let longer = EFFECTIVE_MIN / of_median;
            return Err(Refusal::FewEffective { effective: of_median, longer });
        }
        let beyond = effective * (1.0 - p).min(p);
        if sure * rare < BEYOND_MIN {
            let longer = (BEYOND_MIN / (sure * rare)).max(BEYOND_OF_RANK / beyond);
            return Err(Refusal::FewBeyond { effective: beyond, longer });
        }
        let (low, high) = clopper_pearson(p, narrowed, confidence);
        let count = self.count() as f64;
        let (first, last) = ((low * count).ceil(), (high * count).floor() + 1.0);
        if first < 1.0 || last > count {
            let longer = (BEYOND_OF_RANK / (narrowed * (1.0 - p).min(p))).max(1.1);
            return Err(Refusal::FewBeyond { effective: beyond, longer });
        }
        if last > self.whole.count() as f64 {
            return Err(Refusal::Unanswered);
        }
        Ok(Ranks { low, high, effective })
    }

    /// The interval between two ranks: from the lower edge of the first one's bucket to the upper
    /// edge of the last one's. None if the times have no such rank.
    pub fn between(&self, ranks: &Ranks) -> Option<Interval> {
        let count = self.count() as f64;
        let (first, last) = ((ranks.low * count).ceil(), (ranks.high * count).floor() + 1.0);
        let (low, _) = self.whole.edges_at_rank(first as u64)?;
        let (_, high) = self.whole.edges_at_rank(last as u64)?;
        // No time lies outside of the exact extremes.
        let extremes = self.whole.moments();
        let [low, high] = [low, high].map(|end| end.clamp(extremes.min, extremes.max) as f64);
        Some(Interval { low, high })
    }

    /// The interval of the answered operations' mean.
    ///
    /// # Errors
    /// If it is refused.
    pub fn mean(&self) -> Result<Interval, Refusal> {
        self.mean_at(Confidence::P95)
    }

    /// This interval with another confidence.
    ///
    /// # Errors
    /// If it is refused.
    pub fn mean_at(&self, confidence: Confidence) -> Result<Interval, Refusal> {
        // Whether the run is long enough at all is the median's to say.
        let median = self.ranks(&[0.5]);
        match median[0] {
            Ok(_) | Err(Refusal::Unanswered | Refusal::FewBeyond { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
        let count = self.whole.count() as f64;
        let sum: f64 = self.slices.iter().map(|slice| slice.sum_ns as f64).sum();
        let mean = sum / count;
        let residuals =
            self.slices.iter().map(|slice| slice.sum_ns as f64 - mean * slice.answered as f64);
        let long = self.long_run(residuals.collect(), |slice| slice.answered);
        let error = long.variance.sqrt() / count;
        let t = confidence.student(long.freedom_plain);
        let [low, high] = [t, -t].map(|t| mean - unskewed(t, long.skew) * error);
        Ok(Interval { low: low.max(0.0), high })
    }

    /// The scatter of `residuals`, one per slice in proportion to its `count` of operations, beyond
    /// what the rate of the load explains.
    fn long_run(&self, residuals: Vec<f64>, count: impl Fn(&Slice) -> u64) -> LongRun {
        let counts: Vec<f64> = self.slices.iter().map(|slice| count(slice) as f64).collect();
        let Unexplained { residuals, fitted } = Unexplained::of(residuals, &counts, self.rates);
        LongRun::of(residuals, fitted)
    }

    /// The reason for which no interval of these times can be had, whatever the figure.
    fn refusal(&self) -> Option<Refusal> {
        if self.whole.count() == 0 {
            return Some(Refusal::Nothing);
        }
        match self.holds_all() {
            false => Some(Refusal::Partial),
            true => (self.slices.len() < SLICES_MIN).then_some(Refusal::FewSlices),
        }
    }

    /// True if every operation is in a slice.
    pub(crate) fn holds_all(&self) -> bool {
        let held = self.slices.iter().fold(0u64, |sum, slice| sum.saturating_add(slice.count()));
        held == self.count()
    }
}

/// Half the width of the rate's interval as a fraction of the rate, from the number of operations
/// in each slice and the number that was intended, in any unit: without a wave, the slice's length.
/// None with too few slices.
pub fn rate_half_width(slices: &[(u64, f64)]) -> Option<f64> {
    let count: f64 = slices.iter().map(|(count, _)| *count as f64).sum();
    let intended: f64 = slices.iter().map(|(_, intended)| intended).sum();
    if slices.len() < SLICES_MIN || count <= 0.0 || intended <= 0.0 {
        return None;
    }
    let residuals = slices.iter().map(|&(of, meant)| of as f64 - count * meant / intended);
    let long = LongRun::of(residuals.collect(), 0);
    Some(Confidence::P95.student(long.freedom_plain) * long.variance.sqrt() / count)
}

/// Counts of all slices together, from which each percentile's bucket follows.
struct Whole {
    buckets: BTreeMap<u16, u64>,
    count: f64,
}

impl Whole {
    fn of(slices: &[Slice]) -> Self {
        let mut all = Slice::default();
        slices.iter().for_each(|slice| all.absorb(slice));
        Self { count: all.count() as f64, buckets: all.buckets }
    }

    /// For each slice, the number of operations above the percentile minus the number that would be
    /// there if the slice were like the whole. The bucket that holds the percentile is divided in
    /// one proportion for all slices, so that the residuals' sum is 0.
    fn residuals(&self, slices: &[Slice], p: f64) -> Vec<f64> {
        let (mut below, mut found) = (0u64, None);
        for (&bucket, &count) in &self.buckets {
            if (below + count) as f64 >= p * self.count {
                found = Some((bucket, (p * self.count - below as f64) / count as f64));
                break;
            }
            below += count;
        }
        // Without a bucket, the percentile falls among the unanswered operations, which tie.
        let unanswered = self.count - self.buckets.values().sum::<u64>() as f64;
        let within = (p * self.count - below as f64) / unanswered;
        let each = slices.iter().map(|slice| {
            let above = match found {
                Some((bucket, part)) => {
                    let inside = slice.buckets.get(&bucket).copied().unwrap_or(0) as f64;
                    let higher = slice.buckets.range(bucket + 1..).map(|(_, count)| *count);
                    let higher = higher.sum::<u64>().saturating_add(slice.unanswered);
                    higher as f64 + (1.0 - part) * inside
                }
                None => (1.0 - within) * slice.unanswered as f64,
            };
            above - (1.0 - p) * slice.count() as f64
        });
        each.collect()
    }
}

/// Independent operations that would be as exact as those of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective {
    /// Their number.
    pub(crate) plain: f64,
    /// Their number with regard to how well it is known.
    pub(crate) narrowed: f64,
}

/// The fractions below the two ends of percentile `p`'s interval for `count` independent
/// operations. Source: Clopper and Pearson, Biometrika 26 (1934).
fn clopper_pearson(p: f64, count: f64, confidence: Confidence) -> (f64, f64) {
    let above = (1.0 - p) * count;
    let half = confidence.beyond() / 2.0;
    let low = 1.0 - beta_quantile(1.0 - half, above + 1.0, count - above);
    let high = 1.0 - beta_quantile(half, above, count - above + 1.0);
    (low, high)
}

/// Student's quantile adjusted for the skewness of a mean. Source: Johnson, JASA 73 (1978), in the
/// form of Hall, JRSS B 54 (1992).
fn unskewed(t: f64, skew: f64) -> f64 {
    if skew.abs() < 1e-9 {
        return t;
    }
    ((1.0 + 6.0 * skew * (t - skew)).cbrt() - 1.0) / (2.0 * skew)
}

#[cfg(test)]
mod tests;
