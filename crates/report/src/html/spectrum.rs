//! The percentile spectrum: times of the slowest fractions of operations, down to single ones.

use super::chart::{Chart, Line, values};
use crate::axis::{Axis, Scale};
use crate::number::time;
use crate::times::lag_parts;
use memtide_metrics::Quantile;
use memtide_metrics::summary::quantile;
use memtide_record::LagSplit;
use memtide_record::{Distribution, Record};
use memtide_scenario::Kind;

/// Number of points of a line for each further nine.
const POINTS_PER_NINE: i32 = 12;
/// Largest number of nines: 99.9999 %.
const NINES_MAX: i32 = 6;

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
    let about = "The time within which this share of the operations was answered. A line ends \
                 where there are too few operations, or where operations were not answered.";
    chart("Percentile spectrum", about, lines)
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
    let known = lines.iter().flat_map(|line| &line.points).filter(|(_, ns)| ns.is_some());
    let x = Axis::over(Scale::Nines, known.map(|(share, _)| *share), percentile_word);
    let y = Axis::over(Scale::Log, values(&lines), time);
    Chart { about: about.to_owned(), lines, ..Chart::new(title, x, y) }
}

/// The percentiles of `times`, as far as they are known.
pub(super) fn line(name: &str, times: &Distribution) -> Line {
    // Zeros alone have no position on a logarithmic axis.
    let is_zero = times.max_ns.is_none_or(|max| max == 0);
    let Some(histogram) = times.times().filter(|_| !is_zero) else {
        return Line::new(name, Vec::new());
    };
    let point = |step: i32| {
        let share = 1.0 - 10f64.powf(-f64::from(step) / f64::from(POINTS_PER_NINE));
        // A percentile that rests on a single operation says nothing about others.
        match quantile(&histogram, times.unanswered, share) {
            Quantile::Known(ns) => Some((share, Some(ns as f64))),
            Quantile::TooFew { .. } | Quantile::Unanswered => None,
        }
    };
    Line::new(name, (1..=NINES_MAX * POINTS_PER_NINE).map_while(point).collect())
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
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_named_as_people_write_them() {
        let cases = [(0.0, "p0"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];
        for (share, word) in cases {
            assert_eq!(percentile_word(share), word);
        }
        assert_eq!(percentile_word(0.9999), "p99.99");
    }
}
