//! Clients that take turns of 50 ms against one server, so that a drift of the machine's speed
//! affects all of them alike.

use super::*;

#[test]
fn each_cycle_begins_with_another_client() {
    let cycles: Vec<Vec<usize>> = (0..4).map(|first| cycle(3, first).collect()).collect();
    assert_eq!(cycles, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
}

#[test]
fn clients_outlast_all_turns_or_are_not_started() {
    let starts = [1, 1, 3].map(Duration::from_secs);
    let bound_s = duration_s(&starts, 11, 2).expect("it is short enough");
    assert!((5 + 3 * 11 * 2..=200).contains(&bound_s), "{bound_s}");
    assert!(duration_s(&starts, 10_000, 1).is_err_and(|why| why.contains("--rounds")));
}
