//! A cut network between a master and its agent: in one direction, the other, and both.
//!
//! Each test creates two networks and a wire between them, and leaves this machine's network alone.

use super::{Agent, Lab, load_lasts, record, until};
use crate::child::{Running, cleared, shared, within_turn};
use crate::peer::{Peer, free_port};
use memtide_record::EndedBy;
use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Addresses reserved for benchmarks (RFC 2544).
const AGENT: &str = "198.18.0.2";
const MASTER: &str = "198.18.0.1";
/// A load that lasts until something ends it.
const LONG: &str = "--rate 2k --duration 40s --mix get=1";
/// Longest time that a load continues without hearing its master; the excess is for a busy machine.
const SILENT_MAX: Duration = Duration::from_millis(5_000 + 2_000);
/// Longest time that a load continues if its master does not hear it: until the master gives it up
/// and is silent.
const UNHEARD_MAX: Duration = Duration::from_millis(10_000 + 5_000 + 2_000);

/// Direction in which nothing arrives any more.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    ToAgent,
    ToMaster,
    Both,
}

/// Two networks and the wire between them. The calling thread, and its children, are at the agent's
/// end.
struct Wire {
    /// The process that keeps the network at the master's end.
    holder: Child,
}

impl Wire {
    /// None, and a line on stderr, if networks cannot be created.
    fn new() -> Option<Self> {
        // SAFETY: the call affects only this thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            let why = std::io::Error::last_os_error();
            drop(writeln!(std::io::stderr(), "skipped: a network of its own: {why}"));
            return None;
        }
        let mut holder = Command::new("unshare");
        holder.args(["--net", "sleep", "120"]).stdin(Stdio::null()).stderr(Stdio::null());
        let wire = Self { holder: holder.spawn().ok()? };
        let own = fs::read_link("/proc/thread-self/ns/net").unwrap();
        let place = format!("/proc/{}/ns/net", wire.holder.id());
        until(
            || fs::read_link(&place).is_ok_and(|it| it != own),
            || "unshare --net does not begin".to_owned(),
        );
        let id = wire.holder.id();
        let is_made = wire.here(&format!("link add wire0 type veth peer name wire1 netns {id}"));
        if !is_made {
            drop(writeln!(std::io::stderr(), "skipped: ip cannot make a pair of interfaces"));
            return None;
        }
        for words in ["link set lo up", &format!("addr add {AGENT}/30 dev wire0")] {
            assert!(wire.here(words), "{words}");
        }
        for words in ["link set lo up", &format!("addr add {MASTER}/30 dev wire1")] {
            assert!(wire.there(words), "{words}");
        }
        assert!(wire.here("link set wire0 up") && wire.there("link set wire1 up"));
        Some(wire)
    }

    /// A command at the master's end.
    fn at_master(&self, program: &str) -> Command {
        let mut command = cleared(Command::new("nsenter"));
        command.arg(format!("--net=/proc/{}/ns/net", self.holder.id())).arg(program);
        command
    }

    fn here(&self, words: &str) -> bool {
        let mut ip = Command::new("ip");
        ip.args(words.split_whitespace()).stderr(Stdio::null());
        ip.status().is_ok_and(|status| status.success())
    }

    fn there(&self, words: &str) -> bool {
        let mut ip = self.at_master("ip");
        ip.args(words.split_whitespace());
        ip.status().is_ok_and(|status| status.success())
    }

    /// Cuts the wire: frames are sent to a hardware address that does not exist.
    fn cut(&self, cut: Cut) {
        let lost = "lladdr 02:00:00:00:00:99 nud permanent";
        if cut != Cut::ToMaster {
            assert!(self.there(&format!("neigh replace {AGENT} {lost} dev wire1")));
        }
        if cut != Cut::ToAgent {
            assert!(self.here(&format!("neigh replace {MASTER} {lost} dev wire0")));
        }
    }

    fn mend(&self, cut: Cut) {
        if cut != Cut::ToMaster {
            assert!(self.there(&format!("neigh del {AGENT} dev wire1")));
        }
        if cut != Cut::ToAgent {
            assert!(self.here(&format!("neigh del {MASTER} dev wire0")));
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

/// Cuts the network during a run: the load ends within `most`, the master names its agent, and the
/// record can be fetched once the network is restored.
fn run(name: &str, cut: Cut, most: Duration) {
    let Some(wire) = Wire::new() else { return };
    let (lab, peer) = (Lab::new(&format!("cut-{name}")), Peer::memcached(""));
    let address = format!("{AGENT}:{}", free_port());
    let agent: Agent = lab.agent_with("a0", &format!("--listen {address}"));
    agent.await_log("waits for its master");
    let master = |words: &str| {
        let line = format!("{words} --key {} --agents {address}", lab.key());
        let mut command = wire.at_master(env!("CARGO_BIN_EXE_memtide"));
        Running::of(command.args(line.split_whitespace()))
    };
    let json = lab.path("run.json");
    let words = format!("run -s {} --quiet --keys 200 --json {}", peer.name, json.display());
    let running = master(&format!("{words} {LONG}"));
    peer.await_figure("cmd_get", 5_000);
    wire.cut(cut);
    let lasts = load_lasts(&peer);
    assert!(lasts < most, "{name}: {lasts:?}");
    running.finish().fails(3, &["a0", "it has been silent for 10 s"]);
    until(|| agent.kept().len() == 1, || agent.said());
    wire.mend(cut);
    agent.await_log("done with share");
    let folder = lab.path("fetched");
    let fetched = master(&format!("agent records {}", folder.display())).finish().exits(0);
    assert_eq!(fetched.out, "fetched 1 records of 1 agents\n", "{name}: {}", agent.said());
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let kept = record(&file);
    assert!(kept.partial && kept.ended_by == EndedBy::Interrupted && kept.totals.answered > 0);
}

#[test]
fn a_network_that_is_cut_ends_the_load_and_the_record_waits() {
    let _turn = shared();
    thread::scope(|scope| {
        scope.spawn(|| within_turn(|| run("to-agent", Cut::ToAgent, SILENT_MAX)));
        scope.spawn(|| within_turn(|| run("to-master", Cut::ToMaster, UNHEARD_MAX)));
        scope.spawn(|| within_turn(|| run("both", Cut::Both, SILENT_MAX)));
    });
}
