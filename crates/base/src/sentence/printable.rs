//! Makes texts of others safe to show.

/// `text` as one line of at most `most` characters, without the characters that a terminal obeys.
#[must_use]
pub fn printable(text: &str, most: usize) -> String {
    let mut plain = text.chars().filter(|c| !is_obeyed(*c));
    let mut shown: String = plain.by_ref().take(most).collect();
    if plain.next().is_some() {
        shown.push('…');
    }
    assert!(shown.chars().count() <= most + 1, "a text of the other end is cut off");
    shown
}

/// True for a character that a terminal does not show but obeys: a control character, or one that
/// changes the direction in which the following ones are shown.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_left_out() {
        assert_eq!(printable("a\u{1b}[2Jb\r\nc\u{202e}d", 99), "a[2Jbcd");
        assert_eq!(printable("äöü", 2), "äö…");
        assert_eq!(printable("äö", 2), "äö");
    }
}
