//! What everybody downstream of a run sees, in the order in which it happens.
//!
//! Events carry values, never lines of text: each front end finds its own words.

mod interval;

pub use interval::{Interval, IntervalRow, LoadSoFar, log_head, log_of};

use crate::kind::Kind;
use crate::record::{IntervalRecord, Phase, PlanRecord, Record};
use crate::sample::Sample;
use crate::steps::{Conclusion, Step, StepRole};
use crate::warning::Warning;
use crate::wrong_value::WrongValues;
use memtide_base::Span;
use memtide_metrics::Histogram;
use std::collections::BTreeMap;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The plan is decided and the run begins.
    Started(Box<PlanRecord>),
    /// A phase begins.
    Phase(Phase),
    /// How far the run is; at most a few times a second.
    Progress(Progress),
    /// A row of the measured window is final: everything that was intended in it has its outcome.
    Row(Box<IntervalRecord>),
    /// Another second of the load is over.
    Interval(Box<Interval>),
    /// The times of the operations so far, as often as a front end asked for them.
    Times(Box<TimesSoFar>),
    /// A measured operation has ended. Only those are told of it who asked for samples.
    Sample(Sample),
    /// What verification found to be wrong, when the run is over.
    WrongValues(Box<WrongValues>),
    /// Something worth saying that needs no remedy, as a sentence.
    Note(String),
    /// Something is not as it should be.
    Warning(Warning),
    /// The run is over; of a search or a scan, one of its steps.
    Done(Box<Record>),
    /// A step of a search or a scan begins; the events of a run follow.
    StepBegun(StepBegun),
    /// It is over, and was judged.
    StepDone(Box<Step>),
    /// The search or the scan is over.
    StepsDone(Conclusion),
}

/// A step that begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBegun {
    /// Which step, from 1.
    pub number: u32,
    /// Operations per second; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// What it is for.
    pub role: StepRole,
}

/// How long the operations of the measured window took that were answered so far, to about a tenth
/// of a second.
#[derive(Clone, Debug, PartialEq)]
pub struct TimesSoFar {
    /// How much of the window has passed, a multiple of what was asked for.
    pub elapsed: Span,
    /// Received − sent, by kind of operation; of gets also those that found something and those
    /// that did not.
    pub service: BTreeMap<Kind, Histogram<u64>>,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The phase it is in.
    pub phase: Phase,
    /// Seconds since this phase began.
    pub elapsed_s: f64,
    /// Seconds this phase will take; none when something else ends it.
    pub length_s: Option<f64>,
    /// Operations answered in this phase so far (keys stored, while loading); where a number of
    /// connections is the load, those that have ended.
    pub done: u64,
    /// How many there will be; none when time ends the phase.
    pub total: Option<u64>,
    /// Connections that live now; none unless they are the load.
    pub living: Option<u64>,
    /// Operations answered per second, lately; none before anything was counted.
    pub rate_per_s: Option<f64>,
    /// The 99th percentile of response times lately, in ns; none when too few or unanswered.
    pub response_p99_ns: Option<u64>,
    /// Operations of this phase that failed, timed out, were lost or dropped so far.
    pub unanswered: u64,
    /// How long the oldest operation has been due that is not sent yet; none where there is no
    /// backlog.
    pub oldest_due: Option<Span>,
}
