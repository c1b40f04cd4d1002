//! The union of the shards' measured windows, and their rows aligned by the time of day.
//!
//! A row is counted whole, in the merged row that holds its middle; no row is split.

use crate::record::{IntervalRecord, ShardRecord, SliceRecord};
use memtide_base::Span;
use memtide_metrics::Row;
use memtide_metrics::series::{ROWS_MAX, SLICES_MAX};
use std::collections::BTreeMap;
use std::ops::Range;

/// The windows of shards that measured something.
pub(super) struct Windows {
    /// Beginnings, in ns since 1970.
    starts: Vec<u64>,
    /// Disjoint ranges that the windows cover: ascending, in ns after the first beginning.
    covered: Vec<Range<u64>>,
}

impl Windows {
    pub(super) fn of(shards: &[ShardRecord]) -> Self {
        let mut windows: Vec<Range<u64>> = shards.iter().filter_map(window).collect();
        windows.sort_by_key(|window| window.start);
        let starts: Vec<u64> = windows.iter().map(|window| window.start).collect();
        let zero = starts.first().copied().unwrap_or(0);
        let mut covered: Vec<Range<u64>> = Vec::new();
        for window in windows {
            let (start, end) = (window.start - zero, window.end - zero);
            match covered.last_mut() {
                Some(last) if start <= last.end => last.end = last.end.max(end),
                _ => covered.push(start..end),
            }
        }
        let are_apart = covered.windows(2).all(|pair| pair[0].end < pair[1].start);
        assert!(are_apart, "no time is covered twice");
        Self { starts, covered }
    }

    /// Beginning of the first window, in ns since 1970.
    pub(super) fn start_unix_ns(&self) -> Option<u64> {
        self.starts.first().copied()
    }

    /// Time from the beginning of the first window to the beginning of the last.
    pub(super) fn skew(&self) -> Option<Span> {
        Some(Span::from_ns(self.starts.last()? - self.starts.first()?))
    }

    /// Length of the union of the windows.
    pub(super) fn union(&self) -> Span {
        Span::from_ns(self.covered.iter().map(|part| part.end - part.start).sum())
    }

    /// Arrival of the last answer to any shard, in seconds after the first beginning.
    pub(super) fn answered_until_s(&self, shards: &[ShardRecord]) -> Option<f64> {
        let until = |shard: &ShardRecord| {
            let offset = Span::from_ns(self.offset_ns(shard)?);
            Some(offset.as_s_f64() + shard.answered_until_s?)
        };
        shards.iter().filter_map(until).reduce(f64::max)
    }

    /// Time from the beginning of the first window to the latest end.
    fn extent_ns(&self) -> u64 {
        self.covered.last().map_or(0, |part| part.end)
    }

    /// Length of `row` that the windows cover.
    fn within(&self, row: &Range<u64>) -> Span {
        let part = |part: &Range<u64>| {
            part.end.min(row.end).saturating_sub(part.start.max(row.start).min(row.end))
        };
        Span::from_ns(self.covered.iter().map(part).sum())
    }

    /// Time from the first window's beginning to that of this shard.
    fn offset_ns(&self, shard: &ShardRecord) -> Option<u64> {
        Some(window(shard)?.start - self.start_unix_ns()?)
    }
}

fn window(shard: &ShardRecord) -> Option<Range<u64>> {
    let start = u64::try_from(shard.window_start_unix_ns?.0).ok()?;
    Some(start..start.checked_add(shard.window_ns)?)
}

