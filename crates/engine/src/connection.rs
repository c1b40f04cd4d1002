//! One peer: what it owes us, in order, and what its bytes mean. Bytes in, endings out; never a
//! socket, never a clock.
//!
//! memcached answers in order, whatever the protocol, so matching is a queue; in frames the number
//! that each reply repeats is checked against it. An operation that timed out keeps its place: its
//! answer may still come, and is then known to be late. Datagrams are put together first.

mod datagrams;
mod link;
mod outgoing;

use crate::dialect::{self, Dialect, Rejection, Role, WireFormat, in_format_of, name};
use crate::driver::{Closed, PeerError, Refusal, SendBuffer};
use crate::plan::{Place, Plan, Transport};
use link::Wrap;
pub(crate) use link::{Link, State};
use memtide_base::{Instant, Span};
use memtide_codec::{ErrorKind, Excerpt, Reply};
use memtide_metrics::{DatagramClass, ErrorClass, Fate, ReplyClass};
use memtide_workload::{Action, Op, OpKind, Outcome, Source, Version};
pub(crate) use outgoing::{Outgoing, TooLong};
use std::collections::VecDeque;

/// An operation on its way, from the schedule to the histogram. At most 48 bytes: there may be
/// thousands on each of thousands of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// When it was due. Nothing rewrites this.
    pub(crate) intended: Instant,
    /// When it could have been sent; from [`Connection::mark_sent`] on, when it was sent.
    pub(crate) sent: Instant,
    /// The part of its lag that is the generator's.
    pub(crate) generator: Span,
    pub(crate) index: u64,
    pub(crate) key: u64,
    pub(crate) segment: u16,
    pub(crate) keys: u16,
    /// Keys found so far.
    pub(crate) hits: u16,
    pub(crate) kind: OpKind,
    pub(crate) stage: InFlightStage,
}

const _: () = assert!(size_of::<InFlight>() <= 48, "an entry in flight grew");

/// How far an operation in flight has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InFlightStage {
    /// Its (first) answer is awaited.
    First,
    /// A cas whose gets was answered and whose cas is awaited.
    Second,
    /// A cas that reads nothing first: it is one request, and its one answer is awaited.
    Alone,
    /// It has timed out and is counted; its answer is awaited only to be thrown away.
    Expired,
    /// Timed out in the second half of a cas, whose reply is awaited.
    ExpiredSecond,
}

impl InFlightStage {
    /// Of an operation whose first request is made, which may be a cas that reads nothing.
    pub(crate) const fn begun(is_cas_alone: bool) -> Self {
        if is_cas_alone { Self::Alone } else { Self::First }
    }

    pub(crate) const fn is_expired(self) -> bool {
        matches!(self, Self::Expired | Self::ExpiredSecond)
    }

    /// Whether a cas, and not its gets, is what the next reply answers.
    pub(crate) const fn is_second(self) -> bool {
        matches!(self, Self::Second | Self::Alone | Self::ExpiredSecond)
    }

    /// Whether its request is the one by which the operation counts as sent.
    const fn is_first_request(self) -> bool {
        matches!(self, Self::First | Self::Alone)
    }

    const fn expired(self) -> Self {
        if self.is_second() { Self::ExpiredSecond } else { Self::Expired }
    }
}

impl InFlight {
    /// Marks it as sent at `now`; returns how long after it could have been.
    pub(crate) fn hand_over(&mut self, now: Instant) -> Span {
        let late = now.since(self.sent);
        self.sent = now;
        self.generator += late;
        late
    }

    pub(crate) fn op(&self) -> Op {
        Op { index: self.index, key: self.key, kind: self.kind, keys: self.keys }
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) fate: Fate,
    /// As its source learns it.
    pub(crate) outcome: Outcome,
    pub(crate) reply: Option<ReplyClass>,
    pub(crate) error: Option<ErrorClass>,
    /// When its reply was complete.
    pub(crate) received: Instant,
    /// Bytes of its reply.
    pub(crate) bytes: u32,
}

