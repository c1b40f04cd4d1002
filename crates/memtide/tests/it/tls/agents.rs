//! Agents over TLS: each has CAs and keys of its own, and a share names none.

use super::memcached;
use crate::agents::Lab;
use crate::prelude::*;

#[test]
fn agents_have_cas_and_keys_of_their_own() {
    let (peer, ca) = memcached(",ssl_ca_cert=CA.PEM,ssl_verify_mode=2,ssl_session_cache");
    let lab = Lab::new("tls");
    let (cert, key) = ca.sign("agent", super::VALID);
    let own = [("MEMTIDE_TLS_CA", ca.own()), ("MEMTIDE_TLS_CERT", cert), ("MEMTIDE_TLS_KEY", key)];
    let _agents = ["a0", "a1"].map(|name| lab.agent_knowing(name, &own));
    for more in ["", "--tls-resume off --protocol binary"] {
        let words = format!("--tls --ops-max 2k --keys 200 --rate 4k {more}");
        let (run, record) = lab.run(&peer, "2", &words);
        assert_eq!(record.totals.answered, 2_000, "{run}");
        assert_counters_equal(&record);
        let connections = &record.totals.connections;
        let handshakes = connections.handshakes_full + connections.handshakes_resumed;
        assert_eq!(handshakes, connections.opened, "{run}");
        // What agents are told and what they send back name none of their files.
        let text = serde_json::to_string(&record).unwrap();
        assert!(own.iter().all(|(_, path)| !text.contains(path)), "{text}");
    }
}

#[test]
fn an_agent_without_the_servers_ca_is_named_with_the_remedy() {
    let (peer, ca) = memcached("");
    let lab = Lab::new("tls-without");
    let knowing = [("MEMTIDE_TLS_CA", ca.own())];
    let _agents = [lab.agent_knowing("knows", &knowing), lab.agent_knowing("not", &[])];
    let json = lab.path("run.json");
    let words = "--tls --ops-max 2k --rate 4k";
    let run = lab.start(&peer, "2", words, &json).finish();
    assert_eq!(run.code, Some(3), "{run}");
    for word in ["agent not ", &peer.name, "a CA that is not trusted", "--tls-ca"] {
        assert!(run.err.contains(word), "{run}");
    }
}
