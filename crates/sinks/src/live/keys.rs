//! Keys of a terminal that shows lines: each is passed on at once and not shown, and signals and
//! line breaks work as before. Reads nothing unless this program is in the foreground.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The key that shows the screen.
const SHOWS: u8 = b'u';
/// The longest time between two looks at keys and at signals.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The modes of the terminal before keys were taken, until they are restored.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The keys of stdin's terminal, which is as before once this is dropped.
pub(super) struct Keys(());

impl Keys {
    /// Takes the keys; none if stdin is no terminal, or that of another program or of another run
    /// in this program now.
    pub(super) fn take() -> Option<Self> {
        let stdin = io::stdin();
        let modes = tcgetattr(&stdin).ok().filter(|_| is_foreground())?;
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if before.is_some() {
            return None;
        }
        *before = Some(modes.clone());
        drop(before);
        let (keys, mut modes) = (Self(()), modes);
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Now, &modes).ok()?;
        Some(keys)
    }

    /// Waits for a key for a moment; true if it was the one that shows the screen.
    pub(super) fn is_pressed(&self) -> bool {
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let nanoseconds = LOOK_EVERY.subsec_nanos().into();
        let wait = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        if !matches!(poll(&mut ready, Some(&wait)), Ok(1..)) {
            return false;
        }
        let mut keys = [0; 64];
        // What a user types for another program is that program's; a read would stop this one.
        let count = match is_foreground() {
            true => rustix::io::read(&stdin, &mut keys).unwrap_or(0),
            false => 0,
        };
        if count == 0 {
            // The terminal has gone, or is another program's: it stays readable.
            thread::sleep(LOOK_EVERY);
        }
        keys[..count].contains(&SHOWS)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore_keys();
    }
}

/// Gives the terminal its modes back, if they were changed. In the background that would stop this
/// program; the shell has then set its own.
pub(super) fn restore_keys() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before.filter(|_| is_foreground()) {
        // An error is not told: the terminal has gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// True if stdin's terminal is this program's now.
fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
