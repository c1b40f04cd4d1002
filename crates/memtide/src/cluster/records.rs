//! `memtide agent status` and `records`: what agents are doing, and the records that they keep.

use super::master_runner::own_key;
use crate::exit::{FAILED, INTERRUPTED, Stop, UNREACHABLE, unwritable};
use crate::output::{say, show};
use crate::session::caught;
use clap::ArgMatches;
use memtide_base::hex::to_hex;
use memtide_base::units::parse_span;
use memtide_cluster::agent::RUN_BYTES;
use memtide_cluster::message::from_agent::What as Says;
use memtide_cluster::message::to_agent::What as Asks;
use memtide_cluster::message::{
    Acknowledged, Bye, Fetch, Hello, KeptRecord, Ping, ToAgent, Welcome,
};
use memtide_cluster::parts::Assembly;
use memtide_cluster::text::printable;
use memtide_cluster::transport::{FromNet, MasterNet, files};
use memtide_host::clock::monotonic_ns;
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_scenario::AgentsWord;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest time that an agent may take to report its state.
const STATUS_MAX: Duration = Duration::from_secs(5);
/// Longest silence of an agent that hands over records.
const SILENT_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const PING_EVERY: Duration = Duration::from_secs(1);

/// `memtide agent status`.
///
/// Cause: A number was given, but the agents must be named to be asked.
///
/// To do: name their addresses.
pub(crate) fn status(matches: &ArgMatches) -> Result<u8, Stop> {
    let words: Vec<&str> =
        matches.get_many::<String>("agent").into_iter().flatten().map(String::as_str).collect();
    let AgentsWord::Listed(addresses) = parsed(&words.join(","))? else {
        return Err(Stop::usage("agent status needs the addresses of agents, such as lab1:11299"));
    };
    let net = open(matches, None, addresses.clone())?;
    let mut found: BTreeMap<String, Result<Hello, String>> = BTreeMap::new();
    let deadline = Instant::now() + STATUS_MAX;
    while found.len() < addresses.len() && Instant::now() < deadline {
        match net.next(LOOK_EVERY) {
            Some(FromNet::Opened { peer, address, hello }) => {
                send(&net, peer, Asks::Bye(Bye {}));
                found.insert(address, Ok(hello));
            }
            Some(FromNet::Turned { address, why } | FromNet::Unreachable { address, why }) => {
                found.insert(address, Err(why));
            }
            _ => {}
        }
    }
    let mut code = 0;
    let mut text = String::new();
    for address in &addresses {
        let (line, its_code) = line_of(found.get(address));
        text += &format!("{address}  {line}\n");
        code = code.max(its_code);
    }
    show(&text).map_err(|error| unwritable("stdout", &error))?;
    Ok(code)
}

/// The line about an agent, and the exit code that follows.
fn line_of(found: Option<&Result<Hello, String>>) -> (String, u8) {
    match found {
        None => ("no answer".to_owned(), UNREACHABLE),
        Some(Err(why)) => (why.clone(), UNREACHABLE),
        Some(Ok(hello)) => {
            let facts = format!(
                "{}, memtide {}, {} CPUs, {} records kept",
                printable(&hello.name, 64),
                printable(&hello.version, 64),
                hello.cpus,
                hello.kept.len()
            );
            match hello.busy_since_unix_s {
                Some(since) => (format!("busy since @{since}: {facts}"), FAILED),
                None => (format!("free: {facts}"), 0),
            }
        }
    }
}

/// `memtide agent records`.
///
/// Cause: The folder cannot be made, or a flag is wrong.
///
/// To do: name another folder.
pub(crate) fn fetch(matches: &ArgMatches) -> Result<u8, Stop> {
    let which = parsed(matches.get_one::<String>("agents").map_or("", String::as_str))?;
    let expect = matches.get_one::<String>("expect").map_or("30s", String::as_str);
    let expect = parse_span(expect).map_err(|error| Stop::usage(format!("--expect: {error}")))?;
    let folder = matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
    fs::create_dir_all(&folder).map_err(|error| {
        Stop::usage(format!("folder '{}' cannot be created: {error}", folder.display()))
    })?;
    let (wanted, dial) = match &which {
        AgentsWord::Count(count) => (*count as usize, Vec::new()),
        AgentsWord::Listed(all) => (all.len(), all.clone()),
    };
    let net = open(matches, matches!(which, AgentsWord::Count(_)).then_some(()), dial)?;
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED), false))?;
    let deadline = Instant::now() + Duration::from_nanos(expect.ns());
    let pinged = Instant::now();
    let mut fetching = Fetching { folder, peers: BTreeMap::new(), written: 0, done: 0, pinged };
    let mut heard = Instant::now();
    while fetching.done < wanted {
        if stop.is_raised() {
            return Ok(INTERRUPTED);
        }
        let is_late = Instant::now() >= deadline && fetching.peers.is_empty();
        if is_late || (!fetching.peers.is_empty() && heard.elapsed() > SILENT_MAX) {
            break;
        }
        fetching.ping(&net);
        let Some(came) = net.next(LOOK_EVERY) else { continue };
        heard = Instant::now();
        fetching.take(&net, came)?;
    }
    let Fetching { written, done, .. } = fetching;
    drop(show(&format!("fetched {written} records of {done} agents\n")));
    Ok(if done < wanted { UNREACHABLE } else { 0 })
}

