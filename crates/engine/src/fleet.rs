//! The workers of a run, as its controller sees them: threads, simulated workers, or agents on
//! other machines. The controller cannot tell which.

use crate::driver::{Closed, ConnectError, DriverError, Refusal};
use crate::plan::{Plan, ServerPlan};
use crate::probe::{Answer, AskError, Question};
use memtide_base::{Instant, Remedy, Sentence, ServerId, Span};
use memtide_metrics::TallySum;
use std::fmt;
use std::ops::Range;

/// A set of workers that carry out plans, one at a time.
pub trait Fleet {
    /// The present instant, on the clock of all workers.
    fn now(&self) -> Instant;

    /// Time since 1970 by the world's time of day: for labels, and to tell one run from another. A
    /// world that is replayed shows the same again.
    fn since_unix(&self) -> Span;

    /// Makes those workers of `plan` whose numbers are in `workers`, so that several fleets can
    /// share a plan; they open their connections and then wait for [`Command::Begin`].
    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError>;

    /// Tells each of its workers to do something at `at`, or at once if that is past. Until
    /// then they go on.
    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError>;

    /// Waits until `until`, then folds what its workers recorded into `totals` and says how they
    /// are. After each of them has finished nothing more is missing from `totals`.
    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError>;

    /// Whether the user has asked to stop; never in a world without one.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Asks a server of `plan` something, on a connection of its own, beside the load.
    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError>;
}

/// What a controller can tell its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Start the schedules.
    Begin,
    /// Offer nothing more; wait for what is in flight, but no longer than this.
    Stop {
        /// How long.
        grace: Span,
    },
}

/// How the workers are.
#[derive(Clone, Debug)]
pub struct Interval {
    /// When this was said.
    pub at: Instant,
    /// One report per worker of the fleet, in order.
    pub workers: Vec<WorkerReport>,
    /// The user asked to stop.
    pub interrupted: bool,
}

/// How one worker is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerReport {
    /// How far it has come.
    pub stage: Stage,
    /// Whether every measured operation has ended and no more will be made.
    pub measured_done: bool,
    /// Whether its part of a number of operations or connections is used up: it makes no more,
    /// however long the run goes on.
    pub is_used_up: bool,
    /// Connections that are open now.
    pub connections_open: u32,
    /// Operations that were sent and have not ended.
    pub in_flight: u64,
    /// The oldest intended instant that is past and for which no operation was made yet; none where
    /// nothing waits, and in a closed loop, which has no backlog.
    pub oldest_due: Option<Instant>,
    /// Since when none has been open, or of those over datagrams none was answered.
    pub disconnected_since: Option<Instant>,
    /// The last thing that went wrong with a server.
    pub trouble: Option<Trouble>,
    /// The first error line that a server answered with.
    pub refusal: Option<Refusal>,
    /// The last answer to a measured operation; [`Instant::ZERO`] before there is one.
    pub last_settled: Instant,
    /// The last measured intended instant, or the last instant at which a measured operation
    /// without an answer was sent.
    pub last_intended: Instant,
    /// The most connections that lived at once, where connections are the load.
    pub concurrent_max: u32,
    /// When the last measured one of them began to connect.
    pub last_started: Instant,
    /// Time spent waiting within the measured window.
    pub idle: Span,
    /// Processor time used within the measured window, where the world can tell.
    pub cpu: Option<CpuTime>,
    /// Time within the measured window in which it could have run but was given no processor,
    /// where the world can tell.
    pub run_delay: Option<Span>,
}

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the program itself.
    pub user: Span,
    /// In the kernel on its behalf.
    pub system: Span,
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It opens its connections.
    Opening,
    /// All are open; it waits for [`Command::Begin`].
    Ready,
    /// Its schedule runs.
    Running,
    /// It waits for what is in flight.
    Draining,
    /// It has nothing more to say.
    Finished,
}

/// Something that went wrong with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Which server.
    pub server: ServerId,
    /// When.
    pub at: Instant,
    /// What.
    pub what: TroubleKind,
}

/// What can go wrong with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// It could not be connected to.
    Connect(ConnectError),
    /// A connection to it went away.
    Closed(Closed),
}

impl TroubleKind {
    /// A sentence without its subject and its end, with what can be done.
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
        /// What the system said.
        why: String,
    },
    /// A system call failed without which a worker cannot send and receive.
    ///
    /// To do: Try the other `--io`; else report the system error's number.
    Worker {
        /// The worker's number.
        worker: u16,
        /// What failed.
        error: DriverError,
    },
}

impl FleetError {
    /// What happened, and what to do if anything can be done.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::NoThread { worker, why } => {
                Sentence::new(format!("no thread for worker {worker} ({why})"))
                    .remedy(Remedy::FewerThreads)
            }
            Self::Worker { worker, error } => {
                Sentence::new(format!("worker {worker} cannot go on: {error}"))
            }
        }
    }
}

impl fmt::Display for FleetError {
    /// What happened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl std::error::Error for FleetError {}
