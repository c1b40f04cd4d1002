//! Draws against the weights, and the words for a mix.

use super::*;
use crate::tests::{assert_refused, assert_shares, assert_words, words};
use memtide_base::rng::{Stream, hash};

fn mix(word: &str) -> Mix {
    word.parse().unwrap()
}

#[test]
fn draws_follow_the_weights() {
    for word in words("mix") {
        let mix = mix(&word);
        let mut counts = [0u64; OpKind::COUNT];
        for i in 0..100_000 {
            counts[mix.pick(hash(3, Stream::KIND, i)).index()] += 1;
        }
        let kinds: Vec<OpKind> = mix.kinds().collect();
        let drawn: Vec<u64> = kinds.iter().map(|kind| counts[kind.index()]).collect();
        let shares: Vec<f64> = kinds.iter().map(|&kind| mix.share(kind)).collect();
        assert_eq!(drawn.iter().sum::<u64>(), 100_000, "only what has a weight is drawn");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_shares(&drawn, &shares);
    }
}

#[test]
fn a_mix_of_one_kind_is_always_that_kind() {
    for kind in OpKind::ALL {
        let mix = mix(&format!("{}=0.001", kind.name()));
        assert!([0, 1, u64::MAX / 2, u64::MAX].iter().all(|&bits| mix.pick(bits) == kind));
        assert_eq!(mix.share(kind), 1.0);
        assert_eq!(mix.reads(), kind.reads());
        assert_eq!(mix.uses_numeric(), kind.is_numeric());
    }
}

#[test]
fn the_ends_of_the_range_belong_to_the_first_and_the_last() {
    let mix = mix("get=1,gat=1e-9");
    assert_eq!((mix.pick(0), mix.pick(u64::MAX)), (OpKind::Get, OpKind::Gat));
    assert_eq!(mix.share(OpKind::Set), 0.0);
}

#[test]
fn words_are_read_and_written() {
    assert_words::<Mix>("mix", 2);
    assert_eq!(mix("set=1, get = 9").to_string(), "get=9,set=1");
    assert_eq!(mix("set=10%,get=90%").to_string(), "get=90,set=10");
}

#[test]
fn refusals_name_the_fault_and_every_kind() {
    let unknown = assert_refused::<Mix>("not a mix", "gte=9,set=1");
    assert!(OpKind::ALL.iter().all(|kind| unknown.contains(kind.name())), "{unknown}");
}

#[test]
fn in_turn_every_share_holds_at_every_moment() {
    let mix: Mix = "get=6,gets=3,set=1".parse().unwrap();
    let mut turn = Turn::new(&mix);
    let mut counts = [0u32; OpKind::COUNT];
    for number in 1..=1_000 {
        let kind = turn.next();
        counts[kind.index()] += 1;
        assert!(number > 1 || kind == OpKind::Set, "a store comes first");
        for kind in mix.kinds() {
            let due = mix.share(kind) * f64::from(number);
            let made = f64::from(counts[kind.index()]);
            assert!((made - due).abs() < 2.0, "{made} of {} after {number}", kind.name());
        }
    }
    assert_eq!((counts[OpKind::Get.index()], counts[OpKind::Set.index()]), (600, 100));
}

#[test]
fn orders_have_names() {
    for order in [MixOrder::Drawn, MixOrder::Turn] {
        assert_eq!(order.to_string().parse(), Ok(order));
    }
    assert!("random".parse::<MixOrder>().is_err());
}
