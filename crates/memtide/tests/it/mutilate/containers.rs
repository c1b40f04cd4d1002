//! Faces as the first process of a container, which the kernel protects from signals that it does
//! not catch.

use crate::child::{Running, cleared, fresh_folder, shared};
use crate::peer::{Peer, free_port};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Time limit until a process has begun.
const PATIENCE: Duration = Duration::from_secs(120);

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

/// A command line of each family of faces, a part of what it prints when a signal ends it, and its
/// exit codes for SIGTERM and SIGINT: memaslap catches the latter, and ends with 1.
const RUNS: [(&str, &str, [i32; 2]); 4] = [
    ("mutilate -s @ -t 50 -q 2000 --noload", "Total QPS", [143, 130]),
    ("mcperf-dynamic -s @ -t 50 -q 2000 --noload", "Timestamp end", [143, 130]),
    (
        "twemperf -s @S -p @P --method=get --num-conns=1000000 --num-calls=1 --conn-rate=500",
        "Total: connections",
        [143, 130],
    ),
    ("memaslap -s @ -t 50s -T 1 -c 2", "TPS", [143, 1]),
];

#[test]
fn the_first_process_of_a_container_ends_by_signals() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for (number, signal) in [Signal::TERM, Signal::INT].into_iter().enumerate() {
        for (line, printed, codes) in RUNS {
            let before = peer.figure("cmd_get");
            let address = peer.address();
            let line = line.replace("@S", &address.ip().to_string());
            let line = line.replace("@P", &address.port().to_string()).replace('@', &peer.name);
            let Some(run) = first_process(&line) else { return };
            peer.await_figure("cmd_get", before + 300);
            kill_process(child_of(run.id()), signal).unwrap();
            let ran = run.finish().exits(codes[number]);
            assert!(format!("{}{}", ran.out, ran.err).contains(printed), "{ran}");
        }
        let code = [143, 130][number];
        let port = free_port();
        let Some(agent) = first_process(&format!("mcperf -A -p {port}")) else { return };
        super::fleet::await_listening(port);
        kill_process(child_of(agent.id()), signal).unwrap();
        let said = agent.finish().exits(code);
        assert_eq!(said.out, "", "{said}");
    }
}
