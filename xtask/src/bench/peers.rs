//! Other load generators, where they are found on PATH: how each is told a shape, and how what it
//! did is read from what it says.
//!
//! Alone, each is run for a second and then for as long as was asked for and a second more; only
//! the difference counts, so that its start-up does not. Taking turns is no matter of this file.

use super::figures::Run;
use super::server::Counters;
use super::{Shape, Which};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that somebody else wrote.
pub(super) struct Peer {
    pub(super) program: &'static str,
    /// Whether it can make this load at all.
    can: fn(&Shape) -> bool,
    /// The keys that it asks for and does not store by itself, by number below 1 000.
    keys: Option<fn(u32) -> String>,
    /// Its words, and a file for it if it wants one.
    words: fn(&Load) -> (Vec<String>, Option<String>),
    read: fn(&str, &Load) -> Option<Said>,
}

/// What a peer is to do.
pub(super) struct Load<'a> {
    shape: &'a Shape,
    address: SocketAddr,
    seconds: u32,
    /// Where the file that it reads lies.
    file: String,
}

/// What a peer says that it did.
struct Said {
    /// Keys asked for or stored; none where only the server knows.
    keys: Option<f64>,
    seconds: f64,
    response_us: Option<(f64, f64)>,
}

pub(super) const PEERS: &[Peer] = &[
    Peer {
        program: "mutilate",
        can: |it| it.multiget == 1,
        keys: None,
        words: mutilate,
        read: read_table,
    },
    Peer { program: "mcperf", can: |_| true, keys: None, words: mcperf, read: read_table },
    Peer {
        program: "memtier_benchmark",
        can: |it| it.multiget == 1,
        keys: Some(|number| format!("{}{}", "m".repeat(26), 1_000 + number)),
        words: memtier,
        read: read_memtier,
    },
    Peer {
        program: "memcaslap",
        can: |it| it.depth == 1 && it.rate == 0,
        keys: None,
        words: memaslap,
        read: read_memaslap,
    },
    Peer {
        program: "memaslap",
        can: |it| it.depth == 1 && it.rate == 0,
        keys: None,
        words: memaslap,
        read: read_memaslap,
    },
    Peer {
        // Its keys are its own, which only the null server holds; it knows gets alone.
        program: "twemperf",
        can: |it| (it.depth == 1 || it.calls > 0) && it.multiget == 1 && it.server == Which::Null,
        keys: None,
        words: twemperf,
        read: read_twemperf,
    },
    Peer {
        // It counts nothing: memcached does.
        program: "mc-crusher",
        can: |it| it.server == Which::Memcached && it.rate == 0,
        keys: Some(|number| format!("{}{number}", "c".repeat(27))),
        words: crusher,
        read: |_, load| {
            Some(Said { keys: None, seconds: f64::from(load.seconds), response_us: None })
        },
    },
    Peer {
        program: "cachecannon",
        can: |it| it.multiget == 1,
        keys: None,
        words: cannon,
        read: read_cannon,
    },
];