impl Ending {
    /// An ending without a reply.
    pub(crate) fn unanswered(fate: Fate) -> Self {
        let outcome = match fate {
            Fate::TimedOut => Outcome::TimedOut,
            Fate::Lost => Outcome::Lost,
            Fate::Dropped => Outcome::Dropped,
            Fate::Abandoned => Outcome::Abandoned,
            Fate::Unacknowledged => Outcome::Unacknowledged,
            Fate::Answered | Fate::Failed => unreachable!("a reply decides these"),
        };
        Self { fate, outcome, reply: None, error: None, received: Instant::NEVER, bytes: 0 }
    }

    /// The ending of an operation whose request is too long to be sent.
    pub(crate) fn too_long() -> Self {
        Self {
            fate: Fate::Failed,
            outcome: Outcome::Failed,
            reply: None,
            error: Some(ErrorClass::RequestTooLong),
            received: Instant::NEVER,
            bytes: 0,
        }
    }
}

/// Where endings go; straight, with no queue between.
pub(crate) trait Sink {
    /// `entry` has been handed to the socket, `late` after it could have been, as one of
    /// `outstanding` on its connection; of none if it gets no reply.
    fn sent(&mut self, entry: &InFlight, late: Span, outstanding: usize);
    /// The server answered with an error line.
    fn refused(&mut self, refusal: Refusal);
    /// `entry` has ended. Called once for each.
    fn settle(&mut self, entry: &InFlight, ending: Ending);
    /// A late answer of `bytes` bytes came to an operation that had timed out.
    fn late(&mut self, entry: &InFlight, bytes: u32);
    /// The first of two answers to `entry` came, with `bytes` bytes.
    fn half_way(&mut self, entry: &InFlight, bytes: u32);

    /// A value of `bytes` bytes begins under `key`, in the answer to `entry`.
    fn value(&mut self, _entry: &InFlight, _key: &[u8], _bytes: usize) {}

    /// The next bytes of that value; `ends` with the last of them.
    fn data(&mut self, _entry: &InFlight, _bytes: &[u8], _ends: bool) {}

    /// The reply to `entry` is complete, with as many values as it found, of `bytes` bytes in all.
    fn values(&mut self, _entry: &InFlight, _bytes: u64) {}

    /// Counts unusual datagrams that were noticed at `now`.
    fn datagrams(&mut self, _now: Instant, _class: DatagramClass, _count: u64) {}

    /// The answer to `entry` is complete at `now`, late or not; what becomes of it is told next.
    fn replied(&mut self, _entry: &InFlight, _outcome: Outcome, _now: Instant) {}
}

/// A cas whose gets found something: its second request is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FollowUp {
    pub(crate) entry: InFlight,
    pub(crate) unique: u64,
}

/// What came of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Replies, or parts of them; what they ended the sink was told.
    Replies,
    /// Replies through a filter, which may now have bytes of its own to send.
    Filtered,
    /// The last that was missing: the connection is open.
    Welcome,
    /// It is not open yet, and possibly has something to say to that.
    NotYet,
    /// It will not open.
    Rejected(Rejection),
}

/// What was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Issued {
    /// Bytes of its request.
    pub(crate) bytes: usize,
    /// Whether it is in flight from now on; else it asks for no answer.
    pub(crate) awaits_reply: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) place: Place,
    link: Link,
    /// Connects that failed, and connections lost, since the last answer.
    pub(crate) failures: u32,
    /// When its deadline timer goes off; never when none is armed.
    pub(crate) deadline_armed: Instant,
    /// When a slot last became free.
    pub(crate) free_since: Instant,
    /// Whether the socket takes bytes.
    pub(crate) writable: bool,
    /// Until when it sends nothing after its last answer; zero when it does not rest.
    pub(crate) rests_until: Instant,
    /// Whether a timer will look at that.
    pub(crate) rest_armed: bool,
    pipeline: VecDeque<InFlight>,
    unsent: usize,
    /// Requests that were answered, by which the next answer is known.
    answered: u32,
    /// The unique number that the head's gets brought.
    cas_unique: u64,
    /// Bytes of the head's reply so far.
    reply_bytes: u32,
    /// Bytes of the values in it.
    value_bytes: u64,
    /// A bare ERROR may follow that belongs to the bad data chunk before it.
    stray_error: bool,
    /// A part of the head's reply was an error of this kind.
    part_failed: Option<ErrorKind>,
}

