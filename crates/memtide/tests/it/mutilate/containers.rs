//! Faces as the first process of a container, which the kernel protects from signals that it does
//! not catch.

use crate::child::{Running, cleared, fresh_folder, shared};
use crate::peer::{Peer, free_port};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit until a process has begun.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program with the words of `line` as the first process of a process namespace; none, and a
/// line on stderr, if none can be made.
fn first_process(line: &str) -> Option<Running> {
    let mut tried = Command::new("unshare");
    tried.args(["--pid", "--fork", "true"]).stderr(Stdio::null());
    if !tried.status().is_ok_and(|status| status.success()) {
        drop(writeln!(std::io::stderr(), "skipped: unshare --pid makes no process namespace here"));
        return None;
    }
    let mut command = cleared(Command::new("unshare"));
    command.args(["--pid", "--fork", "--kill-child", env!("CARGO_BIN_EXE_memtide")]);
    command.env("XDG_STATE_HOME", fresh_folder("first"));
    Some(Running::of(command.args(line.split(' '))))
}

/// The child of the process `parent`.
pub(super) fn child_of(parent: u32) -> Pid {
    let until = Instant::now() + PATIENCE;
    loop {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let first = children.ok().and_then(|all| all.split_whitespace().next()?.parse().ok());
        match first.and_then(Pid::from_raw) {
            Some(child) => return child,
            None => assert!(Instant::now() < until, "{parent} starts no child"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_first_process_of_a_container_ends_by_signals() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let before = peer.figure("cmd_get");
        let line = format!("mutilate -s {} -t 50 -q 2000 --noload", peer.name);
        let Some(run) = first_process(&line) else { return };
        peer.await_figure("cmd_get", before + 500);
        kill_process(child_of(run.id()), signal).unwrap();
        let ran = run.finish().exits(code);
        assert!(ran.out.contains("Total QPS"), "{ran}");
        let port = free_port();
        let Some(agent) = first_process(&format!("mcperf -A -p {port}")) else { return };
        super::fleet::await_listening(port);
        kill_process(child_of(agent.id()), signal).unwrap();
        let said = agent.finish().exits(code);
        assert_eq!(said.out, "", "{said}");
    }
}