/// Several of them take no more.
const CONNECTIONS_MAX: u32 = 512;
/// Pairs of runs until one can be compared.
const ATTEMPTS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Peer {
    /// Those that are installed and can make this load.
    pub(super) fn present(shape: &Shape) -> Vec<&'static Self> {
        let here = |peer: &&Self| crate::setup::find(peer.program).is_some();
        let able = |peer: &&Self| {
            let lives = shape.calls == 0 || peer.program == "twemperf";
            lives && shape.connections <= CONNECTIONS_MAX && !shape.shares_cpu && (peer.can)(shape)
        };
        PEERS.iter().filter(here).filter(able).collect()
    }

    /// What it is to do for so many seconds; files for it go to `folder`.
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

    /// Its words for a load, for which its file and its keys are made ready.
    pub(super) fn ready(&self, load: &Load) -> Result<Vec<String>, String> {
        if let Some(key) = self.keys.filter(|_| load.shape.server == Which::Memcached) {
            fill(load.address, key)?;
        }
        let (words, file) = (self.words)(load);
        if let Some(text) = file {
            let name = &load.file;
            fs::write(name, text).map_err(|error| format!("cannot write {name}: {error}"))?;
        }
        Ok(words)
    }

    /// One run, on `cpu`; files for it go to `folder`.
    pub(super) fn run(
        &self,
        shape: &Shape,
        address: SocketAddr,
        (cpu, seconds, folder): (u32, u32, &Path),
    ) -> Result<Run, String> {
        for _ in 0..ATTEMPTS {
            let short = self.once(&self.load(shape, address, 1, folder), cpu, folder)?;
            let long = self.once(&self.load(shape, address, 1 + seconds, folder), cpu, folder)?;
            let lasted_s = long.seconds - short.seconds;
            // What is counted of connections that come and go is these.
            let keys = (long.keys - short.keys) / f64::from(shape.calls.max(1));
            let asked_s = f64::from(seconds);
            // Now and then one of them ends early or starts late.
            if keys > 0.0 && (asked_s / 2.0..asked_s * 2.0).contains(&lasted_s) {
                return Ok(Run {
                    ops_per_s: keys / lasted_s,
                    cpu_s_per_mops: (long.cpu_s - short.cpu_s) / keys * 1e6,
                    rss_max_bytes: long.rss_max_bytes,
                    response_us: long.response_us,
                    lag_us: None,
                });
            }
        }
        Err(format!(
            "{ATTEMPTS} times a run of {} s did not do more than one of 1 s in the time between",
            1 + seconds
        ))
    }

    fn once(&self, load: &Load, cpu: u32, folder: &Path) -> Result<Once, String> {
        let words = self.ready(load)?;
        let mut counters = Counters::of(load.address)?;
        let counted_before = counters.commands()?;
        let cpu_before_s = children_cpu_s()?;
        let said_path = folder.join(format!("{}.said", self.program));
        let (rss_max_bytes, text) = self.watch(&words, cpu, &said_path)?;
        let cpu_s = children_cpu_s()? - cpu_before_s;
        let said = (self.read)(&text, load)
            .ok_or_else(|| format!("it said something else than expected: {text}"))?;
        let keys = match said.keys {
            Some(keys) => keys,
            None => (counters.commands()? - counted_before) as f64,
        };
        Ok(Once {
            keys,
            seconds: said.seconds,
            cpu_s,
            rss_max_bytes,
            response_us: said.response_us,
        })
    }

    /// Waits for the program to end; its memory at its most, and all it said.
    fn watch(&self, words: &[String], cpu: u32, said: &PathBuf) -> Result<(f64, String), String> {
        let failed = |error: std::io::Error| error.to_string();
        let out = fs::File::create(said).map_err(failed)?;
        let mut child = Command::new("taskset")
            .args(["--cpu-list", &cpu.to_string(), self.program])
            .args(words)
            .stdin(Stdio::null())
            .stderr(out.try_clone().map_err(failed)?)
            .stdout(out)
            .spawn()
            .map_err(failed)?;
        let began = Instant::now();
        let mut rss_max_bytes = 0.0;
        while child.try_wait().map_err(failed)?.is_none() {
            rss_max_bytes = rss_of(&child).unwrap_or(rss_max_bytes);
            if began.elapsed() > PATIENCE {
                // It may end by itself just now, which is as good.
                let _ = child.kill();
                child.wait().map_err(failed)?;
                return Err(format!("it did not end within {PATIENCE:?}"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        // Not the exit code: some of them end with another than 0 after a good run.
        let text = fs::read(said).map_err(failed)?;
        Ok((rss_max_bytes, String::from_utf8_lossy(&text).into_owned()))
    }
}

struct Once {
    keys: f64,
    seconds: f64,
    cpu_s: f64,
    rss_max_bytes: f64,
    response_us: Option<(f64, f64)>,
}

fn rss_of(child: &Child) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

/// CPU time of all children that have ended, from `/proc/self/stat`.
fn children_cpu_s() -> Result<f64, String> {
    /// The kernel's unit for times shown to programs.
    const TICKS_PER_S: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    // The program's name is in brackets and may hold anything; 14 fields later are the children's.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(13).take(2));
    let ticks: f64 = fields.into_iter().flatten().filter_map(|it| it.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS_PER_S)
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

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn share_of_sets(shape: &Shape) -> f64 {
    if shape.multiget > 1 || shape.rate > 0 { 0.0 } else { 0.1 }
}

/// Without `-i` the original ends with a signal as soon as it has a rate.
fn mutilate(load: &Load) -> (Vec<String>, Option<String>) {
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
    (words(&line), None)
}

fn mcperf(load: &Load) -> (Vec<String>, Option<String>) {
    let (mut line, file) = mutilate(load);
    if load.shape.multiget > 1 {
        line.extend(words(&format!("-g 1 -G {}", load.shape.multiget)));
    }
    (line, file)
}

/// `Total QPS = 1.0 (2 / 3.0s)`, and from the row of gets what stands under `p50` and `p99`.
fn read_table(text: &str, _: &Load) -> Option<Said> {
    let line = text.lines().find_map(|line| line.strip_prefix("Total QPS = "))?;
    let (keys, seconds) = line.split_once('(')?.1.split_once(" / ")?;
    let names = text.lines().find(|line| line.starts_with("#type"))?;
    let row = text.lines().find(|line| line.starts_with("read "))?;
    let column = |name: &str| {
        let place = names.split_whitespace().position(|it| it == name)?;
        row.split_whitespace().nth(place)?.parse::<f64>().ok()
    };
    Some(Said {
        keys: Some(keys.trim().parse().ok()?),
        seconds: seconds.trim().strip_suffix("s)")?.parse().ok()?,
        response_us: column("p50").zip(column("p99")),
    })
}

fn memtier(load: &Load) -> (Vec<String>, Option<String>) {
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
    (words(&line), None)
}

/// Only in its file does it say what it counted.
fn read_memtier(_: &str, load: &Load) -> Option<Said> {
    memtier_file(&fs::read_to_string(&load.file).ok()?, load)
}

fn memtier_file(text: &str, load: &Load) -> Option<Said> {
    let all: Value = serde_json::from_str(text).ok()?;
    let number = |pointer: &str| all.pointer(pointer).and_then(Value::as_f64);
    let us = |name| {
        let ms = number(&format!("/ALL STATS/Totals/Percentile Latencies/{name}"))?;
        Some(ms * 1e3)
    };
    Some(Said {
        keys: Some(number("/ALL STATS/Totals/Count")?),
        // What it says of its time is a second off now and then: of 2 s, 1 001 and 3 001 ms.
        seconds: f64::from(load.seconds),
        response_us: us("p50.00").zip(us("p99.00")),
    })
}

fn memaslap(load: &Load) -> (Vec<String>, Option<String>) {
    let Load { shape: it, address, seconds, file } = load;
    let sets = share_of_sets(it);
    let mut line = format!("-s {address} -T 1 -c {} -t {seconds}s -w 1k -F {file}", it.connections);
    if it.multiget > 1 {
        line += &format!(" -d {}", it.multiget);
    }
    let text = format!("key\n30 30 1\nvalue\n200 200 1\ncmd\n0 {sets:.1}\n1 {:.1}\n", 1.0 - sets);
    (words(&line), Some(text))
}

/// The last line: `Run time: 1.0s Ops: 124171 TPS: 124023 Net_rate: 138.8M/s`.
fn read_memaslap(text: &str, _: &Load) -> Option<Said> {
    let line = text.lines().find_map(|line| line.strip_prefix("Run time: "))?;
    let (seconds, rest) = line.split_once("s Ops: ")?;
    let keys = rest.split_whitespace().next()?.parse().ok();
    Some(Said { keys, seconds: seconds.parse().ok()?, response_us: None })
}

/// It ends by calls, not by time, and takes about so many in a second.
const CALLS_PER_S: u32 = 150_000;
/// Without a rate it makes one connection at a time.
const CONNECTIONS_PER_S: u32 = 5_000;

fn twemperf(load: &Load) -> (Vec<String>, Option<String>) {
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
        return (words(&line), None);
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
    (words(&line), None)
}

fn read_twemperf(text: &str, _: &Load) -> Option<Said> {
    let line = text.lines().find(|line| line.starts_with("Total: connections"))?;
    let mut after = line.split_whitespace().skip_while(|word| *word != "responses").skip(1);
    let keys = after.next()?.parse().ok();
    Some(Said { keys, seconds: after.nth(1)?.parse().ok()?, response_us: None })
}

fn crusher(load: &Load) -> (Vec<String>, Option<String>) {
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
    (words(&line), Some(text))
}

fn cannon(load: &Load) -> (Vec<String>, Option<String>) {
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
    (vec![file.clone()], Some(text))
}

/// Lines of JSON, one of which is the result.
fn read_cannon(text: &str, _: &Load) -> Option<Said> {
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let result = lines.rfind(|line| line.get("throughput").is_some())?;
    let number = |pointer| result.pointer(pointer).and_then(Value::as_f64);
    Some(Said {
        keys: number("/responses"),
        seconds: number("/duration_secs")?,
        response_us: number("/get/p50_us").zip(number("/get/p99_us")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_peers_say_is_read() {
        let shape = super::super::shape("any", (16, 1, 1), Which::Memcached);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let load = Load { shape: &shape, address, seconds: 2, file: String::new() };
        let table = "#type avg std min p50 p99\nread 1.0 2.0 3.0 14.5 30.5\n\n\
                     Total QPS = 5.0 (10 / 2.0s)\n";
        let said = read_table(table, &load).expect("it is a table");
        assert_eq!((said.keys, said.seconds), (Some(10.0), 2.0));
        assert_eq!(said.response_us, Some((14.5, 30.5)));
        let file = json!({"ALL STATS": {
            "Totals": {"Count": 200, "Percentile Latencies": {"p50.00": 0.1, "p99.00": 0.3}},
        }});
        let said = memtier_file(&file.to_string(), &load).expect("it is such a file");
        assert_eq!((said.keys, said.seconds), (Some(200.0), 2.0));
        assert!(said.response_us.is_some_and(|(p50, _)| (p50 - 100.0).abs() < 1e-9));
        let line = "Run time: 1.5s Ops: 30 TPS: 20 Net_rate: 0.1M/s";
        let said = read_memaslap(line, &load).expect("it is a last line");
        assert_eq!((said.keys, said.seconds), (Some(30.0), 1.5));
        let line = "Total: connections 16 requests 40 responses 39 test-duration 1.547 s";
        let said = read_twemperf(line, &load).expect("it is a first line");
        assert_eq!((said.keys, said.seconds), (Some(39.0), 1.547));
        assert!(read_table("nothing", &load).is_none());
    }
}