/// Records that are being fetched.
struct Fetching {
    folder: PathBuf,
    peers: BTreeMap<u64, Peer>,
    written: usize,
    /// Number of agents that have handed over all their records.
    done: usize,
    /// Last time that agents were pinged.
    pinged: Instant,
}

/// An agent that hands over its records.
struct Peer {
    name: String,
    left: VecDeque<KeptRecord>,
    assembly: Assembly,
}

impl Fetching {
    /// Shows the agents that their master is alive.
    fn ping(&mut self, net: &MasterNet) {
        if self.pinged.elapsed() >= PING_EVERY {
            self.pinged = Instant::now();
            for peer in self.peers.keys() {
                send(net, *peer, Asks::Ping(Ping { number: 0 }));
            }
        }
    }

    fn take(&mut self, net: &MasterNet, came: FromNet) -> Result<(), Stop> {
        match came {
            FromNet::Opened { peer, hello, .. } => {
                send(net, peer, Asks::Welcome(Welcome { version: hello.version.clone() }));
                let mut left = VecDeque::from(hello.kept);
                left.retain(|kept| kept.run.len() == RUN_BYTES);
                let new =
                    Peer { name: printable(&hello.name, 64), left, assembly: Assembly::default() };
                self.peers.insert(peer, new);
                self.ask(net, peer);
            }
            FromNet::Message { peer, message, .. } => match message.what {
                Some(Says::Record(part)) => self.part(net, peer, &part)?,
                Some(Says::Refused(refused)) => {
                    say(&format!("memtide: {}: {}", self.name(peer), printable(&refused.why, 600)));
                    self.next(net, peer);
                }
                _ => {}
            },
            FromNet::Closed { peer, why } => {
                if let Some(gone) = self.peers.remove(&peer) {
                    say(&format!("memtide: {} is gone: {why}", gone.name));
                }
            }
            FromNet::Turned { address, why } | FromNet::Unreachable { address, why } => {
                say(&format!("memtide: {address}: {why}"));
            }
        }
        Ok(())
    }

    fn part(
        &mut self,
        net: &MasterNet,
        peer: u64,
        part: &memtide_cluster::message::RecordPart,
    ) -> Result<(), Stop> {
        let Some(of) = self.peers.get_mut(&peer) else { return Ok(()) };
        let Some(run) = of.left.front().map(|kept| kept.run.clone()) else { return Ok(()) };
        match of.assembly.add(&run, part) {
            Ok(None) => {}
            Ok(Some(record)) => {
                let name = format!("{}-{}.json", to_hex(&run), file_word(&of.name));
                let place = self.folder.join(name);
                write(&place, &record)?;
                self.written += 1;
                send(net, peer, Asks::Acknowledged(Acknowledged { run }));
                self.next(net, peer);
            }
            Err(why) => {
                say(&format!("memtide: {}: {why}", of.name));
                of.assembly = Assembly::default();
                self.next(net, peer);
            }
        }
        Ok(())
    }

    fn next(&mut self, net: &MasterNet, peer: u64) {
        if let Some(of) = self.peers.get_mut(&peer) {
            of.left.pop_front();
        }
        self.ask(net, peer);
    }

    /// Requests the next record, or dismisses the agent.
    fn ask(&mut self, net: &MasterNet, peer: u64) {
        let next = self.peers.get(&peer).map(|of| of.left.front().map(|kept| kept.run.clone()));
        match next {
            None => {}
            Some(Some(run)) => send(net, peer, Asks::Fetch(Fetch { run })),
            Some(None) => {
                self.peers.remove(&peer);
                self.done += 1;
                send(net, peer, Asks::Bye(Bye {}));
            }
        }
    }

    fn name(&self, peer: u64) -> &str {
        self.peers.get(&peer).map_or("an agent", |of| &of.name)
    }
}

/// Cause: The folder for the records is full or cannot be written.
///
/// To do: make room or name another folder; agents keep what was not written.
fn write(place: &Path, record: &[u8]) -> Result<(), Stop> {
    let written = File::create(place).and_then(|mut file| {
        file.write_all(record)?;
        file.sync_all()
    });
    written.map_err(|error| Stop {
        code: FAILED,
        message: format!("record '{}' cannot be written: {error}", place.display()),
    })
}

/// The network side of a master that only queries agents.
fn open(matches: &ArgMatches, waits: Option<()>, dial: Vec<String>) -> Result<MasterNet, Stop> {
    machine::hide_process().map_err(Stop::usage)?;
    let folder = match matches.get_one::<PathBuf>("key") {
        Some(folder) => folder.clone(),
        None => own_key()?,
    };
    let key = files::read_identity(&folder).map_err(Stop::usage)?;
    let listen = waits.map(|()| &*key.bind);
    let net = MasterNet::start(&key.identity, key.join.token.clone(), listen, dial, monotonic_ns);
    net.map_err(Stop::usage)
}

fn parsed(word: &str) -> Result<AgentsWord, Stop> {
    word.parse().map_err(Stop::usage)
}

fn send(net: &MasterNet, peer: u64, what: Asks) {
    net.send(peer, ToAgent { what: Some(what) });
}

/// Replaces characters that a file name cannot contain.
fn file_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(64).collect()
}
