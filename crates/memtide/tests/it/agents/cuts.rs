//! A cut or lossy network between a master and its agents, in one direction, the other, and both;
//! and other faults at each stage of a run, counted by the server.
//!
//! Each test creates two networks and a wire between them, and leaves this machine's network alone.

use super::enemies::on_threads;
use super::surroundings::on_a_full_disk;
use super::{Agent, LOOK_EVERY, Lab, load_lasts, names, record, until};
use crate::child::{Finished, Running, cleared, shared, within_turn};
use crate::peer::{Peer, free_port};
use memtide_record::{EndedBy, Record};
use rustix::process::Signal;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Addresses reserved for benchmarks (RFC 2544).
const AGENT: &str = "198.18.0.2";
const MASTER: &str = "198.18.0.1";
/// A load that lasts until something ends it.
const LONG: &str = "--rate 2k --duration 5m --warmup 0 --mix get=1";
/// Longest time that a load continues without hearing its master; the excess is for a busy machine.
const SILENT_MAX: Duration = Duration::from_secs(5 + 20);
/// Longest time that a load continues if its master does not hear it: until the master gives it up
/// and is silent.
const UNHEARD_MAX: Duration = Duration::from_secs(10 + 5 + 20);

/// Direction in which nothing arrives any more.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        holder.args(["--net", "sleep", "600"]).stdin(Stdio::null()).stderr(Stdio::null());
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

    /// Loses this share of the wire's packets in both directions; none again with 0. Nothing is
    /// lost between an agent and its server: a set that never arrives is sent and not counted.
    fn lose(&self, share: f64) {
        let words = |wire: u8| match share > 0.0 {
            true => format!(
                "-A INPUT -i wire{wire} -m statistic --mode random --probability {share} -j DROP"
            ),
            false => "-F INPUT".to_owned(),
        };
        let mut here = Command::new("iptables");
        let here = here.args(words(0).split_whitespace());
        let mut there = self.at_master("iptables");
        let there = there.args(words(1).split_whitespace());
        for iptables in [here, there] {
            if !iptables.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
                drop(writeln!(std::io::stderr(), "no packets are lost: iptables cannot drop some"));
            }
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
    peer.await_figure("cmd_get", 3_000);
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

/// What happens to an agent or its surroundings.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It stands still for 2 s, which costs nothing.
    StopShort,
    /// It stands still for 12 s, and is lost.
    StopLong,
    Kill,
    /// The wire is cut until the run has ended.
    Cut(Cut),
    /// 30 of 100 packets are lost in both directions until the run has ended.
    Loss,
    /// No record can be kept.
    FullDisk,
    /// Eight processes take all CPUs.
    Hogs,
}

/// The time at which it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Preparing,
    Loading,
    /// The last operation has been sent, so the record is about to be handed over.
    Handing,
}

/// The longest time from a fault to the end of its run: the load, 10 s of silence, and 30 s in
/// which other agents hand over.
const END_MAX: Duration = Duration::from_secs(8 + 10 + 30 + 60);
/// The longest time until the load has come to its stage.
const BEGINNING_MAX: Duration = Duration::from_secs(120);

/// The operations of the load, of which 1 000 are sent in a second. What is noticed by silence
/// needs a longer load.
fn ops(fault: Fault) -> u64 {
    match fault {
        Fault::StopShort | Fault::Kill => 2_000,
        _ => 8_000,
    }
}

/// The operations that all phases of a record sent.
fn sent(record: &Record) -> u64 {
    record.phases.each().iter().map(|(_, phase)| phase.totals.sent).sum()
}

