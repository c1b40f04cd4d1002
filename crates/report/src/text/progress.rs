//! The progress line of a terminal: the run's phase, its rate and its response times.
//!
//! One line of text without control characters; the caller overwrites the line before it.

use crate::number::{NONE, or_none, percent, rate, seconds, time, whole};
use memtide_base::Span;
use memtide_record::{Phase, Progress};

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
mod tests;
