//! The scenario: the user's settings, parsed but not yet decided. Fields that were not given stay
//! absent; the plan fills them in, because that needs knowledge of the machine.
//!
//! It refuses invalid words, and combinations that no machine could run.

mod outputs;
mod placement;
mod agents;
mod check;
mod choice;
mod digest;
mod goal;
mod figure;
mod given;
mod churn;
mod target;
mod word;

pub use agents::{Agents, AgentsWord};
pub use check::{DEPTH_MAX, Problem, TIMEOUT_MAX};
pub use choice::{Secret, ValueFill, Warmup};
pub use digest::NOT_HASHED;
pub use digest::scenario_digest;
pub(crate) use figure::figure_list;
pub use figure::{FIGURE_LIST, FigureName};
pub use given::Given;
pub(crate) use goal::fraction_word;
pub use goal::parse_subject;
pub use goal::{Explained, Goal, Measure, Precision, Relation, Subject};
pub use memtide_base::choice::{
    Backoff, ConnectionTurn, Cooldown, Io, Load, Matching, NumericKeys, OnFull, Protocol, RateUnit,
    Reconnect, Refill, Replicate, Resume, Sharing, TlsVersion, Transport, Wait,
};
pub(crate) use memtide_base::units::span_word;
pub use outputs::{
    InfluxNames, InfluxPlace, InfluxVersion, Output, OutputKind, Outputs, RUN_TAG, RowForm,
    RowText, Settings, SpoolPlace, Tags,
};
pub use outputs::{ProgressForm, WebPlace};
pub(crate) use outputs::{parse_outputs, parse_tags, parse_web, plain_place};
pub use placement::{BarrierWord, Placement, ShardWord, StartAt};
pub use target::Target;
pub use word::{STRICT, parse_strict};
pub(crate) use word::{parse_list, parse_switch, strict_words};

use memtide_base::units::{format_count, format_percent};
use memtide_base::{ItemFlags, SocketOptions, Span};
use memtide_workload::{
    Arrival, Draws, KeyForm, KeyShape, Mix, MixOrder, Pick, Popularity, SizeLaw, TimeLaw, Wave,
    WindowLaw, share_cut,
};
use std::net::IpAddr;

/// Default seed, so that two runs of one scenario do the same.
const SEED: u64 = 1;
/// Default for the largest value in bytes, which a memcached without options takes: its items of at
/// most 1 MiB (`-I`) contain the key and about 60 bytes besides.
pub const VALUE_MAX_BYTES: u64 = (1024 - 1) * 1024;
/// Default back-off before reconnecting.
const BACKOFF: Backoff = Backoff { first: Span::from_ms(10), longest: Span::from_s(1) };

