//! Decodes a client's frames into requests; rejects what memcached rejects, and continues the
//! stream as memcached does. A request that arrives whole is decoded in place. Answers nothing.

use super::frame::{Extras, HEADER_BYTES, Header, MAGIC_REQUEST, Request, number_32, number_64};
use super::opcode::{Opcode, Status};
use crate::error::Then;
use crate::request::KEY_BYTES_MAX;
use crate::text;

/// The longest message of a SASL mechanism.
const SASL_BYTES_MAX: usize = 4096;
/// The memory for cut requests that the decoder keeps between them, in bytes.
const BUFFER_BYTES_KEPT: usize = 2048;

/// Decodes what a client sends on one connection.
#[derive(Debug)]
pub struct RequestDecoder {
    item_bytes_max: usize,
    expect: Expect,
    /// The beginning of a frame, or a request that was just returned.
    buffer: Vec<u8>,
    /// True if `buffer` was returned and must be cleared.
    buffer_spent: bool,
}

/// A frame that is not a valid request, and what memcached does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The command's number, known or not.
    pub opcode: u8,
    /// The number that the answer repeats.
    pub opaque: u32,
    /// The status to answer with; `None` if memcached closes the connection without an answer.
    pub status: Option<Status>,
    /// The continuation of the stream.
    pub then: Then,
}

impl Refused {
    fn of(header: &Header, status: Status, then: Then) -> Self {
        let Header { opcode, opaque, .. } = *header;
        Self { opcode, opaque, status: Some(status), then }
    }
}

#[derive(Clone, Copy, Debug)]
enum Expect {
    Frame,
    /// The given number of bytes of a refused frame, to skip.
    Swallow(usize, Refused),
    /// A store was just refused for its size; the buffer holds its front.
    RefusedTold,
    /// Nothing more.
    Closed,
}

/// The next step for the front of a stream.
enum Front {
    /// Read it as soon as this many bytes have arrived.
    Read(usize),
    /// Look at the first number of bytes, then skip the second number of bytes.
    Refuse(usize, usize, Refused),
}

impl RequestDecoder {
    /// A decoder at the beginning of a stream. A value is too large if its [`text::item_bytes`]
    /// exceed `item_bytes_max`.
    pub fn new(item_bytes_max: usize) -> Self {
        Self { item_bytes_max, expect: Expect::Frame, buffer: Vec::new(), buffer_spent: false }
    }

    /// Takes the next request from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty. Decoding continues after an error that does not close the stream.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, Refused> {
        match self.expect {
            Expect::Frame | Expect::RefusedTold => self.next_frame(input),
            Expect::Swallow(left, refused) => self.swallow(left, refused, input).map(|()| None),
            Expect::Closed => {
                *input = &[];
                Ok(None)
            }
        }
    }

    /// The command and key of a store that was too large. Available only directly after an error
    /// with [`Then::SwallowedValue`]. memcached removes the old value of a set that it refuses.
    pub fn refused(&self) -> Option<(Opcode, &[u8])> {
        let Expect::RefusedTold = self.expect else { return None };
        let header = Header::read(self.buffer.first_chunk()?);
        let (_, key, _) = header.parts(&self.buffer);
        Some((Opcode::from_byte(header.opcode)?, key))
    }

    fn next_frame<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, Refused> {
        if self.buffer_spent {
            self.forget_buffer();
        }
        if self.buffer.is_empty()
            && let Front::Read(needed) = self.front(input)
            && let Some((frame, rest)) = input.split_at_checked(needed)
            && self.is_whole(frame)
        {
            *input = rest;
            return Ok(Some(parse(frame)));
        }
        loop {
            let (needed, refusal) = match self.front(&self.buffer) {
                Front::Read(needed) => (needed, None),
                Front::Refuse(needed, left, refused) => (needed, Some((left, refused))),
            };
            let missing = needed.saturating_sub(self.buffer.len());
            match refusal {
                _ if missing > 0 && input.is_empty() => return Ok(None),
                _ if missing > 0 => {
                    let (piece, rest) = input.split_at(missing.min(input.len()));
                    self.buffer.extend_from_slice(piece);
                    *input = rest;
                }
                Some((left, refused)) => {
                    return self.swallow(left, refused, input).map(|()| None);
                }
                None => break,
            }
        }
        self.buffer_spent = true;
        Ok(Some(parse(&self.buffer)))
    }

    /// True if `frame` holds everything that must be read of a request.
    fn is_whole(&self, frame: &[u8]) -> bool {
        matches!(self.front(frame), Front::Read(needed) if needed == frame.len())
    }

    /// The next step for the front of a stream, as far as `bytes` tells.
    fn front(&self, bytes: &[u8]) -> Front {
        if let Some(&magic) = bytes.first()
            && magic != MAGIC_REQUEST
        {
            let refused = Refused { opcode: 0, opaque: 0, status: None, then: Then::Close };
            return Front::Refuse(1, 0, refused);
        }
        let Some(header) = bytes.first_chunk() else { return Front::Read(HEADER_BYTES) };
        let header = Header::read(header);
        let Some(value_bytes) = header.value_bytes() else {
            let refused = Refused::of(&header, Status::UNKNOWN_COMMAND, Then::Close);
            return Front::Refuse(HEADER_BYTES, 0, refused);
        };
        let before_value = header.before_value();
        let Some(opcode) = Opcode::from_byte(header.opcode) else {
            let refused = Refused::of(&header, Status::UNKNOWN_COMMAND, Then::Continue);
            return Front::Refuse(HEADER_BYTES, before_value + value_bytes, refused);
        };
        if !Shape::of(opcode).allows(&header, value_bytes) {
            let refused = Refused::of(&header, Status::INVALID_ARGUMENTS, Then::Close);
            return Front::Refuse(HEADER_BYTES, 0, refused);
        }
        let flags = match opcode.loud() {
            // The flags have not arrived; flags other than 0 cost four bytes more.
            Opcode::Set | Opcode::Add | Opcode::Replace => bytes.get(HEADER_BYTES..).map(flags),
            Opcode::Append | Opcode::Prepend => Some(Some(0)),
            _ => return Front::Read(HEADER_BYTES + before_value + value_bytes),
        };
        let Some(Some(flags)) = flags else { return Front::Read(HEADER_BYTES + before_value) };
        let counted = text::item_bytes(usize::from(header.key_bytes), value_bytes, flags);
        if counted <= self.item_bytes_max {
            return Front::Read(HEADER_BYTES + before_value + value_bytes);
        }
        let refused = Refused::of(&header, Status::TOO_LARGE, Then::SwallowedValue);
        Front::Refuse(HEADER_BYTES + before_value, value_bytes, refused)
    }

    fn swallow(&mut self, left: usize, refused: Refused, input: &mut &[u8]) -> Result<(), Refused> {
        let taken = left.min(input.len());
        *input = &input[taken..];
        if taken < left {
            self.expect = Expect::Swallow(left - taken, refused);
            return Ok(());
        }
        self.buffer_spent = true;
        self.expect = match refused.then {
            Then::Continue => Expect::Frame,
            Then::SwallowedValue => Expect::RefusedTold,
            Then::Close => {
                *input = &[];
                Expect::Closed
            }
        };
        Err(refused)
    }

    fn forget_buffer(&mut self) {
        self.buffer.clear();
        if self.buffer.capacity() > BUFFER_BYTES_KEPT {
            self.buffer = Vec::new();
        }
        self.buffer_spent = false;
        self.expect = Expect::Frame;
    }
}