/// Carries out a run by two agents, of which one meets a fault: the run ends in time, and the sets
/// that memcached counted are those that the master reports and the agents keep. The sets of an
/// agent that was killed are in no record.
fn faulty(at: At, fault: Fault) {
    let Some(wire) = Wire::new() else { return };
    let name = format!("fault-{at:?}-{fault:?}").replace(['(', ')'], "-");
    let (lab, peer) = (Lab::new(&name), Peer::memcached(""));
    let addresses = [0, 1].map(|_| format!("{AGENT}:{}", free_port()));
    let mut agents = [0, 1].map(|number: usize| {
        let name = format!("a{number}");
        let words = format!("--listen {}", addresses[number]);
        let agent = match number == 0 && fault == Fault::FullDisk {
            true => on_a_full_disk(&lab, &name, &words),
            false => lab.agent_with(&name, &words),
        };
        agent.await_log("waits for its master");
        agent
    });
    let (json, ops) = (lab.path("run.json"), ops(fault));
    let line = format!(
        "run -s {} --quiet --keys 100 --load never --mix set=1 --rate 1k --ops-max {ops} --arrival \
         fixed --warmup 0 --connections 4 --agents {} --key {} --json {}",
        peer.name,
        addresses.join(","),
        lab.key(),
        json.display()
    );
    let mut command = wire.at_master(env!("CARGO_BIN_EXE_memtide"));
    let master = Running::of(command.args(line.split_whitespace()));
    let counted = match at {
        At::Preparing => 0,
        At::Loading => ops / 4,
        At::Handing => ops,
    };
    agents[0].await_log("begins share");
    let began = Instant::now();
    while peer.figure("cmd_set") < counted && began.elapsed() < BEGINNING_MAX {
        thread::sleep(LOOK_EVERY);
    }
    let has_begun = peer.figure("cmd_set") >= counted;
    let (began, mut hogs) = (Instant::now(), Vec::new());
    match fault {
        Fault::StopShort | Fault::StopLong => agents[0].signal(Signal::STOP),
        Fault::Kill => agents[0].kill(),
        Fault::Cut(cut) => wire.cut(cut),
        Fault::Loss => wire.lose(0.3),
        Fault::FullDisk => {}
        Fault::Hogs => hogs = (0..8).map(|_| Hog::new()).collect(),
    }
    if fault == Fault::StopShort {
        thread::sleep(Duration::from_secs(2));
        agents[0].signal(Signal::CONT);
    }
    let finished = master.finish();
    let took = began.elapsed();
    drop(hogs);
    match fault {
        Fault::StopLong => agents[0].signal(Signal::CONT),
        Fault::Cut(cut) => wire.mend(cut),
        Fault::Loss => wire.lose(0.0),
        _ => {}
    }
    assert!(has_begun && took < END_MAX, "{name}: {took:?}: {finished}");
    assert!(!finished.err.contains("panicked"), "{name}: {finished}");
    let is_mild = matches!(fault, Fault::StopShort | Fault::FullDisk | Fault::Hogs);
    let costs_nothing = is_mild && at == At::Loading;
    assert!(!costs_nothing || finished.code == Some(0), "{name}: {finished}");
    // Agents that are left end their shares, and keep what the master does not have.
    let left = &agents[usize::from(fault == Fault::Kill)..];
    left.iter().for_each(|agent| agent.await_log("done with share"));
    load_lasts(&peer);
    drop(writeln!(std::io::stderr(), "{at:?} {fault:?}: it took {took:.1?}"));
    counts_agree(&agents, &json, &peer, (at, fault), &finished);
}

/// Asserts that memcached counted the sets of the master's record and of those that agents keep.
fn counts_agree(
    agents: &[Agent],
    json: &Path,
    peer: &Peer,
    (at, fault): (At, Fault),
    finished: &Finished,
) {
    let merged = fs::read_to_string(json).ok().map(|_| record(json));
    let reported: Vec<String> = merged.iter().flat_map(names).collect();
    let kept: Vec<Record> = agents.iter().flat_map(Agent::kept).map(|it| record(&it)).collect();
    let kept = kept.iter().filter(|kept| !reported.contains(&names(kept)[0])).map(sent);
    let known = merged.iter().map(sent).sum::<u64>() + kept.sum::<u64>();
    let counted = peer.figure("cmd_set");
    let said = format!("{at:?}: {counted} counted, {known} known of {reported:?}: {finished}");
    match fault {
        Fault::Kill if at != At::Handing => assert!(known <= counted, "{said}"),
        Fault::Kill => assert!(known == counted || known * 2 == counted, "{said}"),
        _ => assert_eq!(known, counted, "{said}"),
    }
}

/// A process that takes a CPU.
struct Hog(Child);

impl Hog {
    fn new() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
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

/// `MEMTIDE_FAULTS=all` tries every fault at each stage, in two minutes; another word, those whose
/// name contains it.
#[test]
fn faults_cost_no_count_and_no_run_its_end() {
    use Fault::{FullDisk, Hogs, Kill, Loss, StopLong, StopShort};
    let _turn = shared();
    let mut cases = vec![(At::Loading, Kill), (At::Handing, Kill), (At::Loading, StopShort)];
    if let Ok(word) = std::env::var("MEMTIDE_FAULTS") {
        let cuts = [Cut::ToAgent, Cut::ToMaster, Cut::Both].map(Fault::Cut);
        let faults = [StopShort, StopLong, Kill, Loss, FullDisk, Hogs].into_iter().chain(cuts);
        let at = [At::Preparing, At::Loading, At::Handing];
        cases = faults.flat_map(|fault| at.map(|at| (at, fault))).collect();
        cases.retain(|(at, fault)| word == "all" || format!("{at:?} {fault:?}").contains(&word));
    }
    on_threads(&cases, 4, |_, &(at, fault)| within_turn(|| faulty(at, fault)));
}
