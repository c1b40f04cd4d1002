//! Abort conditions: each is judged about ten times a second over the last second.
//!
//! It stores only the sums of that second, and nothing without conditions.

use super::kinds::{keys_sent, merged, unanswered};
use memtide_base::{Instant, Span};
use memtide_metrics::{Counters, Histogram, TallySum};
use memtide_record::{Aborted, Interval, SettledCounts};
use memtide_scenario::{Goal, Kind, Subject};
use memtide_world::plan::segment;
use memtide_world::{Plan, RateUnit};
use std::collections::{BTreeMap, VecDeque};

/// Length of time over which a condition is judged.
const OVER: Span = Span::from_s(1);

/// The conditions, and the sums of the last second.
pub(crate) struct Watch<'a> {
    conditions: &'a [Goal],
    looks: VecDeque<Look>,
}

/// The sums at one instant.
struct Look {
    at: Instant,
    /// Counters of all segments.
    all: Counters,
    measured: Counters,
    /// Response times of measured operations, for the kinds that conditions name.
    response: BTreeMap<Kind, Histogram<u64>>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(conditions: &'a [Goal]) -> Self {
        Self { conditions, looks: VecDeque::new() }
    }

    /// The first condition that is true of the last second, if any.
    pub(super) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        now: Instant,
        totals: &TallySum,
    ) -> Option<Aborted> {
        if self.conditions.is_empty() || now < start || is_over(plan, start, now, totals) {
            return None;
        }
        self.looks.push_back(self.sums(plan, now, totals));
        while self.looks.get(1).is_some_and(|next| now.since(next.at) >= OVER) {
            self.looks.pop_front();
        }
        let (first, last) = (self.looks.front()?, self.looks.back()?);
        if now.since(first.at) < OVER {
            return None;
        }
        last.since(first, plan, start).aborted(self.conditions, plan.timeout)
    }

    fn sums(&self, plan: &Plan, at: Instant, totals: &TallySum) -> Look {
        let mut all = Counters::default();
        totals.segments.iter().for_each(|segment| all += segment);
        let kinds = self.conditions.iter().filter_map(|condition| match condition.subject {
            Subject::Response { kind, .. } => Some(kind),
            _ => None,
        });
        Look {
            at,
            all,
            measured: totals.segments[usize::from(segment::MEASURE)].clone(),
            response: kinds
                .map(|kind| (kind, merged(&totals.times.response, kind, plan)))
                .collect(),
        }
    }
}

impl Look {
    /// Growth between `first` and this look, of a load of `plan` that began at `start`, as far as
    /// conditions need it.
    fn since(&self, first: &Self, plan: &Plan, start: Instant) -> Interval {
        let response = self.response.iter();
        let times = response.map(|(&kind, times)| (kind, times.since(&first.response[&kind])));
        let unanswered = self.response.keys().map(|&kind| {
            (kind, unanswered(&self.measured, kind) - unanswered(&first.measured, kind))
        });
        Interval {
            start: first.at.since(start),
            length: self.at.since(first.at),
            counts: SettledCounts::from(&self.all).since(&SettledCounts::from(&first.all)),
            keys_sent: (plan.unit == RateUnit::Keys)
                .then(|| keys_sent(&self.all) - keys_sent(&first.all)),
            response: times.collect(),
            unanswered: unanswered.collect(),
            ..Interval::default()
        }
    }
}

/// True if the measured window has ended, or nothing more will be issued: later outcomes say
/// nothing about the load.
pub(super) fn is_over(plan: &Plan, start: Instant, now: Instant, totals: &TallySum) -> bool {
    now >= plan.window.measure_end(start) || is_all_issued(plan, totals)
}

/// True if nothing more will be issued.
fn is_all_issued(plan: &Plan, totals: &TallySum) -> bool {
    let issued: u64 = totals.segments.iter().map(|segment| segment.intended).sum();
    plan.window.ops_max.is_some_and(|most| issued >= plan.own_ops(most))
        || plan
            .churn()
            .and_then(|churn| churn.openings_max)
            .is_some_and(|most| connects_begun(totals) >= plan.own_ops(most))
}

/// Number of connections that churn has begun to open.
fn connects_begun(totals: &TallySum) -> u64 {
    let churn = totals.churn.as_deref();
    churn.map_or(0, |churn| churn.segments.iter().map(|segment| segment.intended).sum())
}
