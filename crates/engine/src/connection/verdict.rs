//! The meaning of a reply for the operation that it answers.

use super::{ConnectionEvents, InFlight, InFlightStage};
use crate::dialect::{Marks, Role, WireFormat, name};
use memtide_codec::{ErrorKind, ErrorReply, Excerpt, Reply};
use memtide_metrics::{ErrorClass, Fate, ReplyClass};
use memtide_workload::{Action, Outcome};
use memtide_world::driver::{PeerError, Refusal};

/// True if a value in the answer to `head` is the number that an increment returns, which is not
/// looked at.
#[inline(always)]
pub(super) fn is_number<T: WireFormat>(head: &InFlight) -> bool {
    T::ends_with_value(head) && head.kind.is_numeric()
}

/// Takes what the server says of an item whose value of `bytes` bytes begins; true if that is no
/// value.
#[inline(always)]
pub(super) fn has_no_value<T: WireFormat>(
    answer_head: T::AnswerHead,
    marks: &mut Marks,
    head: &mut InFlight,
    bytes: usize,
    sink: &mut impl ConnectionEvents,
) -> bool {
    *marks = T::marks(answer_head);
    !marks.is_empty() && is_placeholder(*marks, head, bytes, sink)
}

/// Takes an error line that answers the oldest operation.
#[inline(never)]
pub(super) fn refused(
    error: &ErrorReply<'_>,
    stray_error: &mut bool,
    sink: &mut impl ConnectionEvents,
) -> Result<Verdict, PeerError> {
    *stray_error = error.is_bad_data_chunk();
    if error.is_too_many_connections() {
        return Err(PeerError::TooManyConnections);
    }
    sink.refused(Refusal::of(error));
    Ok(failure(error.kind))
}

/// Takes the answer to a peek whose value is known already.
#[inline(never)]
pub(super) fn unchanged(
    marks: Marks,
    head: &mut InFlight,
    sink: &mut impl ConnectionEvents,
) -> Verdict {
    sink.marked(head, &marks, false);
    head.hits = 1;
    answered(Outcome::Hit, ReplyClass::Unchanged)
}

/// Reports what the server says of the item whose value of `bytes` bytes begins. True if that is no
/// value, because a client that has won makes it.
#[inline(never)]
pub(super) fn is_placeholder(
    marks: Marks,
    head: &mut InFlight,
    bytes: usize,
    sink: &mut impl ConnectionEvents,
) -> bool {
    let is_placeholder = bytes == 0 && marks.has(Marks::WON | Marks::WAITING);
    sink.marked(head, &marks, is_placeholder);
    let is_first = head.stage == InFlightStage::First;
    if marks.has(Marks::WON) && is_first && head.kind.does(Action::Recache) {
        head.stage = InFlightStage::Won;
    }
    is_placeholder
}

/// True if one more value can belong to the reply that `head` awaits.
pub(super) fn is_asked_for(head: &InFlight) -> bool {
    head.kind.reads() && !head.stage.is_second() && head.hits < head.keys
}

pub(super) fn is_bare_error(reply: &Reply<'_>) -> bool {
    let Reply::Error(error) = reply else { return false };
    error.kind == ErrorKind::Error && error.message.is_empty()
}

/// The effect of a reply on the operation that it answers.
pub(super) struct Verdict {
    pub(super) fate: Fate,
    pub(super) outcome: Outcome,
    pub(super) reply: Option<ReplyClass>,
    pub(super) error: Option<ErrorClass>,
}

impl Marks {
    /// The verdict on a read whose item has these marks.
    #[inline(always)]
    pub(super) fn add_to(self, verdict: Verdict) -> Verdict {
        let reply = match self {
            _ if self.has(Self::STALE) => Some(ReplyClass::Stale),
            _ if self.has(Self::WAITING) => Some(ReplyClass::Waiting),
            _ => verdict.reply,
        };
        Verdict { reply, ..verdict }
    }
}

pub(super) fn answered(outcome: Outcome, reply: ReplyClass) -> Verdict {
    Verdict { fate: Fate::Answered, outcome, reply: Some(reply), error: None }
}

