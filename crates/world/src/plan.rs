//! The decided facts of a run. A scenario holds the user's words; a plan holds what will happen,
//! and leaves nothing undecided.

mod memory;
mod task;
mod topology;

use crate::driver::{Address, FilterPlan, SocketOptions};
pub use memory::{OPERATION_BYTES, PlanMemory, WATCHED_BYTES, WATCHED_MAX};
pub use memtide_base::choice::{
    Backoff, ConnectionTurn, Cooldown, Io, Matching, OnFull, Protocol, RateUnit, Reconnect, Refill,
    Replicate, Sharing, Wait,
};
use memtide_base::{Instant, ItemFlags, Span};
use memtide_metrics::series::{ROWS_ASKED_MAX, ROWS_MAX};
use memtide_metrics::{Shape, slices};
use memtide_workload::{
    Action, Arrival, Draws, Expiring, KeySpace, Lifetimes, Mix, OpKind, Oracle, RateCurve,
    SourcePlan, TimeLaw, ValueSpace, Version, numeric_value,
};
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub use task::{StepTask, Task, Work};
pub use topology::{Place, Seat};

/// All facts that workers need.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The plan's task in its run. Workers do not read it.
    pub task: Task,
    /// The servers; each holds all keys.
    pub servers: Vec<ServerPlan>,
    /// The number of workers that share the load; at least 1, at most `connections`.
    pub workers: u16,
    /// The workers that this process makes, if other processes make the rest; `None` for all.
    pub here: Option<Range<u16>>,
    /// Connections over all workers; at least 1.
    pub connections: u32,
    /// The pipeline depth: outstanding operations per connection; at least 1.
    pub depth: u32,
    /// The point at which a full connection takes operations again.
    pub refill: Refill,
    /// The clients that make operations, and the connections that each may use.
    pub clients: Clients,
    /// The unit in which rates and numbers of operations are counted.
    pub unit: RateUnit,
    /// The instants at which operations are due.
    pub pacing: Pacing,
    /// The pause after each answer in which a connection sends nothing.
    pub pause: Span,
    /// The measured window, and the end of the load.
    pub window: Window,
    /// The window's opening, if a command opens it; a fleet starts each plan with one of its own.
    pub commands: WindowCommands,
    /// The source of operations and their keys.
    pub source: SourcePlan,
    /// The keys' bytes.
    pub keys: KeySpace,
    /// The values' bytes.
    pub values: ValueSpace,
    /// Keys from this id up hold numbers, for incr and decr.
    pub numeric_from: u64,
    /// The properties that all requests share.
    pub requests: RequestPlan,
    /// An operation not answered this long after its intended instant has timed out.
    pub timeout: Span,
    /// Reconnection after a lost connection.
    pub reconnect: Reconnect,
    /// The root of all randomness.
    pub seed: u64,
    /// The way in which workers wait.
    pub wait: Wait,
    /// The kernel interface for input and output.
    pub io: Io,
    /// True if measured operations are exported one by one.
    pub samples: bool,
    /// True if the sizes of requests and replies are recorded.
    pub message_sizes: bool,
    /// True if error replies count as answers.
    pub counts_refused: bool,
    /// The rows over time.
    pub rows: RowPlan,
    /// Verification of values; `None` for none.
    pub verify: Option<Verify>,
    /// Local addresses to connect from, used in turn; if empty, the system chooses.
    pub sources: Vec<IpAddr>,
    /// The options of sockets.
    pub sockets: SocketOptions,
    /// The credentials that every connection sends first; `None` for no authentication.
    pub credentials: Option<Arc<Credentials>>,
    /// The filter of every stream, such as encryption; `None` for none.
    pub filter: Option<FilterPlan>,
}

/// The clients that make operations, and the connections that each uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// One client per worker, which uses all its connections. With a schedule for each connection,
    /// one client per connection.
    #[default]
    Workers,
    /// A number of clients, each with connections of its own and at most one operation outstanding;
    /// a write to several servers at once counts as one. The plan has as many connections as all
    /// clients together, and no more workers than clients.
    Counted {
        /// The number of clients over all workers, at least 1.
        count: u32,
        /// The number of connections of each client, at least 1, all of [`Reach`] included.
        connections: u32,
        /// The choice of connection for an operation, among those that `reach` allows.
        turn: ConnectionTurn,
        /// The servers to which the connections lead.
        reach: Reach,
    },
}

