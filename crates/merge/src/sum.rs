//! Sums of records: counts, and distributions as histograms with their exact sums.
//!
//! All sums are of whole numbers, so the order of adding cannot show.

use memtide_base::Span;
use memtide_metrics::Histogram;
use memtide_record::{
    ChurnRecord, Counts, Distribution, ItemFigures, LagSplit, MessageSizes, Outage, Percentile,
    Phases, Record, ServerRecord, ServerSilence, ServerTotals, Totals, add_counts,
};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Sums over some records.
#[derive(Clone, Default)]
pub(super) struct Sums {
    phases: Phases,
    sent_in_window: BTreeMap<Kind, u64>,
    copies_in_window: BTreeMap<Kind, u64>,
    /// Of each record; none if it does not know them.
    answered_in_window: Vec<Option<u64>>,
    /// Connection churn without its times; none without it.
    churn: Option<ChurnRecord>,
    servers: BTreeMap<String, Server>,
    /// The first of the errors with which servers replied, in the order of the alphabet.
    refusal: Option<String>,
    /// Distributions of times by their place in a record.
    times: BTreeMap<String, DistributionSum>,
    /// Distributions of counts by their place in a record.
    counts: BTreeMap<&'static str, Histogram<u64>>,
    /// True if a record with answered operations has no times of drawn operations, or none without
    /// memtide's own delay: those of the others say nothing of all of them.
    lacks_drawn: bool,
    lacks_punctual: bool,
}

/// The distributions of times in a record, each with its place.
fn times_of(record: &Record) -> impl Iterator<Item = (String, &Distribution)> {
    let kinds = [
        ("response", &record.response),
        ("drawn", &record.drawn),
        ("punctual", &record.punctual),
        ("service", &record.service),
        ("lag", &record.lag),
    ];
    let of_kinds = kinds.into_iter().flat_map(|(name, kinds)| {
        kinds.iter().map(move |(kind, times)| (format!("{name}.{kind}"), times))
    });
    let LagSplit { generator, client_busy, server, disconnected } = &record.lag_split;
    let of_all = [
        ("lag_split.generator", generator),
        ("lag_split.client_busy", client_busy),
        ("lag_split.server", server),
        ("lag_split.disconnected", disconnected),
        ("client_delay", &record.client_delay),
    ];
    let of_churn = record.churn.iter().flat_map(|churn| {
        let ChurnRecord { connect, connect_service, lifetime, .. } = churn;
        let ChurnRecord { connect_tcp, handshake, first_reply, .. } = churn;
        [
            ("churn.connect", connect),
            ("churn.connect_service", connect_service),
            ("churn.connect_tcp", connect_tcp),
            ("churn.handshake", handshake),
            ("churn.first_reply", first_reply),
            ("churn.lifetime", lifetime),
        ]
    });
    let named = of_all.into_iter().chain(of_churn).map(|(name, times)| (name.to_owned(), times));
    let of_servers = record.servers.iter();
    let of_servers =
        of_servers.map(|server| (format!("servers.{}", server.name), &server.response));
    of_kinds.chain(named).chain(of_servers)
}

/// The distributions of counts in a record, each with its place.
fn counts_of(record: &Record) -> impl Iterator<Item = (&'static str, &Counts)> {
    let of_sizes = record.message_sizes.iter().flat_map(|MessageSizes { requests, replies }| {
        [("message_sizes.requests", requests), ("message_sizes.replies", replies)]
    });
    let of_items = record.items.iter().flat_map(|items| {
        let ItemFigures { age_s, ttl_s, never_expires, read_before } = items;
        [
            ("items.age_s", age_s),
            ("items.ttl_s", ttl_s),
            ("items.never_expires", never_expires),
            ("items.read_before", read_before),
        ]
    });
    let of_all = [
        ("in_flight_at_send", &record.in_flight_at_send),
        ("outstanding_at_send", &record.outstanding_at_send),
    ];
    of_all.into_iter().chain(of_sizes).chain(of_items)
}

