//! Decodes a server's frames into answers. A frame that arrives whole is decoded in place; values
//! pass through in pieces and are counted, never read. Does not know which request an answer
//! belongs to.

use super::frame::{Answer, HEADER_BYTES, Header, MAGIC_ANSWER, number_32, number_64};
use super::opcode::{Opcode, Status};
use crate::error::Malformed;
use crate::reply::{ErrorKind, ErrorReply, Reply};
use crate::request::KEY_BYTES_MAX;

/// The longest value: the maximum of memcached's `-I`.
const VALUE_BYTES_MAX: usize = 1 << 30;
/// The longest body of an answer without a value.
const WORDS_BYTES_MAX: usize = 4096;
/// The memory for cut frames that the decoder keeps between them, in bytes.
const PARTIAL_BYTES_KEPT: usize = 96;
/// memcached's reply, in any protocol, to a connection that it has no room for.
const TURNED_AWAY: &[u8] = b"ERROR Too many open connections\r\n";

/// Decodes what a server sends on one connection.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    expect: Expect,
    /// The beginning of a frame that has not arrived whole, or a frame that was just returned.
    partial: Vec<u8>,
    /// True if `partial` was returned and must be cleared.
    partial_spent: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Expect {
    #[default]
    Frame,
    /// The given number of bytes of a value, in an answer with this head.
    Value(usize, AnswerHead),
    /// No bytes: only the event that the value was the last is left to return.
    End(AnswerHead),
}

/// The fields that all pieces of one answer share.
#[derive(Clone, Copy, Debug)]
struct AnswerHead {
    opcode: Opcode,
    opaque: u32,
    status: Status,
}

impl AnswerHead {
    fn with(self, reply: Reply<'_>) -> Answer<'_> {
        let Self { opcode, opaque, status } = self;
        Answer { opcode, opaque, status, reply }
    }
}

impl ReplyDecoder {
    /// A decoder at the beginning of a stream. It allocates nothing until a frame is cut in two.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next answer from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty. An error is the server's fault, and nothing can be decoded after it.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Answer<'a>>, Malformed> {
        match self.expect {
            Expect::Frame => self.next_frame(input),
            Expect::Value(left, head) => Ok(self.next_data(left, head, input)),
            Expect::End(head) => {
                self.expect = Expect::Frame;
                Ok(Some(head.with(Reply::End)))
            }
        }
    }

    /// True if the stream stands between answers: no frame is partly read and no value is open.
    pub fn is_idle(&self) -> bool {
        matches!(self.expect, Expect::Frame) && (self.partial.is_empty() || self.partial_spent)
    }

    fn next_frame<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Answer<'a>>, Malformed> {
        if self.partial_spent {
            self.forget_partial();
        }
        if self.partial.is_empty() {
            let needed = needed(input)?;
            if let Some((front, rest)) = input.split_at_checked(needed) {
                *input = rest;
                let (answer, expect) = parse(front)?;
                self.expect = expect;
                return Ok(Some(answer));
            }
        }
        loop {
            let needed = needed(&self.partial)?;
            let longest = HEADER_BYTES + WORDS_BYTES_MAX.max(KEY_BYTES_MAX + usize::from(u8::MAX));
            debug_assert!((self.partial.len()..=longest).contains(&needed), "a frame is bounded");
            let missing = needed - self.partial.len();
            if missing == 0 {
                break;
            }
            if input.is_empty() {
                return Ok(None);
            }
            let (piece, rest) = input.split_at(missing.min(input.len()));
            if self.partial.capacity() == 0 {
                self.partial.reserve_exact(PARTIAL_BYTES_KEPT);
            }
            self.partial.extend_from_slice(piece);
            *input = rest;
        }
        self.partial_spent = true;
        let (answer, expect) = parse(&self.partial)?;
        self.expect = expect;
        Ok(Some(answer))
    }

    fn next_data<'i>(
        &mut self,
        left: usize,
        head: AnswerHead,
        input: &mut &'i [u8],
    ) -> Option<Answer<'i>> {
        if left > 0 && input.is_empty() {
            return None;
        }
        debug_assert!(left <= VALUE_BYTES_MAX, "a longer value is an error");
        let (bytes, rest) = input.split_at(left.min(input.len()));
        *input = rest;
        let ends = bytes.len() == left;
        self.expect = match ends {
            false => Expect::Value(left - bytes.len(), head),
            true if head.opcode.is_quiet() => Expect::Frame,
            true => Expect::End(head),
        };
        Some(head.with(Reply::Data { bytes, ends }))
    }

    fn forget_partial(&mut self) {
        self.partial.clear();
        if self.partial.capacity() > PARTIAL_BYTES_KEPT {
            self.partial = Vec::new();
        }
        self.partial_spent = false;
    }
}