/// A run as its user describes it. Every field is a row of [`crate::FIELDS`], which defines its
/// meaning; `None` means "not given".
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The servers, each of which holds all keys; empty for the embedded server.
    pub servers: Vec<Target>,
    /// Target rate per second over all workers, in `rate_unit`; 0 means a closed loop.
    pub rate: Option<f64>,
    /// Unit of rates and of the number of operations.
    pub rate_unit: RateUnit,
    /// Distribution of the gaps between intended instants.
    pub arrival: Arrival,
    /// One schedule for all connections of a worker, or one for each.
    pub schedule: Sharing,
    /// Treatment of an operation that finds every connection full.
    pub on_full: OnFull,
    /// Pause of a connection after each answer.
    pub pause_after_reply: Span,
    /// Rate over time; anything but constant replaces `rate`.
    pub wave: Wave,
    /// Fields of connection churn.
    pub churn: Churn,
    /// Length of the measured window.
    pub duration: Option<Span>,
    /// How narrowly figures must be known before the measured window ends; empty: it ends after
    /// `duration`.
    pub precision: Vec<Precision>,
    /// The longest window that `precision` may take.
    pub at_most: Option<Span>,
    /// Length of the load before the measured window.
    pub warmup: Warmup,
    /// Number of operations to issue, warm-up included.
    pub ops_max: Option<u64>,
    /// Number of workers.
    pub threads: Option<u32>,
    /// True to pin workers to CPUs even if the affinity mask is not narrowed.
    pub pin: bool,
    /// Connections to each server, over all workers.
    pub connections: Option<u32>,
    /// Pipeline depth: largest number of operations outstanding on one connection.
    pub depth: Option<u32>,
    /// Fields of counted clients.
    pub client: ClientOptions,
    /// Number of different keys.
    pub keys: u64,
    /// Distribution of key lengths, in bytes.
    pub key_size: SizeLaw,
    /// Properties of all keys. Its members are fields with their own names.
    pub key_shape: KeyShape,
    /// Distribution of value lengths, in bytes.
    pub value_size: SizeLaw,
    /// Random sequence from which lengths of values, and the amounts of incr and decr, are drawn.
    pub value_draws: Draws,
    /// Content of values.
    pub value_fill: ValueFill,
    /// Longest value that may be sent, in bytes.
    pub value_max: u64,
    /// Distribution of requests over keys.
    pub popularity: Popularity,
    /// The weights of the kinds of operation.
    pub mix: Mix,
    /// Order of the kinds of operation.
    pub mix_order: MixOrder,
    /// Distribution of the amounts of incr and decr.
    pub delta: SizeLaw,
    /// Keys on which incr and decr operate.
    pub numeric_keys: NumericKeys,
    /// Keys in one get or gets.
    pub multiget: u16,
    /// Share of gets that request `multiget` keys; the rest request one key.
    pub multiget_share: f64,
    /// The expiry sent with every store, in memcached's sense.
    pub expiry: i64,
    /// Fraction of keys that are stored with `expiry`; the others never expire.
    pub expiry_share: f64,
    /// The flags sent with every store.
    pub flags: u32,
    /// True to request no reply where the protocol allows that.
    pub noreply: bool,
    /// Condition under which the servers are filled first.
    pub load: Load,
    /// True to accept a fill that did not fit.
    pub load_partial: bool,
    /// Time from an operation's intended instant to its deadline.
    pub timeout: Span,
    /// Reaction to a lost connection.
    pub reconnect: Reconnect,
    /// Goals: conditions on the result.
    pub goals: Vec<Goal>,
    /// Tolerance for faults.
    pub trust: Trust,
    /// Fraction of reads whose values are checked.
    pub verify: f64,
    /// True to check that a value with an expiry is present until then, and absent afterwards.
    pub verify_expiry: bool,
    /// Number of keys whose versions are tracked.
    pub verify_keys: u64,
    /// Width of rows over time.
    pub interval: Option<Span>,
    /// True if each row keeps the times of its gets.
    pub interval_times: bool,
    /// True to record the sizes of requests and replies.
    pub message_sizes: bool,
    /// True to count error replies as answers.
    pub count_refused: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// The seed of the gaps between operations, if that is another.
    pub gap_seed: Option<u64>,
    /// Way in which a worker waits for the next instant.
    pub wait: Option<Wait>,
    /// Interface of workers for input and output; by default the best that the kernel allows.
    pub io: Option<Io>,
    /// Load sent while the last measured operations end.
    pub cooldown: Cooldown,
    /// Source addresses, used in turn; empty leaves the choice to the system.
    pub bind: Vec<IpAddr>,
    /// Command sent to every server before the load: a line of the text protocol, without its line
    /// break.
    pub before: Option<String>,
    /// Command sent to every server after the load.
    pub after: Option<String>,
    /// Wire format of requests.
    pub protocol: Protocol,
    /// Transport of requests.
    pub transport: Transport,
    /// Servers that take the writes, if not all do.
    pub replication: Replication,
    /// Socket options of connections.
    pub sockets: SocketOptions,
    /// Wire options that only some clients use.
    pub wire: WireOptions,
    /// User name for authentication.
    pub user: Option<String>,
    /// Password for authentication.
    pub password: Option<Secret>,
    /// Encryption of connections.
    pub tls: Tls,
}

