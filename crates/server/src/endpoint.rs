//! One connection to a server that takes its time or does wrong on purpose: a client's bytes in,
//! answers out when they are due, in order. Owns no socket and reads no clock.

mod datagrams;

pub use datagrams::Datagrams;

use crate::clock::Clock;
use crate::profile::{ProfileState, Then};
use crate::session::{self, Decoding, Frames, Read, Rest};
use crate::store::Store;
use crate::table::{self, Outgoing, Sink};
use memtide_base::Instant;
use memtide_codec::text::RequestDecoder;
use memtide_codec::{Request, Then as StreamThen};
use std::collections::VecDeque;

/// The server's side of one connection.
///
/// After [`Endpoint::handle_bytes`], ask [`Endpoint::poll_timeout`] and call
/// [`Endpoint::poll_transmit`] at that instant; what is due at once is due at the `now` at which
/// the bytes came.
#[derive(Debug)]
pub struct Endpoint {
    format: Decoding,
    /// What is not read.
    rest: Rest,
    outbox: Outbox,
}

/// What a connection is after its answers were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// More may come.
    Open,
    /// To be closed once everything that was taken is sent.
    Close,
    /// To be reset, as if the server had died, once everything that was taken is sent.
    Reset,
}

/// No further request is carried out while this many bytes of answers wait for their instants.
const WAITING_BYTES_MAX: usize = 16 << 20;
/// No further request is carried out while answers of this many instants wait.
const WAITING_INSTANTS_MAX: usize = 1 << 20;

impl Endpoint {
    /// A new connection, if the server lets it in; `None` for one that is to be reset at once.
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
    /// While 256 KiB of answers are due and not taken, or very many wait for their instants, what
    /// came is kept: [`Endpoint::can_go_on`] says when to call again, without bytes.
    pub fn handle_bytes(
        &mut self,
        clock: Clock,
        bytes: &[u8],
        store: &Store,
        state: &mut ProfileState,
    ) {
        self.format.hear(bytes);
        let Self { format, rest, outbox } = self;
        rest.feed(bytes, |input| match format {
            Decoding::Unheard(_) => {}
            Decoding::Text(decoder) => read_lines((decoder, outbox), clock, input, store, state),
            Decoding::Binary(frames) => read_frames((frames, outbox), clock, input, store, state),
        });
        if outbox.fate != Fate::Open {
            rest.clear();
        }
    }

    /// Whether it has not carried out everything that came.
    pub fn is_behind(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Whether it can carry out at `now` what it has not.
    pub fn can_go_on(&self, now: Instant) -> bool {
        self.is_behind() && self.outbox.has_room(now)
    }

    /// Carries out what stands in `bytes`, which is all that the client says, and appends the
    /// answers to `out`. Returns when the last of them leaves, or `None` when they are too long for
    /// datagrams: what would come after is not carried out. A connection that would be reset or
    /// stalled has no more answers.
    fn answer_once(
        clock: Clock,
        bytes: &[u8],
        (item_bytes_max, store): (usize, &Store),
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

    /// When something is to leave or to end; `None` when nothing waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match (self.outbox.waiting.front(), self.outbox.fate) {
            (Some(answers), _) => Some(answers.leave),
            (None, Fate::Ends(at, _)) => Some(at),
            (None, Fate::Open | Fate::Stalled) => None,
        }
    }

    /// Appends to `out` every answer that is due by `now`, and says what the connection is then.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> After {
        self.outbox.release(now, out);
        match self.outbox.fate {
            Fate::Ends(at, after) if at <= now => after,
            _ => After::Open,
        }
    }

    /// Whether bytes should be read from the client at `now`: false while very much waits to leave.
    pub fn wants_bytes(&self, now: Instant) -> bool {
        !self.is_behind() && self.outbox.has_room(now)
    }
}

fn read_lines(
    (decoder, outbox): (&mut RequestDecoder, &mut Outbox),
    clock: Clock,
    input: &mut &[u8],
    store: &Store,
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
    (frames, outbox): (&mut Frames, &mut Outbox),
    clock: Clock,
    input: &mut &[u8],
    store: &Store,
    state: &mut ProfileState,
) {
    while outbox.fate == Fate::Open && outbox.has_room(clock.now) {
        // What may be changed is copied.
        let carry_out = |request: &Request<'_>, lines: &mut Outgoing| {
            state.carry_out(clock, request, store, lines.bytes())
        };
        match frames.next(input, (clock, store), &mut outbox.bytes, carry_out) {
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
    /// Answers one after the other; those before `taken` have left.
    bytes: Vec<u8>,
    taken: usize,
    /// Which part leaves when, in order.
    waiting: VecDeque<Answers>,
    /// No answer leaves before this instant.
    last: Instant,
    fate: Fate,
}

/// Answers that leave together.
#[derive(Clone, Copy, Debug)]
struct Answers {
    leave: Instant,
    /// Where they end in the bytes.
    end: usize,
}

/// How it goes on with a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Open,
    /// What waits leaves, then never anything again.
    Stalled,
    /// What waits leaves, and at this instant the connection ends.
    Ends(Instant, After),
}

impl Outbox {
    /// A request was carried out, and its answer written.
    fn carried(&mut self, (at, then): (Instant, Then)) {
        match then {
            Then::Answer => self.seal(at),
            Then::Reset => self.end(at, After::Reset),
            Then::Stall => self.fate = Fate::Stalled,
        }
    }

    /// Everything that was written since the last call leaves at `at`, or with what leaves last if
    /// that is later.
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
    }

    /// Whether the answer to another request may wait here at `now`.
    fn has_room(&self, now: Instant) -> bool {
        let due = self.waiting.partition_point(|answers| answers.leave <= now);
        let due = due.checked_sub(1).map_or(0, |last| self.waiting[last].end - self.taken);
        due < session::WAITING_BYTES_MAX
            && self.bytes.len() - self.taken < WAITING_BYTES_MAX
            && self.waiting.len() < WAITING_INSTANTS_MAX
    }

    /// The connection ends at `at`, or with what leaves last if that is later.
    fn end(&mut self, at: Instant, after: After) {
        self.last = self.last.max(at);
        self.fate = Fate::Ends(self.last, after);
    }

    fn release(&mut self, now: Instant, out: &mut Vec<u8>) {
        let mut end = self.taken;
        while let Some(answers) = self.waiting.front().filter(|answers| answers.leave <= now) {
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
