//! Slots of the table of sockets.

use super::*;

#[test]
fn only_first_sockets_get_a_place_and_only_if_there_is_one() {
    let mut files = Files { places: vec![NONE; 2], changed: Vec::new() };
    let by_place = |files: &Files, id| {
        files.name(ConnectionId(id), 77).flags.contains(squeue::Flags::FIXED_FILE)
    };
    files.keep(ConnectionId(1), GENERATION, 77);
    files.keep(ConnectionId(0), GENERATION + 1, 77);
    files.keep(ConnectionId(2), GENERATION, 77);
    assert_eq!([0, 1, 2].map(|id| by_place(&files, id)), [false, true, false]);
    assert_eq!(files.next_change().map(|(id, _)| id), Some(ConnectionId(1)));
    files.forget(ConnectionId(1));
    files.forget(ConnectionId(2));
    assert!(!by_place(&files, 1));
    assert_eq!(files.next_change().map(|(id, _)| id), Some(ConnectionId(1)));
    assert!(files.next_change().is_none());
}
