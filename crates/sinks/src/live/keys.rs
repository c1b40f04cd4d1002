//! The key that shows the screen, beside the progress line. Reads nothing unless the terminal is
//! this program's.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;
use std::{io, thread};

/// The key that shows the screen.
const SHOWS: u8 = b'u';
/// The longest time between two looks at keys and at signals.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How the keys of the terminal are taken and given back.
#[derive(Clone, Copy, Debug)]
pub struct ScreenKeys {
    /// Takes them; false if that is not possible.
    pub take: fn() -> bool,
    /// Gives them back.
    pub restore: fn(),
    /// True if the terminal is this program's now.
    pub are_ours: fn() -> bool,
    /// Notes whether the terminal shows the screen.
    pub has_screen: fn(bool),
}

/// Keys that were taken; given back once this is dropped.
pub(super) struct Keys(ScreenKeys);

impl Keys {
    /// Takes the keys, if that is possible.
    pub(super) fn take(keys: ScreenKeys) -> Option<Self> {
        (keys.take)().then_some(Self(keys))
    }

    /// Waits for a key for a moment; true if it was the one that shows the screen.
    pub(super) fn is_pressed(&self) -> bool {
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        if !matches!(poll(&mut ready, Some(&wait)), Ok(1..)) {
            return false;
        }
        let mut bytes = [0; 64];
        // What a user types for another program is that program's; a read would stop this one.
        let count = match (self.0.are_ours)() {
            true => rustix::io::read(&stdin, &mut bytes).unwrap_or(0),
            false => 0,
        };
        if count == 0 {
            // The terminal has gone, or is another program's: it stays readable.
            thread::sleep(LOOK_EVERY);
        }
        bytes[..count].contains(&SHOWS)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        (self.0.restore)();
    }
}
