//! The keys that are stored with an expiry, and the times at which their values must be present or
//! gone.

use super::*;

const fn ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

#[test]
fn between_certainly_there_and_certainly_gone_nothing_is_said() {
    let lifetimes = Lifetimes::new(10, Span::from_s(10), Expiring::All, 1);
    assert!(!lifetimes.must_be_there(3, ms(0)) && !lifetimes.must_be_gone(3, ms(1_000_000)));
    lifetimes.stored(3, ms(1_000), ms(1_500));
    assert!(lifetimes.must_be_there(3, ms(9_000)));
    assert!(!lifetimes.must_be_there(3, ms(9_001)));
    assert!(!lifetimes.must_be_gone(3, ms(13_499)));
    assert!(lifetimes.must_be_gone(3, ms(13_500)));
    assert!(!lifetimes.must_be_gone(4, ms(13_500)), "it was never stored");
    lifetimes.announce(3);
    assert!(!lifetimes.must_be_there(3, ms(1_600)) && !lifetimes.must_be_gone(3, ms(20_000)));
}

#[test]
fn a_key_whose_slot_another_one_took_need_not_be_there() {
    let lifetimes = Lifetimes::new(10, Span::from_s(10), Expiring::All, 1);
    lifetimes.stored(3, ms(1_000), ms(1_500));
    lifetimes.stored(13, ms(2_000), ms(2_500));
    assert!(lifetimes.must_be_there(13, ms(3_000)) && !lifetimes.must_be_there(3, ms(3_000)));
}

#[test]
fn a_part_of_the_keys_expires() {
    let some = Expiring::part(0.25);
    let count = (0..100_000).filter(|&id| some.includes(1, id)).count();
    assert!((24_000..26_000).contains(&count), "{count}");
    assert_eq!(Expiring::part(1.0), Expiring::All);
    assert!(!(0..1_000).any(|id| Expiring::part(0.0).includes(1, id)));
}
