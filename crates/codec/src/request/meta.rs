//! Requests of the meta protocol ("Meta Commands"): the meaning of their flags, and what memcached
//! refuses. Neither reads values nor knows items.

use super::KEY_BYTES_MAX;
pub use super::flags::{Command, Flag, Flags, Letters, OPAQUE_BYTES_MAX, Word};
use crate::base64::{self, RAW_BYTES_MAX};
use crate::error::{BadLine, BadRequest};
use crate::scan;

/// The most words of a line of memcached, without the end.
const WORDS_MAX: usize = 19;

const BAD_LINE: BadRequest = BadRequest::client(b"bad command line format");
const BAD_TOKEN: BadRequest = BadRequest::client(b"bad token in command line format");
const TOO_MANY: BadRequest = BadRequest::client(b"options flags are too long");
const TOO_MANY_ELSEWHERE: BadRequest = BadRequest::client(b"options flags too long");
/// memcached's one message for all faults in the flags of some commands.
const BAD_FLAG: BadRequest = BadRequest::client(b"invalid or duplicate flag");
const LONG_OPAQUE: BadRequest = BadRequest::client(b"opaque token too long");

/// One request. It owns no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The command.
    pub command: Command,
    /// The key as written, in base64 if the flags say so; empty for `mn`.
    pub key: &'a [u8],
    /// The flags as written; empty for `mn`.
    pub flags: Flags<'a>,
    /// The meaning of the flags.
    pub options: Options,
    /// The value of `ms`, else empty; any bytes are allowed.
    pub value: &'a [u8],
}

/// The meaning of a request's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A bit for each flag's letter.
    flags: u128,
    /// The mode of `ms` or `ma`.
    pub mode: Mode,
    /// The new expiry (`T`), as in the other protocols.
    pub expiry: Option<i64>,
    /// The expiry of a key that is created (`N`).
    pub vivify: Option<i64>,
    /// The time before expiry within which a client wins (`R`).
    pub recache: Option<i64>,
    /// The cas number to compare with (`C`).
    pub compare_cas: Option<u64>,
    /// The cas number that the item gets (`E`).
    pub new_cas: Option<u64>,
    /// The client's flags to store (`F`).
    pub client_flags: u32,
    /// The amount to add or subtract (`D`).
    pub delta: u64,
    /// The number of a key that is created (`J`).
    pub initial: u64,
}

/// Mode of `ms` and `ma` (`M`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// ms: store unconditionally. ma: increment. Other commands have no other mode.
    Plain,
    /// Store only if the key does not exist.
    Add,
    /// Append to a value.
    Append,
    /// Prepend to a value.
    Prepend,
    /// Store only if the key exists.
    Replace,
    /// Decrement.
    Decrement,
}

impl<'a> Request<'a> {
    /// A request with these flags. An error is what memcached answers if it refuses them.
    pub fn new(
        command: Command,
        key: &'a [u8],
        flags: Flags<'a>,
        value: &'a [u8],
    ) -> Result<Self, BadRequest> {
        let options = Options::read(command, key, flags)?;
        Ok(Self { command, key, flags, options, value })
    }

    /// The key's bytes, decoded to `raw` if they are written in base64.
    pub fn raw_key<'o>(&self, raw: &'o mut base64::Raw) -> &'o [u8]
    where
        'a: 'o,
    {
        match self.options.has(Flag::Base64) {
            true => base64::decode(self.key, raw).unwrap_or_default(),
            false => self.key,
        }
    }

    /// Reads the words after the command, except for those of `ms`.
    pub(crate) fn read(command: Command, words: &'a [u8]) -> Result<Self, BadRequest> {
        if command == Command::Noop {
            return Self::new(command, &[], Flags::default(), &[]);
        }
        let rest = &mut &*words;
        let key = match (scan::word(rest), command) {
            (Some(key), _) if key.len() <= KEY_BYTES_MAX => key,
            (None, Command::Get | Command::Delete | Command::Arithmetic) => {
                return Err(BadRequest::answer(crate::reply::ErrorKind::Error, b""));
            }
            _ => return Err(BAD_LINE),
        };
        Self::new(command, key, Flags::spaced(rest), &[])
    }
}

impl Options {
    const NONE: Self = Self {
        flags: 0,
        mode: Mode::Plain,
        expiry: None,
        vivify: None,
        recache: None,
        compare_cas: None,
        new_cas: None,
        client_flags: 0,
        delta: 1,
        initial: 0,
    };

    /// True if the request has this flag.
    pub const fn has(&self, flag: Flag) -> bool {
        self.flags >> flag as u8 & 1 == 1
    }

    /// Reads flags as memcached 1.6.18 does, and those of later versions.
    fn read(command: Command, key: &[u8], flags: Flags<'_>) -> Result<Self, BadRequest> {
        if command == Command::Debug {
            return Self::read_debug(key, flags);
        }
        let before = if command == Command::Set { 3 } else { 2 };
        if flags.count() + before > WORDS_MAX {
            return Err(if command == Command::Get { TOO_MANY } else { TOO_MANY_ELSEWHERE });
        }
        let one_message = matches!(command, Command::Delete | Command::Arithmetic);
        let mut options = Self::NONE;
        options.note_all(key, flags).map_err(|bad| if one_message { BAD_FLAG } else { bad })?;
        if let Some(word) = flags.find(Flag::Mode) {
            options.mode = match command {
                Command::Set | Command::Arithmetic => mode(command, word.token)?,
                _ => Mode::Plain,
            };
        }
        match flags.find(Flag::Opaque) {
            Some(word) if word.token.len() > OPAQUE_BYTES_MAX => Err(LONG_OPAQUE),
            _ => Ok(options),
        }
    }

