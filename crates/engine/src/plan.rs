//! The decided facts of a run. A scenario holds what the user said; a plan holds what will
//! happen: nothing in it is left undecided.

mod task;
mod topology;

use crate::driver::{Address, FilterPlan, SocketOptions};
pub use memtide_base::choice::{
    Backoff, ConnectionTurn, Cooldown, Io, OnFull, Protocol, RateUnit, Reconnect, Refill,
    Replicate, Sharing, Wait,
};
use memtide_base::{Instant, Span};
use memtide_metrics::Shape;
use memtide_metrics::series::{ROWS_ASKED_MAX, ROWS_MAX};
use memtide_workload::{
    Action, Arrival, Draws, Expiring, KeySpace, Lifetimes, OpKind, Oracle, RateCurve, SourcePlan,
    ValueSpace, Version, numeric_value,
};
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
pub use task::{StepTask, Task, Work};
pub(crate) use topology::{Place, Seat};

/// Everything that workers need to know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which of its run's plans this is; nothing that workers look at.
    pub task: Task,
    /// The servers; each holds all keys.
    pub servers: Vec<ServerPlan>,
    /// How many workers share the load; at least 1, at most `connections`.
    pub workers: u16,
    /// Which of the workers this process makes, if others make the rest; without a range it makes
    /// all of them.
    pub here: Option<Range<u16>>,
    /// Connections over all workers; at least 1.
    pub connections: u32,
    /// Outstanding operations per connection; at least 1.
    pub depth: u32,
    /// When a connection that has been full takes operations again.
    pub refill: Refill,
    /// Who makes operations, and with which of the connections.
    pub clients: Clients,
    /// What rates and numbers of operations count.
    pub unit: RateUnit,
    /// When operations are due.
    pub pacing: Pacing,
    /// How long a connection sends nothing after each answer.
    pub pause: Span,
    /// What is measured and when to stop.
    pub window: Window,
    /// Which operations, on which keys.
    pub source: SourcePlan,
    /// What keys look like.
    pub keys: KeySpace,
    /// What values look like.
    pub values: ValueSpace,
    /// Keys from this id up hold numbers, for incr and decr.
    pub numeric_from: u64,
    /// What is the same in every request.
    pub requests: RequestPlan,
    /// An operation not answered this long after its intended instant has timed out.
    pub timeout: Span,
    /// What is done about a lost connection.
    pub reconnect: Reconnect,
    /// The root of all randomness.
    pub seed: u64,
    /// How workers wait.
    pub wait: Wait,
    /// Through which door workers do input and output.
    pub io: Io,
    /// Whether measured operations are exported one by one.
    pub samples: bool,
    /// Whether the sizes of requests and replies are recorded.
    pub message_sizes: bool,
    /// What is kept over time.
    pub rows: RowPlan,
    /// How values are verified, if they are.
    pub verify: Option<Verify>,
    /// Local addresses to come from, used in turn; empty lets the system choose.
    pub sources: Vec<IpAddr>,
    /// How sockets are made.
    pub sockets: SocketOptions,
    /// What every connection says first, if servers want to know who we are.
    pub credentials: Option<Arc<Credentials>>,
    /// What changes the bytes of every stream on their way, if anything does.
    pub filter: Option<FilterPlan>,
}

/// Who makes operations, and with which connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// The workers: all connections of one are used by one client. With a schedule for each
    /// connection every connection has a client of its own.
    #[default]
    Workers,
    /// This many clients, each with connections of its own and one operation outstanding at
    /// most; a write to several servers at once is one. A plan of them has as many connections as
    /// all of them together, and no more workers than clients.
    Counted {
        /// How many there are over all workers, at least 1.
        count: u32,
        /// How many connections each has, at least 1; all of [`Reach`] included.
        connections: u32,
        /// Which of them an operation takes, as far as `reach` leaves a choice.
        turn: ConnectionTurn,
        /// Where they lead.
        reach: Reach,
    },
}

