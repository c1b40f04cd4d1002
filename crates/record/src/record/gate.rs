//! The gate through which texts of others come: records, seconds and results of searches, from
//! files and from agents. What a terminal would obey stays outside.

use memtide_base::printable::is_obeyed;
use std::borrow::Cow;

/// JSON with a space in place of each character that a terminal would obey. Outside of strings
/// there is none but line breaks and tabs, which stay.
pub(super) fn printable_json(text: &str) -> Cow<'_, str> {
    let (mut clean, mut copied, mut at) = (String::new(), 0, 0);
    let is_doubtful = |byte: &u8| *byte == b'\\' || *byte >= 0x7f;
    while let Some(found) = text.as_bytes()[at..].iter().position(is_doubtful) {
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
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_does_not_come_in() {
        for (text, clean) in [
            (
                r#"{"a": "plain \\ \" ä \u00e9 \ud83d\ude00"}"#,
                r#"{"a": "plain \\ \" ä \u00e9 \ud83d\ude00"}"#,
            ),
            (r#"{"a": "\u001b[2J\n\\n"}"#, r#"{"a": " [2J \\n"}"#),
            ("{\"\u{202e}a\u{7f}\": \"\u{9b}\"}\n", "{\" a \": \" \"}\n"),
            (r#""\u202e\u009B""#, r#""  ""#),
            (r#""\"#, r#""\"#),
            (r#""\u00"#, r#""\u00"#),
            (r#""\uä"#, r#""\uä"#),
        ] {
            assert_eq!(printable_json(text), clean, "{text}");
        }
    }
}
