//! Puts the parts of an answer together, in whatever order they come, for one request at a time.
//! What belongs to another request, or came before, is named and thrown away. All memory is there
//! from the beginning.

use super::{BODY_BYTES_MAX, DATAGRAMS_MAX, Header};
use std::iter;

/// The receiving end of one client socket, on which one request at a time is under way.
///
/// [`Reassembler::begin`] numbers a request; what comes is handed to [`Reassembler::take`]; and
/// [`Reassembler::answered`] or [`Reassembler::give_up`] end it. memcached from 1.6 on answers a
/// retrieval of several keys in several messages, each with a numbering of its own: the next
/// datagram after a whole message begins another one.
#[derive(Debug)]
pub struct Reassembler {
    /// The number of the last request.
    request: u16,
    /// How many requests there were, as far as it matters.
    begun: u32,
    fate: Fate,
    /// Bit n tells whether the request n + 1 before the last was answered.
    answered_before: u64,
    /// Parts of the message that is under way; 0 when none is.
    total: u16,
    /// Those that are here.
    received: u16,
    /// The first that is not.
    next: u16,
    /// All but the last are as long as they can be, so that they lie side by side.
    even: bool,
    /// The length of each part, or [`MISSING`].
    lengths: Box<[u16]>,
    /// The parts, each at its place.
    bodies: Box<[u8]>,
}

/// How far the last request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Awaited,
    Answered,
    GivenUp,
}

const MISSING: u16 = u16::MAX;
/// Requests before the last of which it is known whether they were answered.
const REMEMBERED: u16 = u64::BITS as u16;

/// What a datagram was.
#[derive(Clone, Copy, Debug)]
pub enum Taken<'a> {
    /// The last that was missing of a message.
    Message(Message<'a>),
    /// A part of a message of which others are missing.
    Part {
        /// Whether one of the missing stands before it.
        disordered: bool,
    },
    /// A part that was here before.
    Duplicate,
    /// Of a request that was given up.
    Late,
    /// A header alone that numbers no part, which memcached sends in place of a missing first key.
    Empty,
    /// Of no request that was made, of another message than the one under way, of an answer too
    /// long, or nothing of memcached's.
    Foreign,
}

/// An answer, or one of the messages of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The whole of one whose bytes lie side by side.
    single: Option<&'a [u8]>,
    lengths: &'a [u16],
    bodies: &'a [u8],
}

impl<'a> Message<'a> {
    const fn in_one(bytes: &'a [u8]) -> Self {
        Self { single: Some(bytes), lengths: &[], bodies: &[] }
    }

    /// Its bytes: in one piece, unless its parts have lengths that no server gives them.
    #[inline]
    pub fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let places = iter::zip(self.lengths, self.bodies.chunks(BODY_BYTES_MAX));
        let parts = places.map(|(&length, place)| &place[..usize::from(length)]);
        self.single.into_iter().chain(parts)
    }
}

impl Reassembler {
    /// For messages of at most `bytes_max` bytes; any that fits into one datagram is taken.
    pub fn new(bytes_max: usize) -> Self {
        let datagrams = match bytes_max.div_ceil(BODY_BYTES_MAX) {
            0 | 1 => 0,
            datagrams => datagrams.min(DATAGRAMS_MAX),
        };
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

    /// Begins a request and numbers it. If the one before is still awaited it is given up.
    pub fn begin(&mut self) -> u16 {
        self.total = 0;
        self.answered_before <<= 1;
        self.answered_before |= u64::from(self.fate == Fate::Answered);
        self.request = self.request.wrapping_add(1);
        self.begun = self.begun.saturating_add(1);
        self.fate = Fate::Awaited;
        self.request
    }

    /// The answer is complete: what comes of it now was sent twice.
    pub fn answered(&mut self) {
        self.fate = Fate::Answered;
        self.total = 0;
    }

    /// Nobody waits for the answer any more. Returns how many parts are missing of the message
    /// that was under way; none if nothing of it came.
    pub fn give_up(&mut self) -> u16 {
        self.fate = Fate::GivenUp;
        match std::mem::take(&mut self.total) {
            0 => 0,
            total => total - self.received,
        }
    }

    /// Takes a datagram as it came.
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
        self.received += 1;
        self.even &= at + 1 == total || body.len() == BODY_BYTES_MAX;
        let disordered = header.sequence != self.next;
        let here = self.lengths[usize::from(self.next)..total].iter();
        self.next += here.take_while(|&&length| length != MISSING).count() as u16;
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

    /// What a datagram is whose request is not awaited.
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
