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
    /// Answers per second and 99th percentile of each kind.
    pub(crate) kinds: BTreeMap<Kind, (f64, Option<u64>)>,
    /// Answers per second, operations without a good answer, and open connections of each server.
    pub(crate) servers: Vec<(f64, u64, Option<u64>)>,
    /// Reports of the servers by name.
    pub(crate) reports: BTreeMap<String, ServerReport>,
    /// The busiest worker's busy share, and the largest share without its CPU.
    pub(crate) busy: Option<f64>,
    pub(crate) kept: Option<f64>,
    /// Busy share of each worker.
    pub(crate) workers: Vec<Option<f64>>,
    pub(crate) host: Option<HostSecond>,
}

impl LiveSecond {
    /// The second that followed `before`, of a load at the rate `asked` if that does not change.
    pub(super) fn of(second: &Interval, before: Option<&Self>, asked: Option<f64>) -> Self {
        let none = Histogram::new();
        let all = |by: &BTreeMap<Kind, Histogram<u64>>, above: u64, share: f64| {
            quantile(by.get(&Kind::All).unwrap_or(&none), above, share).known()
        };
        let above = second.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let counts = second.counts;
        let waits = |under_way: &UnderWay| Some(under_way.in_flight? + under_way.backlog?);
        let then = before.map_or(Some(0), |before| waits(&before.under_way));
        let due = waits(&second.under_way)
            .zip(then)
            .map(|(now, then)| (counts.settled + now).saturating_sub(then));
        let rate = |count: u64| per_second(count, second.length);
        let most = |value: fn(&memtide_record::WorkerSecond) -> Option<f64>| {
            second.workers.iter().filter_map(value).reduce(f64::max)
        };
        Self {
            start_s: second.start.as_s_f64(),
            length_s: second.length.as_s_f64(),
            due_per_s: asked.or_else(|| due.map(rate)),
            answered_per_s: rate(counts.answered),
            unanswered: unanswered(&counts),
            counts,
            response: [0.5, 0.99, 0.999].map(|share| all(&second.response, above, share)),
            service_p99: all(&second.service, 0, 0.99),
            lag_p99: all(&second.lag, 0, 0.99),
            service_max: second.service.get(&Kind::All).map(|times| times.moments().max),
            heat: heat(second.response.get(&Kind::All).unwrap_or(&none)),
            under_way: second.under_way,
            kinds: second
                .response
                .iter()
                .filter(|(kind, _)| **kind != Kind::All)
                .map(|(kind, times)| {
                    let above = second.unanswered.get(kind).copied().unwrap_or(0);
                    (*kind, (rate(times.count()), quantile(times, above, 0.99).known()))
                })
                .collect(),
            servers: second
                .servers
                .iter()
                .take(EACH_SHOWN_MAX)
                .map(|of| (rate(of.counts.answered), unanswered(&of.counts), of.connections_open))
                .collect(),
            reports: second.reports.clone(),
            busy: most(|worker| worker.busy),
            kept: most(|worker| worker.kept),
            workers: second.workers.iter().take(EACH_SHOWN_MAX).map(|of| of.busy).collect(),
            host: second.host.clone(),
        }
    }

    /// Its end, in seconds after the load began.
    pub(crate) fn end_s(&self) -> f64 {
        self.start_s + self.length_s
    }
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
            .map(|(kind, (per_s, p99))| vec![kind.to_string(), rate(*per_s), time_word(*p99)])
            .collect()
    }

    /// A row for each server in the last second, as memtide sees it.
    pub(crate) fn server_rows(&self) -> Vec<Vec<String>> {
        let name = |number: usize| {
            let server = self.plan.as_ref().and_then(|plan| plan.servers.get(number));
            server.map_or_else(|| format!("server {number}"), |server| server.name.clone())
        };
        let servers = self.last().into_iter().flat_map(|now| now.servers.iter().enumerate());
        servers
            .map(|(number, (per_s, bad, open))| {
                vec![name(number), rate(*per_s), whole(*bad), or_none(open.map(whole))]
            })
            .collect()
    }
}
