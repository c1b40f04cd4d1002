//! Sentences about lost agents.

use super::{Lost, lost_sentences};

#[test]
fn lost_agents_are_named_by_reason_and_not_all_of_many() {
    let lost = |number: u32, why: &str| {
        (number, format!("a{number}"), Lost { exit: 3, why: why.to_owned() })
    };
    let mut all: Vec<_> = (0..6).map(|number| lost(number, "it was silent")).collect();
    all.push(lost(6, "its disk is full"));
    let sentences = lost_sentences(&all);
    assert_eq!(
        sentences,
        ["agents a0, a1, a2, a3 and 2 more: it was silent", "agent a6: its disk is full"]
    );
}
