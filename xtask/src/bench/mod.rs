//! What memtide costs beside a client that does nothing but the system calls.
//!
//! Both run against the same memcached in interleaved rounds, client and server on different
//! CPUs, and only ratios within a round are compared: absolute figures are the machine's.

mod figures;
pub(crate) mod instructions;
mod peers;
mod server;

use figures::{Rounds, Run};
use peers::Peer;
use serde_json::{Value, json};
use server::{Cpus, Server};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What `cargo xtask bench` was asked for.
pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    /// Only shapes whose name holds this word.
    pub(crate) shape: String,
    /// Whether other load generators that are found on PATH run as well.
    pub(crate) peers: bool,
    pub(crate) json: Option<PathBuf>,
}

/// A load that all clients can make.
struct Shape {
    name: &'static str,
    connections: u32,
    depth: u32,
    /// Keys of each get; with more than one there are no sets.
    multiget: u32,
    /// Gets per second at exponential gaps; 0 for as fast as possible.
    rate: u32,
    /// Calls of each connection, which is then closed, and counted instead of keys; 0 when
    /// connections stay.
    calls: u32,
    server: Which,
    /// Whether the client runs on the server's CPU.
    shares_cpu: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Memcached,
    Null,
}

const fn shape(
    name: &'static str,
    (connections, depth, multiget): (u32, u32, u32),
    server: Which,
) -> Shape {
    Shape { name, connections, depth, multiget, rate: 0, calls: 0, server, shares_cpu: false }
}

const fn paced(name: &'static str, rate: u32, shares_cpu: bool) -> Shape {
    let server = Which::Memcached;
    Shape { name, connections: 16, depth: 1, multiget: 1, rate, calls: 0, server, shares_cpu }
}

/// Connections at a time, each of as many gets, which it sends in one write.
const fn lives(name: &'static str, connections: u32, calls: u32, server: Which) -> Shape {
    Shape {
        name,
        connections,
        depth: calls,
        multiget: 1,
        rate: 0,
        calls,
        server,
        shares_cpu: false,
    }
}

/// 30-byte keys and 200-byte values are common to all of them, and nine gets to one set to most.
const SHAPES: &[Shape] = &[
    shape("16 connections, depth 1, memcached", (16, 1, 1), Which::Memcached),
    shape("16 connections, depth 1, null server", (16, 1, 1), Which::Null),
    shape("16 connections, depth 16, memcached", (16, 16, 1), Which::Memcached),
    shape("16 connections, depth 16, null server", (16, 16, 1), Which::Null),
    shape("256 connections, depth 1, memcached", (256, 1, 1), Which::Memcached),
    shape("256 connections, depth 1, null server", (256, 1, 1), Which::Null),
    shape("multiget of 100, per key, memcached", (16, 1, 100), Which::Memcached),
    shape("multiget of 100, per key, null server", (16, 1, 100), Which::Null),
    shape("16 000 connections, depth 1, memcached", (16_000, 1, 1), Which::Memcached),
    lives("connection per 10 calls, memcached", 16, 10, Which::Memcached),
    lives("connection per 10 calls, null server", 16, 10, Which::Null),
    paced("paced at 1 000/s, memcached", 1_000, false),
    paced("paced at 20 000/s, memcached", 20_000, false),
    paced("paced at 100 000/s, memcached", 100_000, false),
    paced("paced at 1 000/s, memcached on the same CPU", 1_000, true),
    paced("paced at 20 000/s, memcached on the same CPU", 20_000, true),
    paced("paced at 100 000/s, memcached on the same CPU", 100_000, true),
];

