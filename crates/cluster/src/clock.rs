//! How an agent's monotonic clock compares with the master's, from pings: always bounds, never an
//! estimate.
//!
//! A ping leaves at `sent` and its answer arrives at `received` on the master's clock; the agent
//! answered in between, when its own clock said `agent`. So the master's clock was ahead of it by
//! `sent - agent` to `received - agent`, however long each way took.

mod estimates;

pub use estimates::Estimates;

use memtide_base::Instant;

/// The most by which two clocks of machines drift apart, in millionths: the kernel may slew a clock
/// by 500, and quartz itself is off by less than 100.
const DRIFT_PPM: u64 = 600;

/// What is known of an agent's clock. Two clocks drift apart, so that a bound becomes wider by
/// [`DRIFT_PPM`] of the time since. All bounds are true at once: what they have in common counts.
/// When they have nothing in common, a clock has jumped.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockBounds {
    known: Option<Known>,
    has_jumped: bool,
}

/// At `agent` of the agent's clock the master's was ahead by `low` to `high`, both included.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// When the last ping was sent, by the master's clock.
    sent: i128,
    agent: i128,
    low: i128,
    high: i128,
}

/// How far the master's clock is ahead of an agent's, at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The master's clock minus the agent's, in nanoseconds.
    pub ahead_ns: i64,
    /// It is wrong by this much at most.
    pub error_ns: u64,
    /// The instant of the agent's clock for which this holds, in nanoseconds.
    pub agent_clock_ns: u64,
}

/// When a ping left and when its answer arrived, by the master's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Just before the ping was sent.
    pub sent: Instant,
    /// Just after the answer was received.
    pub received: Instant,
}

impl ClockBounds {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a ping that left at `sent` and was answered at `received` of the master's clock, when
    /// the agent's said `agent`; all in nanoseconds. Pings come in the order in which they were
    /// sent. One that does not fit those before it shows that a clock has jumped, and then nothing
    /// is known any more.
    pub fn ping(&mut self, sent: u64, received: u64, agent: u64) {
        let (sent, received, agent) = (i128::from(sent), i128::from(received), i128::from(agent));
        let fresh = Known { sent, agent, low: sent - agent, high: received - agent };
        let met = match self.known {
            None => (received >= sent).then_some(fresh),
            Some(known) => known.later(&fresh),
        };
        self.has_jumped |= met.is_none();
        self.known = met.or(self.known);
    }

    /// Whether a clock has jumped, so that nothing is known any more.
    #[cfg(test)]
    fn has_jumped(&self) -> bool {
        self.has_jumped
    }

    /// The offset at `master_now`, in nanoseconds of the master's clock, not before the last ping.
    /// None before the first ping, and when a clock has jumped.
    pub fn at(&self, master_now: u64) -> Option<Offset> {
        let known = self.known.filter(|_| !self.has_jumped)?;
        let now = i128::from(master_now);
        let (low, high) = known.widened(now - known.sent);
        assert!(low <= high, "a bound holds an offset");
        offset(low, high, now - low.midpoint(high))
    }

    /// What the agent's clock says when the master's says `master_ns`, as well as that is known;
    /// [`Self::at`] says how well. None as there.
    pub fn agent_instant(&self, master_ns: u64) -> Option<u64> {
        let offset = self.at(master_ns)?;
        u64::try_from(i128::from(master_ns) - i128::from(offset.ahead_ns)).ok()
    }
}

impl Known {
    /// Bounds after a time of `passed` on either clock.
    fn widened(&self, passed: i128) -> (i128, i128) {
        let wider = drift(passed);
        (self.low - wider, self.high + wider)
    }

    /// What this and a `fresh` bound of a later ping say together; nothing when both cannot be
    /// true.
    fn later(&self, fresh: &Self) -> Option<Self> {
        // The agent answers in order, and neither clock goes back.
        if fresh.agent < self.agent || fresh.sent < self.sent {
            return None;
        }
        let (low, high) = self.widened(fresh.agent - self.agent);
        let (low, high) = (low.max(fresh.low), high.min(fresh.high));
        (low <= high).then_some(Self { low, high, ..*fresh })
    }
}

/// By how much two clocks drift apart in a time of `passed` on either of them, rounded up.
fn drift(passed: i128) -> i128 {
    let slower = 1_000_000 - i128::from(DRIFT_PPM);
    (passed.abs() * i128::from(DRIFT_PPM) + slower - 1) / slower
}

/// The middle of a bound, and how far it may be wrong.
fn offset(low: i128, high: i128, agent: i128) -> Option<Offset> {
    let ahead = low.midpoint(high);
    let error = (high - ahead).max(ahead - low);
    Some(Offset {
        ahead_ns: i64::try_from(ahead).ok()?,
        error_ns: u64::try_from(error).ok()?,
        agent_clock_ns: u64::try_from(agent).ok()?,
    })
}

#[cfg(test)]
mod tests;
