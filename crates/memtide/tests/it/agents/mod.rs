//! Runs by agents: a master and its agents as processes on this machine.

mod runs;
mod points;
mod same;
mod bad_days;
mod masters;
mod security;
mod enemies;
mod clocks;
mod threads;
mod cuts;
mod surroundings;

use crate::child::{Finished, Running, memtide, program, read_record, scratch};
use crate::peer::{Peer, free_port};
use memtide_record::Record;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for anything except a run.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Agents and masters without a key all meet at one port, so one pair of them works at a time.
pub(crate) static OWN_ADDRESS: Mutex<()> = Mutex::new(());

/// A master's key, and agents that accept it. All of them end with this value.
pub(crate) struct Lab {
    folder: PathBuf,
    /// Port on which the master listens.
    port: u16,
}

impl Lab {
    /// A lab whose agents may load all servers on this machine.
    pub(crate) fn new(name: &str) -> Self {
        Self::within(name, "--allow-target 127.0.0.0/8:*")
    }

    /// A lab whose join file has these limits.
    fn within(name: &str, limits: &str) -> Self {
        let folder = scratch(&format!("agents-{name}"));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        let lab = Self { folder, port: free_port() };
        let (key, port) = (lab.key(), lab.port);
        memtide(&format!("key new {key} --address 127.0.0.1:{port} {limits}")).exits(0);
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder of the master's key.
    fn key(&self) -> String {
        self.path("key").display().to_string()
    }

    fn join(&self) -> PathBuf {
        self.path("key/agent.join")
    }

    /// An agent that dials the master.
    fn agent(&self, name: &str) -> Agent {
        self.agent_with(name, "")
    }

    /// An agent that dials the master, with additional words.
    fn agent_with(&self, name: &str, words: &str) -> Agent {
        let line = format!("agent --join {} {words}", self.join().display());
        Agent::start(self, name, &line, program())
    }

    /// Agents a0, a1 and so on.
    pub(crate) fn agents(&self, count: usize) -> Vec<Agent> {
        (0..count).map(|number| self.agent(&format!("a{number}"))).collect()
    }

    /// An agent with these variables in its environment.
    pub(crate) fn agent_knowing(&self, name: &str, own: &[(&str, String)]) -> Agent {
        let mut command = program();
        command.envs(own.iter().map(|(name, value)| (name, value)));
        let line = format!("agent --join {}", self.join().display());
        Agent::start(self, name, &line, command)
    }

    /// An agent that listens for the master, and its address.
    fn listening(&self, name: &str) -> (Agent, String) {
        let address = format!("127.0.0.1:{}", free_port());
        let agent = self.agent_with(name, &format!("--listen {address}"));
        agent.await_log("waits for its master");
        (agent, address)
    }

    /// Starts a master with these words.
    pub(crate) fn master(&self, words: &str) -> Running {
        Running::start(&format!("{words} --key {}", self.key()))
    }

    /// Carries out a run by `agents` with these words; returns its output and record.
    pub(crate) fn run(&self, peer: &Peer, agents: &str, words: &str) -> (Finished, Record) {
        let json = self.path("run.json");
        let finished = self.start(peer, agents, words, &json).finish().exits(0);
        let record = record(&json);
        (finished, record)
    }

    /// Starts a run by `agents` that writes its record to `json`.
    pub(crate) fn start(&self, peer: &Peer, agents: &str, words: &str, json: &Path) -> Running {
        drop(fs::remove_file(json));
        self.master(&format!(
            "run -s {} --quiet --keys 200 --agents {agents} --json {} {words}",
            peer.name,
            json.display()
        ))
    }

    /// Asserts the error of a run that never began.
    fn refuses(&self, line: &str, code: i32, words: &[&str]) {
        let finished = self.master(line).finish();
        finished.fails(code, words);
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Keep the folder of a failed test.
        if !thread::panicking() {
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

impl Finished {
    /// Asserts that the process ended with `code`, and that stderr contains each of `words`.
    fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        assert!(!self.err.contains("panicked"), "{self}");
        for word in words {
            assert!(self.err.contains(word), "stderr does not say '{word}': {self}");
        }
    }
}

/// An agent in a separate process.
pub(crate) struct Agent {
    child: Child,
    log: PathBuf,
    records: PathBuf,
}

impl Agent {
    fn start(lab: &Lab, name: &str, line: &str, mut command: Command) -> Self {
        let (log, records) = (lab.path(&format!("{name}.log")), lab.path(&format!("{name}.kept")));
        command.args(line.split_whitespace()).args(["--name", name]);
        command.arg("--records").arg(&records);
        command.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        Self { child: command.spawn().unwrap(), log, records }
    }

    /// Everything that it has printed so far.
    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has printed `word`.
    pub(crate) fn await_log(&self, word: &str) {
        until(|| self.said().contains(word), || format!("no '{word}' in:\n{}", self.said()));
    }

    /// The records that it keeps.
    fn kept(&self) -> Vec<PathBuf> {
        kept(&self.records)
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The exit code of an agent that is about to end.
    fn code(mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status.code(),
                None if started.elapsed() > PATIENCE => panic!("it goes on: {}", self.said()),
                None => thread::sleep(LOOK_EVERY),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The records in the folder of an agent.
pub(crate) fn kept(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_record = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
    files.map(|file| file.path()).filter(is_record).collect()
}

/// Waits until `is_so`; fails the test with the text of `why` if it takes too long.
fn until(mut is_so: impl FnMut() -> bool, why: impl Fn() -> String) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{}", why());
        thread::sleep(LOOK_EVERY);
    }
}

fn record(path: &Path) -> Record {
    read_record(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The names of the agents whose shares are in a record.
fn names(record: &Record) -> Vec<String> {
    let agent = |share: &memtide_record::ShareRecord| share.agent.clone().unwrap().name;
    match &record.share {
        Some(share) => vec![agent(share)],
        None => record.shards.iter().map(|it| agent(it.share.as_ref().unwrap())).collect(),
    }
}

/// Asserts that no operation reached the server.
fn is_untouched(peer: &Peer) {
    let counts = ["cmd_get", "cmd_set", "cmd_touch", "cmd_flush", "cmd_meta"];
    assert_eq!(counts.map(|name| peer.figure(name)), [0; 5]);
}

/// Length of the load on `peer`: until no operation arrives for half a second.
fn load_lasts(peer: &Peer) -> Duration {
    let started = Instant::now();
    let operations = || peer.figure("cmd_get") + peer.figure("cmd_set");
    let (mut count, mut changed) = (operations(), started);
    while changed.elapsed() < Duration::from_millis(500) {
        assert!(started.elapsed() < PATIENCE, "the load does not end");
        thread::sleep(LOOK_EVERY);
        let now = operations();
        if now != count {
            (count, changed) = (now, Instant::now());
        }
    }
    changed - started
}
