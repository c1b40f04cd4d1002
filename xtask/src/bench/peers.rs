//! Other load generators, if they are found on PATH: the command line of each for a shape, and how
//! its measured times are read from its output.
//!
//! In a run alone, the server and the kernel count its work, in a window after its start-up.
//! `turns` runs clients in turns.

use super::figures::Run;
use super::process::Process;
use super::server::Counters;
use super::{Shape, Which};
use crate::files::{at, put};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A load generator of another project.
pub(super) struct Peer {
    pub(super) program: &'static str,
    /// True if it can make this load.
    can: fn(&Shape) -> bool,
    /// Its key by number, below 1 000, if it requests keys that it does not store itself.
    keys: Option<fn(u32) -> String>,
    /// Its arguments in one line, and the content of its file if it needs one.
    words: fn(&Load) -> (String, Option<String>),
    /// The parser of its response times; `None` if it does not print both percentiles.
    response: Option<ReadResponse>,
}

/// The median and the 99th percentile of response, in µs, parsed from its output.
type ReadResponse = fn(&str, &Load) -> Option<(f64, f64)>;

/// The load that a peer makes.
pub(super) struct Load<'a> {
    shape: &'a Shape,
    address: SocketAddr,
    seconds: u32,
    /// The path of the file that it reads.
    file: String,
}

/// What most peers are.
const PEER: Peer =
    Peer { program: "", can: |it| it.multiget == 1, keys: None, words: mutilate, response: None };

pub(super) const PEERS: &[Peer] = &[
    Peer { program: "mutilate", ..PEER },
    Peer { program: "mcperf", can: |_| true, words: mcperf, response: Some(of_table), ..PEER },
    Peer {
        program: "memtier_benchmark",
        keys: Some(|number| format!("{}{}", "m".repeat(26), 1_000 + number)),
        words: memtier,
        response: Some(of_memtier),
        ..PEER
    },
    Peer { program: "memcaslap", ..MEMASLAP },
    MEMASLAP,
    Peer {
        // It uses keys of its own, which only the null server has, and only gets.
        program: "twemperf",
        can: |it| (it.depth == 1 || it.calls > 0) && it.multiget == 1 && it.server == Which::Null,
        words: twemperf,
        ..PEER
    },
    Peer {
        program: "mc-crusher",
        can: |it| it.server == Which::Memcached && it.rate == 0,
        keys: Some(|number| format!("{}{number}", "c".repeat(27))),
        words: crusher,
        ..PEER
    },
    Peer { program: "cachecannon", words: cannon, response: Some(of_cannon), ..PEER },
];

const MEMASLAP: Peer =
    Peer { program: "memaslap", can: |it| it.depth == 1 && it.rate == 0, words: memaslap, ..PEER };

/// The most connections that several peers accept.
const CONNECTIONS_MAX: u32 = 512;
/// The time that each runs before it is measured, in s: some of them fill the server first.
pub(super) const START_S: u32 = 3;
/// The time that each runs afterwards, in s, if it keeps to its duration.
const END_S: u32 = 2;
const PATIENCE: Duration = Duration::from_secs(60);

