//! Ctrl-C and SIGTERM: the first asks the run to end, the second ends the program at once. A file
//! that grows beyond the limit of the shell is an error of its write, not the end of the program.

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user has asked to stop. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that SIGINT and SIGTERM raise. A second signal exits with `exit_code`.
    pub fn on_signals(exit_code: i32) -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the exit is looked at first and sees the flag of the signal
            // before.
            flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Lets a write beyond the largest allowed file (`ulimit -f`) fail like one to a full disk. By
/// default its signal ends the process, and a run's result with it.
///
/// # Errors
/// When the system does not let the signal be caught.
pub fn survive_file_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
