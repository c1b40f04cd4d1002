//! Decodes a client's bytes into requests; rejects what memcached rejects, and continues the stream
//! as memcached does. A request that arrives whole is decoded in place. Answers nothing.

use crate::error::{BadLine, BadRequest, Then};
use crate::reply::ErrorKind;
use crate::request::meta::{self, Command, Flag, SetHead};
use crate::request::{KEY_BYTES_MAX, Keys, Request, Verb};
use crate::scan;

/// The longest line, in bytes before its CRLF, except for get and gets.
const LINE_BYTES_MAX: usize = 2048;
/// The longest line of get and gets.
const KEYS_LINE_BYTES_MAX: usize = 1 << 20;
/// The memory for cut requests that the decoder keeps between them, in bytes.
const BUFFER_BYTES_KEPT: usize = 2048;
/// memcached 1.6.18's overhead of an item beside key and value: the header with the cas number, a
/// byte that ends the key, and CRLF.
const ITEM_BYTES_OVERHEAD: usize = 48 + 8 + 1 + 2;

const UNKNOWN: BadRequest = BadRequest::answer(ErrorKind::Error, b"");
const BAD_LINE: BadRequest = BadRequest::client(b"bad command line format");
const BAD_DELETE: BadRequest =
    BadRequest::client(b"bad command line format.  Usage: delete <key> [noreply]");
const BAD_DELTA: BadRequest = BadRequest::client(b"invalid numeric delta argument");
const BAD_EXPIRY: BadRequest = BadRequest::client(b"invalid exptime argument");
const BAD_CHUNK: BadRequest = BadRequest::client(b"bad data chunk");
const TOO_LARGE: BadRequest = BadRequest {
    then: Then::SwallowedValue,
    ..BadRequest::answer(ErrorKind::Server, b"object too large for cache")
};
/// memcached closes the connection without a reply on a line without an end, and on HTTP.
const HANG_UP: BadRequest =
    BadRequest { silent: true, then: Then::Close, ..BadRequest::client(b"line too long") };

/// Decodes what a client sends on one connection.
#[derive(Debug)]
pub struct RequestDecoder {
    item_bytes_max: usize,
    expect: Expect,
    /// The beginning of a line; or the words of a store that are kept and the part of its value that
    /// has arrived; or a request that was just returned.
    buffer: Vec<u8>,
    /// True if `buffer` was returned and must be cleared.
    buffer_spent: bool,
}

#[derive(Clone, Copy, Debug)]
enum Expect {
    Line,
    /// The value of this store, whose kept words are at the front of the buffer.
    Value(Head),
    /// The rest of a refused store, to skip; the buffer holds its key.
    Refused(Refusal),
    /// A refused store that was just returned; the buffer holds its key.
    RefusedTold(Refusal),
    /// Nothing more.
    Closed,
}

impl Expect {
    fn after(bad: &BadRequest) -> Self {
        if bad.then == Then::Close { Self::Closed } else { Self::Line }
    }
}

/// A refused store.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    bad: BadRequest,
    /// The verb of a store that was too large.
    verb: Option<Verb>,
    /// The bytes of its value and CRLF that are not skipped yet.
    left: usize,
}

/// A store, classic or meta, without the bytes of its words and its value.
#[derive(Clone, Copy, Debug)]
enum Head {
    /// The key is kept.
    Classic(StoreHead),
    /// All words from the key on are kept.
    Meta(SetHead),
}

impl Head {
    /// The place of the words to keep until the value has arrived, in a line of this length.
    fn kept(&self, line_bytes: usize) -> std::ops::Range<usize> {
        match self {
            Self::Classic(head) => head.key_start..head.key_start + head.key_bytes,
            Self::Meta(head) => line_bytes - head.words_bytes..line_bytes,
        }
    }

    fn kept_bytes(&self) -> usize {
        match self {
            Self::Classic(head) => head.key_bytes,
            Self::Meta(head) => head.words_bytes,
        }
    }

    fn value_bytes(&self) -> usize {
        match self {
            Self::Classic(head) => head.value_bytes,
            Self::Meta(head) => head.value_bytes,
        }
    }

