//! Converts measurements to the figures of a record, and back as far as those are exact.
//!
//! No sums are computed here: each figure gets its name, or the reason for its absence.

mod moments;

pub use moments::mean_at_least;

use super::count::PhaseCounts;
use super::distribution::{Bounds, Counts, Distribution, Missing, Percentile, Wide};
use super::{IntervalRecord, IntervalTimes, SliceRecord};
use memtide_base::Span;
use memtide_metrics::Row;
use memtide_metrics::counter::Counters;
use memtide_metrics::histogram::{Histogram, Moments};
use memtide_metrics::series::GetTimes;
use memtide_metrics::summary::{Quantile, quantile, rank};
use memtide_scenario::Kind;
use memtide_workload::OpKind;
use moments::Unanswered;

impl Distribution {
    /// The figures of `times`. `unanswered` operations rank above these; each took at least
    /// `at_least`.
    pub fn of(times: &Histogram<u64>, unanswered: u64, at_least: Span) -> Self {
        Self::cut_off(times, unanswered, at_least, &Histogram::new())
    }

    /// A distribution in which some unanswered operations have lower bounds of their own: `bounds`.
    /// Each other unanswered operation took at least `at_least`.
    pub fn cut_off(
        times: &Histogram<u64>,
        unanswered: u64,
        at_least: Span,
        bounds: &Histogram<u64>,
    ) -> Self {
        let moments = times.moments();
        let is_any = moments.count > 0;
        let mut distribution = Self {
            count: moments.count.saturating_add(unanswered),
            unanswered,
            min_ns: is_any.then_some(moments.min),
            at_least_ns: Some(at_least.ns()).filter(|&ns| unanswered > 0 && ns > 0),
            saturated: moments.saturated,
            sum_ns: Wide(moments.sum),
            sum_squares_ns2: Wide(moments.sum_squares),
            histogram: is_any.then(|| times.to_text()),
            ..Self::default()
        };
        let others = unanswered.saturating_sub(bounds.count());
        let known = Unanswered { bounds, others, others_at_least_ns: at_least.ns() };
        distribution.set_moments(moments, &known);
        for percentile in Percentile::ALL {
            let value = match quantile(times, unanswered, percentile.fraction()) {
                Quantile::Known(value) => Ok(value),
                Quantile::Unanswered => Err(Missing::Unanswered),
                Quantile::TooFew { needed } => {
                    Err(Missing::TooFew { needed, has: distribution.count })
                }
            };
            distribution.set_percentile(percentile, value);
        }
        if bounds.count() > 0 {
            distribution.bound(times, &known);
        }
        distribution
    }

    /// Sets the facts about `unanswered` operations.
    fn bound(&mut self, times: &Histogram<u64>, unanswered: &Unanswered<'_>) {
        let Unanswered { bounds, others, others_at_least_ns: at_least_ns } = *unanswered;
        let mut pooled = times.clone();
        pooled.absorb(bounds);
        let among = self.missing.iter().filter(|(_, why)| **why == Missing::Unanswered);
        let percentiles_ns = among.map(|(&percentile, _)| {
            let rank = rank(percentile.fraction(), self.count);
            (percentile, pooled_at_rank(&pooled, others, at_least_ns, rank))
        });
        let moments = bounds.moments();
        let others_at_least_ns = (others > 0).then_some(at_least_ns);
        self.at_least_ns = others_at_least_ns.into_iter().chain([moments.min]).min();
        self.bounds = Some(Bounds {
            count: moments.count,
            min_ns: moments.min,
            max_ns: moments.max,
            others_at_least_ns,
            percentiles_ns: percentiles_ns.collect(),
            saturated: moments.saturated,
            sum_ns: Wide(moments.sum),
            sum_squares_ns2: Wide(moments.sum_squares),
            histogram: bounds.to_text(),
        });
    }

    /// Recovers the bounds passed to [`Distribution::cut_off`]; none if the figures are impossible.
    pub fn bounds(&self) -> Option<Histogram<u64>> {
        let Some(bounds) = &self.bounds else { return Some(Histogram::new()) };
        let moments = Moments {
            count: bounds.count,
            saturated: bounds.saturated,
            min: bounds.min_ns,
            max: bounds.max_ns,
            sum: bounds.sum_ns.0,
            sum_squares: bounds.sum_squares_ns2.0,
        };
        read_histogram(Some(&bounds.histogram), moments)
    }

    /// Recovers the times passed to [`Distribution::of`]; none if the figures are impossible.
    pub fn times(&self) -> Option<Histogram<u64>> {
        let moments = Moments {
            count: self.count.checked_sub(self.unanswered)?,
            saturated: self.saturated,
            min: self.min_ns.unwrap_or(Moments::EMPTY.min),
            max: self.longest_answered().unwrap_or(Moments::EMPTY.max),
            sum: self.sum_ns.0,
            sum_squares: self.sum_squares_ns2.0,
        };
        read_histogram(self.histogram.as_deref(), moments)
    }
}

/// Value at `rank` of `pooled` together with `others` more values, each of which is `at_least_ns`.
fn pooled_at_rank(pooled: &Histogram<u64>, others: u64, at_least_ns: u64, rank: u64) -> u64 {
    let shorter = pooled.recorded().take_while(|(ns, _)| *ns < at_least_ns);
    let below = shorter.fold(0u64, |sum, (_, count)| sum.saturating_add(count));
    let value = match rank {
        _ if rank <= below => pooled.value_at_rank(rank),
        _ if rank - below <= others => None,
        _ => pooled.value_at_rank(rank - others),
    };
    value.unwrap_or(at_least_ns)
}