/// The servers to which the connections of a counted client lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// One server, over the plan's transport.
    #[default]
    Server,
    /// One server. A client has at least two connections; the last is a socket for datagrams and
    /// carries get and gets. The others are streams (the plan's transport) and carry everything
    /// else.
    Split {
        /// The longest reply over datagrams, as in [`Transport::Datagrams`].
        reply_bytes_max: usize,
    },
    /// All of the plan's servers, with equally many connections to each, one server after the
    /// other.
    Servers {
        /// The number of writers, which are the first of the servers; at least 1.
        writers: u16,
        /// The number of writers that each write goes to. With [`Replicate::All`], a read goes to a
        /// server other than the writer to which its (first) key is sent first; with a single
        /// writer, to any server but the writer; otherwise to any server. Servers without an open
        /// connection are skipped.
        copies: Replicate,
    },
}

impl Clients {
    /// The number of clients, if they are counted.
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
    /// The name that the user gave it.
    pub name: String,
    /// The addresses of the name, tried in turn; never empty.
    pub addresses: Vec<Address>,
}

/// The properties that all requests of a run share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestPlan {
    /// The protocol of requests and replies.
    pub protocol: Protocol,
    /// How replies find their operations; by opaque over the meta protocol only.
    pub matching: Matching,
    /// The transport of requests and replies.
    pub transport: Transport,
    /// True to request no answer where the protocol allows it.
    pub noreply: bool,
    /// The expiry stored with values, as the protocol encodes it.
    pub expiry: i64,
    /// The keys that are stored with this expiry; the others never expire.
    pub expiring: Expiring,
    /// The flags stored with values.
    pub flags: u32,
    /// True to write a blank before the end of a line that requests an answer; text protocol only.
    pub blank: bool,
    /// The number that a cas states as still valid. `None`: a cas reads the key first and states
    /// the number that the read returned.
    pub cas_unique: Option<u64>,
    /// Item flags that reads request beside values; meta protocol only.
    pub item_flags: ItemFlags,
    /// How long a client that won takes until it stores.
    pub recache_time: TimeLaw,
    /// In seconds: how long an invalidated item stays; and for recache, how long a new item without
    /// a value stays, and below which time to its expiry an item is stored anew.
    pub stale_s: u32,
}

/// The transport of requests and replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// As a stream, over TCP or a unix domain socket.
    #[default]
    Stream,
    /// As datagrams, over UDP, to the port number that the server uses for TCP. The plan's depth is
    /// 1: a reply identifies its request, but servers need not answer requests in order.
    Datagrams {
        /// The longest reply that is reassembled from several datagrams, in bytes. Each connection
        /// allocates this much memory.
        reply_bytes_max: usize,
    },
}

impl Transport {
    /// The most bytes gathered for one connection before they are sent: `most` for streams, and 0
    /// for datagrams, which are sent one by one.
    #[inline]
    pub const fn gathered_bytes_max(self, most: usize) -> usize {
        match self {
            Self::Stream => most,
            Self::Datagrams { .. } => 0,
        }
    }

    /// The address of this transport for a server that listens at `address`.
    pub fn address(self, address: &Address) -> Address {
        match (self, address) {
            (Self::Datagrams { .. }, Address::Tcp(address)) => Address::Udp(*address),
            _ => address.clone(),
        }
    }
}

/// Credentials for the servers.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user name; without spaces, line ends and NUL.
    pub user: String,
    /// The password, which is never printed; without line ends and NUL.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials {{ user: {:?}, password: *** }}", self.user)
    }
}

/// Verification of values: stores send values with a proof, and the values of a share of the
/// retrievals are checked. A clone shares the knowledge about the servers.
#[derive(Clone, Debug)]
pub struct Verify {
    /// The share of retrievals whose values are checked, from 0 to 1.
    pub fraction: f64,
    /// The number that distinguishes this run's values from those of other runs with the same keys
    /// on the same servers; only values with this number are judged by their version.
    pub writer: u32,
    /// The versions that each server may return, in the order of the plan's servers.
    pub oracles: Vec<Arc<Oracle>>,
    /// The times at which expiring values must be present or gone; `None` if expiry is not checked.
    pub lifetimes: Option<Arc<Lifetimes>>,
    /// True if the length of each value that is read is compared with the plan's.
    pub lengths: bool,
}

