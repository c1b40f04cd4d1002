//! Figures and nouns as people write them.

use super::*;

#[test]
fn chosen_times_have_no_zeros_of_precision() {
    assert_eq!(bound(5_000_000_000), "5 s");
    assert_eq!(bound(250_000_000), "250 ms");
    assert_eq!((seconds(10.0), seconds(0.5)), ("10 s".to_owned(), "500 ms".to_owned()));
}

#[test]
fn differences_have_a_true_minus_and_nouns_a_plural() {
    assert_eq!(signed_time(-36_000), "−36.0 µs");
    assert_eq!(signed_time(36_000), "36.0 µs");
    assert_eq!(counted(1, "worker"), "1 worker");
    assert_eq!(counted(2000, "key"), "2 000 keys");
}