impl Peer {
    /// The peers that are installed and can make this load.
    pub(super) fn present(shape: &Shape) -> Vec<&'static Self> {
        let here = |peer: &&Self| crate::setup::find(peer.program).is_some();
        let able = |peer: &&Self| {
            let churn = shape.calls == 0 || peer.program == "twemperf";
            churn && shape.connections <= CONNECTIONS_MAX && !shape.shares_cpu && (peer.can)(shape)
        };
        PEERS.iter().filter(here).filter(able).collect()
    }

    /// Its command line for a run of this many seconds; files for it go to `folder`.
    pub(super) fn load<'a>(
        &self,
        shape: &'a Shape,
        address: SocketAddr,
        seconds: u32,
        folder: &Path,
    ) -> Load<'a> {
        let file = folder.join(format!("{}.conf", self.program)).display().to_string();
        Load { shape, address, seconds, file }
    }

    /// Its arguments for a load, after preparing its file and keys.
    pub(super) fn ready(&self, load: &Load) -> Result<Vec<String>, String> {
        if let Some(key) = self.keys.filter(|_| load.shape.server == Which::Memcached) {
            fill(load.address, key)?;
        }
        let (line, file) = (self.words)(load);
        if let Some(text) = file {
            put(Path::new(&load.file), text.as_bytes())?;
        }
        Ok(line.split_whitespace().map(str::to_owned).collect())
    }

    /// One run, on `cpu`; files for it go to `folder`.
    pub(super) fn run(
        &self,
        shape: &Shape,
        address: SocketAddr,
        (cpu, seconds, folder): (u32, u32, &Path),
    ) -> Result<Run, String> {
        let load = self.load(shape, address, START_S + seconds + END_S, folder);
        let words = self.ready(&load)?;
        let said = folder.join(format!("{}.said", self.program));
        let failed = at(&said);
        let out = fs::File::create(&said).map_err(&failed)?;
        let outputs = (out.try_clone().map_err(&failed)?.into(), out.into());
        let mut process = Process::spawn(self.program, &words, cpu, outputs)?;
        sleep(Duration::from_secs(u64::from(START_S)));
        let mut counters = Counters::of(load.address)?;
        let (cpu_before, keys_before) = (process.cpu()?, counters.commands()?);
        let began = Instant::now();
        sleep(Duration::from_secs(u64::from(seconds)));
        let keys = counters.commands()? - keys_before;
        let (lasted, cpu_used) = (began.elapsed(), process.cpu()?.saturating_sub(cpu_before));
        let rss_max_bytes = process.rss_max_bytes()?;
        process.is_there()?;
        if keys == 0 {
            return Err(format!("it did nothing from second {START_S} on"));
        }
        let response_us = match self.response {
            None => None,
            Some(response) => {
                process.finish(PATIENCE)?;
                let text = fs::read_to_string(&said).map_err(failed)?;
                let unread = || format!("it said something else than expected: {text}");
                Some(response(&text, &load).ok_or_else(unread)?)
            }
        };
        // Under connection churn, connections are counted.
        let counted = keys as f64 / f64::from(shape.calls.max(1));
        Ok(Run {
            ops_per_s: counted / lasted.as_secs_f64(),
            cpu_s_per_mops: cpu_used.as_secs_f64() / counted * 1e6,
            rss_max_bytes,
            response_us,
            lag_us: None,
        })
    }
}

/// Stores a value of 200 bytes under each of 1 000 keys.
fn fill(address: SocketAddr, key: fn(u32) -> String) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot fill {address}: {error}");
    let value = "v".repeat(200);
    let set = |number| format!("set {} 0 0 200 noreply\r\n{value}\r\n", key(number));
    let sets: String = (0..1_000).map(set).chain(["quit\r\n".to_owned()]).collect();
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.write_all(sets.as_bytes()).map_err(failed)?;
    stream.read_to_end(&mut Vec::new()).map(drop).map_err(failed)
}

fn share_of_sets(shape: &Shape) -> f64 {
    if shape.multiget > 1 || shape.rate > 0 { 0.0 } else { 0.1 }
}

/// Without `-i` the original is killed by a signal when it has a rate.
fn mutilate(load: &Load) -> (String, Option<String>) {
    let Load { shape: it, address, seconds, .. } = load;
    let mut line = format!(
        "-s {address} -t {seconds} -T 1 -c {} -d {} -u {} -K 30 -V 200 -r 1000 -B",
        it.connections,
        it.depth,
        share_of_sets(it)
    );
    if it.rate > 0 {
        line += &format!(" -q {} -i exponential:1", it.rate);
    }
    (line, None)
}

fn mcperf(load: &Load) -> (String, Option<String>) {
    let (mut line, file) = mutilate(load);
    if load.shape.multiget > 1 {
        line += &format!(" -g 1 -G {}", load.shape.multiget);
    }
    (line, file)
}

/// The figures below `p50` and `p99` in the row of gets.
fn of_table(text: &str, _: &Load) -> Option<(f64, f64)> {
    let names = text.lines().find(|line| line.starts_with("#type"))?;
    let row = text.lines().find(|line| line.starts_with("read "))?;
    let column = |name: &str| {
        let place = names.split_whitespace().position(|it| it == name)?;
        row.split_whitespace().nth(place)?.parse::<f64>().ok()
    };
    column("p50").zip(column("p99"))
}

fn memtier(load: &Load) -> (String, Option<String>) {
    let Load { shape: it, address, seconds, file } = load;
    let ratio = if share_of_sets(it) > 0.0 { "1:9" } else { "0:1" };
    let mut line = format!(
        "-s {} -p {} -P memcache_text -t 1 -c {} --pipeline {} --ratio {ratio} -d 200 \
         --key-prefix {} --key-minimum 1000 --key-maximum 1999 --test-time {seconds} \
         --hide-histogram --json-out-file {file}",
        address.ip(),
        address.port(),
        it.connections,
        it.depth,
        "m".repeat(26)
    );
    if it.rate > 0 {
        line += &format!(" --rate-limiting {}", it.rate / it.connections);
    }
    (line, None)
}

