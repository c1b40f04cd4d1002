//! One connection to a server that is slow or faulty on purpose: a client's bytes in, answers out
//! when they are due, in order. Owns no socket and reads no clock.

mod datagrams;

pub use datagrams::Datagrams;

use crate::clock::Clock;
use crate::profile::{Carried, ProfileState, Then};
use crate::session::{self, Decoding, Frames, Read, Rest};
use crate::store::{Store, StoreAt};
use crate::table::{self, ReplyBuffer};
use memtide_base::Instant;
use memtide_codec::text::RequestDecoder;
use memtide_codec::{Request, Then as StreamThen};
use std::collections::VecDeque;

/// The server's side of one connection.
///
/// After [`Endpoint::handle_bytes`], ask [`Endpoint::poll_timeout`] and call
/// [`Endpoint::poll_transmit`] at that instant. An answer without service time is due at the `now`
/// at which its request came.
#[derive(Debug)]
pub struct Endpoint {
    format: Decoding,
    /// Bytes that were received and not read.
    rest: Rest,
    outbox: Outbox,
}

/// The state of a connection after its due answers were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// More answers may follow.
    Open,
    /// It is to be closed once all taken answers are sent.
    Close,
    /// It is to be reset, as if the server had died, once all taken answers are sent.
    Reset,
}

/// No further request is carried out while this many bytes of answers wait for their instants.
const WAITING_BYTES_MAX: usize = 16 << 20;
/// No further request is carried out while answers of this many instants wait.
const WAITING_INSTANTS_MAX: usize = 1 << 20;

impl Endpoint {
    /// Accepts a connection; `None` if a fault refuses it, so that it must be reset at once.
    /// `item_bytes_max` is the limit of the store's items.
    pub fn accept(state: &mut ProfileState, item_bytes_max: usize) -> Option<Self> {
        state.admits().then(|| Self::new(item_bytes_max))
    }

    fn new(item_bytes_max: usize) -> Self {
        let (format, rest) = (Decoding::Unheard(item_bytes_max), Rest::default());
        Self { format, rest, outbox: Outbox::default() }
    }

    /// Takes bytes that came at `clock.now`, however cut. Every request that they complete is
    /// carried out now, and its answer waits for its instant. The clock must not go back between
    /// calls with the same `state`.
    ///
    /// While 256 KiB of answers are due and not taken, or very many wait for their instants,
    /// further bytes are kept: [`Endpoint::can_go_on`] tells when to call again, without bytes.
    pub fn handle_bytes(
        &mut self,
        clock: Clock,
        bytes: &[u8],
        store: &Store,
        state: &mut ProfileState,
    ) {
        self.format.hear(bytes);
        let Self { format, rest, outbox } = self;
        let at = StoreAt { clock, store };
        rest.feed(bytes, |input| match format {
            Decoding::Unheard(_) => {}
            Decoding::Text(decoder) => read_lines(decoder, outbox, input, at, state),
            Decoding::Binary(frames) => read_frames(frames, outbox, input, at, state),
        });
        if outbox.fate != Fate::Open {
            rest.clear();
        }
    }

    /// True if received requests are not carried out yet.
    pub fn is_behind(&self) -> bool {
        !self.rest.is_empty()
    }

    /// True if kept requests can be carried out at `now`.
    pub fn can_go_on(&self, now: Instant) -> bool {
        self.is_behind() && self.outbox.has_room(now)
    }

    /// Carries out the requests in `bytes`, which are all of the client's bytes, and appends the
    /// answers to `out`. Returns the instant at which the last of them leaves, or `None` if they
    /// are too long for datagrams; later requests are then not carried out. A connection that would
    /// be reset or stalled has no more answers.
    fn answer_once(
        item_bytes_max: usize,
        bytes: &[u8],
        StoreAt { clock, store }: StoreAt<'_>,
        state: &mut ProfileState,
        out: &mut Vec<u8>,
    ) -> Option<Instant> {
        let mut endpoint = Self::new(item_bytes_max);
        endpoint.handle_bytes(clock, bytes, store, state);
        let mut leaves = clock.now;
        while let Some(at) = endpoint.poll_timeout() {
            leaves = leaves.max(at);
            if endpoint.poll_transmit(at, out) != After::Open {
                break;
            }
            if out.len() > datagrams::ANSWER_BYTES_MAX {
                return None;
            }
            if endpoint.can_go_on(clock.now) {
                endpoint.handle_bytes(clock, &[], store, state);
            }
        }
        Some(leaves)
    }

    /// The instant of the next answer or end; `None` if nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match (self.outbox.waiting.front(), self.outbox.fate) {
            (Some(answers), _) => Some(answers.leave),
            (None, Fate::Ends(at, _)) => Some(at),
            (None, Fate::Open | Fate::Stalled) => None,
        }
    }

    /// Appends to `out` every answer that is due by `now`; returns the state of the connection
    /// after them.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> After {
        self.outbox.release(now, out);
        match self.outbox.fate {
            Fate::Ends(at, after) if at <= now => after,
            _ => After::Open,
        }
    }

    /// True if bytes should be read from the client at `now`; false while very many bytes wait to
    /// leave.
    pub fn wants_bytes(&self, now: Instant) -> bool {
        !self.is_behind() && self.outbox.has_room(now)
    }
}

