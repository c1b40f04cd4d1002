//! What the commands of one code block need: servers, a database, agents, the files that they read
//! and that the page has from elsewhere. All of it ends with the block.

use super::pages::{Block, Command as Documented};
use super::scale::{self, Size};
use crate::agents::{OWN_ADDRESS, kept};
use crate::influx::stub::{Reply, Stub};
use crate::prelude::*;
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::sync::{MutexGuard, PoisonError};
use std::time::SystemTime;

/// What shares need to connect and to fill before they begin.
const BEFORE_START_S: u64 = 8;
/// Why a command of a page ends with 1 although it does what the page says: a goal cannot be
/// promised for a load of this size on a busy machine. With `--strict`, the verdict neither.
const JUDGES: &[&str] = &["--goal", "--fail-on"];
/// What memaslap reads where the page names a file of the reader's own.
const OBJECTS: &str = "key\n64 64 1\nvalue\n100 100 1\ncmd\n0 0.1\n1 0.9\n";

/// Surroundings of the commands of one block.
pub(super) struct World {
    folder: PathBuf,
    /// Files that the page shows, by name.
    shown: BTreeMap<String, String>,
    /// Servers by the names of the page; anew for each command.
    servers: BTreeMap<String, Peer>,
    database: Option<Stub>,
    /// The port at which agents meet their master.
    pub(super) meeting: u16,
    agents: Vec<Running>,
    /// How the page starts an agent.
    agent_words: Option<Vec<String>>,
    own_address: Option<MutexGuard<'static, ()>>,
    start_at: Option<String>,
    /// Shares that wait for each other.
    shares: Vec<(String, Running)>,
}

impl World {
    pub(super) fn new(name: &str, page: &[Block]) -> Self {
        let folder = scratch(&format!("commands-{name}"));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(folder.join("path")).unwrap();
        symlink(env!("CARGO_BIN_EXE_memtide"), folder.join("path/memtide")).unwrap();
        Self {
            folder,
            shown: page.iter().filter_map(Block::file).collect(),
            servers: BTreeMap::new(),
            database: None,
            meeting: free_port(),
            agents: Vec::new(),
            agent_words: None,
            own_address: None,
            start_at: None,
            shares: Vec::new(),
        }
    }

    /// Carries out a command of the page, and asserts that it ends as the page implies.
    pub(super) fn run(&mut self, documented: &Documented) {
        if !documented.has("--shard") {
            self.finish_shares();
            self.servers.clear();
        }
        self.provide(documented);
        self.plan(documented);
        let words = scale::words(documented, Size::Small, self);
        let said = format!("{}: {}\nas: memtide {words:?}", documented.place, documented.text);
        if documented.verb() == "agent" && documented.operands().next().is_none() {
            self.agent_words = Some(words);
            return self.employ(1);
        }
        if let Some(count) = documented.value("--agents").and_then(|word| word.parse().ok()) {
            self.employ(count);
        }
        let mut command = self.command(&words, &documented.rest);
        command.envs(scale::defaults(documented));
        for (name, value) in &documented.variables {
            command.env(name, if value == "…" { "word" } else { value });
        }
        let running = Running::of(&mut command);
        match documented.verb() {
            "serve" => serves(&words, running, &said),
            _ if documented.has("--shard") => self.shares.push((said, running)),
            _ => ends(running.finish(), &codes(documented), &said),
        }
    }

    /// Asserts that the figures of the page, however large, make a plan.
    fn plan(&mut self, documented: &Documented) {
        let plans = ["run", "search", "scan", "load", "sim"].contains(&documented.verb());
        // A plan of agents is each agent's own.
        if plans && !documented.has("--agents") {
            let mut words = scale::words(documented, Size::AsTyped, self);
            words.push("--plan".to_owned());
            let said = format!("{}: the plan of {}", documented.place, documented.text);
            ends(Running::of(&mut self.command(&words, "")).finish(), &[0], &said);
        }
    }

    /// Waits for what still runs, and asserts that it ended well.
    pub(super) fn finish(mut self) {
        self.finish_shares();
        for agent in &self.agents {
            agent.await_handler(Signal::TERM);
            agent.signal(Signal::TERM);
        }
        for agent in self.agents.drain(..) {
            ends(agent.finish(), &[0], "an agent that is no longer needed");
        }
        drop(fs::remove_dir_all(&self.folder));
    }

