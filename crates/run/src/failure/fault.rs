//! Faults that can end a run, each with its sentence and exit code. A clause at the end of a
//! sentence (`said`, `why`, `so_far`) begins with its own punctuation, or is empty.

use super::{Failure, Lacking};
use memtide_base::{Remedy, Sentence, Span};
use memtide_record::{Aborted, Exit};
use memtide_scenario::VALUE_MAX_BYTES;
use memtide_world::Protocol;
use memtide_world::fleet::{FleetError, TroubleKind};
use memtide_world::question::AskError;

/// Reason why a run cannot continue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The user stopped the run before its measured window had begun.
    Interrupted,
    /// The fleet failed.
    Fleet(FleetError),
    /// A step of a search or scan cannot be planned; the sentence says why.
    Unplannable { why: String },
    /// The condition of `--abort-on` was true during a step of a search or scan.
    Aborted { step: u32, aborted: Aborted },
    /// A server did not answer a query that memtide sends beside the load.
    Unasked { server: String, error: AskError },
    /// A server lacks a command or flag of the meta protocol that the load needs.
    Lacks { server: String, lacking: Lacking, answer: String },
    /// A connection could not be opened, or was lost while others were opened.
    Opening { server: String, what: TroubleKind, so_far: String },
    /// No further connection was open within the timeout: the server's listen backlog is short, or
    /// it is overloaded.
    OpeningSlowly { opened: u64, wanted: u64, timeout: Span },
    /// The other shares opened or closed their measured windows before this one learned of it: the
    /// network or this machine stood still.
    WindowLate { late: Span },
    /// No server had an open connection for longer than the timeout.
    ServersLost { timeout: Span, server: String, what: Sentence },
    /// A server had no open connection when the last step of a search or scan ended.
    ServerLost { server: String },
    /// The connections stay open and no reply comes: the server is stopped or overloaded, or a
    /// proxy holds the replies.
    Silence { who: String, timeout: Span },
    /// Every connection ended before it had answered an operation.
    Unserved { server: String, what: Sentence },
    /// A connection was lost, and `--reconnect never` forbids to open it again.
    ConnectionLost { server: String, what: Sentence },
    /// Under connection churn, no connection could be opened.
    NoneOpened { server: String, what: Sentence },
    /// A fill, or the sample of keys before it, failed.
    Fill(FillFault),
}

/// Reason why servers cannot be filled, or sampled to find out whether that is needed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FillFault {
    /// The server evicted or refused objects of the windows.
    WindowsUnfilled { stored: u64, total: u64, said: Sentence },
    /// The server refused stores, or lost connections.
    Unfilled { server: String, stored: u64, total: u64, why: Sentence },
    /// A server broke the protocol while it was filled or sampled.
    Breach { who: String, what: Sentence },
    /// The server closed every connection of a fill or sample.
    Unserved { who: String, said: Sentence },
    /// Connections stay open and no reply comes.
    Silence { who: String, awaited: String, timeout: Span, said: Sentence },
    /// Every connection to the server was lost during the fill.
    Gone { who: String, said: Sentence },
    /// A server does not hold what it was filled with.
    NoRoom(Box<NoRoom>),
    /// A server refuses the only length that values have.
    TooLong(TooLong),
    /// The server holds items that a fill of this scenario could evict.
    Foreign { server: String, items: i64, resized: Option<Lengths> },
    /// The server was filled with values of other lengths, and `--load never` forbids a fill.
    Resized { server: String, resized: u64, hits: u64, lengths: Lengths },
    /// The server did not answer a sample of keys as a memcached would.
    NoMemcached { server: String, answered: u64, asked: u64, said: Sentence, protocol: Protocol },
}

/// Lengths of values: the mean found on the server, and the scenario's distribution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lengths {
    pub(crate) mean: f64,
    /// The distribution in the scenario.
    pub(crate) law: String,
}

