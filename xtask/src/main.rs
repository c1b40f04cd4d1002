//! The chores of this workspace, one word each: `test`, `tidy`, `bench`, `swarm`, `docs`, `proof`,
//! `readme`, `pictures`, `dist`, `kubernetes`.
//!
//! It runs tools that a developer could run by hand, prints each command, and knows nothing of
//! memtide's internals.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // A chore reports to a person.

mod proof;
mod kubernetes;
mod dist;
mod pictures;
mod bench;
mod names;
mod suite;
mod setup;
mod tidy;
mod commands;
mod files;
mod web;

use crate::commands::{cargo, run};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = command().get_matches();
    let root = workspace_root();
    let outcome = match words.subcommand().expect("clap demands a word") {
        ("test", _) => suite::test(&root),
        ("tidy", _) => tidy(&root),
        ("bench", words) => bench(&root, words),
        ("swarm", words) => swarm(&root, words),
        ("docs", _) => docs(&root),
        ("proof", words) => proof(&root, words),
        ("readme", _) => proof::readme(&root),
        ("pictures", _) => pictures::pictures(&root),
        ("dist", words) => {
            let [image, deb] = ["image", "deb"].map(|name| words.get_flag(name));
            dist::run(&root, &dist::Options { image, deb })
        }
        ("kubernetes", words) => {
            let [cluster, program] =
                ["cluster", "program"].map(|name| words.get_one(name).cloned());
            let options = kubernetes::Options { cluster, program };
            match words.get_flag("inside") {
                true => kubernetes::inside(&root, &options),
                false => kubernetes::run(&root, &options),
            }
        }
        _ => unreachable!("clap demands one of the words above"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Command {
    let word = |name, about| Command::new(name).about(about);
    let seed = "Run only this seed, and describe it";
    Command::new("xtask")
        .bin_name("cargo xtask")
        .about("The tasks of this workspace")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([
            word("test", "Install what the tests need, then run all tests"),
            word("tidy", "Check the house rules of STYLE.md"),
            word("bench", "Compare the CPU cost of memtide with that of a bare client")
                .args(bench_words()),
            word("swarm", "Simulate random scenarios, one per seed, and check their invariants")
                .arg(seeds("seeds", "10000", "Number of seeds"))
                .arg(seeds("from", "1", "First seed"))
                .arg(seeds("seed", "1", seed).conflicts_with_all(["seeds", "from"])),
            word("docs", "Write the generated documents again"),
            word("proof", "Measure on a quiet machine what tests cannot measure")
                .subcommand_required(true)
                .subcommands(proofs()),
            word("readme", "Put the report of a first run into README.md"),
            word(
                "pictures",
                "Check the HTML page in a browser, and put screenshots into docs/images",
            ),
            word("dist", "Build a static program and its packages in target/dist, and try them")
                .arg(switch("image", "Also make a container image"))
                .arg(switch("deb", "Also make a Debian package")),
            word(
                "kubernetes",
                "Try deploy/kubernetes on a cluster of one node; needs root, and Go to build it",
            )
            .arg(file("cluster", "Use this binary of all cluster programs instead of building one"))
            .arg(file(
                "program",
                "Use this static memtide instead of building one with `dist --image`",
            ))
            .arg(switch("inside", "Internal: the part that runs in its own namespaces").hide(true)),
        ])
}

fn proofs() -> [Command; 10] {
    let word = |name, about| Command::new(name).about(about);
    [
        word(
            "first-run",
            "Run memtide with defaults; the grades of p50, p90 and p99, and memtide's own share",
        )
        .arg(number("runs", "20", "Number of runs")),
        word("shares", "Simulate runs of many shares, with wrong clocks and lost shares")
            .arg(number("shares", "1000", "Shares of each run"))
            .arg(number("lanes", "10", "Lanes of each share"))
            .arg(seeds("seeds", "20", "Number of runs"))
            .arg(seeds("from", "1", "Seed of the first run")),
        word("bound", "Simulate late workers; does each range hold what a punctual run measures?")
            .arg(number("runs", "60", "Runs of each world"))
            .arg(seeds("from", "1", "Seed of the first run")),
        word("verdicts", "Simulate runs with goals; how often is one met or missed wrongly?")
            .arg(number("runs", "200", "Runs of each world"))
            .arg(number("capacity", "10000", "Operations per second that the server can carry"))
            .arg(seeds("from", "1", "Seed of the first run")),
        word("blame", "Simulate stalls of servers and of workers; is each called whose it is?")
            .arg(number("runs", "300", "Runs of each sort"))
            .arg(seeds("from", "1", "Seed of the first run"))
            .arg(times("pairs", "Instead: N pairs with memcached, which is stopped in one of each"))
            .arg(number("seconds", "30", "Length of a real run"))
            .arg(number("rate", "10000", "Operations per second of the real runs"))
            .arg(number("stop-ms", "200", "Length of a real stop, in ms"))
            .arg(number("every-ms", "2000", "Time from one real stop to the next, in ms")),
        word("search", "Simulate searches; how often does the interval hold the knee?")
            .arg(number("searches", "1000", "Searches, quiet and disturbed"))
            .arg(times("runs", "Instead: search a real server N times, and beside a busy program"))
            .arg(number("beside", "1", "Real searches at a time"))
            .arg(number("step-ms", "10000", "Length of a real search's first steps, in ms")),
        word("ab", "Simulate trials of memtide ab; how often are equal servers called different?")
            .arg(number("trials", "200", "Trials of each sort"))
            .arg(times("runs", "Instead: compare two equal memcached servers N times"))
            .arg(number("rate", "5000", "Operations per second of the real trials"))
            .arg(number("at-most", "120", "The longest time of a real trial, in seconds")),
        word("points", "Write the points of many operations to a real InfluxDB").arg(seeds(
            "ops",
            "1000000",
            "Operations of each run",
        )),
        word(
            "wire",
            "Compare every byte that memtide sends with what was meant, at full pipelines",
        )
        .arg(seeds("ops", "1000000", "Operations of each load over each kernel interface")),
        word("agents", "Run many agents on this machine, and one beside a plain run")
            .arg(number("agents", "200", "Agents of the large fleet"))
            .arg(number("rounds", "11", "Rounds of one agent and a plain run"))
            .arg(number("seconds", "3", "How long each load lasts")),
    ]
}

fn bench_words() -> [Arg; 10] {
    let seconds = value_parser!(u32).range(1..=604_800);
    [
        number("rounds", "11", "Rounds; each gives one ratio per client"),
        number("seconds", "3", "How long each client runs in a round"),
        valued("shape", "WORD", "Only the loads whose name contains WORD").default_value(""),
        switch("no-peers", "Leave out other load generators that are found on PATH"),
        switch("tls", "Instead: loads over TLS, beside a bare client on the same library"),
        file("json", "Also write every figure to FILE"),
        switch("sinks", "Instead: measure sinks alone, and all outputs beside a load"),
        switch("instructions", "Instead: count instructions; fails if they grew"),
        switch("record", "Record the counted instructions as the new limits")
            .requires("instructions"),
        valued(
            "simulated",
            "SECONDS",
            "Instead: measure how long N seconds of load take to simulate",
        )
        .value_parser(seconds),
    ]
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn valued(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn file(name: &'static str, help: &'static str) -> Arg {
    valued(name, "FILE", help).value_parser(value_parser!(PathBuf))
}

fn number(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    let parser = value_parser!(u32).range(1..=10_000);
    valued(name, "N", help).default_value(default).value_parser(parser)
}

/// A number that changes what a command does.
fn times(name: &'static str, help: &'static str) -> Arg {
    valued(name, "N", help).value_parser(value_parser!(u32).range(1..=10_000))
}

fn seeds(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    number(name, default, help).value_parser(value_parser!(u64).range(1..=1_000_000_000))
}

/// The value of an option that has a default.
fn given<T: Clone + Send + Sync + 'static>(words: &ArgMatches, name: &str) -> T {
    words.get_one::<T>(name).expect("it has a default").clone()
}

fn bench(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let [rounds, seconds] = ["rounds", "seconds"].map(|name| given(words, name));
    if let Some(seconds) = words.get_one("simulated") {
        return bench::simulated(root, *seconds);
    }
    if words.get_flag("instructions") {
        return bench::instructions::run(root, words.get_flag("record"));
    }
    if words.get_flag("sinks") {
        return bench::sinks::run(root, rounds, seconds);
    }
    let (shape, json) = (given(words, "shape"), words.get_one("json").cloned());
    let peers = !words.get_flag("no-peers");
    let tls = words.get_flag("tls");
    bench::run(root, &bench::Options { rounds, seconds, shape, peers, tls, json })
}

fn proof(root: &Path, words: &ArgMatches) -> Result<(), String> {
    match words.subcommand().expect("clap demands the name of a proof") {
        ("first-run", words) => proof::first_run(root, given(words, "runs")),
        ("shares", words) => shares(root, words),
        ("bound", words) => bound(root, words),
        ("blame", words) => blame(root, words),
        ("points", words) => points(root, words),
        ("verdicts", words) => verdicts(root, words),
        ("search", words) => match words.get_one("runs") {
            Some(runs) => {
                let [beside, step_ms] = ["beside", "step-ms"].map(|name| given(words, name));
                let searches = proof::choices::Searches { runs: *runs, beside, step_ms };
                proof::choices::searches(root, &searches)
            }
            None => searches(root, given(words, "searches")),
        },
        ("ab", words) => match words.get_one("runs") {
            Some(runs) => {
                let [rate, at_most_s] = ["rate", "at-most"].map(|name| given(words, name));
                let trials = proof::choices::Trials { runs: *runs, rate, at_most_s };
                proof::choices::trials(root, &trials)
            }
            None => trials(root, given(words, "trials")),
        },
        ("wire", words) => proof::wire::wire(root, given(words, "ops")),
        (_, words) => {
            let [agents, rounds, seconds] =
                ["agents", "rounds", "seconds"].map(|name| given(words, name));
            let options = proof::agents::Options { agents, rounds, seconds };
            proof::agents::agents(root, &options)
        }
    }
}

/// Runs the simulated swarm, optimised and with every assertion.
fn swarm(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let number = |name: &str| given::<u64>(words, name);
    let one = words.value_source("seed") == Some(ValueSource::CommandLine);
    let (from, count) = if one { (number("seed"), 1) } else { (number("from"), number("seeds")) };
    let test = ["test", "--profile", "swarm", "--package", "memtide-sim", "--test", "swarm"];
    let mut command = cargo(root);
    command
        .env("MEMTIDE_SWARM_FROM", from.to_string())
        .env("MEMTIDE_SWARM_SEEDS", count.to_string());
    run(command.args(test).args(["--", "--nocapture", "no_seed_breaks_a_law"]))
}

/// Runs the test of many shares at its full size in a release build.
fn shares(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let seed = |name: &str| given::<u64>(words, name).to_string();
    let count = |name: &str| given::<u32>(words, name).to_string();
    let mut command = cargo(root);
    command
        .env("MEMTIDE_SHARES", count("shares"))
        .env("MEMTIDE_LANES", count("lanes"))
        .env("MEMTIDE_SHARES_FROM", seed("from"))
        .env("MEMTIDE_SHARES_SEEDS", seed("seeds"))
        .args(["test", "--release", "--package", "memtide-sim", "--test", "it", "--"]);
    run(command.args(["--nocapture", "what_is_left_of_many_shares_is_exact"]))
}

/// Runs the tests of intervals and ranges in virtual time, with many runs, in a release build.
fn bound(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let runs = given::<u32>(words, "runs").to_string();
    let mut command = cargo(root);
    command
        .env("MEMTIDE_BELIEF_RUNS", &runs)
        .env("MEMTIDE_BOUND_RUNS", &runs)
        .env("MEMTIDE_BELIEF_FROM", given::<u64>(words, "from").to_string())
        .args(["test", "--release", "--package", "memtide-sim", "--test", "it", "--"]);
    let queues = ["belief", "drift", "precision", "warmup"].map(|of| format!("queues::{of}::"));
    run(command.args(["--nocapture", "agents::"]).args(queues))
}

/// Runs the tests of decisions about goals in virtual time, with many runs, in a release build.
fn verdicts(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let mut command = cargo(root);
    command
        .env("MEMTIDE_BELIEF_RUNS", given::<u32>(words, "runs").to_string())
        .env("MEMTIDE_VERDICTS_CAPACITY", given::<u32>(words, "capacity").to_string())
        .env("MEMTIDE_BELIEF_FROM", given::<u64>(words, "from").to_string())
        .args(["test", "--release", "--package", "memtide-sim", "--test", "it", "--"]);
    run(command.args(["--nocapture", "queues::verdicts::"]))
}

/// Simulates stalls of servers and workers, or makes those of a real server.
fn blame(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let Some(&pairs) = words.get_one("pairs") else {
        return proof::blame::simulated(root, given(words, "runs"), given(words, "from"));
    };
    let [seconds, rate] = ["seconds", "rate"].map(|name| given(words, name));
    let [stop_ms, every_ms] = ["stop-ms", "every-ms"].map(|name| given(words, name));
    let pairs = proof::blame::Pairs { pairs, seconds, rate, stop_ms, every_ms };
    proof::blame::real(root, &pairs)
}

/// Simulates many searches.
fn searches(root: &Path, searches: u32) -> Result<(), String> {
    let tests = ["test", "--release", "--package", "memtide-run", "--test", "it", "--"];
    let mut command = cargo(root);
    command.env("MEMTIDE_SEARCHES", searches.to_string()).args(tests);
    run(command.args(["--nocapture", "knee::"]))
}

/// Simulates many trials of two servers.
fn trials(root: &Path, trials: u32) -> Result<(), String> {
    let tests = ["test", "--release", "--package", "memtide-belief", "--test", "pairs", "--"];
    let mut command = cargo(root);
    run(command.env("MEMTIDE_TRIALS", trials.to_string()).args(tests).arg("--nocapture"))
}

/// Runs the tests with a real InfluxDB with many operations.
fn points(root: &Path, words: &ArgMatches) -> Result<(), String> {
    setup::install_missing(setup::TESTS)?;
    let ops = given::<u64>(words, "ops");
    let tests = ["test", "--package", "memtide", "--test", "it", "influx::a_database_"];
    run(cargo(root).env("MEMTIDE_INFLUX_OPS", ops.to_string()).args(tests))
}

fn tidy(root: &Path) -> Result<(), String> {
    let findings = tidy::check(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy");
            Ok(())
        }
        count => Err(format!("{count} findings; STYLE.md gives the reasons behind each rule")),
    }
}

/// Writes the generated documents: tests compare them with the code, and write them if
/// `UPDATE_DOCS` is set.
fn docs(root: &Path) -> Result<(), String> {
    let tests = ["--package", "memtide-scenario", "--package", "memtide-record", "--lib"];
    run(cargo(root).env("UPDATE_DOCS", "1").arg("test").args(tests))
}

fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace").to_owned()
}
