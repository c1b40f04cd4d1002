//! Conditions that end a load early: each is judged about ten times a second over the last second.
//!
//! It remembers the sums of that second only, and nothing at all without conditions.

use super::kinds::{merged, unanswered};
use memtide_base::{Instant, Span};
use memtide_engine::Plan;
use memtide_engine::plan::segment;
use memtide_metrics::{Counters, Histogram, TallySum};
use memtide_schema::record::{Aborted, Distribution, GoalResult, RateRecord, Record, Totals};
use memtide_schema::scenario::{Goal, Subject};
use memtide_schema::{Kind, judge};
use std::collections::{BTreeMap, VecDeque};

/// How long a load has to find its feet.
const GRACE: Span = Span::from_s(5);
/// What a condition is judged over.
const OVER: Span = Span::from_s(1);

/// The conditions, and the sums of the last second.
pub(crate) struct Watch<'a> {
    conditions: &'a [Goal],
    looks: VecDeque<Look>,
}

/// The sums at one instant.
struct Look {
    at: Instant,
    /// Of all segments.
    all: Counters,
    measured: Counters,
    /// Response times of measured operations, for the kinds that conditions are about.
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
        let over = now >= plan.window.measure_end(start) || is_all_issued(plan, totals);
        if self.conditions.is_empty() || now < start || over {
            return None;
        }
        self.looks.push_back(self.sums(plan, now, totals));
        while self.looks.get(1).is_some_and(|next| now.since(next.at) >= OVER) {
            self.looks.pop_front();
        }
        let (first, last) = (self.looks.front()?, self.looks.back()?);
        if now.since(first.at) < OVER || now.since(start) < GRACE {
            return None;
        }
        let record = last.since(first, plan);
        let judged = judge(self.conditions, &record).into_iter();
        let met = judged.into_iter().find(|condition| condition.result == GoalResult::Met)?;
        Some(Aborted {
            condition: met.goal,
            measured: met.measured,
            why: met.why,
            after_s: now.since(start).as_s_f64(),
        })
    }

    fn sums(&self, plan: &Plan, at: Instant, totals: &TallySum) -> Look {
        let mut all = Counters::default();
        totals.segments.iter().for_each(|segment| all += segment);
        let kinds = self.conditions.iter().filter_map(|condition| match condition.subject {
            Subject::Response { kind, .. } => Some(kind),
            Subject::Rate | Subject::Errors => None,
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
    /// A record of what came between `first` and this: operations that ended, by how they ended;
    /// what was sent; response times of the measured ones.
    fn since(&self, first: &Self, plan: &Plan) -> Record {
        let (now, then) = (&self.all, &first.all);
        let totals = Totals {
            intended: now.settled() - then.settled(),
            answered: now.answered - then.answered,
            failed: now.failed - then.failed,
            timed_out: now.timed_out - then.timed_out,
            lost: now.lost - then.lost,
            dropped: now.dropped - then.dropped,
            unacknowledged: now.unacknowledged - then.unacknowledged,
            abandoned: now.abandoned - then.abandoned,
            ..Totals::default()
        };
        let times = |(&kind, times): (&Kind, &Histogram<u64>)| {
            let times = times.since(&first.response[&kind]);
            let above = unanswered(&self.measured, kind) - unanswered(&first.measured, kind);
            (kind, Distribution::of(&times, above, plan.timeout))
        };
        let length_s = self.at.since(first.at).as_s_f64();
        Record {
            totals,
            rate: RateRecord {
                achieved_per_s: (now.sent - then.sent) as f64 / length_s,
                ..RateRecord::default()
            },
            response: self.response.iter().map(times).collect(),
            ..Record::default()
        }
    }
}

/// Whether nothing more will be issued: what is left then says nothing about the load.
fn is_all_issued(plan: &Plan, totals: &TallySum) -> bool {
    let issued = || totals.segments.iter().map(|segment| segment.intended).sum::<u64>();
    let begun = || {
        let churn = totals.churn.as_deref();
        churn.map_or(0, |churn| churn.segments.iter().map(|segment| segment.intended).sum())
    };
    plan.window.ops_max.is_some_and(|most| issued() >= plan.own_ops(most))
        || plan
            .churn()
            .and_then(|churn| churn.openings_max)
            .is_some_and(|most| begun() >= plan.own_ops(most))
}