/// True if some values have these moments. Moments from a file may be any numbers, and ranks are
/// looked up between the minimum and the maximum.
fn are_possible(moments: &Moments) -> bool {
    let Moments { count, saturated, min, max, sum, .. } = *moments;
    match u128::from(count) {
        0 => *moments == Moments::EMPTY,
        count => {
            // Minimum and maximum may be only as exact as the buckets; the mean lies between them.
            let mean = sum / count;
            saturated <= moments.count && u128::from(min) <= mean && mean <= u128::from(max)
        }
    }
}

/// Reads a histogram that was written beside its `moments`; none if the figures are impossible.
pub(crate) fn read_histogram(histogram: Option<&str>, moments: Moments) -> Option<Histogram<u64>> {
    if !are_possible(&moments) {
        return None;
    }
    match histogram {
        Some(text) => Histogram::from_text(text, moments),
        None => (moments == Moments::EMPTY).then(Histogram::new),
    }
}

impl Counts {
    /// The figures of `counts`, a histogram of plain counts.
    pub fn of(counts: &Histogram<u64>) -> Self {
        let moments = counts.moments();
        let is_any = moments.count > 0;
        let [p50, p99] = [0.5, 0.99].map(|p| quantile(counts, 0, p).known());
        Self {
            count: moments.count,
            mean: moments.mean(),
            min: is_any.then_some(moments.min),
            p50,
            p99,
            max: is_any.then_some(moments.max),
            sum: Wide(moments.sum),
            sum_squares: Wide(moments.sum_squares),
            histogram: is_any.then(|| counts.to_text()),
        }
    }

    /// Recovers the counts passed to [`Counts::of`]; none if the figures are impossible.
    pub fn counts(&self) -> Option<Histogram<u64>> {
        let moments = Moments {
            count: self.count,
            saturated: 0,
            min: self.min.unwrap_or(Moments::EMPTY.min),
            max: self.max.unwrap_or(Moments::EMPTY.max),
            sum: self.sum.0,
            sum_squares: self.sum_squares.0,
        };
        read_histogram(self.histogram.as_deref(), moments)
    }
}

impl IntervalRecord {
    /// The stretch of a run that `row` describes, at its position in the measured window.
    pub fn of(row: &Row, start: Span, length: Span) -> Self {
        Self {
            start_s: start.as_s_f64(),
            length_s: length.as_s_f64(),
            intended: row.intended,
            ops: row.answered,
            unanswered: row.unanswered,
            rate_per_s: per_second(row.answered, length),
            hits: row.hits,
            misses: row.misses,
            response_p50_ns: row.response_quantile(0.5),
            response_p99_ns: row.response_quantile(0.99),
            gets: row.gets.as_deref().map(IntervalTimes::from),
        }
    }

    /// Recovers the row passed to [`IntervalRecord::of`], without the response times of all kinds,
    /// of which an interval keeps only two percentiles; none if its figures are impossible.
    pub fn row(&self) -> Option<Row> {
        let gets = self.gets.as_ref().map(|gets| gets.times().map(Box::new));
        Some(Row {
            intended: self.intended,
            answered: self.ops,
            unanswered: self.unanswered,
            hits: self.hits,
            misses: self.misses,
            gets: match gets {
                Some(times) => Some(times?),
                None => None,
            },
            ..Row::default()
        })
    }
}

impl From<&GetTimes> for IntervalTimes {
    fn from(times: &GetTimes) -> Self {
        let [response, service] = [&times.response, &times.service]
            .map(|times| Distribution::of(&times.histogram(), 0, Span::ZERO));
        Self { response, service }
    }
}

impl IntervalTimes {
    fn times(&self) -> Option<GetTimes> {
        let mut times = GetTimes::default();
        times.response.absorb_times(&self.response.times()?);
        times.service.absorb_times(&self.service.times()?);
        Some(times)
    }
}

/// Rate of `count` in `span`, per second; zero if no time passed.
pub fn per_second(count: u64, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { count as f64 / span.as_s_f64() }
}

impl SliceRecord {
    /// The stretch of a run that `row` describes, at its position in the measured window.
    pub fn of(row: &Row, start: Span, length: Span) -> Self {
        let times = Histogram::from_recorded(row.response.iter().map(|(&v, &count)| (v, count)));
        Self {
            start_s: start.as_s_f64(),
            length_s: length.as_s_f64(),
            answered: row.answered,
            unanswered: row.unanswered,
            histogram: times.to_text(),
        }
    }

    /// Response times of the answered operations; none if the histogram is damaged.
    pub fn times(&self) -> Option<Histogram<u64>> {
        Some(Histogram::from_recorded(self.row()?.response))
    }

    /// Recovers the counts and response times passed to [`SliceRecord::of`]; none if the histogram
    /// does not hold one time per answer.
    pub fn row(&self) -> Option<Row> {
        // A slice keeps only its buckets.
        let moments = Moments { count: self.answered, ..Moments::EMPTY };
        let times = Histogram::from_text(&self.histogram, moments)?;
        Some(Row {
            answered: self.answered,
            unanswered: self.unanswered,
            response: times.recorded().collect(),
            ..Row::default()
        })
    }
}

impl From<&Counters> for PhaseCounts {
    /// Totals, and operations sent by kind. Counters by kind are in the order of [`OpKind::ALL`].
    fn from(counters: &Counters) -> Self {
        let sent = OpKind::ALL.iter().map(|&op| (Kind::from(op), counters.kinds[op.index()].sent));
        Self { totals: counters.into(), ops: sent.filter(|&(_, sent)| sent > 0).collect() }
    }
}