/// Where the connections of a client that is counted lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// To one server, in the way of the plan's transport.
    #[default]
    Server,
    /// To one server. The last of at least two is a socket for datagrams, over which go get and
    /// gets; all else goes in streams, which the plan's transport is.
    Split {
        /// As in [`Transport::Datagrams`].
        reply_bytes_max: usize,
    },
    /// To each of the plan's servers, as many to each, one server after the other.
    Servers {
        /// How many of the servers, from the first, are writers; at least 1.
        writers: u16,
        /// To how many of these each write goes. With all of them a read goes to another than the
        /// one to which the key is sent first (of several keys the first decides), and with a
        /// single writer to another server; else to any. Who is away is passed over.
        copies: Replicate,
    },
}

impl Clients {
    /// How many there are, if they are counted.
    pub const fn counted(self) -> Option<u32> {
        match self {
            Self::Workers => None,
            Self::Counted { count, .. } => Some(count),
        }
    }
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPlan {
    /// As the user named it.
    pub name: String,
    /// What the name stands for; tried in turn. Never empty.
    pub addresses: Vec<Address>,
}

/// What is the same in every request of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestPlan {
    /// What they look like.
    pub protocol: Protocol,
    /// How they travel.
    pub transport: Transport,
    /// Ask for no answer where the protocol allows it.
    pub noreply: bool,
    /// The expiry stored with values, in the protocol's meaning.
    pub expiry: i64,
    /// Which keys have it; the others have none.
    pub expiring: Expiring,
    /// The flags stored with values.
    pub flags: u32,
    /// A blank stands before the end of a line that asks for an answer; for lines alone.
    pub blank: bool,
    /// The number that a cas says must still be valid. Without one it reads the key first and
    /// says what that brought.
    pub cas_unique: Option<u64>,
}

/// How requests and replies travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// In a stream, by TCP or a unix domain socket.
    #[default]
    Stream,
    /// In datagrams, by UDP at the port that a server has for TCP. The plan's depth is 1: a reply
    /// is known by its request, but another request need not be answered after it.
    Datagrams {
        /// The longest reply that is put together of several datagrams, in bytes. Each connection
        /// has as much memory.
        reply_bytes_max: usize,
    },
}

impl Transport {
    /// The most that is gathered for one connection before it is sent, if that is `most` where
    /// requests are no datagrams.
    pub(crate) const fn gathered_bytes_max(self, most: usize) -> usize {
        match self {
            Self::Stream => most,
            Self::Datagrams { .. } => 0,
        }
    }

    /// Where a server that listens at `address` is to be reached.
    pub fn address(self, address: &Address) -> Address {
        match (self, address) {
            (Self::Datagrams { .. }, Address::Tcp(address)) => Address::Udp(*address),
            _ => address.clone(),
        }
    }
}

/// Who we are to the servers.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name; without spaces, line ends and NUL.
    pub user: String,
    /// The password, which nothing prints; without line ends and NUL.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials {{ user: {:?}, password: *** }}", self.user)
    }
}

/// How values are verified: stores send values that prove themselves, and of the retrievals a
/// part has its values looked at. A clone shares what is known of the servers.
#[derive(Clone, Debug)]
pub struct Verify {
    /// Which part, from 0 to 1.
    pub fraction: f64,
    /// Tells this run's values from those of any other that loads the same servers with the
    /// same keys, so that only its own are judged by their version.
    pub writer: u32,
    /// What each server may answer, in the order of the plan's servers.
    pub oracles: Vec<Arc<Oracle>>,
    /// When what expires must be there and when it must not, if that is verified.
    pub lifetimes: Option<Arc<Lifetimes>>,
    /// Whether the length of each value that is read is compared with the plan's.
    pub lengths: bool,
}

impl Verify {
    /// Who writes to server `number`. A server that is named twice looks like two, so each name
    /// has a writer of its own.
    pub fn writer_at(&self, number: usize) -> u32 {
        self.writer.wrapping_add(number as u32) & Version::NUMBER_MAX
    }