    /// The request, once the value and the two bytes after it have arrived.
    fn with<'a>(&self, kept: &'a [u8], closed: &'a [u8]) -> Result<Request<'a>, BadRequest> {
        match (self, closed.strip_suffix(b"\r\n")) {
            (Self::Classic(head), Some(value)) => Ok(head.with(kept, value)),
            (Self::Meta(head), Some(value)) => Ok(Request::Meta(head.with(kept, value))),
            (Self::Classic(head), None) => Err(BAD_CHUNK.silent_if(head.noreply)),
            (Self::Meta(_), None) => Err(BAD_CHUNK),
        }
    }
}

/// A storage command without the bytes of its key and value.
#[derive(Clone, Copy, Debug)]
struct StoreHead {
    verb: Verb,
    key_start: usize,
    key_bytes: usize,
    flags: u32,
    expiry: i64,
    value_bytes: usize,
    cas: Option<u64>,
    noreply: bool,
}

impl StoreHead {
    fn with<'a>(&self, key: &'a [u8], value: &'a [u8]) -> Request<'a> {
        let Self { verb, flags, expiry, cas, noreply, .. } = *self;
        Request::Store { verb, key, flags, expiry, value, cas, noreply }
    }
}

impl RequestDecoder {
    /// A decoder at the beginning of a stream. A value is too large if its [`item_bytes`] exceed
    /// `item_bytes_max`.
    pub fn new(item_bytes_max: usize) -> Self {
        let expect = Expect::Line;
        Self { item_bytes_max, expect, buffer: Vec::new(), buffer_spent: false }
    }

