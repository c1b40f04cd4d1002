//! The windows of shards on one time axis, as far as their clocks allow, and rates over them.

use memtide_base::Span;
use memtide_record::{
    AlignedBy, AlignmentRecord, ClockRecord, PlanRecord, RateRecord, ShardRecord, per_second,
};
use memtide_scenario::Kind;
use std::collections::BTreeMap;
use std::ops::Range;

/// The windows of the shards that measured something.
pub(super) struct Windows<'a> {
    /// The shards, each with its window in ns by a clock that all have in common.
    each: Vec<(&'a ShardRecord, Range<i128>)>,
    /// How the windows of shares are compared; none for whole runs, where the time of day counts.
    pub(super) alignment: Option<AlignmentRecord>,
    /// Time in which all measured, if there is any.
    common: Option<Range<i128>>,
}

impl<'a> Windows<'a> {
    /// The windows of `shards`, which are shares of one run or else whole runs.
    pub(super) fn of(shards: &[&'a ShardRecord], are_shares: bool) -> Self {
        let measured = shards.iter().filter_map(|shard| Some((*shard, time_of_day(shard)?)));
        let (shards, by_day): (Vec<&ShardRecord>, Vec<i128>) = measured.unzip();
        let by_day = Self::at(&shards, by_day);
        if !are_shares {
            return by_day;
        }
        let Starts { each, by, error_max_ns, why } = starts(&shards).unwrap_or_else(|why| Starts {
            each: vec![0; shards.len()],
            by: AlignedBy::Unknown,
            error_max_ns: None,
            why,
        });
        let mut this = Self::at(&shards, each);
        // Inexact times of day still tell hours from seconds.
        if by == AlignedBy::Unknown && by_day.common.is_none() {
            this.common = None;
        }
        let common_ns = this.common.as_ref().map_or(0, length);
        this.alignment = Some(AlignmentRecord { by, error_max_ns, why, common_ns });
        this
    }

    fn at(shards: &[&'a ShardRecord], starts: Vec<i128>) -> Self {
        let each = shards.iter().zip(starts);
        let each: Vec<_> = each
            .map(|(shard, start)| (*shard, start..start + i128::from(shard.window_ns)))
            .collect();
        let start = each.iter().map(|(_, window)| window.start).max();
        let end = each.iter().map(|(_, window)| window.end).min();
        let common = start.zip(end).map(|(start, end)| start..end);
        Self { each, alignment: None, common: common.filter(|common| !common.is_empty()) }
    }

    /// True if all measured at the same time, so that their loads were one.
    pub(super) fn are_one_load(&self) -> bool {
        self.common.is_some() || self.each.is_empty()
    }

    /// Each shard with the time from the beginning of the first window to that of its own, in ns.
    pub(super) fn offsets(&self) -> impl Iterator<Item = (&'a ShardRecord, u64)> {
        let zero = self.each.iter().map(|(_, window)| window.start).min().unwrap_or(0);
        self.each.iter().map(move |(shard, window)| (*shard, length(&(zero..window.start))))
    }

    /// Beginning of the first window by the time of day, in ns since 1970.
    pub(super) fn start_unix_ns(&self) -> Option<u64> {
        let starts = self.each.iter().filter_map(|(shard, _)| time_of_day(shard));
        starts.min().and_then(|start| u64::try_from(start).ok())
    }

    /// Time from the beginning of the first window to that of the last; none if unknown.
    pub(super) fn skew_ns(&self) -> Option<u64> {
        let is_known = self.alignment.as_ref().is_none_or(|of| of.error_max_ns.is_some());
        self.offsets().map(|(_, offset)| offset).max().filter(|_| is_known)
    }

    /// Length of the union of the windows.
    pub(super) fn union(&self) -> Span {
        let mut windows: Vec<&Range<i128>> = self.each.iter().map(|(_, window)| window).collect();
        windows.sort_by_key(|window| window.start);
        let (mut sum, mut until) = (0u64, i128::MIN);
        for window in windows {
            let new = window.start.max(until)..window.end;
            sum = sum.saturating_add(length(&new));
            until = until.max(window.end);
        }
        Span::from_ns(sum)
    }

    /// Time from the beginning of the first window to the latest end, in ns.
    pub(super) fn extent_ns(&self) -> u64 {
        let ends = self.offsets().map(|(shard, offset)| offset.saturating_add(shard.window_ns));
        ends.max().unwrap_or(0)
    }

    /// Length of the longest window.
    pub(super) fn longest(&self) -> Span {
        let lengths = self.each.iter().map(|(shard, _)| shard.window_ns);
        Span::from_ns(lengths.max().unwrap_or(0))
    }

    /// Arrival of the last answer to any shard, in seconds after the first beginning.
    pub(super) fn answered_until_s(&self) -> Option<f64> {
        let each = self.offsets().filter_map(|(shard, offset)| {
            Some(Span::from_ns(offset).as_s_f64() + shard.answered_until_s?)
        });
        each.reduce(f64::max)
    }

    /// The rates of all shards together, which `sent` these operations.
    pub(super) fn rate(&self, sent: &BTreeMap<Kind, u64>) -> RateRecord {
        let all = sent.values().fold(0u64, |sum, &count| sum.saturating_add(count));
        let rate = match (&self.alignment, self.common_rate_per_s()) {
            (None, _) => RateRecord::of(sent, |count| per_second(count, self.union())),
            (Some(_), Some(rate)) => RateRecord::of(sent, |count| rate * part(count, all)),
            (Some(_), None) => RateRecord { achieved_per_s: f64::NAN, ..RateRecord::default() },
        };
        // Rates in different units have no sum.
        let unit = PlanRecord::common_unit(self.each.iter().map(|(shard, _)| &shard.plan));
        let target_per_s =
            self.total(|shard| Some(shard.target().filter(|rate| rate.unit == unit)?.per_s));
        let keys_per_s = self.total(|shard| shard.rate.keys_per_s);
        let answered_per_s = self.total(|shard| shard.rate.answered_per_s);
        RateRecord {
            target_per_s,
            keys_per_s: keys_per_s.filter(|_| !rate.achieved_per_s.is_nan()),
            answered_per_s: answered_per_s.filter(|_| !rate.achieved_per_s.is_nan()),
            ..rate
        }
    }

    /// A rate of all shards together: the sum of the shares' rates, or the mean of whole runs over
    /// the union of their windows. None if a shard has none.
    pub(super) fn total(&self, of: impl Fn(&ShardRecord) -> Option<f64>) -> Option<f64> {
        let each = self.each.iter().filter(|(shard, _)| shard.window_ns > 0);
        let mut each = each.map(|(shard, _)| match self.alignment {
            Some(_) => of(shard),
            None => Some(of(shard)? * Span::from_ns(shard.window_ns).as_s_f64()),
        });
        let first = each.next()??;
        let sum = each.try_fold(first, |sum, next| Some(sum + next?))?;
        Some(if self.alignment.is_some() { sum } else { sum / self.union().as_s_f64() })
    }

    /// Rate of all shares together, in operations per second: each share's slices that lie wholly
    /// in the time in which all measured. None if there is no common time. If that time is shorter
    /// than a slice, the mean of each share counts.
    fn common_rate_per_s(&self) -> Option<f64> {
        let common = self.common.as_ref()?;
        let within: Option<Vec<f64>> =
            self.each.iter().map(|(shard, window)| within(shard, window, common)).collect();
        Some(match within {
            Some(rates) => rates.iter().sum(),
            None => self.each.iter().map(|(shard, _)| mean(shard)).sum(),
        })
    }
}

/// Length of a stretch of time in ns; 0 if it ends before it begins.
fn length(stretch: &Range<i128>) -> u64 {
    let ns = stretch.end.saturating_sub(stretch.start).max(0);
    u64::try_from(ns).unwrap_or(u64::MAX)
}

fn part(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { count as f64 / of as f64 }
}

fn mean(shard: &ShardRecord) -> f64 {
    let sent = shard.rows.as_ref().map_or(0, |rows| rows.sent);
    per_second(sent, Span::from_ns(shard.window_ns))
}

/// A share's rate in its slices within `common`; none if there is none. Operations that were sent
/// later than their slice are counted in proportion to all that were sent.
fn within(shard: &ShardRecord, window: &Range<i128>, common: &Range<i128>) -> Option<f64> {
    let rows = shard.rows.as_ref()?;
    let width = rows.width_ns?;
    let (mut inside, mut length) = (0u64, 0i128);
    for (number, ended) in (0i128..).zip(&rows.ended) {
        let from = window.start + number * i128::from(width);
        let to = (from + i128::from(width)).min(window.end);
        if from >= common.start && to <= common.end && from < to {
            inside = inside.saturating_add(*ended);
            length += to - from;
        }
    }
    let all = rows.ended.iter().fold(0u64, |sum, ended| sum.saturating_add(*ended));
    if length == 0 {
        return None;
    }
    let sent = rows.sent as f64 * part(inside, all);
    Some(sent / (length as f64 / 1e9))
}

type Domain<'a> = (&'a str, Option<u64>);

/// Beginning of a share's window by the master's clock, with its largest error.
fn by_reference(clock: Option<&ClockRecord>) -> Option<(i128, u64)> {
    let clock = clock?;
    let reference = clock.reference?;
    let own = u64::try_from(clock.window_start_monotonic_ns?.0).ok()?;
    Some((i128::from(own) + i128::from(reference.ahead_ns), reference.error_max_ns))
}

/// The monotonic clock of a share, and the beginning of its window by that clock.
fn monotonic(clock: Option<&ClockRecord>) -> Option<(Domain<'_>, i128)> {
    let clock = clock?;
    let start = u64::try_from(clock.window_start_monotonic_ns?.0).ok()?;
    Some(((clock.boot_id.as_deref()?, clock.time_namespace), i128::from(start)))
}

fn time_of_day(shard: &ShardRecord) -> Option<i128> {
    i128::try_from(shard.window_start_unix_ns?.0).ok()
}

/// Beginnings of the shares' windows.
struct Starts {
    each: Vec<i128>,
    /// The clock by which they are known.
    by: AlignedBy,
    /// Largest error of their distances, in ns; `None` if it is unknown.
    error_max_ns: Option<u64>,
    /// How they are known, or why they are not.
    why: String,
}

impl Starts {
    fn known(each: Vec<i128>, by: AlignedBy, error_max_ns: u64, why: &str) -> Self {
        Self { each, by, error_max_ns: Some(error_max_ns), why: why.to_owned() }
    }
}

/// Largest error of the distance between two instants, given the error of each.
fn bound(mut errors: Vec<u64>) -> u64 {
    errors.sort_unstable();
    errors.iter().rev().take(2).fold(0u64, |sum, error| sum.saturating_add(*error))
}

/// Beginnings of the windows by the clock of their common master, if each share knows the offset
/// between the two clocks.
fn by_master(measured: &[&ShardRecord]) -> Option<Starts> {
    let each = measured.iter().map(|shard| by_reference(shard.clock.as_ref()));
    let (starts, errors): (Vec<i128>, Vec<u64>) =
        each.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    // A single window has no distance to another.
    let bound = if errors.len() > 1 { bound(errors) } else { 0 };
    Some(Starts::known(starts, AlignedBy::Reference, bound, "by the master's clock"))
}

/// Beginnings of the windows, by the shares' positions.
fn starts(measured: &[&ShardRecord]) -> Result<Starts, String> {
    if measured.is_empty() {
        return Err("nothing was measured".to_owned());
    }
    if let Some(starts) = by_master(measured) {
        return Ok(starts);
    }
    let by_clock = measured.iter().map(|shard| monotonic(shard.clock.as_ref()));
    if let Some(all) = by_clock.collect::<Option<Vec<_>>>()
        && all.iter().all(|(domain, _)| *domain == all[0].0)
    {
        let starts = all.iter().map(|(_, start)| *start).collect();
        return Ok(Starts::known(starts, AlignedBy::Monotonic, 0, "by one monotonic clock"));
    }
    let mut errors: Vec<u64> = Vec::new();
    for shard in measured {
        let number = shard.share.as_ref().map_or(0, |share| share.number);
        let clock = shard.clock.as_ref();
        let Some(clock) = clock else {
            return Err(format!("the record of share {number} names no clock"));
        };
        match (clock.synchronised, clock.error_max_ns) {
            (Some(true), Some(error)) => errors.push(error),
            (Some(true), None) | (None, _) => {
                return Err(format!("the accuracy of share {number}'s time of day is unknown"));
            }
            (Some(false), _) => {
                return Err(format!("the clock of share {number} is not synchronised"));
            }
        }
    }
    consistent(measured)?;
    let starts = measured.iter().filter_map(|shard| time_of_day(shard)).collect();
    let why = "by synchronised times of day";
    Ok(Starts::known(starts, AlignedBy::TimeOfDay, bound(errors), why))
}

/// Checks that shares with one monotonic clock also agree on the time of day.
fn consistent(measured: &[&ShardRecord]) -> Result<(), String> {
    let mut known: BTreeMap<Domain<'_>, (i128, u64, u32)> = BTreeMap::new();
    for shard in measured {
        let Some((domain, start)) = monotonic(shard.clock.as_ref()) else { continue };
        let error = shard.clock.as_ref().and_then(|clock| clock.error_max_ns).unwrap_or(0);
        let number = shard.share.as_ref().map_or(0, |share| share.number);
        let offset = time_of_day(shard).unwrap_or(0) - start;
        let (other, least, first) = *known.entry(domain).or_insert((offset, error, number));
        if (offset - other).unsigned_abs() > u128::from(error.saturating_add(least)) {
            return Err(format!(
                "shares {first} and {number} read one monotonic clock, but their times of day \
                 differ"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard_of_share;
    use memtide_record::{Record, ShareRows};

    #[test]
    fn slices_count_that_lie_wholly_in_the_common_time_up_to_its_ends() {
        const SECOND: i128 = 1_000_000_000;
        let rows = ShareRows { width_ns: Some(SECOND as u64), ended: vec![10, 20, 60], sent: 90 };
        let shard = ShardRecord { rows: Some(rows), ..shard_of_share(&Record::default()) };
        let rate = |from: i128, to: i128| within(&shard, &(0..3 * SECOND), &(from..to));
        assert_eq!(rate(0, 3 * SECOND), Some(30.0));
        assert_eq!(rate(SECOND, 3 * SECOND), Some(40.0));
        assert_eq!(rate(0, 2 * SECOND), Some(15.0));
        assert_eq!(rate(1, 2 * SECOND), Some(20.0));
        assert_eq!(rate(1, 2 * SECOND - 1), None);
    }
}
