//! What the user wants, parsed but not yet decided: absent words stay absent here, and only a
//! plan fills them in, because that needs knowledge of the machine.
//!
//! It refuses words that cannot be meant, and combinations that no machine could run.

mod outputs;
mod placement;
mod agents;
mod check;
mod choice;
mod digest;
mod goal;
mod churn;
mod target;
mod word;

pub use agents::{Agents, AgentsWord};
pub use check::{DEPTH_MAX, Problem, TIMEOUT_MAX};
pub use choice::{Secret, ValueFill};
pub use digest::scenario_digest;
pub(crate) use goal::fraction_word;
pub use goal::{Goal, Measure, Relation, Subject};
pub use memtide_base::choice::{
    Backoff, ConnectionTurn, Cooldown, Io, Load, NumericKeys, OnFull, Protocol, RateUnit,
    Reconnect, Refill, Replicate, Sharing, Transport, Wait,
};
pub(crate) use memtide_base::units::span_word;
pub use outputs::{
    InfluxNames, InfluxPlace, InfluxVersion, Output, OutputKind, Outputs, RowForm, RowText,
    Settings, SpoolPlace, Tags,
};
pub(crate) use outputs::{parse_outputs, parse_tags};
pub use placement::{BarrierWord, Placement, ShardWord, StartAt};
pub use target::Target;
pub(crate) use word::{parse_list, parse_switch};

use memtide_base::{SocketOptions, Span};
use memtide_workload::{
    Arrival, Draws, KeyForm, KeyShape, Mix, MixOrder, Pick, Popularity, SizeLaw, Wave, WindowLaw,
};
use std::net::IpAddr;

/// The seed of every run that names none, so that two runs of one scenario do the same.
const SEED: u64 = 1;
/// Values above this need the user's word for it: memcached's own default item limit.
const VALUE_MAX_BYTES: u64 = 1024 * 1024;
/// The waits before a lost connection is opened again.
const BACKOFF: Backoff = Backoff { first: Span::from_ms(10), longest: Span::from_s(1) };

/// A run as its user describes it. Every field is a row of [`crate::FIELDS`], which says what it
/// means; `None` means "not given".
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The servers, each of which holds all keys; empty asks for the embedded one.
    pub servers: Vec<Target>,
    /// Operations per second over all workers; 0 asks for a closed loop.
    pub rate: Option<f64>,
    /// What rates and the number of operations count.
    pub rate_unit: RateUnit,
    /// The law of the gaps between intended instants.
    pub arrival: Arrival,
    /// One schedule for all connections of a worker, or one for each.
    pub schedule: Sharing,
    /// What an operation does that finds every connection full.
    pub on_full: OnFull,
    /// How long a connection sends nothing after each answer.
    pub pause_after_reply: Span,
    /// The rate over time; anything but constant replaces `rate`.
    pub wave: Wave,
    /// The connections, where these are the load.
    pub churn: Churn,
    /// How long to measure.
    pub duration: Option<Span>,
    /// How long to load before measuring.
    pub warmup: Span,
    /// How many operations to issue, warm-up included.
    pub ops_max: Option<u64>,
    /// Workers.
    pub threads: Option<u32>,
    /// Whether workers are pinned to CPUs even if the affinity mask is not narrowed.
    pub pin: bool,
    /// Connections to each server, counted over all workers.
    pub connections: Option<u32>,
    /// Operations outstanding on one connection at most.
    pub depth: Option<u32>,
    /// The clients, where these are counted.
    pub client: ClientOptions,
    /// How many different keys there are.
    pub keys: u64,
    /// The law of key lengths, in bytes.
    pub key_size: SizeLaw,
    /// What all keys have in common. Its parts are fields by their own names.
    pub key_shape: KeyShape,
    /// The law of value lengths, in bytes.
    pub value_size: SizeLaw,
    /// How lengths of values, and what incr and decr change a number by, are drawn.
    pub value_draws: Draws,
    /// What values consist of.
    pub value_fill: ValueFill,
    /// The longest value that may be sent, in bytes.
    pub value_max: u64,
    /// Which keys are asked for how often.
    pub popularity: Popularity,
    /// The weights of the kinds of operation.
    pub mix: Mix,
    /// In which order they come.
    pub mix_order: MixOrder,
    /// What incr and decr change a number by.
    pub delta: SizeLaw,
    /// Which keys incr and decr work on.
    pub numeric_keys: NumericKeys,
    /// Keys in one get or gets.
    pub multiget: u16,
    /// Share of gets that request `multiget` keys; the rest request one key.
    pub multiget_share: f64,
    /// The expiry sent with every store, in memcached's sense.
    pub expiry: i64,
    /// The fraction of the keys that are stored with it; the others never expire.
    pub expiry_share: f64,
    /// The flags sent with every store.
    pub flags: u32,
    /// Whether operations that can do without an answer do.
    pub noreply: bool,
    /// Whether the server is filled first.
    pub load: Load,
    /// Whether a fill that did not fit is accepted.
    pub load_partial: bool,
    /// How long after its intended instant an operation has its deadline.
    pub timeout: Span,
    /// What is done about a lost connection.
    pub reconnect: Reconnect,
    /// What must be true of the result.
    pub goals: Vec<Goal>,
    /// How much may go wrong.
    pub trust: Trust,
    /// The fraction of reads whose values are checked.
    pub verify: f64,
    /// Whether it is checked that what expires is there until then, and not any longer.
    pub verify_expiry: bool,
    /// For how many keys versions are kept.
    pub verify_keys: u64,
    /// How wide the rows over time are.
    pub interval: Option<Span>,
    /// Whether each row keeps the times of its gets.
    pub interval_times: bool,
    /// Whether the sizes of requests and replies are recorded.
    pub message_sizes: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// How a worker waits for the next instant.
    pub wait: Option<Wait>,
    /// With what workers do input and output; the better of the two that the kernel allows without
    /// it.
    pub io: Option<Io>,
    /// What goes on while the last measured operations end.
    pub cooldown: Cooldown,
    /// Source addresses, used in turn; empty leaves the choice to the system.
    pub bind: Vec<IpAddr>,
    /// What every server is told before the load: a line of the text protocol, without its end.
    pub before: Option<String>,
    /// What every server is told after the load.
    pub after: Option<String>,
    /// What requests look like on the wire.
    pub protocol: Protocol,
    /// How they travel.
    pub transport: Transport,
    /// Which servers are written, where they are not alike.
    pub replication: Replication,
    /// What the kernel is asked to do with the sockets of connections.
    pub sockets: SocketOptions,
    /// What some clients do besides.
    pub wire: WireOptions,
    /// Who we are to the servers.
    pub user: Option<String>,
    /// What proves it.
    pub password: Option<Secret>,
}

