//! One agent as the master sees it.

use crate::clock::ClockBounds;
use crate::parts::Assembly;
use memtide_base::Instant;
use std::collections::VecDeque;

/// An agent and what it is at.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) peer: u64,
    pub(super) name: String,
    pub(super) address: String,
    pub(super) stage: Stage,
    /// When it was last heard.
    pub(super) heard: Instant,
    pub(super) clock: ClockBounds,
    /// The ping that is under way: its number, and when it was sent.
    pub(super) ping: Option<(u64, Instant)>,
    pub(super) pings: u64,
    /// When the next ping is due.
    pub(super) ping_at: Instant,
    /// How many pings of a burst are left.
    pub(super) burst: u32,
    /// Its clock has been compared for this round.
    pub(super) is_compared: bool,
    /// Why it is gone, after it has done its part of this round.
    pub(super) gone: Option<Lost>,
    /// Seconds of its load that the other agents have not reported yet.
    pub(super) seconds: VecDeque<Vec<u8>>,
    /// Its record, as far as it has come.
    pub(super) record: Assembly,
}

/// What an agent is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has nothing to do.
    Resting,
    /// It prepares its share.
    Preparing,
    /// It has only to fill the servers, and will send its record.
    Filling,
    /// It waits for the beginning.
    Prepared,
    /// It knows when to begin.
    Armed,
    /// Its record has come, and is being judged.
    Judged,
    /// Its record is good.
    Done,
    /// It is lost to this run, and to all that follow.
    Lost(Lost),
}

/// Why an agent is lost to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The exit code that its loss gives the run.
    pub exit: u8,
    /// Why, as a sentence without its full stop.
    pub why: String,
}

impl Lost {
    /// The exit code of an agent that cannot be reached any more.
    pub const UNREACHABLE: u8 = 3;
    /// The exit code of an agent that may not or cannot do what it is asked.
    pub const REFUSED: u8 = 2;
    /// The exit code of an agent whose figures cannot be used.
    pub const UNFIT: u8 = 1;
}

impl Member {
    pub(super) fn new(peer: u64, name: &str, address: &str, now: Instant) -> Self {
        Self {
            peer,
            name: name.to_owned(),
            address: address.to_owned(),
            stage: Stage::Resting,
            heard: now,
            clock: ClockBounds::new(),
            ping: None,
            pings: 0,
            ping_at: now,
            burst: 0,
            is_compared: false,
            gone: None,
            seconds: VecDeque::new(),
            record: Assembly::default(),
        }
    }

    /// Name and address, for people.
    pub(super) fn label(&self) -> String {
        format!("{} ({})", self.name, self.address)
    }

    /// Whether it has not been lost.
    pub(super) fn is_there(&self) -> bool {
        self.gone.is_none() && !matches!(self.stage, Stage::Lost(_))
    }

    /// Whether it is expected to send a record.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.stage, Stage::Preparing | Stage::Filling | Stage::Prepared | Stage::Armed)
    }

    /// Whether its load goes on, as far as the master knows.
    pub(super) fn is_loading(&self) -> bool {
        self.stage == Stage::Armed
    }

    /// Takes part in a round that begins; false if it was lost before.
    pub(super) fn begin(&mut self, load_only: bool) -> bool {
        if let Some(gone) = self.gone.take() {
            self.stage = Stage::Lost(gone);
        }
        if !self.is_there() {
            return false;
        }
        (self.burst, self.is_compared) = (0, false);
        self.stage = if load_only { Stage::Filling } else { Stage::Preparing };
        self.seconds.clear();
        self.record = Assembly::default();
        true
    }
}
