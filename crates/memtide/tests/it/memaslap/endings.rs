//! How memaslap's face ends: signals, absent servers, servers that die, wrong words, and the names
//! it is called by.

use super::{fresh, memaslap, read};
use crate::prelude::*;

#[test]
fn an_interrupted_run_prints_its_statistics() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let json = fresh("interrupted.json");
    let line = format!("memaslap -s {} -S 1s --notes --json {}", peer.name, json.display());
    let running = Running::start(&line);
    peer.await_figure("cmd_get", 1_000);
    running.signal(Signal::INT);
    let ran = read(running.finish().exits(1), &json);
    ran.check(&[&peer], [0; 3]);
    assert!(ran.output.last.len() == 3 && ran.output.line.time_s < 60.0, "{}", ran.run);
}

#[test]
fn a_refused_connection_is_said() {
    let run = memtide("memaslap -s 127.0.0.1:1 -t 1s").exits(1);
    assert!(run.out.starts_with("servers: 127.0.0.1:1\n"), "{run}");
    assert!(run.out.ends_with("get_prop=0.90\n"), "nothing but the header: {run}");
    assert!(run.err.contains("127.0.0.1:1") && run.err.contains("refused"), "{run}");
    let run = memtide("memaslap -s no.such.host.invalid -t 1s").exits(1);
    assert!(run.err.contains("no.such.host.invalid"), "{run}");
}

#[test]
fn a_server_that_listens_for_tcp_alone_is_said() {
    let peer = Peer::memcached("");
    let run = memtide(&format!("memaslap -s {} -U -t 2s", peer.name)).exits(1);
    assert!(run.err.contains("nothing was answered") && run.err.contains("UDP"), "{run}");
}

#[test]
fn statistics_go_on_when_connections_are_lost() {
    let peer = Peer::embedded("--fault reset:0.1%");
    let ran = memaslap(&[&peer], "-t 3s -S 1s -P 2k", 0);
    assert_eq!((ran.output.periods.len(), ran.output.last.len()), (3, 3), "{}", ran.run);
    assert!(ran.record.totals.lost > 0, "{}", ran.run);
    let ops = |at: usize| ran.output.periods[at][0].period.ops;
    assert!((0..3).all(|at| ops(at) > 0), "{}", ran.run);
}

#[test]
fn failing_sets_leave_the_mix_as_it_was() {
    let peer = Peer::embedded("--fault server-error:1@set");
    let ran = memaslap(&[&peer], "-x 10000", 0);
    // No key is ever there to be read, so each read becomes a store.
    assert_eq!(ran.output.line.ops, 10_000, "{}", ran.run);
    let peer = Peer::embedded("--fault server-error:0.5@set");
    let ran = memaslap(&[&peer], "-x 10000", 0);
    let [gets, sets, _] = ran.told();
    assert!(gets + sets == 10_000 && (1_000..1_400).contains(&sets), "{}", ran.run);
}
