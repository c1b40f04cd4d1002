//! Faults and other events of a world at instants that are known beforehand. A script applies to
//! all servers and workers alike, and draws nothing.

use memtide_base::{ConnectionId, Instant, Span};

/// An interval of a world's time, from its first instant to the first after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first instant.
    pub from: Instant,
    /// The first instant after the stretch.
    pub to: Instant,
}

impl Stretch {
    /// The stretch between two instants, in milliseconds after the world's beginning.
    pub fn ms(from: u64, to: u64) -> Self {
        let [from, to] = [from, to].map(|ms| Instant::ZERO + Span::from_ms(ms));
        Self { from, to }
    }

    /// True if `at` lies within the stretch.
    pub fn holds(self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }
}

/// The scripted events of a world; by default there are none.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Servers stall: requests that arrive meanwhile are read at the end, and no answer leaves.
    /// Connections are still opened, as a kernel does for a stopped process.
    pub server_stops: Vec<Stretch>,
    /// Workers stall: a wait that would end within a stretch ends after it.
    pub worker_stops: Vec<Stretch>,
    /// The network takes no bytes from workers; bytes submitted meanwhile leave at the end.
    pub unwritable: Vec<Stretch>,
    /// Connects are refused; open connections stay.
    pub refuses: Vec<Stretch>,
    /// The instants at which this connection of every worker is closed, as if by its server, and
    /// loses all bytes in transit.
    pub closes: Vec<(Instant, ConnectionId)>,
    /// From this instant on servers send these bytes in place of their answers, once for all bytes
    /// that arrive together in a stream. They still carry out requests.
    pub says: Option<(Instant, &'static [u8])>,
}

impl Script {
    /// The instant at which a server reads bytes that arrive at `at`.
    pub(crate) fn served_at(&self, at: Instant) -> Instant {
        end_of(&self.server_stops, at)
    }

    /// The instant at which a worker runs that is due at `at`.
    pub(crate) fn awake_at(&self, at: Instant) -> Instant {
        end_of(&self.worker_stops, at)
    }

    /// The instant at which bytes leave that are submitted at `at`.
    pub(crate) fn leaves_at(&self, at: Instant) -> Instant {
        end_of(&self.unwritable, at)
    }

    /// True if a connect that reaches its server at `at` is refused.
    pub(crate) fn is_refused(&self, at: Instant) -> bool {
        self.refuses.iter().any(|stretch| stretch.holds(at))
    }

    /// The bytes that servers send at `at` in place of their answers, if any.
    pub(crate) fn said_at(&self, at: Instant) -> Option<&'static [u8]> {
        self.says.filter(|(from, _)| *from <= at).map(|(_, words)| words)
    }
}

/// The end of the stretch in which `at` lies, or `at`.
fn end_of(stretches: &[Stretch], at: Instant) -> Instant {
    stretches.iter().find(|stretch| stretch.holds(at)).map_or(at, |stretch| stretch.to)
}
