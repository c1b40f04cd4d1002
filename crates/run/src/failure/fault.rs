//! What can end a run: each fault with its sentence and its exit code. A clause at the end of a
//! sentence (`said`, `why`, `so_far`) begins with its own punctuation, or is empty.

use super::Failure;
use memtide_base::Span;
use memtide_engine::Protocol;
use memtide_engine::fleet::{FleetError, TroubleKind};
use memtide_engine::probe::AskError;
use memtide_schema::Exit;
use std::fmt;

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The user asked to stop before there was anything to show.
    Interrupted,
    /// The fleet failed.
    Fleet(FleetError),
    /// A step of a search cannot be planned: the sentence says why.
    Unplannable { why: String },
    /// A condition ended a step of a search: the sentence says which.
    Aborted { why: String },
    /// A server could not be asked something.
    Unasked { server: String, error: AskError },
    /// A server went wrong while connections to it were opened.
    Opening { server: String, what: TroubleKind, so_far: String },
    /// Connections open too slowly.
    OpeningSlowly { opened: u64, wanted: u64, timeout: Span },
    /// Every server was gone.
    ServersLost { timeout: Span, server: String, what: String },
    /// The servers were there and said nothing.
    Silence { who: String, timeout: Span },
    /// Every connection ended before it served.
    Unserved { server: String, what: String },
    /// A connection was lost that is not opened again.
    ConnectionLost { server: String, what: String },
    /// None opened.
    NoneOpened { server: String, what: String },
    /// A fill, or the sample of keys before it, failed.
    Fill(FillFault),
}

/// Why servers cannot be filled, or asked whether that is needed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FillFault {
    /// Not all objects of windows were stored.
    WindowsUnfilled { stored: u64, total: u64, said: String },
    /// Not all keys were stored.
    Unfilled { server: String, stored: u64, total: u64, why: String },
    /// A server broke the protocol when it was filled or asked for a sample.
    Breach { who: String, what: String },
    /// One ended every connection.
    Unserved { who: String, said: String },
    /// One answers nothing in time of what was awaited.
    Silence { who: String, awaited: String, timeout: Span, said: String },
    /// One went away.
    Gone { who: String, said: String },
    /// One does not hold what it was filled with.
    NoRoom(Box<NoRoom>),
    /// One holds items of others, which a fill could evict.
    Foreign { server: String, items: i64, resized: Option<Lengths> },
    /// One holds values of other lengths and is not to be filled.
    Resized { server: String, resized: u64, hits: u64, lengths: Lengths },
    /// One does not answer a sample as a memcached would.
    NoMemcached { server: String, answered: u64, intended: u64, said: String, protocol: Protocol },
}

/// Lengths of values: as they are in the mean, and as the scenario has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lengths {
    pub(crate) mean: f64,
    /// What the scenario says of them.
    pub(crate) law: String,
}

/// A server that is too small.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoRoom {
    pub(crate) server: String,
    pub(crate) keys: u64,
    pub(crate) sampled: u64,
    pub(crate) missing: u64,
    /// Keys that had been stored when this was found, where the fill was stopped before its end.
    pub(crate) stopped_after: Option<u64>,
    /// Items that it threw out, where it says so.
    pub(crate) evicted: Option<i64>,
    /// What memory would do.
    pub(crate) advice: String,
}

impl From<FleetError> for Fault {
    fn from(error: FleetError) -> Self {
        Self::Fleet(error)
    }
}

impl From<FillFault> for Fault {
    fn from(fault: FillFault) -> Self {
        Self::Fill(fault)
    }
}