impl Verify {
    /// The writer of values on server `number`. A server that is named twice counts as two, so each
    /// name has a writer of its own.
    #[inline]
    pub fn writer_at(&self, number: usize) -> u32 {
        self.writer.wrapping_add(number as u32) & Version::NUMBER_MAX
    }

    /// Verification that checks only the lengths of values that are read.
    pub fn of_lengths() -> Self {
        Self { fraction: 0.0, writer: 0, oracles: Vec::new(), lifetimes: None, lengths: true }
    }

    /// The verification of server `number` alone.
    pub fn of_server(&self, number: usize) -> Self {
        let oracles = vec![Arc::clone(&self.oracles[number])];
        let writer = self.writer_at(number);
        Self { writer, oracles, ..self.clone() }
    }
}

/// The instants at which operations are due.
#[derive(Clone, Debug)]
pub enum Pacing {
    /// As soon as a slot is free (closed loop).
    Closed,
    /// By a schedule, whenever answers come (open loop).
    Open {
        /// The law of the gaps.
        arrival: Arrival,
        /// The rate over time.
        curve: RateCurve,
        /// Division of the schedule between connections.
        sharing: Sharing,
        /// The fate of an operation that is due while every connection is full.
        on_full: OnFull,
    },
    /// Connections are the load: each is opened, makes its calls and is closed.
    Churn(ChurnPlan),
}

/// Connection churn. A plan's `connections` are then slots: the most connections open at once.
#[derive(Clone, Debug)]
pub struct ChurnPlan {
    /// The pace at which connections are intended; `None`: each replaces one that has ended.
    pub openings: Option<Pace>,
    /// The number of connections; `None`: the window ends them.
    pub openings_max: Option<u64>,
    /// The number of calls of each connection; at least 1.
    pub calls: u64,
    /// The pace of a connection's calls from its opening on; `None`: each call is due when the one
    /// before it has ended.
    pub call_pace: Option<Pace>,
    /// How a connection is closed: `None` in good order; a span is the time that the system may
    /// take for unsent bytes, and zero resets the connection.
    pub linger: Option<Span>,
    /// The fate of a connection that finds every slot taken, and of a call that finds its
    /// connection full.
    pub on_full: OnFull,
}

/// A law of gaps and a rate.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The law of the gaps.
    pub arrival: Arrival,
    /// The source of the gaps' draws.
    pub draws: Draws,
    /// The rate over time.
    pub curve: RateCurve,
}

/// The measured window, and the end of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The length of the load before the window; the longest if a command may open it.
    pub warmup: Span,
    /// True if [`Command::Open`](crate::fleet::Command::Open) may open the window earlier.
    pub opened_by_command: bool,
    /// True if [`Command::Close`](crate::fleet::Command::Close) may close the window earlier.
    pub closed_by_command: bool,
    /// The length of the window, the longest if a command may close it; [`Span::MAX`] if only
    /// `ops_max` ends the run.
    pub duration: Span,
    /// The number of operations offered; `None` for no limit.
    pub ops_max: Option<u64>,
    /// The load after the window.
    pub cooldown: Cooldown,
}

/// The instants at which commands open and close the window of a running load. The workers of a
/// fleet share them, so that all see one instant: an operation is counted after its intended
/// instant, and the command comes before the instant that it names.
#[derive(Clone, Debug)]
pub struct WindowCommands(Arc<[AtomicU64; 2]>);

impl WindowCommands {
    /// Commands the window to open at `at`, an instant to come.
    pub fn open(&self, at: Instant) {
        self.0[0].store(at.ns(), Ordering::Release);
    }

    /// Commands the window to close at `at`, an instant to come.
    pub fn close(&self, at: Instant) {
        self.0[1].store(at.ns(), Ordering::Release);
    }

    /// The commanded opening; never before the command.
    #[inline]
    pub fn opening(&self) -> Instant {
        Instant::from_ns(self.0[0].load(Ordering::Acquire))
    }

    /// The commanded end; never before the command.
    #[inline]
    pub fn closing(&self) -> Instant {
        Instant::from_ns(self.0[1].load(Ordering::Acquire))
    }
}

impl Default for WindowCommands {
    /// No command yet.
    fn default() -> Self {
        Self(Arc::new([const { AtomicU64::new(Instant::NEVER.ns()) }; 2]))
    }
}

