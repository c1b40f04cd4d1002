//! Long words and lines on a terminal.

use super::*;

#[test]
fn of_a_very_long_word_both_ends_are_shown() {
    let message = format!("--mix: '{}' is no mix\n", "é".repeat(100_000));
    let short = shortened(&message);
    assert!(short.starts_with("--mix: 'éé") && short.ends_with("é' is no mix\n"), "{short}");
    assert!(short.contains("…(99491 more)…") && short.chars().count() < 600, "{short}");
    let usual = "two  words\n";
    assert_eq!(shortened(usual), usual);
}

#[test]
fn a_line_is_cut_where_the_terminal_ends() {
    let line = "p99 412 µs  — open";
    assert_eq!(fitting(line, 9), "p99 412 µ");
    for columns in [18, 80] {
        assert_eq!(fitting(line, columns), line);
    }
}
