//! One agent as the master sees it.

use crate::AGENT_SILENT_MAX;
use crate::clock::ClockBounds;
use crate::message::Preparing;
use crate::parts::Assembly;
use memtide_base::{Instant, Span};
use memtide_record::Exit;

/// An agent and its stage.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) peer: u64,
    pub(super) name: String,
    pub(super) address: String,
    /// True if it is in the master's own process and makes the master's own load.
    pub(super) is_own: bool,
    /// The number of the run's equal shares that it takes.
    pub(super) units: u32,
    pub(super) stage: Stage,
    /// The instant of its last message.
    pub(super) heard: Instant,
    pub(super) clock: ClockBounds,
    /// The ping that is in flight: its number, and the instant of sending.
    pub(super) ping: Option<(u64, Instant)>,
    pub(super) pings: u64,
    /// The instant at which the next ping is due.
    pub(super) ping_at: Instant,
    /// The number of pings left in a burst.
    pub(super) burst: u32,
    /// The instant at which the burst began.
    pub(super) burst_began: Instant,
    /// True if its clock has been compared for this round.
    pub(super) is_compared: bool,
    /// The reason of its loss, if it was lost after it had done its part of this round.
    pub(super) gone: Option<Lost>,
    /// The number of notes that it has sent in this round.
    pub(super) notes: u32,
    /// Its record, as far as it has arrived.
    pub(super) record: Assembly,
    /// Its record so far, if it was asked for and has not arrived whole.
    pub(super) so_far: Option<Assembly>,
    /// The instant at which the first part of its record came.
    pub(super) handing_since: Option<Instant>,
    /// The progress of its preparation.
    pub(super) progress: Progress,
    /// True if it has ended its load for want of a master.
    pub(super) is_alone: bool,
    /// The beginning of its load by its own clock, once it was told.
    pub(super) armed_ns: Option<u64>,
    /// The number of its first share in this round.
    pub(super) share: u32,
    /// The rounds whose records from it are accepted and not acknowledged yet, each with its share.
    pub(super) taken: Vec<(u64, u32)>,
}

/// The last report of an agent that prepares its share.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The instant of the report.
    pub(super) told: Instant,
    /// The instant of the last report that differed from the one before.
    pub(super) moved: Instant,
    pub(super) report: Preparing,
}

/// The stage of an agent in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has nothing to do.
    Resting,
    /// It prepares its share.
    Preparing,
    /// It fills the servers, and will send its record.
    Filling,
    /// It waits for the beginning of the load.
    Prepared,
    /// It knows the instant of the beginning.
    Armed,
    /// Its record has arrived, and is being checked.
    Judged,
    /// Its record is accepted.
    Done,
    /// It is lost to this run and to all that follow.
    Lost(Lost),
}

/// The reason of an agent's loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The exit code that its loss gives the run.
    pub exit: u8,
    /// The reason, as a sentence without its full stop.
    pub why: String,
}

impl Lost {
    /// The exit code of an agent that can no longer be reached.
    pub const UNREACHABLE: u8 = crate::EXIT_UNREACHABLE;
    /// The exit code of an agent that may not or cannot carry out its share.
    pub const REFUSED: u8 = Exit::Usage.code();
    /// The exit code of an agent whose figures cannot be used.
    pub const UNFIT: u8 = Exit::Failed.code();
}

/// The label of the agent in the master's own process. No other has it: labels of agents contain an
/// address.
const OWN_LOAD: &str = "the master's own load";

/// The user's flag for a limit, behind it in brackets; empty if the user has none.
pub(super) fn in_brackets(flag: Option<&str>) -> String {
    flag.map_or_else(String::new, |flag| format!(" ({flag})"))
}

/// The agent with this label as a sentence's subject.
pub(crate) fn titled(label: &str) -> String {
    if label == OWN_LOAD { label.to_owned() } else { format!("agent {label}") }
}

impl Member {
    pub(super) fn new(peer: u64, name: &str, address: &str, units: u32, now: Instant) -> Self {
        Self {
            peer,
            name: name.to_owned(),
            address: address.to_owned(),
            is_own: false,
            units: units.max(1),
            stage: Stage::Resting,
            heard: now,
            clock: ClockBounds::default(),
            ping: None,
            pings: 0,
            ping_at: now,
            burst: 0,
            burst_began: now,
            is_compared: false,
            gone: None,
            notes: 0,
            record: Assembly::default(),
            so_far: None,
            handing_since: None,
            progress: Progress::default(),
            is_alone: false,
            armed_ns: None,
            share: 0,
            taken: Vec::new(),
        }
    }

    /// Name and address, for messages; [`titled`] makes them a subject.
    pub(super) fn label(&self) -> String {
        match self.is_own {
            true => OWN_LOAD.to_owned(),
            false => format!("{} ({})", self.name, self.address),
        }
    }

    /// True unless it has been lost.
    pub(super) fn is_there(&self) -> bool {
        self.gone.is_none() && !matches!(self.stage, Stage::Lost(_))
    }

    /// True if it was silent for too long; silence before `excused` does not count. While clocks
    /// are compared, only answers to pings count, because all other agents wait for them.
    pub(super) fn is_silent(&self, excused: Instant, now: Instant) -> bool {
        let compared = self.ping.filter(|_| self.burst > 0).map(|(_, sent)| sent);
        [Some(self.heard), compared]
            .into_iter()
            .flatten()
            .any(|since| now.since(since.max(excused)) >= AGENT_SILENT_MAX)
    }

    /// True if it prepares its share, or fills servers, and reports its progress.
    pub(super) fn is_preparing(&self) -> bool {
        matches!(self.stage, Stage::Preparing | Stage::Filling) && self.handing_since.is_none()
    }

    /// True if it is expected to send a record.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.stage, Stage::Preparing | Stage::Filling | Stage::Prepared | Stage::Armed)
    }

    /// True if its load runs, as far as the master knows.
    pub(super) fn is_loading(&self) -> bool {
        self.stage == Stage::Armed
    }

    /// Begins a round for it, whose servers rest first; false if it was lost before.
    pub(super) fn begin(&mut self, load_only: bool, rest: Span, now: Instant) -> bool {
        if let Some(gone) = self.gone.take() {
            self.stage = Stage::Lost(gone);
        }
        if !self.is_there() {
            return false;
        }
        (self.burst, self.is_compared, self.notes, self.is_alone) = (0, false, 0, false);
        self.stage = if load_only { Stage::Filling } else { Stage::Preparing };
        (self.record, self.so_far) = (Assembly::default(), None);
        (self.handing_since, self.armed_ns) = (None, None);
        self.ping_at = self.ping_at.min(now);
        self.progress = Progress { told: now, moved: now + rest, report: Preparing::default() };
        true
    }
}