/// The rows over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPlan {
    /// The width of a row; `None`: a second, or more if the timeout is long.
    pub width: Option<Span>,
    /// True if each row keeps the times of its gets.
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
    /// The key with this id, as sent.
    pub fn key(&self, id: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.write(id, &mut key);
        key
    }

    /// The length in bytes of the value that an operation of this kind sends for the key with this
    /// id; `None` if it sends none.
    pub fn size(&self, kind: OpKind, id: u64) -> Option<u64> {
        if !kind.stores_value() {
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
    /// After the measured window.
    pub const COOLDOWN: u16 = 2;
    /// The number of segments.
    pub const COUNT: usize = 3;
}

/// Slots of the response histograms beyond one per kind.
pub mod slot {
    use memtide_workload::OpKind;

    /// A get whose every key was found.
    pub const GET_HIT: usize = OpKind::COUNT;
    /// A get that missed a key.
    pub const GET_MISS: usize = OpKind::COUNT + 1;
    /// The number of slots.
    pub const COUNT: usize = OpKind::COUNT + 2;
}

/// The width of rows by default, unless the timeout is so long that too many would
/// be open at once.
const ROW_WIDTH: Span = Span::from_s(1);
const ROWS_OPEN_MAX: u64 = 64;
/// The longest time between two hand-overs of a tally, unless its worker was kept from its CPU.
const HANDOVER_AFTER: Span = Span::from_ms(200);

/// The least number of cells of a worker: those of its operations in flight, and of a few that
/// come late.
const CELLS_MIN: u64 = 10;
/// The most cells of a worker, however narrow rows are.
const CELLS_MAX: u64 = 256;

impl RowPlan {
    /// The width of a row with this timeout. By default it is so wide that an operation ends at
    /// most 64 rows after its own.
    fn width(&self, timeout: Span) -> Span {
        let spare = ROWS_OPEN_MAX - 3;
        let open = (timeout + HANDOVER_AFTER).ns();
        let own_width = ROW_WIDTH.ns().max(open.div_ceil(spare));
        assert!(open.div_ceil(own_width) <= ROWS_OPEN_MAX, "no more rows of this width are open");
        self.width.unwrap_or(Span::from_ns(own_width))
    }

    /// The number of cells that pass between two hand-overs of a tally, and a few more.
    fn cells(&self, timeout: Span, slice_width: Span) -> usize {
        let width = self.width(timeout).min(slice_width);
        let passed = HANDOVER_AFTER.ns().div_ceil(width.ns()) + 4;
        passed.clamp(CELLS_MIN, CELLS_MAX) as usize
    }

    /// The most rows that a run of this length keeps, and the width of a row.
    pub fn kept(&self, timeout: Span, length: Option<Span>) -> (u64, Span) {
        let (width, rows_max) = (self.width(timeout), self.rows_max() as u64);
        let rows = length.map_or(rows_max, |length| length.ns().div_ceil(width.ns()));
        // Where neighbours become one, the rows before and after exist for a moment.
        (if rows > rows_max { rows_max / 2 * 3 } else { rows }, width)
    }

    /// The most rows before neighbours become one.
    fn rows_max(&self) -> usize {
        if self.width.is_some() { ROWS_ASKED_MAX } else { ROWS_MAX }
    }
}

/// Parts of a plan that decide the memory of a load's measurements.
#[derive(Clone, Copy, Debug)]
pub struct TallyPlan<'a> {
    /// The kinds of operations.
    pub mix: &'a Mix,
    /// The rows over time.
    pub rows: RowPlan,
    /// An operation ends this long after its intended instant.
    pub timeout: Span,
    /// The measured window, and the end of the load.
    pub window: Window,
    /// The number of servers.
    pub servers: usize,
    /// Outstanding operations per connection.
    pub depth: u32,
    /// True if connections are the load.
    pub churn: bool,
    /// True if the sizes of messages are kept.
    pub message_sizes: bool,
    /// True if servers are asked for figures of their items.
    pub item_figures: bool,
}

