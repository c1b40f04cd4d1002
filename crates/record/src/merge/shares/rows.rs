//! Rows over time of shares: summed by their position in the common schedule.

use crate::record::{
    IntervalRecord, Record, SecondRecord, ServerReport, ServerSecond, SettledCounts, ShareRows,
    SliceRecord, UnderWay,
};
use memtide_base::Span;
use memtide_metrics::Row;
use std::collections::BTreeMap;

use super::super::seconds::of_load;
use super::super::window::absorb;

/// Sums of rows.
#[derive(Clone, Default)]
pub(super) struct Rows {
    intervals: Series,
    slices: Series,
    seconds: BTreeMap<u64, SecondRecord>,
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
        let mut reports: BTreeMap<u64, BTreeMap<String, ServerReport>> = BTreeMap::new();
        for second in &record.seconds {
            let at = second.start_s.max(0.0).round() as u64;
            ServerReport::append(reports.entry(at).or_default(), &second.reports);
            let sum = self.seconds.entry(at);
            sum.and_modify(|sum| *sum = together(sum, second)).or_insert_with(|| bare(second));
        }
        for (at, reports) in &reports {
            let Some(second) = self.seconds.get_mut(at) else { continue };
            ServerReport::unite(&mut second.reports, reports);
        }
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
        let counts = seconds.values().map(|second| &second.counts);
        let sum = counts.fold(SettledCounts::default(), |sum, of| sum.plus(of));
        if sum == of_load(&record.phases) {
            record.seconds = seconds.into_values().collect();
        }
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
            absorb(self.rows.entry(number).or_default(), &row);
        }
    }

    fn add(&mut self, start_s: f64, row: &Row) {
        let start = Span::from_s_f64(start_s).ns();
        let number = self.width_ns.map_or(0, |width| start.saturating_add(1) / width);
        absorb(self.rows.entry(number).or_default(), row);
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

/// The parts of a second that add up: not its percentiles, nor the state of a single worker. The
/// reports of servers are added separately.
fn bare(second: &SecondRecord) -> SecondRecord {
    let at = second.start_s.max(0.0).round();
    SecondRecord {
        start_s: at,
        length_s: second.length_s,
        counts: second.counts,
        under_way: second.under_way,
        servers: second.servers.clone(),
        no_server: second.no_server,
        ..SecondRecord::default()
    }
}

fn together(a: &SecondRecord, b: &SecondRecord) -> SecondRecord {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let (x, y) = (&a.under_way, &b.under_way);
    let servers = match a.servers.len() == b.servers.len() {
        true => a.servers.iter().zip(&b.servers).map(|(a, b)| ServerSecond {
            counts: a.counts.plus(&b.counts),
            connections_open: sum(a.connections_open, b.connections_open),
        }),
        false => return together(&alone(a), &alone(b)),
    };
    let none = [a.no_server, b.no_server].into_iter().flatten();
    SecondRecord {
        start_s: a.start_s,
        length_s: a.length_s.max(b.length_s),
        counts: a.counts.plus(&b.counts),
        under_way: UnderWay {
            in_flight: sum(x.in_flight, y.in_flight),
            backlog: sum(x.backlog, y.backlog),
            oldest_due_s: x.oldest_due_s.zip(y.oldest_due_s).map(|(x, y)| x.max(y)),
            connections_open: sum(x.connections_open, y.connections_open),
        },
        no_server: none.reduce(|a, b| a.plus(&b)),
        servers: servers.collect(),
        reports: a.reports.clone(),
        ..SecondRecord::default()
    }
}

/// A second without its counts by server.
fn alone(second: &SecondRecord) -> SecondRecord {
    let reports = second.reports.clone();
    SecondRecord { servers: Vec::new(), no_server: None, reports, ..bare(second) }
}
