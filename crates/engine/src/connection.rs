//! One connection: the operations in flight on it, in order, and the meaning of received bytes.
//! Bytes go in and endings come out; it has no socket and no clock.
//!
//! memcached answers in order, so matching is a queue; in frames, the number that each reply
//! repeats is checked against it, and meta replies can be matched by it. An operation that timed
//! out keeps its place: its late answer is recognised. Datagrams are reassembled first.

mod datagrams;
mod link;
mod outgoing;
mod verdict;

use crate::dialect::{self, Dialect, Marks, Rejection, WireFormat, in_format_of, name};
pub(crate) use crate::dialect::{InFlight, InFlightStage};
use link::Wrap;
pub(crate) use link::{Link, State};
use memtide_base::{Instant, Span};
use memtide_codec::{ErrorKind, Reply};
use memtide_metrics::{DatagramClass, ErrorClass, Fate, ReplyClass};
use memtide_workload::{Action, Outcome, Source, Version};
use memtide_world::driver::{PeerError, Refusal, SendBuffer};
use memtide_world::plan::{Matching, Place, Plan, Transport};
pub(crate) use outgoing::{Outgoing, TooLong};
use std::collections::VecDeque;
use verdict::{
    Heeded, Verdict, failure, has_no_value, heed, is_asked_for, is_number, refused, unasked,
    unchanged, verdict,
};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) fate: Fate,
    /// The outcome that its source learns.
    pub(crate) outcome: Outcome,
    pub(crate) reply: Option<ReplyClass>,
    pub(crate) error: Option<ErrorClass>,
    /// The instant at which its reply was complete.
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

/// Takes endings directly, without a queue.
pub(crate) trait ConnectionEvents {
    /// `entry` was handed to the socket, `late` after it could have been. `outstanding` is the
    /// number of operations in flight on its connection, itself included; zero if it gets no reply.
    fn sent(&mut self, entry: &mut InFlight, late: Span, outstanding: usize);
    /// All that one call sends were told to `sent`.
    fn all_sent(&mut self) {}
    /// The server answered with an error line.
    fn refused(&mut self, refusal: Refusal);
    /// `entry` has ended. Called once for each.
    fn settle(&mut self, entry: &InFlight, ending: Ending);
    /// `entry` was answered in time, with values of `value_bytes` bytes. [`Self::all_answered`]
    /// follows before anything else that is not an answer, and before a reception ends.
    fn answered(&mut self, entry: &InFlight, ending: &Ending, value_bytes: u64) {
        if value_bytes > 0 {
            self.values(entry, value_bytes);
        }
        self.settle(entry, *ending);
    }
    /// All answers of a reception so far were told to `answered`.
    fn all_answered(&mut self) {}
    /// A late answer of `bytes` bytes came to an operation that had timed out.
    fn late(&mut self, entry: &InFlight, bytes: u32);
    /// An operation that had timed out is in flight no more, and has no answer.
    fn forgotten(&mut self) {}
    /// The first of two answers to `entry` came, with `bytes` bytes.
    fn half_way(&mut self, entry: &InFlight, bytes: u32);

    /// A value of `bytes` bytes begins under `key`, in the answer to `entry`.
    fn value(&mut self, _entry: &InFlight, _key: &[u8], _bytes: usize) {}

    /// True if values are read; else those that have arrived whole may be skipped.
    fn reads_values(&self) -> bool {
        true
    }

    /// The next bytes of the value that began last; `ends` is true with the last of them.
    fn data(&mut self, _entry: &InFlight, _bytes: &[u8], _ends: bool) {}

    /// The reply to `entry` is complete, with all values that it found; `bytes` is the sum of their
    /// lengths.
    fn values(&mut self, _entry: &InFlight, _bytes: u64) {}

    /// Counts unusual datagrams that were noticed at `now`.
    fn datagrams(&mut self, _now: Instant, _class: DatagramClass, _count: u64) {}

    /// The server says `marks` of the item in an answer to `entry`. `is_placeholder` is true if it
    /// has no value, because a client that has won makes it.
    fn marked(&mut self, _entry: &InFlight, _marks: &Marks, _is_placeholder: bool) {}

