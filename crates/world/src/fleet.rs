//! The workers of a run, as its controller sees them: threads, simulated workers, or workers on
//! other machines. The controller cannot tell which.

use crate::driver::{Closed, ConnectError, DriverError, Refusal};
use crate::plan::{Plan, ServerPlan};
use crate::question::{Answer, AskError, Question};
use memtide_base::{Instant, Remedy, Sentence, ServerId, Span};
use memtide_metrics::TallySum;
use std::fmt;
use std::ops::Range;

/// A set of workers that carry out plans, one at a time.
pub trait Fleet {
    /// The present instant, on the clock of all workers.
    fn now(&self) -> Instant;

    /// Time since 1970 by the world's time of day, for labels and to distinguish runs. A replayed
    /// world returns the same time.
    fn since_unix(&self) -> Span;

    /// Makes the workers of `plan` whose numbers are in `workers`, so that several fleets can share
    /// a plan. They open their connections and then wait for [`Command::Begin`].
    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError>;

    /// Commands each of its workers at `at`, or at once if that is past. Until then the workers
    /// continue.
    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError>;

    /// Waits until `until`, adds what its workers recorded to `totals`, and returns their state.
    /// Once all of them have finished, `totals` is complete.
    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError>;

    /// True if the user has asked to stop; always false in a world without a user.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Asks a server of `plan` a question, on a connection of its own beside the load.
    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError>;

    /// Asks several servers of `plan` a question as [`ask`](Self::ask) does, all at once where the
    /// world allows; the answers have the order of `servers`.
    fn ask_all(
        &mut self,
        plan: &Plan,
        servers: &[&ServerPlan],
        question: Question<'_>,
    ) -> Vec<Result<Answer, AskError>> {
        servers.iter().map(|server| self.ask(plan, server, question)).collect()
    }

    /// From now on asks each of `servers` of `plan` for its statistics when the load begins, and
    /// then once a second, beside the workers and on a connection of its own that stays open. The
    /// answers come with [`Fleet::collect`]. An empty list stops this.
    fn watch_servers(&mut self, plan: &Plan, servers: &[ServerId]);
}

/// Methods of a [`Fleet`] that call the same ones of the fleet in a field, for a fleet that does
/// only the others itself: `pass_to_fleet!(inner: now, start)`.
#[macro_export]
macro_rules! pass_to_fleet {
    ($inner:ident: $($method:ident),+) => {
        $($crate::pass_to_fleet! { $method $inner })+
    };
    (now $inner:ident) => {
        fn now(&self) -> memtide_base::Instant {
            self.$inner.now()
        }
    };
    (since_unix $inner:ident) => {
        fn since_unix(&self) -> memtide_base::Span {
            self.$inner.since_unix()
        }
    };
    (is_interrupted $inner:ident) => {
        fn is_interrupted(&self) -> bool {
            self.$inner.is_interrupted()
        }
    };
    (start $inner:ident) => {
        $crate::pass_to_fleet! { $inner.start(plan: &$crate::Plan, workers: std::ops::Range<u16>)
            -> Result<(), $crate::fleet::FleetError> }
    };
    (command $inner:ident) => {
        $crate::pass_to_fleet! { $inner.command(at: memtide_base::Instant,
            command: $crate::fleet::Command) -> Result<(), $crate::fleet::FleetError> }
    };
    (collect $inner:ident) => {
        $crate::pass_to_fleet! { $inner.collect(until: memtide_base::Instant,
            totals: &mut memtide_metrics::TallySum)
            -> Result<$crate::fleet::Interval, $crate::fleet::FleetError> }
    };
    (ask $inner:ident) => {
        $crate::pass_to_fleet! { $inner.ask(plan: &$crate::Plan, server: &$crate::ServerPlan,
            question: $crate::question::Question<'_>)
            -> Result<$crate::question::Answer, $crate::question::AskError> }
    };
    (watch_servers $inner:ident) => {
        $crate::pass_to_fleet! { $inner.watch_servers(plan: &$crate::Plan,
            servers: &[memtide_base::ServerId]) -> () }
    };
    ($inner:ident.$method:ident($($name:ident: $type:ty),+) -> $result:ty) => {
        fn $method(&mut self, $($name: $type),+) -> $result {
            self.$inner.$method($($name),+)
        }
    };
}

/// The answer of a server that was asked for its statistics while a load runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerAnswer {
    /// The server.
    pub server: ServerId,
    /// The instant at which the answer came, or the wait for it ended.
    pub at: Instant,
    /// Connections opened for questions to this server so far.
    pub connections: u64,
    /// Names and values in the server's order, or the reason why there are none.
    pub answer: Result<Vec<(String, String)>, AskError>,
}