pub(super) fn failure(kind: ErrorKind) -> Verdict {
    let class = match kind {
        ErrorKind::Error => ErrorClass::Error,
        ErrorKind::Client => ErrorClass::ClientError,
        ErrorKind::Server => ErrorClass::ServerError,
    };
    Verdict { fate: Fate::Failed, outcome: Outcome::Failed, reply: None, error: Some(class) }
}

/// The relation of a reply to the operations in flight, once errors are recorded.
pub(super) enum Heeded {
    /// It answers the oldest operation, or is a part of that answer.
    Answer,
    /// It reports that a part of the answer failed; this is recorded.
    FailedPart,
    /// It belongs to no operation in flight.
    Aside,
}

/// Reports errors that answer no operation, or only a part of one, to the sink.
#[inline(always)]
pub(super) fn heed(
    role: Role<'_>,
    reply: &Reply<'_>,
    part_failed: &mut Option<ErrorKind>,
    stray_error: &mut bool,
    sink: &mut impl ConnectionEvents,
) -> Heeded {
    match role {
        // memcached reads the rest of a bad data chunk as a command of its own.
        Role::Answer if std::mem::take(stray_error) && is_bare_error(reply) => Heeded::Aside,
        Role::Answer => Heeded::Answer,
        Role::FailedPart(error) => {
            sink.refused(Refusal::of(&error));
            *part_failed = Some(error.kind);
            Heeded::FailedPart
        }
        Role::Aside => {
            if let Reply::Error(error) = reply {
                sink.refused(Refusal::of(error));
            }
            Heeded::Aside
        }
    }
}

/// Matches the last part of a reply with the oldest operation. An error means that the protocol
/// does not allow this reply, so later replies cannot be matched either.
#[inline(always)]
pub(super) fn verdict(head: &InFlight, reply: &Reply<'_>) -> Result<Verdict, PeerError> {
    let kind = head.kind;
    let second = head.stage.is_second();
    let storing = second || kind.does(Action::Store);
    let retrieving = kind.reads() && !second;
    // Among stores, only a cas in its second half distinguishes a missing key from a changed one.
    let may_miss = second || !(kind.reads() || kind.stores_value());
    match reply {
        Reply::End if retrieving => {
            let whole = head.hits >= head.keys;
            let outcome = if whole { Outcome::Hit } else { Outcome::Miss };
            Ok(answered(outcome, ReplyClass::Values))
        }
        Reply::Stored if storing => {
            let stored = answered(Outcome::Stored, ReplyClass::Stored);
            // A win was counted when it was told.
            let is_win = kind.does(Action::Recache);
            Ok(if is_win { Verdict { reply: None, ..stored } } else { stored })
        }
        Reply::NotStored if storing => Ok(answered(Outcome::NotStored, ReplyClass::NotStored)),
        Reply::Exists if second => Ok(answered(Outcome::Exists, ReplyClass::Exists)),
        Reply::NotFound if may_miss => Ok(answered(Outcome::NotFound, ReplyClass::NotFound)),
        Reply::Deleted if kind.does(Action::Remove) => {
            Ok(answered(Outcome::Deleted, ReplyClass::Deleted))
        }
        Reply::Touched if kind.does(Action::Touch) => {
            Ok(answered(Outcome::Touched, ReplyClass::Touched))
        }
        Reply::Ok if kind.does(Action::Invalidate) => {
            Ok(answered(Outcome::Invalidated, ReplyClass::Invalidated))
        }
        Reply::Number(_) if kind.is_numeric() => Ok(answered(Outcome::Number, ReplyClass::Number)),
        _ => Err(PeerError::Mismatch { kind, got: name(reply) }),
    }
}

pub(super) fn unasked(reply: &Reply<'_>) -> PeerError {
    match reply {
        Reply::Error(error) if error.is_too_many_connections() => PeerError::TooManyConnections,
        Reply::Error(error) => PeerError::UnaskedError { line: Excerpt::of(error.message) },
        _ => PeerError::Unasked { got: name(reply) },
    }
}
