//! A server named more than once: more connections, and the same counters.

use super::{face, fresh, record_at};
use crate::child::assert_counters_equal;
use crate::peer::Peer;

#[test]
fn a_server_that_is_named_twice_is_counted_once() {
    for (line, connections) in [
        ("mutilate -s @ -s @ -t 1 -q 500 -c 2 -T 2", 8),
        ("mutilate -s @ -s localhost:@P -t 1 -q 500 -u 0.5", 2),
        ("mcperf -s @,localhost:@P,@ -t 1 -q 500", 3),
        ("mcperf-dynamic -s @,@ --qps_interval 0.5 --qps_target 500,1000 -e", 2),
        ("memaslap -s @,localhost:@P -x 2000 -T 2 -c 4", 4),
    ] {
        let peer = Peer::memcached("");
        let json = fresh("repeats.json");
        let port = peer.address().port().to_string();
        let line = line.replace("@P", &port).replace('@', &peer.name);
        let ran = face(&format!("{line} --json {}", json.display())).exits(0);
        let record = record_at(&json);
        if !line.contains(" -e") {
            // Commands sent around a run may change the servers' counters.
            assert_counters_equal(&record);
        }
        let [server] = &record.servers[..] else { panic!("one server, one row: {ran}") };
        assert_eq!((server.connections, server.name.as_str()), (connections, &*peer.name), "{ran}");
        assert_eq!(server.totals.answered, record.totals.answered, "{ran}");
        assert!(peer.figure("total_connections") > u64::from(connections), "{ran}");
    }
}
