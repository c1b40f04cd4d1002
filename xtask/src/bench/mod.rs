//! Compares memtide's cost with that of a client that only makes the system calls.
//!
//! All clients run against the same server in interleaved rounds, client and server on different
//! CPUs, and only ratios within a round are compared, because absolute figures belong to the
//! machine. Clients that can be stopped take turns of 50 ms within a round, and only their own
//! measurements come from a run alone. Others run alone, one after the other.

mod clients;
pub(crate) mod figures;
pub(crate) mod instructions;
mod process;
mod readings;
pub(crate) mod server;
pub(crate) mod sinks;
mod tls;
mod turns;

use crate::{commands, files};
use clients::{Client, Load};
use figures::{Rounds, Run};
use process::Process;
use readings::Figures;
use serde_json::json;
use server::{Counters, Cpus, Server};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use turns::{Turns, cycle};

/// The options of `cargo xtask bench`.
pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    /// Only shapes whose name contains this word.
    pub(crate) shape: String,
    /// True to run other load generators found on PATH as well.
    pub(crate) peers: bool,
    /// True for the loads over TLS, and no others.
    pub(crate) tls: bool,
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
    /// Over TLS: true if connections resume sessions.
    resumes: bool,
    /// What must hold over TLS, in words.
    bound: &'static str,
}

impl Shape {
    /// True if clients can be stopped and continued without changing their load. With deep windows
    /// they cannot if the server is the bottleneck: a continued client finds all answers at once,
    /// sends whole windows, and may do so for seconds, at half the cost.
    fn bears_turns(&self) -> bool {
        let remembers = self.depth > 1 && self.server != Which::Null;
        let stays = self.calls == 0 && self.connections <= CONNECTIONS_MAX;
        stays && self.rate == 0 && !remembers
    }

    fn is_tls(&self) -> bool {
        self.server == Which::Tls
    }

    fn is_full(&self) -> bool {
        self.is_tls() && !self.resumes
    }

    fn is_churn(&self) -> bool {
        self.calls > 0
    }

    fn is_paced(&self) -> bool {
        self.rate > 0
    }

    fn is_closed_loop(&self) -> bool {
        !self.is_churn() && !self.is_paced() && !self.is_tls()
    }

    fn is_deep(&self) -> bool {
        self.is_closed_loop() && self.depth > 1
    }

    fn is_multiget(&self) -> bool {
        self.multiget > 1
    }

