//! The whole suite of tests, as `cargo xtask test` runs it.

use crate::commands::{Kept, cargo, told, written};
use crate::setup;
use serde_json::Value;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

/// Runs all tests; the tidy checks are among them.
///
/// # Errors
/// If one fails, also when it is repeated alone.
pub(crate) fn test(root: &Path) -> Result<(), String> {
    setup::install_missing(setup::TESTS)?;
    setup::install_cluster();
    setup::install_readers(root);
    setup::install_page_checker(root);
    let cpus = available_parallelism().map_or(1, usize::from);
    // Most of the time tests wait, so more than the CPUs can run at once.
    let threads = |programs: usize| {
        let threads = (3 * cpus / programs).to_string();
        env::var("RUST_TEST_THREADS").unwrap_or(threads)
    };
    let (it, others): (Vec<_>, Vec<_>) = built(root)?.into_iter().partition(|it| it.is_it(root));
    let [it] = &it[..] else { return Err("cargo builds no integration tests".to_owned()) };
    let integration = |words: &[&str]| {
        let mut command = it.command();
        command.args(words).env("RUST_TEST_THREADS", threads(1));
        failed(&mut command, Shown::AtOnce)
    };
    // The integration tests leave half of the CPUs' time to the other programs, which compute.
    let (beside, failing) = thread::scope(|scope| {
        let others = scope.spawn(|| side_by_side(&others, cpus, &threads(cpus)));
        let beside = integration(&["--skip", WITHOUT_OTHERS]);
        (beside, others.join().expect("no lane panics"))
    });
    let failing = [beside?, failing?, integration(&[WITHOUT_OTHERS])?].concat();
    repeat(&failing, || {
        let mut again = cargo(root);
        again.args(["test", "--quiet"]).args(WHOLE).arg("--");
        again
    })?;
    // The default takes io_uring where the kernel offers it; what differs by the driver must hold
    // over epoll too. Modules that choose a driver themselves, and all that is around the engine,
    // hold over either. A filter also finds the modules of faces that are named alike, which are
    // around the engine.
    let over_epoll = || {
        let mut command = it.command();
        command.env("IT_IO", "epoll").args(["--skip", "mutilate::", "--skip", "memaslap::"]);
        command
    };
    let mut once_more = over_epoll();
    once_more.env("RUST_TEST_THREADS", threads(1)).args(BY_DRIVER);
    repeat(&failed(&mut once_more, Shown::AtOnce)?, over_epoll)
}

/// Everything that is released is tested, with all features. What memtide says without them is
/// tested by tables. No docstring has an example, for which cargo would read libraries once more.
const WHOLE: [&str; 2] = ["--workspace", "--all-targets"];

/// The module of the integration tests of instants and lengths of time, which have nothing beside
/// them.
const WITHOUT_OTHERS: &str = "without_others::";

/// Largest number of tests that are repeated alone: more than these fail for a common cause.
const REPEATED_MAX: usize = 4;

/// A program of tests.
struct Program {
    path: PathBuf,
    /// The folder of its package, in which Cargo starts it.
    folder: PathBuf,
    target: String,
}

impl Program {
    fn command(&self) -> Command {
        self.within(Command::new(&self.path))
    }

    /// A command that takes only the time that others leave.
    fn yielding(&self) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(&self.path);
        self.within(command)
    }

    fn within(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder);
        command
    }

    /// True if it has the integration tests of the program.
    fn is_it(&self, root: &Path) -> bool {
        self.target == "it" && self.folder == root.join("crates/memtide")
    }
}

/// Builds all programs of tests.
fn built(root: &Path) -> Result<Vec<Program>, String> {
    let words = ["test", "--no-run", "--message-format=json-render-diagnostics"];
    let mut build = cargo(root);
    build.args(words).args(WHOLE);
    let mut programs = Vec::new();
    let status = lines(&mut build, |line| {
        let artifact: Value = serde_json::from_str(&line).unwrap_or_default();
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let manifest = word(&artifact["manifest_path"]).map(PathBuf::from);
        if artifact["profile"]["test"] == true
            && let Some(path) = word(&artifact["executable"])
            && let Some(folder) = manifest.as_deref().and_then(Path::parent)
        {
            let target = word(&artifact["target"]["name"]).unwrap_or_default();
            programs.push(Program { path: path.into(), folder: folder.into(), target });
        }
    })?;
    if status { Ok(programs) } else { Err(format!("`{}` failed", written(&build))) }
}

/// Runs programs of tests, `lanes` at a time, in the time that others leave; returns the names of
/// the tests that fail.
fn side_by_side(programs: &[Program], lanes: usize, threads: &str) -> Result<Vec<String>, String> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let lane = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = program.yielding();
            let found = failed(command.env("RUST_TEST_THREADS", threads), Shown::AtTheEnd);
            all.lock().expect("no lane panics").push(found);
        }
    };
    thread::scope(|scope| (0..lanes).for_each(|_| drop(scope.spawn(lane))));
    let all: Result<Vec<_>, _> = all.into_inner().expect("no lane panics").into_iter().collect();
    all.map(|names| names.concat())
}

/// When the output of a program of tests is passed on.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// Line by line.
    AtOnce,
    /// As a whole, where others run beside it.
    AtTheEnd,
}

/// Names of the tests that fail. All that the tests print is passed on.
fn failed(command: &mut Command, shown: Shown) -> Result<Vec<String>, String> {
    let (mut names, mut kept) = (Vec::new(), String::new());
    let succeeds = lines(command, |line| {
        let test = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
        names.extend(test.map(str::to_owned));
        match shown {
            Shown::AtOnce => println!("{line}"),
            Shown::AtTheEnd => kept.extend([&line, "\n"]),
        }
    })?;
    print!("{kept}");
    match succeeds || !names.is_empty() {
        true => Ok(names),
        false => Err(format!("`{}` failed", written(command))),
    }
}

/// Passes each line that a command prints to `take`; true if it succeeds.
fn lines(command: &mut Command, mut take: impl FnMut(String)) -> Result<bool, String> {
    let words = written(command);
    eprintln!("xtask: {words}");
    let mut child = Kept::spawn(command.stdout(Stdio::piped()))?;
    let out = child.0.stdout.take().expect("it is piped");
    BufReader::new(out).lines().map_while(Result::ok).for_each(&mut take);
    let status = child.0.wait().map_err(|error| format!("`{words}`: {error}"))?;
    Ok(status.success())
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

/// Modules of the integration tests that run once more over epoll.
const BY_DRIVER: [&str; 12] = [
    "backlogs::",
    "binary::",
    "endings::",
    "errors::",
    "operations::",
    "pacing::",
    "rogues::",
    "signals::",
    "verification::",
    "without_others::sends_",
    "without_others::responses_",
    "without_others::a_stopped_server_",
];
