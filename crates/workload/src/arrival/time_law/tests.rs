//! Laws of times as words, and back.

use super::*;

#[test]
fn a_word_is_a_law_and_back() {
    for (word, least, most) in [
        ("5ms", 5_000_000, 5_000_000),
        ("fixed:1.5ms", 1_500_000, 1_500_000),
        ("uniform:1ms,3ms", 1_000_000, 3_000_000),
        ("exponential:2ms", 0, u64::MAX),
    ] {
        let law: TimeLaw = word.parse().unwrap();
        assert_eq!(law.to_string().parse(), Ok(law), "{word}");
        let drawn = [0.01, 0.5, 0.99].map(|u| law.at(u).ns());
        assert!(drawn.iter().all(|ns| (least..=most).contains(ns)), "{word}: {drawn:?}");
        assert!(drawn.is_sorted(), "{word}: {drawn:?}");
    }
    for word in ["", "fast", "fixed", "fixed:2h", "uniform:3ms,1ms", "exponential:1ms,2ms"] {
        assert!(word.parse::<TimeLaw>().is_err(), "{word}");
    }
}
