//! Makes texts of the other end safe to show.

/// `text` as one line of at most `most` characters, without control characters.
pub fn printable(text: &str, most: usize) -> String {
    let is_plain = |c: &char| !c.is_control() && !is_direction(*c);
    let mut shown: String = text.chars().filter(is_plain).take(most).collect();
    if text.chars().filter(is_plain).nth(most).is_some() {
        shown.push('…');
    }
    assert!(shown.chars().count() <= most + 1, "a text of the other end is cut off");
    shown
}

/// True for a character that changes the direction in which the following ones are shown.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
