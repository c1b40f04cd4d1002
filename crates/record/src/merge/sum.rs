//! Sums of records: counts, and distributions as histograms with their exact sums.
//!
//! All sums are of whole numbers, so the order of adding cannot show.

use crate::record::{
    ChurnCounts, ChurnRecord, Counts, Distribution, LagSplit, MessageSizes, Outage, PhaseCounts,
    Phases, Reconnects, Record, ServerRecord, ServerTotals, Totals, add, add_counts, per_second,
};
use memtide_base::Span;
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Sums over some records.
#[derive(Clone, Default)]
pub(super) struct Sums {
    phases: Phases,
    response: BTreeMap<Kind, DistributionSum>,
    service: BTreeMap<Kind, DistributionSum>,
    lag: BTreeMap<Kind, DistributionSum>,
    lag_split: [DistributionSum; 4],
    client_delay: DistributionSum,
    in_flight_at_send: Histogram<u64>,
    outstanding_at_send: Histogram<u64>,
    churn: Option<Churn>,
    /// Requests and replies; none until a record has them.
    message_sizes: Option<[Histogram<u64>; 2]>,
    servers: BTreeMap<String, Server>,
    pub(super) sent_in_window: BTreeMap<Kind, u64>,
    pub(super) copies_in_window: BTreeMap<Kind, u64>,
}

impl Sums {
    /// Adds a record. The error names a figure that is impossible.
    pub(super) fn absorb(&mut self, record: &Record) -> Result<(), String> {
        add_phases(&mut self.phases, &record.phases);
        absorb_kinds(&mut self.response, &record.response, "response")?;
        absorb_kinds(&mut self.service, &record.service, "service")?;
        absorb_kinds(&mut self.lag, &record.lag, "lag")?;
        let LagSplit { generator, client_busy, server, disconnected } = &record.lag_split;
        let parts = [generator, client_busy, server, disconnected];
        for (sum, part) in self.lag_split.iter_mut().zip(parts) {
            sum.absorb(part).ok_or_else(|| histogram_damaged("lag_split"))?;
        }
        let delay = self.client_delay.absorb(&record.client_delay);
        delay.ok_or_else(|| histogram_damaged("client_delay"))?;
        let in_flight = record.in_flight_at_send.counts();
        let in_flight = in_flight.ok_or_else(|| histogram_damaged("in_flight_at_send"))?;
        self.in_flight_at_send.absorb(&in_flight);
        let outstanding = record.outstanding_at_send.counts();
        let outstanding = outstanding.ok_or_else(|| histogram_damaged("outstanding_at_send"))?;
        self.outstanding_at_send.absorb(&outstanding);
        if let Some(churn) = &record.churn {
            let sum = self.churn.get_or_insert_default().absorb(churn);
            sum.ok_or_else(|| histogram_damaged("churn"))?;
        }
        if let Some(MessageSizes { requests, replies }) = &record.message_sizes {
            let sums = self.message_sizes.get_or_insert_default();
            for (sum, part) in sums.iter_mut().zip([requests, replies]) {
                let part = part.counts().ok_or_else(|| histogram_damaged("message_sizes"))?;
                sum.absorb(&part);
            }
        }
        for server in &record.servers {
            let sum = self.servers.entry(server.name.clone()).or_default();
            sum.absorb(server).ok_or_else(|| histogram_damaged(&server.name))?;
        }
        add_counts(&mut self.sent_in_window, &record.sent_in_window);
        add_counts(&mut self.copies_in_window, &record.copies_in_window);
        Ok(())
    }

    /// Writes the sums into `record`, which already has its plan and window.
    pub(super) fn seal(self, record: &mut Record) {
        record.totals = self.phases.measure.totals.clone();
        record.phases = self.phases;
        let seal = |kinds: BTreeMap<Kind, DistributionSum>| {
            kinds.into_iter().map(|(kind, times)| (kind, times.seal())).collect()
        };
        record.response = seal(self.response);
        record.service = seal(self.service);
        record.lag = seal(self.lag);
        let [generator, client_busy, server, disconnected] =
            self.lag_split.map(DistributionSum::seal);
        record.lag_split = LagSplit { generator, client_busy, server, disconnected };
        record.client_delay = self.client_delay.seal();
        record.in_flight_at_send = Counts::of(&self.in_flight_at_send);
        record.outstanding_at_send = Counts::of(&self.outstanding_at_send);
        record.message_sizes = self.message_sizes.map(|[requests, replies]| MessageSizes {
            requests: Counts::of(&requests),
            replies: Counts::of(&replies),
        });
        record.sent_in_window = self.sent_in_window;
        record.copies_in_window = self.copies_in_window;
        let length = Span::from_ns(record.window_ns);
        record.churn = self.churn.map(|churn| churn.seal(length));
        let rows = self.servers.into_iter().map(|(name, server)| server.seal(name, length));
        record.servers = rows.collect();
        let place = |name: &str| record.plan.servers.iter().position(|server| server.name == name);
        record.servers.sort_by_key(|server| place(&server.name).unwrap_or(usize::MAX));
    }
}

impl Record {
    /// Checks that every histogram of times and counts holds what its figures say. The error names
    /// one that does not.
    pub fn check_histograms(&self) -> Result<(), String> {
        Sums::default().absorb(self)
    }
}

