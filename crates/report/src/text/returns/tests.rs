//! Sentences on outages.

use super::*;

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
        sentence(&server, 1_000.0),
        "a:1: 2 of 3 lost connections reopened, after 1.5 s on average and 2 s at most; gone \
         from −100 ms to 1.9 s (2 s), from 8 s to the end"
    );
    server.reconnects = Reconnects { lost: 1, ..Reconnects::default() };
    server.outages = vec![away(1_000, Some(1_001)); 10];
    let text = sentence(&server, 0.0);
    assert!(text.starts_with("a:1: 0 of 1 lost connections reopened; gone from 1 s"), "{text}");
    assert!(text.ends_with(" and 2 more"), "{text}");
}