    fn finish_shares(&mut self) {
        for (said, share) in self.shares.drain(..) {
            ends(share.finish(), &[0], &said);
        }
    }

    /// The program with these words, in the block's folder; with a shell if the page asks for more
    /// than the program.
    fn command(&self, words: &[String], rest: &str) -> Command {
        let mut command = program();
        if !rest.is_empty() && rest != "&" {
            let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            let line = format!("memtide {} {rest}", quoted.collect::<Vec<_>>().join(" "));
            command = crate::child::cleared(Command::new("bash"));
            command.args(["-o", "pipefail", "-c", &line]);
        } else {
            command.args(words);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("path").display()));
        command.env("HOME", &self.folder).env_remove("XDG_STATE_HOME");
        command.current_dir(&self.folder);
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs the program on the way to a documented command.
    fn prepare(&self, line: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        ends(Running::of(&mut self.command(&words, "")).finish(), &[0], line);
    }

    /// The name of the server here that stands for the page's `name`.
    pub(super) fn server(&mut self, name: &str) -> String {
        let count = self.servers.len();
        let folder = self.folder.file_name().unwrap().to_string_lossy().into_owned();
        let start = || match name.starts_with("unix:") {
            true => Peer::memcached_unix(&format!("{folder}-{count}")),
            false => Peer::memcached_udp(""),
        };
        self.servers.entry(name.to_owned()).or_insert_with(start).name.clone()
    }

    /// An instant in the future, shared by all commands of the block.
    pub(super) fn instant(&mut self) -> String {
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let start = || format!("@{}", now() + 1 + BEFORE_START_S);
        self.start_at.get_or_insert_with(start).clone()
    }

    /// A word with places and addresses of this machine.
    pub(super) fn placed(&mut self, word: &str) -> String {
        if let Some((begin, rest)) = word.split_once("http://") {
            let stub = || Stub::start(|_, _| Reply::Whole(204, "", ""));
            let stub = self.database.get_or_insert_with(stub);
            let (_, behind) = rest.split_once('/').unwrap_or((rest, ""));
            return format!("{begin}{}", stub.url(&format!("/{behind}")));
        }
        let inner = word.strip_prefix("~/").or(word.strip_prefix('/'));
        inner.map_or(word.to_owned(), |inner| self.path(inner).display().to_string())
    }

    /// Makes what `documented` reads and what nothing has made yet.
    fn provide(&mut self, documented: &Documented) {
        for flag in ["--samples", "--spool", "--from-spool"] {
            let place = documented.value(flag).filter(|place| place.starts_with('/'));
            if let Some((folder, _)) =
                place.map(|place| place.split_once(',').unwrap_or((place, "")))
            {
                fs::create_dir_all(self.placed(folder)).unwrap();
            }
        }
        if let Some(key) = documented.value("--key") {
            self.provide_key(key);
        }
        if let Some(join) = documented.value("--join").filter(|join| !self.path(join).exists()) {
            self.provide_key("lab");
            fs::copy(self.path("lab/agent.join"), self.path(join)).unwrap();
        }
        if let Some(file) = documented.value("-F") {
            fs::write(self.path(file), OBJECTS).unwrap();
        }
        let operands: Vec<&str> = documented.operands().collect();
        match documented.verb() {
            "merge" => self.provide_shares(&operands),
            "report" => self.provide_runs(&operands),
            "compare" => {
                let words = documented.words.iter().map(String::as_str);
                let records = words.filter(|word| word.ends_with(".json") && !word.contains('='));
                self.provide_runs(&records.collect::<Vec<_>>());
            }
            "agent" if operands.first() == Some(&"records") => self.lose_a_master(documented),
            _ => operands.iter().for_each(|name| self.provide_scenario(name)),
        }
    }

    fn provide_key(&self, key: &str) {
        if !self.path(key).exists() {
            let port = self.meeting;
            self.prepare(&format!(
                "key new {key} --address 127.0.0.1:{port} --bind 127.0.0.1:{port} \
                 --allow-target 127.0.0.0/8:*"
            ));
        }
    }

    fn provide_scenario(&mut self, name: &str) {
        if name.ends_with(".toml") {
            let text = self.shown.get(name).map_or("rate = \"2k\"\n", String::as_str).to_owned();
            let text = scale::file(&text, self);
            fs::write(self.path(name), text).unwrap();
        }
    }