    /// Takes the next request from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty. Decoding continues after an error that does not close the stream.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        match self.expect {
            Expect::Line | Expect::RefusedTold(_) => self.next_line(input),
            Expect::Value(head) => self.next_value(head, input),
            Expect::Refused(refusal) => self.swallow(refusal, input),
            Expect::Closed => {
                *input = &[];
                Ok(None)
            }
        }
    }

    /// The verb and key of a store that was too large. Available only directly after such an error.
    /// memcached removes the old value of a set that it refuses, and of every `ms`.
    pub fn refused(&self) -> Option<(Verb, &[u8])> {
        match self.expect {
            Expect::RefusedTold(refusal) => Some((refusal.verb?, &self.buffer)),
            _ => None,
        }
    }

    fn next_line<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        if self.buffer_spent {
            self.forget_buffer();
        }
        let end = scan::find(b'\n', input);
        let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
        let whole = self.buffer.is_empty() && end.is_some();
        if !whole {
            self.buffer.extend_from_slice(piece);
        }
        if line_is_too_long(without_cr(if whole { piece } else { &self.buffer })) {
            self.expect = Expect::Closed;
            self.forget_buffer();
            *input = &[];
            return Err(HANG_UP);
        }
        *input = rest.get(1..).unwrap_or(&[]);
        if end.is_none() {
            debug_assert!(self.buffer.len() <= KEYS_LINE_BYTES_MAX + 1, "a longer line hangs up");
            return Ok(None);
        }
        if whole { self.read(without_cr(piece), input) } else { self.read_buffer(input) }
    }

    /// Reads a line that is whole in the input.
    fn read<'a, 'i: 'a>(
        &'a mut self,
        line: &'i [u8],
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        let spoken = command_of(line).inspect_err(|bad| self.expect = Expect::after(bad))?;
        if !spoken.is_store() {
            return parse_line(spoken, line).map(Some);
        }
        let head = match parse_head(spoken, line) {
            Ok(head) => head,
            Err(bad) => return self.refuse(bad, input),
        };
        let kept = &line[head.kept(line.len())];
        match input.split_at_checked(head.value_bytes() + 2) {
            Some((closed, rest)) if self.fits(&head, kept) => {
                *input = rest;
                head.with(kept, closed).map(Some)
            }
            _ => {
                self.buffer.extend_from_slice(kept);
                self.open_value(head, input)
            }
        }
    }

    /// Reads the line in the buffer.
    fn read_buffer<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        self.buffer_spent = true;
        self.buffer.truncate(without_cr(&self.buffer).len());
        let spoken =
            command_of(&self.buffer).inspect_err(|bad| self.expect = Expect::after(bad))?;
        if !spoken.is_store() {
            return parse_line(spoken, &self.buffer).map(Some);
        }
        let head = match parse_head(spoken, &self.buffer) {
            Ok(head) => head,
            Err(bad) => return self.refuse(bad, input),
        };
        self.buffer_spent = false;
        let kept = head.kept(self.buffer.len());
        self.buffer.copy_within(kept, 0);
        self.buffer.truncate(head.kept_bytes());
        self.open_value(head, input)
    }

    /// Reports a refused line, or first skips the value that it announces.
    fn refuse<'a>(
        &'a mut self,
        bad: BadLine,
        input: &mut &[u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        match bad {
            BadLine { bad, value_bytes: None } => Err(bad),
            BadLine { bad, value_bytes: Some(bytes) } => {
                let bad = BadRequest { then: Then::SwallowedValue, ..bad };
                self.swallow(Refusal { bad, verb: None, left: bytes + 2 }, input)
            }
        }
    }

    /// Begins to read the value of a store; the buffer holds the kept words.
    fn open_value<'a, 'i: 'a>(
        &'a mut self,
        head: Head,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        let left = head.value_bytes() + 2;
        if self.fits(&head, &self.buffer) {
            self.buffer.reserve_exact(left);
            return self.next_value(head, input);
        }
        let (verb, silent) = match head {
            Head::Classic(head) => (head.verb, head.noreply),
            Head::Meta(head) => {
                let key = head.with(&self.buffer, &[]).raw_key(&mut [0; KEY_BYTES_MAX]).to_vec();
                self.buffer = key;
                (Verb::Set, false)
            }
        };
        debug_assert!(self.buffer.len() <= KEY_BYTES_MAX, "a longer key is an error");
        let bad = TOO_LARGE.silent_if(silent);
        self.swallow(Refusal { bad, verb: Some(verb), left }, input)
    }

    fn next_value<'a, 'i: 'a>(
        &'a mut self,
        head: Head,
        input: &mut &'i [u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        let left = head.kept_bytes() + head.value_bytes() + 2 - self.buffer.len();
        let (piece, rest) = input.split_at(left.min(input.len()));
        self.buffer.extend_from_slice(piece);
        *input = rest;
        if piece.len() < left {
            self.expect = Expect::Value(head);
            return Ok(None);
        }
        self.expect = Expect::Line;
        self.buffer_spent = true;
        let (kept, closed) = self.buffer.split_at(head.kept_bytes());
        head.with(kept, closed).map(Some)
    }

    fn swallow<'a>(
        &'a mut self,
        refusal: Refusal,
        input: &mut &[u8],
    ) -> Result<Option<Request<'a>>, BadRequest> {
        let taken = refusal.left.min(input.len());
        *input = &input[taken..];
        let left = refusal.left - taken;
        if left > 0 {
            self.expect = Expect::Refused(Refusal { left, ..refusal });
            return Ok(None);
        }
        self.expect = Expect::RefusedTold(refusal);
        self.buffer_spent = true;
        Err(refusal.bad)
    }

    fn fits(&self, head: &Head, kept: &[u8]) -> bool {
        let (key_bytes, flags) = match head {
            Head::Classic(head) => (head.key_bytes, head.flags),
            Head::Meta(head) if head.options.has(Flag::Base64) => {
                let raw = head.with(kept, &[]).raw_key(&mut [0; KEY_BYTES_MAX]).len();
                (raw, head.options.client_flags)
            }
            Head::Meta(head) => (head.key_bytes, head.options.client_flags),
        };
        item_bytes(key_bytes, head.value_bytes(), flags) <= self.item_bytes_max
    }

    fn forget_buffer(&mut self) {
        self.buffer.clear();
        if self.buffer.capacity() > BUFFER_BYTES_KEPT {
            self.buffer = Vec::new();
        }
        self.buffer_spent = false;
        if let Expect::RefusedTold(_) = self.expect {
            self.expect = Expect::Line;
        }
    }
}

/// The size of an item as memcached 1.6.18 counts it, for its limits and for `stats`. Flags other
/// than 0 add four bytes.
pub fn item_bytes(key_bytes: usize, value_bytes: usize, flags: u32) -> usize {
    let flags_bytes = if flags == 0 { 0 } else { 4 };
    ITEM_BYTES_OVERHEAD + key_bytes + value_bytes + flags_bytes
}