/// How much may go wrong in a run and its result. Each is a field by its own name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// What ends the load early, once it is true of a second.
    pub abort_on: Vec<Goal>,
    /// The share of operations not answered well with which the result is still believed.
    pub errors_max: Option<f64>,
    /// Whether an unbelievable result is an error.
    pub strict: bool,
    /// Whether no server is asked for its statistics.
    pub no_stats: bool,
}

/// Connections that come and go. Each is a field by its own name.
#[derive(Clone, Debug, PartialEq)]
pub struct Churn {
    /// Calls of each connection.
    pub calls: Option<u64>,
    /// Connections per second over all workers; 0 opens one when another has ended.
    pub connection_rate: Option<f64>,
    /// The law of the gaps between them.
    pub connection_arrival: Arrival,
    /// What the gaps between connections, and between their calls, are drawn from.
    pub gap_draws: Draws,
    /// Calls per second on each of them; 0 asks for a closed loop.
    pub call_rate: Option<f64>,
    /// How long closing them may take, in whole seconds; 0 resets them.
    pub linger: Option<Span>,
    /// How many of them there are.
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

/// Clients that are counted, and what each works on. Each is a field by its own name.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientOptions {
    /// Clients with one operation outstanding each, over all workers.
    pub clients: Option<u32>,
    /// Connections of each of them.
    pub connections_per_client: u32,
    /// Which of these is used next.
    pub connection_turn: ConnectionTurn,
    /// How many objects of its own each works on, if not on all keys.
    pub window: Option<WindowLaw>,
    /// The fraction of its sets that overwrites one of them.
    pub overwrite: f64,
    /// Which of them is read or overwritten.
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

/// Servers of which the first are written. Each is a field by its own name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replication {
    /// How many are, if all servers are one client's.
    pub writers: Option<u32>,
    /// How many writers each write goes to; all by default.
    pub replicate: Option<Replicate>,
}

/// What some clients do on the wire and most do not. Each is a field by its own name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireOptions {
    /// When a connection that has been full takes operations again.
    pub refill: Refill,
    /// Whether a blank ends the lines that ask for an answer.
    pub trailing_blank: bool,
    /// What a cas says without reading first.
    pub cas_unique: Option<u64>,
}

impl Scenario {
    /// How many connections each client has, where these are counted: with one to each server, or
    /// with one for datagrams besides, more than were asked for.
    pub fn connections_of_client(&self, servers: u32) -> u64 {
        let each = u64::from(self.client.connections_per_client);
        match (self.replication.writers, self.transport) {
            (Some(_), _) => each * u64::from(servers),
            (None, Transport::Split) => each + 1,
            (None, Transport::Tcp | Transport::Udp) => each,
        }
    }

    /// Whether the load is as fast as the connections allow: asked for with rate 0, or meant by
    /// naming a server and no rate or wave; of connections that are the load, when neither they nor
    /// their calls come at a rate.
    pub fn is_closed_loop(&self) -> bool {
        if self.is_churn() {
            return !self.has_connection_rate() && !self.has_call_rate();
        }
        match self.rate {
            Some(rate) => rate == 0.0,
            None => !self.servers.is_empty() && self.wave == Wave::Constant,
        }
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
            warmup: Span::ZERO,
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
            seed: SEED,
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
        }
    }
}

/// A default's word as its value.
fn known<T: std::str::FromStr>(word: &str) -> T {
    word.parse().ok().expect("the words of defaults parse")
}

#[cfg(test)]
mod tests;
