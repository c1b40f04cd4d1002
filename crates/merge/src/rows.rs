//! Rows over time of several runs or shares as one load's.
//!
//! A row is counted whole, in the merged row that holds its middle: one of a whole run by the time
//! of day, one of a share by its place in the common schedule. No row is split.

use super::clocks::Windows;
use memtide_base::Span;
use memtide_metrics::Row;
use memtide_metrics::series::{ROWS_MAX, SLICES_MAX, Stretch as _};
use memtide_record::{IntervalRecord, Record, ShardRecord, ShareRows, SliceRecord};
use std::collections::BTreeMap;
use std::ops::Range;

/// Merged rows of one width, from the beginning of the first window.
#[derive(Clone, Default)]
struct Rows {
    /// None until two rows of shares show it.
    width_ns: Option<u64>,
    rows: BTreeMap<u64, Row>,
}

impl Rows {
    /// Adds `row`, which stands for `stretch`; returns the number of its merged row.
    fn add(&mut self, stretch: &Range<u64>, row: &Row) -> u64 {
        let middle = stretch.start + (stretch.end - stretch.start) / 2;
        let number = self.width_ns.map_or(0, |width| middle / width);
        self.rows.entry(number).or_default().absorb(row);
        number
    }

    /// Takes over the response times of `slices`. An interval keeps no distribution; if slices are
    /// equally wide, a slice's distribution is the interval's.
    fn take_times(&mut self, slices: &Self) {
        for (number, slice) in &slices.rows {
            self.rows.entry(*number).or_default().response.clone_from(&slice.response);
        }
    }

    /// Each row with its number and its beginning.
    fn each(&self) -> impl Iterator<Item = (u64, Span, &Row)> {
        let width_ns = self.width_ns.unwrap_or(0);
        self.rows.iter().map(move |(&number, row)| {
            (number, Span::from_ns(number.saturating_mul(width_ns)), row)
        })
    }
}

/// A row of a record that says when it was.
trait Dated {
    /// Its extent in its window, in ns.
    fn extent_ns(&self) -> Range<u64>;

    /// The row; `number` is its number in the record. The error says that it is damaged.
    fn read(&self, number: usize) -> Result<Row, String>;
}

/// Makes the record of a row, from its beginning and its length.
type Recorded<T> = fn(&Row, Span, Span) -> T;

fn extent_ns(start_s: f64, length_s: f64) -> Range<u64> {
    let start = Span::from_s_f64(start_s).ns();
    start..start.saturating_add(Span::from_s_f64(length_s).ns())
}

impl Dated for IntervalRecord {
    fn extent_ns(&self) -> Range<u64> {
        extent_ns(self.start_s, self.length_s)
    }

    /// Reads an interval.
    fn read(&self, number: usize) -> Result<Row, String> {
        self.row().ok_or_else(|| format!("a histogram of interval {number} is damaged"))
    }
}

impl Dated for SliceRecord {
    fn extent_ns(&self) -> Range<u64> {
        extent_ns(self.start_s, self.length_s)
    }

    /// Reads a slice.
    fn read(&self, number: usize) -> Result<Row, String> {
        self.row().ok_or_else(|| {
            format!("slice {number} does not contain one time per answered operation")
        })
    }
}

/// Reads `rows`, each with its extent.
fn read<T: Dated>(rows: &[T]) -> impl Iterator<Item = Result<(Range<u64>, Row), String>> {
    rows.iter().enumerate().map(|(number, row)| Ok((row.extent_ns(), row.read(number)?)))
}

/// Checks that the rows of a shard can be read.
pub(super) fn check(shard: &ShardRecord) -> Result<(), String> {
    read(&shard.slices).try_for_each(|row| row.map(|_| ()))?;
    read(&shard.intervals).try_for_each(|row| row.map(|_| ()))
}

/// The intervals and slices of all whole runs together.
pub(super) fn over_time(windows: &Windows<'_>) -> (Vec<IntervalRecord>, Vec<SliceRecord>) {
    // Rows of a requested width may be more than usual; gaps between shards may need as many again.
    let longest = windows.offsets().map(|(shard, _)| shard.intervals.len()).max().unwrap_or(0);
    let rows_max = if longest > ROWS_MAX { longest.saturating_mul(2) } else { ROWS_MAX };
    let mut intervals = Aligned::of(windows, |shard| &shard.intervals, rows_max);
    let slices = Aligned::of(windows, |shard| &shard.slices, SLICES_MAX);
    let are_alike = windows.offsets().all(|(shard, _)| {
        let intervals = shard.intervals.iter().map(Dated::extent_ns);
        intervals.eq(shard.slices.iter().map(Dated::extent_ns))
    });
    if are_alike && intervals.sums.width_ns == slices.sums.width_ns {
        intervals.sums.take_times(&slices.sums);
    }
    (intervals.seal(IntervalRecord::of), slices.seal(SliceRecord::of))
}

/// Merged rows of whole runs.
struct Aligned {
    sums: Rows,
    /// When the rows were that are counted in each merged row.
    when: BTreeMap<u64, Stretches>,
}

/// Stretches of time by the number of their shard.
pub(super) type Stretches = BTreeMap<usize, Range<u64>>;