    /// True if load generators of other projects can make it, unless one has further limits.
    fn suits_peers(&self) -> bool {
        let is_usual = !self.is_churn() && !self.shares_cpu && !self.is_tls();
        is_usual && self.connections <= CONNECTIONS_MAX
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Memcached,
    Null,
    Tls,
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
    resumes: true,
    bound: "",
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

/// The most connections of clients that take turns, because those of all clients are open at once;
/// and the most that several other load generators accept.
const CONNECTIONS_MAX: u32 = 512;
/// The time that another load generator runs alone before and after it is measured, if it keeps to
/// its duration.
const AROUND_S: u32 = 5;
/// The time that a client may take in addition to its run.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs every shape and prints one table for each.
///
/// # Errors
/// If something cannot be built, started or parsed.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let programs = programs(root)?;
    let cpus = Cpus::inherited()?;
    // The servers run through all rounds, so all clients meet the same ones.
    let servers = match options.tls {
        true => vec![(Which::Tls, tls::server(&cpus, &programs)?)],
        false => vec![
            (Which::Memcached, Server::memcached(&cpus)?),
            (Which::Null, Server::of_ours(&cpus, &programs, "null-server")?),
        ],
    };
    let bench = Bench { programs, cpus, options, servers };
    println!("{}\n", bench.heading());
    let mut shapes = Vec::new();
    let all = if options.tls { tls::SHAPES } else { SHAPES };
    for shape in all.iter().filter(|shape| shape.name.contains(&options.shape)) {
        let rounds = bench.rounds(shape)?;
        println!("{}\n{}", shape.name, rounds.text());
        if shape.is_tls() {
            println!("{}", tls::notes(shape, &rounds));
        }
        let turn_ms = shape.bears_turns().then_some(turns::TURN.as_millis() as u64);
        shapes.push(json!({"name": shape.name, "turn_ms": turn_ms, "figures": rounds.json()}));
    }
    if options.tls {
        print!("{}{}", tls::memory(&bench)?, tls::own_allocations(root)?);
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

struct Bench<'a> {
    programs: PathBuf,
    cpus: Cpus,
    options: &'a Options,
    servers: Vec<(Which, Server)>,
}

impl Bench<'_> {
    fn heading(&self) -> String {
        let Cpus { client, server } = self.cpus;
        let (Options { rounds, seconds, .. }, turn) = (self.options, turns::TURN);
        let invalid = match client == server {
            true => {
                "\nthe client shares its only CPU with the server, so these figures are not valid"
            }
            false => "",
        };
        format!(
            "medians (95 % intervals; of under 6 rounds least – most) of {rounds} rounds of \
             {seconds} s per client; client on CPU {client}, server on CPU {server}\n\
             up to {CONNECTIONS_MAX} connections that stay, at depth 1 or against the null server: \
             turns of {turn:?} within interleaved rounds, operations counted by the server; \
             p50/p99, lag and memory of a run alone\n\
             other shapes: one client after the other, each for the whole {seconds} s{invalid}"
        )
    }

    /// Each round begins with another client, so that a drift of the machine affects all alike.
    /// Of clients that take turns, CPU time and operations are those of the turns, other figures
    /// those of a run alone.
    fn rounds(&self, shape: &Shape) -> Result<Rounds, String> {
        let Options { rounds: count, seconds, .. } = *self.options;
        let clients = Client::all(shape, self.options.peers);
        let mut rounds = Rounds::of(clients.iter().map(|client| client.name));
        let mut in_turns = match shape.bears_turns() {
            true => Some(self.turns(shape, &clients)?),
            false => None,
        };
        for round in 0..count {
            eprintln!("xtask: {}: round {} of {count}", shape.name, round + 1);
            if let Some((alone, turns)) = &mut in_turns {
                for (number, (did, alone)) in
                    turns.round(seconds).into_iter().zip(alone).enumerate()
                {
                    rounds.add(number, did.and_then(|did| Ok(did.within(alone.clone()?, 0))));
                }
                continue;
            }
            for number in cycle(clients.len(), round as usize) {
                rounds.add(number, self.alone(shape, clients[number]));
            }
        }
        Ok(rounds)
    }

    /// The figures of each client alone, and then all clients, started for turns.
    fn turns(
        &self,
        shape: &Shape,
        clients: &[&Client],
    ) -> Result<(Vec<Result<Run, String>>, Turns), String> {
        let Options { rounds, seconds, .. } = *self.options;
        let starts: Vec<Duration> = clients.iter().map(|client| client.program.start()).collect();
        let duration_s = turns::duration_s(&starts, rounds, seconds)?;
        eprintln!("xtask: {}: each client alone", shape.name);
        let alone: Vec<_> = clients.iter().map(|client| self.alone(shape, client)).collect();
        eprintln!("xtask: {}: all clients start", shape.name);
        // One after the other, so that a starting client has the CPU for itself.
        let started = clients.iter().zip(&alone).map(|(client, alone)| {
            alone.as_ref().map_err(Clone::clone)?;
            let process = self.start(client, &self.load(shape, client, duration_s), None)?;
            sleep(client.program.start());
            Ok(process)
        });
        Ok((alone.clone(), Turns::start(started, self.server(shape).plain)?))
    }

    /// A run of one client alone. A failure does not end the benchmark: it is shown beside the
    /// other figures.
    fn alone(&self, shape: &Shape, client: &Client) -> Result<Run, String> {
        let (program, wanted) = (client.program, self.options.seconds);
        let Figures::Counted(response) = program.figures else {
            let load = self.load(shape, client, wanted);
            let said = load.file.with_extension("said");
            let mut process = self.start(client, &load, Some(&said))?;
            sleep(Duration::from_secs(u64::from(wanted)));
            process.finish(PATIENCE)?;
            return readings::read(shape, &files::json(&said)?);
        };
        let load = self.load(shape, client, wanted + AROUND_S);
        let said = load.file.with_extension("said");
        let mut process = self.start(client, &load, Some(&said))?;
        sleep(program.start());
        let did = process.works(&mut Counters::of(load.plain)?, |_| {
            let began = Instant::now();
            sleep(Duration::from_secs(u64::from(wanted)));
            Ok(began.elapsed())
        })?;
        let mut run = Run { rss_max_bytes: process.rss_max_bytes()?, ..Run::default() };
        if did.ops == 0 {
            return Err(format!("it did nothing from second {} on", program.start().as_secs()));
        }
        if let Some(response) = response {
            process.finish(PATIENCE)?;
            let text = String::from_utf8_lossy(&files::read(&said)?).into_owned();
            let unread = || format!("it said something else than expected: {text}");
            run.response_us = Some(response(&text, &load.file).ok_or_else(unread)?);
        }
        Ok(did.within(run, shape.calls))
    }

    fn load<'a>(&self, shape: &'a Shape, client: &Client, seconds: u32) -> Load<'a> {
        let file = self.programs.join(client.program.file).with_extension("conf");
        let Server { address, plain, .. } = *self.server(shape);
        Load { shape, address, plain, seconds, file }
    }

    /// Starts a client, with what it prints in the file `said`. Only our programs print errors for
    /// the user.
    fn start(
        &self,
        client: &Client,
        load: &Load<'_>,
        said: Option<&Path>,
    ) -> Result<Process, String> {
        let words = client.ready(load)?;
        let file = said.map(|said| File::create(said).map_err(files::at(said))).transpose()?;
        let out = || match &file {
            Some(file) => file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from),
            None => Stdio::null(),
        };
        let err = if client.program.is_ours() { Stdio::inherit() } else { out() };
        let path = client.program.path(&self.programs);
        let cpu = if load.shape.shares_cpu { self.cpus.server } else { self.cpus.client };
        Process::spawn(&path, &words, cpu, (out(), err))
    }

    fn server(&self, shape: &Shape) -> &Server {
        let found = self.servers.iter().find(|(which, _)| *which == shape.server);
        &found.expect("the servers of all shapes run").1
    }
}
