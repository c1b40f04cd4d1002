//! The time, as the world passes it, and the expiry of values. Reads no clock.

use memtide_base::Instant;

/// The time that a world passes with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Time since the server began.
    pub now: Instant,
    /// Unix time in whole seconds, in which expiry is counted.
    pub unix_s: u64,
}

/// An expiry above this many seconds is a Unix time.
const RELATIVE_S_MAX: i64 = 60 * 60 * 24 * 30;
/// The expiry of a value that never expires.
pub(crate) const NEVER_S: u64 = u64::MAX;

impl Clock {
    /// The Unix second in which a value with `expiry` expires ("Expiration times" of the protocol
    /// document).
    pub(crate) fn ends_s(self, expiry: i64) -> u64 {
        match expiry {
            0 => NEVER_S,
            ..0 => 0,
            1..=RELATIVE_S_MAX => self.unix_s.saturating_add(expiry.unsigned_abs()),
            _ => expiry.unsigned_abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_days_are_counted_from_now_and_more_is_unix_time() {
        let clock = Clock { now: Instant::ZERO, unix_s: 1_000_000_000 };
        assert_eq!(clock.ends_s(0), NEVER_S);
        assert_eq!(clock.ends_s(-1), 0);
        assert_eq!(clock.ends_s(1), 1_000_000_001);
        assert_eq!(clock.ends_s(2_592_000), 1_002_592_000);
        assert_eq!(clock.ends_s(2_592_001), 2_592_001);
    }
}
