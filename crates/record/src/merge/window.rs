//! Rows of whole runs, aligned by the time of day.
//!
//! A row is counted whole, in the merged row that holds its middle; no row is split.

use super::clocks::Windows;
use crate::record::{IntervalRecord, ShardRecord, SliceRecord};
use memtide_base::Span;
use memtide_metrics::Row;
use memtide_metrics::series::{ROWS_MAX, SLICES_MAX};
use std::collections::BTreeMap;
use std::ops::Range;

/// The intervals and slices of all shards together.
pub(super) fn over_time(windows: &Windows<'_>) -> (Vec<IntervalRecord>, Vec<SliceRecord>) {
    let shards = || windows.offsets();
    let intervals = |shard: &ShardRecord| -> Vec<_> {
        shard.intervals.iter().map(|row| extent_ns(row.start_s, row.length_s)).collect()
    };
    let slices = |shard: &ShardRecord| -> Vec<_> {
        shard.slices.iter().map(|row| extent_ns(row.start_s, row.length_s)).collect()
    };
    // Rows of a requested width may be more than usual; gaps between shards may need as many again.
    let longest = shards().map(|(shard, _)| shard.intervals.len()).max().unwrap_or(0);
    let rows_max = if longest > ROWS_MAX { longest.saturating_mul(2) } else { ROWS_MAX };
    let extent_ns = windows.extent_ns();
    let all = shards().flat_map(|(shard, _)| intervals(shard));
    let mut interval_rows = Rows::new(all, extent_ns, rows_max);
    let all = shards().flat_map(|(shard, _)| slices(shard));
    let mut slice_rows = Rows::new(all, extent_ns, SLICES_MAX);
    for (number, (shard, offset_ns)) in shards().enumerate() {
        for (slice, extent) in shard.slices.iter().zip(slices(shard)) {
            let row = slice.row().expect("shards with damaged slices were refused");
            slice_rows.add((number, offset_ns), &extent, &row);
        }
        for (interval, extent) in shard.intervals.iter().zip(intervals(shard)) {
            let row = interval.row().expect("shards with damaged intervals were refused");
            interval_rows.add((number, offset_ns), &extent, &row);
        }
    }
    // An interval keeps no distribution. If slices are equally wide, a slice's distribution is the
    // interval's.
    let are_alike = shards().all(|(shard, _)| intervals(shard) == slices(shard));
    if interval_rows.width_ns == slice_rows.width_ns && are_alike {
        for (number, slice) in &slice_rows.rows {
            let row = &mut interval_rows.rows.entry(*number).or_default().row;
            row.response.clone_from(&slice.row.response);
        }
    }
    (interval_rows.seal(IntervalRecord::of), slice_rows.seal(SliceRecord::of))
}

/// The row's extent in its shard's window, in ns.
fn extent_ns(start_s: f64, length_s: f64) -> Range<u64> {
    let start = Span::from_s_f64(start_s).ns();
    start..start.saturating_add(Span::from_s_f64(length_s).ns())
}

/// Merged rows of one width, from the beginning of the first window.
struct Rows {
    width_ns: u64,
    /// The rows by number.
    rows: BTreeMap<u64, Merged>,
}

/// A merged row.
#[derive(Default)]
struct Merged {
    row: Row,
    /// From when to when each shard's rows in it were, by the shard's number.
    when: BTreeMap<usize, Range<u64>>,
}

impl Rows {
    /// Rows as wide as the widest of `extents`, and wider until `rows_max` of them cover
    /// `extent_ns`.
    fn new(extents: impl Iterator<Item = Range<u64>>, extent_ns: u64, rows_max: usize) -> Self {
        let widest = extents.map(|extent| extent.end - extent.start).max();
        let mut width_ns = widest.unwrap_or(0).max(1);
        while extent_ns.div_ceil(width_ns) > rows_max as u64 {
            width_ns *= 2;
        }
        assert!(width_ns > 0, "a row has a width");
        Self { width_ns, rows: BTreeMap::new() }
    }

    /// Adds the `row` of a shard, given its number and offset, to the merged row that holds its
    /// middle.
    fn add(&mut self, (shard, offset_ns): (usize, u64), extent: &Range<u64>, row: &Row) {
        let at = |ns: u64| offset_ns.saturating_add(ns);
        let middle = at(extent.start + (extent.end - extent.start) / 2);
        let merged = self.rows.entry(middle / self.width_ns).or_default();
        merged.row.absorb(row);
        extend(&mut merged.when, shard, at(extent.start)..at(extent.end));
    }

    /// Each row as a record, with the time that its rows stand for.
    fn seal<T>(&self, of: fn(&Row, Span, Span) -> T) -> Vec<T> {
        let seal = |(&number, merged): (&u64, &Merged)| {
            let start = Span::from_ns(number.saturating_mul(self.width_ns));
            of(&merged.row, start, covered(&merged.when))
        };
        self.rows.iter().map(seal).collect()
    }
}

/// Adds a stretch of time of a shard to its stretches in `when`, which follow each other.
pub(super) fn extend(when: &mut BTreeMap<usize, Range<u64>>, shard: usize, stretch: Range<u64>) {
    let all = when.entry(shard).or_insert_with(|| stretch.clone());
    *all = all.start.min(stretch.start)..all.end.max(stretch.end);
}

/// Time that rows of several shards stand for if each is counted whole. Shards that measured at the
/// same time count once, with the longest stretch, although one may have begun a part of a row
/// earlier; shards that measured one after the other add up. So a merged row has a rate that the
/// shards had.
pub(super) fn covered(when: &BTreeMap<usize, Range<u64>>) -> Span {
    let mut stretches: Vec<&Range<u64>> = when.values().collect();
    stretches.sort_by_key(|stretch| (stretch.start, stretch.end));
    let (mut sum, mut longest, mut end) = (0u64, 0u64, 0u64);
    for stretch in stretches {
        if stretch.start >= end {
            sum = sum.saturating_add(std::mem::take(&mut longest));
        }
        longest = longest.max(stretch.end - stretch.start);
        end = end.max(stretch.end);
    }
    Span::from_ns(sum.saturating_add(longest))
}