impl Aligned {
    /// The rows `of` all shards. Merged rows are as wide as the widest, and wider until `rows_max`
    /// of them are enough.
    fn of<'a, T: Dated + 'a>(
        windows: &Windows<'a>,
        of: fn(&'a ShardRecord) -> &'a [T],
        rows_max: usize,
    ) -> Self {
        let extents = windows.offsets().flat_map(|(shard, _)| of(shard)).map(Dated::extent_ns);
        let widest = extents.map(|extent| extent.end - extent.start).max();
        let mut width_ns = widest.unwrap_or(0).max(1);
        while windows.extent_ns().div_ceil(width_ns) > rows_max as u64 {
            width_ns *= 2;
        }
        assert!(width_ns > 0, "a row has a width");
        let mut sums = Rows { width_ns: Some(width_ns), rows: BTreeMap::new() };
        let mut when: BTreeMap<u64, Stretches> = BTreeMap::new();
        for (shard, (record, offset_ns)) in windows.offsets().enumerate() {
            for row in read(of(record)) {
                let (extent, row) = row.expect("shards with damaged rows were refused");
                let [start, end] =
                    [extent.start, extent.end].map(|ns| offset_ns.saturating_add(ns));
                let stretch = start..end;
                let number = sums.add(&stretch, &row);
                extend(when.entry(number).or_default(), shard, stretch);
            }
        }
        Self { sums, when }
    }

    /// Each row as a record, with the time that its rows stand for, and an empty row for each gap.
    fn seal<T>(&self, of: Recorded<T>) -> Vec<T> {
        let mut gaps = Gaps::new(self.sums.width_ns.unwrap_or(0));
        let none = Stretches::new();
        let mut records = Vec::new();
        for (number, start, row) in self.sums.each() {
            let when = self.when.get(&number).unwrap_or(&none);
            let gap = gaps.before(number, when);
            records.extend(gap.map(|at| of(&Row::default(), at, Span::ZERO)));
            records.push(of(row, start, covered(when)));
        }
        records
    }
}

/// Finds stretches of at least a row in which nothing was measured.
pub(super) struct Gaps {
    width_ns: u64,
    /// Number and end of the last row.
    last: Option<(u64, u64)>,
}

impl Gaps {
    pub(super) const fn new(width_ns: u64) -> Self {
        Self { width_ns, last: None }
    }

    /// Beginning of the gap before the next row, if there is one; the row has this number, and rows
    /// of shards from and until `when`.
    pub(super) fn before(&mut self, number: u64, when: &Stretches) -> Option<Span> {
        let end = when.values().map(|stretch| stretch.end).max()?;
        let start = when.values().map(|stretch| stretch.start).min()?;
        let (last, until) = self.last.replace((number, end)).unwrap_or((number, start));
        // At most one gap for each row that is absent, so that rows stay few.
        let is_gap = number - last > 1 && start.saturating_sub(until) >= self.width_ns;
        is_gap.then_some(Span::from_ns(until))
    }
}

/// Adds a stretch of time of a shard to its stretches in `when`, which follow each other.
pub(super) fn extend(when: &mut Stretches, shard: usize, stretch: Range<u64>) {
    let all = when.entry(shard).or_insert_with(|| stretch.clone());
    *all = all.start.min(stretch.start)..all.end.max(stretch.end);
}

/// Time that rows of several shards stand for if each is counted whole. Shards that measured at the
/// same time count once, with the longest stretch, although one may have begun a part of a row
/// earlier; shards that measured one after the other add up. So a merged row has a rate that the
/// shards had.
pub(super) fn covered(when: &Stretches) -> Span {
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

/// Operations of each slice of a share.
pub(super) fn of_share(record: &Record) -> ShareRows {
    let ended = record.slices.iter().map(|slice| slice.answered.saturating_add(slice.unanswered));
    let sent = record.sent_once().values().fold(0u64, |sum, count| sum.saturating_add(*count));
    ShareRows { width_ns: width(&record.slices), ended: ended.collect(), sent }
}

/// Distance between the first two rows.
fn width<T: Dated>(rows: &[T]) -> Option<u64> {
    let [first, second, ..] = rows else { return None };
    Some(second.extent_ns().start.saturating_sub(first.extent_ns().start).max(1))
}

/// Sums of the rows of shares: row *i* of each is the same stretch of their one schedule.
#[derive(Clone, Default)]
pub(super) struct Shared {
    intervals: Rows,
    slices: Rows,
}

impl Shared {
    /// Adds the rows of a record. The error names the damaged rows.
    pub(super) fn absorb(&mut self, record: &Record) -> Result<(), String> {
        self.intervals.widen(width(&record.intervals));
        // A share that ended early may have slices of any number of rows.
        let shards = record.shards.iter().filter_map(|shard| shard.rows.as_ref()?.width_ns);
        match record.shards.is_empty() {
            true => self.slices.widen(width(&record.slices)),
            false => shards.for_each(|width| self.slices.widen(Some(width))),
        }
        for row in read(&record.intervals) {
            let (extent, row) = row?;
            self.intervals.add(&extent, &row);
        }
        for row in read(&record.slices) {
            let (extent, row) = row?;
            self.slices.add(&extent, &row);
        }
        Ok(())
    }

    /// The intervals and slices; `longest` is the longest window.
    pub(super) fn seal(mut self, longest: Span) -> (Vec<IntervalRecord>, Vec<SliceRecord>) {
        if self.intervals.width_ns == self.slices.width_ns {
            self.intervals.take_times(&self.slices);
        }
        let intervals = self.intervals.within(longest, IntervalRecord::of);
        (intervals, self.slices.within(longest, SliceRecord::of))
    }
}

impl Rows {
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

    /// Each row as a record; the last ends with the window.
    fn within<T>(&self, longest: Span, of: Recorded<T>) -> Vec<T> {
        let width = self.width_ns.map_or(longest, Span::from_ns);
        let rows = self.each();
        rows.map(|(_, start, row)| of(row, start, width.min(longest.saturating_sub(start))))
            .collect()
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
