//! Drivers that do not read stderr, and drivers that ignore signals.

use super::super::mutilate::cells;
use crate::child::{Running, program, shared};
use crate::peer::Peer;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Number of rows read from a scan before it is killed.
const ROWS: usize = 4;

#[test]
fn an_endless_scan_goes_on_with_stderr_unread() {
    let _turn = shared();
    for name in ["mutilate", "mcperf", "mcperf-dynamic"] {
        let peer = Peer::memcached("");
        let line = format!("{name} -s {} -t 1 --scan 500:500:0 -T 2 -Q 5", peer.name);
        let mut command = program();
        command.args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut err = child.stderr.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        for _ in 0..=ROWS {
            out.read_line(&mut seen).unwrap();
        }
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM)
            .unwrap();
        out.read_to_string(&mut seen).unwrap();
        let status = child.wait().unwrap();
        let mut said = String::new();
        err.read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "{name}");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15), "{name}");
        let rows = cells(&seen);
        assert!(rows.len() > ROWS && seen.ends_with('\n'), "{seen}");
        assert!(rows[1..].iter().all(|row| row[0] == "read" && row.len() == rows[1].len()));
    }
}

#[test]
fn what_is_ignored_at_the_start_stays_ignored() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let path = program().get_program().to_string_lossy().into_owned();
    let line = format!("'{path}' mutilate -s {} -t 3 -q 500 --noload", peer.name);
    let mut shell = Command::new("sh");
    let command = shell.arg("-c").arg(format!("trap '' HUP INT; exec {line}"));
    let running = Running::of(command);
    peer.await_figure("cmd_get", 100);
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    let run = running.finish().exits(0);
    assert!(run.out.contains("/ 3.0s)"), "it ran to its end: {run}");
}
