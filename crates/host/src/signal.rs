//! Ctrl-C and SIGTERM: the first asks the run to end, the second ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
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