/// The flags at the front of the extras; `None` until they have arrived.
fn flags(extras: &[u8]) -> Option<u32> {
    extras.first_chunk().map(|flags| u32::from_be_bytes(*flags))
}

/// The parts of a command's frame.
struct Shape {
    extras_bytes: u8,
    /// True if the extras may be left out.
    extras_optional: bool,
    /// `Some(true)` if a key is required, `Some(false)` if it is forbidden.
    key: Option<bool>,
    value_bytes_max: usize,
}

impl Shape {
    fn of(opcode: Opcode) -> Self {
        match opcode.loud() {
            Opcode::Get | Opcode::GetK | Opcode::Delete => Self::new(0, Some(true), 0),
            Opcode::Set | Opcode::Add | Opcode::Replace => Self::new(8, Some(true), usize::MAX),
            Opcode::Append | Opcode::Prepend => Self::new(0, Some(true), usize::MAX),
            Opcode::Increment | Opcode::Decrement => Self::new(20, Some(true), 0),
            Opcode::Touch | Opcode::Gat | Opcode::GatK => Self::new(4, Some(true), 0),
            Opcode::Flush => Self { extras_optional: true, ..Self::new(4, Some(false), 0) },
            Opcode::Verbosity => Self::new(4, Some(false), 0),
            Opcode::Stat => Self::new(0, None, 0),
            Opcode::SaslAuth | Opcode::SaslStep => Self::new(0, Some(true), SASL_BYTES_MAX),
            _ => Self::new(0, Some(false), 0),
        }
    }

    const fn new(extras_bytes: u8, key: Option<bool>, value_bytes_max: usize) -> Self {
        Self { extras_bytes, extras_optional: false, key, value_bytes_max }
    }

    fn allows(&self, header: &Header, value_bytes: usize) -> bool {
        let key_bytes = usize::from(header.key_bytes);
        let no_extras = self.extras_optional && header.extras_bytes == 0;
        (header.extras_bytes == self.extras_bytes || no_extras)
            && self.key.is_none_or(|key| key == (key_bytes > 0))
            && key_bytes <= KEY_BYTES_MAX
            && value_bytes <= self.value_bytes_max
    }
}

/// Reads a frame that is whole and has the form that its command requires.
fn parse(frame: &[u8]) -> Request<'_> {
    let header = Header::read(frame.first_chunk().expect("a whole frame has a header"));
    let opcode = Opcode::from_byte(header.opcode).expect("the header was looked at");
    let (extras, key, value) = header.parts(frame);
    let extras = match (opcode.loud(), extras.len()) {
        (_, 0) => Extras::None,
        (_, 8) => Extras::Store { flags: number_32(extras, 0), expiry: number_32(extras, 4) },
        (_, 20) => Extras::Count {
            delta: number_64(extras, 0),
            initial: number_64(extras, 8),
            expiry: number_32(extras, 16),
        },
        (Opcode::Verbosity, _) => Extras::Level(number_32(extras, 0)),
        _ => Extras::Expiry(number_32(extras, 0)),
    };
    Request { opcode, opaque: header.opaque, cas: header.cas, extras, key, value }
}
