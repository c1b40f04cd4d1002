//! The programs under comparison: which of them can make a shape's load, the command line of each
//! of ours, and the parser of its figures from the JSON that it prints. `process` and `turns` run
//! them; `peers` has the command lines of other projects.

use super::Shape;
use super::figures::Run;
use super::peers::Peer;
use serde_json::Value;
use std::net::SocketAddr;

/// A program under comparison; the others of a list are compared with its first.
#[derive(Clone, Copy)]
pub(super) enum Client {
    /// One of ours.
    Own(Own),
    /// A load generator of another project.
    Peer(&'static Peer),
}

/// A program of ours, and the load that it makes.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// Its name in tables.
    name: &'static str,
    /// The name of its file among our programs.
    pub(super) program: &'static str,
    /// What it is called with, beside what follows from the shape.
    words: &'static str,
}

const fn own(name: &'static str, program: &'static str, words: &'static str) -> Own {
    Own { name, program, words }
}

/// The bare clients, as fast as they can, and memtide in a closed loop.
const CLIENTS: &[Own] = &[
    own("bare-epoll", "bare-epoll", ""),
    own("bare-uring", "bare-uring", ""),
    own("memtide, epoll", "memtide", "--io epoll --wait sleep"),
    own("memtide, uring", "memtide", "--io uring --wait sleep"),
];

/// Also those that send again only after all replies of a window. No other client makes this load;
/// its figures are for information.
const DEEP_CLIENTS: &[Own] = &[
    own("bare-epoll", "bare-epoll", ""),
    own("bare-uring", "bare-uring", ""),
    own("bare, whole batches", "bare-epoll", "--whole-batches"),
    own("memtide, epoll", "memtide", "--io epoll --wait sleep"),
    own("memtide, uring", "memtide", "--io uring --wait sleep"),
    own("memtide, epoll, whole", "memtide", "--io epoll --wait sleep --refill whole"),
    own("memtide, uring, whole", "memtide", "--io uring --wait sleep --refill whole"),
];

const CHURN_CLIENTS: &[Own] = &[
    own("bare-churn", "bare-churn", ""),
    own("memtide, epoll", "memtide", "--io epoll"),
    own("memtide, uring", "memtide", "--io uring"),
];

const PACED_CLIENTS: &[Own] = &[
    own("bare, sleep", "bare-paced", "--wait sleep"),
    own("bare, spin", "bare-paced", "--wait spin"),
    own("epoll, sleep", "memtide", "--io epoll --wait sleep"),
    own("epoll, hybrid", "memtide", "--io epoll --wait hybrid"),
    own("epoll, spin", "memtide", "--io epoll --wait spin"),
    own("uring, sleep", "memtide", "--io uring --wait sleep"),
    own("uring, hybrid", "memtide", "--io uring --wait hybrid"),
    own("uring, spin", "memtide", "--io uring --wait spin"),
];

const KEYS: &str = "1000";

impl Client {
    /// The clients that make this load, ours first; others only `with_peers`, if they are
    /// installed.
    pub(super) fn all(shape: &Shape, with_peers: bool) -> Vec<Self> {
        let own = match shape {
            Shape { calls: 1.., .. } => CHURN_CLIENTS,
            Shape { rate: 1.., .. } => PACED_CLIENTS,
            Shape { depth: 2.., .. } => DEEP_CLIENTS,
            _ => CLIENTS,
        };
        let peers = if with_peers { Peer::present(shape) } else { Vec::new() };
        let peers = peers.into_iter().map(Self::Peer);
        own.iter().copied().map(Self::Own).chain(peers).collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Own(own) => own.name,
            Self::Peer(peer) => peer.program,
        }
    }
}

