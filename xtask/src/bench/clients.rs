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
pub(super) enum Own {
    /// The bare client over epoll or io_uring, as fast as it can.
    Bare(&'static str),
    /// The bare client over epoll, which sends again only after all replies of a window. No other
    /// client makes this load; its figures are for information.
    BareBatches,
    /// memtide in a closed loop, over this `--io`.
    Memtide(&'static str),
    /// memtide with `--refill whole`, over this `--io`: the load of `BareBatches`.
    MemtideBatches(&'static str),
    /// The bare client of connection churn, as fast as it can.
    BareChurn,
    /// memtide with connection churn, over this `--io`.
    MemtideChurn(&'static str),
    /// The bare client at a rate, with this `--wait`.
    BarePaced(&'static str),
    /// memtide at a rate, with these `--io` and `--wait`.
    MemtidePaced(&'static str, &'static str),
}

const CLIENTS: &[Own] =
    &[Own::Bare("epoll"), Own::Bare("uring"), Own::Memtide("epoll"), Own::Memtide("uring")];

const DEEP_CLIENTS: &[Own] = &[
    Own::Bare("epoll"),
    Own::Bare("uring"),
    Own::BareBatches,
    Own::Memtide("epoll"),
    Own::Memtide("uring"),
    Own::MemtideBatches("epoll"),
    Own::MemtideBatches("uring"),
];

const CHURN_CLIENTS: &[Own] =
    &[Own::BareChurn, Own::MemtideChurn("epoll"), Own::MemtideChurn("uring")];

const PACED_CLIENTS: &[Own] = &[
    Own::BarePaced("sleep"),
    Own::BarePaced("spin"),
    Own::MemtidePaced("epoll", "sleep"),
    Own::MemtidePaced("epoll", "hybrid"),
    Own::MemtidePaced("epoll", "spin"),
    Own::MemtidePaced("uring", "sleep"),
    Own::MemtidePaced("uring", "hybrid"),
    Own::MemtidePaced("uring", "spin"),
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

    pub(super) fn name(self) -> String {
        match self {
            Self::Own(Own::Bare(io)) => format!("bare-{io}"),
            Self::Own(Own::BareBatches) => "bare, whole batches".to_owned(),
            Self::Own(Own::Memtide(io) | Own::MemtideChurn(io)) => format!("memtide, {io}"),
            Self::Own(Own::MemtideBatches(io)) => format!("memtide, {io}, whole"),
            Self::Own(Own::BareChurn) => "bare-churn".to_owned(),
            Self::Own(Own::BarePaced(wait)) => format!("bare, {wait}"),
            Self::Own(Own::MemtidePaced(io, wait)) => format!("{io}, {wait}"),
            Self::Peer(peer) => peer.program.to_owned(),
        }
    }
}

impl Own {
    /// The name of its file among our programs.
    pub(super) fn program(self) -> String {
        match self {
            Self::Bare(io) => format!("bare-{io}"),
            Self::BareBatches => "bare-epoll".to_owned(),
            Self::BareChurn => "bare-churn".to_owned(),
            Self::BarePaced(_) => "bare-paced".to_owned(),
            Self::Memtide(_)
            | Self::MemtideBatches(_)
            | Self::MemtideChurn(_)
            | Self::MemtidePaced(..) => "memtide".to_owned(),
        }
    }

    /// Its command line for a run of this many seconds.
    pub(super) fn words(self, shape: &Shape, address: SocketAddr, seconds: u32) -> Vec<String> {
        match self {
            Self::Bare(_) => bare(shape, address, seconds),
            Self::BareBatches => {
                let mut words = bare(shape, address, seconds);
                words.push("--whole-batches".to_owned());
                words
            }
            Self::Memtide(io) => memtide(shape, address, seconds, (io, "sleep")),
            Self::MemtideBatches(io) => {
                let mut words = memtide(shape, address, seconds, (io, "sleep"));
                words.extend(["--refill", "whole"].map(str::to_owned));
                words
            }
            Self::MemtidePaced(io, wait) => memtide(shape, address, seconds, (io, wait)),
            Self::BareChurn => flags([
                ("--server", address.to_string()),
                ("--connections", shape.connections.to_string()),
                ("--calls", shape.calls.to_string()),
                ("--seconds", seconds.to_string()),
            ]),
            Self::MemtideChurn(io) => memtide_churn(shape, address, seconds, io),
            Self::BarePaced(wait) => flags([
                ("--server", address.to_string()),
                ("--connections", shape.connections.to_string()),
                ("--rate", shape.rate.to_string()),
                ("--wait", wait.to_owned()),
                ("--keys", KEYS.to_owned()),
                ("--seconds", seconds.to_string()),
            ]),
        }
    }

    /// Its figures, from the JSON that it printed; under connection churn per connection.
    pub(super) fn read(self, shape: &Shape, said: &Value) -> Result<Run, String> {
        match self {
            Self::Bare(_) | Self::BareBatches => {
                let keys = number(said, "/ops")? * f64::from(shape.multiget);
                read_bare(said, keys, None)
            }
            Self::BareChurn => read_bare(said, number(said, "/connections")?, None),
            Self::BarePaced(_) => {
                let us = |name| Ok::<_, String>(number(said, name)? / 1e3);
                read_bare(said, number(said, "/ops")?, Some((us("/p50_ns")?, us("/p99_ns")?)))
            }
            Self::Memtide(_) | Self::MemtideBatches(_) | Self::MemtidePaced(..) => {
                read_memtide(shape.multiget, said)
            }
            Self::MemtideChurn(_) => read_memtide_churn(said),
        }
    }
}

fn bare(shape: &Shape, address: SocketAddr, seconds: u32) -> Vec<String> {
    flags([
        ("--server", address.to_string()),
        ("--connections", shape.connections.to_string()),
        ("--depth", shape.depth.to_string()),
        ("--multiget", shape.multiget.to_string()),
        ("--set-every", if shape.multiget > 1 { "0" } else { "10" }.to_owned()),
        ("--keys", KEYS.to_owned()),
        ("--seconds", seconds.to_string()),
    ])
}

fn memtide(
    shape: &Shape,
    address: SocketAddr,
    seconds: u32,
    (io, wait): (&str, &str),
) -> Vec<String> {
    let gets_only = shape.multiget > 1 || shape.rate > 0;
    let mix = if gets_only { "get=1" } else { "get=9,set=1" };
    run_words([
        ("--server", address.to_string()),
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
        ("--duration", format!("{seconds}s")),
        ("--json", "-".to_owned()),
    ])
}

fn memtide_churn(shape: &Shape, address: SocketAddr, seconds: u32, io: &str) -> Vec<String> {
    run_words([
        ("--server", address.to_string()),
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
        ("--duration", format!("{seconds}s")),
        ("--json", "-".to_owned()),
    ])
}

/// `memtide run` with these flags.
fn run_words<const N: usize>(fields: [(&str, String); N]) -> Vec<String> {
    ["run", "--quiet"].map(str::to_owned).into_iter().chain(flags(fields)).collect()
}

/// Names and values as the words of a command line.
fn flags<const N: usize>(words: [(&str, String); N]) -> Vec<String> {
    words.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_found_or_missed_by_name() {
        let record = json!({"client": {"cpu_user_s": 1.5, "cpu_system_s": 2}});
        assert_eq!(cpu_s(&record, "/client"), Ok(3.5));
        assert!(number(&record, "/totals/answered").is_err_and(|e| e.contains("/totals/answered")));
    }

    /// The parser of connection churn once used the names of an earlier version, and found no
    /// figures.
    #[test]
    fn a_record_has_every_figure_that_is_read_from_it() {
        let schema = include_str!("../../../docs/record.schema.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        let source = include_str!("clients.rs").split("mod tests").next().unwrap();
        let readers = source.split("fn read_memtide").skip(1).collect::<String>();
        let strings = readers.split('"').skip(1).step_by(2);
        let pointers: Vec<&str> = strings.filter(|word| word.starts_with('/')).collect();
        assert!(pointers.len() > 8, "{pointers:?}");
        for pointer in pointers {
            let mut names = pointer.split('/').skip(1);
            let found = names.try_fold(&schema, |at, name| member(&schema, at, name));
            assert!(found.is_some(), "{pointer}");
        }
    }

    /// The schema of member `name` of the object that `at` describes.
    fn member<'a>(root: &'a Value, at: &'a Value, name: &str) -> Option<&'a Value> {
        if let Some(reference) = at["$ref"].as_str() {
            return member(root, root.pointer(reference.trim_start_matches('#'))?, name);
        }
        if let Some(choices) = at["anyOf"].as_array() {
            return choices.iter().find_map(|choice| member(root, choice, name));
        }
        at["properties"].get(name).or_else(|| at.get("additionalProperties"))
    }
}