    /// The answer to `entry` is complete at `now`, in time or late. `settle` or `late` follows.
    fn replied(&mut self, _entry: &InFlight, _outcome: Outcome, _now: Instant) {}
}

/// What the worker does after an answer: it sends the second request of an operation, or remembers
/// the cas number that a peek returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FollowUp {
    pub(crate) entry: InFlight,
    pub(crate) unique: u64,
}

/// The result of handling received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Replies, or parts of them. The sink has been told which operations they ended.
    Replies,
    /// Replies through a filter, which may now have bytes of its own to send.
    Filtered,
    /// The connection is open now.
    Welcome,
    /// The connection is not open yet and may have bytes to send.
    NotYet,
    /// The connection cannot be opened.
    Rejected(Rejection),
}

/// An operation that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Issued {
    /// Bytes of its request.
    pub(crate) bytes: usize,
    /// True if it is in flight now, false if it requests no answer.
    pub(crate) awaits_reply: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) place: Place,
    link: Link,
    /// Failed connects and lost connections since the last answer.
    pub(crate) failures: u32,
    /// The instant at which its deadline timer fires; never if none is armed.
    pub(crate) deadline_armed: Instant,
    /// The instant at which an operation last left it, so that it had room for one more.
    pub(crate) free_since: Instant,
    /// True while the socket takes bytes.
    pub(crate) writable: bool,
    /// It sends nothing before this instant, because of a pause after its last answer; zero if
    /// none.
    pub(crate) rests_until: Instant,
    /// True if a timer is armed for the end of that pause.
    pub(crate) rest_armed: bool,
    /// An answer that is received this long after its operation was intended comes too late.
    timeout: Span,
    pipeline: VecDeque<InFlight>,
    unsent: usize,
    matching: Matching,
    /// Requests that were answered, modulo 2^32: the number (opaque) of the next answer.
    answered: u32,
    /// The unique number that the gets of the oldest operation returned.
    cas_unique: u64,
    /// What the answer to the oldest operation says of its item.
    marks: Marks,
    /// Operations whose second request is due later, with the instant; they keep their room.
    held: Vec<(Instant, FollowUp)>,
    /// Bytes received of the oldest operation's reply.
    reply_bytes: u32,
    /// Bytes of the values in that reply.
    value_bytes: u64,
    /// True if a bare ERROR may follow that belongs to the preceding "bad data chunk".
    stray_error: bool,
    /// The kind of an error that was a part of the oldest operation's reply.
    part_failed: Option<ErrorKind>,
}

impl Connection {
    /// A closed connection with room for the plan's depth of operations.
    pub(crate) fn new(plan: &Plan, dialect: &Dialect, place: Place) -> Self {
        assert!(plan.depth > 0, "there is room for one operation");
        let is_stream = place.transport == Transport::Stream;
        assert!(is_stream || plan.depth == 1, "over datagrams one operation is under way");
        let server = plan.servers.get(place.server.index()).map_or("", |server| &server.name);
        Self {
            place,
            link: Link::new(plan, dialect, server, place.transport),
            failures: 0,
            deadline_armed: Instant::NEVER,
            free_since: Instant::ZERO,
            writable: false,
            rests_until: Instant::ZERO,
            rest_armed: false,
            timeout: plan.timeout,
            pipeline: VecDeque::with_capacity(plan.depth as usize),
            marks: Marks::NONE,
            held: match plan.holds() {
                true => Vec::with_capacity(plan.depth as usize),
                false => Vec::new(),
            },
            unsent: 0,
            matching: plan.requests.matching,
            answered: 0,
            cas_unique: 0,
            reply_bytes: 0,
            value_bytes: 0,
            stray_error: false,
            part_failed: None,
        }
    }

