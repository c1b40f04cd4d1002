//! Proofs in real time of what helps to choose: searches of a server whose limit is known, and
//! trials of two equal servers.

use super::released;
use crate::bench::server::{Cpus, Server, free_addresses};
use crate::commands::{Kept, output};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of one queue with exponential times of 1 ms on average whose p95 is to be below 10 ms:
/// μ − ln 20 / 10 ms.
const LIMIT: f64 = 700.4;
/// How near both ends of the interval should be.
const NEAR: f64 = 0.07;
/// How long a server may take to listen.
const LISTENING: Duration = Duration::from_millis(500);

/// How many searches there are, and how long they are.
pub struct Searches {
    /// The number of quiet searches, and of those beside a busy program.
    pub runs: u32,
    /// The number of searches at a time.
    pub beside: u32,
    /// The length of their first steps, in milliseconds.
    pub step_ms: u32,
}

/// Searches the server of docs/search.md, quiet and beside a program that keeps a CPU busy; prints
/// the intervals and how many are near.
///
/// # Errors
/// If memtide cannot be built, or a search fails.
pub fn searches(root: &Path, searches: &Searches) -> Result<(), String> {
    let memtide = released(root)?;
    let Searches { runs, beside, step_ms } = *searches;
    for (name, is_busy) in [("quiet", false), ("beside a busy program", true)] {
        let hog = is_busy.then(|| Kept::spawn(mortal("sh").args(["-c", "while :; do :; done"])));
        let hog = hog.transpose()?;
        let mut found = Vec::new();
        let numbers: Vec<u32> = (1..=runs).collect();
        for batch in numbers.chunks(beside as usize) {
            let addresses = free_addresses(batch.len())?;
            let searches = thread::scope(|scope| {
                let each = batch.iter().zip(&addresses);
                let begun = each.map(|(number, address)| {
                    scope.spawn(|| search(&memtide, *number, *address, step_ms))
                });
                let begun: Vec<_> = begun.collect();
                begun.into_iter().map(|it| it.join().expect("it ends")).collect::<Vec<_>>()
            });
            for (number, searched) in batch.iter().zip(searches) {
                let searched = searched?;
                println!("{name} {number:>2}: {}", searched.words());
                found.push(searched);
            }
        }
        drop(hog);
        let count = |is: fn(&Searched) -> bool| found.iter().filter(|it| is(it)).count();
        println!(
            "{name}: of {runs} searches, both ends of {} are within 7 % of {LIMIT:.0}/s, {} hold \
             it; {} of the others name undecided rates inside",
            count(Searched::is_near),
            count(Searched::holds),
            count(|it| !it.is_near() && it.is_undecided)
        );
    }
    Ok(())
}

/// What a search found.
struct Searched {
    low: Option<f64>,
    high: Option<f64>,
    /// True if it says that it could not decide some rates, those inside the interval.
    is_undecided: bool,
    steps: usize,
    took: Duration,
}

impl Searched {
    fn is_near(&self) -> bool {
        let is_close = |end: Option<f64>| end.is_some_and(|end| (end / LIMIT - 1.0).abs() <= NEAR);
        is_close(self.low) && is_close(self.high)
    }

    fn holds(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| low <= LIMIT && LIMIT <= high)
    }

    fn words(&self) -> String {
        let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| format!("{end:.0}"));
        let near = if self.is_near() { "near" } else { "not near" };
        let minutes = self.took.as_secs_f64() / 60.0;
        let (low, high, steps) = (end(self.low), end(self.high), self.steps);
        format!("{low}–{high}/s, {near}; {steps} steps, {minutes:.1} min")
    }
}

