//! The wrong values that verification found, one by one, in bounded memory: those that do not fit
//! are only counted.

use crate::counter::VerifyClass;
use memtide_base::ServerId;

/// One wrong value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The operation, by its position in the run's sequence.
    pub op: u64,
    /// The id of the requested key. For a value under a key that was not requested, the id of the
    /// first key that was.
    pub key: u64,
    /// The server that sent it, in the plan's order.
    pub server: ServerId,
    /// The kind of error.
    pub class: VerifyClass,
    /// The oldest version that was allowed; 0 for any.
    pub version_min: u32,
    /// The version that the value claims, if any.
    pub version: Option<u32>,
    /// The position of the first wrong byte, from 0.
    pub offset: u64,
}

/// Wrong values in the order of their arrival, as far as they fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatches {
    kept: Vec<Mismatch>,
    kept_max: usize,
    lost: u64,
}

/// The number of wrong values kept of a whole run.
const RUN_KEPT_MAX: usize = 100_000;

impl Default for Mismatches {
    /// Room for the wrong values of a run; allocates when the first is kept.
    fn default() -> Self {
        Self { kept: Vec::new(), kept_max: RUN_KEPT_MAX, lost: 0 }
    }
}

impl Mismatches {
    /// Room for `kept_max` wrong values, allocated now.
    pub(crate) fn reserved(kept_max: usize) -> Self {
        Self { kept: Vec::with_capacity(kept_max), kept_max, lost: 0 }
    }

    /// Adds one wrong value.
    pub fn push(&mut self, mismatch: Mismatch) {
        if self.kept.len() < self.kept_max {
            self.kept.push(mismatch);
        } else {
            self.lost += 1;
        }
        debug_assert!(self.kept.len() <= self.kept_max, "more is kept than there is room for");
    }

    /// Adds all that `other` keeps, and its count of lost ones.
    pub fn absorb(&mut self, other: &Self) {
        other.kept.iter().for_each(|&mismatch| self.push(mismatch));
        self.lost += other.lost;
    }

    /// Removes all wrong values; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.lost = 0;
    }

    /// The wrong values that fitted.
    pub fn kept(&self) -> &[Mismatch] {
        &self.kept
    }

    /// The number of wrong values that did not fit.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests;
