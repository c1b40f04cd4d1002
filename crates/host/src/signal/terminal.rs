//! The keys of this program's terminal: each is passed on at once and not shown, and signals and
//! line breaks work as before. The modes are given back by the program, or by the signal that ends
//! it at once.
//!
//! Unsafe code registers what such a signal does; it calls only what a handler may call.

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use signal_hook::low_level;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a terminal gets that shows a screen of its own: it shows the lines before it again, and the
/// cursor.
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[?25h";

/// The modes before the keys were first taken.
static BEFORE: OnceLock<(Termios, libc::termios)> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HAS_SCREEN: AtomicBool = AtomicBool::new(false);
/// True once a signal has come.
static HAS_COME: AtomicBool = AtomicBool::new(false);

/// Takes the keys; false if stdin is no terminal, or they are another program's or already taken.
pub fn take_keys() -> bool {
    let Some(before) = modes() else { return false };
    let (before, _) = BEFORE.get_or_init(|| before);
    if IS_TAKEN.swap(true, Ordering::AcqRel) {
        return false;
    }
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(io::stdin(), OptionalActions::Now, &modes).is_ok()
}

/// Gives the keys back, if they were taken. In the background that would stop this program; the
/// shell has then set modes of its own.
pub fn restore_keys() {
    if let Some((before, _)) = BEFORE.get()
        && IS_TAKEN.swap(false, Ordering::AcqRel)
        && is_foreground()
    {
        // An error is not told: the terminal has gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
}

/// Notes whether the terminal shows a screen of its own.
pub fn has_screen(is_shown: bool) {
    HAS_SCREEN.store(is_shown, Ordering::Release);
}

/// True if stdin's terminal is this program's now.
pub fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// The terminal's modes, also as a handler can set them; none if it is not this program's.
fn modes() -> Option<(Termios, libc::termios)> {
    let of_rustix = tcgetattr(io::stdin()).ok().filter(|_| is_foreground())?;
    let mut of_libc = std::mem::MaybeUninit::uninit();
    // SAFETY: `of_libc` has room for the modes, and is read only if the call has filled it in.
    let of_libc = unsafe {
        match libc::tcgetattr(libc::STDIN_FILENO, of_libc.as_mut_ptr()) {
            0 => of_libc.assume_init(),
            _ => return None,
        }
    };
    Some((of_rustix, of_libc))
}

/// Lets a `signal` that ends the program give the modes back first; to be registered before what
/// ends it. That is the second one, unless the first `ends_at_once`: otherwise the first one asks
/// the run to stop, which then gives them back.
pub(super) fn restore_before_the_end(signal: i32, ends_at_once: bool) -> io::Result<()> {
    let act = move || {
        let is_last = HAS_COME.swap(true, Ordering::AcqRel) || ends_at_once;
        if is_last
            && let Some((_, before)) = BEFORE.get()
            && IS_TAKEN.swap(false, Ordering::AcqRel)
        {
            // SAFETY: `before` lives as long as the program.
            unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, before) };
            if HAS_SCREEN.load(Ordering::Acquire) {
                // SAFETY: the bytes live as long as the program, and their number is theirs.
                unsafe { libc::write(libc::STDERR_FILENO, LEAVE.as_ptr().cast(), LEAVE.len()) };
            }
        }
    };
    // SAFETY: the action reads and writes atomics, and calls tcsetattr and write, which POSIX
    // allows in a handler. It neither allocates, locks nor panics.
    unsafe { low_level::register(signal, act) }.map(drop)
}
