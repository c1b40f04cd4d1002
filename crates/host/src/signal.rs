//! Signals that stop a run: the first requests a stop, the second ends the program at once. A face
//! can end by the signal, as the program that it imitates would. Exceeding the shell's file size
//! limit is a write error and does not end the program.

pub mod shell;
pub mod terminal;

use crate::clock::monotonic_ns;
use memtide_base::Span;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{SigId, flag, low_level};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::{process, ptr, thread};

/// A flag that is raised when the user asks to stop, or after silence. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    raised: Arc<AtomicBool>,
    /// The number of the last signal; 0 for none.
    signal: Arc<AtomicUsize>,
    /// The process whose silence raises the flag.
    heard: Option<Heard>,
}

/// The last message of another process.
#[derive(Clone, Debug)]
struct Heard {
    /// The instant by the kernel's monotonic clock, in nanoseconds.
    at_ns: Arc<AtomicU64>,
    silent_max: Span,
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

/// Raises SIGINT in this process, as Ctrl-C does.
pub fn interrupt() {
    // It cannot fail for a signal that exists.
    drop(low_level::raise(SIGINT));
}

impl StopFlag {
    /// A flag that SIGINT, SIGTERM and SIGHUP raise. A second signal exits with `exit_code`; if the
    /// program `outlasts` signals, only a second SIGINT does, because schedulers and timeout(1)
    /// send theirs twice. A signal that was ignored when the program started stays ignored, as
    /// `nohup` and shells expect.
    pub fn on_signals(exit_code: i32, outlasts: bool) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        let stop = Self::default();
        let mut is_first = false;
        ONCE.call_once(|| is_first = true);
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(signal)? {
                continue;
            }
            // The order matters: the terminal is given back first; the exit is registered before
            // the flag, and sees that of the previous signal.
            if is_first {
                terminal::restore_before_the_end(signal, false)?;
            }
            if signal == SIGINT || !outlasts {
                flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&stop.raised))?;
            }
            flag::register(signal, Arc::clone(&stop.raised))?;
        }
        Ok(stop)
    }

    /// A flag that SIGINT, SIGTERM and SIGHUP raise, except signals that were ignored when the
    /// program started, as under nohup. A second signal kills the program as if it were not caught;
    /// [`die`](Self::die) does so after the first.
    pub fn on_deadly_signals() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if is_ignored(signal)? {
                continue;
            }
            let second = if is_first_process() { shut_down } else { kill };
            second(signal, Arc::clone(&stop.raised))?;
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
            flag::register(signal, Arc::clone(&stop.raised))?;
        }
        Ok(stop)
    }

    /// A flag that nothing raises, for a program that SIGINT, SIGTERM and SIGHUP kill. They give
    /// the terminal back first. They also kill the first process of a container, which the kernel
    /// protects from signals that it does not catch; its parent sees the exit code of a shell.
    pub fn on_no_signal() -> io::Result<Self> {
        let end = if is_first_process() { shut_down } else { kill };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if !is_ignored(signal)? {
                terminal::restore_before_the_end(signal, true)?;
                end(signal, Arc::new(AtomicBool::new(true)))?;
            }
        }
        Ok(Self::default())
    }

    /// A flag that also counts as raised once no message came for `silent_max`. `heard_ns` is the
    /// instant of the last message by the kernel's monotonic clock. It needs no thread that wakes
    /// up first, so it holds even after the whole process was suspended.
    pub fn on_silence(heard_ns: Arc<AtomicU64>, silent_max: Span) -> Self {
        Self { heard: Some(Heard { at_ns: heard_ns, silent_max }), ..Self::default() }
    }

    /// Raises it, as a signal would.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// True if it is raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || self.is_silent()
    }

    /// True if the silence has lasted long enough to raise the flag.
    pub(crate) fn is_silent(&self) -> bool {
        let Some(heard) = &self.heard else { return false };
        let silent_ns = monotonic_ns().saturating_sub(heard.at_ns.load(Ordering::Relaxed));
        let is_silent = silent_ns >= heard.silent_max.ns();
        if is_silent {
            self.raise();
        }
        is_silent
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
    /// that it was killed; returns if none was caught. No signal kills the first process of a
    /// container, which ends with the exit code of a shell instead.
    pub fn die(&self) {
        if self.caught().is_some() {
            if is_first_process() {
                process::exit(exit_code(self.number()));
            }
            // Both outcomes end the program; if the call fails, it continues and returns an exit
            // code.
            drop(low_level::emulate_default_handler(self.number()));
        }
    }

    fn number(&self) -> i32 {
        self.signal.load(Ordering::SeqCst) as i32
    }
}

/// Calls `act` on a thread of its own after each SIGINT, SIGTERM and SIGHUP, so that a program
/// which sleeps sees its [`StopFlag`] at once. The flag is made first.
///
/// # Errors
/// If the system does not allow a signal to be caught, or starts no thread.
pub fn on_each_signal(act: impl Fn() + Send + 'static) -> io::Result<()> {
    let (mut arrived, signals) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if !is_ignored(signal)? {
            low_level::pipe::register(signal, signals.try_clone()?)?;
        }
    }
    let wait = move || {
        let mut byte = [0];
        while arrived.read_exact(&mut byte).is_ok() {
            act();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

/// True in the first process of a container, or of the machine.
fn is_first_process() -> bool {
    process::id() == 1
}

/// The exit code that a shell reports for a program that `signal` has killed.
fn exit_code(signal: i32) -> i32 {
    128 + signal
}

/// Lets `signal` kill the program while `is_due`.
fn kill(signal: i32, is_due: Arc<AtomicBool>) -> io::Result<SigId> {
    flag::register_conditional_default(signal, is_due)
}

/// Lets `signal` end the program with a shell's exit code while `is_due`.
fn shut_down(signal: i32, is_due: Arc<AtomicBool>) -> io::Result<SigId> {
    flag::register_conditional_shutdown(signal, exit_code(signal), is_due)
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail as on a full disk. By default its
/// signal ends the process, and the run's result is lost.
///
/// # Errors
/// If the system does not allow the signal to be caught.
pub fn survive_file_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// True if the program was started with this signal ignored.
fn is_ignored(signal: i32) -> io::Result<bool> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given, and `action` has room for the present one.
    if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled `action` in.
    Ok(unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN)
}

#[cfg(test)]
mod tests;