    /// `me` knows one flag, in the first place, and reads no other.
    fn read_debug(key: &[u8], mut flags: Flags<'_>) -> Result<Self, BadRequest> {
        let is_base64 = flags.next().is_some_and(|word| word.letter == b'b' && word.token == b"");
        if !is_base64 {
            return Ok(Self::NONE);
        }
        base64::decode(key, &mut [0; RAW_BYTES_MAX]).ok_or(BAD_LINE)?;
        Ok(Self { flags: 1 << Flag::Base64 as u8, ..Self::NONE })
    }

    /// Takes every flag into account. Of several faults the last is reported, except that an
    /// unknown or repeated flag ends the line.
    fn note_all(&mut self, key: &[u8], flags: Flags<'_>) -> Result<(), BadRequest> {
        let mut fault = None;
        for word in flags {
            let bit = 1_u128.checked_shl(word.letter.into()).filter(|_| word.letter < 127);
            let Some(bit) = bit.filter(|bit| self.flags & bit == 0) else {
                return Err(BadRequest::client(b"duplicate flag"));
            };
            self.flags |= bit;
            let flag = Flag::from_letter(word.letter).filter(|flag| !flag.is_returned_only());
            let Some(flag) = flag else { return Err(BadRequest::client(b"invalid flag")) };
            fault = self.note(flag, word, key).err().or(fault);
        }
        fault.map_or(Ok(()), Err)
    }

    fn note(&mut self, flag: Flag, word: Word<'_>, key: &[u8]) -> Result<(), BadRequest> {
        match flag {
            Flag::Base64 => {
                let bad = BadRequest::client(b"error decoding key");
                base64::decode(key, &mut [0; RAW_BYTES_MAX]).ok_or(bad)?;
            }
            Flag::Vivify => self.vivify = Some(word.signed_32().ok_or(BAD_TOKEN)?),
            Flag::Expiry => self.expiry = Some(word.signed_32().ok_or(BAD_TOKEN)?),
            Flag::Recache => self.recache = Some(word.signed_32().ok_or(BAD_TOKEN)?),
            Flag::StoreFlags => {
                let flags = word.number_signless().and_then(|flags| u32::try_from(flags).ok());
                self.client_flags = flags.ok_or(BAD_LINE)?;
            }
            Flag::CompareCas => self.compare_cas = Some(word.number_signless().ok_or(BAD_TOKEN)?),
            Flag::NewCas => self.new_cas = Some(word.number_signless().ok_or(BAD_TOKEN)?),
            Flag::Mode if word.token.len() != 1 => {
                return Err(BadRequest::client(b"incorrect length for M token"));
            }
            Flag::Initial => {
                let bad = BadRequest::client(b"invalid numeric initial value");
                self.initial = word.number_signless().ok_or(bad)?;
            }
            Flag::Delta => {
                let bad = BadRequest::client(b"invalid numeric delta value");
                self.delta = word.number_signless().ok_or(bad)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn mode(command: Command, token: &[u8]) -> Result<Mode, BadRequest> {
    match (command, token) {
        (Command::Set, b"S") => Ok(Mode::Plain),
        (Command::Set, b"E") => Ok(Mode::Add),
        (Command::Set, b"A") => Ok(Mode::Append),
        (Command::Set, b"P") => Ok(Mode::Prepend),
        (Command::Set, b"R") => Ok(Mode::Replace),
        (Command::Set, _) => Err(BadRequest::client(b"invalid mode for ms M token")),
        (_, b"I" | b"+") => Ok(Mode::Plain),
        (_, b"D" | b"-") => Ok(Mode::Decrement),
        _ => Err(BadRequest::client(b"invalid mode for ma M token")),
    }
}

/// The line of an `ms`, without the bytes of its words and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetHead {
    pub key_bytes: usize,
    /// The first byte of the flags, counted from the key's first.
    flags_start: usize,
    /// The length of the words from the key on.
    pub words_bytes: usize,
    pub value_bytes: usize,
    pub options: Options,
}

impl SetHead {
    /// Reads the words after the command, of which the first begins with the first byte.
    pub fn read(words: &[u8]) -> Result<Self, BadLine> {
        let rest = &mut &*words;
        let Some(key) = scan::word(rest) else {
            let bad = BadRequest::answer(crate::reply::ErrorKind::Error, b"");
            return Err(BadLine { bad, value_bytes: None });
        };
        if key.len() <= KEY_BYTES_MAX && Flags::spaced(words).count() + 1 > WORDS_MAX {
            return Err(BadLine { bad: TOO_MANY_ELSEWHERE, value_bytes: None });
        }
        let bytes = scan::word(rest).filter(|_| key.len() <= KEY_BYTES_MAX);
        let bytes =
            bytes.and_then(scan::signed_decimal).and_then(|bytes| i32::try_from(bytes).ok());
        let bytes = bytes.filter(|bytes| *bytes <= i32::MAX - 2);
        let Some(value_bytes) = bytes.and_then(|bytes| usize::try_from(bytes).ok()) else {
            return Err(BadLine { bad: BAD_LINE, value_bytes: None });
        };
        let options = Options::read(Command::Set, key, Flags::spaced(rest))
            .map_err(|bad| BadLine { bad, value_bytes: Some(value_bytes) })?;
        let (words_bytes, flags_start) = (words.len(), words.len() - rest.len());
        Ok(Self { key_bytes: key.len(), flags_start, words_bytes, value_bytes, options })
    }

    /// The request with its words and its value.
    pub fn with<'a>(&self, words: &'a [u8], value: &'a [u8]) -> Request<'a> {
        let (key, flags) = (&words[..self.key_bytes], Flags::spaced(&words[self.flags_start..]));
        Request { command: Command::Set, key, flags, options: self.options, value }
    }
}
