//! Ctrl-C, SIGTERM and the end of the terminal: the first asks the run to end, the second ends the
//! program at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user has asked to stop. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that SIGINT, SIGTERM and SIGHUP raise. A second signal exits with `exit_code`. One
    /// that was ignored when the program started stays ignored, as `nohup` and shells want it.
    pub fn on_signals(exit_code: i32) -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(signal)? {
                continue;
            }
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

fn is_ignored(signal: i32) -> io::Result<bool> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given, and `action` has room for the present one.
    if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled `action` in.
    Ok(unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN)
}
