//! Abort conditions, judged on one second of the load: of one process, or of all agents together.

use super::Interval;
use crate::judge::judge;
use crate::record::{
    Aborted, Distribution, GoalResult, PlanRecord, RateRecord, Record, Totals, per_second,
};
use memtide_base::Span;
use memtide_base::choice::RateUnit;
use memtide_scenario::{Goal, Subject};

/// Time at the beginning of a load in which no condition aborts it.
const GRACE: Span = Span::from_s(5);

impl Interval {
    /// Returns the first of `conditions` that is true of this second, with the figure. None during
    /// the first 5 s of the load, and if the load was over at the second's end. An unanswered
    /// operation counts as taking at least `timeout`.
    pub fn aborted(&self, conditions: &[Goal], timeout: Span) -> Option<Aborted> {
        let after = self.end();
        if conditions.is_empty() || self.is_over || after < GRACE {
            return None;
        }
        let record = self.as_record(conditions, timeout);
        let judged = judge(conditions, &record);
        let met = judged.into_iter().find(|condition| condition.result == GoalResult::Met)?;
        Some(Aborted {
            condition: met.goal,
            measured: met.measured,
            why: met.why,
            after_s: after.as_s_f64(),
        })
    }

    /// Record with what conditions are judged by: operations ended, by outcome; operations sent;
    /// response times of measured operations, of the kinds that `conditions` name.
    fn as_record(&self, conditions: &[Goal], timeout: Span) -> Record {
        let counts = &self.counts;
        let totals = Totals {
            intended: counts.settled,
            answered: counts.answered,
            failed: counts.failed,
            timed_out: counts.timed_out,
            lost: counts.lost,
            // Every drop counts here, and noreply operations are among those that ended.
            dropped: counts.dropped,
            dropped_at_end: counts.dropped,
            abandoned: counts.abandoned,
            ..Totals::default()
        };
        let kinds = conditions.iter().filter_map(|condition| match condition.subject {
            Subject::Response { kind, .. } => Some(kind),
            _ => None,
        });
        let times = kinds.map(|kind| {
            let times = self.response.get(&kind).cloned().unwrap_or_default();
            let above = self.unanswered.get(&kind).copied().unwrap_or(0);
            (kind, Distribution::of(&times, above, timeout))
        });
        let rate_unit = self.keys_sent.map(|_| RateUnit::Keys.to_string());
        Record {
            totals,
            plan: PlanRecord { rate_unit, ..PlanRecord::default() },
            rate: RateRecord {
                achieved_per_s: per_second(counts.sent, self.length),
                keys_per_s: self.keys_sent.map(|keys| per_second(keys, self.length)),
                answered_per_s: Some(per_second(counts.answered, self.length)),
                ..RateRecord::default()
            },
            response: times.collect(),
            ..Record::default()
        }
    }
}