/// A program under comparison; the first of a list is what the others are held against.
#[derive(Clone, Copy)]
enum Client {
    /// As fast as it can, over epoll or io_uring.
    Bare(&'static str),
    /// The same over epoll, which sends when a whole window is answered: another load than all
    /// others make, for information.
    BareBatches,
    /// memtide in a closed loop, over this `--io`.
    Memtide(&'static str),
    /// Connections that come and go, as fast as it can.
    BareLives,
    /// The same by memtide, over this `--io`.
    MemtideLives(&'static str),
    /// At a rate, with this `--wait`.
    BarePaced(&'static str),
    /// memtide at a rate, with these `--io` and `--wait`.
    MemtidePaced(&'static str, &'static str),
    /// Somebody else's.
    Peer(&'static Peer),
}

impl Client {
    fn name(self) -> String {
        match self {
            Self::Bare(io) => format!("bare-{io}"),
            Self::BareBatches => "bare, whole batches".to_owned(),
            Self::Memtide(io) => format!("memtide, {io}"),
            Self::BareLives => "bare-lives".to_owned(),
            Self::MemtideLives(io) => format!("memtide, {io}"),
            Self::BarePaced(wait) => format!("bare, {wait}"),
            Self::MemtidePaced(io, wait) => format!("{io}, {wait}"),
            Self::Peer(peer) => peer.program.to_owned(),
        }
    }
}

const CLIENTS: &[Client] = &[
    Client::Bare("epoll"),
    Client::Bare("uring"),
    Client::Memtide("epoll"),
    Client::Memtide("uring"),
];

const DEEP_CLIENTS: &[Client] = &[
    Client::Bare("epoll"),
    Client::Bare("uring"),
    Client::BareBatches,
    Client::Memtide("epoll"),
    Client::Memtide("uring"),
];

const LIFE_CLIENTS: &[Client] =
    &[Client::BareLives, Client::MemtideLives("epoll"), Client::MemtideLives("uring")];

const PACED_CLIENTS: &[Client] = &[
    Client::BarePaced("sleep"),
    Client::BarePaced("spin"),
    Client::MemtidePaced("epoll", "sleep"),
    Client::MemtidePaced("epoll", "hybrid"),
    Client::MemtidePaced("epoll", "spin"),
    Client::MemtidePaced("uring", "sleep"),
    Client::MemtidePaced("uring", "hybrid"),
    Client::MemtidePaced("uring", "spin"),
];

const KEYS: &str = "1000";
/// How long a client may take beside its run.
const PATIENCE_S: u32 = 30;

/// Runs every shape and prints one table for each.
///
/// # Errors
/// When something cannot be built, started or understood.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    crate::setup::install_missing(crate::setup::TESTS)?;
    let build = ["build", "--release", "--package", "memtide", "--package", "memtide-bench"];
    crate::run(crate::cargo(root).args(build))?;
    let metadata = crate::metadata(root)?;
    let target = metadata["target_directory"].as_str().ok_or("cargo names no target directory")?;
    let programs = Path::new(target).join("release");
    let cpus = Cpus::inherited()?;
    let bench = Bench {
        // The servers live through all rounds, so all clients meet the same ones.
        memcached: Server::memcached(&cpus)?,
        null: Server::null(&cpus, &programs)?,
        programs,
        cpus,
        seconds: options.seconds,
        peers: options.peers,
    };
    println!("{}\n", bench.heading(options.rounds));
    let mut shapes = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&options.shape)) {
        let rounds = bench.rounds(shape, options.rounds)?;
        println!("{}\n{}", shape.name, rounds.text());
        shapes.push(json!({"name": shape.name, "figures": rounds.json()}));
    }
    let Some(file) = &options.json else { return Ok(()) };
    let all = json!({
        "schema": "memtide.bench/1",
        "rounds": options.rounds,
        "seconds": options.seconds,
        "client_cpu": bench.cpus.client,
        "server_cpu": bench.cpus.server,
        "shapes": shapes,
    });
    fs::write(file, format!("{all:#}\n"))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Simulates `seconds` of 100 000 operations per second on one worker, and prints how long it took.
///
/// # Errors
/// When memtide cannot be built, or its simulation fails.
pub(crate) fn simulated(root: &Path, seconds: u32) -> Result<(), String> {
    crate::run(crate::cargo(root).args(["build", "--release", "--package", "memtide"]))?;
    let metadata = crate::metadata(root)?;
    let target = metadata["target_directory"].as_str().ok_or("cargo names no target directory")?;
    let began = Instant::now();
    let duration = format!("{seconds}s");
    let load = ["--rate", "100k", "--threads", "1", "--duration", &duration];
    let mut memtide = Command::new(Path::new(target).join("release/memtide"));
    crate::run(memtide.arg("sim").args(load))?;
    let took_s = began.elapsed().as_secs_f64();
    let per_operation_us = took_s / f64::from(seconds) / 1e5 * 1e6;
    println!("{seconds} s of load took {took_s:.1} s, {per_operation_us:.2} us per operation");
    Ok(())
}

struct Bench {
    programs: PathBuf,
    cpus: Cpus,
    seconds: u32,
    /// Whether other programs run as well.
    peers: bool,
    memcached: Server,
    null: Server,
}

impl Bench {
    fn heading(&self, rounds: u32) -> String {
        let Cpus { client, server } = self.cpus;
        let seconds = self.seconds;
        let line = format!(
            "median (least – most) of {rounds} interleaved rounds of {seconds} s; \
             client on CPU {client}, server on CPU {server}"
        );
        if client == server {
            line + "\nthe client shares its only CPU with the server: these figures mean nothing"
        } else {
            line
        }
    }

    /// Each round begins with another client: a drift of the machine then falls on all alike.
    fn rounds(&self, shape: &Shape, count: u32) -> Result<Rounds, String> {
        let own = match shape {
            Shape { calls: 1.., .. } => LIFE_CLIENTS,
            Shape { rate: 1.., .. } => PACED_CLIENTS,
            Shape { depth: 2.., .. } => DEEP_CLIENTS,
            _ => CLIENTS,
        };
        let peers = if self.peers { Peer::present(shape) } else { Vec::new() };
        let peers = peers.into_iter().map(Client::Peer);
        let clients: Vec<Client> = own.iter().copied().chain(peers).collect();
        let mut rounds = Rounds::of(clients.iter().map(|client| client.name()));
        for round in 0..count {
            eprintln!("xtask: {}: round {} of {count}", shape.name, round + 1);
            for turn in 0..clients.len() {
                let number = (round as usize + turn) % clients.len();
                let run = match clients[number] {
                    Client::Bare(io) => Ok(self.bare(shape, io, &[])?),
                    Client::BareBatches => Ok(self.bare(shape, "epoll", &["--whole-batches"])?),
                    Client::Memtide(io) => Ok(self.memtide(shape, io, "sleep")?),
                    Client::BareLives => Ok(self.bare_lives(shape)?),
                    Client::MemtideLives(io) => Ok(self.memtide_lives(shape, io)?),
                    Client::BarePaced(wait) => Ok(self.bare_paced(shape, wait)?),
                    Client::MemtidePaced(io, wait) => Ok(self.memtide(shape, io, wait)?),
                    // What somebody else's program does must not cost the other figures.
                    Client::Peer(peer) => peer.run(shape, self.address(shape), self.place(shape)),
                };
                rounds.add(number, run);
            }
        }
        Ok(rounds)
    }

    fn address(&self, shape: &Shape) -> SocketAddr {
        let server = match shape.server {
            Which::Memcached => &self.memcached,
            Which::Null => &self.null,
        };
        server.address
    }

    /// Where and for how long peers run, and where their files go.
    fn place(&self, shape: &Shape) -> (u32, u32, &Path) {
        (self.cpu(shape), self.seconds, &self.programs)
    }

    /// The client's CPU.
    fn cpu(&self, shape: &Shape) -> u32 {
        if shape.shares_cpu { self.cpus.server } else { self.cpus.client }
    }

    fn bare(&self, shape: &Shape, io: &str, more: &[&str]) -> Result<Run, String> {
        let words = [
            ("--server", self.address(shape).to_string()),
            ("--connections", shape.connections.to_string()),
            ("--depth", shape.depth.to_string()),
            ("--multiget", shape.multiget.to_string()),
            ("--set-every", if shape.multiget > 1 { "0" } else { "10" }.to_owned()),
            ("--keys", KEYS.to_owned()),
            ("--seconds", self.seconds.to_string()),
        ];
        let mut words = flags(words);
        words.extend(more.iter().map(|&word| word.to_owned()));
        let said = self.client(&format!("bare-{io}"), self.cpu(shape), &words)?;
        let keys = number(&said, "/ops")? * f64::from(shape.multiget);
        Ok(Run {
            ops_per_s: keys / number(&said, "/wall_s")?,
            cpu_s_per_mops: cpu_s(&said, "")? / keys * 1e6,
            rss_max_bytes: number(&said, "/rss_max_bytes")?,
            response_us: None,
            lag_us: None,
        })
    }

    fn bare_paced(&self, shape: &Shape, wait: &str) -> Result<Run, String> {
        let words = [
            ("--server", self.address(shape).to_string()),
            ("--connections", shape.connections.to_string()),
            ("--rate", shape.rate.to_string()),
            ("--wait", wait.to_owned()),
            ("--keys", KEYS.to_owned()),
            ("--seconds", self.seconds.to_string()),
        ];
        let words = flags(words);
        let said = self.client("bare-paced", self.cpu(shape), &words)?;
        let ops = number(&said, "/ops")?;
        Ok(Run {
            ops_per_s: ops / number(&said, "/wall_s")?,
            cpu_s_per_mops: cpu_s(&said, "")? / ops * 1e6,
            rss_max_bytes: number(&said, "/rss_max_bytes")?,
            response_us: Some((number(&said, "/p50_ns")? / 1e3, number(&said, "/p99_ns")? / 1e3)),
            lag_us: None,
        })
    }

    /// Figures are per connection.
    fn bare_lives(&self, shape: &Shape) -> Result<Run, String> {
        let words = [
            ("--server", self.address(shape).to_string()),
            ("--connections", shape.connections.to_string()),
            ("--calls", shape.calls.to_string()),
            ("--seconds", self.seconds.to_string()),
        ];
        let words = flags(words);
        let said = self.client("bare-lives", self.cpu(shape), &words)?;
        let lives = number(&said, "/lives")?;
        Ok(Run {
            ops_per_s: lives / number(&said, "/wall_s")?,
            cpu_s_per_mops: cpu_s(&said, "")? / lives * 1e6,
            rss_max_bytes: number(&said, "/rss_max_bytes")?,
            response_us: None,
            lag_us: None,
        })
    }

    /// The same.
    fn memtide_lives(&self, shape: &Shape, io: &str) -> Result<Run, String> {
        let fields = [
            ("--server", self.address(shape).to_string()),
            ("--io", io.to_owned()),
            ("--connections", shape.connections.to_string()),
            ("--calls", shape.calls.to_string()),
            ("--depth", shape.depth.to_string()),
            ("--linger", "0".to_owned()),
            ("--threads", "1".to_owned()),
            ("--mix", "get=1".to_owned()),
            ("--key-size", "fixed:30".to_owned()),
            ("--value-size", "fixed:200".to_owned()),
            ("--keys", KEYS.to_owned()),
            ("--duration", format!("{}s", self.seconds)),
            ("--json", "-".to_owned()),
        ];
        let words = fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        let words: Vec<String> =
            ["run", "--quiet"].map(str::to_owned).into_iter().chain(words).collect();
        let record = self.client("memtide", self.cpu(shape), &words)?;
        let lives = number(&record, "/lives/measure/lived")?;
        let microseconds = |name| Some(number(&record, name).ok()? / 1e3);
        Ok(Run {
            ops_per_s: lives / number(&record, "/measured_s")?,
            cpu_s_per_mops: cpu_s(&record, "/client")? / lives * 1e6,
            rss_max_bytes: number(&record, "/client/rss_max_bytes")?,
            response_us: microseconds("/lives/lifetime/p50_ns")
                .zip(microseconds("/lives/lifetime/p99_ns")),
            lag_us: None,
        })
    }

    fn memtide(&self, shape: &Shape, io: &str, wait: &str) -> Result<Run, String> {
        let gets_only = shape.multiget > 1 || shape.rate > 0;
        let mix = if gets_only { "get=1" } else { "get=9,set=1" };
        let fields = [
            ("--server", self.address(shape).to_string()),
            ("--rate", shape.rate.to_string()),
            ("--io", io.to_owned()),
            ("--wait", wait.to_owned()),
            ("--connections", shape.connections.to_string()),
            ("--depth", shape.depth.to_string()),
            ("--multiget", shape.multiget.to_string()),
            ("--threads", "1".to_owned()),
            ("--mix", mix.to_owned()),
            ("--key-size", "fixed:30".to_owned()),
            ("--value-size", "fixed:200".to_owned()),
            ("--keys", KEYS.to_owned()),
            ("--duration", format!("{}s", self.seconds)),
            ("--json", "-".to_owned()),
        ];
        let words = fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        let words: Vec<String> =
            ["run", "--quiet"].map(str::to_owned).into_iter().chain(words).collect();
        let record = self.client("memtide", self.cpu(shape), &words)?;
        let keys = f64::from(shape.multiget);
        let microseconds = |name| Some(number(&record, name).ok()? / 1e3);
        Ok(Run {
            ops_per_s: number(&record, "/rate/achieved_per_s")? * keys,
            cpu_s_per_mops: cpu_s(&record, "/client")?
                / number(&record, "/totals/answered")?
                / keys
                * 1e6,
            rss_max_bytes: number(&record, "/client/rss_max_bytes")?,
            response_us: microseconds("/response/all/p50_ns")
                .zip(microseconds("/response/all/p99_ns")),
            lag_us: microseconds("/lag/all/p50_ns").zip(microseconds("/lag/all/p99_ns")),
        })
    }

    /// Runs one of our programs on `cpu`; what it says on stdout is JSON.
    fn client(&self, program: &str, cpu: u32, words: &[String]) -> Result<Value, String> {
        let output = Command::new("timeout")
            .args(["--foreground", "--kill-after=5", &(self.seconds + PATIENCE_S).to_string()])
            .args(["taskset", "--cpu-list", &cpu.to_string()])
            .arg(self.programs.join(program))
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cannot start `timeout taskset {program}`: {error}"))?;
        if !output.status.success() {
            return Err(format!("{program} failed: {}", output.status));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{program} did not answer in JSON: {error}"))
    }
}

/// Names and values as the words of a command line.
fn flags<const N: usize>(words: [(&str, String); N]) -> Vec<String> {
    words.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

fn number(value: &Value, pointer: &str) -> Result<f64, String> {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.ok_or_else(|| format!("the client's answer has no number at {pointer}"))
}

fn cpu_s(value: &Value, pointer: &str) -> Result<f64, String> {
    let user_s = number(value, &format!("{pointer}/cpu_user_s"))?;
    Ok(user_s + number(value, &format!("{pointer}/cpu_system_s"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_or_missed_by_name() {
        let record = json!({"client": {"cpu_user_s": 1.5, "cpu_system_s": 2}});
        assert_eq!(cpu_s(&record, "/client"), Ok(3.5));
        assert!(number(&record, "/totals/answered").is_err_and(|e| e.contains("/totals/answered")));
    }
}