/// A command of the controller to its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Start the schedules.
    Begin,
    /// Open the measured window, in a plan whose window is opened by command. The instant lies
    /// before the latest one, and so far in the future that no worker is past it.
    Open,
    /// Close the measured window, in a plan whose window is closed by command, under the same
    /// conditions.
    Close,
    /// Make no more operations; wait for those in flight, but no longer than `grace`.
    Stop {
        /// The longest wait for operations in flight.
        grace: Span,
    },
}

/// The state of a fleet at one collection.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The instant of the collection.
    pub at: Instant,
    /// One report per worker of the fleet, in order.
    pub workers: Vec<WorkerReport>,
    /// The answers of watched servers since the last collection.
    pub polled: Vec<ServerAnswer>,
    /// True if the user asked to stop.
    pub interrupted: bool,
}

/// The state of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerReport {
    /// The instant of the report. It can be older than the collection that returns it.
    pub at: Instant,
    /// Its stage.
    pub stage: Stage,
    /// True if every measured operation has ended and no more will be made.
    pub measured_done: bool,
    /// True if the worker has made its part of a fixed number of operations or connections. It
    /// makes no more, however long the run goes on.
    pub is_used_up: bool,
    /// Connections that are open now.
    pub connections_open: u32,
    /// Operations that were sent and have not ended.
    pub in_flight: u64,
    /// At `at`, the oldest past intended instant for which no operation was made yet; `None`
    /// without a backlog, and in a closed loop, which never has one.
    pub oldest_due: Option<Instant>,
    /// The instant since which no connection has been open, or since which no connection over
    /// datagrams was answered.
    pub disconnected_since: Option<Instant>,
    /// The last fault of a server.
    pub trouble: Option<Trouble>,
    /// The first error line that a server answered with.
    pub refusal: Option<Refusal>,
    /// The last answer to a measured operation; [`Instant::ZERO`] before there is one.
    pub last_settled: Instant,
    /// The last measured intended instant, or the last instant at which a measured operation
    /// without an answer was sent.
    pub last_intended: Instant,
    /// Under connection churn, the most connections open at once, connecting ones included.
    pub concurrent_max: u32,
    /// Under connection churn, the instant at which the last measured connection began to connect.
    pub last_started: Instant,
    /// Time spent waiting within the measured window.
    pub idle: Span,
    /// Processor time used within the measured window, if the world can measure it.
    pub cpu: Option<CpuTime>,
    /// Time within the measured window in which the worker was ready to run and had no processor,
    /// if the world can measure it.
    pub run_delay: Option<Span>,
    /// Time within the measured window in which the worker's process was stopped, or its virtual
    /// machine stood still, as far as the world can tell that from waiting for a processor: stops
    /// of [`STOP_MIN`] and more.
    pub stopped: Span,
    /// The longest of these stops.
    pub stopped_longest: Span,
}

/// The shortest stop that is told from other causes of a delay.
pub const STOP_MIN: Span = Span::from_ms(50);

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the program itself.
    pub user: Span,
    /// In the kernel on its behalf.
    pub system: Span,
}

/// The progress of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It opens its connections.
    #[default]
    Opening,
    /// All are open; it waits for [`Command::Begin`].
    Ready,
    /// Its schedule runs.
    Running,
    /// It waits for the operations in flight.
    Draining,
    /// It has ended, and its measurements are complete.
    Finished,
}

/// A fault of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The server.
    pub server: ServerId,
    /// The instant.
    pub at: Instant,
    /// The kind.
    pub what: TroubleKind,
}

/// The kind of a server's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// A connect failed.
    Connect(ConnectError),
    /// A connection was lost.
    Closed(Closed),
}

impl TroubleKind {
    /// The sentence without its subject and its full stop, with the remedy if there is one.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::Connect(error) => error.sentence(),
            Self::Closed(closed) => closed.sentence(),
        }
    }
}

/// A fleet cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetError {
    /// The system starts no more threads for this user or control group.
    NoThread {
        /// The worker's number.
        worker: u16,
        /// The system's message.
        why: String,
    },
    /// A system call failed without which a worker cannot send and receive.
    Worker {
        /// The worker's number.
        worker: u16,
        /// The system call that failed.
        error: DriverError,
    },
    /// A server's address is none that this agent's operator allows, so no connection was opened.
    NotAllowed {
        /// The address.
        address: String,
    },
}

impl FleetError {
    /// The sentence, with the remedy if there is one.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::NoThread { worker, why } => {
                Sentence::new(format!("no thread for worker {worker} ({why})"))
                    .remedy(Remedy::FewerThreads)
            }
            Self::Worker { worker, error } => {
                Sentence::new(format!("worker {worker} cannot go on: {error}"))
                    .remedy(Remedy::OtherIo)
            }
            Self::NotAllowed { address } => Sentence::new(format!(
                "address {address} is not among the targets that this agent allows"
            ))
            .remedy(Remedy::AllowTarget),
        }
    }
}

impl fmt::Display for FleetError {
    /// Writes the sentence without its remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl std::error::Error for FleetError {}
