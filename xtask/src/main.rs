//! The chores of this workspace, one word each: `test`, `tidy`, `bench`, `swarm`, `docs`,
//! `messages`, `proof`, `readme`, `pictures`, `dist`, `kubernetes`.
//!
//! It runs tools that a developer could run by hand, prints each command, and knows nothing of
//! memtide's internals.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // A chore reports to a person.

mod proof;
mod bench;
mod kubernetes;
mod dist;
mod names;
mod pictures;
mod setup;
mod tidy;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::thread::available_parallelism;

fn main() -> ExitCode {
    let words = command().get_matches();
    let root = workspace_root();
    let outcome = match words.subcommand() {
        Some(("test", _)) => test(&root),
        Some(("tidy", _)) => tidy(&root),
        Some(("bench", words)) if words.contains_id("simulated") => {
            let seconds = words.get_one::<u32>("simulated").expect("it was just seen");
            bench::simulated(&root, *seconds)
        }
        Some(("bench", words)) if words.get_flag("instructions") => {
            bench::instructions::run(&root, words.get_flag("record"))
        }
        Some(("bench", words)) if words.get_flag("sinks") => {
            let count = |name: &str| *words.get_one(name).expect("it has a default");
            bench::sinks::run(&root, count("rounds"), count("seconds"))
        }
        Some(("bench", words)) => bench::run(
            &root,
            &bench::Options {
                rounds: *words.get_one("rounds").expect("rounds has a default"),
                seconds: *words.get_one("seconds").expect("seconds has a default"),
                shape: words.get_one::<String>("shape").expect("it has a default").clone(),
                peers: !words.get_flag("no-peers"),
                json: words.get_one("json").cloned(),
            },
        ),
        Some(("swarm", words)) => swarm(&root, words),
        Some(("docs", _)) => docs(&root),
        Some(("messages", _)) => tidy::write_messages(&root),
        Some(("proof", words)) => match words.subcommand() {
            Some(("first-run", words)) => {
                proof::first_run(&root, *words.get_one("runs").expect("runs has a default"))
            }
            Some(("shares", words)) => shares(&root, words),
            Some(("points", words)) => points(&root, words),
            Some(("agents", words)) => {
                let count = |name: &str| *words.get_one(name).expect("it has a default");
                let [agents, rounds, seconds] = ["agents", "rounds", "seconds"].map(count);
                proof::agents::agents(&root, &proof::agents::Options { agents, rounds, seconds })
            }
            _ => unreachable!("clap demands the name of a proof"),
        },
        Some(("readme", _)) => proof::readme(&root),
        Some(("pictures", _)) => pictures::pictures(&root),
        Some(("dist", words)) => {
            let [image, deb] = ["image", "deb"].map(|name| words.get_flag(name));
            dist::run(&root, &dist::Options { image, deb })
        }
        Some(("kubernetes", words)) => {
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
    let seeds = |name, default, help| {
        number(name, default, help).value_parser(value_parser!(u64).range(1..=1_000_000_000))
    };
    Command::new("xtask")
        .bin_name("cargo xtask")
        .about("The tasks of this workspace")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("test").about("Install what the tests need, then run all tests"))
        .subcommand(Command::new("tidy").about("Check the house rules of STYLE.md"))
        .subcommand(bench_command())
        .subcommand(
            Command::new("swarm")
                .about("Simulate random scenarios, one per seed, and check their invariants")
                .arg(seeds("seeds", "10000", "Number of seeds"))
                .arg(seeds("from", "1", "First seed"))
                .arg(
                    seeds("seed", "1", "Run only this seed, and describe it")
                        .conflicts_with_all(["seeds", "from"]),
                ),
        )
        .subcommand(Command::new("docs").about("Write the generated documents again"))
        .subcommand(Command::new("messages").about(
            "Write docs/messages.md again, and nothing \
                                                    else",
        ))
        .subcommand(
            Command::new("proof")
                .about("Measure on a quiet machine what tests cannot measure")
                .subcommand_required(true)
                .subcommand(
                    Command::new("first-run")
                        .about("Run memtide with defaults; its own delay as a share of p50 and p99")
                        .arg(number("runs", "20", "Number of runs")),
                )
                .subcommand(
                    Command::new("shares")
                        .about("Simulate runs of many shares, with wrong clocks and lost shares")
                        .arg(number("shares", "1000", "Shares of each run"))
                        .arg(number("lanes", "10", "Lanes of each share"))
                        .arg(seeds("seeds", "20", "Number of runs"))
                        .arg(seeds("from", "1", "Seed of the first run")),
                )
                .subcommand(
                    Command::new("points")
                        .about("Write the points of many operations to a real InfluxDB")
                        .arg(seeds("ops", "1000000", "Operations of each run")),
                )
                .subcommand(
                    Command::new("agents")
                        .about("Run many agents on this machine, and one beside a plain run")
                        .arg(number("agents", "200", "Agents of the large fleet"))
                        .arg(number("rounds", "11", "Rounds of one agent and a plain run"))
                        .arg(number("seconds", "3", "How long each load lasts")),
                ),
        )
        .subcommand(Command::new("readme").about("Put the report of a first run into README.md"))
        .subcommand(
            Command::new("pictures")
                .about("Check the HTML page in a browser, and put screenshots into docs/images"),
        )
        .subcommand(dist_command())
        .subcommand(kubernetes_command())
}

fn dist_command() -> Command {
    Command::new("dist")
        .about("Build a static program and its packages in target/dist, and try them")
        .arg(switch("image", "Also make a container image"))
        .arg(switch("deb", "Also make a Debian package"))
}

fn kubernetes_command() -> Command {
    let file = |name: &'static str, help: &'static str| {
        let file = Arg::new(name).long(name).value_name("FILE");
        file.value_parser(value_parser!(PathBuf)).help(help)
    };
    Command::new("kubernetes")
        .about("Try deploy/kubernetes on a cluster of one node; needs root, and Go to build it")
        .arg(file("cluster", "Use this binary of all cluster programs instead of building one"))
        .arg(file("program", "Use this static memtide instead of building one with `dist --image`"))
        .arg(switch("inside", "Internal: the part that runs in its own namespaces").hide(true))
}

fn bench_command() -> Command {
    Command::new("bench")
        .about("Compare the CPU cost of memtide with that of a bare client")
        .arg(number("rounds", "11", "Rounds; each gives one ratio per client"))
        .arg(number("seconds", "3", "How long each client runs in a round"))
        .arg(
            Arg::new("shape")
                .long("shape")
                .value_name("WORD")
                .default_value("")
                .help("Only the loads whose name contains WORD"),
        )
        .arg(switch("no-peers", "Leave out other load generators that are found on PATH"))
        .arg(
            Arg::new("json")
                .long("json")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Also write every figure to FILE"),
        )
        .arg(switch("sinks", "Instead: measure sinks alone, and all outputs beside a load"))
        .arg(switch("instructions", "Instead: count instructions; fails if they grew"))
        .arg(
            switch("record", "Record the counted instructions as the new limits")
                .requires("instructions"),
        )
        .arg(
            Arg::new("simulated")
                .long("simulated")
                .value_name("SECONDS")
                .value_parser(value_parser!(u32).range(1..=604_800))
                .help("Instead: measure how long N seconds of load take to simulate"),
        )
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn number(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("N")
        .default_value(default)
        .value_parser(value_parser!(u32).range(1..=10_000))
        .help(help)
}

/// Runs all tests; the tidy checks are among them.
fn test(root: &Path) -> Result<(), String> {
    setup::install_missing(setup::TESTS)?;
    setup::install_cluster();
    setup::install_readers(root);
    // Most of the time tests wait for a load to end, so more than the CPUs can run at once.
    // Tests that measure pauses run alone.
    let threads = 2 * available_parallelism().map_or(1, usize::from);
    let threads = env::var("RUST_TEST_THREADS").unwrap_or_else(|_| threads.to_string());
    let tests = || {
        let mut command = cargo(root);
        command.env("RUST_TEST_THREADS", &threads);
        command
    };
    run(tests().args(["test", "--workspace"]))?;
    // The default takes io_uring where the kernel offers it; what differs by the driver must hold
    // over epoll too. Modules that choose a driver themselves, and all that is around the engine,
    // hold over either. The program itself is started: `cargo test --package` would compile it
    // again.
    let mut native = process::Command::new(integration_tests(root)?);
    native.current_dir(root.join("crates/memtide")).env("RUST_TEST_THREADS", &threads);
    run(native.env("IT_IO", "epoll").args(BY_DRIVER))
}

/// Modules of the integration tests that run once more over epoll.
const BY_DRIVER: [&str; 11] = [
    "backlogs::",
    "binary::",
    "endings::",
    "errors::",
    "instants::",
    "operations::",
    "pacing::",
    "pauses::",
    "rogues::",
    "signals::",
    "verification::",
];

/// The program of the integration tests, as `cargo test --workspace` has built it.
///
/// Cause: Cargo names no such program: the tests were moved.
///
/// To do: Name their package and target in `xtask/src/main.rs`.
fn integration_tests(root: &Path) -> Result<PathBuf, String> {
    let words = ["test", "--workspace", "--no-run", "--message-format=json", "--quiet"];
    let messages = told(root, &words)?;
    let mut artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let manifest = root.join("crates/memtide/Cargo.toml");
    let is_it = |artifact: &Value| {
        artifact["target"]["name"] == "it"
            && artifact["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest)
    };
    let it: Option<Value> = artifacts.find(is_it);
    let program = it.as_ref().and_then(|artifact| artifact["executable"].as_str());
    program.map(PathBuf::from).ok_or_else(|| "cargo builds no integration tests".to_owned())
}

/// Runs the simulated swarm, optimised and with every assertion.
fn swarm(root: &Path, words: &ArgMatches) -> Result<(), String> {
    let number = |name: &str| *words.get_one::<u64>(name).expect("it has a default");
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
    let seed = |name: &str| *words.get_one::<u64>(name).expect("it has a default");
    let count = |name: &str| *words.get_one::<u32>(name).expect("it has a default");
    let mut command = cargo(root);
    command
        .env("MEMTIDE_SHARES", count("shares").to_string())
        .env("MEMTIDE_LANES", count("lanes").to_string())
        .env("MEMTIDE_SHARES_FROM", seed("from").to_string())
        .env("MEMTIDE_SHARES_SEEDS", seed("seeds").to_string())
        .args(["test", "--release", "--package", "memtide-sim", "--test", "it", "--"]);
    run(command.args(["--nocapture", "what_is_left_of_many_shares_is_exact"]))
}

/// Runs the tests with a real InfluxDB with many operations.
fn points(root: &Path, words: &ArgMatches) -> Result<(), String> {
    setup::install_missing(setup::TESTS)?;
    let ops = *words.get_one::<u64>("ops").expect("it has a default");
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
    tidy::write_messages(root)?;
    let tests = ["--package", "memtide-schema", "--lib"];
    run(cargo(root).env("UPDATE_DOCS", "1").arg("test").args(tests))
}

/// The cargo that runs this program, in the folder `root`.
fn cargo(root: &Path) -> process::Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = process::Command::new(program);
    command.current_dir(root);
    command
}

/// The metadata of the workspace's own packages, without access to the network.
///
/// # Errors
/// If cargo cannot describe the workspace.
fn metadata(root: &Path) -> Result<Value, String> {
    let text = told(root, &["metadata", "--no-deps", "--format-version", "1"])?;
    serde_json::from_str(&text)
        .map_err(|error| format!("cargo's description of the workspace is no JSON: {error}"))
}

/// The output of cargo with these arguments.
///
/// # Errors
/// If it cannot be started, or fails.
fn told(root: &Path, words: &[&str]) -> Result<String, String> {
    let output =
        cargo(root).args(words).output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cargo cannot describe the workspace: {message}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints the command, runs it on this terminal, and returns an error if it fails.
fn run(command: &mut process::Command) -> Result<(), String> {
    let words = written(command);
    eprintln!("xtask: {words}");
    let status = command.status().map_err(|error| format!("cannot start `{words}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{words}` failed: {status}")) }
}

/// The command line of a command, for messages.
fn written(command: &process::Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace").to_owned()
}