impl Connection {
    /// A connection that is closed; it will carry at most the plan's depth of operations.
    pub(crate) fn new(plan: &Plan, dialect: &Dialect, place: Place) -> Self {
        assert!(plan.depth > 0, "there is room for one operation");
        let is_stream = place.transport == Transport::Stream;
        assert!(is_stream || plan.depth == 1, "over datagrams one operation is under way");
        let server = plan.servers.get(place.server.index()).map_or("", |server| &server.name);
        Self {
            place,
            link: Link::new(plan, dialect, (server, place.transport)),
            failures: 0,
            deadline_armed: Instant::NEVER,
            free_since: Instant::ZERO,
            writable: false,
            rests_until: Instant::ZERO,
            rest_armed: false,
            pipeline: VecDeque::with_capacity(plan.depth as usize),
            unsent: 0,
            answered: 0,
            cas_unique: 0,
            reply_bytes: 0,
            value_bytes: 0,
            stray_error: false,
            part_failed: None,
        }
    }

    /// Whether there is a peer.
    pub(crate) fn state(&self) -> State {
        self.link.state()
    }

    /// Whether it can be used, if it has room.
    pub(crate) fn is_available(&self) -> bool {
        self.state() == State::Open && self.writable && self.rests_until == Instant::ZERO
    }

    /// Whether something that it carries has timed out.
    pub(crate) fn has_expired(&self) -> bool {
        self.pipeline.iter().any(|entry| entry.stage.is_expired())
    }

    /// How many operations it carries, those that timed out included.
    pub(crate) fn in_flight(&self) -> usize {
        self.pipeline.len()
    }

    /// A connect is under way from `now` on.
    pub(crate) fn open(&mut self, now: Instant) {
        self.link.open(now);
    }

    /// Takes charge of an operation and appends its request, with a value of this version if it
    /// has one. The caller keeps the depth.
    #[inline(always)]
    pub(crate) fn issue<S: Source>(
        &mut self,
        entry: InFlight,
        dialect: &Dialect,
        (source, version): (&S, Option<Version>),
        out: &mut Outgoing,
    ) -> Result<Issued, TooLong> {
        let before = out.bytes.len();
        self.link.begin_request(&mut out.bytes);
        let opaque = self.next_opaque();
        dialect.request(&entry.op(), source, (version, opaque), &mut out.bytes);
        let bytes = self.link.check_request(before, &mut out.bytes)?;
        let awaits_reply = !dialect.is_noreply(entry.kind);
        match awaits_reply {
            true => self.carry(entry),
            false => out.quiet.push(entry),
        }
        Ok(Issued { bytes, awaits_reply })
    }

    /// Takes charge of the second half of an operation. Returns the bytes of its request.
    pub(crate) fn follow_up(
        &mut self,
        follow_up: &FollowUp,
        dialect: &Dialect,
        version: Option<Version>,
        out: &mut Outgoing,
    ) -> Result<usize, TooLong> {
        let before = out.bytes.len();
        self.link.begin_request(&mut out.bytes);
        let said = (version, self.next_opaque());
        dialect.cas((follow_up.entry.key, follow_up.unique), said, &mut out.bytes);
        let bytes = self.link.check_request(before, &mut out.bytes)?;
        self.carry(follow_up.entry);
        Ok(bytes)
    }

    #[inline]
    fn carry(&mut self, entry: InFlight) {
        assert!(self.pipeline.len() < self.pipeline.capacity(), "depth is kept by the route");
        self.pipeline.push_back(entry);
        self.unsent += 1;
    }

    /// The number by which the answer to the next request will be known.
    fn next_opaque(&self) -> u32 {
        self.answered.wrapping_add(self.pipeline.len() as u32)
    }