/// Encryption of connections. Each member is a field with its own name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tls {
    /// True to encrypt.
    pub on: bool,
    /// File of the CAs to trust; none for the system's.
    pub ca: Option<String>,
    /// Name that the servers' certificates must have; none for the servers' hosts.
    pub server_name: Option<String>,
    /// File of the client's certificate.
    pub cert: Option<String>,
    /// File of its key.
    pub key: Option<String>,
    /// Oldest version.
    pub min: TlsVersion,
    /// Resumption of sessions.
    pub resume: Resume,
    /// True to take any certificate.
    pub insecure: bool,
}

/// Tolerance for faults in a run and its result. Each member is a field with its own name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Conditions on a second of the load that end it early.
    pub abort_on: Vec<Goal>,
    /// Largest fraction of operations without a good answer in a believable result.
    pub errors_max: Option<f64>,
    /// Largest half width of a judged figure's range in a result that is no error; none if an
    /// unbelievable result is no error.
    pub strict: Option<f64>,
    /// True to never query the servers' statistics.
    pub no_stats: bool,
}

/// Connection churn. Each member is a field with its own name.
#[derive(Clone, Debug, PartialEq)]
pub struct Churn {
    /// Calls per connection.
    pub calls: Option<u64>,
    /// Target rate in connections per second over all workers; 0 opens one when another has ended.
    pub connection_rate: Option<f64>,
    /// Distribution of the gaps between connections.
    pub connection_arrival: Arrival,
    /// Random sequence from which the gaps between connections, and between their calls, are drawn.
    pub gap_draws: Draws,
    /// Calls per second on each connection; 0 means a closed loop.
    pub call_rate: Option<f64>,
    /// Longest time to close a connection (SO_LINGER), in whole seconds; 0 resets it.
    pub linger: Option<Span>,
    /// Number of connections.
    pub connections_total: Option<u64>,
}

impl Default for Churn {
    fn default() -> Self {
        Self {
            calls: None,
            connection_rate: None,
            connection_arrival: Arrival::Fixed,
            gap_draws: Draws::Seed,
            call_rate: None,
            linger: None,
            connections_total: None,
        }
    }
}

/// Counted clients and their objects. Each member is a field with its own name.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientOptions {
    /// Number of clients over all workers, each with one operation outstanding.
    pub clients: Option<u32>,
    /// Connections of each client.
    pub connections_per_client: u32,
    /// Order in which a client uses its connections.
    pub connection_turn: ConnectionTurn,
    /// Number of objects in each client's window; none if clients work on all keys.
    pub window: Option<WindowLaw>,
    /// Fraction of a client's sets that overwrite an object of its window.
    pub overwrite: f64,
    /// Choice of the object to read or overwrite.
    pub pick: Pick,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            clients: None,
            connections_per_client: 1,
            connection_turn: ConnectionTurn::RoundRobin,
            window: None,
            overwrite: 0.0,
            pick: Pick::Random,
        }
    }
}

/// Replication: the first servers take the writes. Each member is a field with its own name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replication {
    /// Number of servers that take writes, if each client uses all servers.
    pub writers: Option<u32>,
    /// Number of writers that each write goes to; all by default.
    pub replicate: Option<Replicate>,
}

/// Wire options that only some clients use. Each member is a field with its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireOptions {
    /// How replies find their operations.
    pub matching: Matching,
    /// When a full connection takes operations again.
    pub refill: Refill,
    /// True to end the lines of requests that expect an answer with a space.
    pub trailing_blank: bool,
    /// Unique value that a cas sends without reading first.
    pub cas_unique: Option<u64>,
    /// Item flags that meta reads request beside values.
    pub item_flags: ItemFlags,
    /// Time that a client takes which has to make a value anew.
    pub recache_time: TimeLaw,
    /// Seconds for which an invalidated item stays, and about which recache asks.
    pub stale_s: u32,
}

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            matching: Matching::default(),
            refill: Refill::default(),
            trailing_blank: false,
            cas_unique: None,
            item_flags: ItemFlags::default(),
            recache_time: TimeLaw::ZERO,
            stale_s: 30,
        }
    }
}

