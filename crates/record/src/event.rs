//! Events of a run, in the order in which they happen, for every observer and sink.
//!
//! Events carry values, never lines of text: each front end writes its own text.

mod interval;

pub use interval::{AgentSecond, Interval, IntervalRow, LoadSoFar, log_end, log_head, log_of};

use crate::record::{IntervalRecord, Phase, PlanRecord, Record};
use crate::sample::{Sample, WrongValues};
use crate::steps::{Conclusion, Step, StepRole};
use crate::warning::Warning;
use memtide_base::{Rate, Span};
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The plan is decided and the run begins.
    Started(Box<PlanRecord>),
    /// A master hands its agents their shares of a load.
    Shared(Box<Shared>),
    /// The agents have prepared their shares, and the master agrees with them on the beginning of
    /// the load; their number.
    Prepared(u32),
    /// The load begins; its instant, in nanoseconds since 1970.
    LoadBegun(u64),
    /// A phase begins.
    Phase(Phase),
    /// Progress of the run; at most a few times a second.
    Progress(Progress),
    /// A row of the measured window is final: every operation intended in it has its outcome.
    Row(Box<IntervalRecord>),
    /// Another second of the load is over.
    Interval(Box<Interval>),
    /// Times of the operations so far, at the interval that a front end requested.
    Times(Box<TimesSoFar>),
    /// A measured operation has ended. Emitted only if samples were requested.
    Sample(Sample),
    /// Wrong values that verification found; emitted at the end of the run.
    WrongValues(Box<WrongValues>),
    /// A remark that needs no remedy, as a sentence.
    Note(String),
    /// A warning.
    Warning(Warning),
    /// The run, or one step of a search or scan, is over.
    Done(Box<Record>),
    /// A step of a search or a scan begins; the events of a run follow.
    StepBegun(StepBegun),
    /// A step of a search or a scan is over, and was judged.
    StepDone(Box<Step>),
    /// The search or the scan is over.
    StepsDone(Conclusion),
}

/// The shares of a load that agents make.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The plan of the master's own load; that of the agents' load if the master makes none.
    pub plan: PlanRecord,
    /// The number of equal shares of each agent, in the agents' order; none of an agent that did
    /// not come, and without which the run begins.
    pub agents: Vec<Option<u32>>,
}

/// A step of a search or scan that begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBegun {
    /// Number of the step, from 1.
    pub number: u32,
    /// Target rate; none in a closed loop.
    pub rate: Option<Rate>,
    /// Purpose of the step.
    pub role: StepRole,
}

/// Service times of the operations of the measured window that were answered so far; complete to
/// about a tenth of a second.
#[derive(Clone, Debug, PartialEq)]
pub struct TimesSoFar {
    /// Elapsed part of the window: a multiple of the requested interval.
    pub elapsed: Span,
    /// Received − sent, by kind of operation; gets also split into hits and misses.
    pub service: BTreeMap<Kind, Histogram<u64>>,
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Current phase.
    pub phase: Phase,
    /// Seconds since this phase began.
    pub elapsed_s: f64,
    /// Length of this phase in seconds; none if something other than time ends it.
    pub length_s: Option<f64>,
    /// Operations answered in this phase so far (while loading: keys stored). If the load is a
    /// number of connections: connections that have ended.
    pub done: u64,
    /// Expected final value of `done`; none if time ends the phase.
    pub total: Option<u64>,
    /// Connections open or connecting now; none without connection churn.
    pub living: Option<u64>,
    /// Recent rate of answered operations per second; none before any was counted.
    pub rate_per_s: Option<f64>,
    /// Recent 99th percentile of response times, in ns; none if too few operations were answered.
    pub response_p99_ns: Option<u64>,
    /// Operations of this phase so far that failed, timed out, were lost or dropped.
    pub unanswered: u64,
    /// Age of the backlog: time since the oldest unsent operation was due; none without a backlog.
    pub oldest_due: Option<Span>,
}
