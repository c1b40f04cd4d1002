//! Masters that die, stop, are interrupted, or compete.

use super::enemies::{is_harmless, parts};
use super::{Agent, Lab, PATIENCE, kept, load_lasts, names, record, until};
use crate::child::{Running, cleared, memtide, program, shared};
use crate::peer::Peer;
use memtide_base::hex::from_hex;
use memtide_cluster::files;
use memtide_cluster::message::to_agent::What as Hears;
use memtide_cluster::message::{FromAgent, Hello, KeptRecord};
use memtide_cluster::transport::{AgentNet, FromMaster};
use memtide_record::EndedBy;
use rustix::process::Signal;
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A load that lasts until something ends it.
const LONG: &str = "--rate 2k --duration 5m --mix get=1";
/// Longest time that the load of agents continues without a master; the excess is for a busy
/// machine.
const ALONE_MAX: Duration = Duration::from_secs(5 + 20);

/// Asserts that each agent keeps a record that only its user can read, that the command fetches
/// these, and that merge reads them.
fn are_fetched(lab: &Lab, agents: &[Agent]) {
    let is_kept = || agents.iter().all(|agent| agent.kept().len() == 1);
    until(is_kept, || agents.iter().map(Agent::said).collect());
    for agent in agents {
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&agent.kept()[0]), mode(&agent.records)), (0o600, 0o700));
    }
    let (folder, json) = (lab.path("fetched"), lab.path("merged.json"));
    let (count, key) = (agents.len(), lab.key());
    let fetched =
        memtide(&format!("agent records --key {key} --agents {count} {}", folder.display()));
    assert_eq!(fetched.exits(0).out, format!("fetched {count} records of {count} agents\n"));
    let is_forgotten = || agents.iter().all(|agent| agent.kept().is_empty());
    until(is_forgotten, || "records that were fetched are kept".to_owned());
    memtide(&format!("merge {} --json {}", folder.display(), json.display())).exits(0);
    let merged = record(&json);
    assert!(merged.partial && merged.totals.answered > 0);
    assert_eq!((names(&merged), merged.ended_by), (vec!["a0".into(), "a1".into()], ENDED));
}

/// A lab with two agents whose master's load runs.
fn loading(name: &str) -> (Lab, Peer, Vec<Agent>, Running) {
    let (lab, peer) = (Lab::new(name), Peer::memcached(""));
    let agents = lab.agents(2);
    let master = lab.start(&peer, "2", LONG, &lab.path("run.json"));
    peer.await_figure("cmd_get", 9_000);
    (lab, peer, agents, master)
}

/// Reason for the end of a load whose master is gone.
const ENDED: EndedBy = EndedBy::Interrupted;

/// The nice values of a process's threads named `name`; empty while there is none.
fn nice_of(process: u32, name: &str) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    let nice = |stat: String| {
        let (before, after) = stat.rsplit_once(") ")?;
        // The 19th field; the third is the first behind the name.
        before.ends_with(name).then(|| after.split(' ').nth(16)?.parse().ok())?
    };
    stats.filter_map(nice).collect()
}

/// Many agents on one machine took the CPU from the thread that answers them.
#[test]
fn a_masters_network_thread_runs_before_others_where_that_is_allowed() {
    if !rustix::process::geteuid().is_root() {
        drop(writeln!(std::io::stderr(), "skipped: only root may raise a thread's priority"));
        return;
    }
    let _turn = shared();
    let lab = Lab::new("priority");
    let agent = lab.agent("a0");
    let master = lab.master("run -s 127.0.0.1:1 --agents 2 --quiet");
    let net = || nice_of(master.id(), "memtide-net");
    until(|| net() == [-10], || format!("{:?}", net()));
    // Agents measure, and raise nothing: they are as nice as their caller.
    let own = rustix::process::getpriority_process(None).unwrap();
    let of_agent = || nice_of(agent.id(), "memtide-net");
    until(|| of_agent() == [own], || format!("{:?}, not {own}", of_agent()));
    master.signal(Signal::INT);
    master.finish();
}

#[test]
fn the_load_ends_when_its_master_is_killed_and_its_records_are_kept() {
    let _turn = shared();
    let (lab, peer, agents, master) = loading("orphans");
    master.signal(Signal::KILL);
    let lasts = load_lasts(&peer);
    assert!(lasts < ALONE_MAX, "{lasts:?}");
    drop(master);
    are_kept_until_read_back(&lab, &agents);
    are_fetched(&lab, &agents);
}

