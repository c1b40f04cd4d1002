//! The report of a run with connection churn, compared with files; sentences on outages and on
//! verified values.

use super::*;
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

#[test]
fn it_says_when_a_server_was_away_and_for_how_long() {
    let away = |from, until| Outage { from_unix_ms: from, until_unix_ms: until };
    let mut server = ServerRecord {
        name: "a:1".to_owned(),
        reconnects: Reconnects {
            lost: 3,
            reconnected: 2,
            disconnected_ns: 3_000_000_000,
            disconnected_ns_max: 2_000_000_000,
        },
        outages: vec![away(900, Some(2_900)), away(9_000, None)],
        ..ServerRecord::default()
    };
    assert_eq!(
        recovery(&server, 1_000.0),
        "a:1: 2 of 3 lost connections reopened, after 1.5 s on average and 2 s at most; gone \
         from −100 ms to 1.9 s (2 s), from 8 s to the end"
    );
    server.reconnects = Reconnects { lost: 1, ..Reconnects::default() };
    server.outages = vec![away(1_000, Some(1_001)); 10];
    let text = recovery(&server, 0.0);
    assert!(text.starts_with("a:1: 0 of 1 lost connections reopened; gone from 1 s"), "{text}");
    assert!(text.ends_with(" and 2 more"), "{text}");
}

#[test]
fn wrong_values_are_named_by_what_is_wrong_with_them() {
    let mut found = VerificationCounts { checked: 12_000, ok: 12_000, ..Default::default() };
    assert_eq!(verified(&found), "12 000 values, all correct");
    found = VerificationCounts { ok: 11_996, corrupt: 3, stale: 1, ..found };
    assert_eq!(verified(&found), "12 000 values, wrong: 3 corrupt, 1 stale");
    found = VerificationCounts { ok: 12_000, verify_misses: 7, ..Default::default() };
    found.checked = 12_000;
    assert_eq!(verified(&found), "12 000 values, all correct; 7 more were not returned");
}
