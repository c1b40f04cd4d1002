//! CPUs that stay awake while they are idle.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// Takes the longest time, in µs, that a CPU may need to wake up. Source: the kernel's
/// documentation, "PM Quality Of Service Interface".
const WAKE_UP: &str = "/dev/cpu_dma_latency";

/// Keeps all CPUs of this machine out of sleep states from which they need time to wake up, until
/// it is dropped. An idle CPU then polls, which takes power, but no time from other programs.
#[derive(Debug)]
pub struct AwakeGuard {
    /// The kernel keeps to what was written for as long as the file is open.
    _asked: File,
}

impl AwakeGuard {
    /// Asks the kernel; none if this user may not, or if the kernel has no such states.
    pub fn ask() -> Option<Self> {
        let mut asked = OpenOptions::new().write(true).open(WAKE_UP).ok()?;
        asked.write_all(&0i32.to_ne_bytes()).ok()?;
        Some(Self { _asked: asked })
    }
}