/// Asserts that agents keep their records if a fetched one cannot be read back: its folder cannot
/// be listed, or already has a damaged copy.
fn are_kept_until_read_back(lab: &Lab, agents: &[Agent]) {
    let is_kept = || agents.iter().all(|agent| agent.kept().len() == 1);
    until(is_kept, || agents.iter().map(Agent::said).collect());
    let [closed, damaged] = ["closed", "damaged"].map(|name| lab.path(name));
    for folder in [&closed, &damaged] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    for record in agents.iter().flat_map(Agent::kept) {
        let half = &fs::read(&record).unwrap()[..100];
        fs::write(damaged.join(record.file_name().unwrap()), half).unwrap();
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o300)).unwrap();
    for (folder, why) in [(&closed, "cannot be read back"), (&damaged, "cannot be written")] {
        let line = format!(
            "{} agent records --key {} --agents {} {}",
            env!("CARGO_BIN_EXE_memtide"),
            lab.key(),
            agents.len(),
            folder.display()
        );
        let fetched = Running::of(discreet().args(line.split_whitespace())).finish();
        fetched.fails(1, &[why]);
        assert!(fetched.out.starts_with("fetched 0 records"), "{fetched}");
        assert!(is_kept(), "{why}: {}", agents.iter().map(Agent::said).collect::<String>());
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(kept(&closed).len(), agents.len(), "only their reading back failed");
}

/// A command that carries out its words, without the right of root to list any folder.
fn discreet() -> Command {
    if !rustix::process::geteuid().is_root() {
        return cleared(Command::new("env"));
    }
    let mut command = cleared(Command::new("setpriv"));
    command.args(["--bounding-set", "-dac_override,-dac_read_search"]);
    command
}

#[test]
fn agents_that_share_a_folder_keep_a_record_each_and_none_is_lost() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("folder"), Peer::memcached(""));
    fs::create_dir(lab.path("a0.kept")).unwrap();
    for other in ["a1.kept", "a2.kept"] {
        symlink(lab.path("a0.kept"), lab.path(other)).unwrap();
    }
    let agents = lab.agents(3);
    let master = lab.start(&peer, "3", LONG, &lab.path("run.json"));
    peer.await_figure("cmd_get", 9_000);
    master.signal(Signal::KILL);
    drop(master);
    let said = || agents.iter().map(Agent::said).collect();
    until(|| agents[0].kept().len() == 3, said);
    let (folder, key) = (lab.path("fetched"), lab.key());
    let fetched = memtide(&format!("agent records --key {key} --agents 3 {}", folder.display()));
    assert_eq!(fetched.exits(0).out, "fetched 3 records of 3 agents\n");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let modes: Vec<u32> = kept(&folder).iter().map(mode).collect();
    assert_eq!(modes, [0o600; 3]);
    until(|| agents[0].kept().is_empty(), said);
    let json = lab.path("merged.json");
    memtide(&format!("merge {} --json {}", folder.display(), json.display())).exits(0);
    assert_eq!(names(&record(&json)), ["a0", "a1", "a2"]);
}

/// Agents end their load after 5 s without their master, and keep the connection: once it goes on,
/// it gets the records, says what happened, and the agents need not keep them.
#[test]
fn a_master_that_stood_still_gets_the_records_of_its_agents_and_says_so() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("stood-still"), Peer::memcached(""));
    let (agents, json) = (lab.agents(2), lab.path("run.json"));
    let words = format!("run -s {} --agents 2 --keys 200 {LONG}", peer.name);
    let master = lab.master(&format!("{words} --json {}", json.display()));
    peer.await_figure("cmd_get", 9_000);
    master.signal(Signal::STOP);
    let lasts = load_lasts(&peer);
    assert!(lasts < ALONE_MAX, "{lasts:?}");
    agents.iter().for_each(|agent| agent.await_log("done with share"));
    let said = || agents.iter().map(Agent::said).collect();
    until(|| agents.iter().all(|agent| agent.kept().len() == 1), said);
    master.signal(Signal::CONT);
    let ended = master.finish();
    ended.fails(
        3,
        &[
            "this machine stood still for ",
            "memtide agent records",
            "agents a0 (",
            " a1 (",
            "heard nothing from its master for 5 s",
        ],
    );
    let partial = record(&json);
    assert!(partial.partial && partial.totals.answered > 0, "{ended}");
    assert_eq!(names(&partial), ["a0", "a1"], "{ended}");
    let is_forgotten = || agents.iter().all(|agent| agent.kept().is_empty());
    until(is_forgotten, || agents.iter().map(Agent::said).collect());
    lab.run(&peer, "2", BRIEF);
}

