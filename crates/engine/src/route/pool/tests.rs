//! A pool of connections: turns, and the least loaded one.

use super::*;
use memtide_base::Random;

const fn id(number: u32) -> ConnectionId {
    ConnectionId(number)
}

#[test]
fn equals_take_turns_and_full_ones_are_skipped() {
    let mut pool = Pool::new(id(10), 3, 2, Refill::Each);
    assert_eq!(pool.pick(), None);
    (10..13).for_each(|connection| pool.set_available(id(connection), true));
    let mut taken = Vec::new();
    while let Some(connection) = pool.pick() {
        pool.take(connection);
        taken.push(connection.0);
    }
    assert_eq!(taken, [10, 11, 12, 10, 11, 12]);
    pool.free(id(11), 1);
    assert_eq!(pool.pick(), Some(id(11)));
    pool.set_available(id(11), false);
    assert_eq!(pool.pick(), None);
    assert!(!pool.has_room(id(11)) && !pool.has_room(id(10)));
}

#[test]
fn a_connection_that_is_refilled_whole_is_emptied_first() {
    let mut pool = Pool::new(id(0), 2, 3, Refill::Whole);
    pool.set_available(id(0), true);
    (0..3).for_each(|_| pool.take(id(0)));
    pool.free(id(0), 2);
    assert_eq!(pool.pick(), None, "it has been full");
    pool.set_available(id(0), false);
    pool.set_available(id(0), true);
    assert!(!pool.has_room(id(0)) && pool.pick().is_none(), "and is not empty yet");
    pool.free(id(0), 1);
    assert_eq!(pool.pick(), Some(id(0)));
    (0..2).for_each(|_| pool.take(id(0)));
    assert!(pool.has_room(id(0)), "it was never full");
    pool.free(id(0), 1);
    assert!(!pool.has_room(id(0)), "one of two has ended");
    pool.set_available(id(1), true);
    pool.free(id(0), 1);
    assert_eq!(pool.pick(), Some(id(1)), "of equals the one that has waited longest");
}

#[test]
fn the_pick_is_always_a_least_loaded_one() {
    let seed = 5;
    let mut random = Random::new(seed);
    let mut pool = Pool::new(id(0), 20, 6, Refill::Each);
    let mut model: Vec<Option<u32>> = vec![None; 20];
    let mut loads = [0u32; 20];
    for _ in 0..20_000 {
        let connection = random.below(20) as usize;
        match random.below(4) {
            0 => {
                let available = model[connection].is_none();
                model[connection] = available.then_some(loads[connection]);
                pool.set_available(id(connection as u32), available);
            }
            1 if loads[connection] > 0 => {
                loads[connection] -= 1;
                pool.free(id(connection as u32), 1);
            }
            _ => {
                if let Some(pick) = pool.pick() {
                    loads[pick.index()] += 1;
                    pool.take(pick);
                }
            }
        }
        for (at, slot) in model.iter_mut().enumerate() {
            *slot = slot.map(|_| loads[at]);
        }
        let least = model.iter().flatten().min().copied().filter(|&load| load < 6);
        assert_eq!(pool.pick().map(|at| loads[at.index()]), least, "seed {seed}");
    }
}

/// What a run takes at once, `pick` and `take` would take one after the other.
#[test]
fn a_run_is_what_would_be_taken_one_by_one() {
    for refill in [Refill::Each, Refill::Whole] {
        let mut random = Random::new(6);
        let [mut whole, mut single] = [0; 2].map(|_| Pool::new(id(0), 4, 7, refill));
        let (mut loads, mut longest) = ([0u32; 4], 0);
        for step in 0..20_000 {
            let nth = random.below(4) as usize;
            let connection = id(nth as u32);
            match random.below(6) {
                0 => {
                    let available = random.below(3) > 0;
                    whole.set_available(connection, available);
                    single.set_available(connection, available);
                }
                1 | 2 => {
                    let freed = random.below(u64::from(loads[nth]) + 1) as u32;
                    loads[nth] -= freed;
                    whole.free(connection, freed);
                    single.free(connection, freed);
                }
                _ => {
                    let Some(pick) = whole.pick() else { continue };
                    let run = whole.run(pick, 1 + random.below(8) as usize);
                    whole.take_many(pick, run as u32);
                    loads[pick.index()] += run as u32;
                    longest = longest.max(run);
                    for _ in 0..run {
                        assert_eq!(single.pick(), Some(pick), "step {step}");
                        single.take(pick);
                    }
                }
            }
            assert_eq!(whole.pick(), single.pick(), "step {step}");
        }
        assert_eq!(longest, 7, "an empty connection is filled at once");
    }
}
