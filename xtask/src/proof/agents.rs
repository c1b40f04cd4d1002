//! The proof of agents: many of them on this machine, and the cost of an agent against a plain run.

use super::released;
use crate::bench::figures::Spread;
use crate::bench::server::{Cpus, Server, free_address};
use crate::commands::{Kept, told};
use crate::files::{self, at, emptied};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The number of keys of the runs.
const KEYS: &str = "1000";
/// The longest time from the agents' start to a run's end.
const EXPECT: &str = "120s";
const JOIN_MAX: Duration = Duration::from_secs(120);
/// The time after which agents that have joined only wait, and the time for which they are watched.
const SETTLING: Duration = Duration::from_secs(5);
const WAITING: Duration = Duration::from_secs(20);
/// What an agent logs when a master has let it in.
const CONNECTED: &str = "connected to master ";

/// The sizes of the proof.
pub struct Options {
    /// The number of agents of the large fleet.
    pub agents: u32,
    /// The number of rounds in which one agent and a plain run take turns.
    pub rounds: u32,
    /// The length of each load, in seconds.
    pub seconds: u32,
}

/// Prints the CPU time of agents that wait; the times of runs by many agents, and their memory in
/// three runs; then the CPU time of an operation by one agent, as a ratio to that of a
/// plain run.
///
/// # Errors
/// If memtide cannot be built, or a run fails.
pub fn agents(root: &Path, options: &Options) -> Result<(), String> {
    let (memtide, cpus) = (released(root)?, Cpus::inherited()?);
    let lab = |name| Lab::new(&root.join("target/proof-agents"), name, &memtide);
    many(&lab("many")?, options, &cpus)?;
    one(&lab("one")?, options, &cpus)
}

/// A fleet of many agents, which makes three runs.
fn many(lab: &Lab, options: &Options, cpus: &Cpus) -> Result<(), String> {
    let server = Server::memcached(cpus)?;
    let count = options.agents;
    let agents: Vec<Kept> = (0..count).map(|number| lab.agent(number)).collect::<Result<_, _>>()?;
    waiting(lab, &server.address.to_string(), &agents)?;
    println!("run   joined   load began   merged   PSS of an agent: mean   most");
    for number in 1..=3 {
        let rate = 10 * count;
        let words = format!(
            "run -s {} --keys {KEYS} --rate {rate} --duration {}s --warmup 0 --threads 1 \
             --connections {count} --mix get=1",
            server.address, options.seconds
        );
        let (began, since_unix) = (Instant::now(), since_unix_s());
        let before = lab.joined();
        let master = lab.master(&words, count)?;
        let joined = lab.await_all(before + count as usize, began)?;
        let record = master.record()?;
        let merged = began.elapsed();
        let load = window_start_s(&record).map(|start| start - since_unix);
        let pss: Vec<f64> = agents.iter().map(pss_kib).collect::<Result<_, _>>()?;
        let mean = pss.iter().sum::<f64>() / pss.len() as f64;
        let most = pss.iter().copied().fold(0.0, f64::max);
        println!(
            "{number:>3}   {:>4.1} s   {:>8.1} s   {:>4.1} s   {:>17.2} MiB   {:.2} MiB",
            joined.as_secs_f64(),
            load.unwrap_or(f64::NAN),
            merged.as_secs_f64(),
            mean / 1024.0,
            most / 1024.0
        );
        let (shards, totals) = (&record["shards"], &record["totals"]);
        let skew_ms = record["start_skew_ns"].as_u64().map_or(f64::NAN, |ns| ns as f64 / 1e6);
        println!(
            "      {} shares, {} operations intended, {} answered; start skew {skew_ms:.1} ms",
            shards.as_array().map_or(0, Vec::len),
            totals["intended"],
            totals["answered"]
        );
    }
    Ok(())
}

/// Prints the CPU time of connected agents whose master waits for one more.
fn waiting(lab: &Lab, server: &str, agents: &[Kept]) -> Result<(), String> {
    let (count, before) = (agents.len() as u32, lab.joined());
    let master = lab.master(&format!("run -s {server} --keys {KEYS} --rate 1"), count + 1)?;
    lab.await_all(before + count as usize, Instant::now())?;
    thread::sleep(SETTLING);
    let all = || agents.iter().map(cpu_ns).sum::<Result<u64, _>>();
    let (began, before) = (Instant::now(), all()?);
    thread::sleep(WAITING);
    let share = (all()? - before) as f64 / began.elapsed().as_nanos() as f64;
    let of_1000 = share * 1_000.0 / f64::from(count);
    println!(
        "{count} agents that wait take {:.2} % of a CPU; 1 000 would take {:.2} %",
        share * 100.0,
        of_1000 * 100.0
    );
    drop(master);
    Ok(())
}

