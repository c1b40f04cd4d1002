//! How memaslap's face ends: signals, absent servers, servers that die, wrong words, and the names
//! it is called by.

use super::{fresh, memaslap, parser, read};
use crate::child::{Running, memtide, program, scratch, shared};
use crate::peer::Peer;
use rustix::process::Signal;
use std::process::Command;

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

#[test]
fn servers_come_from_the_environment() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let mut command = program();
    let words = ["memaslap", "-x", "1000", "--plain"];
    let run = Running::of(command.args(words).env("MEMCACHED_SERVERS", &peer.name)).finish();
    let run = run.exits(0);
    let output = parser::output(&run.out).unwrap_or_else(|why| panic!("{why}: {run}"));
    assert_eq!((output.header.servers, output.line.ops), (peer.name.clone(), 1_000));
    let mut command = program();
    let run = Running::of(command.args(["memaslap"]).env_remove("MEMCACHED_SERVERS")).finish();
    let run = run.exits(1);
    assert!(run.err.starts_with("No servers provided\n") && run.out.contains("--servers"), "{run}");
}

#[test]
fn wrong_words_are_complained_of_in_its_own() {
    let peer = Peer::memcached("");
    let at = format!("memaslap -s {}", peer.name);
    for (words, message) in [
        ("-t 5", "Please specify the run time. :-)\n"),
        ("-c 0", "Concurrency must be greater than 0.:-)\n"),
        ("-F /nowhere/at.all", "Can not open file: '/nowhere/at.all'.\n"),
    ] {
        let run = memtide(&format!("{at} {words}")).exits(1);
        assert!(run.err.starts_with(message) && run.out.is_empty(), "{run}");
    }
    assert_eq!(memtide("memaslap -V").exits(0).out, "memaslap v1.0\n");
}

#[test]
fn it_is_found_by_the_names_of_links() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let folder = scratch("memaslap-links");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    Running::start(&format!("install-faces {}", folder.display())).finish().exits(0);
    for name in ["memaslap", "memcaslap"] {
        let mut command = Command::new(folder.join(name));
        let run = Running::of(command.args(["-s", &peer.name, "-x", "500"])).finish().exits(0);
        let output = parser::output(&run.out).unwrap_or_else(|why| panic!("{why}: {run}"));
        assert_eq!(output.line.ops, 500, "{run}");
    }
}
