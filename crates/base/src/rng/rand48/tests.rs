//! The generator behind POSIX's `drand48` family, for runs that must draw what a C program drew.

//! The recurrence against itself. `tests/rand48.rs` compares it with the C library.

use super::*;

const WORDS: [u16; 3] = [0x1234, 0x5678, 0x9abc];

#[test]
fn any_draw_can_be_had_at_once() {
    let mut state = 0x9abc_5678_1234;
    for index in 0..2000 {
        state = POWERS[0].apply(state);
        assert_eq!(rand48_draw(WORDS, index), state as f64 / 2f64.powi(48), "{index}");
    }
    assert_eq!(rand48_draw(WORDS, 1 << 48), rand48_draw(WORDS, 0), "the period is 2^48");
}