/// True if the line is too long to end any more, unless it is a long list of keys.
fn line_is_too_long(line: &[u8]) -> bool {
    let limit = match scan::trimmed_start(line) {
        [b'g', b'e', b't', b' ', ..] | [b'g', b'e', b't', b's', b' ', ..] => KEYS_LINE_BYTES_MAX,
        _ => LINE_BYTES_MAX,
    };
    line.len() > limit
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_store(verb: Verb) -> bool {
    use Verb::{Add, Append, Cas, Prepend, Replace, Set};
    matches!(verb, Set | Add | Replace | Append | Prepend | Cas)
}

/// The command of a line.
#[derive(Clone, Copy)]
enum Spoken {
    Classic(Verb),
    Meta(Command),
}

impl Spoken {
    /// True if a value follows the line.
    fn is_store(self) -> bool {
        match self {
            Self::Classic(verb) => is_store(verb),
            Self::Meta(command) => command == Command::Set,
        }
    }
}

/// The command of a line ("Commands", "Meta Commands").
fn command_of(line: &[u8]) -> Result<Spoken, BadRequest> {
    let word = scan::word(&mut &*line).unwrap_or(b"");
    let verb = Verb::from_word(word).map(Spoken::Classic);
    verb.or_else(|| Command::from_word(word).map(Spoken::Meta)).ok_or_else(|| {
        let last = Keys::spaced(line).last().unwrap_or(b"");
        if last.starts_with(b"HTTP/") { HANG_UP } else { UNKNOWN }
    })
}

/// Reads the line of a store.
fn parse_head(spoken: Spoken, line: &[u8]) -> Result<Head, BadLine> {
    match spoken {
        Spoken::Classic(verb) => Ok(Head::Classic(parse_store(verb, line)?)),
        Spoken::Meta(_) => SetHead::read(scan::trimmed_start(arguments(line))).map(Head::Meta),
    }
}

/// Reads a command that consists of one line.
fn parse_line(spoken: Spoken, line: &[u8]) -> Result<Request<'_>, BadRequest> {
    match spoken {
        Spoken::Classic(verb) => parse_simple(verb, line),
        Spoken::Meta(command) => meta::Request::read(command, arguments(line)).map(Request::Meta),
    }
}

/// "Storage commands": `<key> <flags> <exptime> <bytes> [<cas unique>] [noreply]`. As in memcached,
/// any word may stand in the place of `noreply`. The value of a refused line is not skipped: its
/// bytes are read as lines.
fn parse_store(verb: Verb, line: &[u8]) -> Result<StoreHead, BadRequest> {
    let words = arguments(line);
    let fixed = if verb == Verb::Cas { 5 } else { 4 };
    let noreply = ends_in_noreply(words, fixed..fixed + 2)?;
    let bad = BAD_LINE.silent_if(noreply);
    let rest = &mut scan::trimmed_start(words);
    let key_start = line.len() - rest.len();
    let key = next_key(rest).ok_or(bad)?;
    let flags = next_number(rest).and_then(|flags| u32::try_from(flags).ok()).ok_or(bad)?;
    let expiry = next_signed(rest).ok_or(bad)?;
    let value_bytes = next_signed(rest).and_then(|bytes| i32::try_from(bytes).ok());
    let value_bytes = value_bytes.filter(|bytes| *bytes <= i32::MAX - 2);
    let value_bytes = value_bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(bad)?;
    let cas = match verb {
        Verb::Cas => Some(next_number(rest).ok_or(bad)?),
        _ => None,
    };
    let key_bytes = key.len();
    Ok(StoreHead { verb, key_start, key_bytes, flags, expiry, value_bytes, cas, noreply })
}