impl Sums {
    /// Adds a record. The error names a figure that is impossible.
    pub(super) fn absorb(&mut self, record: &Record) -> Result<(), String> {
        self.phases.add(&record.phases);
        add_counts(&mut self.sent_in_window, &record.sent_in_window);
        add_counts(&mut self.copies_in_window, &record.copies_in_window);
        self.answered_in_window.push(record.answered_in_window);
        if let Some(churn) = &record.churn {
            self.churn.get_or_insert_default().add_counts(churn);
        }
        for server in &record.servers {
            self.servers.entry(server.name.clone()).or_default().absorb(server);
        }
        let all = record.response.get(&Kind::All);
        let is_answered = all.is_some_and(|all| all.count > all.unanswered);
        self.lacks_drawn |= is_answered && record.drawn.is_empty();
        self.lacks_punctual |= is_answered && record.punctual.is_empty();
        self.refusal = self.refusal.take().into_iter().chain(record.refusal.clone()).min();
        for (place, times) in times_of(record) {
            let sum = self.times.entry(place.clone()).or_default().absorb(times);
            sum.ok_or_else(|| damaged(&place))?;
        }
        for (place, part) in counts_of(record) {
            let read = counts(part).ok_or_else(|| damaged(place))?;
            self.counts.entry(place).or_default().absorb(&read);
        }
        Ok(())
    }

    /// Writes the sums into `record`, which already has its plan and window.
    pub(super) fn seal(mut self, record: &mut Record) {
        let times = &mut self.times;
        record.response = by_kind(times, "response");
        if !self.lacks_drawn && !self.lacks_punctual {
            record.drawn = by_kind(times, "drawn");
        }
        if !self.lacks_punctual {
            record.punctual = by_kind(times, "punctual");
        }
        record.service = by_kind(times, "service");
        record.lag = by_kind(times, "lag");
        record.lag_split = LagSplit {
            generator: taken(times, "lag_split.generator"),
            client_busy: taken(times, "lag_split.client_busy"),
            server: taken(times, "lag_split.server"),
            disconnected: taken(times, "lag_split.disconnected"),
        };
        record.client_delay = taken(times, "client_delay");
        record.churn = self.churn.map(|churn| ChurnRecord {
            connect: taken(times, "churn.connect"),
            connect_service: taken(times, "churn.connect_service"),
            connect_tcp: taken(times, "churn.connect_tcp"),
            handshake: taken(times, "churn.handshake"),
            first_reply: taken(times, "churn.first_reply"),
            lifetime: taken(times, "churn.lifetime"),
            ..churn
        });
        let rows = self.servers.into_iter().map(|(name, server)| ServerRecord {
            response: taken(times, &format!("servers.{name}")),
            ..server.seal(name)
        });
        record.servers = rows.collect();
        let planned = &record.plan.servers;
        record.servers.sort_by_key(|server| {
            planned.iter().position(|it| it.name == server.name).unwrap_or(usize::MAX)
        });
        let counts = |place| self.counts.get(place).map(Counts::of);
        record.in_flight_at_send = counts("in_flight_at_send").unwrap_or_default();
        record.outstanding_at_send = counts("outstanding_at_send").unwrap_or_default();
        let sizes = counts("message_sizes.requests").zip(counts("message_sizes.replies"));
        record.message_sizes = sizes.map(|(requests, replies)| MessageSizes { requests, replies });
        record.items = counts("items.age_s").map(|age_s| ItemFigures {
            age_s,
            ttl_s: counts("items.ttl_s").unwrap_or_default(),
            never_expires: counts("items.never_expires").unwrap_or_default(),
            read_before: counts("items.read_before").unwrap_or_default(),
        });
        record.sent_in_window = self.sent_in_window;
        record.copies_in_window = self.copies_in_window;
        let mut answered = self.answered_in_window.into_iter();
        record.answered_in_window =
            answered.try_fold(0u64, |sum, of| Some(sum.saturating_add(of?)));
        record.phases = self.phases;
        record.refusal = self.refusal;
    }
}

fn damaged(place: &str) -> String {
    format!("a histogram of {place} contradicts its figures")
}

/// Takes the sum of the distributions at this place.
fn taken(times: &mut BTreeMap<String, DistributionSum>, place: &str) -> Distribution {
    times.remove(place).unwrap_or_default().seal()
}

/// Takes the sums of a member that has one distribution for each kind.
fn by_kind(
    times: &mut BTreeMap<String, DistributionSum>,
    member: &str,
) -> BTreeMap<Kind, Distribution> {
    let kinds = Kind::ALL.iter();
    let sums = kinds.map(|kind| (*kind, times.remove(&format!("{member}.{kind}"))));
    sums.filter_map(|(kind, sum)| Some((kind, sum?.seal()))).collect()
}

/// Checks that every histogram of times and counts in `record` holds what its figures say, also of
/// the load of a master beside its agents.
///
/// # Errors
/// The name of a histogram that does not, in a sentence without its full stop.
pub fn check_histograms(record: &Record) -> Result<(), String> {
    Sums::default().absorb(record)?;
    record.own.as_deref().map_or(Ok(()), check_histograms)
}