/// The memory of a server is too small for the keys, so it evicted some of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoRoom {
    pub(crate) server: String,
    pub(crate) keys: u64,
    pub(crate) sampled: u64,
    pub(crate) missing: u64,
    /// Number of keys stored when the fill was stopped; none if it reached its end.
    pub(crate) stopped_after: Option<u64>,
    /// Number of items evicted, if the server reports it.
    pub(crate) evicted: Option<i64>,
    /// Advice on the memory needed.
    pub(crate) advice: String,
}

/// A value that a server refuses for its length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TooLong {
    pub(crate) server: String,
    /// The server's answer.
    pub(crate) answer: String,
    pub(crate) value_bytes: u64,
    /// What the item has besides its value: its key, and the server's overhead.
    pub(crate) beside_bytes: u64,
    /// The server's limit of an item (its -I), if the server reports it.
    pub(crate) item_bytes_max: Option<u64>,
}

/// The largest limit of an item that memcached accepts, in MiB.
const ITEM_MIB_MAX: u64 = 1024;

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
    /// Exit code of the program.
    pub(super) const fn exit(&self) -> u8 {
        match self {
            Self::Interrupted => Failure::INTERRUPTED,
            Self::Aborted { .. } | Self::WindowLate { .. } | Self::Fill(FillFault::NoRoom(_)) => {
                Exit::Failed.code()
            }
            Self::Unplannable { .. }
            | Self::Fill(FillFault::Foreign { .. } | FillFault::Resized { .. }) => {
                Exit::Usage.code()
            }
            _ => Exit::Unreachable.code(),
        }
    }

    /// The sentence: what happened, and what to do.
    pub(crate) fn sentence(&self) -> Sentence {
        match self {
            Self::Interrupted => {
                Sentence::new("interrupted before anything was measured; nothing was written")
                    .remedy(Remedy::WaitForWindow)
            }
            Self::Fleet(error) => error.sentence(),
            Self::Unplannable { why } => Sentence::new(why),
            Self::Aborted { step, aborted: Aborted { condition, why, after_s, .. } } => {
                Sentence::new(format!("step {step} was ended after {after_s:.1} s by "))
                    .field("abort-on")
                    .text(format!(" {condition}: {why}"))
                    .remedy(Remedy::RelaxCondition)
            }
            Self::Unasked { server, error } => {
                Sentence::new(format!("server {server} ")).and(&error.sentence())
            }
            Self::Lacks { server, lacking, answer } => lacking.sentence(server, answer),
            Self::Opening { server, what, so_far } => {
                Sentence::new(format!("server {server} ")).and(&what.sentence()).text(so_far)
            }
            Self::OpeningSlowly { opened, wanted, timeout } => Sentence::new(format!(
                "only {opened} of {wanted} connections could be opened, and no more within \
                 {timeout}"
            ))
            .remedy(Remedy::FewerConnectionsOrTime),
            Self::WindowLate { late } => Sentence::new(format!(
                "the command to open or close the measured window came {late} late, so this \
                 share counted another window than the others; use machines and a network with \
                 less other work"
            ))
            .remedy(Remedy::FixedWindow),
            Self::ServersLost { timeout, server, what } => Sentence::new(format!(
                "all servers were gone for longer than the timeout of {timeout}; last error: \
                 {server} "
            ))
            .and(what),
            Self::ServerLost { server } => Sentence::new(format!(
                "server {server} was gone at the end of the last step, and is lost"
            ))
            .remedy(Remedy::ReadLog),
            Self::Silence { who, timeout } => Sentence::new(format!(
                "{who} stopped answering: no reply for longer than the timeout of {timeout}"
            ))
            .remedy(Remedy::CheckAnswers),
            Self::Unserved { server, what } => Sentence::new(format!(
                "nothing was answered, and every connection ended: {server} "
            ))
            .and(what),
            Self::ConnectionLost { server, what } => Sentence::new(format!("{server} "))
                .and(what)
                .text("; one lost connection ends the run")
                .remedy(Remedy::Reconnect),
            Self::NoneOpened { server, what } => {
                Sentence::new(format!("no connection could be opened; last error: {server} "))
                    .and(what)
            }
            Self::Fill(fault) => fault.sentence(),
        }
    }
}