    /// Looks at nothing but the lengths of values that are read.
    pub fn of_lengths() -> Self {
        Self { fraction: 0.0, writer: 0, oracles: Vec::new(), lifetimes: None, lengths: true }
    }

    /// The plan for server `number` alone.
    pub fn of_server(&self, number: usize) -> Self {
        let oracles = vec![Arc::clone(&self.oracles[number])];
        let writer = self.writer_at(number);
        Self { writer, oracles, ..self.clone() }
    }
}

/// When operations are due.
#[derive(Clone, Debug)]
pub enum Pacing {
    /// As soon as a slot is free.
    Closed,
    /// By a schedule, whatever the answers do.
    Open {
        /// The law of the gaps.
        arrival: Arrival,
        /// The rate over time.
        curve: RateCurve,
        /// Whose schedule it is.
        sharing: Sharing,
        /// What becomes of an operation that finds every connection full.
        on_full: OnFull,
    },
    /// Connections are the load: each is opened, makes its calls and is closed.
    Churn(ChurnPlan),
}

/// Connection churn. A plan's `connections` are then slots: the most connections open at once.
#[derive(Clone, Debug)]
pub struct ChurnPlan {
    /// When connections are intended; without a pace each takes the place of one that has ended.
    pub openings: Option<Pace>,
    /// How many there are; without a number the window ends them.
    pub openings_max: Option<u64>,
    /// Calls of each; at least 1.
    pub calls: u64,
    /// When the calls of one are due, from its opening on; without a pace each is due when the one
    /// before it has ended.
    pub call_pace: Option<Pace>,
    /// How a connection is closed: in good order; or with what it has not sent given this long,
    /// zero meaning that it is reset.
    pub linger: Option<Span>,
    /// What becomes of a connection that finds every place taken, and of a call that finds its
    /// connection full.
    pub on_full: OnFull,
}

/// A law of gaps and a rate.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The law of the gaps.
    pub arrival: Arrival,
    /// What they are drawn from.
    pub draws: Draws,
    /// How many per second.
    pub curve: RateCurve,
}

/// What is measured and when to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Load before measuring.
    pub warmup: Span,
    /// How long to measure; [`Span::MAX`] when only `ops_max` ends the run.
    pub duration: Span,
    /// Operations 0 to this, exclusive, are offered and no more.
    pub ops_max: Option<u64>,
    /// What is offered after the window.
    pub cooldown: Cooldown,
}

/// What is kept over time, row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPlan {
    /// How wide rows are; without it a second, or more when the timeout is long. Each worker keeps
    /// as many open as the timeout is long, so this must not be too small a part of it.
    pub width: Option<Span>,
    /// Whether each keeps the times of its gets.
    pub get_times: bool,
}

/// The keys and values of a plan's operations, for outputs that show them.
#[derive(Clone, Debug)]
pub struct Contents {
    keys: KeySpace,
    values: ValueSpace,
    numeric_from: u64,
    seed: u64,
}

impl Contents {
    /// The key with this id, as it is sent.
    pub fn key(&self, id: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.write(id, &mut key);
        key
    }

    /// The length of the value that an operation of this kind sends for the key with this id, in
    /// bytes; none if it sends none.
    pub fn size(&self, kind: OpKind, id: u64) -> Option<u64> {
        if !matches!(kind.action(), Action::Store | Action::CompareAndStore) {
            return None;
        }
        let bytes = match id >= self.numeric_from {
            true => numeric_value(id, self.seed).len(),
            false => self.values.len(id),
        };
        Some(bytes as u64)
    }
}

/// A part of the run, by intended instant.
pub mod segment {
    /// Before the measured window.
    pub const WARMUP: u16 = 0;
    /// The measured window.
    pub const MEASURE: u16 = 1;
    /// After it.
    pub const COOLDOWN: u16 = 2;
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// Slots of the response histograms beyond one per kind.
pub mod slot {
    use memtide_workload::OpKind;

