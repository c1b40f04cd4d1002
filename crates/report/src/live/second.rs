//! One second of a load as it is shown: figures in place of histograms.

use super::{EACH_SHOWN_MAX, Live, time_word, unanswered};
use crate::number::{or_none, rate, whole};
use memtide_metrics::{Histogram, quantile};
use memtide_record::{HostSecond, Interval, ServerReport, SettledCounts, UnderWay, per_second};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Number of cells of the heat map: eight for each power of ten, from 1 µs to 10 s.
pub(crate) const HEAT_CELLS: usize = 56;
const CELLS_PER_DECADE: f64 = 8.0;
const HEAT_FROM_NS: f64 = 1e3;

/// A second of the load.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveSecond {
    /// Its beginning and length, in seconds after the load began.
    pub(crate) start_s: f64,
    pub(crate) length_s: f64,
    /// Operations due per second; none in a closed loop, and where a backlog has no number.
    pub(crate) due_per_s: Option<f64>,
    pub(crate) answered_per_s: f64,
    /// Operations that failed, timed out or were lost.
    pub(crate) unanswered: u64,
    pub(crate) counts: SettledCounts,
    /// 50th, 99th and 99.9th percentile of response times, in ns.
    pub(crate) response: [Option<u64>; 3],
    pub(crate) service_p99: Option<u64>,
    pub(crate) lag_p99: Option<u64>,
    /// The longest service time, in ns.
    pub(crate) service_max: Option<u64>,
    /// Operations answered in each cell of the heat map.
    pub(crate) heat: Vec<u32>,
    pub(crate) under_way: UnderWay,
    kinds: BTreeMap<Kind, LiveKind>,
    servers: Vec<LiveServer>,
    /// Reports of the servers by name.
    pub(crate) reports: BTreeMap<String, ServerReport>,
    /// The busiest worker's busy share, and the largest share without its CPU.
    pub(crate) busy: Option<f64>,
    pub(crate) kept: Option<f64>,
    /// Busy share of each worker.
    pub(crate) workers: Vec<Option<f64>>,
    pub(crate) host: Option<HostSecond>,
}

/// A kind of operation in a second of the load.
#[derive(Clone, Debug)]
struct LiveKind {
    answered_per_s: f64,
    /// 99th percentile of response times, in ns.
    p99: Option<u64>,
}

/// A server in a second of the load.
#[derive(Clone, Debug)]
struct LiveServer {
    answered_per_s: f64,
    /// Operations without a good answer.
    unanswered: u64,
    connections_open: Option<u64>,
}

impl LiveSecond {
    /// The second that followed `before`, of a load at the rate `asked` if that does not change.
    pub(super) fn of(second: &Interval, before: Option<&Self>, asked: Option<f64>) -> Self {
        let Interval { counts, length, .. } = *second;
        let above = second.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let then = before.map_or(Some(0), |before| waiting(&before.under_way));
        let due = waiting(&second.under_way)
            .zip(then)
            .map(|(now, then)| (counts.settled + now).saturating_sub(then));
        Self {
            start_s: second.start.as_s_f64(),
            length_s: length.as_s_f64(),
            due_per_s: asked.or_else(|| due.map(|due| per_second(due, length))),
            answered_per_s: per_second(counts.answered, length),
            unanswered: unanswered(&counts),
            counts,
            response: [0.5, 0.99, 0.999].map(|share| of_all(&second.response, above, share)),
            service_p99: of_all(&second.service, 0, 0.99),
            lag_p99: of_all(&second.lag, 0, 0.99),
            service_max: second.service.get(&Kind::All).map(|times| times.moments().max),
            heat: second.response.get(&Kind::All).map_or_else(|| vec![0; HEAT_CELLS], heat),
            under_way: second.under_way,
            kinds: second
                .response
                .iter()
                .filter(|(kind, _)| **kind != Kind::All)
                .map(|(kind, times)| {
                    let above = second.unanswered.get(kind).copied().unwrap_or(0);
                    let answered_per_s = per_second(times.count(), length);
                    let p99 = quantile(times, above, 0.99).known();
                    (*kind, LiveKind { answered_per_s, p99 })
                })
                .collect(),
            servers: second
                .servers
                .iter()
                .take(EACH_SHOWN_MAX)
                .map(|of| LiveServer {
                    answered_per_s: per_second(of.counts.answered, length),
                    unanswered: unanswered(&of.counts),
                    connections_open: of.connections_open,
                })
                .collect(),
            reports: second.reports.clone(),
            busy: second.workers.iter().filter_map(|worker| worker.busy).reduce(f64::max),
            kept: second.workers.iter().filter_map(|worker| worker.kept).reduce(f64::max),
            workers: second.workers.iter().take(EACH_SHOWN_MAX).map(|of| of.busy).collect(),
            host: second.host.clone(),
        }
    }

    /// Its end, in seconds after the load began.
    pub(crate) fn end_s(&self) -> f64 {
        self.start_s + self.length_s
    }
}

/// A quantile of the times of all kinds, above which this number of operations rank.
fn of_all(by: &BTreeMap<Kind, Histogram<u64>>, above: u64, share: f64) -> Option<u64> {
    let none = Histogram::new();
    quantile(by.get(&Kind::All).unwrap_or(&none), above, share).known()
}

/// Operations that are due and not over; none in a closed loop.
fn waiting(under_way: &UnderWay) -> Option<u64> {
    Some(under_way.in_flight? + under_way.backlog?)
}

/// The number of times in each cell of the heat map; times beyond it are in its first or last.
fn heat(times: &Histogram<u64>) -> Vec<u32> {
    let mut cells = vec![0u32; HEAT_CELLS];
    for (ns, count) in times.recorded() {
        let place = (ns.max(1) as f64 / HEAT_FROM_NS).log10() * CELLS_PER_DECADE;
        let cell = &mut cells[(place.max(0.0) as usize).min(HEAT_CELLS - 1)];
        *cell = cell.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }
    cells
}

/// The lower edge of a cell of the heat map, in ns.
pub(crate) fn heat_edge(cell: usize) -> f64 {
    HEAT_FROM_NS * 10f64.powf(cell as f64 / CELLS_PER_DECADE)
}

/// What [`Live::kind_rows`] says.
pub(crate) const KIND_COLUMNS: [&str; 3] = ["kind", "answered", "p99"];
/// What [`Live::server_rows`] says.
pub(crate) const SERVER_COLUMNS: [&str; 4] = ["server", "answered", "not answered", "connections"];

impl Live {
    /// A row for each kind of operation in the last second.
    pub(crate) fn kind_rows(&self) -> Vec<Vec<String>> {
        let kinds = self.last().into_iter().flat_map(|now| &now.kinds);
        kinds
            .map(|(kind, of)| vec![kind.to_string(), rate(of.answered_per_s), time_word(of.p99)])
            .collect()
    }

    /// A row for each server in the last second, as memtide sees it.
    pub(crate) fn server_rows(&self) -> Vec<Vec<String>> {
        let plan = self.plan.as_ref();
        let servers = self.last().into_iter().flat_map(|now| now.servers.iter().enumerate());
        servers
            .map(|(number, of)| {
                let planned = plan.and_then(|plan| plan.servers.get(number));
                vec![
                    planned.map_or_else(|| format!("server {number}"), |it| it.name.clone()),
                    rate(of.answered_per_s),
                    whole(of.unanswered),
                    or_none(of.connections_open.map(whole)),
                ]
            })
            .collect()
    }
}
