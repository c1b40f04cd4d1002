//! Conversations with a launcher: one that answers, one that refuses, and one that is gone.

use super::*;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// A launcher of one process that answers each line with the next of `answers`; returns the
/// lines that it received.
fn launcher(answers: &'static [&str]) -> (UnixStream, thread::JoinHandle<Vec<String>>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let asked = thread::spawn(move || {
        let mut reader = BufReader::new(theirs.try_clone().unwrap());
        let mut writer = theirs;
        let mut asked = Vec::new();
        for answer in answers {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 {
                break;
            }
            asked.push(line.trim_end().to_owned());
            writeln!(writer, "{answer}").unwrap();
        }
        asked
    });
    (ours, asked)
}

#[test]
fn words_are_kept_and_read_over_a_barrier() {
    let (stream, asked) = launcher(&[
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
        "cmd=my_kvsname kvsname=kvs_7",
        "cmd=put_result rc=0 msg=success",
        "cmd=barrier_out rc=0",
        "cmd=get_result rc=0 msg=success value=42",
        "cmd=finalize_ack rc=0",
    ]);
    let mut pmi = Pmi::join(stream).unwrap();
    pmi.put("ready-0", "42").unwrap();
    pmi.barrier().unwrap();
    assert_eq!(pmi.get("ready-0").unwrap(), "42");
    pmi.leave().unwrap();
    let said = [
        "cmd=put kvsname=kvs_7 key=ready-0 value=42",
        "cmd=barrier_in",
        "cmd=get kvsname=kvs_7 key=ready-0",
    ];
    assert_eq!(asked.join().unwrap()[2..5], said);
}

#[test]
fn another_protocol_is_quoted() {
    let (stream, _asked) = launcher(&["HTTP/1.1 400 Bad Request"]);
    let error = Pmi::join(stream).unwrap_err();
    assert_eq!(error, BarrierError::Protocol { said: "HTTP/1.1 400 Bad Request".to_owned() });
}

#[test]
fn a_refusal_is_no_answer() {
    let (stream, _asked) = launcher(&["cmd=response_to_init rc=-1"]);
    assert!(matches!(Pmi::join(stream), Err(BarrierError::Protocol { .. })));
}

#[test]
fn a_launcher_that_is_gone_or_silent_is_told_apart() {
    let (stream, _asked) = launcher(&[]);
    assert!(matches!(Pmi::join(stream), Err(BarrierError::Launcher { .. })));
    let (ours, _theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    assert_eq!(Pmi::join(ours).unwrap_err(), BarrierError::Late);
}

#[test]
fn a_number_that_is_no_socket_is_no_launcher() {
    for fd in [-1, 1_000_000] {
        assert!(matches!(inherited(fd), Err(BarrierError::Launcher { .. })), "{fd}");
    }
    let file = File::open("/dev/null").unwrap();
    let error = inherited(std::os::fd::AsRawFd::as_raw_fd(&file)).unwrap_err();
    assert!(error.to_string().contains("is not a socket"), "{error}");
}
