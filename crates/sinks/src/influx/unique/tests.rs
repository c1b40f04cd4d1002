//! Instants that are free, and memory that is full.

use super::*;
use memtide_base::rng::mix;
use std::collections::HashSet;

#[test]
fn no_two_points_of_a_series_share_an_instant() {
    let mut instants = Instants::default();
    let taken: Vec<u64> = [5, 5, 6, 5, 9].map(|at| instants.take(0, at)).to_vec();
    assert_eq!(taken, [5, 6, 7, 8, 9]);
    assert_eq!(instants.take(1, 5), 5, "another series");
}

#[test]
fn each_is_the_first_free_one() {
    let (mut instants, mut used) = (Instants::default(), HashSet::new());
    for number in 0..4_000 {
        let at = mix(number) % 1_800;
        let expected = (at..).find(|free| !used.contains(free)).unwrap();
        assert_eq!(instants.take(0, at), expected, "point {number}");
        used.insert(expected);
    }
}

#[test]
fn a_million_points_of_one_instant_take_no_walk() {
    let mut instants = Instants::default();
    for number in 0..1_000_000 {
        assert_eq!(instants.take(3, 77), 77 + number);
    }
    assert_eq!(instants.runs, 1);
}

#[test]
fn what_is_forgotten_is_never_used_again() {
    let mut instants = Instants { runs_max: 1_000, ..Instants::default() };
    let mut used = HashSet::new();
    let rare = instants.take(1, 5);
    for number in 1..20_000 {
        // Most instants are in order, some come late.
        let at =
            10 + 3 * number - if mix(number).is_multiple_of(10) { mix(number) % number } else { 0 };
        let free = instants.take(0, at);
        assert!(free >= at && used.insert(free), "point {number}");
        assert!(instants.runs <= 1_000);
    }
    assert_eq!((rare, instants.take(1, 5)), (5, 6), "a series forgets its own alone");
}