/// One search, of a server of its own at this address.
fn search(
    memtide: &Path,
    number: u32,
    address: SocketAddr,
    step_ms: u32,
) -> Result<Searched, String> {
    let (address, seed) = (address.to_string(), number.to_string());
    let port = address.rsplit(':').next().unwrap_or_default();
    let mut serve = mortal(memtide);
    serve.args(["serve", "--port", port, "--behaviour", "queue:1,exponential:1ms"]);
    serve.args(["--seed", &seed]).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Kept::spawn(&mut serve)?;
    thread::sleep(LISTENING);
    let mut search = Command::new(memtide);
    search.args(["search", "-s", &address, "--mix", "get=1", "--goal", "all.p95<10ms"]);
    search.args(["--duration", &format!("{step_ms}ms"), "--warmup", &format!("{}ms", step_ms / 5)]);
    search.args(["--keys", "1000", "--wait", "sleep", "--threads", "1"]);
    search.args(["--seed", &seed, "--floor=off", "--quiet", "--json", "-"]);
    let began = Instant::now();
    // A search that decides nothing ends with 1, and says so in its JSON.
    let printed = output(&mut search)?.stdout;
    let steps: Value = serde_json::from_slice(&printed)
        .map_err(|error| format!("search {number} printed no JSON: {error}"))?;
    let answer = &steps["conclusion"]["answer"];
    Ok(Searched {
        low: answer["rate_per_s"].as_f64(),
        high: answer["missed_per_s"].as_f64(),
        is_undecided: answer["undecided"].is_object(),
        steps: steps["steps"].as_array().map_or(0, Vec::len),
        took: began.elapsed(),
    })
}

/// How long trials of equal servers are.
pub struct Trials {
    /// The number of trials.
    pub runs: u32,
    /// Operations per second.
    pub rate: u32,
    /// The longest time of a trial, in seconds.
    pub at_most_s: u32,
}

/// Runs trials of two equal memcached servers; prints what each says, and how often a figure is
/// called different.
///
/// # Errors
/// If memtide cannot be built, memcached is missing, or a trial fails.
pub fn trials(root: &Path, trials: &Trials) -> Result<(), String> {
    let (memtide, cpus) = (released(root)?, Cpus::inherited()?);
    let mut different = 0;
    for number in 1..=trials.runs {
        let servers = [Server::memcached(&cpus)?, Server::memcached(&cpus)?];
        let [a, b] = servers.each_ref().map(|it| format!("server={}", it.address));
        let mut ab = Command::new(&memtide);
        ab.args(["ab", "--a", &a, "--b", &b, "--keys", "10k", "--duration", "2s", "--quiet"]);
        ab.args(["--rate", &trials.rate.to_string(), "--seed", &number.to_string()]);
        ab.args(["--at-most", &format!("{}s", trials.at_most_s), "--json", "-"]);
        // A trial whose pairs are lost ends with 1, and says so in its JSON.
        let printed = output(&mut ab)?.stdout;
        let trial: Value = serde_json::from_slice(&printed)
            .map_err(|error| format!("trial {number} printed no JSON: {error}"))?;
        let figures = trial["figures"].as_array().into_iter().flatten();
        let words: Vec<String> = figures.map(figure_words).collect();
        let is_different = words.iter().any(|it| it.ends_with("better") || it.ends_with("worse"));
        different += u32::from(is_different);
        let pairs = trial["pairs"].as_array().map_or(0, Vec::len);
        println!("{number:>3}: {pairs} pairs; {}", words.join("; "));
    }
    println!("called different: {different} of {}", trials.runs);
    Ok(())
}

/// A figure of a trial in words, which end in its answer.
fn figure_words(figure: &Value) -> String {
    let percent = |value: &Value| value.as_f64().map_or(f64::NAN, |share| share * 100.0);
    let [name, finding] = ["name", "finding"].map(|member| figure[member].as_str().unwrap_or("?"));
    let (low, high) = (percent(&figure["range"][0]), percent(&figure["range"][1]));
    format!("{name} {low:+.1} to {high:+.1} %: {finding}")
}

/// A command whose program is killed when this process dies.
fn mortal(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program).stdin(Stdio::null());
    command
}
