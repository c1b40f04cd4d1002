//! Compares memtide's cost with that of a client that only makes the system calls.
//!
//! All clients run against the same server in interleaved rounds, client and server on different
//! CPUs, and only ratios within a round are compared, because absolute figures belong to the
//! machine. Clients that can be stopped take turns of 50 ms within a round, and only their own
//! measurements come from a run alone. Others run alone, one after the other.

mod clients;
pub(crate) mod figures;
pub(crate) mod instructions;
mod peers;
mod process;
pub(crate) mod server;
pub(crate) mod sinks;
mod turns;

use crate::{commands, files};
use clients::Client;
use figures::{Rounds, Run};
use serde_json::{Value, json};
use server::{Cpus, Server};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use turns::{Order, Turns, cycle};

/// The options of `cargo xtask bench`.
pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    /// Only shapes whose name contains this word.
    pub(crate) shape: String,
    /// True to run other load generators found on PATH as well.
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
    /// Calls of each connection, which is then closed; figures are per connection. 0 if connections
    /// stay open.
    calls: u32,
    server: Which,
    /// True if the client runs on the server's CPU.
    shares_cpu: bool,
}

impl Shape {
    /// True if clients can be stopped and continued without changing their load. With deep windows
    /// they cannot if the server is the bottleneck: a continued client finds all answers at once,
    /// sends whole windows, and may do so for seconds, at half the cost.
    fn bears_turns(&self) -> bool {
        let remembers = self.depth > 1 && self.server == Which::Memcached;
        let stays = self.calls == 0 && self.connections <= CONNECTIONS_MAX;
        stays && self.rate == 0 && !remembers
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Memcached,
    Null,
}

/// What most shapes are.
const SHAPE: Shape = Shape {
    name: "",
    connections: 16,
    depth: 1,
    multiget: 1,
    rate: 0,
    calls: 0,
    server: Which::Memcached,
    shares_cpu: false,
};

const fn shape(
    name: &'static str,
    (connections, depth, multiget): (u32, u32, u32),
    server: Which,
) -> Shape {
    Shape { name, connections, depth, multiget, server, ..SHAPE }
}

const fn paced(name: &'static str, rate: u32, shares_cpu: bool) -> Shape {
    Shape { name, rate, shares_cpu, ..SHAPE }
}

/// Connections with the given number of gets each, sent in one write.
const fn churn(name: &'static str, calls: u32, server: Which) -> Shape {
    Shape { name, depth: calls, calls, server, ..SHAPE }
}

/// All clients use 30-byte keys and 200-byte values, and most nine gets to one set.
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
    churn("connection per 10 calls, memcached", 10, Which::Memcached),
    churn("connection per 10 calls, null server", 10, Which::Null),
    paced("paced at 1 000/s, memcached", 1_000, false),
    paced("paced at 20 000/s, memcached", 20_000, false),
    paced("paced at 100 000/s, memcached", 100_000, false),
    paced("paced at 1 000/s, memcached on the same CPU", 1_000, true),
    paced("paced at 20 000/s, memcached on the same CPU", 20_000, true),
    paced("paced at 100 000/s, memcached on the same CPU", 100_000, true),
];

/// The most connections of clients that take turns; the connections of all clients are open at
/// once.
const CONNECTIONS_MAX: u32 = 512;
/// The run time of our programs before their first turn.
const START: Duration = Duration::from_secs(1);
/// The time that a client may take in addition to its run.
const PATIENCE_S: u32 = 30;

/// Runs every shape and prints one table for each.
///
/// # Errors
/// If something cannot be built, started or parsed.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let programs = programs(root)?;
    let cpus = Cpus::inherited()?;
    let bench = Bench {
        // The servers run through all rounds, so all clients meet the same ones.
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
        let turn_ms = shape.bears_turns().then_some(turns::TURN.as_millis() as u64);
        shapes.push(json!({"name": shape.name, "turn_ms": turn_ms, "figures": rounds.json()}));
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
    files::put(file, format!("{all:#}\n").as_bytes())
}

/// Builds memtide and the programs of the benchmark; returns their folder. The servers that they
/// need are installed.
fn programs(root: &Path) -> Result<PathBuf, String> {
    crate::setup::install_missing(crate::setup::TESTS)?;
    commands::released(root, &["memtide", "memtide-bench"])
}

/// Simulates `seconds` of 100 000 operations per second on one worker, and prints the time that it
/// took.
///
/// # Errors
/// If memtide cannot be built, or its simulation fails.
pub(crate) fn simulated(root: &Path, seconds: u32) -> Result<(), String> {
    let programs = commands::released(root, &["memtide"])?;
    let began = Instant::now();
    let duration = format!("{seconds}s");
    let load = ["--rate", "100k", "--threads", "1", "--duration", &duration];
    let mut memtide = Command::new(programs.join("memtide"));
    commands::run(memtide.arg("sim").args(load))?;
    let took_s = began.elapsed().as_secs_f64();
    let per_operation_us = took_s / f64::from(seconds) / 1e5 * 1e6;
    println!("{seconds} s of load took {took_s:.1} s, {per_operation_us:.2} µs per operation");
    Ok(())
}

struct Bench {
    programs: PathBuf,
    cpus: Cpus,
    seconds: u32,
    /// True to run other programs as well.
    peers: bool,
    memcached: Server,
    null: Server,
}

