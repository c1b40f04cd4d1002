//! The run-queue time of a worker's thread: the time in which it was ready to run and had no CPU.

use memtide_base::Span;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;
use std::cell::OnceCell;

/// The kernel's counters of a thread: time on a CPU, run-queue time, time slices.
const COUNTERS: &str = "/proc/thread-self/schedstat";
/// Three decimal numbers of 64 bits, with spaces.
const TEXT_BYTES: usize = 64;

/// The counter of the thread that reads it first, which no other thread may do then. The file stays
/// open, so that a reading is one system call.
#[derive(Debug, Default)]
pub(crate) struct Kept(OnceCell<Option<OwnedFd>>);

impl Kept {
    /// The run-queue time so far; `None` if the kernel does not say.
    pub(crate) fn read(&self) -> Option<Span> {
        let file = self
            .0
            .get_or_init(|| open(COUNTERS, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok());
        let file = file.as_ref()?;
        let mut text = [0; TEXT_BYTES];
        let length = pread(file, &mut text, 0).ok()?;
        let waited = text[..length].split(|byte| *byte == b' ').nth(1)?;
        std::str::from_utf8(waited).ok()?.parse().ok().map(Span::from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_without_a_cpu_never_falls() {
        let kept = Kept::default();
        let Some(before) = kept.read() else { return };
        std::thread::yield_now();
        assert!(kept.read().is_some_and(|now| now >= before));
    }
}
