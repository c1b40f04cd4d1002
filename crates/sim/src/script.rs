//! What happens to a world at instants that are known beforehand: what goes wrong, and when.
//! A script speaks of all servers and workers alike, and draws nothing.

use memtide_base::{ConnectionId, Instant, Span};

/// A stretch of a world's time, from its first instant to the first after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first instant.
    pub from: Instant,
    /// The first instant after it.
    pub to: Instant,
}

impl Stretch {
    /// The stretch between two instants, in milliseconds after the world's beginning.
    pub fn ms(from: u64, to: u64) -> Self {
        let after = |at| Instant::ZERO + Span::from_ms(at);
        Self { from: after(from), to: after(to) }
    }

    /// Whether `at` is one of its instants.
    pub fn holds(self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }
}

/// What happens at which instants; by default nothing does.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Servers do nothing: what reaches them meanwhile is read at the end, and no answer leaves.
    /// Connections are opened all the same, as a kernel does that for a stopped process.
    pub server_stops: Vec<Stretch>,
    /// Workers do not run: a wait that would end within ends late.
    pub worker_stops: Vec<Stretch>,
    /// The network takes no bytes from workers; what is submitted meanwhile leaves at the end.
    pub unwritable: Vec<Stretch>,
    /// Connects are refused; what is connected stays.
    pub refuses: Vec<Stretch>,
    /// This connection of every worker is closed, as if by its server, with all that is on its way.
    pub closes: Vec<(Instant, ConnectionId)>,
    /// From this instant on servers say this in place of their answers, once for all bytes that
    /// arrive together in a stream. They carry out what they are asked as before.
    pub says: Option<(Instant, &'static [u8])>,
}

impl Script {
    /// When a server gets to what reaches it at `at`, or would do then.
    pub(crate) fn served_at(&self, at: Instant) -> Instant {
        end_of(&self.server_stops, at)
    }

    /// When a worker runs that would do so at `at`.
    pub(crate) fn awake_at(&self, at: Instant) -> Instant {
        end_of(&self.worker_stops, at)
    }

    /// When bytes leave that are submitted at `at`.
    pub(crate) fn leaves_at(&self, at: Instant) -> Instant {
        end_of(&self.unwritable, at)
    }

    /// Whether a connect that reaches its server at `at` is refused.
    pub(crate) fn is_refused(&self, at: Instant) -> bool {
        self.refuses.iter().any(|stretch| stretch.holds(at))
    }

    /// What servers say at `at` in place of what they should.
    pub(crate) fn said_at(&self, at: Instant) -> Option<&'static [u8]> {
        self.says.filter(|(from, _)| *from <= at).map(|(_, words)| words)
    }
}

/// The end of the stretch that `at` lies in, or `at`.
fn end_of(stretches: &[Stretch], at: Instant) -> Instant {
    stretches.iter().find(|stretch| stretch.holds(at)).map_or(at, |stretch| stretch.to)
}
