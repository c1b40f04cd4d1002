//! The kernel's description of its clocks: which monotonic clock this process reads, and how far
//! its time of day may be off.
//!
//! Two processes with equal boots and time namespaces read one monotonic clock. Others can only
//! compare their times of day, as exactly as these are synchronised.

use memtide_base::Span;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A machine's clocks as its kernel describes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockState {
    /// An identifier that changes with every boot; `None` if it cannot be read.
    pub boot_id: Option<String>,
    /// The time namespace, which identifies shifted clocks: processes with equal numbers read equal
    /// clocks. `None` if the kernel has no time namespaces.
    pub time_namespace: Option<u64>,
    /// True if the kernel considers the time of day synchronised; `None` if it does not say.
    pub synchronised: Option<bool>,
    /// The largest error of the time of day, by the kernel's own estimate; `None` unless it is
    /// synchronised.
    pub error_max: Option<Span>,
}

/// The state of this process's clocks.
pub fn state() -> ClockState {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let namespace = fs::metadata("/proc/self/ns/time").ok();
    let estimate = estimate();
    ClockState {
        boot_id: boot_id.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        time_namespace: namespace.map(|file| file.ino()),
        synchronised: estimate.map(|(synchronised, _)| synchronised),
        error_max: estimate.filter(|(synchronised, _)| *synchronised).map(|(_, error)| error),
    }
}

/// True if the time of day is synchronised, and its largest error.
fn estimate() -> Option<(bool, Span)> {
    // SAFETY: all bits zero is a valid timex; with `modes` 0 the call only reads the clock's state
    // and writes the struct that it is given, which lives until it returns.
    let (code, timex) = unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&mut timex), timex)
    };
    if code < 0 {
        return None;
    }
    let synchronised = code != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0;
    let error_us = u64::try_from(timex.maxerror).unwrap_or(0);
    Some((synchronised, Span::from_us(error_us)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_the_same_when_it_is_read_twice() {
        let (first, second) = (state(), state());
        assert_eq!((first.boot_id, first.time_namespace), (second.boot_id, second.time_namespace));
        assert_eq!(first.error_max.is_some(), first.synchronised == Some(true));
    }
}
