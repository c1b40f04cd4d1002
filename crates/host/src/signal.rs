//! Signals that stop a run: the first requests a stop, one more than a second later ends the
//! program at once (timeout(1), sudo and supervisors send theirs twice). A face can end by the
//! signal, as the program that it imitates would. Exceeding the shell's file size limit is a write
//! error and does not end the program. Unsafe code registers what a signal does; it calls only what
//! a handler may call.

pub mod shell;
pub mod terminal;

use crate::clock::monotonic_ns;
use memtide_base::Span;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::{process, ptr, thread};

/// Signals that come so long after the first one, in milliseconds, count as the first.
const ONE_MS: u64 = 1_000;

/// The first signal that came.
static FIRST: First = First(AtomicU64::new(0));

/// A flag that is raised when the user asks to stop, or after silence. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    raised: Arc<AtomicBool>,
    /// True if signals raise it.
    hears_signals: bool,
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

/// How a program whose report is not finished ends by a signal that comes later than the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtOnce {
    /// With this exit code.
    Exit(i32),
    /// By the signal; the first process of a container, which no signal kills, with the exit code
    /// of a shell.
    Die,
}

/// What a program does about a signal.
#[derive(Clone, Copy, Debug)]
struct Reaction {
    at_once: AtOnce,
    /// True if the first signal requests a stop, and only a later one ends the program.
    asks_first: bool,
}

/// The number of the first signal in the lowest byte, and above it the instant at which it came, by
/// the kernel's monotonic clock in milliseconds; 0 until then.
#[derive(Debug)]
struct First(AtomicU64);

impl First {
    /// Notes `signal`, which came at `now_ms`. Returns the time since the first one; none for the
    /// first.
    fn note(&self, signal: i32, now_ms: u64) -> Option<u64> {
        let packed = now_ms.max(1) << 8 | (signal as u64 & 0xff);
        let noted = self.0.compare_exchange(0, packed, Ordering::SeqCst, Ordering::SeqCst);
        noted.err().map(|first| now_ms.saturating_sub(first >> 8))
    }

    /// The number of the signal; 0 for none.
    fn signal(&self) -> i32 {
        (self.0.load(Ordering::SeqCst) & 0xff) as i32
    }
}

/// Raises SIGINT in this process, as Ctrl-C does.
pub fn interrupt() {
    // It cannot fail for a signal that exists.
    drop(low_level::raise(SIGINT));
}

/// Sends SIGINT to another process; one that has ended gets none.
pub fn interrupt_process(child: &process::Child) {
    let _ = kill_process(Pid::from_child(child), Signal::INT);
}

impl StopFlag {
    /// A flag that SIGINT, SIGTERM and SIGHUP raise. One that comes more than a second after the
    /// first exits with `exit_code`. A signal that was ignored when the program started stays
    /// ignored, as `nohup` and shells expect.
    pub fn on_signals(exit_code: i32) -> io::Result<Self> {
        let reaction = Reaction { at_once: AtOnce::Exit(exit_code), asks_first: true };
        Self::reacting(&|signal| Ok((!is_ignored(signal)?).then_some(reaction)))
    }

    /// A flag that SIGINT, SIGTERM and SIGHUP raise, except signals that were ignored when the
    /// program started, as under nohup. SIGINT raises it even then if the program
    /// `always_catches_interrupts`: shells start what runs in the background with SIGINT ignored.
    /// A signal that comes more than a second after the first kills the program as if it were not
    /// caught; [`die`](Self::die) does so after the first.
    pub fn on_deadly_signals(always_catches_interrupts: bool) -> io::Result<Self> {
        let reaction = Reaction { at_once: AtOnce::Die, asks_first: true };
        Self::reacting(&|signal| {
            let is_always = always_catches_interrupts && signal == SIGINT;
            Ok((is_always || !is_ignored(signal)?).then_some(reaction))
        })
    }

    /// A flag that nothing raises, for a program that SIGINT, SIGTERM and SIGHUP kill. They give
    /// the terminal back first. They also kill the first process of a container, which the kernel
    /// protects from signals that it does not catch; its parent sees the exit code of a shell.
    pub fn on_no_signal() -> io::Result<Self> {
        let reaction = Reaction { at_once: AtOnce::Die, asks_first: false };
        Self::reacting(&|signal| Ok((!is_ignored(signal)?).then_some(reaction)))?;
        Ok(Self::default())
    }

    /// A flag that every signal raises for which there is a reaction. The reactions of the first
    /// call in a process are those of all later ones.
    fn reacting(reaction: &dyn Fn(i32) -> io::Result<Option<Reaction>>) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        let mut registered = Ok(());
        ONCE.call_once(|| {
            terminal::note_stderr();
            registered = [SIGINT, SIGTERM, SIGHUP].into_iter().try_for_each(|signal| {
                reaction(signal)?.map_or(Ok(()), |reaction| register(signal, reaction))
            });
        });
        registered?;
        Ok(Self { hears_signals: true, ..Self::default() })
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
        self.raised.load(Ordering::Relaxed) || self.number() != 0 || self.is_silent()
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

    /// The first signal, if signals raise the flag and one came.
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

    /// The number of the first signal, if signals raise the flag; else 0.
    fn number(&self) -> i32 {
        if self.hears_signals { FIRST.signal() } else { 0 }
    }
}

/// Lets this process react to `signal`.
fn register(signal: i32, reaction: Reaction) -> io::Result<()> {
    let at_once = match reaction.at_once {
        AtOnce::Die if is_first_process() => AtOnce::Exit(exit_code(signal)),
        at_once => at_once,
    };
    let reaction = Reaction { at_once, ..reaction };
    let act = move |info: &libc::siginfo_t| react(signal, reaction, info.si_code);
    // SAFETY: the action reads the clock, reads and writes atomics, and calls what POSIX allows in
    // a handler. It neither allocates, locks nor panics.
    unsafe { signal_hook_registry::register_sigaction(signal, act) }.map(drop)
}

/// What happens when `signal` comes; `code` is the kernel's word for its origin.
fn react(signal: i32, reaction: Reaction, code: i32) {
    let Some(since_ms) = FIRST.note(signal, monotonic_ns() / 1_000_000) else {
        if !reaction.asks_first {
            end(signal, reaction.at_once);
        }
        return;
    };
    if reaction.asks_first && since_ms < ONE_MS {
        // Others than the user's keys repeat a signal without meaning more by it.
        if signal == SIGINT && code == libc::SI_KERNEL {
            terminal::explain_repetition();
        }
    } else {
        end(signal, reaction.at_once);
    }
}

/// Ends the program from within a handler; the terminal is given back first.
fn end(signal: i32, at_once: AtOnce) {
    terminal::give_back();
    match at_once {
        AtOnce::Exit(code) => low_level::exit(code),
        AtOnce::Die => drop(low_level::emulate_default_handler(signal)),
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
    let started = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut byte = [0];
        while arrived.read_exact(&mut byte).is_ok() {
            act();
        }
    });
    started.map(drop)
}

/// True in the first process of a container, or of the machine.
fn is_first_process() -> bool {
    process::id() == 1
}

/// The exit code that a shell reports for a program that `signal` has killed.
fn exit_code(signal: i32) -> i32 {
    128 + signal
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
