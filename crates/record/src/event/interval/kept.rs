//! Seconds as a record keeps them: counts and states, and two percentiles in place of the times.

use super::Interval;
use crate::record::{SecondRecord, SettledCounts};
use memtide_base::Span;
use memtide_metrics::{Histogram, quantile};
use memtide_scenario::Kind;

impl Interval {
    /// The second as a record keeps it; `times` has the response times of its measured operations.
    /// Their percentiles are none if the times are unknown.
    pub fn record(&self, times: &Histogram<u64>) -> SecondRecord {
        let above = self.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let [response_p50_ns, response_p99_ns] =
            [0.5, 0.99].map(|p| quantile(times, above, p).known());
        SecondRecord {
            start_s: self.start.as_s_f64(),
            length_s: self.length.as_s_f64(),
            counts: self.counts,
            response_p50_ns,
            response_p99_ns,
            under_way: self.under_way,
            servers: self.servers.clone(),
            no_server: Some(self.no_server).filter(|none| *none != SettledCounts::default()),
            workers: self.workers.clone(),
            reports: self.reports.clone(),
            host: self.host.clone(),
        }
    }

    /// The second of a record, without the state of single workers. Its times are unknown.
    pub fn of_record(second: &SecondRecord) -> Self {
        Self {
            start: Span::from_s_f64(second.start_s),
            length: Span::from_s_f64(second.length_s),
            counts: second.counts,
            under_way: second.under_way,
            servers: second.servers.clone(),
            no_server: second.no_server.unwrap_or_default(),
            reports: second.reports.clone(),
            host: second.host.clone(),
            ..Self::default()
        }
    }
}
