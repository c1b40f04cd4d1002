//! Compares the windows of shares, as far as their clocks allow.

use crate::record::{AlignedBy, AlignmentRecord, ClockRecord, ShardRecord};
use memtide_base::Span;
use std::collections::BTreeMap;

/// The windows of shares on one time axis.
pub(super) struct Compared {
    pub(super) alignment: AlignmentRecord,
    /// Time from the beginning of the first window to that of the last; none if unknown.
    pub(super) skew_ns: Option<u64>,
    /// Time from the first beginning to the last end; taken from the schedule if the skew is
    /// unknown.
    pub(super) window_ns: u64,
    /// Beginning of each share's window, by the share's position; 0 for all if unknown.
    starts: BTreeMap<usize, i128>,
    common: Option<(i128, i128)>,
}

type Domain<'a> = (&'a str, Option<u64>);

/// Beginning of a share's window by the master's clock, with its largest error.
fn by_reference(clock: Option<&ClockRecord>) -> Option<(i128, u64)> {
    let clock = clock?;
    let reference = clock.reference?;
    let own = i128::try_from(clock.window_start_monotonic_ns?.0).ok()?;
    Some((own.checked_add(i128::from(reference.ahead_ns))?, reference.error_max_ns))
}

/// The monotonic clock of a share, and the beginning of its window by that clock.
fn monotonic(clock: Option<&ClockRecord>) -> Option<(Domain<'_>, i128)> {
    let clock = clock?;
    let start = i128::try_from(clock.window_start_monotonic_ns?.0).ok()?;
    Some(((clock.boot_id.as_deref()?, clock.time_namespace), start))
}

fn time_of_day(shard: &ShardRecord) -> Option<i128> {
    i128::try_from(shard.window_start_unix_ns?.0).ok()
}

/// The shares that measured something, with their positions.
fn measured(shards: &[ShardRecord]) -> Vec<(usize, &ShardRecord)> {
    let all = shards.iter().enumerate();
    all.filter(|(_, shard)| shard.has_run() && time_of_day(shard).is_some()).collect()
}

/// Beginnings with the clock, its largest error and how it is known; or why they are unknown.
type Starts = Result<(BTreeMap<usize, i128>, AlignedBy, u64, String), String>;

/// Largest error of the distance between two instants, given the error of each.
fn bound(mut errors: Vec<u64>) -> u64 {
    errors.sort_unstable();
    errors.iter().rev().take(2).fold(0u64, |sum, error| sum.saturating_add(*error))
}

/// Beginnings of the windows by the clock of their common master, if each share knows the offset
/// between the two clocks.
fn by_master(measured: &[(usize, &ShardRecord)]) -> Option<Starts> {
    let each = measured.iter().map(|(at, shard)| Some((*at, by_reference(shard.clock.as_ref())?)));
    let all: Vec<(usize, (i128, u64))> = each.collect::<Option<_>>()?;
    let bound = match all.len() {
        // A single window has no distance to another.
        0 | 1 => 0,
        _ => bound(all.iter().map(|(_, (_, error))| *error).collect()),
    };
    let starts = all.iter().map(|(at, (start, _))| (*at, *start)).collect();
    let why = "by the master's clock".to_owned();
    Some(Ok((starts, AlignedBy::Reference, bound, why)))
}

