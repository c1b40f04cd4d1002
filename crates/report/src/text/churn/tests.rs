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
        assert!(text.contains(&format!("falls among {said}\n")), "{text}");
        assert!(text.contains(&format!("lower bound: {said} count with")), "{text}");
    }
}

#[test]
fn connecting_over_tls_is_divided() {
    let plain = fixture::text(&fixture::churn());
    assert!(!plain.contains("handshake"), "{plain}");
    let mut record = fixture::churn();
    record.totals.connections.handshakes_full = 1;
    record.totals.connections.handshakes_resumed = 19_989;
    let churn = record.churn.as_mut().unwrap();
    churn.connect_tcp = fixture::distribution(19_990, [21_000, 30_000, 41_000, 90_000]);
    churn.handshake = fixture::distribution(19_990, [401_000, 500_000, 612_000, 990_000]);
    churn.first_reply = fixture::distribution(19_990, [71_000, 80_000, 93_000, 110_000]);
    let text = fixture::text(&record);
    assert!(text.contains("handshakes 1 full, 19 989 resumed"), "{text}");
    for (row, p50) in
        [("·· TCP", "21.0 µs"), ("·· handshake", "401 µs"), ("first reply", "71.0 µs")]
    {
        let line = text.lines().find(|line| line.starts_with(row));
        assert!(line.is_some_and(|line| line.contains(p50)), "{row}: {text}");
    }
}
