//! Unexpected states of servers: gone, restarted, flushed, or without the keys.

use super::WarningKind;
use crate::record::{Outage, Rhythm};
use memtide_base::{Span, units};

/// A server was gone, restarted or emptied. Instants are in seconds after the measured window
/// began.
#[derive(Clone, Debug, PartialEq)]
pub enum Upset {
    /// No connection to a server was open for a while, or until the end.
    Gone {
        /// Name of the server.
        server: String,
        /// The outages.
        when: Vec<TimeRange>,
        /// True if it did not come back until the measured window ended.
        is_lost: bool,
    },
    /// No reply came from a server for a while, although operations were in flight.
    Silent {
        /// Name of the server.
        server: String,
        /// Total time without a reply, in seconds.
        silent_s: f64,
        /// Length of the measured window in seconds.
        measured_s: f64,
        /// The silences.
        when: Vec<TimeRange>,
        /// Their rhythm, if they have one.
        rhythm: Option<Rhythm>,
    },
    /// A server was restarted during the run.
    Restarted {
        /// Name of the server.
        server: String,
    },
    /// Another client emptied a server during the run.
    Flushed {
        /// Name of the server.
        server: String,
        /// Number of times.
        count: u64,
    },
    /// Fewer keys were found than the servers held when the load began.
    HitRatio {
        /// Number of keys read.
        keys: u64,
        /// Number of keys found.
        hits: u64,
        /// Fraction of keys found by a fill or probe before the load; none if there was neither.
        held: Option<f64>,
        /// True if these are the keys of one share of a run alone, whose reads are of all keys.
        of_share: bool,
    },
}

impl Upset {
    /// What the warning is about.
    pub(super) const fn kind(&self) -> WarningKind {
        match self {
            Self::Gone { .. } => WarningKind::ServerGone,
            Self::Silent { .. } => WarningKind::ServerSilent,
            Self::Restarted { .. } => WarningKind::ServerRestarted,
            Self::Flushed { .. } => WarningKind::ServerFlushed,
            Self::HitRatio { .. } => WarningKind::HitRatio,
        }
    }

    /// The problem, with its figures: a sentence without its full stop.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Gone { server, when, is_lost } => {
                let lost = if *is_lost { ", and is lost" } else { "" };
                format!("{server} was gone {}{lost}", TimeRange::list(when))
            }
            Self::Silent { server, silent_s, measured_s, when, rhythm } => {
                let total = format!("{silent_s:.1} of {measured_s:.1} s");
                match rhythm {
                    Some(Rhythm { count, each_s, every_s }) => format!(
                        "{server} stalled {count} times for {:.0} ms, every {every_s:.1} s: it was \
                         silent for {total}",
                        each_s * 1e3
                    ),
                    None => format!(
                        "{server} was silent for {total}: no reply {}, while operations were in \
                         flight",
                        TimeRange::list(when)
                    ),
                }
            }
            Self::Restarted { server } => {
                format!("{server} was restarted during the run and lost its items")
            }
            Self::Flushed { server, count } => {
                format!("another client sent {count} flush_all to {server} during the run")
            }
            Self::HitRatio { keys, hits, held, of_share } => match held {
                Some(held) => format!(
                    "{} of {keys} keys were found ({}), but the servers held {} of {} when the \
                     load started",
                    hits,
                    exact_percent(*hits as f64 / *keys as f64),
                    exact_percent(*held),
                    if *of_share { "this share's own keys" } else { "the keys" }
                ),
                None => format!(
                    "{hits} of {keys} keys were found: the servers do not hold the keys of this run"
                ),
            },
        }
    }
}

/// Largest number of times that are listed one by one.
const RANGES_MAX: usize = 3;

/// A time of a run, in seconds after the measured window began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeRange {
    /// Its beginning; negative if that lies before the window.
    pub from_s: f64,
    /// Its end; none if it lasted until the end of the run.
    pub until_s: Option<f64>,
}

impl TimeRange {
    /// The time of an outage in a run whose window began at `start_unix_ms`.
    pub fn of(outage: &Outage, start_unix_ms: f64) -> Self {
        Self {
            from_s: (outage.from_unix_ms as f64 - start_unix_ms) / 1e3,
            until_s: outage.until_unix_ms.map(|until| (until as f64 - start_unix_ms) / 1e3),
        }
    }

    /// Its length within a window of `window_s`, in seconds.
    pub fn within_s(&self, window_s: f64) -> f64 {
        let until_s = self.until_s.unwrap_or(f64::INFINITY).min(window_s);
        (until_s - self.from_s.max(0.0)).max(0.0)
    }

    /// Formats several as a list, of which the first are named one by one.
    pub fn list(ranges: &[Self]) -> String {
        let each = ranges.iter().take(RANGES_MAX).map(|range| match range.until_s {
            Some(until_s) => format!("from {} to {}", instant(range.from_s), instant(until_s)),
            None => format!("from {} to the end", instant(range.from_s)),
        });
        let mut text = each.collect::<Vec<_>>().join(", ");
        if let Some(more) = ranges.len().checked_sub(RANGES_MAX).filter(|more| *more > 0) {
            text.push_str(&format!(" and {more} more"));
        }
        text
    }
}

/// Formats an instant in seconds after the measured window began.
fn instant(s: f64) -> String {
    let span = units::format_span(Span::from_ns((s.abs() * 1e9) as u64));
    if s < 0.0 { format!("−{span}") } else { span }
}

/// Formats a fraction in percent, with up to four decimals.
pub fn exact_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}
