//! The report of a run with connection churn, compared with files.

use crate::fixture;
use crate::fixture::expect;
use memtide_scenario::Kind;

#[test]
fn connections_as_the_load_are_reported_with_their_failures() {
    expect("churn.txt", &fixture::text(&fixture::churn()));
    expect("churn_plan.txt", &crate::plan_text(&fixture::churn().plan, None));
}

#[test]
fn connections_that_did_not_complete_are_no_operations() {
    let mut record = fixture::churn();
    let all = record.response.entry(Kind::All).or_default();
    *all = fixture::with_unanswered(200, 6, [99_000, 140_000, 1, 1]);
    let churn = record.churn.as_mut().unwrap();
    churn.lifetime = fixture::with_unanswered(70, 11, [99_000, 140_000, 1, 1]);
    let text = fixture::text(&record);
    for said in ["6 operations that were not answered", "11 connections that did not complete"] {
        assert!(text.contains(&format!("falls among {said}; means exclude them")), "{text}");
    }
}