    /// Makes of what was appended to `out` since the last call what goes over the wire, and appends
    /// what the connection has to say by itself.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, out: &mut SendBuffer) {
        self.link.poll_transmit(out);
    }

    /// What was transmitted is handed to the socket at `now`.
    #[inline]
    pub(crate) fn mark_sent(&mut self, now: Instant, out: &mut Outgoing, sink: &mut impl Sink) {
        self.date_sent(now, sink);
        for entry in &mut out.quiet {
            let late = entry.hand_over(now);
            sink.sent(entry, late, 0);
            sink.settle(entry, Ending::unanswered(Fate::Unacknowledged));
        }
        out.quiet.clear();
    }

    #[inline]
    fn date_sent(&mut self, now: Instant, sink: &mut impl Sink) {
        let first = self.pipeline.len() - self.unsent;
        for (entry, outstanding) in self.pipeline.range_mut(first..).zip(first + 1..) {
            if entry.stage.is_first_request() {
                let late = entry.hand_over(now);
                sink.sent(entry, late, outstanding);
            }
        }
        self.unsent = 0;
    }

    /// The connection was made: says who we are, if that is to be said. Returns whether it is open.
    pub(crate) fn handle_connected(
        &mut self,
        now: Instant,
        dialect: &Dialect,
        out: &mut Outgoing,
    ) -> bool {
        self.link.handle_connected(now, dialect, &mut out.bytes)
    }

    /// It is open since `now`: nothing is in the way of the first operation.
    pub(crate) fn opened(&mut self, now: Instant) {
        self.free_since = now;
        self.writable = true;
        self.rests_until = Instant::ZERO;
    }

    /// Reads a part of a stream, or a datagram. After an error the connection must
    /// be closed.
    #[inline]
    pub(crate) fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl Sink,
    ) -> Result<Heard, PeerError> {
        if self.link.state() != State::Open {
            return Ok(self.link.handle_greeting(bytes));
        }
        match self.link.wrap {
            Wrap::None => self.handle_plain(now, bytes, follow_ups, sink),
            Wrap::Datagrams(_) => self.handle_datagram(now, bytes, follow_ups, sink),
            Wrap::Filtered(_) => {
                return self
                    .handle_filtered(now, bytes, follow_ups, sink)
                    .map(|()| Heard::Filtered);
            }
        }
        .map(|()| Heard::Replies)
    }

    /// Reads a part of a stream that a filter has changed.
    #[inline(never)]
    fn handle_filtered(
        &mut self,
        now: Instant,
        bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl Sink,
    ) -> Result<(), PeerError> {
        let wrap = std::mem::replace(&mut self.link.wrap, Wrap::None);
        let Wrap::Filtered(mut filtered) = wrap else { unreachable!("it has a filter") };
        let read = filtered.handle_bytes(bytes);
        let read = read.and_then(|plain| self.handle_plain(now, plain, follow_ups, sink));
        self.link.wrap = Wrap::Filtered(filtered);
        read
    }

    /// Reads a part of the stream of replies.
    #[inline]
    fn handle_plain(
        &mut self,
        now: Instant,
        bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl Sink,
    ) -> Result<(), PeerError> {
        in_format_of!(self.link.reader, T => self.handle_replies::<T>(now, bytes, follow_ups, sink))
    }

    /// Reads replies of a protocol and ends the operations they belong to.
    #[inline]
    fn handle_replies<T: WireFormat>(
        &mut self,
        now: Instant,
        mut bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl Sink,
    ) -> Result<(), PeerError> {
        // What is left where the present reply began, or where these bytes did.
        let mut left = bytes.len();
        loop {
            let reply = T::next(T::decoder(&mut self.link.reader), &mut bytes);
            let reply = reply.map_err(|error| PeerError::of(error, bytes))?;
            let Some((reply, answer_head)) = reply else {
                self.count_reply(left - bytes.len());
                return dialect::check_partial::<T>(&mut self.link.reader);
            };
            let turn = (!self.pipeline.is_empty()).then_some(self.answered);
            match heed(T::role(answer_head, &reply, turn)?, &reply, &mut self.part_failed, sink) {
                Heeded::Answer => {}
                Heeded::FailedPart => continue,
                Heeded::Aside => {
                    (self.reply_bytes, left) = (0, bytes.len());
                    continue;
                }
            }
            if self.stray_error {
                self.stray_error = false;
                if is_bare_error(&reply) {
                    // memcached reads the rest of a bad data chunk as a command of its own.
                    (self.reply_bytes, left) = (0, bytes.len());
                    continue;
                }
            }
            let Some(head) = self.pipeline.front_mut() else {
                return Err(unasked(&reply));
            };
            let verdict = match reply {
                Reply::Value { key, bytes, cas, .. } if is_asked_for(head) => {
                    sink.value(head, key, bytes);
                    head.hits += 1;
                    self.value_bytes += bytes as u64;
                    self.cas_unique = cas.unwrap_or(0);
                    continue;
                }
                Reply::Data { bytes, ends } => {
                    sink.data(head, bytes, ends);
                    continue;
                }
                Reply::Error(error) => {
                    self.stray_error = error.is_bad_data_chunk();
                    if error.is_too_many_connections() {
                        return Err(PeerError::TooManyConnections);
                    }
                    sink.refused(Refusal::of(&error));
                    failure(error.kind)
                }
                Reply::End if self.part_failed.is_some() => {
                    failure(self.part_failed.take().expect("it was looked at"))
                }
                _ => verdict(head, &reply)?,
            };
            self.count_reply(left - bytes.len());
            left = bytes.len();
            self.finish(now, verdict, follow_ups, sink);
        }
    }

    /// More bytes of the head's reply were read.
    #[inline]
    fn count_reply(&mut self, bytes: usize) {
        self.reply_bytes = self.reply_bytes.saturating_add(bytes as u32);
    }

    /// Ends the head, or sends it on to its second stage.
    fn finish(
        &mut self,
        now: Instant,
        verdict: Verdict,
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl Sink,
    ) {
        let mut entry = self.pipeline.pop_front().expect("a reply was matched to the head");
        let bytes = std::mem::take(&mut self.reply_bytes);
        self.answered = self.answered.wrapping_add(1);
        self.free_since = now;
        if entry.hits > 0 && !entry.stage.is_second() {
            sink.values(&entry, std::mem::take(&mut self.value_bytes));
        }
        sink.replied(&entry, verdict.outcome, now);
        if entry.stage.is_expired() {
            sink.late(&entry, bytes);
            return;
        }
        if verdict.outcome == Outcome::Hit && entry.kind.does(Action::CompareAndStore) {
            entry.stage = InFlightStage::Second;
            sink.half_way(&entry, bytes);
            follow_ups.push(FollowUp { entry, unique: self.cas_unique });
            return;
        }
        let Verdict { fate, outcome, reply, error } = verdict;
        sink.settle(&entry, Ending { fate, outcome, reply, error, received: now, bytes });
    }

    /// Times out what has been on its way for `timeout` since its intended instant. Returns when
    /// to look again: no operation in flight has its deadline before that.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        timeout: Span,
        sink: &mut impl Sink,
    ) -> Instant {
        if self.is_over_datagrams() {
            return self.give_up(now, timeout, sink);
        }
        assert_eq!(self.unsent, 0, "what is made leaves before its deadline is looked at");
        let mut next = Instant::NEVER;
        for entry in &mut self.pipeline {
            let deadline = entry.intended + timeout;
            if entry.stage.is_expired() {
                continue;
            }
            if deadline <= now {
                sink.settle(entry, Ending::unanswered(Fate::TimedOut));
                entry.stage = entry.stage.expired();
            } else {
                next = next.min(deadline);
            }
        }
        next
    }

    /// The peer is gone, or is given up: everything it still owes ends as `fate`.
    pub(crate) fn handle_closed(&mut self, fate: Fate, sink: &mut impl Sink) {
        while let Some(mut entry) = self.pipeline.pop_front() {
            // Room that a reply made is used at once, and the rest of the same bytes may be the
            // breach for which the connection is closed: such a request never left.
            if self.pipeline.len() < self.unsent && entry.stage.is_first_request() {
                entry.sent = Instant::NEVER;
            }
            if !entry.stage.is_expired() {
                sink.settle(&entry, Ending::unanswered(fate));
            }
        }
        self.reset();
    }

    /// There is no peer, and nothing under way.
    pub(crate) fn reset(&mut self) {
        assert!(self.pipeline.is_empty(), "what is under way ends before");
        self.unsent = 0;
        self.answered = 0;
        self.forget_reply();
        self.link.reset();
    }

    /// What was read of a reply that is not complete is forgotten.
    fn forget_reply(&mut self) {
        self.link.reader.reset();
        self.reply_bytes = 0;
        self.value_bytes = 0;
        self.stray_error = false;
        self.part_failed = None;
    }
}

