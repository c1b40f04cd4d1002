//! Versions tell stale from current values, and never claim more than is certain.

use super::*;
use memtide_base::Random;
use std::collections::VecDeque;

#[test]
fn states_keep_every_bit() {
    for state in [
        State { issued: NUMBER_MAX, done: 0, open: 1, odd: false },
        State { issued: 1, done: NUMBER_MAX, open: 0, odd: true },
        State { issued: 0, done: 0, open: UNCOUNTED, odd: false },
        State { issued: 0x12_3456, done: 0x65_4321, open: 0x789a, odd: true },
    ] {
        assert_eq!(State::unpack(state.pack()), state);
    }
}

#[test]
fn one_write_after_the_other_has_one_version_after_the_other() {
    let oracle = Oracle::new(10, 100, 1);
    assert_eq!(oracle.oldest(3), 0, "nothing was written");
    assert_eq!(oracle.issue(3), 1);
    assert_eq!(oracle.oldest(3), 0, "it may not have been carried out");
    oracle.answer(3, true);
    assert_eq!(oracle.oldest(3), 1);
    assert_eq!(oracle.issue(3), 2);
    assert_eq!(oracle.oldest(3), 1, "both are allowed while the write is open");
    oracle.answer(3, false);
    assert_eq!(oracle.oldest(3), 1, "a refused write has written nothing");
    assert_eq!(oracle.issue(3), 3);
    oracle.answer(3, true);
    assert_eq!(oracle.oldest(3), 3);
    assert_eq!(oracle.oldest(4), 0, "keys are apart");
}

#[test]
fn writes_that_overlap_share_a_version() {
    let oracle = Oracle::new(10, 100, 1);
    assert_eq!((oracle.issue(3), oracle.issue(3)), (1, 1));
    oracle.answer(3, true);
    assert_eq!(oracle.oldest(3), 1);
    assert_eq!(oracle.issue(3), 1, "the other may be carried out after this one");
    oracle.answer(3, true);
    oracle.answer(3, true);
    assert_eq!(oracle.issue(3), 2);
}

#[test]
fn a_write_without_an_answer_keeps_its_version_for_ever() {
    let oracle = Oracle::new(10, 100, 1);
    oracle.issue(3);
    for _ in 0..200_000 {
        assert_eq!(oracle.issue(3), 1);
        oracle.answer(3, true);
    }
    for _ in 0..200_000 {
        assert_eq!(oracle.issue(3), 1, "more open writes than can be counted");
    }
    for _ in 0..200_000 {
        oracle.answer(3, true);
        assert_eq!(oracle.issue(3), 1);
    }
}

#[test]
fn the_last_version_is_kept_when_there_are_no_more() {
    let mut state = State { issued: NUMBER_MAX - 1, done: NUMBER_MAX - 1, ..State::default() };
    state = state.issue().answer(true, false);
    assert_eq!(state, State { issued: NUMBER_MAX, done: NUMBER_MAX, ..State::default() });
    for _ in 0..3 {
        state = state.issue();
        assert_eq!(state.issued, NUMBER_MAX);
        state = state.answer(true, false);
    }
}

/// The write of a window's next object timed out and was carried out: its client reads the one
/// before, which was called stale.
#[test]
fn a_key_whose_slot_another_one_took_is_not_stale() {
    let oracle = Oracle::of_slots(10);
    oracle.issue(3);
    oracle.answer(3, true);
    assert_eq!((oracle.oldest(3), oracle.issue(13)), (1, 2));
    assert_eq!(oracle.oldest(3), 1, "it may not have been carried out");
    oracle.answer(13, true);
    assert_eq!((oracle.oldest(3), oracle.oldest(13)), (0, 2));
}

