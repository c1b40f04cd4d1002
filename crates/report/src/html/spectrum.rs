//! The percentile spectrum: times of the slowest fractions of operations, down to single ones.

use super::chart::{Chart, Limit, Line, values};
use crate::axis::{Axis, Scale};
use crate::number::time;
use crate::times::lag_parts;
use memtide_metrics::summary::quantile;
use memtide_record::{Distribution, LagSplit, Percentile, Record};
use memtide_scenario::{Goal, Kind, Subject};

/// Number of points of a line for each further nine.
const POINTS_PER_NINE: i32 = 12;
/// Largest number of nines: 99.9999 %.
const NINES_MAX: i32 = 6;
/// Largest factor between a goal and the nearest measured time at which the chart shows its line.
const FACTOR_MAX: f64 = 10.0;

/// The spectrum of response times by kind, and of service time and lag.
pub(super) fn response(record: &Record) -> Chart {
    let kinds = record.response.iter().filter(|(kind, _)| {
        // With a single kind, the line of all would repeat it.
        **kind != Kind::All || record.response.len() != 2
    });
    let mut lines: Vec<Line> =
        kinds.map(|(kind, times)| line(&format!("{kind} response"), times)).collect();
    for (name, by_kind) in [("service", &record.service), ("lag", &record.lag)] {
        lines.extend(by_kind.get(&Kind::All).map(|times| line(name, times)));
    }
    // Bands of all lines would hide each other.
    lines.iter_mut().skip(1).for_each(|line| line.band.clear());
    let mut about = "The time within which this share of the operations was answered. A line ends \
                     where there are too few operations, or where operations were not answered."
        .to_owned();
    if lines.iter().any(|line| !line.band.is_empty()) {
        about += " A band is the 95 % interval.";
    }
    let measured: Vec<f64> = values(&lines).collect();
    let limits = goal_limits(record, &measured);
    with_limits("Percentile spectrum", &about, lines, limits)
}

/// The goals for response times as limits, except those far from the `measured` times, which would
/// leave no room for these.
pub(super) fn goal_limits(record: &Record, measured: &[f64]) -> Vec<Limit> {
    let low = measured.iter().copied().fold(f64::INFINITY, f64::min) / FACTOR_MAX;
    let high = measured.iter().copied().fold(0.0, f64::max) * FACTOR_MAX;
    let goals = record.goals.iter().filter_map(|goal| goal_limit(&goal.goal));
    goals.filter(|limit| (low..=high).contains(&limit.at)).collect()
}

/// The limit that a goal sets to a response time.
pub(super) fn goal_limit(goal: &str) -> Option<Limit> {
    let parsed: Goal = goal.parse().ok()?;
    matches!(parsed.subject, Subject::Response { .. }).then(|| Limit {
        name: goal.to_owned(),
        at: parsed.bound,
        is_upright: false,
    })
}

/// The 95 % interval of a percentile, in ns.
pub(super) fn interval(times: &Distribution, at: Percentile) -> Option<[f64; 2]> {
    times.interval(at).map(|ends| ends.map(|ns| ns as f64))
}

/// The spectrum of the lag by cause.
pub(super) fn lag(split: &LagSplit) -> Chart {
    let parts = lag_parts(split).into_iter();
    let parts = parts.filter(|(.., times)| times.max_ns.is_some_and(|max| max > 0));
    let lines = parts.map(|(_, label, times)| line(label, times)).collect();
    let about = "The time that this share of the operations waited before sending, by cause.";
    chart("Lag by cause", about, lines)
}

/// A chart of spectrum lines.
pub(super) fn chart(title: &'static str, about: &str, lines: Vec<Line>) -> Chart {
    with_limits(title, about, lines, Vec::new())
}

fn with_limits(title: &'static str, about: &str, lines: Vec<Line>, limits: Vec<Limit>) -> Chart {
    let known = lines.iter().flat_map(|line| &line.points).filter(|(_, ns)| ns.is_some());
    let x = Axis::over(Scale::Nines, known.map(|(share, _)| *share), percentile_word);
    let ends = limits.iter().map(|limit| limit.at);
    let y = Axis::over(Scale::Log, values(&lines).chain(ends), time);
    Chart { about: about.to_owned(), lines, limits, ..Chart::new(title, x, y) }
}

/// The percentiles of `times`, as far as they are known.
pub(super) fn line(name: &str, times: &Distribution) -> Line {
    // Zeros alone have no position on a logarithmic axis.
    let is_zero = times.longest_answered().is_none_or(|max| max == 0);
    let Some(histogram) = times.times().filter(|_| !is_zero) else {
        return Line::new(name, Vec::new());
    };
    let points = (1..=NINES_MAX * POINTS_PER_NINE).map_while(|step| {
        let share = 1.0 - 10f64.powf(-f64::from(step) / f64::from(POINTS_PER_NINE));
        // A percentile that rests on a single operation says nothing about others.
        Some((share, Some(quantile(&histogram, times.unanswered, share).known()? as f64)))
    });
    let all = Percentile::ALL.into_iter();
    let band = all.filter_map(|at| Some((at.fraction(), interval(times, at)?))).collect();
    Line { band, ..Line::new(name, points.collect()) }
}

/// Formats a fraction as a percentile: `p50`, `p99.9`.
fn percentile_word(share: f64) -> String {
    let percent = share * 100.0;
    // One digit more than the number of nines.
    let nines = (-(1.0 - share).max(1e-9).log10()).ceil().clamp(0.0, 7.0) as usize;
    let text = format!("{percent:.*}", nines.saturating_sub(1).max(1));
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
