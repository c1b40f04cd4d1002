//! What memtide costs beside a client that does nothing but the system calls.
//!
//! Both run against the same memcached in interleaved rounds, client and server on different
//! CPUs, and only ratios within a round are compared: absolute figures are the machine's.

use crate::figures::{Rounds, Run};
use serde_json::{Value, json};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What `cargo xtask bench` was asked for.
pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    pub(crate) json: Option<PathBuf>,
}

/// A load that both clients can make.
struct Shape {
    name: &'static str,
    connections: u32,
    depth: u32,
}

/// 30-byte keys, 200-byte values and nine gets to one set are common to all of them.
const SHAPES: &[Shape] =
    &[Shape { name: "16 connections, depth 1, memcached", connections: 16, depth: 1 }];

const KEYS: &str = "1000";
/// How long a server may take to accept, and a client to start and end beside its run.
const PATIENCE_S: u32 = 30;

/// Runs every shape and prints one table for each.
///
/// # Errors
/// When something cannot be built, started or understood.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    crate::setup::install_missing()?;
    let build = ["build", "--release", "--package", "memtide", "--package", "memtide-bench"];
    crate::run(crate::cargo(root).args(build))?;
    let metadata = crate::metadata(root)?;
    let target = metadata["target_directory"].as_str().ok_or("cargo names no target directory")?;
    let bench = Bench {
        programs: Path::new(target).join("release"),
        cpus: Cpus::inherited()?,
        seconds: options.seconds,
        // One server lives through all rounds, so both clients meet the same one.
        server: Server::start(&Cpus::inherited()?)?,
    };
    println!("{}\n", bench.heading(options.rounds));
    let mut shapes = Vec::new();
    for shape in SHAPES {
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
    server: Server,
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

    /// A B, B A, A B, …: a drift of the machine then falls on both alike.
    fn rounds(&self, shape: &Shape, count: u32) -> Result<Rounds, String> {
        let mut rounds = Rounds::default();
        for round in 0..count {
            eprintln!("xtask: {}: round {} of {count}", shape.name, round + 1);
            let memtide_first = round % 2 == 1;
            if memtide_first {
                rounds.memtide.push(self.memtide(shape)?);
            }
            rounds.bare.push(self.bare(shape)?);
            if !memtide_first {
                rounds.memtide.push(self.memtide(shape)?);
            }
        }
        Ok(rounds)
    }

    fn bare(&self, shape: &Shape) -> Result<Run, String> {
        let address = self.server.address.to_string();
        let words = [
            ("--server", address),
            ("--connections", shape.connections.to_string()),
            ("--depth", shape.depth.to_string()),
            ("--keys", KEYS.to_owned()),
            ("--seconds", self.seconds.to_string()),
        ];
        let words: Vec<String> =
            words.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        let said = self.client("bare-epoll", &words)?;
        let ops = number(&said, "/ops")?;
        Ok(Run {
            ops_per_s: ops / number(&said, "/wall_s")?,
            cpu_s_per_mops: cpu_s(&said, "")? / ops * 1e6,
            rss_max_bytes: number(&said, "/rss_max_bytes")?,
        })
    }

    fn memtide(&self, shape: &Shape) -> Result<Run, String> {
        let fields = [
            ("--server", self.server.address.to_string()),
            ("--rate", "0".to_owned()),
            ("--connections", shape.connections.to_string()),
            ("--depth", shape.depth.to_string()),
            ("--threads", "1".to_owned()),
            ("--mix", "get=9,set=1".to_owned()),
            ("--key-size", "fixed:30".to_owned()),
            ("--value-size", "fixed:200".to_owned()),
            ("--keys", KEYS.to_owned()),
            ("--duration", format!("{}s", self.seconds)),
            ("--json", "-".to_owned()),
        ];
        let words = fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        let words: Vec<String> =
            ["run", "--quiet"].map(str::to_owned).into_iter().chain(words).collect();
        let record = self.client("memtide", &words)?;
        let answered = number(&record, "/totals/answered")?;
        Ok(Run {
            ops_per_s: number(&record, "/rate/achieved_per_s")?,
            cpu_s_per_mops: cpu_s(&record, "/client")? / answered * 1e6,
            rss_max_bytes: number(&record, "/client/rss_max_bytes")?,
        })
    }

    /// Runs one of our programs on the client's CPU; what it says on stdout is JSON.
    fn client(&self, program: &str, words: &[String]) -> Result<Value, String> {
        let output = Command::new("timeout")
            .args(["--foreground", "--kill-after=5", &(self.seconds + PATIENCE_S).to_string()])
            .args(["taskset", "--cpu-list", &self.cpus.client.to_string()])
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

fn number(value: &Value, pointer: &str) -> Result<f64, String> {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.ok_or_else(|| format!("the client's answer has no number at {pointer}"))
}

fn cpu_s(value: &Value, pointer: &str) -> Result<f64, String> {
    let user_s = number(value, &format!("{pointer}/cpu_user_s"))?;
    Ok(user_s + number(value, &format!("{pointer}/cpu_system_s"))?)
}

/// Which CPU each side runs on; the same one when there is no second.
#[derive(Clone, Copy)]
struct Cpus {
    client: u32,
    server: u32,
}

impl Cpus {
    /// The first two CPUs that this process may use.
    fn inherited() -> Result<Self, String> {
        let status = fs::read_to_string("/proc/self/status")
            .map_err(|error| format!("cannot read the CPU mask: {error}"))?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let cpus = list.and_then(parse_cpus).ok_or("cannot understand the CPU mask")?;
        Ok(Self { client: cpus[0], server: *cpus.get(1).unwrap_or(&cpus[0]) })
    }
}

/// `0-1,4` as 0, 1, 4; `None` when it is no such list or an empty one.
fn parse_cpus(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// A memcached of our own on a free loopback port; it ends with this value.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(cpus: &Cpus) -> Result<Self, String> {
        let address = free_address()?;
        let memcached = crate::setup::find("memcached").ok_or("memcached is not installed")?;
        let port = address.port().to_string();
        let child = Command::new("taskset")
            .args(["--cpu-list", &cpus.server.to_string()])
            .arg(memcached)
            .args(["-l", "127.0.0.1", "-p", &port, "-U", "0", "-t", "1", "-u", "nobody"])
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start memcached: {error}"))?;
        let mut server = Self { child, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = server.child.try_wait().map_err(|error| error.to_string())?;
            if let Some(status) = ended {
                return Err(format!("memcached ended at once: {status}"));
            }
            if began.elapsed() > Duration::from_secs(u64::from(PATIENCE_S)) {
                return Err(format!("memcached does not accept at {address}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already, and nothing is left to be done about that here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loopback port that was free a moment ago.
fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    listener.map_err(|error| format!("no free port on loopback: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(parse_cpus("\t0-1,4"), Some(vec![0, 1, 4]));
        assert_eq!(parse_cpus("3"), Some(vec![3]));
        assert_eq!(parse_cpus(""), None);
        assert_eq!(parse_cpus("0-x"), None);
    }

    #[test]
    fn figures_are_found_or_missed_by_name() {
        let record = json!({"client": {"cpu_user_s": 1.5, "cpu_system_s": 2}});
        assert_eq!(cpu_s(&record, "/client"), Ok(3.5));
        assert!(number(&record, "/totals/answered").is_err_and(|e| e.contains("/totals/answered")));
    }
}
