//! Drivers that do not read stderr.

use super::super::mutilate::cells;
use crate::prelude::*;

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