#[test]
fn an_interrupted_master_has_the_record_so_far_and_its_agents_are_free() {
    let _turn = shared();
    let (lab, peer, _agents, master) = loading("interrupted");
    let json = lab.path("run.json");
    master.signal(Signal::INT);
    master.finish().fails(130, &[]);
    let partial = record(&json);
    assert_eq!((partial.ended_by, partial.partial), (EndedBy::Interrupted, true));
    assert!(partial.totals.answered > 0 && partial.shards.len() == 2);
    let (_, next) = lab.run(&peer, "2", "--rate 2k --duration 500ms --warmup 0 --arrival fixed");
    assert_eq!(next.totals.intended, 1_000);
    // While the master waits for agents, there is nothing to record.
    let waiting = lab.start(&peer, "5", "", &json);
    let place = format!("127.0.0.1:{}", lab.port);
    until(|| TcpStream::connect(&place).is_ok(), || "no master listens".to_owned());
    waiting.await_handler(Signal::INT);
    waiting.signal(Signal::INT);
    waiting.finish().fails(130, &["interrupted while waiting for agents"]);
}

#[test]
fn a_second_interrupt_ends_the_master_at_once_and_the_load_with_it() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("twice"), Peer::memcached(""));
    let (agents, pipe) = (lab.agents(2), lab.path("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let words = format!("run -s {} --quiet --keys 200 --agents 2 {LONG}", peer.name);
    let master = lab.master(&format!("{words} --json {}", pipe.display()));
    peer.await_figure("cmd_get", 9_000);
    // The master waits for this agent's record, and then for a reader of its own, which leaves time
    // for the second signal.
    agents[1].signal(Signal::STOP);
    master.signal(Signal::INT);
    // Signals within a second of the first count as the first.
    std::thread::sleep(Duration::from_millis(1_300));
    master.signal(Signal::INT);
    master.finish().fails(130, &[]);
    agents[1].signal(Signal::CONT);
    assert!(load_lasts(&peer) < ALONE_MAX);
    // One record was handed over, but the merged one was never written.
    are_fetched(&lab, &agents);
}

#[test]
fn a_master_that_cannot_write_its_record_leaves_those_of_its_agents() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("full"), Peer::memcached(""));
    let agents = lab.agents(2);
    // No file of the master may exceed one block.
    let line = format!(
        "run -s {} --quiet --keys 200 --agents 2 --rate 2k --duration 500ms --warmup 0 --key {} \
         --json {}",
        peer.name,
        lab.key(),
        lab.path("run.json").display()
    );
    let mut command = cleared(Command::new("sh"));
    command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_memtide")]);
    let short = Running::of(command.args(line.split_whitespace())).finish();
    short.fails(1, &["--json", "File too large"]);
    let is_kept = || agents.iter().all(|agent| agent.kept().len() == 1);
    until(is_kept, || agents.iter().map(Agent::said).collect());
}

#[test]
fn an_agent_that_is_interrupted_hands_over_what_it_has() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("agent-interrupted"), Peer::memcached(""));
    let mut agents = lab.agents(2);
    let json = lab.path("run.json");
    let words = "--rate 2k --duration 15s --mix get=1 --warmup 0";
    let master = lab.start(&peer, "2", words, &json);
    peer.await_figure("cmd_get", 6_000);
    let leaver = agents.remove(1);
    leaver.signal(Signal::INT);
    assert_eq!(leaver.code(), Some(0));
    let finished = master.finish();
    let record = record(&json);
    assert_eq!((names(&record).len(), record.partial), (2, true), "{finished}");
    assert_eq!(record.totals.answered + record.totals.unanswered(), record.totals.intended);
}

