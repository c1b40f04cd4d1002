//! A storm of handshakes, in the middle of which the server is killed and started again.

use super::{files, material::Ca};
use crate::prelude::*;

/// Handshakes per second.
const RATE: u64 = 400;
/// Memory that is more than enough for any number of handshakes.
const RSS_BYTES_MAX: u64 = 128 << 20;

/// Number of lines of a file that is being written.
fn lines_of(path: &Path) -> u64 {
    fs::read_to_string(path).map_or(0, |text| text.lines().count() as u64)
}

/// `MEMTIDE_TLS_STORM=10000` makes a longer one.
#[test]
fn a_storm_of_handshakes_outlives_its_server() {
    let _turn = shared();
    let count: u64 = match std::env::var("MEMTIDE_TLS_STORM") {
        Ok(word) => word.parse().unwrap(),
        Err(_) => 2_400,
    };
    for resume in ["on", "off"] {
        let ca = Ca::new();
        let arguments = files(&ca, "");
        let peer = Peer::memcached_tls(&arguments);
        let (address, json) = (peer.address(), scratch("storm.json"));
        let samples = scratch("storm.csv");
        let running = Running::start(&format!(
            "run -s {} --tls --tls-ca {} --tls-resume {resume} --connection-rate {RATE} --calls 1 \
             --connections-total {count} --connections 256 --threads 1 --keys 100 --mix get=1 \
             --timeout 3s --quiet --json {} --samples {}",
            peer.name,
            ca.own(),
            json.display(),
            samples.display()
        ));
        // A quarter is through, however long that takes.
        until("the storm does not begin", || lines_of(&samples) > count / 4);
        peer.kill();
        thread::sleep(Duration::from_millis(300));
        let _again = Peer::memcached_tls_at(address, &arguments).expect("the port is free again");
        let run = running.finish();
        let record = record_at(&json);
        record.check_conservation().unwrap_or_else(|why| panic!("{why}: {run}"));
        let counts = &record.churn.as_ref().expect("connections are the load").measure;
        assert_eq!(counts.intended, count, "{run}");
        let ended = counts.completed + counts.failed + counts.lost + counts.dropped;
        assert_eq!(ended + counts.abandoned, count, "{run}");
        assert!(counts.completed > count / 4 && counts.completed < count, "{counts:?}: {run}");
        let connections = &record.totals.connections;
        let handshakes = connections.handshakes_full + connections.handshakes_resumed;
        assert_eq!(handshakes, connections.opened, "{run}");
        assert_eq!(connections.handshakes_resumed > 0, resume == "on", "{run}");
        assert!(record.client.rss_max_bytes.is_some_and(|rss| rss < RSS_BYTES_MAX), "{run}");
    }
}
