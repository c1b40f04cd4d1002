//! Rows by intended instant, reported as soon as they are final: every operation intended in them
//! has been made and has its outcome.

use super::seconds::made_until;
use memtide_base::{Instant, Span};
use memtide_metrics::TallySum;
use memtide_record::IntervalRecord;
use memtide_world::Plan;
use memtide_world::fleet::Interval;

/// Longest time from an operation's deadline until its outcome is in the totals.
const ON_THE_WAY: Span = Span::from_s(1);

/// Rows reported so far.
#[derive(Default)]
pub(crate) struct Rows {
    /// End of the last reported row, from the beginning of the measured window. The number of
    /// reported rows is even, so that this remains the end of a row when neighbours are merged.
    told: Span,
}

impl Rows {
    /// The rows that are final now and were not reported before.
    pub(crate) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        looked: &Interval,
        totals: &TallySum,
    ) -> Vec<IntervalRecord> {
        // A connection's calls may be due long after the connection was.
        if plan.churn().is_some() {
            return Vec::new();
        }
        let made = made_until(looked).since(plan.window.measure_start(start));
        let passed = looked.at.since(plan.window.measure_start(start));
        let until = made.min(passed.saturating_sub(plan.timeout + ON_THE_WAY));
        let width = totals.series.width();
        let end = until.min(plan.window.duration).ns() / width.ns() / 2 * 2;
        let from = self.told.ns() / width.ns();
        let rows = totals.series.rows();
        // Later rows have no intended operations yet.
        let end = end.min(rows.len() as u64 / 2 * 2);
        let told = (from..end)
            .map(|number| IntervalRecord::of(&rows[number as usize], width * number, width));
        let told: Vec<IntervalRecord> = told.collect();
        assert!(told.is_empty() || self.told < width * end, "each row is reported once");
        self.told = self.told.max(width * end);
        told
    }

    /// Those of a record's `rows` that were not reported during the load.
    pub(crate) fn rest<'a>(
        &self,
        rows: &'a [IntervalRecord],
    ) -> impl Iterator<Item = &'a IntervalRecord> {
        let told = self.told;
        rows.iter().filter(move |row| Span::from_s_f64(row.start_s) >= told)
    }
}
