//! Serialisation of a second of the load, to send it from an agent to its master.
//!
//! JSON, with histograms as in a record. Input is not trusted: its size is bounded, and figures
//! that contradict each other are refused.

use super::Interval;
use crate::record::{
    ServerReport, ServerSecond, SettledCounts, UnderWay, Wide, WorkerSecond, are_possible,
};
use memtide_base::Span;
use memtide_metrics::Histogram;
use memtide_metrics::histogram::Moments;
use memtide_scenario::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest size of an interval that [`Interval::from_bytes`] reads, in bytes.
const BYTES_MAX: usize = 4 << 20;

/// An interval as it is serialised.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Travelling {
    start_ns: u64,
    length_ns: u64,
    counts: SettledCounts,
    response: BTreeMap<Kind, Values>,
    service: BTreeMap<Kind, Values>,
    lag: BTreeMap<Kind, Values>,
    unanswered: BTreeMap<Kind, u64>,
    under_way: UnderWay,
    servers: Vec<ServerSecond>,
    no_server: SettledCounts,
    workers: Vec<WorkerSecond>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    reports: BTreeMap<String, ServerReport>,
    is_over: bool,
}

/// A histogram with its exact moments.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    count: u64,
    saturated: u64,
    min: u64,
    max: u64,
    sum: Wide,
    sum_squares: Wide,
    /// HdrHistogram: V2, deflated, base64.
    histogram: String,
}

impl Values {
    fn of(values: &Histogram<u64>) -> Self {
        let &Moments { count, saturated, min, max, sum, sum_squares } = values.moments();
        let (sum, sum_squares) = (Wide(sum), Wide(sum_squares));
        let histogram = values.to_text();
        Self { count, saturated, min, max, sum, sum_squares, histogram }
    }

    /// Decodes the histogram; none if its figures are impossible.
    fn read(&self) -> Option<Histogram<u64>> {
        let moments = Moments {
            count: self.count,
            saturated: self.saturated,
            min: self.min,
            max: self.max,
            sum: self.sum.0,
            sum_squares: self.sum_squares.0,
        };
        are_possible(&moments).then(|| Histogram::from_text(&self.histogram, moments)).flatten()
    }
}

impl Interval {
    /// Serialises the interval for [`Self::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let kinds = |of: &BTreeMap<Kind, Histogram<u64>>| {
            of.iter().map(|(kind, values)| (*kind, Values::of(values))).collect()
        };
        let travelling = Travelling {
            start_ns: self.start.ns(),
            length_ns: self.length.ns(),
            counts: self.counts,
            response: kinds(&self.response),
            service: kinds(&self.service),
            lag: kinds(&self.lag),
            unanswered: self.unanswered.clone(),
            under_way: self.under_way,
            servers: self.servers.clone(),
            no_server: self.no_server,
            workers: self.workers.clone(),
            reports: self.reports.clone(),
            is_over: self.is_over,
        };
        serde_json::to_vec(&travelling).expect("it has only names as keys")
    }

    /// Reads the bytes that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// If `bytes` exceed 4 MiB or are no interval, or if its figures contradict each other. The
    /// error is a clause that says how.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > BYTES_MAX {
            let given = bytes.len();
            return Err(format!(
                "a second of the load is {given} bytes long, more than {BYTES_MAX}"
            ));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|problem| format!("it is not a second of the load: {problem}"))?;
        let travelling: Travelling = crate::record::read_json("a second of the load", text)?;
        let interval = Self {
            start: Span::from_ns(travelling.start_ns),
            length: Span::from_ns(travelling.length_ns),
            counts: travelling.counts,
            response: kinds("response", &travelling.response)?,
            service: kinds("service", &travelling.service)?,
            lag: kinds("lag", &travelling.lag)?,
            unanswered: travelling.unanswered,
            under_way: travelling.under_way,
            servers: travelling.servers,
            no_server: travelling.no_server,
            workers: travelling.workers,
            reports: travelling.reports,
            is_over: travelling.is_over,
        };
        interval.check()?;
        Ok(interval)
    }

    /// Checks that the figures agree with each other.
    fn check(&self) -> Result<(), String> {
        if self.start.ns().checked_add(self.length.ns()).is_none() {
            return Err("a second of the load ends at an impossible time".to_owned());
        }
        let SettledCounts { settled, .. } = self.counts;
        let ended = self.counts.ended();
        if ended != Some(settled) {
            let ended = ended.map_or_else(|| "more".to_owned(), |ended| ended.to_string());
            return Err(format!(
                "in a second of the load {settled} operations ended, but their outcomes add up to \
                 {ended}"
            ));
        }
        let servers = self.servers.iter().map(|server| &server.counts);
        let sum = servers.fold(self.no_server, |sum, of| sum.plus(of));
        if sum != self.counts {
            let (sum, all) = (sum.settled, self.counts.settled);
            return Err(format!(
                "in a second of the load the servers' counts do not add up to those of all: {sum} \
                 of {all} operations ended"
            ));
        }
        let waits = self.workers.iter().map(|worker| worker.oldest_due_s);
        let waits = waits.chain([self.under_way.oldest_due_s]).flatten();
        let busy = self.workers.iter().filter_map(|worker| worker.busy);
        if waits.into_iter().any(|wait| wait < 0.0) || busy.into_iter().any(|busy| busy < 0.0) {
            return Err("in a second of the load a time is below zero".to_owned());
        }
        Ok(())
    }
}

fn kinds(
    place: &str,
    of: &BTreeMap<Kind, Values>,
) -> Result<BTreeMap<Kind, Histogram<u64>>, String> {
    let each = of.iter().map(|(kind, values)| {
        let read = values.read().map(|values| (*kind, values));
        read.ok_or_else(|| {
            format!("in a second of the load {place}.{kind} does not hold what its figures say")
        })
    });
    each.collect()
}
