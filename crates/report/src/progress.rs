//! The progress line of a terminal: the run's phase, its rate and its response times.
//!
//! One line of text without control characters; the caller overwrites the line before it.

use crate::number::{NONE, or_none, percent, rate, seconds, time, whole};
use memtide_base::Span;
use memtide_record::Phase;
use memtide_record::Progress;

/// Age from which a backlog is shown: younger ones come and go.
const BACKLOG_TOLD: Span = Span::from_ms(100);

/// Progress of a run, in at most 79 characters unless figures are extreme.
pub fn progress_line(progress: &Progress) -> String {
    let elapsed = format!("{:.1}", progress.elapsed_s);
    let whereabouts = match (progress.total, progress.length_s) {
        (Some(total), _) if total > 0 => {
            let part = percent(done_part(progress.done, total));
            format!("{elapsed} s, {part} of {}", whole(total))
        }
        (_, Some(length_s)) => format!("{elapsed} of {}", seconds(length_s)),
        _ => format!("{elapsed} s"),
    };
    let mut line = format!("{} {whereabouts}  ", progress.phase);
    line.push_str(&progress.rate_per_s.map_or_else(|| format!("{NONE}/s"), rate));
    if progress.phase != Phase::Load {
        let p99 = progress.response_p99_ns.map(|ns| time(ns as f64));
        line.push_str(&format!("  p99 {}", or_none(p99)));
    }
    if let Some(living) = progress.living {
        line.push_str(&format!("  {} open", whole(living)));
    }
    if let Some(waiting) = progress.oldest_due.filter(|waiting| *waiting >= BACKLOG_TOLD) {
        line.push_str(&format!("  backlog {}", time(waiting.ns() as f64)));
    }
    if progress.unanswered > 0 {
        line.push_str(&format!("  {} not answered", whole(progress.unanswered)));
    }
    line
}

/// The completed part in whole percent, never rounded up to the end.
fn done_part(done: u64, total: u64) -> f64 {
    (done as f64 / total as f64 * 100.0).floor().min(100.0) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measuring() -> Progress {
        Progress {
            phase: Phase::Measure,
            elapsed_s: 3.24,
            length_s: Some(10.0),
            done: 64_800,
            total: None,
            living: None,
            rate_per_s: Some(20_012.0),
            response_p99_ns: Some(412_000),
            unanswered: 0,
            oldest_due: None,
        }
    }

    #[test]
    fn a_line_says_where_how_fast_and_how_slow() {
        assert_eq!(progress_line(&measuring()), "measure 3.2 of 10 s  20 012/s  p99 412 µs");
        let bad = Progress { response_p99_ns: None, unanswered: 1200, ..measuring() };
        let line = progress_line(&bad);
        assert_eq!(line, "measure 3.2 of 10 s  20 012/s  p99 —  1 200 not answered");
        let first = Progress { rate_per_s: None, response_p99_ns: None, ..measuring() };
        assert_eq!(progress_line(&first), "measure 3.2 of 10 s  —/s  p99 —");
    }

    #[test]
    fn a_stall_shows_as_the_age_of_the_backlog() {
        let stalled = Progress { oldest_due: Some(Span::from_ms(1_500)), ..measuring() };
        let line = progress_line(&stalled);
        assert_eq!(line, "measure 3.2 of 10 s  20 012/s  p99 412 µs  backlog 1.50 s");
        let calm = Progress { oldest_due: Some(Span::from_us(40)), ..measuring() };
        assert_eq!(progress_line(&calm), progress_line(&measuring()));
    }

    #[test]
    fn where_connections_are_the_load_their_number_is_told() {
        let churn = Progress { total: Some(2_000), done: 640, living: Some(12), ..measuring() };
        assert_eq!(
            progress_line(&churn),
            "measure 3.2 s, 32 % of 2 000  20 012/s  p99 412 µs  12 open"
        );
    }

    #[test]
    fn a_phase_of_counted_operations_says_which_part_is_done() {
        let load = Progress {
            phase: Phase::Load,
            done: 99_999,
            total: Some(100_000),
            length_s: None,
            ..measuring()
        };
        assert_eq!(progress_line(&load), "load 3.2 s, 99 % of 100 000  20 012/s");
        let cooldown = Progress { phase: Phase::Cooldown, length_s: None, ..measuring() };
        assert_eq!(progress_line(&cooldown), "cooldown 3.2 s  20 012/s  p99 412 µs");
    }
}