/// An agent of another version, imitated with this library, because no other memtide is installed.
#[test]
fn an_agent_of_another_version_is_told_to_install_the_same() {
    let (lab, peer) = (Lab::new("versions"), Peer::memcached(""));
    let join = files::read_join(&lab.join()).unwrap();
    let agent = AgentNet::dial(&join, || 1).unwrap();
    let (protocol, version) = (memtide_cluster::PROTOCOL, "0.0.1".to_owned());
    agent.set_hello(Hello { protocol, version, name: "old".to_owned(), ..Hello::default() });
    let run = lab.start(&peer, "1", "--expect 9s", &lab.path("run.json")).finish();
    run.fails(3, &["0 of 1 agents joined", "memtide 0.0.1", "install the same version on both"]);
    let heard = RefCell::new(String::new());
    let is_told = || {
        let event = agent.next(Duration::from_millis(20));
        *heard.borrow_mut() += &event.map_or_else(String::new, |event| format!("{event:?}"));
        heard.borrow().contains("install the same version on both")
    };
    until(is_told, || heard.borrow().clone());
    super::is_untouched(&peer);
}

#[test]
fn a_second_master_is_told_that_the_agent_is_busy() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("two"), Peer::memcached(""));
    let (agent, address) = lab.listening("a0");
    let json = lab.path("run.json");
    let first = lab.start(&peer, &address, LONG, &json);
    peer.await_figure("cmd_get", 3_000);
    let second = lab.start(&peer, &address, "--expect 6s", &lab.path("second.json")).finish();
    second.fails(3, &[&address, "busy with another run since @"]);
    // The first run has noticed nothing, and goes on until its user ends it.
    first.signal(Signal::INT);
    first.finish().exits(130);
    assert_eq!(record(&json).ended_by, EndedBy::Interrupted);
    assert_eq!(agent.said().matches("begins share").count(), 1, "{}", agent.said());
}

/// Words of a load of which agents make a share each.
const BRIEF: &str = "--rate 2k --duration 500ms --warmup 0";

/// An agent of this user's own, with all folders by default, and with `state` for its state.
fn own_agent(lab: &Lab, state: &Path, name: &str) -> Agent {
    let mut command = program();
    command.env("XDG_STATE_HOME", state).args(["agent", "--join"]).arg(lab.join());
    let log = lab.path(&format!("{name}.log"));
    command.args(["--name", name]).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let records = state.join("memtide/records");
    Agent { child: command.spawn().unwrap(), log, records }
}

/// "could not be kept" was said in 6 of 6 runs.
#[test]
fn agents_of_one_machine_with_default_folders_keep_a_record_each() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("default-folders"), Peer::memcached(""));
    let state = lab.path("state");
    let agents: Vec<Agent> = ["a0", "a1", "a2"].map(|name| own_agent(&lab, &state, name)).into();
    let master = lab.start(&peer, "3", LONG, &lab.path("run.json"));
    peer.await_figure("cmd_get", 9_000);
    master.signal(Signal::KILL);
    drop(master);
    let said = || agents.iter().map(Agent::said).collect::<String>();
    until(|| agents[0].kept().len() == 3, said);
    assert!(!said().contains("could not be stored"), "{}", said());
    let folder = lab.path("fetched").display().to_string();
    let fetched = memtide(&format!("agent records --key {} --agents 3 {folder}", lab.key()));
    assert_eq!(fetched.exits(0).out, "fetched 3 records of 3 agents\n");
    until(|| agents[0].kept().is_empty(), said);
    let json = lab.path("merged.json");
    memtide(&format!("merge {folder} --json {}", json.display())).exits(0);
    assert_eq!(names(&record(&json)), ["a0", "a1", "a2"]);
    // Whole runs leave nothing behind.
    let (_, whole) = lab.run(&peer, "3", BRIEF);
    assert_eq!(names(&whole).len(), 3);
    until(|| agents[0].kept().is_empty(), said);
}

/// Hands over these bytes as the records of the shares 0 and 1, until its master dismisses it; the
/// shares that it may forget.
fn hands_over(net: &AgentNet, records: [&[u8]; 2]) -> Vec<u32> {
    let (mut forgotten, until) = (Vec::new(), Instant::now() + PATIENCE);
    while Instant::now() < until {
        let Some(event) = net.next(Duration::from_millis(50)) else { continue };
        let FromMaster::Message { message, .. } = event else { continue };
        match message.what {
            Some(Hears::Fetch(of)) => {
                let parts = parts(&of.run, records[of.share as usize]).into_iter();
                parts.for_each(|what| net.send(FromAgent { what: Some(what) }));
            }
            Some(Hears::Acknowledged(of)) => forgotten.push(of.share),
            Some(Hears::Bye(_)) => break,
            _ => {}
        }
    }
    forgotten
}