fn histogram_damaged(place: &str) -> String {
    format!("a histogram of {place} contradicts its figures")
}

fn absorb_kinds(
    sums: &mut BTreeMap<Kind, DistributionSum>,
    parts: &BTreeMap<Kind, Distribution>,
    place: &str,
) -> Result<(), String> {
    for (&kind, part) in parts {
        let sum = sums.entry(kind).or_default().absorb(part);
        sum.ok_or_else(|| histogram_damaged(&format!("{place}.{kind}")))?;
    }
    Ok(())
}

/// Sum of distributions.
#[derive(Clone, Default)]
struct DistributionSum {
    answered: Histogram<u64>,
    unanswered: u64,
    /// Lower bounds of the operations that were cut off.
    bounds: Histogram<u64>,
    /// Lower bound of the time of every other unanswered operation.
    at_least_ns: Option<u64>,
}

impl DistributionSum {
    /// Adds `part`; none if its figures cannot be those of any times.
    fn absorb(&mut self, part: &Distribution) -> Option<()> {
        self.answered.absorb(&part.times()?);
        self.unanswered = self.unanswered.saturating_add(part.unanswered);
        self.bounds.absorb(&part.bounds()?);
        self.at_least_ns = self.at_least_ns.into_iter().chain(part.others_at_least_ns()).min();
        Some(())
    }

    fn seal(self) -> Distribution {
        let at_least = Span::from_ns(self.at_least_ns.unwrap_or(0));
        Distribution::cut_off(&self.answered, self.unanswered, at_least, &self.bounds)
    }
}

/// Sum of connection churn.
#[derive(Clone, Default)]
struct Churn {
    concurrent_max: u64,
    phases: [ChurnCounts; 3],
    times: [DistributionSum; 3],
    calls_planned: u64,
    calls_intended: u64,
}

impl Churn {
    /// Adds `part`; none if its figures cannot be those of any times.
    fn absorb(&mut self, part: &ChurnRecord) -> Option<()> {
        add(&mut self.concurrent_max, part.concurrent_max);
        for (sum, (_, part)) in self.phases.iter_mut().zip(part.phases()) {
            sum.add(part);
        }
        add(&mut self.calls_planned, part.calls_planned);
        add(&mut self.calls_intended, part.calls_intended);
        let parts = [&part.connect, &part.connect_service, &part.lifetime];
        self.times.iter_mut().zip(parts).try_for_each(|(sum, part)| sum.absorb(part))
    }

    /// The sum as a record, without the target rate, which does not add up.
    fn seal(self, length: Span) -> ChurnRecord {
        let [warmup, measure, cooldown] = self.phases;
        let [connect, connect_service, lifetime] = self.times.map(DistributionSum::seal);
        ChurnRecord {
            target_per_s: None,
            started_per_s: per_second(measure.started, length),
            concurrent_max: self.concurrent_max,
            warmup,
            measure,
            cooldown,
            connect,
            connect_service,
            lifetime,
            calls_planned: self.calls_planned,
            calls_intended: self.calls_intended,
        }
    }
}

/// Sum of a server's rows.
#[derive(Clone, Default)]
struct Server {
    seen: bool,
    address: Option<String>,
    connections: u32,
    totals: Totals,
    /// Above zero for each count that some row did not have.
    unknown: Totals,
    response: DistributionSum,
    reconnects: Reconnects,
    outages: Vec<Outage>,
}

impl Server {
    fn absorb(&mut self, row: &ServerRecord) -> Option<()> {
        // Shards that reached it at different addresses leave no single address.
        if !self.seen {
            self.address.clone_from(&row.address);
        } else if self.address != row.address {
            self.address = None;
        }
        self.seen = true;
        self.connections = self.connections.saturating_add(row.connections);
        self.totals.add(&row.totals.totals());
        self.unknown.add(&row.totals.unknown());
        let Reconnects { lost, reconnected, disconnected_ns, disconnected_ns_max } = row.reconnects;
        add(&mut self.reconnects.lost, lost);
        add(&mut self.reconnects.reconnected, reconnected);
        add(&mut self.reconnects.disconnected_ns, disconnected_ns);
        self.reconnects.disconnected_ns_max =
            self.reconnects.disconnected_ns_max.max(disconnected_ns_max);
        self.outages.extend(&row.outages);
        self.response.absorb(&row.response)
    }

    fn seal(self, name: String, length: Span) -> ServerRecord {
        ServerRecord {
            name,
            address: self.address,
            connections: self.connections,
            rate_per_s: per_second(self.totals.answered, length),
            totals: ServerTotals::of(self.totals, &self.unknown),
            response: self.response.seal(),
            reconnects: self.reconnects,
            outages: Outage::united(self.outages),
        }
    }
}

fn add_phases(sum: &mut Phases, part: &Phases) {
    let Phases { load, warmup, measure, cooldown } = part;
    add_phase(&mut sum.load, load);
    add_phase(&mut sum.warmup, warmup);
    add_phase(&mut sum.measure, measure);
    add_phase(&mut sum.cooldown, cooldown);
}

fn add_phase(sum: &mut PhaseCounts, part: &PhaseCounts) {
    sum.totals.add(&part.totals);
    add_counts(&mut sum.ops, &part.ops);
}
