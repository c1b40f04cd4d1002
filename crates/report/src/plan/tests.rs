//! Plans as text, compared with files.

use crate::fixture;
use crate::fixture::expect;

#[test]
fn a_plan_says_each_decision_and_why() {
    expect("plan.txt", &super::plan_text(&fixture::open().plan, None));
}

#[test]
fn what_is_unusual_is_said() {
    expect("plan_unusual.txt", &super::plan_text(&fixture::unusual().plan, None));
}

#[test]
fn a_rate_is_not_rounded() {
    let mut plan = fixture::open().plan;
    plan.rate_per_s = Some(1_000.5);
    let text = super::plan_text(&plan, None);
    assert!(text.contains("1 000.5/s"), "{text}");
}

#[test]
fn a_closed_loop_has_no_schedule_to_tell_of() {
    let text = super::plan_text(&fixture::closed().plan, None);
    assert!(!text.contains("arrival") && !text.contains("on-full"), "{text}");
}
