//! The whole suite of tests, as `cargo xtask test` runs it.

use crate::commands::{Kept, cargo, told, written};
use crate::setup;
use serde_json::Value;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

/// Runs all tests; the tidy checks are among them.
///
/// # Errors
/// If one fails, also when it is repeated alone.
pub(crate) fn test(root: &Path) -> Result<(), String> {
    setup::install_missing(setup::TESTS)?;
    setup::install_cluster();
    setup::install_readers(root);
    setup::install_page_checker(root);
    // Most of the time tests wait for a load to end, so more than the CPUs can run at once. Tests
    // that measure pauses wait, each with its thread, until the others have ended.
    let threads = 8 * available_parallelism().map_or(1, usize::from);
    let threads = env::var("RUST_TEST_THREADS").unwrap_or_else(|_| threads.to_string());
    let mut all = cargo(root);
    all.env("RUST_TEST_THREADS", &threads).args(["test", "--no-fail-fast"]).args(WHOLE);
    let failing = failed(&mut all)?;
    let again = || {
        let mut again = cargo(root);
        again.args(["test", "--quiet"]).args(WHOLE).arg("--");
        again
    };
    repeat(&failing, again)?;
    let it = integration_tests(root)?;
    // The default takes io_uring where the kernel offers it; what differs by the driver must hold
    // over epoll too. Modules that choose a driver themselves, and all that is around the engine,
    // hold over either. The program itself is started: `cargo test --package` would compile it
    // again.
    let over_epoll = || {
        let mut command = alone(root, &it);
        command.env("IT_IO", "epoll");
        command
    };
    let failing = failed(over_epoll().env("RUST_TEST_THREADS", &threads).args(BY_DRIVER))?;
    repeat(&failing, over_epoll)
}

/// Everything that is released is tested: also the features that a first build leaves out. What
/// memtide says without them is tested by tables, and clippy checks that build.
const WHOLE: [&str; 3] = ["--workspace", "--features", "memtide/ui,memtide/web"];

/// Largest number of tests that are repeated alone: more than these fail for a common cause.
const REPEATED_MAX: usize = 4;

/// Names of the tests that fail. Each line of the tests' output is passed on.
fn failed(command: &mut Command) -> Result<Vec<String>, String> {
    let words = written(command);
    eprintln!("xtask: {words}");
    let mut child = Kept::spawn(command.stdout(Stdio::piped()))?;
    let out = child.0.stdout.take().expect("it is piped");
    let mut names = Vec::new();
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        println!("{line}");
        let test = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
        names.extend(test.map(str::to_owned));
    }
    let status = child.0.wait().map_err(|error| format!("`{words}`: {error}"))?;
    match status.success() || !names.is_empty() {
        true => Ok(names),
        false => Err(format!("`{words}` failed: {status}")),
    }
}

/// Repeats tests that failed, each alone. Many run real programs in real time beside each other,
/// so a busy machine can fail one of them; what fails alone as well is a fault.
fn repeat(failed: &[String], tests: impl Fn() -> Command) -> Result<(), String> {
    if failed.len() > REPEATED_MAX {
        return Err(format!("{} tests failed: {}", failed.len(), failed.join(", ")));
    }
    for name in failed {
        let told = told(tests().args([name, "--exact", "--nocapture"]))?;
        if !told.contains("1 passed") {
            return Err(format!("the test {name} failed, and no test of this name ran again"));
        }
        println!("xtask: {name} FAILED beside other tests and passed alone");
    }
    Ok(())
}

/// The program of the integration tests, in the folder in which Cargo starts it.
fn alone(root: &Path, it: &Path) -> Command {
    let mut command = Command::new(it);
    command.current_dir(root.join("crates/memtide"));
    command
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

/// The program of the integration tests, as the command above has built it.
///
/// Cause: Cargo names no such program: the tests were moved.
///
/// To do: Name their package and target in `xtask/src/suite.rs`.
fn integration_tests(root: &Path) -> Result<PathBuf, String> {
    let words = ["test", "--no-run", "--message-format=json", "--quiet"];
    let messages = told(cargo(root).args(words).args(WHOLE))?;
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