/// The intervals and slices of all shards together.
pub(super) fn over_time(
    shards: &[ShardRecord],
    windows: &Windows,
) -> (Vec<IntervalRecord>, Vec<SliceRecord>) {
    let intervals = |shard: &ShardRecord| -> Vec<_> {
        shard.intervals.iter().map(|row| extent_ns(row.start_s, row.length_s)).collect()
    };
    let slices = |shard: &ShardRecord| -> Vec<_> {
        shard.slices.iter().map(|row| extent_ns(row.start_s, row.length_s)).collect()
    };
    // Rows of a requested width may be more than usual; gaps between shards may need as many again.
    let longest = shards.iter().map(|shard| shard.intervals.len()).max().unwrap_or(0);
    let rows_max = if longest > ROWS_MAX { longest.saturating_mul(2) } else { ROWS_MAX };
    let interval_grid = Grid::new(shards.iter().flat_map(intervals), windows, rows_max);
    let slice_grid = Grid::new(shards.iter().flat_map(slices), windows, SLICES_MAX);
    let mut slice_rows = Rows::new();
    let mut interval_rows = Rows::new();
    for shard in shards {
        let Some(offset_ns) = windows.offset_ns(shard) else { continue };
        for (slice, extent) in shard.slices.iter().zip(slices(shard)) {
            let row = slice.row().expect("shards with damaged slices were refused");
            slice_grid.add(&mut slice_rows, offset_ns, &extent, &row);
        }
        for (interval, extent) in shard.intervals.iter().zip(intervals(shard)) {
            let row = interval.row().expect("shards with damaged intervals were refused");
            interval_grid.add(&mut interval_rows, offset_ns, &extent, &row);
        }
    }
    // An interval keeps no distribution. If slices are equally wide, a slice's distribution is the
    // interval's.
    if interval_grid == slice_grid && shards.iter().all(|s| intervals(s) == slices(s)) {
        for (number, slice) in &slice_rows {
            let row = interval_rows.entry(*number).or_default();
            row.response.clone_from(&slice.response);
        }
    }
    (
        interval_grid.seal(&interval_rows, windows, IntervalRecord::of),
        slice_grid.seal(&slice_rows, windows, SliceRecord::of),
    )
}

/// The row's extent in its shard's window, in ns.
fn extent_ns(start_s: f64, length_s: f64) -> Range<u64> {
    let start = Span::from_s_f64(start_s).ns();
    start..start.saturating_add(Span::from_s_f64(length_s).ns())
}

/// Rows by number.
type Rows = BTreeMap<u64, Row>;

/// Merged rows of one width, from the beginning of the first window.
#[derive(Debug, PartialEq, Eq)]
struct Grid {
    width_ns: u64,
}

impl Grid {
    /// A grid as wide as the widest of `extents`, and wider until `rows_max` rows are enough.
    fn new(extents: impl Iterator<Item = Range<u64>>, windows: &Windows, rows_max: usize) -> Self {
        let widest = extents.map(|extent| extent.end - extent.start).max();
        let mut width_ns = widest.unwrap_or(0).max(1);
        while windows.extent_ns().div_ceil(width_ns) > rows_max as u64 {
            width_ns *= 2;
        }
        assert!(width_ns > 0, "a row has a width");
        Self { width_ns }
    }

    /// Adds `row` to the merged row that holds its middle.
    fn add(&self, rows: &mut Rows, offset_ns: u64, extent: &Range<u64>, row: &Row) {
        let middle = extent.start + (extent.end - extent.start) / 2;
        let number = offset_ns.saturating_add(middle) / self.width_ns;
        absorb(rows.entry(number).or_default(), row);
    }

    /// Each row of `rows` as a record, with the part of it in which something was measured.
    fn seal<T>(&self, rows: &Rows, windows: &Windows, of: fn(&Row, Span, Span) -> T) -> Vec<T> {
        let seal = |(&number, row): (&u64, &Row)| {
            let start = number.saturating_mul(self.width_ns);
            let length = windows.within(&(start..start.saturating_add(self.width_ns)));
            of(row, Span::from_ns(start), length)
        };
        rows.iter().map(seal).collect()
    }
}

/// Adds all of `row` to `sum`, saturating: counts that were read may be near the largest value.
pub(super) fn absorb(sum: &mut Row, row: &Row) {
    sum.intended = sum.intended.saturating_add(row.intended);
    sum.answered = sum.answered.saturating_add(row.answered);
    sum.unanswered = sum.unanswered.saturating_add(row.unanswered);
    sum.hits = sum.hits.saturating_add(row.hits);
    sum.misses = sum.misses.saturating_add(row.misses);
    for (&value, &count) in &row.response {
        let of_value = sum.response.entry(value).or_default();
        *of_value = of_value.saturating_add(count);
    }
    if let Some(gets) = &row.gets {
        sum.gets.get_or_insert_default().absorb(gets);
    }
}