/// Only its file can be parsed by programs.
fn of_memtier(_: &str, load: &Load) -> Option<(f64, f64)> {
    of_memtier_file(&fs::read_to_string(&load.file).ok()?)
}

fn of_memtier_file(text: &str) -> Option<(f64, f64)> {
    let all: Value = serde_json::from_str(text).ok()?;
    let us = |name| {
        let name = format!("/ALL STATS/Totals/Percentile Latencies/{name}");
        Some(all.pointer(&name)?.as_f64()? * 1e3)
    };
    us("p50.00").zip(us("p99.00"))
}

fn memaslap(load: &Load) -> (String, Option<String>) {
    let Load { shape: it, address, seconds, file } = load;
    let sets = share_of_sets(it);
    let mut line = format!("-s {address} -T 1 -c {} -t {seconds}s -w 1k -F {file}", it.connections);
    if it.multiget > 1 {
        line += &format!(" -d {}", it.multiget);
    }
    let text = format!("key\n30 30 1\nvalue\n200 200 1\ncmd\n0 {sets:.1}\n1 {:.1}\n", 1.0 - sets);
    (line, Some(text))
}

/// It ends after a number of calls, not after a time, and makes about this many per second.
const CALLS_PER_S: u32 = 150_000;
/// Without a rate it opens one connection at a time.
const CONNECTIONS_PER_S: u32 = 5_000;

fn twemperf(load: &Load) -> (String, Option<String>) {
    let Load { shape: it, address, seconds, .. } = load;
    if it.calls > 0 {
        let line = format!(
            "--server={} --port={} --num-conns={} --conn-rate={CONNECTIONS_PER_S} \
             --num-calls={} --call-rate=0 --linger=0 --method=get --prefix=mcp:",
            address.ip(),
            address.port(),
            seconds * CONNECTIONS_PER_S,
            it.calls
        );
        return (line, None);
    }
    let (calls, rate) = match it.rate {
        0 => (seconds * CALLS_PER_S / it.connections, 0),
        rate => (seconds * rate / it.connections, rate / it.connections),
    };
    let line = format!(
        "--server={} --port={} --num-conns={} --conn-rate=100000 --num-calls={calls} \
         --call-rate={rate} --method=get --prefix=mcp:",
        address.ip(),
        address.port(),
        it.connections
    );
    (line, None)
}

fn crusher(load: &Load) -> (String, Option<String>) {
    let Load { shape: it, address, seconds, file } = load;
    let line = format!(
        "--conf {file} --ip {} --port {} --timeout {seconds}",
        address.ip(),
        address.port()
    );
    let kind = match it.multiget {
        1 => format!("send=ascii_get,pipelines={}", it.depth),
        keys => format!("send=ascii_mget,mget_count={keys}"),
    };
    let prefix = "c".repeat(27);
    let text = format!(
        "{kind},recv=blind_read,conns={},key_prefix={prefix},key_prealloc=1,key_count=1000\n",
        it.connections
    );
    (line, Some(text))
}

fn cannon(load: &Load) -> (String, Option<String>) {
    let Load { shape: it, address, seconds, file } = load;
    let (get, set) = if share_of_sets(it) > 0.0 { (90, 10) } else { (100, 0) };
    let text = format!(
        "[general]\nduration = \"{seconds}s\"\nwarmup = \"0s\"\nthreads = 1\n\
         [target]\nendpoints = [\"{address}\"]\nprotocol = \"memcache\"\n\
         [connection]\nconnections = {}\npipeline_depth = {}\n\
         [workload]\nrate_limit = {}\nprefill = true\n\
         [workload.keyspace]\nlength = 30\ncount = 1000\n\
         [workload.commands]\nget = {get}\nset = {set}\n\
         [workload.values]\nlength = 200\n[admin]\nformat = \"json\"\n",
        it.connections, it.depth, it.rate
    );
    (file.clone(), Some(text))
}

/// Its output is lines of JSON, one of which is the result.
fn of_cannon(text: &str, _: &Load) -> Option<(f64, f64)> {
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let result = lines.rfind(|line| line.get("throughput").is_some())?;
    let us = |pointer| result.pointer(pointer).and_then(Value::as_f64);
    us("/get/p50_us").zip(us("/get/p99_us"))
}

#[cfg(test)]
mod tests;