    /// Records of runs of their own at these places.
    fn provide_runs(&mut self, places: &[&str]) {
        let server = self.server("prepared");
        for place in places.iter().filter(|place| !self.path(place).exists()) {
            self.prepare(&format!(
                "run -s {server} --rate 1k --duration 0.2s --keys 100 --quiet --json {place}"
            ));
        }
    }

    /// Records of all shares of one run at these places: files, folders and patterns.
    fn provide_shares(&mut self, places: &[&str]) {
        let mut files = Vec::new();
        for place in places.iter().filter(|place| !self.path(place).exists()) {
            if place.ends_with(".json") && !place.contains('*') {
                files.push(self.path(place));
                continue;
            }
            let folder = self.path(place.strip_suffix("/*.json").unwrap_or(place));
            fs::create_dir_all(&folder).unwrap();
            files.extend(["0.json", "1.json"].map(|name| folder.join(name)));
        }
        let server = self.server("prepared");
        let share = |(number, file): (usize, &PathBuf)| {
            let line = format!(
                "run --shard {number}/{} -s {server} --rate 1k --duration 0.5s --connections 8 \
                 --keys 100 --quiet --json",
                files.len()
            );
            let words = line.split_whitespace().map(str::to_owned);
            let words: Vec<String> = words.chain([file.display().to_string()]).collect();
            Running::of(&mut self.command(&words, ""))
        };
        let shares: Vec<Running> = files.iter().enumerate().map(share).collect();
        for share in shares {
            ends(share.finish(), &[0], "a share to merge");
        }
    }

    /// Starts agents until there are `count`.
    fn employ(&mut self, count: usize) {
        let by_join = || ["agent", "--join", "lab/agent.join"].map(str::to_owned).to_vec();
        let words = self.agent_words.get_or_insert_with(by_join).clone();
        if !words.iter().any(|word| word == "--join") && self.own_address.is_none() {
            self.own_address = Some(OWN_ADDRESS.lock().unwrap_or_else(PoisonError::into_inner));
        }
        for number in self.agents.len()..count {
            let more = ["--name", &format!("a{number}"), "--records", &format!("kept-{number}")]
                .map(str::to_owned);
            let words: Vec<String> = words.iter().cloned().chain(more).collect();
            self.agents.push(Running::of(&mut self.command(&words, "")));
        }
    }

    /// Kills a master in its run, so that its agents have records to fetch.
    fn lose_a_master(&mut self, documented: &Documented) {
        let count = documented.value("--agents").and_then(|word| word.parse().ok()).unwrap_or(1);
        let key = documented.value("--key").unwrap_or("lab");
        self.employ(count);
        let server = self.server("prepared");
        let line = format!(
            "run --agents {count} --key {key} -s {server} --rate 1k --duration 5m --keys 100 \
             --load never --mix get=1 --quiet"
        );
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let master = Running::of(&mut self.command(&words, ""));
        self.servers["prepared"].await_figure("cmd_get", 100);
        drop(master);
        let is_kept = |number| !kept(&self.path(&format!("kept-{number}"))).is_empty();
        until("the agents keep their records", || (0..count).all(is_kept));
    }
}

/// Asserts that a server of the page answers, and that Ctrl-C ends it well.
fn serves(words: &[String], running: Running, said: &str) {
    let port = words.iter().position(|word| word == "--port").map(|at| &words[at + 1]);
    let address = format!("127.0.0.1:{}", port.unwrap_or_else(|| panic!("{said}: no --port")));
    until(said, || TcpStream::connect(&address).is_ok());
    running.signal(Signal::INT);
    ends(running.finish(), &[0], said);
}

/// The exit codes that the page implies.
fn codes(documented: &Documented) -> Vec<i32> {
    // A short trial may lose all of its pairs to a busy machine.
    let judges = ["doctor", "ab"].contains(&documented.verb())
        || JUDGES.iter().any(|flag| documented.has(flag));
    let judged = judges.then_some(1);
    let doubted = documented.has("--strict").then_some(4);
    [Some(0), judged, doubted].into_iter().flatten().collect()
}

fn ends(finished: Finished, codes: &[i32], said: &str) {
    let code = finished.code.unwrap_or(-1);
    assert!(codes.contains(&code), "{said}\nmust end with one of {codes:?}: {finished}");
    assert!(!finished.err.contains("panicked"), "{said}: {finished}");
}