fn read_lines(
    decoder: &mut RequestDecoder,
    outbox: &mut Outbox,
    input: &mut &[u8],
    StoreAt { clock, store }: StoreAt<'_>,
    state: &mut ProfileState,
) {
    while outbox.fate == Fate::Open && outbox.has_room(clock.now) {
        match decoder.next(input) {
            Ok(Some(Request::Quit)) => outbox.end(state.hold(clock.now), After::Close),
            Ok(Some(request)) => {
                let carried = state.carry_out(clock, &request, store, &mut outbox.bytes);
                outbox.carried(carried);
            }
            Ok(None) => return,
            Err(bad) => {
                session::refuse(decoder, clock, &bad, store, &mut outbox.bytes);
                let at = state.hold(clock.now);
                outbox.seal(at);
                if bad.then == StreamThen::Close {
                    outbox.end(at, After::Close);
                }
            }
        }
    }
}

fn read_frames(
    frames: &mut Frames,
    outbox: &mut Outbox,
    input: &mut &[u8],
    at: StoreAt<'_>,
    state: &mut ProfileState,
) {
    let StoreAt { clock, store } = at;
    while outbox.fate == Fate::Open && outbox.has_room(clock.now) {
        // The part that a fault may change is copied.
        let read = frames.next(input, at, &mut outbox.bytes, |request, lines| {
            state.carry_out(clock, request, store, lines.bytes())
        });
        match read {
            Read::Nothing => return,
            Read::Carried(carried) => outbox.carried(carried),
            Read::Answered => outbox.seal(state.hold(clock.now)),
            Read::Close => {
                let at = state.hold(clock.now);
                outbox.seal(at);
                outbox.end(at, After::Close);
            }
        }
    }
}

/// Answers that wait for their instants.
#[derive(Debug, Default)]
struct Outbox {
    /// The answers' bytes; those before `taken` have left.
    bytes: Vec<u8>,
    taken: usize,
    /// The instants at which parts of the bytes leave, in order.
    waiting: VecDeque<Answers>,
    /// No answer leaves before this instant.
    last: Instant,
    fate: Fate,
}

/// Answers that leave together.
#[derive(Clone, Copy, Debug)]
struct Answers {
    leave: Instant,
    /// Their end in the bytes.
    end: usize,
}

/// The future of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Open,
    /// Waiting answers leave, and nothing after them.
    Stalled,
    /// Waiting answers leave, and the connection ends at this instant.
    Ends(Instant, After),
}

impl Outbox {
    /// Records that a request was carried out and its answer written.
    fn carried(&mut self, Carried { leaves, then }: Carried) {
        match then {
            Then::Answer => self.seal(leaves),
            Then::Reset => self.end(leaves, After::Reset),
            Then::Stall => self.fate = Fate::Stalled,
        }
    }

    /// Sets the instant at which the answers written since the last call leave: `at`, or that of
    /// the last waiting answer if it is later.
    fn seal(&mut self, at: Instant) {
        let end = self.bytes.len();
        let sealed = self.waiting.back().map_or(self.taken, |answers| answers.end);
        if end == sealed {
            return;
        }
        self.last = self.last.max(at);
        match self.waiting.back_mut() {
            Some(answers) if answers.leave == self.last => answers.end = end,
            _ => self.waiting.push_back(Answers { leave: self.last, end }),
        }
        debug_assert!(self.waiting.len() <= WAITING_INSTANTS_MAX, "too many answers wait");
    }

    /// True if there is room at `now` for another waiting answer.
    fn has_room(&self, now: Instant) -> bool {
        let due = self.waiting.partition_point(|answers| answers.leave <= now);
        let due = due.checked_sub(1).map_or(0, |last| self.waiting[last].end - self.taken);
        due < session::WAITING_BYTES_MAX
            && self.bytes.len() - self.taken < WAITING_BYTES_MAX
            && self.waiting.len() < WAITING_INSTANTS_MAX
    }

    /// Ends the connection at `at`, or with the last waiting answer if that is later.
    fn end(&mut self, at: Instant, after: After) {
        self.last = self.last.max(at);
        self.fate = Fate::Ends(self.last, after);
    }

    fn release(&mut self, now: Instant, out: &mut Vec<u8>) {
        let mut end = self.taken;
        while let Some(answers) = self.waiting.front().filter(|answers| answers.leave <= now) {
            debug_assert!(end <= answers.end, "answers leave in order");
            end = answers.end;
            self.waiting.pop_front();
        }
        out.extend_from_slice(&self.bytes[self.taken..end]);
        self.taken = end;
        if self.taken == self.bytes.len() {
            table::empty(&mut self.bytes);
            self.taken = 0;
        } else if self.taken > self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            let taken = std::mem::take(&mut self.taken);
            self.waiting.iter_mut().for_each(|answers| answers.end -= taken);
        }
    }
}

#[cfg(test)]
mod tests;