/// Whatever an agent hands over in place of the record that it named: it is not written, nothing is
/// acknowledged, and the next record of the same agent is fetched.
#[test]
#[allow(clippy::too_many_lines)]
fn what_is_no_record_is_not_fetched() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("no-record"), Peer::memcached(""));
    let genuine = {
        let agents = lab.agents(2);
        let master = lab.start(&peer, "2", LONG, &lab.path("run.json"));
        peer.await_figure("cmd_get", 9_000);
        master.signal(Signal::KILL);
        drop(master);
        let is_kept = || agents.iter().all(|agent| agent.kept().len() == 1);
        until(is_kept, || agents.iter().map(Agent::said).collect());
        let mut paths: Vec<PathBuf> = agents.iter().flat_map(Agent::kept).collect();
        paths.sort_by_key(|path| record(path).share.unwrap().number);
        paths
    };
    let run = record(&genuine[0]).share.unwrap().agent.unwrap().run;
    let [first, second] = [0, 1].map(|share| fs::read(&genuine[share]).unwrap());
    let of_other = String::from_utf8(first.clone()).unwrap().replace(&run, &"0".repeat(32));
    let half = first[..first.len() / 2].to_vec();
    let plain = {
        let json = lab.path("plain.json");
        memtide(&format!("run -s {} {BRIEF} --quiet --json {}", peer.name, json.display()))
            .exits(0);
        fs::read(&json).unwrap()
    };
    let escapes = b"\x1b[2J{\"schema\":\"\x1b]0;t\x07\"}".to_vec();
    // Of these bytes, it hands over no part.
    let silence = Vec::new();
    let lies: [(&str, Vec<u8>, &str); 9] = [
        ("no text", vec![0xff; 9_000], "its record is not text"),
        ("nothing", silence, "it did not hand over its record: nothing came for 10 s"),
        ("no JSON", b"#!/bin/sh\nrm -rf /\n".to_vec(), "its record"),
        ("other JSON", b"{\"a\":1}".to_vec(), "its record"),
        ("escapes", escapes, "its record"),
        ("half of it", half, "its record"),
        ("the record of no share", plain, "its record is not that of share 0"),
        ("the record of another share", second.clone(), "its record is not that of share 0"),
        ("the record of another run", of_other.into_bytes(), "its record is not that of run"),
    ];
    for (lie, bytes, words) in lies {
        let folder = lab.path("fetched");
        let join = files::read_join(&lab.join()).unwrap();
        let net = AgentNet::listen("127.0.0.1:0", &join, || 1).unwrap();
        let (protocol, name) = (memtide_cluster::PROTOCOL, "liar".to_owned());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let run = from_hex(&run).unwrap();
        let keeps = [0, 1].map(|share| KeptRecord { run: run.clone(), bytes: 5, share }).into();
        net.set_hello(Hello { protocol, version, name, kept: keeps, ..Hello::default() });
        let address = net.local_address().unwrap();
        let master = Running::start(&format!(
            "agent records --key {} --agents {address} {}",
            lab.key(),
            folder.display()
        ));
        let forgotten = hands_over(&net, [&bytes, &second]);
        let fetched = master.finish();
        fetched.fails(1, &["liar: ", words]);
        is_harmless(&fetched.err, lie);
        // One that stands still is left with all that it has.
        let whole = usize::from(!bytes.is_empty());
        assert_eq!(fetched.out, format!("fetched {whole} records of 1 agents\n"), "{lie}");
        assert_eq!(forgotten, [1; 1][..whole], "{lie}");
        let written = kept(&folder).into_iter().map(|path| fs::read(path).unwrap());
        assert!(written.eq(std::iter::repeat_n(second.clone(), whole)), "{lie}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// It was dismissed, came back, and counted again, while another one was still away.
#[test]
fn an_agent_that_has_handed_over_its_records_counts_once() {
    let _turn = shared();
    let lab = Lab::new("once");
    let _agent = lab.agent("a0");
    let (key, folder) = (lab.key(), lab.path("fetched"));
    let words = format!("agent records --key {key} --agents 2 --expect 9s {}", folder.display());
    let fetched = memtide(&words);
    assert_eq!(fetched.exits(3).out, "fetched 0 records of 1 agents\n");
}
