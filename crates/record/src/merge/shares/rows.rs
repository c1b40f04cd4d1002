//! Rows over time of shares: summed by their position in the common schedule.

use super::super::seconds::Shared;
use crate::record::{IntervalRecord, Record, ShareRows, SliceRecord};
use memtide_base::Span;
use memtide_metrics::Row;
use std::collections::BTreeMap;

/// Sums of rows.
#[derive(Clone, Default)]
pub(super) struct Rows {
    intervals: Series,
    slices: Series,
    seconds: Shared,
}

/// Rows of one width.
#[derive(Clone, Default)]
struct Series {
    /// None until two rows show it.
    width_ns: Option<u64>,
    rows: BTreeMap<u64, Row>,
}

/// Operations of each slice of a share.
pub(super) fn of(record: &Record) -> ShareRows {
    let starts = record.slices.iter().map(|slice| slice.start_s);
    let ended = record.slices.iter().map(|slice| slice.answered.saturating_add(slice.unanswered));
    let all = |counts: &BTreeMap<memtide_scenario::Kind, u64>| {
        counts.values().fold(0u64, |sum, count| sum.saturating_add(*count))
    };
    let sent = all(&record.sent_in_window).saturating_sub(all(&record.copies_in_window));
    ShareRows { width_ns: width(starts), ended: ended.collect(), sent }
}

/// Distance between the first two rows.
fn width(mut starts: impl Iterator<Item = f64>) -> Option<u64> {
    let (first, second) = (starts.next()?, starts.next()?);
    Some((Span::from_s_f64(second).ns()).saturating_sub(Span::from_s_f64(first).ns()).max(1))
}

impl Rows {
    /// Adds the rows of a record. The error names the damaged rows.
    pub(super) fn absorb(&mut self, record: &Record) -> Result<(), String> {
        let intervals = record.intervals.iter().map(|interval| interval.start_s);
        self.intervals.widen(width(intervals));
        for (number, interval) in record.intervals.iter().enumerate() {
            let row = interval.row();
            let row = row.ok_or_else(|| format!("a histogram of interval {number} is damaged"))?;
            self.intervals.add(interval.start_s, &row);
        }
        // A share that ended early may have slices of any number of rows.
        let own = width(record.slices.iter().map(|slice| slice.start_s));
        let shards = record.shards.iter().filter_map(|shard| shard.rows.as_ref()?.width_ns);
        match record.shards.is_empty() {
            true => self.slices.widen(own),
            false => shards.for_each(|width| self.slices.widen(Some(width))),
        }
        for (number, slice) in record.slices.iter().enumerate() {
            let row = slice.row().ok_or_else(|| {
                format!("slice {number} does not contain one time per answered operation")
            })?;
            self.slices.add(slice.start_s, &row);
        }
        self.seconds.absorb(record);
        Ok(())
    }

    /// Writes the sums into `record`, which already has its phases; `longest` is the longest
    /// window.
    pub(super) fn seal(self, record: &mut Record, longest: Span) {
        let Self { mut intervals, slices, seconds } = self;
        // An interval keeps no distribution. If slices are equally wide, a slice's distribution is
        // the interval's.
        if intervals.width_ns == slices.width_ns {
            for (number, slice) in &slices.rows {
                let row = intervals.rows.entry(*number).or_default();
                row.response.clone_from(&slice.response);
            }
        }
        record.intervals = intervals.seal(longest, IntervalRecord::of);
        record.slices = slices.seal(longest, SliceRecord::of);
        record.seconds = seconds.seal(&record.phases);
    }
}

impl Series {
    /// Widens the rows until their width is a multiple of `width_ns`.
    fn widen(&mut self, width_ns: Option<u64>) {
        let Some(new) = width_ns else { return };
        let old = self.width_ns;
        let common = old.map_or(new, |old| least_common_multiple(old, new));
        assert!(common > 0, "a row has a width");
        self.width_ns = Some(common);
        let Some(old) = old.filter(|old| *old != common) else { return };
        for (number, row) in std::mem::take(&mut self.rows) {
            let number = number.saturating_mul(old) / common;
            self.rows.entry(number).or_default().absorb(&row);
        }
    }

    fn add(&mut self, start_s: f64, row: &Row) {
        let start = Span::from_s_f64(start_s).ns();
        let number = self.width_ns.map_or(0, |width| start.saturating_add(1) / width);
        self.rows.entry(number).or_default().absorb(row);
    }

    fn seal<T>(&self, longest: Span, of: fn(&Row, Span, Span) -> T) -> Vec<T> {
        let width = Span::from_ns(self.width_ns.unwrap_or(longest.ns()));
        let seal = |(number, row): (&u64, &Row)| {
            let start = Span::from_ns(width.ns().saturating_mul(*number));
            of(row, start, width.min(longest.saturating_sub(start)))
        };
        self.rows.iter().map(seal).collect()
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