/// One agent and a plain run, in turns.
fn one(lab: &Lab, options: &Options, cpus: &Cpus) -> Result<(), String> {
    let server = Server::memcached(cpus)?;
    let _agent = lab.agent(0)?;
    let words = format!(
        "run -s {} --keys {KEYS} --rate 20k --duration {}s --warmup 1s --threads 1 --connections \
         16 --mix get=1",
        server.address, options.seconds
    );
    let mut ratios = Vec::new();
    for number in 0..options.rounds {
        let by_agent = || -> Result<f64, String> { cpu(&lab.master(&words, 1)?.record()?) };
        let plain = || -> Result<f64, String> { cpu(&lab.plain(&words)?.record()?) };
        // The two take turns in going first.
        let (agent, plain) = match number % 2 {
            0 => (by_agent()?, plain()?),
            _ => {
                let plain = plain()?;
                (by_agent()?, plain)
            }
        };
        println!("round {number}: agent {agent:.3}, plain {plain:.3} CPU s per million operations");
        ratios.push(agent / plain);
    }
    let spread = Spread::of(ratios).ok_or("there was no round")?;
    println!("CPU per operation, agent to plain run: {} with 95 % confidence", spread.text(3));
    Ok(())
}

/// A folder with a master's key, in which agents and masters run.
struct Lab<'a> {
    folder: PathBuf,
    memtide: &'a Path,
}

impl<'a> Lab<'a> {
    fn new(folder: &Path, name: &str, memtide: &'a Path) -> Result<Self, String> {
        let lab = Self { folder: emptied(folder.join(name))?, memtide };
        let address = free_address()?.to_string();
        let mut command = Command::new(memtide);
        command.args(["key", "new"]).arg(lab.folder.join("key"));
        told(command.args(["--address", &address, "--allow-target", "127.0.0.0/8:*"]))?;
        Ok(lab)
    }

    fn agent(&self, number: u32) -> Result<Kept, String> {
        let name = format!("a{number:03}");
        let mut command = self.memtide();
        command.args(["agent", "--name", &name, "--join"]);
        command.arg(self.folder.join("key/agent.join"));
        command.arg("--records").arg(self.folder.join(name));
        let log = File::options().append(true).create(true).open(self.log());
        let log = log.map_err(at(&self.log()))?;
        Kept::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log))
    }

    /// The log of all agents.
    fn log(&self) -> PathBuf {
        self.folder.join("agents.log")
    }

    /// The number of times that agents have connected to a master.
    fn joined(&self) -> usize {
        // Lines of several agents may be mixed.
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        log.matches(CONNECTED).count()
    }

    /// Waits until agents have connected to masters this often; returns the time since `began`.
    fn await_all(&self, count: usize, began: Instant) -> Result<Duration, String> {
        while self.joined() < count {
            if began.elapsed() > JOIN_MAX {
                let (there, log) = (self.joined(), self.log());
                return Err(format!("{there} of {count} agents came; see {}", log.display()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(began.elapsed())
    }

    /// A run by `count` agents.
    fn master(&self, words: &str, count: u32) -> Result<Master, String> {
        let key = self.folder.join("key");
        let words = format!("{words} --agents {count} --expect {EXPECT} --key {}", key.display());
        self.plain(&words)
    }

    /// A plain run, without agents.
    fn plain(&self, words: &str) -> Result<Master, String> {
        let json = self.folder.join("run.json");
        let mut command = self.memtide();
        command.args(words.split_whitespace()).arg("--json").arg(&json);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(Master { process: Kept::spawn(&mut command)?, json })
    }

    /// A command for the program, which is killed when this process dies.
    fn memtide(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(self.memtide);
        command
    }
}

/// The memory of an agent's process, with its part of shared pages, in KiB.
fn pss_kib(agent: &Kept) -> Result<f64, String> {
    let place = format!("/proc/{}/smaps_rollup", agent.0.id());
    let text = fs::read_to_string(&place).map_err(at(Path::new(&place)))?;
    let pss = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let pss = pss.and_then(|pss| pss.split_whitespace().next()?.parse().ok());
    pss.ok_or_else(|| format!("{place} has no line Pss"))
}

/// The CPU time of an agent's threads so far, in nanoseconds.
fn cpu_ns(agent: &Kept) -> Result<u64, String> {
    let tasks = PathBuf::from(format!("/proc/{}/task", agent.0.id()));
    let mut sum = 0;
    for task in fs::read_dir(&tasks).map_err(at(&tasks))?.flatten() {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        sum += text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// A run in progress. Dropping this value ends it.
struct Master {
    process: Kept,
    json: PathBuf,
}

impl Master {
    /// Waits for the run's end; returns its record.
    fn record(mut self) -> Result<Value, String> {
        let mut err = self.process.0.stderr.take().expect("it is piped");
        let mut said = String::new();
        err.read_to_string(&mut said).map_err(|error| error.to_string())?;
        let status = self.process.0.wait().map_err(|error| error.to_string())?;
        match status.success() {
            true => files::json(&self.json),
            false => Err(format!("a run failed with {status}: {said}")),
        }
    }
}

/// The CPU seconds that a million operations cost their process.
fn cpu(record: &Value) -> Result<f64, String> {
    let cost = record["client"]["cpu_s_per_mops"].as_f64();
    cost.ok_or_else(|| "a record has no CPU time of its operations".to_owned())
}

/// The start of the measured window, in seconds since 1970.
fn window_start_s(record: &Value) -> Option<f64> {
    let ns = record["window_start_unix_ns"].as_str()?.parse::<f64>().ok()?;
    Some(ns / 1e9)
}

fn since_unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    /// The proof once waited for words that agents no longer log.
    #[test]
    fn agents_log_the_words_that_are_counted() {
        let agent = include_str!("../../../crates/session/src/cluster/serving.rs");
        assert!(agent.contains(super::CONNECTED));
    }
}
