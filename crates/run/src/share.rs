//! The part of a run that this process carries out, if several share the run, and the barrier at
//! which they wait for each other.

use memtide_base::{Instant, Span};
use memtide_belief::WarmupSlice;
use memtide_record::{Aborted, Record, ShareStart};

/// Consecutive equal shares of a run, mostly one. A run of `of` shares has as many lanes as all of
/// their workers together; share `number` has the lanes that follow those of the shares before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the first share, from 0, below `of`.
    pub number: u32,
    /// Number of shares of the run, at least 1.
    pub of: u32,
    /// Number of consecutive shares carried out here, from `number` on: at least 1, and not beyond
    /// the last.
    pub units: u32,
}

impl Share {
    /// A single share of `of`.
    pub const fn one(number: u32, of: u32) -> Self {
        Self { number, of, units: 1 }
    }
}

/// The point at which the shares of a run, prepared, wait for each other before their load begins.
/// No call blocks: connections are served meanwhile.
pub trait Barrier {
    /// Method by which the shares agree.
    fn kind(&self) -> ShareStart;

    /// Learns, until all are there, how many of the connections `wanted` by this share are open.
    fn opening(&mut self, _open: u64, _wanted: u32) {}

    /// Reports to the other shares that this one is prepared. Called once, before [`Self::look`].
    ///
    /// # Errors
    /// If the shares cannot begin together: the meeting place is gone, or was used before.
    fn arrive(&mut self) -> Result<(), NotRun>;

    /// The instant at which all shares begin, by the fleet's clock; none until they agree. `now`
    /// and `since_unix` are the present, by the fleet's clock and as time since 1970.
    ///
    /// # Errors
    /// If the others did not come in time, or have begun without this share.
    fn look(&mut self, now: Instant, since_unix: Span) -> Result<Option<Instant>, NotRun>;

    /// The condition that ended the load of all shares, judged over all of them together; none
    /// while the load continues. Called about ten times a second during this share's load.
    fn aborted(&mut self) -> Option<Aborted> {
        None
    }

    /// Reports what the warm-up has counted in `passed` since the beginning of the load. Returns
    /// the instant at which all shares open the window, by the fleet's clock; none until they
    /// agree. Called about ten times a second, in a run whose warm-up has no fixed length.
    fn opens(&mut self, passed: Span, so_far: WarmupSlice) -> Option<Instant> {
        let _ = (passed, so_far);
        None
    }

    /// The instant at which all shares close the window, by the fleet's clock; none until their
    /// figures together are narrow. The window began at `open` and is as long as `passed`. `so_far`
    /// makes the record of the load so far; that is costly, and done only when the others ask for
    /// it. Called about ten times a second, in a run with a precision.
    fn closes(
        &mut self,
        open: Instant,
        passed: Span,
        so_far: &mut dyn FnMut() -> Record,
    ) -> Option<Instant> {
        let _ = (open, passed, so_far);
        None
    }
}

/// Reason why a share makes no load: a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun(pub String);
