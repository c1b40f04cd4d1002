//! The proof of whose delay it was: simulated stalls of servers and workers, and a real memcached
//! that is stopped and continued, in pairs with runs in which it is not.

use super::released;
use crate::bench::figures::Spread;
use crate::bench::server::{Cpus, Server};
use crate::commands::{cargo, json, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time from a run's start to the first stop of its server, which lies behind the load of the keys.
const BEFORE: Duration = Duration::from_millis(2_500);
/// The number of keys, which are loaded in less time than that.
const KEYS: &str = "10k";
/// The most by which memtide's share of p99 may be larger, in the median of pairs, if the server
/// is stopped. It may be much smaller: a p99 that is a stop is long, and memtide's delay a small
/// part of it.
const POINTS_MAX: f64 = 0.02;

/// The pairs of real runs.
pub struct Pairs {
    /// The number of pairs.
    pub pairs: u32,
    /// The length of each run, in seconds.
    pub seconds: u32,
    /// Operations per second.
    pub rate: u32,
    /// The length of a stop of the server, and the time from one to the next, in milliseconds.
    pub stop_ms: u32,
    pub every_ms: u32,
}

/// Simulates `runs` runs of each sort from the seed `from` on.
///
/// # Errors
/// If a test fails.
pub fn simulated(root: &Path, runs: u32, from: u64) -> Result<(), String> {
    let mut command = cargo(root);
    command
        .env("MEMTIDE_BLAME_RUNS", runs.to_string())
        .env("MEMTIDE_BELIEF_FROM", from.to_string())
        .args(["test", "--release", "--package", "memtide-sim", "--test", "it", "--"]);
    run(command.args(["--nocapture", "queues::blame::"]))
}

/// Runs memtide against memcached in pairs, of which one run has a server that is stopped again and
/// again. Prints memtide's share of p99 in each, and the median difference.
///
/// # Errors
/// If memtide cannot be built or run, or memcached is missing; if the shares of runs with a stopped
/// server are larger by more than two points in the median, or memtide calls itself late in such a
/// run and not in its counterpart.
pub fn real(root: &Path, pairs: &Pairs) -> Result<(), String> {
    let (memtide, cpus) = (released(root)?, Cpus::inherited()?);
    println!("pair  share of p99: server stopped   not stopped   memtide called late");
    let (mut differences, mut blamed) = (Vec::new(), 0);
    for number in 1..=pairs.pairs {
        // The two take turns in going first.
        let mut both = [number % 2 == 0, number % 2 == 1].map(|is_stopped| {
            let judged = one(&memtide, &cpus, pairs, is_stopped, number);
            judged.map(|judged| (is_stopped, judged))
        });
        both.sort_by_key(|it| it.as_ref().is_ok_and(|(is_stopped, _)| !is_stopped));
        let [(_, stopped), (_, quiet)] = match both {
            [Ok(stopped), Ok(quiet)] => [stopped, quiet],
            [Err(error), _] | [_, Err(error)] => return Err(error),
        };
        println!(
            "{number:>4}  {:>28.2} %   {:>9.2} %   {} / {}",
            stopped.share * 100.0,
            quiet.share * 100.0,
            stopped.is_late,
            quiet.is_late
        );
        differences.push(stopped.share - quiet.share);
        blamed += u32::from(stopped.is_late && !quiet.is_late);
    }
    let spread = Spread::of(differences).ok_or("there was no pair")?;
    println!(
        "difference of the share of p99: {} with 95 % confidence; memtide was called late in \
         {blamed} runs with a stopped server alone",
        spread.text(4)
    );
    match spread.median <= POINTS_MAX && blamed == 0 {
        true => Ok(()),
        false => Err("a stop of the server was called memtide's own delay".to_owned()),
    }
}

/// What memtide said of itself in one run.
#[derive(Clone, Copy)]
struct Judged {
    /// Its own share of p99.
    share: f64,
    /// True if it warned that it was late.
    is_late: bool,
}

/// One run, against a memcached of its own.
fn one(
    memtide: &Path,
    cpus: &Cpus,
    pairs: &Pairs,
    is_stopped: bool,
    seed: u32,
) -> Result<Judged, String> {
    let server = Server::memcached(cpus)?;
    let mut load = Command::new(memtide);
    load.args(["run", "-s", &server.address.to_string(), "--keys", KEYS, "--quiet"]);
    load.args(["--rate", &pairs.rate.to_string(), "--duration", &format!("{}s", pairs.seconds)]);
    load.args(["--warmup", "3s", "--floor=off", "--seed", &seed.to_string(), "--json", "-"]);
    let is_over = AtomicBool::new(false);
    let record = thread::scope(|scope| {
        let stops = scope.spawn(|| match is_stopped {
            true => stop_until(&server, pairs, &is_over),
            false => Ok(()),
        });
        let record = json(&mut load);
        is_over.store(true, Ordering::Relaxed);
        stops.join().expect("it ends").and(record)
    })?;
    Ok(Judged { share: share(&record)?, is_late: is_late(&record) })
}

/// Stops the server and lets it go on, until the run is over. It never stays stopped.
fn stop_until(server: &Server, pairs: &Pairs, is_over: &AtomicBool) -> Result<(), String> {
    thread::sleep(BEFORE);
    let stop = Duration::from_millis(pairs.stop_ms.into());
    let every = Duration::from_millis(pairs.every_ms.into());
    while !is_over.load(Ordering::Relaxed) {
        server.stop_for(stop)?;
        thread::sleep(every.saturating_sub(stop));
    }
    Ok(())
}

/// memtide's own share of p99 of all response times.
fn share(record: &Value) -> Result<f64, String> {
    let all = &record["response"]["all"];
    let (low, value) = (&all["own"]["low_ns"]["p99"], &all["p99_ns"]);
    let (low, value) = low.as_f64().zip(value.as_f64()).ok_or("the record has no p99")?;
    Ok(1.0 - low / value)
}

fn is_late(record: &Value) -> bool {
    let mut warnings = record["warnings"].as_array().into_iter().flatten();
    warnings.any(|warning| warning["code"] == "generator_late")
}
