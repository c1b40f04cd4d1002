//! The generator behind POSIX's `drand48` family, as a value, for runs that must draw what a C
//! program drew.

//! The recurrence against itself. `tests/rand48.rs` compares it with the C library.

use super::*;

const WORDS: [u16; 3] = [0x1234, 0x5678, 0x9abc];

fn draws(mut random: Rand48, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.unit()).collect()
}

#[test]
fn skipping_is_drawing_in_vain() {
    let all = draws(Rand48::new(WORDS), 1000);
    for skipped in [0, 1, 2, 3, 17, 500, 999] {
        let rest = draws(Rand48::new(WORDS).skip(skipped as u64), 1000 - skipped);
        assert_eq!(rest, all[skipped..], "{skipped}");
    }
    let far = Rand48::new(WORDS).skip(1 << 40).skip((1 << 48) - (1 << 40));
    assert_eq!(draws(far, 10), all[..10], "the period is 2^48");
}

#[test]
fn any_draw_can_be_had_at_once() {
    let all = draws(Rand48::new(WORDS), 2000);
    for (index, &draw) in all.iter().enumerate() {
        assert_eq!(Rand48::draw(WORDS, index as u64), draw, "{index}");
    }
    assert_eq!(Rand48::draw(WORDS, 1 << 48), all[0], "the period is 2^48");
}

#[test]
fn a_stream_is_dealt_among_many() {
    let all = draws(Rand48::new(WORDS), 120);
    for parties in [1usize, 2, 3, 8] {
        for party in 0..parties {
            let own = Rand48::new(WORDS).skip(party as u64).every(parties as u64);
            let meant: Vec<f64> = all.iter().skip(party).step_by(parties).copied().collect();
            assert_eq!(draws(own, meant.len()), meant, "{party} of {parties}");
        }
    }
    let nested = Rand48::new(WORDS).every(2).skip(1).every(3);
    let meant: Vec<f64> = all.iter().skip(2).step_by(6).copied().collect();
    assert_eq!(draws(nested, meant.len()), meant);
}