impl Scenario {
    /// Number of connections of each counted client. It exceeds the requested number with a
    /// connection to each server, or with an additional one for datagrams.
    pub fn connections_of_client(&self, servers: u32) -> u64 {
        let each = u64::from(self.client.connections_per_client);
        match (self.replication.writers, self.transport) {
            (Some(_), _) => each * u64::from(servers),
            (None, Transport::Split) => each + 1,
            (None, Transport::Tcp | Transport::Udp) => each,
        }
    }

    /// True if the load is a closed loop: rate 0, or a named server without rate or wave; under
    /// connection churn, if neither connections nor their calls come at a rate.
    pub fn is_closed_loop(&self) -> bool {
        if self.is_churn() {
            return !self.has_connection_rate() && !self.has_call_rate();
        }
        match self.rate {
            Some(rate) => rate == 0.0,
            None => !self.servers.is_empty() && self.wave == Wave::Constant,
        }
    }

    /// A clause about keys that are cut to the length that memcached takes; `None` if none is
    /// expected to be. The objects of a window are as many as a run stores.
    pub fn cut_keys(&self) -> Option<String> {
        let (share, all) = (share_cut(self.key_shape.form, &self.key_size), self.keys as f64);
        let which = match self.client.window {
            Some(_) if share >= 1e-6 => format!("{} of the keys", format_percent(share)),
            None if share * all >= 0.5 => {
                let cut = format_count((share * all).round());
                format!("about {cut} of {} keys", format_count(all))
            }
            _ => return None,
        };
        Some(format!("{which} would be longer than 250 bytes, memcached's limit; they are cut"))
    }

    /// The scenario for other machines, each of which has credentials, keys and CAs of its own.
    pub fn without_credentials(&self) -> Self {
        let tls = Tls { ca: None, cert: None, key: None, ..self.tls.clone() };
        Self { user: None, password: None, tls, ..self.clone() }
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            rate: None,
            rate_unit: RateUnit::Operations,
            arrival: Arrival::Poisson,
            schedule: Sharing::Shared,
            on_full: OnFull::Queue,
            pause_after_reply: Span::ZERO,
            wave: Wave::Constant,
            churn: Churn::default(),
            duration: None,
            precision: Vec::new(),
            at_most: None,
            warmup: Warmup::NONE,
            ops_max: None,
            threads: None,
            pin: false,
            connections: None,
            depth: None,
            client: ClientOptions::default(),
            keys: 100_000,
            key_size: known("fixed:30"),
            key_shape: KeyForm::Base32.into(),
            value_size: known("fixed:200"),
            value_draws: Draws::Seed,
            value_fill: ValueFill::Drawn,
            value_max: VALUE_MAX_BYTES,
            popularity: Popularity::Uniform,
            mix: known("get=9,set=1"),
            mix_order: MixOrder::Drawn,
            delta: known("fixed:1"),
            numeric_keys: NumericKeys::Own,
            multiget: 1,
            multiget_share: 1.0,
            expiry: 0,
            expiry_share: 1.0,
            flags: 0,
            noreply: false,
            load: Load::Auto,
            load_partial: false,
            timeout: Span::from_s(5),
            reconnect: Reconnect::After(BACKOFF),
            goals: Vec::new(),
            trust: Trust::default(),
            verify: 0.0,
            verify_expiry: false,
            verify_keys: 65_536,
            interval: None,
            interval_times: false,
            message_sizes: false,
            count_refused: false,
            seed: SEED,
            gap_seed: None,
            wait: None,
            io: None,
            cooldown: Cooldown::Load,
            bind: Vec::new(),
            before: None,
            after: None,
            protocol: Protocol::Text,
            transport: Transport::Tcp,
            replication: Replication::default(),
            sockets: SocketOptions::default(),
            wire: WireOptions::default(),
            user: None,
            password: None,
            tls: Tls::default(),
        }
    }
}

/// Parses the word of a default.
fn known<T: std::str::FromStr>(word: &str) -> T {
    word.parse().ok().expect("the words of defaults parse")
}

#[cfg(test)]
mod tests;