impl Own {
    /// Its command line for a run of this many seconds.
    pub(super) fn words(self, shape: &Shape, address: SocketAddr, seconds: u32) -> Vec<String> {
        let Shape { connections, depth, multiget, rate, calls, .. } = shape;
        let load = match self.program {
            "memtide" => {
                let mix = if *multiget > 1 || *rate > 0 { "get=1" } else { "get=9,set=1" };
                let load = match calls {
                    0 => format!("--rate {rate} --multiget {multiget} --mix {mix}"),
                    _ => format!("--calls {calls} --linger 0 --mix get=1"),
                };
                format!(
                    "{load} --depth {depth} --threads 1 --key-size fixed:30 \
                     --value-size fixed:200 --keys {KEYS} --duration {seconds}s --json -"
                )
            }
            "bare-churn" => format!("--calls {calls} --seconds {seconds}"),
            "bare-paced" => format!("--rate {rate} --keys {KEYS} --seconds {seconds}"),
            _ => {
                let set_every = if *multiget > 1 { 0 } else { 10 };
                format!(
                    "--depth {depth} --multiget {multiget} --set-every {set_every} --keys {KEYS} \
                     --seconds {seconds}"
                )
            }
        };
        let first = if self.program == "memtide" { "run --quiet" } else { "" };
        let all =
            format!("{first} --server {address} --connections {connections} {load} {}", self.words);
        all.split_whitespace().map(str::to_owned).collect()
    }

    /// Its figures, from the JSON that it printed; under connection churn per connection.
    pub(super) fn read(self, shape: &Shape, said: &Value) -> Result<Run, String> {
        match self.program {
            "memtide" if shape.calls > 0 => read_memtide_churn(said),
            "memtide" => read_memtide(shape.multiget, said),
            "bare-churn" => read_bare(said, number(said, "/connections")?, None),
            "bare-paced" => {
                let us = |name| Ok::<_, String>(number(said, name)? / 1e3);
                read_bare(said, number(said, "/ops")?, Some((us("/p50_ns")?, us("/p99_ns")?)))
            }
            _ => read_bare(said, number(said, "/ops")? * f64::from(shape.multiget), None),
        }
    }
}

/// The figures of a bare client that made `ops` operations.
fn read_bare(said: &Value, ops: f64, response_us: Option<(f64, f64)>) -> Result<Run, String> {
    Ok(Run {
        ops_per_s: ops / number(said, "/wall_s")?,
        cpu_s_per_mops: cpu_s(said, "")? / ops * 1e6,
        rss_max_bytes: number(said, "/rss_max_bytes")?,
        response_us,
        lag_us: None,
    })
}

/// The figures of a record; with gets of `keys` keys each, per key.
pub(super) fn read_memtide(keys: u32, record: &Value) -> Result<Run, String> {
    let keys = f64::from(keys);
    let answered = number(record, "/totals/answered")?;
    let microseconds = |name| Some(number(record, name).ok()? / 1e3);
    Ok(Run {
        ops_per_s: number(record, "/rate/achieved_per_s")? * keys,
        cpu_s_per_mops: cpu_s(record, "/client")? / answered / keys * 1e6,
        rss_max_bytes: number(record, "/client/rss_max_bytes")?,
        response_us: microseconds("/response/all/p50_ns").zip(microseconds("/response/all/p99_ns")),
        lag_us: microseconds("/lag/all/p50_ns").zip(microseconds("/lag/all/p99_ns")),
    })
}

fn read_memtide_churn(record: &Value) -> Result<Run, String> {
    let completed = number(record, "/churn/measure/completed")?;
    let microseconds = |name| Some(number(record, name).ok()? / 1e3);
    Ok(Run {
        ops_per_s: completed / number(record, "/measured_s")?,
        cpu_s_per_mops: cpu_s(record, "/client")? / completed * 1e6,
        rss_max_bytes: number(record, "/client/rss_max_bytes")?,
        response_us: microseconds("/churn/lifetime/p50_ns")
            .zip(microseconds("/churn/lifetime/p99_ns")),
        lag_us: None,
    })
}

/// The number at a JSON pointer in a program's output.
pub(super) fn number(value: &Value, pointer: &str) -> Result<f64, String> {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.ok_or_else(|| format!("the client's answer has no number at {pointer}"))
}

fn cpu_s(value: &Value, pointer: &str) -> Result<f64, String> {
    let user_s = number(value, &format!("{pointer}/cpu_user_s"))?;
    Ok(user_s + number(value, &format!("{pointer}/cpu_system_s"))?)
}

#[cfg(test)]
mod tests;