/// The number of bytes at the front of `bytes` to read at once, as far as `bytes` tells: the whole
/// frame, or the frame without its value.
fn needed(bytes: &[u8]) -> Result<usize, Malformed> {
    match bytes.first() {
        Some(&MAGIC_ANSWER) | None => {}
        Some(&got) => {
            let said = &bytes[..bytes.len().min(TURNED_AWAY.len())];
            let so_far = TURNED_AWAY.starts_with(said);
            return if so_far { Ok(TURNED_AWAY.len()) } else { Err(Malformed::NoFrame { got }) };
        }
    }
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(HEADER_BYTES) };
    let header = Header::read(header);
    frame_needed(&header)
        .map_err(|expected| Malformed::BadFrame { opcode: header.opcode, expected })
}

/// The number of bytes to read at once of the frame with this header. The error says what was
/// expected.
#[inline]
fn frame_needed(header: &Header) -> Result<usize, &'static str> {
    let Some(opcode) = Opcode::from_byte(header.opcode) else {
        return Err("the number of a command");
    };
    let Some(value_bytes) = header.value_bytes() else {
        return Err("a body that is at least as long as its extras and key together");
    };
    if usize::from(header.key_bytes) > KEY_BYTES_MAX {
        return Err("a key of at most 250 bytes");
    }
    if !opcode.brings_value(header.status) {
        let words = header.before_value() + value_bytes;
        let fits = words <= WORDS_BYTES_MAX;
        return if fits { Ok(HEADER_BYTES + words) } else { Err("at most 4096 bytes of words") };
    }
    let extras_bytes = if opcode.retrieves() { 4 } else { 0 };
    if header.extras_bytes != extras_bytes {
        return Err("four bytes of flags before a value that was stored");
    }
    if value_bytes > VALUE_BYTES_MAX {
        return Err("a value of at most 1 GiB");
    }
    Ok(HEADER_BYTES + header.before_value())
}

/// Reads the bytes that [`needed`] asked for.
fn parse(front: &[u8]) -> Result<(Answer<'_>, Expect), Malformed> {
    let header = match front.first_chunk::<HEADER_BYTES>() {
        Some(header) if header[0] == MAGIC_ANSWER => Header::read(header),
        _ => {
            let error =
                ErrorReply { kind: ErrorKind::Error, message: b"Too many open connections" };
            let head = AnswerHead { opcode: Opcode::Noop, opaque: 0, status: Status::BUSY };
            return Ok((head.with(Reply::Error(error)), Expect::Frame));
        }
    };
    let opcode = Opcode::from_byte(header.opcode).expect("the header was looked at");
    let head = AnswerHead { opcode, opaque: header.opaque, status: header.status };
    let (extras, key, value) = header.parts(front);
    if opcode.brings_value(header.status) {
        let bytes = header.value_bytes().expect("the header was looked at");
        let flags = if extras.is_empty() { 0 } else { number_32(extras, 0) };
        let reply = Reply::Value { key, flags, bytes, cas: Some(header.cas) };
        return Ok((head.with(reply), Expect::Value(bytes, head)));
    }
    let reply = match header.status {
        Status::SUCCESS => success(opcode, key, value)?,
        status => failure(opcode, status, value),
    };
    Ok((head.with(reply), Expect::Frame))
}

/// The reply of a successful command that returns no value.
fn success<'a>(opcode: Opcode, key: &'a [u8], value: &'a [u8]) -> Result<Reply<'a>, Malformed> {
    Ok(match opcode.loud() {
        Opcode::Set | Opcode::Add | Opcode::Replace | Opcode::Append | Opcode::Prepend => {
            Reply::Stored
        }
        Opcode::Delete => Reply::Deleted,
        Opcode::Touch => Reply::Touched,
        Opcode::Increment | Opcode::Decrement if value.len() == 8 => {
            Reply::Number(number_64(value, 0))
        }
        Opcode::Increment | Opcode::Decrement => {
            let expected = "a number of eight bytes";
            return Err(Malformed::BadFrame { opcode: opcode as u8, expected });
        }
        Opcode::Noop => Reply::End,
        Opcode::Version => Reply::Version(value),
        Opcode::Stat if key.is_empty() && value.is_empty() => Reply::End,
        Opcode::Stat => Reply::Stat { name: key, value },
        _ => Reply::Ok,
    })
}

/// The reply of an unsuccessful command. An add that finds its key, or a replace that does not, is
/// an unmet condition and no error.
fn failure(opcode: Opcode, status: Status, words: &[u8]) -> Reply<'_> {
    match (status, opcode.loud()) {
        (Status::KEY_NOT_FOUND, Opcode::Get | Opcode::GetK | Opcode::Gat | Opcode::GatK)
            if !opcode.is_quiet() =>
        {
            Reply::End
        }
        (Status::KEY_NOT_FOUND, Opcode::Replace) => Reply::NotStored,
        (Status::KEY_NOT_FOUND, _) => Reply::NotFound,
        (Status::KEY_EXISTS, Opcode::Add) => Reply::NotStored,
        (Status::KEY_EXISTS, _) => Reply::Exists,
        (Status::NOT_STORED, _) => Reply::NotStored,
        _ => {
            let message = if words.is_empty() { status.words() } else { words };
            Reply::Error(ErrorReply { kind: status.kind(), message })
        }
    }
}
