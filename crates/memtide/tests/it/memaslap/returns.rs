//! Replication and reconnection: every copy is counted, and servers that die and return are
//! reported.

use super::{counted, fresh, memaslap, read};
use crate::prelude::*;

#[test]
fn every_set_goes_to_all_that_are_written() {
    let (first, second) = (Peer::memcached("-m 512"), Peer::memcached("-m 512"));
    let peers = [&first, &second];
    for (line, told) in [
        ("-p 2 -x 20000 -v 1", [18_000, 4_000, 0]),
        ("--rep_write=2 -x 20000 -B -c 8 -T 2 -o 0.5 -v 1", [18_000, 4_000, 0]),
        // Reads go to a server without the keys, which servers would have to replicate themselves.
        ("-p 1 -x 20000 -v 1 --seed 9", [18_000, 2_000, 18_000]),
    ] {
        let before = counted(&peers);
        let stored = peers.map(|peer| peer.figure("cmd_set"));
        let ran = memaslap(&peers, line, 0);
        ran.check_counts(&peers, before);
        assert_eq!((ran.told(), ran.wrong()[1]), (told, 0), "{}", ran.run);
        let stored = [0, 1].map(|at| peers[at].figure("cmd_set") - stored[at]);
        let copies = if line.contains("-p 1") { [2_000, 0] } else { [2_000, 2_000] };
        assert_eq!(stored, copies, "{}", ran.run);
    }
}

/// Kills the last of `peers` during a run with `line`, and starts it again.
fn killed_and_started(mut peers: Vec<Peer>, line: &str) {
    let json = fresh("returns.json");
    let names: Vec<&str> = peers.iter().map(|peer| &*peer.name).collect();
    let names = names.join(",");
    let run = Running::start(&format!("memaslap -s {names} {line} --json {}", json.display()));
    let victim = peers.pop().expect("there is one");
    victim.await_figure("cmd_set", 100);
    let (address, name) = (victim.address(), victim.name.clone());
    victim.kill();
    thread::sleep(Duration::from_millis(1_200));
    let again = Peer::memcached_at(address, "").expect("nobody took its port");
    let ran = read(run.finish().exits(0), &json);
    assert!(again.figure("cmd_get") > 100 && again.figure("cmd_set") > 20, "{}", ran.run);
    let lost = format!("Server {name} disconnect\n");
    assert_eq!(ran.run.err.matches(&lost).count(), 1, "{}", ran.run);
    // The server takes a while to start on a busy machine.
    let back = |seconds| format!("Server {name} reconnect after {seconds}s\n");
    assert!((2..=14).any(|seconds| ran.run.err.contains(&back(seconds))), "{}", ran.run);
    let (lost, said) = (ran.record.totals.lost, ran.output.line.ops);
    assert!(lost > 0 && said > 4_000, "{lost} {said}: {}", ran.run);
}

#[test]
fn one_of_two_servers_dies_and_is_taken_back() {
    let _turn = shared();
    killed_and_started(vec![Peer::memcached(""), Peer::memcached("")], "-p 2 -t 15s -P 2k -w 1k");
}

#[test]
fn a_server_that_comes_back_is_told() {
    let _turn = shared();
    killed_and_started(vec![Peer::memcached("")], "-R -t 15s -P 2k -w 1k");
}