/// Beginnings of the windows.
///
/// Cause: The clocks of shares on several machines cannot be compared.
///
/// To do: Synchronise the machines' clocks (chrony, ntpd or PTP), or go without the start skew.
fn starts(measured: &[(usize, &ShardRecord)]) -> Starts {
    if let Some(starts) = by_master(measured) {
        return starts;
    }
    let by_clock: Option<Vec<(usize, Domain<'_>, i128)>> = measured
        .iter()
        .map(|(at, shard)| monotonic(shard.clock.as_ref()).map(|(of, start)| (*at, of, start)))
        .collect();
    if let Some(all) = by_clock
        && all.iter().all(|(_, domain, _)| *domain == all[0].1)
    {
        let starts = all.iter().map(|(at, _, start)| (*at, *start)).collect();
        let why = "by one monotonic clock".to_owned();
        return Ok((starts, AlignedBy::Monotonic, 0, why));
    }
    let mut errors: Vec<u64> = Vec::new();
    for (_, shard) in measured {
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
    let bound = bound(errors);
    let starts = measured.iter().filter_map(|(at, shard)| Some((*at, time_of_day(shard)?)));
    let why = "by synchronised times of day".to_owned();
    Ok((starts.collect(), AlignedBy::TimeOfDay, bound, why))
}

/// Checks that shares with one monotonic clock also agree on the time of day.
///
/// Cause: The time of day was set between the shares, or one of them was given another one.
///
/// To do: Leave the time of day alone during a run, or go without the start skew.
fn consistent(measured: &[(usize, &ShardRecord)]) -> Result<(), String> {
    let mut known: BTreeMap<Domain<'_>, (i128, u64, u32)> = BTreeMap::new();
    for (_, shard) in measured {
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

impl Compared {
    pub(super) fn of(shards: &[ShardRecord]) -> Self {
        let measured = measured(shards);
        if measured.is_empty() {
            let why = "nothing was measured".to_owned();
            let alignment = AlignmentRecord { why, ..AlignmentRecord::default() };
            let starts = BTreeMap::new();
            return Self { alignment, skew_ns: None, window_ns: 0, starts, common: None };
        }
        let (starts, by, error_max_ns, why) = match starts(&measured) {
            Ok((starts, by, error, why)) => (starts, by, Some(error), why),
            Err(why) => {
                let zero = measured.iter().map(|(at, _)| (*at, 0)).collect();
                (zero, AlignedBy::Unknown, None, why)
            }
        };
        let first = starts.values().copied().min().unwrap_or(0);
        let last = starts.values().copied().max().unwrap_or(0);
        let ends = || starts.iter().map(|(at, start)| start + i128::from(shards[*at].window_ns));
        let (until, end) = (ends().min().unwrap_or(last), ends().max().unwrap_or(last));
        let mut common = (last < until).then_some((last, until));
        // Inexact times of day still tell hours from seconds.
        let owned = || measured.iter().map(|(_, shard)| *shard);
        if by == AlignedBy::Unknown && !met(owned()) {
            common = None;
        }
        let nanoseconds = |from: i128, to: i128| u64::try_from(to - from).unwrap_or(u64::MAX);
        let common_ns = common.map_or(0, |(from, to)| nanoseconds(from, to));
        Self {
            alignment: AlignmentRecord { by, error_max_ns, why, common_ns },
            skew_ns: error_max_ns.map(|_| nanoseconds(first, last)),
            window_ns: nanoseconds(first, end),
            starts,
            common,
        }
    }

    /// Rate of all shares together, in operations per second: each share's slices that lie wholly
    /// in the time in which all measured. None if there is no common time. If that time is shorter
    /// than a slice, the mean of each share counts.
    pub(super) fn rate_per_s(&self, shards: &[ShardRecord]) -> Option<f64> {
        let common = self.common?;
        let each = || self.starts.iter().map(|(at, start)| (&shards[*at], *start));
        let within: Option<Vec<f64>> =
            each().map(|(shard, start)| within(shard, start, common)).collect();
        let rates = within.unwrap_or_else(|| each().map(|(shard, _)| mean(shard)).collect());
        Some(rates.iter().sum())
    }
}

/// True if the windows overlap by the time of day.
fn met<'a>(shards: impl Iterator<Item = &'a ShardRecord> + Clone) -> bool {
    let start = shards.clone().filter_map(time_of_day).max();
    let end =
        shards.filter_map(|shard| Some(time_of_day(shard)? + i128::from(shard.window_ns))).min();
    start.zip(end).is_none_or(|(start, end)| start < end)
}

fn mean(shard: &ShardRecord) -> f64 {
    let sent = shard.rows.as_ref().map_or(0, |rows| rows.sent);
    crate::record::per_second(sent, Span::from_ns(shard.window_ns))
}

/// A share's rate in its slices within `common`; none if there is none. Operations that were sent
/// later than their slice are counted in proportion to all that were sent.
fn within(shard: &ShardRecord, start: i128, common: (i128, i128)) -> Option<f64> {
    let rows = shard.rows.as_ref()?;
    let width = rows.width_ns?;
    let end = start + i128::from(shard.window_ns);
    let (mut inside, mut length) = (0u64, 0i128);
    for (number, ended) in (0i128..).zip(&rows.ended) {
        let from = start + number * i128::from(width);
        let to = (from + i128::from(width)).min(end);
        if from >= common.0 && to <= common.1 && from < to {
            inside = inside.saturating_add(*ended);
            length += to - from;
        }
    }
    let all = rows.ended.iter().fold(0u64, |sum, ended| sum.saturating_add(*ended));
    if length == 0 {
        return None;
    }
    let sent = rows.sent as f64 * super::part(inside, all);
    Some(sent / (length as f64 / 1e9))
}