    /// A get whose every key was found.
    pub const GET_HIT: usize = OpKind::COUNT;
    /// A get that missed a key.
    pub const GET_MISS: usize = OpKind::COUNT + 1;
    /// How many slots there are.
    pub const COUNT: usize = OpKind::COUNT + 2;
}

/// The width of rows by default, unless the timeout is so long that too many would
/// be open at once.
const ROW_WIDTH: Span = Span::from_s(1);
const ROWS_OPEN_MAX: u64 = 64;

impl Plan {
    /// What the tallies of this plan must have room for.
    pub fn shape(&self) -> Shape {
        let mut slots = vec![false; slot::COUNT];
        for kind in self.source.mix.kinds() {
            slots[kind.index()] = true;
        }
        slots[slot::GET_HIT] = slots[OpKind::Get.index()];
        slots[slot::GET_MISS] = slots[OpKind::Get.index()];
        // An operation ends at most a timeout after its intended instant; two rows more cover
        // the row that has just begun and a worker that is late to notice.
        let spare = ROWS_OPEN_MAX - 3;
        let own_width = ROW_WIDTH.ns().max(self.timeout.ns().div_ceil(spare));
        let row_width = self.rows.width.unwrap_or(Span::from_ns(own_width));
        let rows_open = self.timeout.ns().div_ceil(row_width.ns()) as usize + 3;
        assert!(
            self.rows.width.is_some() || rows_open as u64 <= ROWS_OPEN_MAX,
            "rows of the default width are open for no longer than a timeout"
        );
        Shape {
            slots,
            segments: segment::COUNT,
            servers: self.servers.len(),
            row_width,
            rows_open,
            rows_max: if self.rows.width.is_some() { ROWS_ASKED_MAX } else { ROWS_MAX },
            rows_get_times: self.rows.get_times,
            depth: self.depth as usize,
            churn: self.churn().is_some(),
            message_sizes: self.message_sizes,
            bounds: self.window.cooldown == Cooldown::Stop,
        }
    }

    /// The workers that this process makes.
    pub fn own_workers(&self) -> Range<u16> {
        self.here.clone().unwrap_or(0..self.workers)
    }

    /// What the plan's operations send.
    pub fn contents(&self) -> Contents {
        Contents {
            keys: self.keys.clone(),
            values: self.values.clone(),
            numeric_from: self.numeric_from,
            seed: self.seed,
        }
    }

    /// The connection churn, if connections are the load.
    pub fn churn(&self) -> Option<&ChurnPlan> {
        match &self.pacing {
            Pacing::Churn(churn) => Some(churn),
            Pacing::Closed | Pacing::Open { .. } => None,
        }
    }

    /// Where the connections of clients that are counted lead; of others each to one server.
    pub(crate) fn reach(&self) -> Reach {
        match self.clients {
            Clients::Workers => Reach::Server,
            Clients::Counted { reach, .. } => reach,
        }
    }

    /// How many copies each write has, while all servers are there.
    pub fn copies(&self) -> u64 {
        match self.reach() {
            Reach::Servers { writers, copies: Replicate::All } => u64::from(writers),
            Reach::Servers { .. } | Reach::Server | Reach::Split { .. } => 1,
        }
    }
}

impl Window {
    /// The segment of an operation intended at `at` in a run that started at `start`.
    pub fn segment_of(&self, start: Instant, at: Instant) -> u16 {
        if at >= self.measure_end(start) {
            segment::COOLDOWN
        } else if at >= self.measure_start(start) {
            segment::MEASURE
        } else {
            segment::WARMUP
        }
    }

    /// When measuring starts in a run that started at `start`.
    pub fn measure_start(&self, start: Instant) -> Instant {
        start + self.warmup
    }

    /// When measuring ends: the first instant that does not belong to it any more.
    pub fn measure_end(&self, start: Instant) -> Instant {
        start + self.warmup + self.duration
    }
}
