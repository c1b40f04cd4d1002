//! Frames: the header on the wire ("Packet Structure"), and the parts of whole requests and
//! answers. Rejects only a header whose lengths contradict each other.

use super::opcode::{Opcode, Status};
use crate::reply::Reply;

/// The length of a header.
pub(crate) const HEADER_BYTES: usize = 24;
/// The first byte of a request.
pub(crate) const MAGIC_REQUEST: u8 = 0x80;
/// The first byte of an answer.
pub(crate) const MAGIC_ANSWER: u8 = 0x81;
/// The expiry of an increment or decrement that must not create the key.
pub const NEVER_CREATE: u32 = u32::MAX;
/// An expiry in the distant past. Expiries up to 30 days count from now; one second more is a Unix
/// time, in January 1970.
const EXPIRED: u32 = 60 * 60 * 24 * 30 + 1;

/// One answer, or one piece of it. A value comes as `Value, Data, …`; a retrieval that is not quiet
/// ends with `End`, as do statistics and a noop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The command that is answered.
    pub opcode: Opcode,
    /// The opaque number of its request.
    pub opaque: u32,
    /// The status.
    pub status: Status,
    /// The meaning of the status and body.
    pub reply: Reply<'a>,
}

/// One request, with every field of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The command.
    pub opcode: Opcode,
    /// A number that the answer repeats.
    pub opaque: u32,
    /// The cas number that must still be valid; 0 for none.
    pub cas: u64,
    /// The extras of its command.
    pub extras: Extras,
    /// Up to 250 bytes: the key; for stats the group of statistics; for SASL the mechanism.
    pub key: &'a [u8],
    /// The value; for SASL the mechanism's message.
    pub value: &'a [u8],
}

/// The extras of a command. An expiry has the meaning of the text protocol, but is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extras {
    /// Nothing.
    None,
    /// Set, add and replace.
    Store {
        /// A number that the server keeps for the client.
        flags: u32,
        /// The expiry.
        expiry: u32,
    },
    /// Increment and decrement.
    Count {
        /// The amount.
        delta: u64,
        /// The initial number, if the key does not exist.
        initial: u64,
        /// The expiry of a key that is created; [`NEVER_CREATE`] to create none.
        expiry: u32,
    },
    /// Touch, gat, and a delayed flush.
    Expiry(u32),
    /// Verbosity: the log level.
    Level(u32),
}

/// Converts an expiry of the text protocol to 32 bits. A negative one, which expires at once,
/// becomes an instant in the distant past; one after 2106 becomes the latest second possible.
pub fn expiry(expiry: i64) -> u32 {
    if expiry < 0 { EXPIRED } else { u32::try_from(expiry).unwrap_or(u32::MAX) }
}

/// A header without its magic byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub opcode: u8,
    pub key_bytes: u16,
    pub extras_bytes: u8,
    pub status: Status,
    /// The length of extras, key and value together.
    pub body_bytes: u32,
    pub opaque: u32,
    pub cas: u64,
}

impl Header {
    /// Reads the header at the front of `bytes`.
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [_, opcode, k0, k1, extras_bytes, _, s0, s1, rest @ ..] = *bytes;
        let [b0, b1, b2, b3, o0, o1, o2, o3, cas @ ..] = rest;
        Self {
            opcode,
            key_bytes: u16::from_be_bytes([k0, k1]),
            extras_bytes,
            status: Status(u16::from_be_bytes([s0, s1])),
            body_bytes: u32::from_be_bytes([b0, b1, b2, b3]),
            opaque: u32::from_be_bytes([o0, o1, o2, o3]),
            cas: u64::from_be_bytes(cas),
        }
    }

    /// The header's bytes.
    pub fn bytes(&self, magic: u8) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = magic;
        bytes[1] = self.opcode;
        bytes[2..4].copy_from_slice(&self.key_bytes.to_be_bytes());
        bytes[4] = self.extras_bytes;
        bytes[6..8].copy_from_slice(&self.status.0.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.body_bytes.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.opaque.to_be_bytes());
        bytes[16..].copy_from_slice(&self.cas.to_be_bytes());
        bytes
    }

    /// The length of extras and key together.
    pub fn before_value(&self) -> usize {
        usize::from(self.extras_bytes) + usize::from(self.key_bytes)
    }

    /// The length of the value; `None` if extras and key are longer than the body.
    pub fn value_bytes(&self) -> Option<usize> {
        usize::try_from(self.body_bytes).ok()?.checked_sub(self.before_value())
    }

    /// Splits the frame that this header begins: extras, key and value.
    pub fn parts<'a>(&self, frame: &'a [u8]) -> (&'a [u8], &'a [u8], &'a [u8]) {
        let body = &frame[HEADER_BYTES..];
        let (extras, rest) = body.split_at(usize::from(self.extras_bytes));
        let (key, value) = rest.split_at(usize::from(self.key_bytes));
        (extras, key, value)
    }
}

/// Reads the 32-bit number at `at`.
pub(crate) fn number_32(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes[at..at + 4].try_into();
    u32::from_be_bytes(bytes.expect("four bytes are four bytes"))
}

/// Reads the 64-bit number at `at`.
pub(crate) fn number_64(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[at..at + 8].try_into();
    u64::from_be_bytes(bytes.expect("eight bytes are eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_keeps_its_meaning() {
        assert_eq!([expiry(0), expiry(60), expiry(-1)], [0, 60, EXPIRED]);
        assert_eq!(expiry(1_700_000_000), 1_700_000_000);
        assert_eq!([expiry(i64::MIN), expiry(i64::MAX)], [EXPIRED, u32::MAX]);
    }
}
