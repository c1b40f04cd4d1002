//! A running program, and the kernel's figures about it.

use super::figures::Run;
use super::server::{Counters, on_cpu};
use crate::commands::Kept;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The work of a program in a window of time.
#[derive(Clone, Copy, Default)]
pub(super) struct Did {
    pub(super) ran: Duration,
    pub(super) cpu: Duration,
    /// Operations that the server counted.
    pub(super) ops: u64,
}

impl Did {
    /// The rate and the CPU time of this work, in a run with other figures; `calls` operations
    /// count once.
    pub(super) fn within(self, run: Run, calls: u32) -> Run {
        let counted = self.ops as f64 / f64::from(calls.max(1));
        Run {
            ops_per_s: counted / self.ran.as_secs_f64(),
            cpu_s_per_mops: self.cpu.as_secs_f64() / counted * 1e6,
            ..run
        }
    }
}

/// A program on one CPU. Dropping this value ends it.
pub(super) struct Process {
    child: Kept,
    /// Its command line, for messages.
    line: String,
}

impl Process {
    pub(super) fn spawn(
        program: &Path,
        words: &[String],
        cpu: u32,
        (out, err): (Stdio, Stdio),
    ) -> Result<Self, String> {
        let line = format!("{} {}", program.display(), words.join(" "));
        let mut command = on_cpu(cpu);
        command.arg(program).args(words).stdin(Stdio::null()).stdout(out).stderr(err);
        let child = Kept::spawn(&mut command)?;
        Ok(Self { child, line })
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child.0), signal)
            .map_err(|error| format!("cannot send a signal to `{}`: {error}", self.line))
    }

    /// Returns an error if the process has ended.
    pub(super) fn is_there(&mut self) -> Result<(), String> {
        match self.child.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("`{}` ended before its time: {status}", self.line)),
            Err(error) => Err(format!("cannot look after `{}`: {error}", self.line)),
        }
    }

    /// Waits until the process has ended by itself.
    ///
    /// # Errors
    /// If it failed.
    pub(super) fn finish(&mut self, patience: Duration) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < patience {
            match self.child.0.try_wait() {
                Ok(None) => std::thread::sleep(LOOK_EVERY),
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("`{}` failed: {status}", self.line)),
                Err(error) => return Err(format!("cannot look after `{}`: {error}", self.line)),
            }
        }
        Err(format!("`{}` did not end within {} s", self.line, patience.as_secs()))
    }

    /// Its work while `wait` runs, which returns the time that counts.
    pub(super) fn works(
        &mut self,
        counters: &mut Counters,
        wait: impl FnOnce(&mut Self) -> Result<Duration, String>,
    ) -> Result<Did, String> {
        let (cpu, ops) = (self.cpu()?, counters.commands()?);
        let ran = wait(self)?;
        self.is_there()?;
        Ok(Did { ran, cpu: self.cpu()?.saturating_sub(cpu), ops: counters.commands()? - ops })
    }

    /// CPU time of all its threads up to now.
    fn cpu(&self) -> Result<Duration, String> {
        cpu_of(&self.proc_folder().join("task"))
            .map_err(|error| format!("no CPU time is known of `{}`: {error}", self.line))
    }

    /// The peak of its memory, in bytes.
    pub(super) fn rss_max_bytes(&self) -> Result<f64, String> {
        let status = fs::read_to_string(self.proc_folder().join("status")).unwrap_or_default();
        rss_max_of(&status).ok_or_else(|| format!("no memory is known of `{}`", self.line))
    }

    fn proc_folder(&self) -> PathBuf {
        Path::new("/proc").join(self.child.0.id().to_string())
    }
}

/// CPU time of the threads in a folder of /proc.
fn cpu_of(tasks: &Path) -> std::io::Result<Duration> {
    let mut sum = Duration::ZERO;
    for task in fs::read_dir(tasks)? {
        // A thread may end between listing the folder and reading its file.
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += on_cpu_of(&text).unwrap_or_default();
    }
    Ok(sum)
}

/// The first of the kernel's three numbers: nanoseconds on a CPU.
fn on_cpu_of(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn rss_max_of(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

#[cfg(test)]
mod tests;
