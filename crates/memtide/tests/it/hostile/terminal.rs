//! On a terminal memtide prints something every few seconds, however long an operation takes.

use super::{Watched, shell};
use crate::peer::rogue::{Answer, Rogue, readable};
use crate::prelude::*;
use std::os::fd::{FromRawFd, OwnedFd};

/// The promised limit is 5 s; the excess is for a busy machine. Some rows take longer.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Columns and rows of a terminal, and the row of the command at it.
type Row = ((u16, u16), super::Row);

const USUAL: (u16, u16) = (80, 24);

/// The rows of the table `terminals`: the size of a terminal, and a row as those of the others.
fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let (size, row) = line.split_once(' ').unwrap();
        let (columns, rows) = size.split_once('x').unwrap();
        ((columns.parse().unwrap(), rows.parse().unwrap()), super::row(row))
    };
    section(include_str!("rows.txt"), "terminals").map(row).collect()
}

#[test]
fn a_terminal_always_shows_what_goes_on() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let silent = Rogue::new(|_| Answer::Silence);
    let slow = Peer::embedded("--behaviour fixed:20ms");
    let rows = rows();
    let servers = [("SILENT", silent.name.as_str()), ("SLOW", slow.name.as_str())];
    // All at once: they wait more than they compute.
    let broken: Vec<String> = thread::scope(|scope| {
        let tried = |row| {
            let (servers, peer) = (&servers, &peer);
            scope.spawn(move || at_a_terminal(row, peer, servers))
        };
        let running: Vec<_> = rows.iter().map(tried).collect();
        running.into_iter().filter_map(|row| row.join().unwrap()).collect()
    });
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_server_that_is_waited_for_is_named_at_a_terminal() {
    let _turn = shared();
    let silent = Rogue::new(|_| Answer::Silence);
    let (mut person, terminal) = terminal(USUAL);
    let mut command = program();
    command.args(["run", "-s", &silent.name, "--timeout", "10m"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(terminal));
    let mut child = command.spawn().unwrap();
    let (started, mut said, mut bytes) = (Instant::now(), String::new(), [0; 4096]);
    while started.elapsed() < Duration::from_secs(60) && !said.contains(" to answer") {
        if readable(&person)
            && let Ok(count @ 1..) = person.read(&mut bytes)
        {
            said.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }
    drop(child.kill());
    child.wait().unwrap();
    assert!(said.contains(&format!("waiting for server {} to answer", silent.name)), "{said}");
}

fn at_a_terminal(row: &Row, peer: &Peer, servers: &[(&str, &str)]) -> Option<String> {
    let &(size, (before, line, code)) = row;
    let (mut keyboard, terminal) = terminal(size);
    let mut shell = shell(before, line, peer);
    let end_of = |end: &OwnedFd| Stdio::from(end.try_clone().unwrap());
    shell.envs(servers.iter().copied()).stdout(end_of(&terminal)).stderr(end_of(&terminal));
    let mut child = Watched::start(shell.stdin(end_of(&terminal)));
    // The command's handles of the terminal would keep it open.
    drop((shell, terminal));
    let (mut said, mut bytes) = (Vec::new(), [0; 4096]);
    let (mut last, mut silence) = (Instant::now(), Duration::ZERO);
    let end = loop {
        if readable(&keyboard)
            && let Ok(count @ 1..) = keyboard.read(&mut bytes)
        {
            said.extend(&bytes[..count]);
            last = Instant::now();
            continue;
        }
        silence = silence.max(last.elapsed());
        if let Some(end) = child.ended() {
            break end;
        }
    };
    let mut broken = end.broken(code);
    if silence > SILENCE_MAX {
        broken.push(format!("it said nothing for {silence:?}"));
    }
    let said = String::from_utf8_lossy(&said);
    broken.extend(said.contains("panicked").then(|| "it panicked".to_owned()));
    let shown: String = said.chars().take(1500).collect();
    (!broken.is_empty()).then(|| format!("## {}\n{line}\n{shown}", broken.join(", ")))
}

/// Both ends of a terminal of this size: the user's, and the programs'.
pub(crate) fn terminal((columns, rows): (u16, u16)) -> (File, OwnedFd) {
    let (mut person, mut programs) = (0, 0);
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let none = std::ptr::null_mut();
    // SAFETY: the places for both ends and the size live as long as the call.
    let done = unsafe { libc::openpty(&mut person, &mut programs, none, none.cast(), &size) };
    assert_eq!(done, 0, "no terminal: {}", std::io::Error::last_os_error());
    for end in [person, programs] {
        // SAFETY: the end was opened above. It must not leak into other tests' children.
        unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: both were opened above, and no other handle owns them.
    unsafe { (File::from_raw_fd(person), OwnedFd::from_raw_fd(programs)) }
}
