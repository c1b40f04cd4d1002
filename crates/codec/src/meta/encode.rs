//! Encodes requests and replies of the meta protocol. Appends to the caller's buffer without
//! formatting machinery; does not check keys, values and flags.

use super::reply_decoder::Answer;
use super::{Command, Flag};
use crate::base64;
use crate::reply::Reply;
use crate::text::encode as text;
use crate::write::digits;

pub use crate::text::encode::{key_with, meta_request as request};

/// Writes the command's word. A key follows, except for `mn`: [`key_with`] or [`key_base64`].
#[inline]
pub fn command(out: &mut Vec<u8>, command: Command) {
    out.extend_from_slice(command.word());
}

/// Writes a space and the text of a key of 1 to [`base64::RAW_BYTES_MAX`] raw bytes. The flag
/// [`Flag::Base64`] must follow.
pub fn key_base64(out: &mut Vec<u8>, raw: &[u8]) {
    key_with(out, |out| base64::encode(out, raw));
}

/// Writes the length of the value of an `ms`, directly after the key. The value and its CRLF must
/// follow the line.
#[inline]
pub fn value_bytes(out: &mut Vec<u8>, bytes: usize) {
    text::number(out, bytes as u64);
}

/// Writes a flag without a token.
#[inline]
pub fn flag(out: &mut Vec<u8>, flag: Flag) {
    out.extend_from_slice(&[b' ', flag as u8]);
}

/// Writes a flag and a number.
#[inline]
pub fn flag_number(out: &mut Vec<u8>, one: Flag, value: u64) {
    flag(out, one);
    digits(out, value);
}

/// Writes a flag and a number, with its sign if negative.
#[inline]
pub fn flag_signed(out: &mut Vec<u8>, one: Flag, value: i64) {
    flag(out, one);
    if value < 0 {
        out.push(b'-');
    }
    digits(out, value.unsigned_abs());
}

/// Writes a flag and a word.
#[inline]
pub fn flag_word(out: &mut Vec<u8>, one: Flag, token: &[u8]) {
    flag(out, one);
    out.extend_from_slice(token);
}

/// Writes the end of any line.
#[inline]
pub fn line_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Writes `mn`, which is always answered.
#[inline]
pub fn noop(out: &mut Vec<u8>) {
    out.extend_from_slice(b"mn\r\n");
}

/// Writes the code and the length of a value, whose flags, end of line and bytes must follow.
#[inline]
pub fn value_head(out: &mut Vec<u8>, bytes: usize) {
    out.extend_from_slice(b"VA");
    text::number(out, bytes as u64);
}

/// Writes the code of a reply that has one without a value. Flags and the end of the line must
/// follow.
pub fn code(out: &mut Vec<u8>, reply: Reply<'_>) {
    out.extend_from_slice(match reply {
        Reply::Done => b"HD",
        Reply::End => b"EN",
        Reply::NotStored => b"NS",
        Reply::Exists => b"EX",
        Reply::NotFound => b"NF",
        Reply::Noop => b"MN",
        _ => unreachable!("a reply without a code of its own"),
    });
}

/// Writes a whole answer, or one decoded piece of it. Its flags go as they are: the key, flags and
/// cas number of a value are not written beside them.
pub fn answer(out: &mut Vec<u8>, answer: &Answer<'_>) {
    let Answer { reply, flags } = *answer;
    match reply {
        Reply::Value { bytes, .. } => value_head(out, bytes),
        Reply::Item { key, figures } => {
            out.extend_from_slice(b"ME ");
            out.extend_from_slice(key);
            out.push(b' ');
            out.extend_from_slice(figures);
        }
        Reply::Done
        | Reply::End
        | Reply::NotStored
        | Reply::Exists
        | Reply::NotFound
        | Reply::Noop => code(out, reply),
        _ => return text::reply(out, &reply),
    }
    text::meta_flags(out, flags);
    line_end(out);
}