impl TallyPlan<'_> {
    /// The room that each tally needs.
    pub fn shape(&self) -> Shape {
        let mut slots = vec![false; slot::COUNT];
        for kind in self.mix.kinds() {
            slots[kind.index()] = true;
        }
        slots[slot::GET_HIT] = slots[OpKind::Get.index()];
        slots[slot::GET_MISS] = slots[OpKind::Get.index()];
        let [response, service] = answer_slots(self.mix);
        let slice_width = slices::first_width(self.window.length());
        let gets = vec![OpKind::Get.index(), slot::GET_HIT, slot::GET_MISS];
        Shape {
            slots,
            response,
            service,
            segments: segment::COUNT,
            servers: self.servers,
            row_width: self.rows.width(self.timeout),
            rows_max: self.rows.rows_max(),
            row_gets: if self.rows.get_times { gets } else { Vec::new() },
            slice_width,
            cells: self.rows.cells(self.timeout, slice_width),
            depth: self.depth as usize,
            churn: self.churn,
            message_sizes: self.message_sizes,
            item_figures: self.item_figures,
            bounds: self.window.cooldown == Cooldown::Stop,
        }
    }
}

/// The slots in which cells record response times, and service times, of a mix of kinds.
fn answer_slots(mix: &Mix) -> [Vec<bool>; 2] {
    let mut service = vec![false; slot::COUNT];
    mix.kinds().for_each(|kind| service[kind.index()] = true);
    let mut response = service.clone();
    // Gets are recorded by hit and miss.
    let gets = std::mem::take(&mut response[OpKind::Get.index()]);
    (response[slot::GET_HIT], response[slot::GET_MISS]) = (gets, gets);
    [response, service]
}

impl Plan {
    /// The room that the tallies of this plan need.
    pub fn shape(&self) -> Shape {
        let tallies = TallyPlan {
            mix: &self.source.mix,
            rows: self.rows,
            timeout: self.timeout,
            window: self.window,
            servers: self.servers.len(),
            depth: self.depth,
            churn: self.churn().is_some(),
            message_sizes: self.message_sizes,
            item_figures: !self.requests.item_flags.is_empty(),
        };
        tallies.shape()
    }

    /// True if an operation may wait between its first answer and its second request.
    pub fn holds(&self) -> bool {
        let mut kinds = self.source.mix.kinds();
        kinds.any(|kind| kind.does(Action::Recache)) && self.requests.recache_time != TimeLaw::ZERO
    }

    /// The workers that this process makes.
    pub fn own_workers(&self) -> Range<u16> {
        self.here.clone().unwrap_or(0..self.workers)
    }

    /// The keys and values of the plan's operations.
    pub fn contents(&self) -> Contents {
        Contents {
            keys: self.keys.clone(),
            values: self.values.clone(),
            numeric_from: self.numeric_from,
            seed: self.seed,
        }
    }

    /// The connection churn, if connections are the load.
    #[inline]
    pub fn churn(&self) -> Option<&ChurnPlan> {
        match &self.pacing {
            Pacing::Churn(churn) => Some(churn),
            Pacing::Closed | Pacing::Open { .. } => None,
        }
    }

    /// The servers that the connections of counted clients reach; one server each for other
    /// clients.
    #[inline]
    pub fn reach(&self) -> Reach {
        match self.clients {
            Clients::Workers => Reach::Server,
            Clients::Counted { reach, .. } => reach,
        }
    }

    /// The number of copies of each write while all servers are connected.
    #[inline]
    pub fn copies(&self) -> u64 {
        match self.reach() {
            Reach::Servers { writers, copies: Replicate::All } => u64::from(writers),
            Reach::Servers { .. } | Reach::Server | Reach::Split { .. } => 1,
        }
    }
}

impl Window {
    /// The length of the window, if it is known before its end.
    pub fn length(&self) -> Option<Span> {
        let is_known = !self.closed_by_command && self.ops_max.is_none();
        (is_known && self.duration != Span::MAX).then_some(self.duration)
    }

    /// The segment of an operation intended at `at` in a run that started at `start`.
    #[inline]
    pub fn segment_of(&self, start: Instant, at: Instant) -> u16 {
        if at >= self.measure_end(start) {
            segment::COOLDOWN
        } else if at >= self.measure_start(start) {
            segment::MEASURE
        } else {
            segment::WARMUP
        }
    }

    /// The start of the measured window in a run that started at `start`.
    #[inline]
    pub fn measure_start(&self, start: Instant) -> Instant {
        start + self.warmup
    }

    /// The end of the measured window: the first instant that no longer belongs to it.
    #[inline]
    pub fn measure_end(&self, start: Instant) -> Instant {
        start + self.warmup + self.duration
    }
}
