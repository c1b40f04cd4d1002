//! The program that the proof on Kubernetes runs in pods beside memtide. As `pause` it holds a
//! pod's namespaces and does nothing. As `fails` it exits with 1 in the pod of one index, and is
//! memtide in the others.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::thread;

fn main() -> ExitCode {
    let mut words = env::args();
    let name = words.next().unwrap_or_default();
    while name.ends_with("pause") {
        thread::park();
    }
    let failing = words.next();
    if failing.is_some() && failing == env::var("JOB_COMPLETION_INDEX").ok() {
        eprintln!("fails: this index exits with 1 on purpose");
        return ExitCode::FAILURE;
    }
    let error = Command::new("/usr/bin/memtide").args(words).exec();
    eprintln!("fails: /usr/bin/memtide: {error}");
    ExitCode::FAILURE
}
