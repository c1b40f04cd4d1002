//! A rate's words, and that units never mix.

use super::*;
use std::panic::catch_unwind;

#[test]
fn a_rate_says_its_unit() {
    let [ops, keys] = [RateUnit::Operations, RateUnit::Keys].map(|unit| Rate::new(1000.5, unit));
    assert_eq!((ops.to_string(), ops.exactly()), ("1 001/s".into(), "1 000.5/s".into()));
    let words = ("1 001 keys/s".to_owned(), "1 000.5 keys/s".to_owned());
    assert_eq!((keys.to_string(), keys.exactly()), words);
    assert_eq!(Rate::new(12.5, RateUnit::Keys).to_string(), "12.5 keys/s");
}

#[test]
fn rates_of_different_units_are_never_held_against_each_other() {
    let [a, b] = [2.0, 4.0].map(|per_s| Rate::new(per_s, RateUnit::Keys));
    assert!(a < b && a != b && a + a == b && b - a == a && a * 2.0 == b && b / a == 2.0);
    let ops = Rate::new(2.0, RateUnit::Operations);
    let mixed: [fn(Rate, Rate) -> bool; 5] = [
        |a, b| a == b,
        |a, b| a < b,
        |a, b| (a + b).per_s > 0.0,
        |a, b| (a - b).per_s > 0.0,
        |a, b| a / b > 0.0,
    ];
    for compare in mixed {
        assert!(catch_unwind(|| compare(a, ops)).is_err());
    }
}