/// Whether one more value can belong to the reply that `head` awaits.
fn is_asked_for(head: &InFlight) -> bool {
    head.kind.reads() && !head.stage.is_second() && head.hits < head.keys
}

fn is_bare_error(reply: &Reply<'_>) -> bool {
    let Reply::Error(error) = reply else { return false };
    error.kind == ErrorKind::Error && error.message.is_empty()
}

/// What a reply means for the operation it answers.
struct Verdict {
    fate: Fate,
    outcome: Outcome,
    reply: Option<ReplyClass>,
    error: Option<ErrorClass>,
}

fn answered(outcome: Outcome, reply: ReplyClass) -> Verdict {
    Verdict { fate: Fate::Answered, outcome, reply: Some(reply), error: None }
}

fn failure(kind: ErrorKind) -> Verdict {
    let class = match kind {
        ErrorKind::Error => ErrorClass::Error,
        ErrorKind::Client => ErrorClass::ClientError,
        ErrorKind::Server => ErrorClass::ServerError,
    };
    Verdict { fate: Fate::Failed, outcome: Outcome::Failed, reply: None, error: Some(class) }
}

/// What became of a reply before it is matched.
enum Heeded {
    /// It answers the head, or is a piece of its answer.
    Answer,
    /// It says that a part of the answer failed, which is noted.
    FailedPart,
    /// It belongs to nothing that is in flight.
    Aside,
}

