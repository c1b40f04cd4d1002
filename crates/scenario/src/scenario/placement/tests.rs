//! Words for shares, barriers and times of day, and contradictions among them.

use super::*;
use crate::scenario::Given;

#[test]
fn a_time_is_the_same_in_every_spelling() {
    let at = |word: &str| word.parse::<StartAt>().unwrap().since_unix;
    for (word, seconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("2026-01-31T12:00:00Z", 1_769_860_800),
        ("2026-01-31 13:30:00+01:30", 1_769_860_800),
        ("2026-01-31t04:00:00-08:00", 1_769_860_800),
        ("2100-03-01T00:00:00Z", 4_107_542_400),
        ("@1769860800", 1_769_860_800),
    ] {
        assert_eq!(at(word), Span::from_s(seconds), "{word}");
    }
    assert_eq!(at("@1.25"), Span::from_ms(1_250));
    assert_eq!(at("2026-01-31T12:00:00.000000001Z").ns(), 1_769_860_800_000_000_001);
    assert_eq!(at("@1769860800.000000001").ns(), 1_769_860_800_000_000_001);
}

#[test]
fn a_share_has_a_number_below_the_count() {
    let error = |word: &str| word.parse::<ShardWord>().unwrap_err();
    assert!(error("4/4").contains("numbered 0 to 3"), "{}", error("4/4"));
    assert!(error("0/0").contains("a run has 1 to 65535"), "{}", error("0/0"));
    assert!(error("auto/70000").contains("70000 shares"), "{}", error("auto/70000"));
    assert!(error("+1/4").contains("not I/N"), "{}", error("+1/4"));
    assert_eq!("2/4".parse(), Ok(ShardWord::One { number: 2, of: 4 }));
}

#[test]
fn a_beginning_together_needs_shares_and_one_way_to_agree() {
    let fields = |placement: &Placement| {
        let mut problems = Problems::new(&Given::default());
        placement.check(&mut problems);
        problems.found.into_iter().map(|problem| problem.field).collect::<Vec<_>>()
    };
    let alone = Placement { barrier: Some(BarrierWord::Pmi), ..Placement::default() };
    assert_eq!(fields(&alone), ["barrier"]);
    let auto = Some(ShardWord::Auto { of: None });
    let shared = Placement { shard: auto, ..alone.clone() };
    assert!(fields(&shared).is_empty());
    let insists = Placement { shard: Some(ShardWord::Whole), ..alone };
    assert_eq!(fields(&insists), ["barrier"]);
    let start_at = "@9".parse().ok();
    let both = Placement { start_at, ..shared.clone() };
    assert_eq!(fields(&both), ["start-at"]);
    let never = Placement { barrier_timeout: Span::ZERO, ..shared };
    assert_eq!(fields(&never), ["barrier-timeout"]);
}