#[test]
fn a_bounded_part_of_the_keys_is_sampled_and_each_has_a_place_of_its_own() {
    for (keys, keys_max) in [(1, 1), (10, 100), (100, 100), (101, 100), (1_000_003, 1000)] {
        let oracle = Oracle::new(keys, keys_max, 1);
        let sampled: Vec<u64> = (0..keys).filter(|&id| oracle.state_of(id).is_some()).collect();
        assert_eq!(sampled.len(), oracle.states.len(), "{keys} keys");
        assert!(sampled.len() as u64 <= keys_max && sampled.len() as u64 >= keys.min(keys_max) / 2);
        sampled.iter().for_each(|&id| assert_eq!(oracle.issue(id), 1, "key {id}"));
        assert!(oracle.state_of(keys).is_none());
    }
}

/// A write in flight, or carried out and not answered yet.
struct Write {
    version: u32,
    carried_out: bool,
}

/// A register without faults. Writes and reads overlap in every way; some writes are refused, and
/// some are lost and carried out much later. No read is ever called stale.
#[test]
fn a_healthy_register_is_never_called_stale() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let oracle = Oracle::new(1, 1, seed);
        let mut value = 0u32;
        let mut writes: VecDeque<Write> = VecDeque::new();
        let mut lost: Vec<u32> = Vec::new();
        // Each read: the oldest version allowed when it was issued, and the version it found.
        let mut reads: VecDeque<(u32, Option<u32>)> = VecDeque::new();
        for _ in 0..2_000 {
            match random.below(20) {
                0..4 if writes.len() < 8 => {
                    writes.push_back(Write { version: oracle.issue(0), carried_out: false });
                }
                4..8 => {
                    let waiting: Vec<usize> =
                        (0..writes.len()).filter(|&at| !writes[at].carried_out).collect();
                    if !waiting.is_empty() {
                        let at = waiting[random.below(waiting.len() as u64) as usize];
                        value = writes[at].version;
                        writes[at].carried_out = true;
                    }
                }
                8..12 if !writes.is_empty() => {
                    let at = random.below(writes.len() as u64) as usize;
                    let write = writes.remove(at).unwrap();
                    oracle.answer(0, write.carried_out);
                }
                12 if random.below(20) == 0 && !writes.is_empty() => {
                    lost.push(writes.pop_front().unwrap().version);
                }
                13 if !lost.is_empty() => value = lost[0],
                14..17 if reads.len() < 8 => reads.push_back((oracle.oldest(0), None)),
                17 => reads.iter_mut().filter(|read| read.1.is_none()).for_each(|read| {
                    read.1 = Some(value);
                }),
                _ => {
                    if let Some((oldest, Some(found))) = reads.pop_front() {
                        assert!(found >= oldest, "seed {seed}: {found} below {oldest}");
                    }
                }
            }
        }
        assert!(oracle.oldest(0) > 0, "seed {seed}: some writes were answered");
    }
}

/// A register without faults and several threads: each carries out its writes at once under a lock
/// that stands for the server, and reads with an earlier bound. No read is ever called stale.
#[test]
fn threads_agree_on_what_is_stale() {
    let oracle = Oracle::new(4, 4, 1);
    let server = std::sync::Mutex::new([0u32; 4]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (oracle, server) = (&oracle, &server);
            scope.spawn(move || {
                let mut random = Random::new(thread);
                for _ in 0..20_000 {
                    let key = random.below(4);
                    if random.below(2) == 0 {
                        let version = oracle.issue(key);
                        server.lock().unwrap()[key as usize] = version;
                        oracle.answer(key, true);
                    } else {
                        let oldest = oracle.oldest(key);
                        let found = server.lock().unwrap()[key as usize];
                        assert!(found >= oldest, "{found} below {oldest}");
                    }
                }
            });
        }
    });
}

#[test]
fn what_comes_to_a_place_is_newer_than_what_was_there() {
    let oracle = Oracle::of_slots(10);
    for generation in 0..1_000 {
        let id = generation * 10 + 7;
        assert_eq!(u64::from(oracle.issue(id)), generation + 1);
        oracle.answer(id, true);
        assert_eq!(u64::from(oracle.oldest(id)), generation + 1);
    }
    assert_eq!(oracle.oldest(8), 0, "places are apart");
}
