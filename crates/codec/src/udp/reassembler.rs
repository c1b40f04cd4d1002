//! Reassembles the parts of an answer, in any order, for one request at a time. Classifies and
//! discards duplicates and datagrams of other requests. Allocates all memory at the start.

use super::{BODY_BYTES_MAX, DATAGRAMS_MAX, Header};
use std::iter;

/// The receiving end of a client socket with one request outstanding at a time.
///
/// [`Reassembler::begin`] numbers a request, [`Reassembler::take`] takes each datagram, and
/// [`Reassembler::answered`] or [`Reassembler::give_up`] ends the request. memcached 1.6 and later
/// answers a retrieval of several keys with several messages, each numbered on its own: the next
/// datagram after a complete message begins another one.
#[derive(Debug)]
pub struct Reassembler {
    /// The number of the last request.
    request: u16,
    /// The number of requests so far; it stops at [`REMEMBERED`].
    begun: u32,
    fate: Fate,
    /// Bit n is set if the request n + 1 before the last was answered.
    answered_before: u64,
    /// The number of parts of the message being received; 0 if there is none.
    total: u16,
    /// The number of parts received.
    received: u16,
    /// The first part that is missing.
    next: u16,
    /// True while all parts but the last have the full length, so that the bodies are contiguous.
    even: bool,
    /// The length of each part, or [`MISSING`].
    lengths: Box<[u16]>,
    /// The body of each part, at its position.
    bodies: Box<[u8]>,
}

/// The state of the last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Awaited,
    Answered,
    GivenUp,
}

const MISSING: u16 = u16::MAX;
/// The number of earlier requests for which it is remembered whether they were answered.
const REMEMBERED: u16 = u64::BITS as u16;

/// The class of a received datagram.
#[derive(Clone, Copy, Debug)]
pub enum Taken<'a> {
    /// The last missing part: the message is complete.
    Message(Message<'a>),
    /// A part of a message that is still incomplete.
    Part {
        /// True if an earlier part is missing.
        disordered: bool,
    },
    /// A part that was received before.
    Duplicate,
    /// A part of the answer to a request that was given up.
    Late,
    /// A header without a body whose total is 0, which memcached sends if the first key of a
    /// retrieval is missing.
    Empty,
    /// A datagram of an unknown request, of another message than the current one, of an answer that
    /// is too long, or not of memcached's protocol.
    Foreign,
}

/// An answer, or one of the messages of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The whole message, if its bytes are contiguous.
    single: Option<&'a [u8]>,
    lengths: &'a [u16],
    bodies: &'a [u8],
}

impl<'a> Message<'a> {
    const fn in_one(bytes: &'a [u8]) -> Self {
        Self { single: Some(bytes), lengths: &[], bodies: &[] }
    }

    /// The message's bytes: one piece, unless the parts have lengths that no server uses.
    #[inline]
    pub fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let places = iter::zip(self.lengths, self.bodies.chunks(BODY_BYTES_MAX));
        let parts = places.map(|(&length, place)| &place[..usize::from(length)]);
        self.single.into_iter().chain(parts)
    }
}

impl Reassembler {
    /// A reassembler for messages of at most `bytes_max` bytes. It accepts any message that fits
    /// into one datagram.
    pub fn new(bytes_max: usize) -> Self {
        let datagrams = match bytes_max.div_ceil(BODY_BYTES_MAX) {
            0 | 1 => 0,
            datagrams => datagrams.min(DATAGRAMS_MAX),
        };
        assert!(datagrams <= DATAGRAMS_MAX, "parts are numbered in 16 bits");
        Self {
            request: u16::MAX,
            begun: 0,
            fate: Fate::GivenUp,
            answered_before: 0,
            total: 0,
            received: 0,
            next: 0,
            even: true,
            lengths: vec![MISSING; datagrams].into(),
            bodies: vec![0; datagrams * BODY_BYTES_MAX].into(),
        }
    }

    /// Begins a request and returns its number. Gives up the request before it if that is
    /// unanswered.
    pub fn begin(&mut self) -> u16 {
        self.total = 0;
        self.answered_before <<= 1;
        self.answered_before |= u64::from(self.fate == Fate::Answered);
        self.request = self.request.wrapping_add(1);
        self.begun = self.begun.saturating_add(1);
        self.fate = Fate::Awaited;
        self.request
    }

    /// Marks the answer as complete: further datagrams of it are duplicates.
    pub fn answered(&mut self) {
        self.fate = Fate::Answered;
        self.total = 0;
    }

    /// Gives up the current request. Returns how many parts are missing of the message being
    /// received; 0 if nothing of it arrived.
    pub fn give_up(&mut self) -> u16 {
        self.fate = Fate::GivenUp;
        match std::mem::take(&mut self.total) {
            0 => 0,
            total => total - self.received,
        }
    }

    /// Takes a datagram as it arrived.
    #[inline]
    pub fn take<'a>(&'a mut self, datagram: &'a [u8]) -> Taken<'a> {
        let Some((header, body)) = Header::read(datagram) else { return Taken::Foreign };
        if header.request != self.request || self.fate != Fate::Awaited {
            return self.of_another(header.request);
        }
        if header.sequence >= header.total {
            let nothing = header.total == 0 && body.is_empty();
            return if nothing { Taken::Empty } else { Taken::Foreign };
        }
        if header.total == 1 && self.total == 0 {
            return Taken::Message(Message::in_one(body));
        }
        self.take_part(header, body)
    }

    fn take_part(&mut self, header: Header, body: &[u8]) -> Taken<'_> {
        let total = usize::from(header.total);
        if self.total == 0 && total <= self.lengths.len() {
            self.lengths[..total].fill(MISSING);
            (self.total, self.received, self.next) = (header.total, 0, 0);
            self.even = true;
        }
        if self.total != header.total || body.len() > BODY_BYTES_MAX {
            return Taken::Foreign;
        }
        let at = usize::from(header.sequence);
        if self.lengths[at] != MISSING {
            return Taken::Duplicate;
        }
        self.lengths[at] = body.len() as u16;
        self.bodies[at * BODY_BYTES_MAX..][..body.len()].copy_from_slice(body);
        debug_assert!(self.received < self.total, "more parts came than a message has");
        self.received += 1;
        self.even &= at + 1 == total || body.len() == BODY_BYTES_MAX;
        let disordered = header.sequence != self.next;
        let here = self.lengths[usize::from(self.next)..total].iter();
        self.next += here.take_while(|&&length| length != MISSING).count() as u16;
        debug_assert!(usize::from(self.next) <= total, "no part is missing after the last");
        if self.received < self.total {
            return Taken::Part { disordered };
        }
        self.total = 0;
        let lengths = &self.lengths[..total];
        if self.even {
            let bytes = (total - 1) * BODY_BYTES_MAX + usize::from(lengths[total - 1]);
            return Taken::Message(Message::in_one(&self.bodies[..bytes]));
        }
        Taken::Message(Message { single: None, lengths, bodies: &self.bodies })
    }

    /// The class of a datagram that belongs to a request other than the current one.
    fn of_another(&self, request: u16) -> Taken<'static> {
        let age = self.request.wrapping_sub(request);
        let answered = match age {
            _ if u32::from(age) >= self.begun || age > u16::MAX / 2 => return Taken::Foreign,
            0 => self.fate == Fate::Answered,
            1..=REMEMBERED => self.answered_before >> (age - 1) & 1 == 1,
            _ => false,
        };
        if answered { Taken::Duplicate } else { Taken::Late }
    }
}
