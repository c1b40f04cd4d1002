//! From what was measured to its figures in a record.
//!
//! Nothing is added up here; a figure is only given its name, or the reason for its absence.

use super::SliceRecord;
use super::base64;
use super::count::{PhaseCounts, Totals};
use super::distribution::{Counts, Distribution, Missing, Percentile, Wide};
use crate::kind::Kind;
use memtide_base::Span;
use memtide_metrics::Row;
use memtide_metrics::counter::{Counters, ErrorClass, ReplyClass};
use memtide_metrics::histogram::Histogram;
use memtide_metrics::summary::{Quantile, quantile};
use memtide_workload::OpKind;

impl Distribution {
    /// The figures of `times`, above which `unanswered` operations rank; each of those took at
    /// least `at_least`.
    pub fn of(times: &Histogram<u64>, unanswered: u64, at_least: Span) -> Self {
        let moments = times.moments();
        let some = |value: u64| (moments.count > 0).then_some(value);
        let mut distribution = Self {
            count: moments.count + unanswered,
            unanswered,
            mean_ns: moments.mean(),
            stddev_ns: moments.deviation(),
            min_ns: some(moments.min),
            max_ns: some(moments.max),
            at_least_ns: (unanswered > 0).then_some(at_least.ns()),
            saturated: moments.saturated,
            sum_ns: Wide(moments.sum),
            sum_squares_ns2: Wide(moments.sum_squares),
            histogram: some(0).map(|_| base64::encode(&times.to_bytes())),
            ..Self::default()
        };
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
        distribution
    }
}

impl Counts {
    /// The figures of `counts`, a distribution of plain counts.
    pub fn of(counts: &Histogram<u64>) -> Self {
        let moments = counts.moments();
        let some = |value: u64| (moments.count > 0).then_some(value);
        let at = |p: f64| match quantile(counts, 0, p) {
            Quantile::Known(value) => Some(value),
            Quantile::Unanswered | Quantile::TooFew { .. } => None,
        };
        Self {
            count: moments.count,
            mean: moments.mean(),
            min: some(moments.min),
            p50: at(0.5),
            p99: at(0.99),
            max: some(moments.max),
        }
    }
}

impl SliceRecord {
    /// The piece of a run that `row` describes; `start_s` and `length_s` are its place in time.
    pub fn of(row: &Row, start_s: f64, length_s: f64) -> Self {
        let times = Histogram::from_recorded(row.response.iter().map(|(&v, &count)| (v, count)));
        Self {
            start_s,
            length_s,
            answered: row.answered,
            unanswered: row.unanswered,
            histogram: base64::encode(&times.to_bytes()),
        }
    }
}

impl From<&Counters> for Totals {
    /// Every counter under its name; connections are counted elsewhere and stay zero.
    fn from(counters: &Counters) -> Self {
        let replies = ReplyClass::ALL.iter().map(|class| class.name().to_owned());
        let errors = ErrorClass::ALL.iter().map(|class| class.name().to_owned());
        Self {
            intended: counters.intended,
            sent: counters.sent,
            answered: counters.answered,
            failed: counters.failed,
            timed_out: counters.timed_out,
            timed_out_queued: counters.timed_out_queued,
            lost: counters.lost,
            dropped: counters.dropped,
            unacknowledged: counters.unacknowledged,
            abandoned: counters.abandoned,
            late_replies: counters.late_replies,
            keys: counters.keys,
            hits: counters.hits,
            misses: counters.misses,
            bytes_sent: counters.bytes_sent,
            bytes_received: counters.bytes_received,
            errors: errors.zip(counters.errors).collect(),
            replies: replies.zip(counters.replies).collect(),
            ..Self::default()
        }
    }
}

impl From<&Counters> for PhaseCounts {
    /// The totals, and the operations sent by kind; counters by kind are in the order of
    /// [`OpKind::ALL`].
    fn from(counters: &Counters) -> Self {
        let sent = OpKind::ALL.iter().map(|&op| (Kind::from(op), counters.kinds[op.index()].sent));
        Self { totals: counters.into(), ops: sent.filter(|&(_, sent)| sent > 0).collect() }
    }
}
