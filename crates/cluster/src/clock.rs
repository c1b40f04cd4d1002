//! The comparison of an agent's monotonic clock with the master's, from pings: always as bounds,
//! never as an estimate.
//!
//! A ping leaves at `sent` and its answer arrives at `received` on the master's clock; the agent
//! answered in between, when its own clock showed `agent`. The master's clock was therefore ahead
//! of the agent's by `sent - agent` to `received - agent`, however long each way took.

use crate::message::Clock;
use memtide_base::Instant;

/// The largest drift between the clocks of two machines, in millionths: the kernel may slew a clock
/// by 500, and quartz is off by less than 100.
const DRIFT_PPM: u64 = 600;
/// The most comparisons kept. Beyond it every second one is dropped, because one comes every second
/// and clocks drift slowly.
const KEPT_MAX: usize = 4_096;

/// Bounds of the offset of an agent's clock. Because clocks drift apart, a bound widens by
/// [`DRIFT_PPM`] of the time since it was measured. All bounds hold at once, so their intersection
/// counts. If it is empty, a clock has jumped.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockBounds {
    known: Option<Known>,
    has_jumped: bool,
}

/// One bound: at `agent` on the agent's clock, the master's was ahead by `low` to `high`,
/// inclusive.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The instant at which the last ping was sent, by the master's clock.
    sent: i128,
    agent: i128,
    low: i128,
    high: i128,
}

/// The offset of the master's clock from an agent's, at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The master's clock minus the agent's, in nanoseconds.
    pub ahead_ns: i64,
    /// The largest error of `ahead_ns`.
    pub error_ns: u64,
    /// The instant of the agent's clock to which this applies, in nanoseconds.
    pub agent_clock_ns: u64,
}

/// The instants at which a ping left and its answer arrived, by the master's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Just before the ping was sent.
    pub sent: Instant,
    /// Just after the answer was received.
    pub received: Instant,
}

impl ClockBounds {
    /// Adds a ping that left at `sent` and was answered at `received` on the master's clock, when
    /// the agent's showed `agent`; all in nanoseconds. Pings are added in the order of sending. A
    /// ping that contradicts the earlier ones shows that a clock has jumped; from then on the
    /// offset is unknown.
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

    /// True if a clock has jumped, so that the offset is unknown.
    #[cfg(test)]
    fn has_jumped(&self) -> bool {
        self.has_jumped
    }

    /// The offset at `master_now`, in nanoseconds of the master's clock, which is not before the
    /// last ping. `None` before the first ping, and after a clock has jumped.
    pub fn at(&self, master_now: u64) -> Option<Offset> {
        let known = self.known.filter(|_| !self.has_jumped)?;
        let now = i128::from(master_now);
        let (low, high) = known.widened(now - known.sent);
        assert!(low <= high, "a bound holds an offset");
        offset(low, high, now - low.midpoint(high))
    }

    /// The agent's clock at the instant at which the master's shows `master_ns`, within the error
    /// that [`Self::at`] returns. `None` before the first ping, and after a clock has jumped.
    pub fn agent_instant(&self, master_ns: u64) -> Option<u64> {
        let offset = self.at(master_ns)?;
        u64::try_from(i128::from(master_ns) - i128::from(offset.ahead_ns)).ok()
    }
}

impl Known {
    /// The bounds after a time of `passed` on either clock.
    fn widened(&self, passed: i128) -> (i128, i128) {
        let wider = drift(passed);
        (self.low - wider, self.high + wider)
    }

    /// The intersection of this bound with the `fresh` one of a later ping; `None` if it is empty.
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

/// The drift of two clocks in a time of `passed` on either of them, rounded up.
fn drift(passed: i128) -> i128 {
    let slower = 1_000_000 - i128::from(DRIFT_PPM);
    (passed.abs() * i128::from(DRIFT_PPM) + slower - 1) / slower
}

/// The middle of a bound, and its largest error.
fn offset(low: i128, high: i128, agent: i128) -> Option<Offset> {
    let ahead = low.midpoint(high);
    let error = (high - ahead).max(ahead - low);
    Some(Offset {
        ahead_ns: i64::try_from(ahead).ok()?,
        error_ns: u64::try_from(error).ok()?,
        agent_clock_ns: u64::try_from(agent).ok()?,
    })
}

/// Comparisons of the clocks, as received from the master.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    told: Vec<Offset>,
}

impl Estimates {
    /// Adds a comparison.
    pub fn add(&mut self, told: &Clock) {
        if self.told.len() == KEPT_MAX {
            let mut keeps = false;
            self.told.retain(|_| {
                keeps = !keeps;
                keeps
            });
        }
        let Clock { clock_ns, ahead_ns, error_ns } = *told;
        self.told.push(Offset { ahead_ns, error_ns, agent_clock_ns: clock_ns });
        assert!(self.told.len() <= KEPT_MAX, "comparisons are thinned out");
    }

    /// The tightest bound of the offset at the instant at which the agent's clock shows `agent_ns`:
    /// the intersection of all comparisons, each widened by the drift in between. `None` without a
    /// comparison, and if comparisons contradict each other.
    pub fn best(&self, agent_ns: u64) -> Option<Offset> {
        let each = self.told.iter().map(|told| {
            let passed = i128::from(agent_ns) - i128::from(told.agent_clock_ns);
            let wider = i128::from(told.error_ns) + drift(passed);
            let ahead = i128::from(told.ahead_ns);
            (ahead - wider, ahead + wider)
        });
        let (low, high) = each.reduce(|all, one| (all.0.max(one.0), all.1.min(one.1)))?;
        if low > high { None } else { offset(low, high, i128::from(agent_ns)) }
    }
}

#[cfg(test)]
mod tests;
