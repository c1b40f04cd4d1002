//! The keys of this program's terminal: each is passed on at once and not shown, and signals and
//! line breaks work as before. The modes are given back by the program, or by the signal that ends
//! it at once.
//!
//! Unsafe code is what a handler of signals calls here; it calls only what a handler may call.

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a terminal gets that shows a screen of its own: it shows the lines before it again, and the
/// cursor.
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[?25h";

/// What Ctrl-C shows that comes too soon after the first to end the program. It clears the line of
/// progress, and the key that the terminal has shown.
const AGAIN: &[u8] = b"\r\x1b[Kmemtide: press again to end without a report\n";

/// The modes before the keys were first taken.
static BEFORE: OnceLock<(Termios, libc::termios)> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HAS_SCREEN: AtomicBool = AtomicBool::new(false);
/// True if stderr is a terminal.
static HAS_STDERR: AtomicBool = AtomicBool::new(false);

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

/// Notes whether stderr is a terminal.
pub(super) fn note_stderr() {
    HAS_STDERR.store(io::stderr().is_terminal(), Ordering::Release);
}

/// Gives the modes back, from within the handler of a signal that ends the program.
pub(super) fn give_back() {
    if let Some((_, before)) = BEFORE.get()
        && IS_TAKEN.swap(false, Ordering::AcqRel)
    {
        // SAFETY: `before` lives as long as the program, and POSIX allows tcsetattr in a handler.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, before) };
        if HAS_SCREEN.load(Ordering::Acquire) {
            write(LEAVE);
        }
    }
}

/// Tells the user from within a handler how to end the program at once, unless the terminal shows a
/// screen of its own.
pub(super) fn explain_repetition() {
    if HAS_STDERR.load(Ordering::Acquire) && !HAS_SCREEN.load(Ordering::Acquire) {
        write(AGAIN);
    }
}

/// Writes to stderr from within a handler.
fn write(text: &'static [u8]) {
    // SAFETY: the bytes live as long as the program, their number is theirs, and POSIX allows write
    // in a handler.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
