//! Equal values in a row are counted like all others.

use super::*;
use memtide_base::Random;

#[test]
fn what_comes_in_a_row_is_counted_like_all_else() {
    let seed = 0x7A11;
    let mut random = Random::new(seed);
    let (mut tallying, mut plain) = (Tallying::default(), Histogram::<u32>::new());
    for round in 0..2_000 {
        let value = random.bits() >> (20 + random.below(44));
        for _ in 0..random.below(4) {
            tallying.record(value);
            plain.record(value);
        }
        let many = random.below(3);
        tallying.record_many(value ^ 1, many);
        (0..many).for_each(|_| plain.record(value ^ 1));
        match random.below(50) {
            0 => {
                tallying.clear();
                plain.clear();
            }
            1 => assert!(*tallying.settled() == plain, "round {round} of seed {seed}"),
            _ => {}
        }
    }
    assert!(*tallying.settled() == plain, "at the end, of seed {seed}");
    assert!(*tallying.settled() == plain, "and asked again, of seed {seed}");
}
