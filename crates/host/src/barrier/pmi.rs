//! A client of PMI-1, the protocol in which processes of parallel programs exchange words and wait
//! for each other through their launcher: lines of `key=value` over one inherited descriptor.
//!
//! Source: the "simple" wire protocol of MPICH's process management interface, version 1.1, as
//! `mpiexec.hydra` and `srun --mpi=pmi2` serve it.

use super::{BarrierError, BarrierStart, Limit, Place};
use memtide_base::Span;
use rustix::fs::{FileType, fstat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;

/// The longest line that a launcher may send; the protocol allows 1 024 bytes.
const LINE_BYTES_MAX: usize = 4096;
/// The key of the instant at which all begin.
const START: &str = "memtide-start";
/// The time from publishing the start to the start. All processes read it as soon as the last one
/// has come, and look for it every few milliseconds; one second allows for busy machines and for
/// clocks that differ by less than that.
const LEAD: Span = Span::from_s(1);

/// The descriptor that a launcher left to this process, as a stream of its own.
pub(super) fn inherited(fd: i32) -> Result<File, BarrierError> {
    let lost = |why: String| BarrierError::Launcher { why };
    if fd < 0 {
        return Err(lost(format!("{fd} is not a descriptor")));
    }
    // SAFETY: the number is only queried and duplicated while this function runs. If it is closed
    // or names something else, the system reports that.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let kind = fstat(borrowed).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind.map_err(|error| lost(format!("descriptor {fd}: {error}")))? != FileType::Socket {
        return Err(lost(format!("descriptor {fd} is not a socket")));
    }
    let owned = borrowed.try_clone_to_owned();
    owned.map(File::from).map_err(|error| lost(format!("descriptor {fd}: {error}")))
}

/// A process's place at a barrier of its launcher.
pub(super) struct Seat<S> {
    pub(super) pmi: Pmi<S>,
    /// True if this process chooses the instant.
    pub(super) is_first: bool,
}

impl<S: Read + Write> Place for Seat<S> {
    fn meet(mut self, until: &Limit) -> Result<BarrierStart, BarrierError> {
        self.pmi.barrier()?;
        if until.is_abandoned() {
            return Err(BarrierError::Late);
        }
        if self.is_first {
            self.pmi.put(START, &BarrierStart::in_words(LEAD))?;
        }
        self.pmi.barrier()?;
        let words = self.pmi.get(START)?;
        // All is agreed, so a failed goodbye does not matter.
        drop(self.pmi.leave());
        BarrierStart::of_words(&words)
    }

    fn leave(self) {
        drop(self.pmi.leave());
    }
}

/// A process's connection to its launcher.
#[derive(Debug)]
pub(super) struct Pmi<S> {
    stream: S,
    /// The name of the key space of this job.
    space: String,
}

impl<S: Read + Write> Pmi<S> {
    /// Greets the launcher. Reads block as long as `stream` allows.
    ///
    /// # Errors
    /// If the launcher is gone, does not answer in time, or uses another protocol.
    pub(super) fn join(stream: S) -> Result<Self, BarrierError> {
        let mut pmi = Self { stream, space: String::new() };
        pmi.call("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let mut said = pmi.call("cmd=get_my_kvsname", "my_kvsname")?;
        pmi.space = said.remove("kvsname").ok_or_else(|| BarrierError::spoke("no kvsname"))?;
        Ok(pmi)
    }

    /// Keeps `value` under `key` for all processes of the job, after the next [`Self::barrier`].
    /// Neither may hold blanks, line ends or `=`.
    fn put(&mut self, key: &str, value: &str) -> Result<(), BarrierError> {
        let line = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.call(&line, "put_result").map(drop)
    }

    /// The value that a process has put under `key`.
    fn get(&mut self, key: &str) -> Result<String, BarrierError> {
        let line = format!("cmd=get kvsname={} key={key}", self.space);
        let mut said = self.call(&line, "get_result")?;
        said.remove("value").ok_or_else(|| BarrierError::spoke(&format!("no value for {key}")))
    }

    /// Waits until every process of the job has called this.
    fn barrier(&mut self) -> Result<(), BarrierError> {
        self.call("cmd=barrier_in", "barrier_out").map(drop)
    }

    /// Says goodbye; some launchers treat a process that leaves without it as failed.
    fn leave(mut self) -> Result<(), BarrierError> {
        self.call("cmd=finalize", "finalize_ack").map(drop)
    }

    /// Sends a command and reads its answer, which must be `wanted` and report success.
    fn call(&mut self, line: &str, wanted: &str) -> Result<BTreeMap<String, String>, BarrierError> {
        self.stream.write_all(format!("{line}\n").as_bytes()).map_err(lost)?;
        let answer = self.line()?;
        let words = words(&answer);
        let is_wanted = words.get("cmd").is_some_and(|command| command == wanted);
        let is_well = words.get("rc").is_none_or(|code| code == "0");
        if is_wanted && is_well { Ok(words) } else { Err(BarrierError::spoke(&answer)) }
    }

    fn line(&mut self) -> Result<String, BarrierError> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while line.len() < LINE_BYTES_MAX {
            match self.stream.read(&mut byte) {
                Ok(0) => return Err(lost(ErrorKind::UnexpectedEof.into())),
                Ok(_) if byte[0] == b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
                Ok(_) => line.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
        }
        Err(BarrierError::spoke(&String::from_utf8_lossy(&line)))
    }
}

/// The values of a line by their keys.
fn words(line: &str) -> BTreeMap<String, String> {
    let words = line.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    words.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn lost(error: io::Error) -> BarrierError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => BarrierError::Late,
        ErrorKind::UnexpectedEof => {
            BarrierError::Launcher { why: "it closed the connection".to_owned() }
        }
        _ => BarrierError::Launcher { why: error.to_string() },
    }
}

#[cfg(test)]
mod tests;
