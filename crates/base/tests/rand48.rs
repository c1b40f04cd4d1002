//! `rand48_draw` against the C library's `erand48`, bit by bit, and laws fed by it against C's own
//! arithmetic.
#![cfg(unix)]
#![expect(unsafe_code, reason = "it calls the C library's own generator")]

use memtide_base::Law;
use memtide_base::rng::{Random, rand48_draw};

unsafe extern "C" {
    fn erand48(words: *mut u16) -> f64;
    fn log(x: f64) -> f64;
}

/// The next draw of C's generator.
fn draw(words: &mut [u16; 3]) -> f64 {
    // SAFETY: erand48 reads and writes exactly three words.
    unsafe { erand48(words.as_mut_ptr()) }
}

const SEED: u64 = 0x7261_6e64_3438;

#[test]
fn draws_are_those_of_the_c_library() {
    let mut seeds = Random::new(SEED);
    for _ in 0..100 {
        let bits = seeds.bits();
        let first = [bits as u16, (bits >> 16) as u16, (bits >> 32) as u16];
        let mut words = first;
        for index in 0..1000 {
            let context = format!("seed {SEED:#x}, words {words:x?}, draw {index}");
            let drawn = rand48_draw(first, index);
            assert_eq!(drawn.to_bits(), draw(&mut words).to_bits(), "{context}");
        }
    }
}

#[test]
fn laws_draw_what_c_computes() {
    let first = [0x1234, 0x5678, 0x6543];
    let mut words = first;
    let (even, exponential) = (Law::Uniform(1.0, 16.0), Law::Exponential(100.0));
    for index in 0..200_000 {
        let u = rand48_draw(first, index);
        let c = draw(&mut words);
        let c_even = 1.0 + (16.0 - 1.0) * c;
        assert_eq!(even.quantile(u).to_bits(), c_even.to_bits(), "draw {index}");
        // SAFETY: log reads no memory.
        let c_exponential = -100.0 * unsafe { log(1.0 - c) };
        let difference = (exponential.quantile(u) - c_exponential).abs();
        assert!(difference <= c_exponential * 4.0 * f64::EPSILON, "draw {index}");
        assert_eq!(
            exponential.quantile(u).round_ties_even(),
            c_exponential.round_ties_even(),
            "draw {index}"
        );
    }
}