/// The times of `part`; none if they are damaged, or if a percentile, the mean, the deviation, the
/// maximum or one of their bounds is there and is not theirs.
fn times(part: &Distribution) -> Option<Histogram<u64>> {
    let times = part.times()?;
    let others = Span::from_ns(others_at_least_ns(part).unwrap_or(0));
    let truth = Distribution::cut_off(&times, part.unanswered, others, &part.bounds()?);
    let mut percentiles = Percentile::ALL.into_iter();
    let follows = percentiles.all(|it| is_so(part.percentile(it), truth.percentile(it)))
        && is_near(part.mean_ns, truth.mean_ns)
        && is_near(part.mean_at_least_ns, truth.mean_at_least_ns)
        && is_near(part.stddev_ns, truth.stddev_ns)
        && is_near(part.stddev_at_least_ns, truth.stddev_at_least_ns)
        && is_so(part.max_ns, truth.max_ns)
        && is_so(part.max_at_least_ns, truth.max_at_least_ns);
    follows.then_some(times)
}

/// Lower bound of the time of each unanswered operation that has no bound of its own.
fn others_at_least_ns(part: &Distribution) -> Option<u64> {
    match &part.bounds {
        Some(bounds) => bounds.others_at_least_ns,
        None => part.at_least_ns,
    }
}

/// The counts of `part`; none if they are damaged, or if a percentile or the mean is there and is
/// not theirs.
fn counts(part: &Counts) -> Option<Histogram<u64>> {
    let counts = part.counts()?;
    let truth = Counts::of(&counts);
    let follows =
        is_so(part.p50, truth.p50) && is_so(part.p99, truth.p99) && is_near(part.mean, truth.mean);
    follows.then_some(counts)
}

/// True if a figure is absent, or is `truth`.
fn is_so(figure: Option<u64>, truth: Option<u64>) -> bool {
    figure.is_none() || figure == truth
}

/// True if a figure is absent, or is `truth` but for its last digits.
fn is_near(figure: Option<f64>, truth: Option<f64>) -> bool {
    match (figure, truth) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(figure), Some(truth)) => (figure - truth).abs() <= 1e-6 * (truth.abs() + 1.0),
    }
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
        self.answered.absorb(&times(part)?);
        self.unanswered = self.unanswered.saturating_add(part.unanswered);
        self.bounds.absorb(&part.bounds()?);
        // Those without a bound of their own took at least as long as this.
        self.at_least_ns = self.at_least_ns.into_iter().chain(others_at_least_ns(part)).min();
        Some(())
    }

    fn seal(self) -> Distribution {
        let at_least = Span::from_ns(self.at_least_ns.unwrap_or(0));
        Distribution::cut_off(&self.answered, self.unanswered, at_least, &self.bounds)
    }
}

/// Sum of a server's rows.
#[derive(Clone, Default)]
struct Server {
    /// What adds up as it is; none before the first row.
    sum: Option<ServerRecord>,
    totals: Totals,
    /// Above zero for each count that some row did not have.
    unknown: Totals,
    /// The silences that all rows with connections have in common; none before the first of them.
    silence: Option<Option<ServerSilence>>,
}

impl Server {
    fn absorb(&mut self, row: &ServerRecord) {
        let sum = self.sum.get_or_insert_with(|| ServerRecord {
            address: row.address.clone(),
            ..ServerRecord::default()
        });
        // Shards that reached it at different addresses leave no single address.
        if sum.address != row.address {
            sum.address = None;
        }
        sum.connections = sum.connections.saturating_add(row.connections);
        sum.reconnects.add(&row.reconnects);
        sum.outages.extend(&row.outages);
        if row.connections > 0 {
            self.silence = Some(match &self.silence {
                None => row.silence.clone(),
                Some(all) => all.as_ref().zip(row.silence.as_ref()).and_then(|(a, b)| a.common(b)),
            });
        }
        if let Some(late) = &row.late {
            sum.late.get_or_insert_default().add(late);
        }
        self.totals.add(&row.totals.totals());
        self.unknown.add(&row.totals.unknown());
    }

    fn seal(self, name: String) -> ServerRecord {
        let sum = self.sum.unwrap_or_default();
        ServerRecord {
            name,
            totals: ServerTotals::of(self.totals, &self.unknown),
            outages: Outage::united(sum.outages),
            silence: self.silence.flatten(),
            ..sum
        }
    }
}