    /// True if a request was answered since it was opened.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered != 0
    }

    /// Its link.
    pub(crate) fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// The state of its link.
    pub(crate) fn state(&self) -> State {
        self.link.state()
    }

    /// True if it is open and writable and does not pause; whether it has room is not considered.
    pub(crate) fn is_available(&self) -> bool {
        self.state() == State::Open && self.writable && self.rests_until == Instant::ZERO
    }

    /// True if an operation on it has timed out and its answer may still come.
    pub(crate) fn has_expired(&self) -> bool {
        let held = self.held.iter().map(|(_, follow_up)| &follow_up.entry);
        self.pipeline.iter().chain(held).any(|entry| entry.stage.is_expired())
    }

    /// The number of operations on it, including those that timed out or are held.
    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.pipeline.len() + self.held.len()
    }

    /// Holds an operation whose second request is due at `at`.
    pub(crate) fn hold(&mut self, at: Instant, follow_up: FollowUp) {
        debug_assert!(self.held.len() < self.held.capacity(), "depth is kept by the route");
        self.held.push((at, follow_up));
    }

    /// Takes an operation whose second request is due by `now`; it may have timed out.
    pub(crate) fn release(&mut self, now: Instant) -> Option<FollowUp> {
        let due = self.held.iter().position(|(at, _)| *at <= now)?;
        Some(self.held.swap_remove(due).1)
    }

    /// Records that a connect begins at `now`.
    pub(crate) fn open(&mut self, now: Instant) {
        debug_assert_eq!(self.state(), State::Closed, "a connect begins on a closed connection");
        debug_assert!(self.pipeline.is_empty(), "a closed connection has nothing in flight");
        self.link.open(now);
    }

    /// Takes an operation and appends its request, with a value of this version if it has one. The
    /// caller makes sure that the depth is not exceeded.
    #[inline(always)]
    pub(crate) fn issue<S: Source>(
        &mut self,
        entry: InFlight,
        dialect: &Dialect,
        source: &S,
        version: Option<Version>,
        out: &mut Outgoing,
    ) -> Result<Issued, TooLong> {
        let before = out.bytes.len();
        self.link.begin_request(&mut out.bytes);
        let opaque = self.opaque_of(&entry);
        dialect.request(&entry.op(), source, version, opaque, &mut out.bytes);
        let bytes = self.link.check_request(before, &mut out.bytes)?;
        let awaits_reply = !dialect.is_noreply(entry.kind);
        match awaits_reply {
            true => self.carry(entry),
            false => {
                debug_assert!(!out.is_full(), "full requests without replies are sent first");
                out.quiet.push(entry);
            }
        }
        Ok(Issued { bytes, awaits_reply })
    }

    /// Takes an operation that awaits a reply and appends its request to a stream.
    #[inline(always)]
    pub(crate) fn carry_out<S: Source>(
        &mut self,
        entry: InFlight,
        dialect: &Dialect,
        source: &S,
        version: Option<Version>,
        out: &mut Outgoing,
    ) {
        let opaque = self.opaque_of(&entry);
        dialect.request(&entry.op(), source, version, opaque, &mut out.bytes);
        self.carry(entry);
    }

    /// Appends the second request of a cas. Returns its bytes.
    pub(crate) fn follow_up(
        &mut self,
        follow_up: &FollowUp,
        dialect: &Dialect,
        version: Option<Version>,
        out: &mut Outgoing,
    ) -> Result<usize, TooLong> {
        let before = out.bytes.len();
        self.link.begin_request(&mut out.bytes);
        let opaque = self.opaque_of(&follow_up.entry);
        let FollowUp { entry: InFlight { key, .. }, unique, .. } = *follow_up;
        dialect.cas(key, unique, version, opaque, &mut out.bytes);
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

    /// The number (opaque) that the answer to the next request, which is that of `entry`, will
    /// repeat.
    fn opaque_of(&self, entry: &InFlight) -> u32 {
        match self.matching {
            Matching::Order => self.next_turn(),
            Matching::Opaque => entry.opaque(),
        }
    }

    /// The number of the next request, counted in the order of answers.
    fn next_turn(&self) -> u32 {
        self.answered.wrapping_add(self.pipeline.len() as u32)
    }

    /// Transforms the bytes appended to `out` since the last call into those for the wire, and
    /// appends those that a filter has to send. Returns true if a filter did so.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, out: &mut SendBuffer) -> bool {
        self.link.poll_transmit(out)
    }

    /// Records that the transmitted requests are handed to the socket at `now`.
    #[inline]
    pub(crate) fn mark_sent(
        &mut self,
        now: Instant,
        out: &mut Outgoing,
        sink: &mut impl ConnectionEvents,
    ) {
        self.date_sent(now, sink);
        for entry in &mut out.quiet {
            let late = entry.hand_over(now);
            sink.sent(entry, late, 0);
            sink.all_sent();
            sink.settle(entry, Ending::unanswered(Fate::Unacknowledged));
        }
        out.quiet.clear();
    }

    #[inline]
    fn date_sent(&mut self, now: Instant, sink: &mut impl ConnectionEvents) {
        debug_assert!(self.unsent <= self.pipeline.len(), "what is unsent is in flight");
        let first = self.pipeline.len() - self.unsent;
        for (entry, outstanding) in self.pipeline.range_mut(first..).zip(first + 1..) {
            if entry.stage.is_first_request() {
                let late = entry.hand_over(now);
                sink.sent(entry, late, outstanding);
            }
        }
        sink.all_sent();
        self.unsent = 0;
    }

    /// Handles an established connection: appends the credentials if the plan has any. Returns true
    /// if the connection is open.
    pub(crate) fn handle_connected(
        &mut self,
        now: Instant,
        dialect: &Dialect,
        out: &mut Outgoing,
    ) -> bool {
        debug_assert!(matches!(self.state(), State::Opening(_)), "it opens without a connect");
        self.link.handle_connected(now, dialect, &mut out.bytes)
    }

    /// Handles the opening at `now`: an operation can be sent.
    pub(crate) fn opened(&mut self, now: Instant) {
        debug_assert_eq!(self.state(), State::Open, "an operation can be sent once it is open");
        self.link.reader.await_operations();
        self.free_since = now;
        self.writable = true;
        self.rests_until = Instant::ZERO;
    }

    /// Handles received bytes, which are a part of a stream or one datagram. After an error the
    /// connection must be closed.
    #[inline]
    pub(crate) fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl ConnectionEvents,
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

    /// Handles a part of a stream that passes a filter.
    #[inline(never)]
    fn handle_filtered(
        &mut self,
        now: Instant,
        bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl ConnectionEvents,
    ) -> Result<(), PeerError> {
        let wrap = std::mem::replace(&mut self.link.wrap, Wrap::None);
        let Wrap::Filtered(mut filtered) = wrap else { unreachable!("it has a filter") };
        let read = filtered.handle_bytes(bytes);
        let read = read.and_then(|plain| self.handle_plain(now, plain, follow_ups, sink));
        self.link.wrap = Wrap::Filtered(filtered);
        read
    }

    /// Handles a part of the stream of replies.
    #[inline]
    fn handle_plain(
        &mut self,
        now: Instant,
        bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl ConnectionEvents,
    ) -> Result<(), PeerError> {
        let read = in_format_of!(self.link.reader, T => {
            self.handle_replies::<T>(now, bytes, follow_ups, sink)
        });
        sink.all_answered();
        read
    }

    /// Decodes replies and ends the operations that they answer. A reply stays where the decoder
    /// put it: `?` and `map_err` would each copy it.
    #[inline]
    fn handle_replies<T: WireFormat>(
        &mut self,
        now: Instant,
        mut bytes: &[u8],
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl ConnectionEvents,
    ) -> Result<(), PeerError> {
        // The bytes left at the start of the present reply, or at the start of `bytes`.
        let mut left = bytes.len();
        loop {
            if let Some(verdict) = self.skip_values::<T>(&mut bytes, sink.reads_values())? {
                self.count_reply(left - bytes.len());
                left = bytes.len();
                self.finish(now, verdict, follow_ups, sink);
                continue;
            }
            let mut answer_head = T::NO_HEAD;
            let next = T::next(T::decoder(&mut self.link.reader), &mut bytes, &mut answer_head);
            let reply = match next {
                Ok(Some(ref reply)) => reply,
                Ok(None) => {
                    self.count_reply(left - bytes.len());
                    return dialect::check_partial::<T>(&mut self.link.reader);
                }
                Err(error) => return Err(PeerError::of(error, bytes)),
            };
            if T::MAY_BE_DISORDERED && self.matching == Matching::Opaque {
                bring_forward::<T>(&mut self.pipeline, self.unsent, answer_head, reply)?;
            }
            let turn = self.pipeline.front().map(|head| (self.answered, head));
            let role = T::role(answer_head, reply, turn)?;
            match heed(role, reply, &mut self.part_failed, &mut self.stray_error, sink) {
                Heeded::Answer => {}
                Heeded::FailedPart => continue,
                Heeded::Aside => {
                    (self.reply_bytes, left) = (0, bytes.len());
                    continue;
                }
            }
            let Some(head) = self.pipeline.front_mut() else {
                return Err(unasked(reply));
            };
            let reply = T::meaning(head, reply);
            let verdict = match *reply {
                Reply::Value { key, bytes, cas, .. } if is_asked_for(head) => {
                    if T::HAS_MARKS
                        && has_no_value::<T>(answer_head, &mut self.marks, head, bytes, sink)
                    {
                        continue;
                    }
                    sink.value(head, key, bytes);
                    head.hits += 1;
                    self.value_bytes += bytes as u64;
                    self.cas_unique = cas.unwrap_or(0);
                    continue;
                }
                Reply::Value { .. } | Reply::Data { .. } if is_number::<T>(head) => continue,
                Reply::Data { bytes, ends } => {
                    sink.data(head, bytes, ends);
                    if !(ends && T::ends_with_value(head)) {
                        continue;
                    }
                    self.marks.add_to(verdict(head, &Reply::End)?)
                }
                Reply::Done if T::HAS_MARKS && head.kind.does(Action::Peek) => {
                    unchanged(T::marks(answer_head), head, sink)
                }
                Reply::Error(ref error) => refused(error, &mut self.stray_error, sink)?,
                Reply::End if self.part_failed.is_some() => {
                    failure(self.part_failed.take().expect("it was looked at"))
                }
                _ => verdict(head, reply)?,
            };
            self.count_reply(left - bytes.len());
            left = bytes.len();
            self.finish(now, verdict, follow_ups, sink);
        }
    }

    /// Counts the values at the front of `bytes` that the oldest operation asked for, as far as
    /// they can be skipped by their length, which they cannot be if `are_read`. Returns the verdict
    /// if its whole answer was skipped.
    #[inline(always)]
    fn skip_values<T: WireFormat>(
        &mut self,
        bytes: &mut &[u8],
        are_read: bool,
    ) -> Result<Option<Verdict>, PeerError> {
        let Some(head) = self.pipeline.front_mut() else { return Ok(None) };
        if are_read || !is_asked_for(head) {
            return Ok(None);
        }
        // An opaque has to be compared, and a part that failed counts when the answer ends.
        if T::MAY_BE_DISORDERED && (self.matching == Matching::Opaque || self.part_failed.is_some())
        {
            return Ok(None);
        }
        let decoder = T::decoder(&mut self.link.reader);
        let (count, sum) = T::skip_values(decoder, bytes, head.keys - head.hits);
        if count > 0 {
            head.hits += count;
            self.value_bytes += sum;
            self.cas_unique = 0;
            self.stray_error = false;
        }
        let is_whole = T::ends_with_value(head) && count > 0 || T::skip_end(decoder, head, bytes);
        if !is_whole {
            return Ok(None);
        }
        self.stray_error = false;
        verdict(head, &Reply::End).map(Some)
    }

    /// Counts `bytes` more of the oldest operation's reply.
    #[inline]
    fn count_reply(&mut self, bytes: usize) {
        self.reply_bytes = self.reply_bytes.saturating_add(bytes as u32);
    }

    /// Ends the oldest operation, or begins its second stage.
    fn finish(
        &mut self,
        now: Instant,
        verdict: Verdict,
        follow_ups: &mut Vec<FollowUp>,
        sink: &mut impl ConnectionEvents,
    ) {
        let head = self.pipeline.front().expect("a reply was matched to the head");
        debug_assert!(head.hits <= head.keys, "more keys were found than requested");
        let bytes = std::mem::take(&mut self.reply_bytes);
        self.answered = self.answered.wrapping_add(1);
        self.free_since = now;
        let finds = head.hits > 0
            && !head.stage.is_second()
            && verdict.reply != Some(ReplyClass::Unchanged);
        let value_bytes = if finds { std::mem::take(&mut self.value_bytes) } else { 0 };
        sink.replied(head, verdict.outcome, now);
        let Verdict { fate, outcome, reply, error } = verdict;
        let goes_on = head.stage == InFlightStage::Won
            || outcome == Outcome::Hit && head.kind.does(Action::CompareAndStore);
        let is_seen =
            head.hits > 0 && reply == Some(ReplyClass::Values) && head.kind.does(Action::Peek);
        let is_overdue = head.intended + self.timeout <= now;
        let ending = Ending { fate, outcome, reply, error, received: now, bytes };
        let is_over = !(goes_on || is_seen || is_overdue || head.stage.is_expired());
        if fate == Fate::Answered && is_over {
            sink.answered(head, &ending, value_bytes);
            self.pipeline.pop_front();
            return;
        }
        sink.all_answered();
        let mut entry = self.pipeline.pop_front().expect("it was looked at");
        if finds {
            sink.values(&entry, value_bytes);
        }
        if is_overdue && !entry.stage.is_expired() {
            // The worker looks late: its timer should have ended the operation before.
            sink.settle(&entry, Ending::unanswered(Fate::TimedOut));
            entry.stage = entry.stage.expired();
        }
        if entry.stage.is_expired() {
            sink.late(&entry, bytes);
            return;
        }
        if goes_on {
            let is_cas = entry.kind.does(Action::CompareAndStore);
            let unique = if is_cas { self.cas_unique } else { 0 };
            entry.stage = InFlightStage::Second;
            sink.half_way(&entry, bytes);
            follow_ups.push(FollowUp { entry, unique });
            return;
        }
        if is_seen {
            follow_ups.push(FollowUp { entry, unique: self.cas_unique });
        }
        sink.settle(&entry, ending);
    }

    /// Times out operations whose intended instant is `timeout` ago. Returns the next instant to
    /// check: no operation in flight has an earlier deadline.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        timeout: Span,
        sink: &mut impl ConnectionEvents,
    ) -> Instant {
        if self.is_over_datagrams() {
            return self.give_up(now, timeout, sink);
        }
        assert_eq!(self.unsent, 0, "what is made leaves before its deadline is looked at");
        let mut next = Instant::NEVER;
        let held = self.held.iter_mut().map(|(_, follow_up)| &mut follow_up.entry);
        for entry in self.pipeline.iter_mut().chain(held) {
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

    /// Handles the end of the connection: every operation in flight ends as `fate`.
    pub(crate) fn handle_closed(&mut self, fate: Fate, sink: &mut impl ConnectionEvents) {
        while let Some(mut entry) = self.pipeline.pop_front() {
            // The room that a reply makes is reused at once, and the rest of the same bytes may be
            // the protocol violation that closes the connection: that new request was never sent.
            if self.pipeline.len() < self.unsent && entry.stage.is_first_request() {
                entry = entry.never_sent();
            }
            match entry.stage.is_expired() {
                true => sink.forgotten(),
                false => sink.settle(&entry, Ending::unanswered(fate)),
            }
        }
        for (_, FollowUp { entry, .. }) in self.held.drain(..) {
            match entry.stage.is_expired() {
                true => sink.forgotten(),
                false => sink.settle(&entry, Ending::unanswered(fate)),
            }
        }
        self.reset();
    }

    /// Resets the connection to closed, with nothing in flight.
    pub(crate) fn reset(&mut self) {
        assert!(self.in_flight() == 0, "what is under way ends before");
        self.unsent = 0;
        self.answered = 0;
        self.forget_reply();
        self.link.reset();
    }

    /// Drops the part of an incomplete reply.
    fn forget_reply(&mut self) {
        self.link.reader.reset();
        self.reply_bytes = 0;
        self.value_bytes = 0;
        self.marks = Marks::NONE;
        self.stray_error = false;
        self.part_failed = None;
    }
}

/// Makes the operation that a reply answers the oldest one. An error means that no request that was
/// sent awaits this reply.
#[inline(never)]
fn bring_forward<T: WireFormat>(
    pipeline: &mut VecDeque<InFlight>,
    unsent: usize,
    answer_head: T::AnswerHead,
    reply: &Reply<'_>,
) -> Result<(), PeerError> {
    let sent = pipeline.len() - unsent;
    let place = T::place(answer_head, reply, pipeline.iter().take(sent));
    match place.ok_or(PeerError::Unmatched { got: name(reply) })? {
        0 => {}
        place => {
            let entry = pipeline.remove(place).expect("it was found there");
            pipeline.push_front(entry);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
