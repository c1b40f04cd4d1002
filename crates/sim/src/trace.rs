//! The events of a world: always as a hash, and as lines on request.

use memtide_base::Instant;
use memtide_base::rng::mix;
use std::fmt;

/// The receiver of a trace's lines.
type Lines = Box<dyn FnMut(&str)>;

/// The trace of a world.
#[derive(Default)]
pub struct Trace {
    hash: u64,
    events: u64,
    lines: Option<Lines>,
}

impl Trace {
    /// A trace that is only hashed.
    pub fn new() -> Self {
        Self::default()
    }

    /// A trace whose lines also go to `lines`.
    pub fn with_lines(lines: impl FnMut(&str) + 'static) -> Self {
        Self { lines: Some(Box::new(lines)), ..Self::default() }
    }

    /// The hash of all events so far: equal for equal seeds, scenarios and code.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Records an event on `link` (connections are numbered as they are opened) that moved `bytes`.
    pub(crate) fn event(&mut self, at: Instant, what: What, link: usize, bytes: &[u8]) {
        self.events += 1;
        let place = at.ns() ^ (link as u64) << 32 ^ what as u64;
        self.hash = mix(self.hash ^ mix(place));
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.hash = mix(self.hash ^ u64::from_le_bytes(word));
        }
        if let Some(lines) = &mut self.lines {
            let shown = bytes.escape_ascii();
            lines(&format!("{:>15} {what} {link} {shown}", at.ns()));
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({:016x} after {} events)", self.hash, self.events)
    }
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A connect succeeded.
    Opened = 1,
    /// A connect was refused.
    Refused = 2,
    /// A worker wrote.
    Sent = 3,
    /// A server read.
    Arrived = 4,
    /// A server wrote.
    Answered = 5,
    /// Bytes reached a worker.
    Received = 6,
    /// A server closed or reset.
    Closed = 7,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Opened => "opened  ",
            Self::Refused => "refused ",
            Self::Sent => "sent    ",
            Self::Arrived => "arrived ",
            Self::Answered => "answered",
            Self::Received => "received",
            Self::Closed => "closed  ",
        })
    }
}
