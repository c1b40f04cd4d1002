//! The gate through which texts of others come: records, seconds and results of searches, from
//! files and from agents. What a terminal would obey stays outside, and texts without an end.

use memtide_base::printable::is_obeyed;
use std::borrow::Cow;

/// JSON with a space in place of each character that a terminal would obey. Outside of strings
/// there is none but line breaks and tabs, which stay.
pub(super) fn printable_json(text: &str) -> Cow<'_, str> {
    let (mut clean, mut copied, mut at) = (String::new(), 0, 0);
    // Escapes, and what is not ASCII, are looked at.
    let bytes = text.as_bytes();
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\\' || *byte >= 0x7f) {
        at += found;
        let (letter, length) = letter(&text[at..]);
        if is_obeyed(letter) {
            clean.push_str(&text[copied..at]);
            clean.push(' ');
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// The most bytes of a text, unless it is an encoded distribution.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// JSON whose texts are cut off where they are longer than any that memtide writes.
pub(super) fn shortened_json(text: &str) -> Cow<'_, str> {
    let (mut short, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(quote) = text.get(at..).and_then(|rest| rest.find('"')) {
        let from = at + quote + 1;
        let string = &text[from..from + length(&text[from..])];
        if string.len() > TEXT_BYTES_MAX && !is_encoded(string) {
            let mut kept = 0;
            while kept < TEXT_BYTES_MAX {
                kept += letter(&string[kept..]).1;
            }
            short.push_str(&text[copied..from + kept]);
            short.push('…');
            copied = from + string.len();
        }
        at = from + string.len() + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    short.push_str(&text[copied..]);
    Cow::Owned(short)
}

/// The length in bytes of a JSON string that begins `text`, up to its closing quote.
fn length(text: &str) -> usize {
    let mut is_escaped = false;
    let closing = text.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    closing.unwrap_or(text.len())
}

/// True for the letters of base64, without a space.
fn is_encoded(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// The first character of a part of a JSON text, which may be escaped, and its length in bytes.
fn letter(text: &str) -> (char, usize) {
    let mut letters = text.chars();
    let first = letters.next().unwrap_or_default();
    let escaped = letters.next().filter(|_| first == '\\');
    match escaped {
        None => (first, first.len_utf8()),
        Some('u') => {
            let code = text.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
            // Half of a pair stands for a character beyond those that are obeyed.
            code.map_or(('u', 2), |code| (char::from_u32(code).unwrap_or('u'), 6))
        }
        Some('b' | 'f' | 'n' | 'r' | 't') => ('\n', 2),
        Some(other) => (other, 1 + other.len_utf8()),
    }
}

#[cfg(test)]
mod tests;
