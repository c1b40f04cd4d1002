//! The launcher's side of PMI-1: serves the processes of one job, each on an inherited socket.

use crate::prelude::*;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Barrier;

/// A launcher of a few processes.
pub(crate) struct Launcher {
    /// The socket that each process inherits.
    sockets: Vec<OwnedFd>,
}

impl Launcher {
    /// Serves `size` processes until all have ended.
    pub(crate) fn new(size: usize) -> Self {
        let barrier = Arc::new(Barrier::new(size));
        let words = Arc::new(Mutex::new(BTreeMap::new()));
        let sockets = (0..size).map(|_| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (barrier, words) = (Arc::clone(&barrier), Arc::clone(&words));
            thread::spawn(move || serve(ours, &barrier, &words));
            theirs.into()
        });
        Self { sockets: sockets.collect() }
    }

    /// Lets `command` inherit the socket of process `rank`, and sets its variables.
    pub(crate) fn hand_to(&self, rank: u32, command: &mut Command) {
        let fd = self.sockets[rank as usize].as_raw_fd();
        let size = self.sockets.len().to_string();
        command.env("PMI_FD", fd.to_string()).env("PMI_RANK", rank.to_string());
        command.env("PMI_SIZE", size);
        // SAFETY: fcntl may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::fcntl(fd, libc::F_SETFD, 0);
                Ok(())
            });
        }
    }
}

fn serve(stream: UnixStream, barrier: &Barrier, words: &Mutex<BTreeMap<String, String>>) {
    let mut out = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let part = |name: &str| {
            let mut parts = line.split(' ').filter_map(|part| part.split_once('='));
            parts.find(|(key, _)| *key == name).map(|(_, word)| word.to_owned()).unwrap_or_default()
        };
        let answer = match &*part("cmd") {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_owned(),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_0".to_owned(),
            "put" => {
                words.lock().unwrap().insert(part("key"), part("value"));
                "cmd=put_result rc=0 msg=success".to_owned()
            }
            "get" => match words.lock().unwrap().get(&part("key")) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=key_not_found".to_owned(),
            },
            "barrier_in" => {
                barrier.wait();
                "cmd=barrier_out rc=0".to_owned()
            }
            "finalize" => "cmd=finalize_ack rc=0".to_owned(),
            other => panic!("no launcher knows {other}"),
        };
        if writeln!(out, "{answer}").is_err() {
            return;
        }
    }
}
