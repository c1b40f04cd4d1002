//! The example of the originals' pages, unchanged but for its length: eight agents and a master,
//! each on a machine of its own, with all agents on the same port.

use super::machines::{Machines, SERVER};
use super::{Tally, assert_counted, record_at};
use crate::child::{shared, within_turn};
use crate::peer::Peer;

const MACHINES: [&str; 9] =
    ["m", "agent1", "agent2", "agent3", "agent4", "agent5", "agent6", "agent7", "agent8"];

#[test]
fn the_example_of_the_pages_with_one_file_and_no_change() {
    let _turn = shared();
    for program in ["mutilate", "mcperf"] {
        // A separate thread, which leaves its namespace behind when it ends.
        std::thread::scope(|scope| {
            scope.spawn(|| within_turn(|| example(program))).join().unwrap();
        });
    }
}

fn example(program: &str) {
    let name = format!("{} memcached_server\n", SERVER.ip());
    let Some(machines) = Machines::new(&MACHINES, &name) else { return };
    machines.join_by_message(program);
    let peer = Peer::memcached_at(SERVER, "-t 2 -c 4096").expect("the address is this machine's");
    let agent = |place: &&str| machines.shell(place, &format!("{program} -T 16 -A"));
    let agents: Vec<_> = MACHINES[1..].iter().map(agent).collect();
    let master = |words: &str| machines.shell("m", &format!("{program} {words}")).finish().exits(0);
    let before = Tally::of(&[&peer]);
    master("-s memcached_server --loadonly");
    let filled = Tally::of(&[&peer]).minus(before);
    assert_eq!(filled.sets, 10_000);
    let before = Tally::of(&[&peer]);
    let ran = master(
        "-s memcached_server --noload -B -T 16 -Q 1000 -D 4 -C 4 -a agent1 -a agent2 -a agent3 \
         -a agent4 -a agent5 -a agent6 -a agent7 -a agent8 -c 4 -q 20000 -t 2 --json run.json",
    );
    assert_eq!(ran.err, "", "{ran}");
    let record = record_at(&machines.home("m").join("run.json"));
    assert_counted(before, &peer, &record);
    // 8 x 16 x 4 connections of the agents, and 16 x 4 of the master.
    let own = record.own.as_ref().expect("the master's own load");
    assert_eq!((record.plan.connections, own.plan.connections), (512, 64), "{ran}");
    assert_eq!((record.shards.len(), record.totals.misses + own.totals.misses), (8, 0), "{ran}");
    drop(agents);
}
