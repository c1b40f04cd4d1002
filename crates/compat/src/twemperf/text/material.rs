//! The content of a report: the figures of one run under twemperf's names. It is filled from a
//! record as far as the record has the figures; nothing is estimated.

use memtide_metrics::histogram::Histogram;
use memtide_record::{ChurnCounts, Record, Totals};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Nanoseconds in a millisecond, the unit of the report's times.
const MS_NS: f64 = 1e6;

/// The figures of one run. The default is that of a run without any event.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// Connects attempted.
    pub connections: u64,
    /// Requests sent as a whole.
    pub requests: u64,
    /// Answers received, errors included.
    pub responses: u64,
    /// Time from the beginning of the run to its last event, in seconds.
    pub duration_s: f64,
    /// The most connections open at once.
    pub concurrent_max: u64,
    /// Lifetimes of established connections, from the connect to their end, in ms.
    pub connection_ms: Spread,
    /// Times from the connect until the connection was established, in ms.
    pub connect_ms: Spread,
    /// The bytes of a request.
    pub request_bytes: Spread,
    /// The bytes of an answer.
    pub response_bytes: Spread,
    /// Times from the sending of a request to the last byte of its answer, in nanoseconds.
    pub response_ns: Histogram<u64>,
    /// Counts of answers by content.
    pub replies: Replies,
    /// Counts of errors.
    pub errors: Errors,
    /// The CPU time of this process.
    pub cpu: Cpu,
}

/// A distribution in one line; all 0 without values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The deviation of the sample (divided by n − 1); 0 for a single value.
    pub deviation: f64,
}

/// Counts of answers by content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replies {
    /// STORED.
    pub stored: u64,
    /// NOT_STORED.
    pub not_stored: u64,
    /// EXISTS.
    pub exists: u64,
    /// NOT_FOUND.
    pub not_found: u64,
    /// A number.
    pub number: u64,
    /// DELETED.
    pub deleted: u64,
    /// A retrieval that found nothing.
    pub end: u64,
    /// A retrieval that found its key.
    pub value: u64,
    /// ERROR.
    pub error: u64,
    /// CLIENT_ERROR.
    pub client_error: u64,
    /// SERVER_ERROR.
    pub server_error: u64,
}

/// Counts of failed connections by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// The client's timeout.
    pub client_timed_out: u64,
    /// ETIMEDOUT.
    pub socket_timed_out: u64,
    /// ECONNREFUSED.
    pub refused: u64,
    /// ECONNRESET and EPIPE.
    pub reset: u64,
    /// EMFILE.
    pub no_descriptors: u64,
    /// ENFILE.
    pub file_table_full: u64,
    /// EADDRNOTAVAIL.
    pub no_ports: u64,
    /// Everything else.
    pub other: u64,
}

/// The CPU time that a run cost its process, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In the program.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl Material {
    /// The figures of `record`. Response times are those from sending to the last byte of the
    /// answer. The error names a histogram that cannot be read back.
    pub fn of(record: &Record) -> Result<Self, String> {
        let mut response_ns = Histogram::new();
        for (kind, times) in record.service.iter().filter(|(kind, _)| is_single(**kind)) {
            response_ns.absorb(&times.times().ok_or_else(|| damaged(kind.name()))?);
        }
        let sizes = record.message_sizes.clone().unwrap_or_default();
        let requests = sizes.requests.counts().ok_or_else(|| damaged("requests"))?;
        let replies = sizes.replies.counts().ok_or_else(|| damaged("replies"))?;
        let churn = record.churn.clone().unwrap_or_default();
        let lifetimes = churn.lifetime.times().ok_or_else(|| damaged("connection times"))?;
        let connects = churn.connect_service.times().ok_or_else(|| damaged("connect times"))?;
        Ok(Self {
            connections: churn.measure.started,
            concurrent_max: churn.concurrent_max,
            connection_ms: Spread::of(&lifetimes, MS_NS),
            connect_ms: Spread::of(&connects, MS_NS),
            errors: Errors::of(&churn.measure),
            requests: record.totals.sent,
            responses: replies.count(),
            duration_s: record.measured_s,
            request_bytes: Spread::of(&requests, 1.0),
            response_bytes: Spread::of(&replies, 1.0),
            response_ns,
            replies: Replies::of(&record.totals),
            cpu: Cpu {
                user_s: record.client.cpu_user_s.unwrap_or(0.0),
                system_s: record.client.cpu_system_s.unwrap_or(0.0),
            },
        })
    }
}

fn damaged(name: &str) -> String {
    format!("the record is damaged: the histogram of {name} does not hold its counts")
}

/// True if no other row includes the operations of this kind.
fn is_single(kind: Kind) -> bool {
    !matches!(kind, Kind::All | Kind::GetHit | Kind::GetMiss)
}

impl Replies {
    fn of(totals: &Totals) -> Self {
        let (replies, errors) = (&totals.replies, &totals.errors);
        Self {
            stored: count(replies, "stored"),
            not_stored: count(replies, "not_stored"),
            exists: count(replies, "exists"),
            not_found: count(replies, "not_found"),
            number: count(replies, "number"),
            deleted: count(replies, "deleted"),
            end: totals.misses,
            value: totals.hits,
            error: count(errors, "error"),
            client_error: count(errors, "client_error"),
            server_error: count(errors, "server_error"),
        }
    }
}

fn count(counts: &BTreeMap<String, u64>, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

impl Spread {
    /// The distribution of `values`, of whose units `unit` make one of the report's.
    pub fn of(values: &Histogram<u64>, unit: f64) -> Self {
        let moments = values.moments();
        let count = moments.count as f64;
        if moments.count == 0 {
            return Self::default();
        }
        // Whole numbers are exact; only sums beyond 2^128 need floating point.
        let squares = moments.sum_squares.checked_mul(u128::from(moments.count));
        let square = moments.sum.checked_mul(moments.sum);
        let exact = squares.zip(square).and_then(|(of, less)| of.checked_sub(less));
        let spread = match exact {
            Some(exact) => exact as f64,
            None => (moments.deviation().unwrap_or(0.0) * count).powi(2),
        };
        let spread = spread / count;
        let deviation = if moments.count > 1 { (spread / (count - 1.0)).sqrt() } else { 0.0 };
        Self {
            mean: moments.sum as f64 / count / unit,
            min: moments.min as f64 / unit,
            max: moments.max as f64 / unit,
            deviation: deviation / unit,
        }
    }
}

impl Errors {
    fn of(churn: &ChurnCounts) -> Self {
        let mut errors = Self::default();
        for (cause, count) in &churn.causes {
            *match cause.as_str() {
                "connect_timed_out" | "call_timed_out" => &mut errors.client_timed_out,
                "connect_unanswered" | "lost_unanswered" => &mut errors.socket_timed_out,
                "refused" => &mut errors.refused,
                "connect_reset" | "reset" => &mut errors.reset,
                "no_descriptors" => &mut errors.no_descriptors,
                "file_table_full" => &mut errors.file_table_full,
                "no_ports" => &mut errors.no_ports,
                _ => &mut errors.other,
            } += count;
        }
        errors
    }

    /// The number of all errors.
    pub const fn total(&self) -> u64 {
        self.client_timed_out
            + self.socket_timed_out
            + self.refused
            + self.reset
            + self.no_descriptors
            + self.file_table_full
            + self.no_ports
            + self.other
    }
}
