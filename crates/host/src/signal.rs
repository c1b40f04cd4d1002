//! Signals that ask a run to end: the first asks, the second ends the program at once. A program
//! that stands in for another one can die of the signal in the end, as that one would have. A file
//! that grows beyond the limit of the shell is an error of its write, not the end of the program.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, io};

/// Whether the user has asked to stop. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    raised: Arc<AtomicBool>,
    /// The number of the signal that came last; 0 for none.
    signal: Arc<AtomicUsize>,
}

/// A signal that was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    HangUp,
}

impl StopFlag {
    /// A flag that SIGINT and SIGTERM raise. A second signal exits with `exit_code`.
    pub fn on_signals(exit_code: i32) -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the exit is looked at first and sees the flag of the signal
            // before.
            flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&stop.raised))?;
            flag::register(signal, Arc::clone(&stop.raised))?;
        }
        Ok(stop)
    }

    /// A flag that SIGINT, SIGTERM and SIGHUP raise, but for those that the program was started
    /// to ignore, as under nohup. A second signal kills the program as if it were not caught;
    /// [`die`](Self::die) does so after the first.
    pub fn on_deadly_signals() -> io::Result<Self> {
        let stop = Self::default();
        let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            flag::register_conditional_default(signal, Arc::clone(&stop.raised))?;
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
            flag::register(signal, Arc::clone(&stop.raised))?;
        }
        Ok(stop)
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// The signal that raised it, if one of [`on_deadly_signals`](Self::on_deadly_signals) did.
    pub fn caught(&self) -> Option<Caught> {
        match self.number() {
            SIGINT => Some(Caught::Interrupt),
            SIGTERM => Some(Caught::Terminate),
            SIGHUP => Some(Caught::HangUp),
            _ => None,
        }
    }

    /// Ends the program by the signal that was [`caught`](Self::caught), so that its parent sees
    /// that it was killed; returns if none was caught.
    pub fn die(&self) {
        if self.caught().is_some() {
            // Both ways out of it end the program; what is left is to go on with an exit code.
            drop(low_level::emulate_default_handler(self.number()));
        }
    }

    fn number(&self) -> i32 {
        self.signal.load(Ordering::SeqCst) as i32
    }
}

/// The signals that a process ignores, by its `/proc/…/status`: bit 0 is signal 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Lets a write beyond the largest allowed file (`ulimit -f`) fail like one to a full disk. By
/// default its signal ends the process, and a run's result with it.
///
/// # Errors
/// When the system does not let the signal be caught.
pub fn survive_file_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let status = "Name:\tmemtide\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\n";
        assert_eq!(ignored(status), 1 << 12 | 0b11);
        assert_eq!(ignored(""), 0);
    }

    #[test]
    fn without_a_signal_nothing_dies() {
        let stop = StopFlag::default();
        stop.die();
        assert_eq!((stop.is_raised(), stop.caught()), (false, None));
    }
}