/// What a server said last, which has its own remedy; without it, the one remedy that is left.
fn advised(said: &Sentence) -> Sentence {
    match *said == Sentence::default() {
        true => Sentence::default().remedy(Remedy::ReadLog),
        false => said.clone(),
    }
}

impl FillFault {
    fn sentence(&self) -> Sentence {
        match self {
            Self::WindowsUnfilled { stored, total, said } => Sentence::new(format!(
                "filling the windows failed: {stored} of {total} objects were stored"
            ))
            .and(said)
            .remedy(Remedy::SmallerWindows),
            Self::Unfilled { server, stored, total, why } => Sentence::new(format!(
                "filling server {server} failed: it stored {stored} of {total} keys"
            ))
            .and(why)
            .remedy(Remedy::AcceptPartial),
            Self::Breach { who, what } => Sentence::new(format!("{who} ")).and(what),
            Self::Unserved { who, said } => {
                let what = format!("{who} closed every connection before its first reply");
                Sentence::new(what).and(&advised(said))
            }
            Self::Silence { who, awaited, timeout, said } => Sentence::new(format!(
                "{who} stopped answering: no reply to {awaited} within the timeout of {timeout}"
            ))
            .and(said)
            .remedy(Remedy::CheckAnswers),
            Self::Gone { who, said } => {
                Sentence::new(format!("{who} went away while it was filled")).and(&advised(said))
            }
            Self::NoRoom(room) => room.sentence(),
            Self::TooLong(too_long) => too_long.sentence(),
            Self::Foreign { server, items, resized } => {
                let sentence = Sentence::new(format!(
                    "server {server} holds {items} items that do not belong to this scenario"
                ));
                let sentence = match resized {
                    None => sentence,
                    Some(Lengths { mean, law }) => sentence
                        .text(format!(", with values of {mean:.0} bytes on average instead of "))
                        .field("value-size")
                        .text(format!(" {law}")),
                };
                sentence.text("; filling could evict them").remedy(Remedy::ChooseLoad)
            }
            Self::Resized { server, resized, hits, lengths: Lengths { mean, law } } => {
                Sentence::new(format!("server {server} holds values of other lengths than "))
                    .field("value-size")
                    .text(format!(
                        " {law}: {resized} of {hits} sampled values differ, and their mean is \
                         {mean:.0} bytes"
                    ))
                    .remedy(Remedy::RefillOrAccept)
            }
            Self::NoMemcached { server, answered, asked, said, protocol } => {
                Sentence::new(format!("server {server} answered {answered} of {asked} gets"))
                    .and(said)
                    .text(format!("; is it a memcached with the {protocol} protocol?"))
            }
        }
    }
}

impl TooLong {
    fn sentence(&self) -> Sentence {
        let Self { server, answer, value_bytes, beside_bytes, item_bytes_max } = self;
        let fits = match item_bytes_max {
            Some(most) => {
                let fits = most.saturating_sub(*beside_bytes);
                format!("the longest that fits is {fits} bytes")
            }
            None => format!("without -I, memcached takes {VALUE_MAX_BYTES} bytes"),
        };
        let sentence = Sentence::new(format!(
            "server {server} answered '{answer}' to a value of {value_bytes} bytes; {fits}: use a \
             smaller "
        ))
        .field("value-size");
        match (value_bytes + beside_bytes).div_ceil(1 << 20) {
            mib @ ..=ITEM_MIB_MAX => sentence.text(format!(", or start the server with -I {mib}m")),
            _ => sentence,
        }
    }
}

impl NoRoom {
    fn sentence(&self) -> Sentence {
        let Self { server, keys, sampled, missing, advice, .. } = self;
        let stopped = match self.stopped_after {
            None => "after the fill".to_owned(),
            Some(end) => format!("when the fill was stopped after {end} keys"),
        };
        let evicted = match self.evicted {
            None => String::new(),
            Some(evicted) => format!(", and {evicted} items were evicted"),
        };
        Sentence::new(format!(
            "server {server} cannot hold the {keys} keys: {missing} of {sampled} sampled keys are \
             missing {stopped}{evicted}; {advice}"
        ))
        .remedy(Remedy::FewerKeys)
    }
}

#[cfg(test)]
mod tests;
