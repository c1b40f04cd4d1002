//! A run that several processes carry out together: which part of it is this process's, and where
//! the processes wait for each other.

use memtide_base::{Instant, Span};
use memtide_schema::record::{Aborted, ShareStart};

/// Some of the equal shares of a run, mostly one. A run of `of` shares has as many lanes as all of
/// their workers together; share `number` has those that follow the lanes of the shares before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its number, from 0, below `of`.
    pub number: u32,
    /// How many shares there are, at least 1.
    pub of: u32,
    /// How many of them are carried out here, `number` and those that follow it: at least 1, and
    /// not beyond the last.
    pub units: u32,
}

impl Share {
    /// One share of `of`.
    pub const fn one(number: u32, of: u32) -> Self {
        Self { number, of, units: 1 }
    }
}

/// Where the shares of a run wait for each other, prepared, before their load begins. Nothing in it
/// blocks: the connections are served meanwhile.
pub trait Barrier {
    /// How the shares agree.
    fn kind(&self) -> ShareStart;

    /// Tells the others that this share is prepared. Called once, before [`Self::look`].
    ///
    /// # Errors
    /// When there is no beginning together: the place to meet is gone, or was used before.
    fn arrive(&mut self) -> Result<(), NotRun>;

    /// The instant at which all shares begin, by the fleet's clock; none until it is agreed. `now`
    /// and `since_unix` are the present, by the fleet's clock and as time since 1970.
    ///
    /// # Errors
    /// When the others did not come in time, or have begun without this share.
    fn look(&mut self, now: Instant, since_unix: Span) -> Result<Option<Instant>, NotRun>;

    /// The condition that ended the load of all shares, judged over what they do together; none
    /// while it goes on. Asked about ten times a second while this share makes load.
    fn aborted(&mut self) -> Option<Aborted> {
        None
    }
}

/// Why a share makes no load: a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun(pub String);
