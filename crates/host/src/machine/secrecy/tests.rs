//! A process that hides its memory, as its kernel sees it.

use super::*;
use rustix::process::dumpable_behavior;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, abort};

const CHILD: &str = "MEMTIDE_TEST_HIDDEN_CHILD";
const NAME: &str = "machine::secrecy::tests::a_hidden_process_leaves_no_core_dump";

/// The test runs itself as a child: hidden, the child prints what the kernel reports about it
/// and dies of a signal that would dump its core.
#[test]
#[allow(clippy::print_stdout)]
fn a_hidden_process_leaves_no_core_dump() {
    if std::env::var_os(CHILD).is_some() {
        hide_process().expect("core dumps can be turned off");
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        println!("{}", fs::read_to_string("/proc/self/limits").expect("it can be read"));
        abort();
    }
    let itself = std::env::current_exe().expect("this test is a program");
    let child = Command::new(itself)
        .args(["--exact", NAME, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&child.stdout);
    let limit = said.lines().find(|line| line.starts_with("Max core file size"));
    let words: Vec<&str> = limit.expect("the limits").split_whitespace().collect();
    assert_eq!(words, ["Max", "core", "file", "size", "0", "0", "bytes"], "{said}");
    assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{said}");
    assert!(!child.status.core_dumped(), "{said}");
}