impl Fault {
    /// The program's exit code.
    pub(super) const fn exit(&self) -> u8 {
        match self {
            Self::Interrupted => Failure::INTERRUPTED,
            Self::Aborted { .. } | Self::Fill(FillFault::NoRoom(_)) => Exit::Failed.code(),
            Self::Unplannable { .. }
            | Self::Fill(FillFault::Foreign { .. } | FillFault::Resized { .. }) => {
                Exit::Usage.code()
            }
            _ => Exit::Unreachable.code(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => {
                f.write_str("interrupted before anything was measured; nothing was written")
            }
            Self::Fleet(error) => error.fmt(f),
            Self::Unplannable { why } | Self::Aborted { why } => f.write_str(why),
            Self::Unasked { server, error } => write!(f, "server {server} {error}"),
            Self::Opening { server, what, so_far } => write!(f, "server {server} {what}{so_far}"),
            Self::OpeningSlowly { opened, wanted, timeout } => write!(
                f,
                "only {opened} of {wanted} connections could be opened, and no more within \
                 {timeout}; lower --connections or allow more time with --timeout"
            ),
            Self::ServersLost { timeout, server, what } => write!(
                f,
                "every server was gone for longer than the timeout of {timeout}: the last thing \
                 seen is that {server} {what}"
            ),
            Self::Silence { who, timeout } => write!(
                f,
                "{who} stopped answering: nothing came for longer than the timeout of {timeout}"
            ),
            Self::Unserved { server, what } => {
                write!(f, "nothing was answered, and every connection ended: {server} {what}")
            }
            Self::ConnectionLost { server, what } => write!(
                f,
                "{server} {what}, and one lost connection ends a run with reconnect never"
            ),
            Self::NoneOpened { server, what } => write!(
                f,
                "no connection could be opened: the last thing seen is that {server} {what}"
            ),
            Self::Fill(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for FillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WindowsUnfilled { stored, total, said } => write!(
                f,
                "filling the windows failed: {stored} of {total} objects were stored{said}; use a \
                 smaller --window or fewer --clients, or accept it with --load-partial"
            ),
            Self::Unfilled { server, stored, total, why } => write!(
                f,
                "filling server {server} failed: it stored {stored} of {total} keys{why} \
                 (--load-partial accepts it)"
            ),
            Self::Breach { who, what } => write!(f, "{who} {what}"),
            Self::Unserved { who, said } => {
                write!(f, "{who} ended every connection before it answered anything{said}")
            }
            Self::Silence { who, awaited, timeout, said } => write!(
                f,
                "{who} stopped answering: {awaited} were awaited for longer than the timeout of \
                 {timeout}{said}"
            ),
            Self::Gone { who, said } => write!(f, "{who} went away while it was filled{said}"),
            Self::NoRoom(room) => room.fmt(f),
            Self::Foreign { server, items, resized } => {
                write!(f, "server {server} holds {items} items that are not of this scenario")?;
                if let Some(Lengths { mean, law }) = resized {
                    write!(f, ", and values of {mean:.0} bytes where {law}")?;
                }
                f.write_str(
                    "; filling could evict them: use --load always to fill it all the same, or \
                     --load never to leave it as it is",
                )
            }
            Self::Resized { server, resized, hits, lengths: Lengths { mean, law } } => write!(
                f,
                "server {server} holds values of other lengths: {resized} of {hits} that were \
                 sampled, of {mean:.0} bytes in the mean, where {law}; --load never does not fill \
                 it: use --load auto, give the --value-size that it was filled with, or accept it \
                 with --load-partial"
            ),
            Self::NoMemcached { server, answered, intended, said, protocol } => write!(
                f,
                "server {server} answered {answered} of {intended} gets{said}; is it a memcached \
                 with the {protocol} protocol?"
            ),
        }
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, keys, sampled, missing, advice, .. } = self;
        write!(
            f,
            "server {server} cannot hold the {keys} keys: {missing} of {sampled} sampled keys are \
             missing "
        )?;
        match self.stopped_after {
            None => f.write_str("after the fill")?,
            Some(end) => {
                write!(f, "after {end} of them were stored, where the fill was stopped")?;
            }
        }
        if let Some(evicted) = self.evicted {
            write!(f, ", and {evicted} items were evicted")?;
        }
        write!(f, "; {advice}, use fewer or smaller --keys, or accept it with --load-partial")
    }
}

#[cfg(test)]
mod tests;
