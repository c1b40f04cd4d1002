//! Reports in a second, and the sums of those that were not made.

use super::*;

#[test]
fn ten_sentences_a_second_are_said_and_the_rest_counted() {
    let mut tally = Tally::default();
    let said = (0..1000).filter(|_| tally.admit(7)).count();
    assert_eq!(said, 10);
    assert_eq!(tally.summary(), ["990 more peers were turned away"]);
    assert!(tally.summary().is_empty());
    assert!(tally.admit(8));
    tally.lost();
    assert_eq!(tally.summary(), ["1 more peers were turned away"]);
}

#[test]
fn a_flood_is_one_note_and_one_sum() {
    let mut tally = Tally::default();
    assert_eq!((0..500).filter(|_| tally.push_out()).count(), 1);
    assert!(tally.summary().is_empty());
    assert!(!tally.push_out());
    assert!(tally.summary().is_empty());
    let over = "the flood of connections is over; 501 were closed before they authenticated";
    assert_eq!(tally.summary(), [over]);
    assert!(tally.push_out());
}
