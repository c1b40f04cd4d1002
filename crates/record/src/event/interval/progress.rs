//! Progress of a load, computed from its seconds alone.

use super::Interval;
use crate::event::Progress;
use crate::record::{Phase, per_second};
use memtide_base::Span;
use memtide_metrics::quantile;
use memtide_scenario::Kind;

/// Progress of a load that is known only by its seconds.
#[derive(Clone, Debug)]
pub struct LoadSoFar {
    /// The length of the warm-up, as far as it is known.
    pub warmup: Span,
    /// The length of the measured window, as far as it is known.
    pub duration: Option<Span>,
    total: Option<u64>,
    done: u64,
    unanswered: u64,
}

impl LoadSoFar {
    /// A load that begins now: its measured window starts after `warmup` and lasts `duration`. None
    /// if a number of operations ends it, which is `total`.
    pub fn new(warmup: Span, duration: Option<Span>, total: Option<u64>) -> Self {
        Self { warmup, duration, total, done: 0, unanswered: 0 }
    }

    /// Progress after another second. Copies of a write count as operations; the rate is this
    /// second's.
    pub fn after(&mut self, second: &Interval) -> Progress {
        let counts = &second.counts;
        self.done = self.done.saturating_add(counts.answered);
        let ended = counts.settled.saturating_sub(counts.answered);
        let unanswered = ended.saturating_sub(counts.unacknowledged);
        self.unanswered = self.unanswered.saturating_add(unanswered);
        let passed = second.end();
        let measured = passed.saturating_sub(self.warmup);
        let (phase, elapsed, length) = match self.duration {
            _ if passed < self.warmup => (Phase::Warmup, passed, Some(self.warmup)),
            Some(duration) if measured >= duration => {
                (Phase::Cooldown, measured.saturating_sub(duration), None)
            }
            duration => (Phase::Measure, measured, duration),
        };
        let above = second.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let response = second.response.get(&Kind::All);
        let p99 = response.and_then(|times| quantile(times, above, 0.99).known());
        let oldest_due = second.under_way.oldest_due_s.filter(|waits| *waits > 0.0);
        Progress {
            phase,
            elapsed_s: elapsed.as_s_f64(),
            length_s: length.map(Span::as_s_f64),
            done: self.done,
            total: self.total,
            living: None,
            rate_per_s: (!second.length.is_zero())
                .then(|| per_second(counts.answered, second.length)),
            response_p99_ns: p99,
            unanswered: self.unanswered,
            oldest_due: oldest_due.map(Span::from_s_f64),
        }
    }
}