/// Tells of errors that answer no operation, or only a part of one.
#[inline(always)]
fn heed(
    role: Role<'_>,
    reply: &Reply<'_>,
    part_failed: &mut Option<ErrorKind>,
    sink: &mut impl Sink,
) -> Heeded {
    match role {
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

/// Matches a closing reply with the operation at the head; a reply that the protocol rules out
/// for it means that we no longer understand each other.
fn verdict(head: &InFlight, reply: &Reply<'_>) -> Result<Verdict, PeerError> {
    let kind = head.kind;
    let second = head.stage.is_second();
    let storing = second || kind.does(Action::Store);
    let retrieving = kind.reads() && !second;
    // Of the stores only a cas, in its second half, tells a missing or a changed key apart.
    let may_miss = second || !(kind.reads() || kind.stores_value());
    match reply {
        Reply::End if retrieving => {
            let whole = head.hits >= head.keys;
            let outcome = if whole { Outcome::Hit } else { Outcome::Miss };
            Ok(answered(outcome, ReplyClass::Values))
        }
        Reply::Stored if storing => Ok(answered(Outcome::Stored, ReplyClass::Stored)),
        Reply::NotStored if storing => Ok(answered(Outcome::NotStored, ReplyClass::NotStored)),
        Reply::Exists if second => Ok(answered(Outcome::Exists, ReplyClass::Exists)),
        Reply::NotFound if may_miss => Ok(answered(Outcome::NotFound, ReplyClass::NotFound)),
        Reply::Deleted if kind.does(Action::Remove) => {
            Ok(answered(Outcome::Deleted, ReplyClass::Deleted))
        }
        Reply::Touched if kind.does(Action::Touch) => {
            Ok(answered(Outcome::Touched, ReplyClass::Touched))
        }
        Reply::Number(_) if kind.is_numeric() => Ok(answered(Outcome::Number, ReplyClass::Number)),
        _ => Err(PeerError::Mismatch { kind, got: name(reply) }),
    }
}

fn unasked(reply: &Reply<'_>) -> PeerError {
    match reply {
        Reply::Error(error) if error.is_too_many_connections() => PeerError::TooManyConnections,
        Reply::Error(error) => PeerError::UnaskedError { line: Excerpt::of(error.message) },
        _ => PeerError::Unasked { got: name(reply) },
    }
}

impl From<Closed> for ErrorClass {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::ByPeer
            | Closed::Reset
            | Closed::Unanswered
            | Closed::Unheard
            | Closed::Other(_) => Self::Closed,
            Closed::Broken(PeerError::TooManyConnections) => Self::TooManyConnections,
            Closed::Broken(_) => Self::Protocol,
        }
    }
}

#[cfg(test)]
mod tests;