/// Parses the commands that consist of one line.
fn parse_simple(verb: Verb, line: &[u8]) -> Result<Request<'_>, BadRequest> {
    let words = arguments(line);
    match verb {
        Verb::Get | Verb::Gets | Verb::Gat | Verb::Gats => parse_retrieval(verb, words),
        Verb::Delete => parse_delete(words),
        Verb::Incr | Verb::Decr => {
            let noreply = ends_in_noreply(words, 2..4)?;
            let rest = &mut &*words;
            let key = next_key(rest).ok_or(BAD_LINE.silent_if(noreply))?;
            let delta = next_number(rest).ok_or(BAD_DELTA.silent_if(noreply))?;
            Ok(Request::Arithmetic { verb, key, delta, noreply })
        }
        Verb::Touch => {
            let noreply = ends_in_noreply(words, 2..4)?;
            let rest = &mut &*words;
            let key = next_key(rest).ok_or(BAD_LINE.silent_if(noreply))?;
            let expiry = next_signed(rest).ok_or(BAD_EXPIRY.silent_if(noreply))?;
            Ok(Request::Touch { key, expiry, noreply })
        }
        Verb::Stats => {
            let argument = scan::trimmed(words);
            Ok(Request::Stats { argument: (!argument.is_empty()).then_some(argument) })
        }
        Verb::FlushAll => {
            let noreply = ends_in_noreply(words, 0..3)?;
            let alone = Keys::spaced(words).count() == usize::from(noreply);
            let delay = match alone {
                true => None,
                false => Some(next_signed(&mut &*words).ok_or(BAD_EXPIRY.silent_if(noreply))?),
            };
            Ok(Request::FlushAll { delay, noreply })
        }
        Verb::Verbosity => {
            let noreply = ends_in_noreply(words, 1..3)?;
            let level = next_number(&mut &*words).and_then(|level| u32::try_from(level).ok());
            Ok(Request::Verbosity { level: level.ok_or(BAD_LINE.silent_if(noreply))?, noreply })
        }
        Verb::Version => Ok(Request::Version),
        Verb::Quit => Ok(Request::Quit),
        Verb::Set | Verb::Add | Verb::Replace | Verb::Append | Verb::Prepend | Verb::Cas => {
            unreachable!("a store has a value and is read by parse_store")
        }
    }
}

/// "Retrieval command": `<key>*`; "Get And Touch": `<exptime> <key>*`.
fn parse_retrieval(verb: Verb, words: &[u8]) -> Result<Request<'_>, BadRequest> {
    let rest = &mut &*words;
    let expiry = match verb {
        Verb::Gat | Verb::Gats => {
            let word = scan::word(rest).ok_or(UNKNOWN)?;
            Some(scan::signed_decimal(word).ok_or(BAD_EXPIRY)?)
        }
        _ => None,
    };
    let keys = Keys::spaced(rest);
    let mut checked = keys.peekable();
    checked.peek().ok_or(UNKNOWN)?;
    if checked.any(|key| key.len() > KEY_BYTES_MAX) {
        return Err(BAD_LINE);
    }
    Ok(Request::Retrieve { verb, expiry, keys })
}

/// "Deletion": `<key> [noreply]`. The obsolete `0` after the key is still accepted.
fn parse_delete(words: &[u8]) -> Result<Request<'_>, BadRequest> {
    let noreply = ends_in_noreply(words, 1..4)?;
    let rest = &mut &*words;
    let key = scan::word(rest).ok_or(UNKNOWN)?;
    // A key may be called `noreply`.
    let (first, second) = (scan::word(rest), scan::word(rest));
    let noreply = noreply && first.is_some();
    let valid = match (first, second) {
        (None, _) => true,
        (Some(first), None) => first == b"0" || noreply,
        (Some(first), Some(_)) => first == b"0" && noreply,
    };
    match valid {
        false => Err(BAD_DELETE.silent_if(noreply)),
        true if key.len() > KEY_BYTES_MAX => Err(BAD_LINE.silent_if(noreply)),
        true => Ok(Request::Delete { key, noreply }),
    }
}

/// The part of the line after the command's word.
fn arguments(line: &[u8]) -> &[u8] {
    let mut rest = line;
    scan::word(&mut rest);
    rest
}

/// True if the last word is `noreply`; an error if there are too few or too many words.
fn ends_in_noreply(words: &[u8], allowed: std::ops::Range<usize>) -> Result<bool, BadRequest> {
    let (count, last) = Keys::spaced(words).fold((0, &b""[..]), |(n, _), word| (n + 1, word));
    if allowed.contains(&count) { Ok(last == b"noreply") } else { Err(UNKNOWN) }
}

fn next_key<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    scan::word(rest).filter(|key| key.len() <= KEY_BYTES_MAX)
}

fn next_number(rest: &mut &[u8]) -> Option<u64> {
    scan::decimal(scan::word(rest)?)
}

fn next_signed(rest: &mut &[u8]) -> Option<i64> {
    scan::signed_decimal(scan::word(rest)?)
}

#[cfg(test)]
mod tests;