impl Bench {
    fn heading(&self, rounds: u32) -> String {
        let Cpus { client, server } = self.cpus;
        let seconds = self.seconds;
        let turn = turns::TURN;
        let line = format!(
            "medians (95 % intervals; of under 6 rounds least – most) of {rounds} rounds of \
             {seconds} s per client; client on CPU {client}, server on CPU {server}\n\
             up to {CONNECTIONS_MAX} connections that stay, at depth 1 or against the null server: \
             turns of {turn:?} within interleaved rounds, operations counted by the server; \
             p50/p99, lag and memory of a run alone\n\
             other shapes: one client after the other, each for the whole {seconds} s"
        );
        if client == server {
            line + "\nthe client shares its only CPU with the server, so these figures are not \
                    valid"
        } else {
            line
        }
    }

    fn rounds(&self, shape: &Shape, count: u32) -> Result<Rounds, String> {
        let clients = Client::all(shape, self.peers);
        if shape.bears_turns() {
            self.rounds_of_turns(shape, &clients, count)
        } else {
            self.rounds_alone(shape, &clients, count)
        }
    }

    /// Each round begins with another client, so that a drift of the machine affects all alike.
    fn rounds_alone(
        &self,
        shape: &Shape,
        clients: &[Client],
        count: u32,
    ) -> Result<Rounds, String> {
        let mut rounds = Rounds::of(clients.iter().map(|client| client.name()));
        for round in 0..count {
            eprintln!("xtask: {}: round {} of {count}", shape.name, round + 1);
            for number in cycle(clients.len(), round as usize) {
                rounds.add(number, self.alone(shape, clients[number]));
            }
        }
        Ok(rounds)
    }

    /// Measures rounds in turns: CPU time and operations are those of the turns, other figures
    /// those of a run alone.
    fn rounds_of_turns(
        &self,
        shape: &Shape,
        clients: &[Client],
        count: u32,
    ) -> Result<Rounds, String> {
        let starts: Vec<Duration> = clients.iter().map(|client| start_of(*client)).collect();
        let duration_s = turns::duration_s(&starts, count, self.seconds)?;
        eprintln!("xtask: {}: each client alone", shape.name);
        let alone = clients.iter().map(|client| self.alone(shape, *client));
        let alone: Vec<Result<Run, String>> = alone.collect();
        let orders = clients.iter().zip(&alone).map(|(client, alone)| {
            alone.as_ref().map_err(Clone::clone)?;
            self.order(shape, *client, duration_s)
        });
        eprintln!("xtask: {}: all clients start", shape.name);
        let mut turns = Turns::start(orders.collect(), self.address(shape), self.cpu(shape))?;
        let mut rounds = Rounds::of(clients.iter().map(|client| client.name()));
        for round in 0..count {
            eprintln!("xtask: {}: round {} of {count}", shape.name, round + 1);
            for (number, did) in turns.round(self.seconds).into_iter().enumerate() {
                let run = did.and_then(|did| {
                    let alone = alone[number].clone()?;
                    let ops = did.ops as f64;
                    Ok(Run {
                        ops_per_s: ops / did.ran.as_secs_f64(),
                        cpu_s_per_mops: did.cpu.as_secs_f64() / ops * 1e6,
                        ..alone
                    })
                });
                rounds.add(number, run);
            }
        }
        Ok(rounds)
    }

    /// The command of a client that takes turns.
    fn order(&self, shape: &Shape, client: Client, seconds: u32) -> Result<Order, String> {
        let address = self.address(shape);
        let start = start_of(client);
        Ok(match client {
            Client::Own(own) => Order {
                program: self.programs.join(own.program).display().to_string(),
                words: own.words(shape, address, seconds),
                start,
                speaks: true,
            },
            Client::Peer(peer) => Order {
                program: peer.program.to_owned(),
                words: peer.ready(&peer.load(shape, address, seconds, &self.programs))?,
                start,
                speaks: false,
            },
        })
    }

    /// A run of one client alone. A failure does not end the benchmark: it is shown beside the
    /// other figures.
    fn alone(&self, shape: &Shape, client: Client) -> Result<Run, String> {
        let address = self.address(shape);
        match client {
            Client::Own(own) => {
                let words = own.words(shape, address, self.seconds);
                let said = self.client(own.program, self.cpu(shape), &words)?;
                own.read(shape, &said)
            }
            Client::Peer(peer) => {
                peer.run(shape, address, (self.cpu(shape), self.seconds, &self.programs))
            }
        }
    }

    fn address(&self, shape: &Shape) -> SocketAddr {
        let server = match shape.server {
            Which::Memcached => &self.memcached,
            Which::Null => &self.null,
        };
        server.address
    }

    /// The client's CPU.
    fn cpu(&self, shape: &Shape) -> u32 {
        if shape.shares_cpu { self.cpus.server } else { self.cpus.client }
    }

    /// Runs one of our programs on `cpu`; returns the JSON that it prints.
    fn client(&self, program: &str, cpu: u32, words: &[String]) -> Result<Value, String> {
        let seconds = (self.seconds + PATIENCE_S).to_string();
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--kill-after=5", &seconds]);
        command.args(["taskset", "--cpu-list", &cpu.to_string()]);
        command.arg(self.programs.join(program)).args(words);
        commands::json(command.stderr(Stdio::inherit()))
    }
}

fn start_of(client: Client) -> Duration {
    match client {
        Client::Own(_) => START,
        Client::Peer(_) => Duration::from_secs(u64::from(peers::START_S)),
    }
}
