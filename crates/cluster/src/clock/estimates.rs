//! The comparisons of clocks that an agent receives, evaluated for any instant.

use super::{Offset, drift, offset};
use crate::message::Clock;

/// The most comparisons kept. Beyond it every second one is dropped, because one comes every second
/// and clocks drift slowly.
const KEPT_MAX: usize = 4_096;

/// Comparisons of the clocks, as received from the master.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    pub(super) told: Vec<Offset>,
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
