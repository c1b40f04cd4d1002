//! The resources that this process has used. Both figures come from the kernel.
#![expect(unsafe_code, reason = "it calls the C library")]

use std::fs;
use std::mem::MaybeUninit;

/// CPU time of this process, all threads together, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// In the program itself.
    pub user_s: f64,
    /// In the kernel on the program's behalf.
    pub system_s: f64,
}

impl Cpu {
    /// The CPU time used since the process began.
    pub fn used() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` is writable memory of the right type, and getrusage fills all of it
        // when it returns 0, which is checked before it is read.
        let usage = unsafe {
            let answer = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            assert_eq!(answer, 0, "getrusage of the calling process cannot fail");
            usage.assume_init()
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
    }

    /// The CPU time used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

/// The most memory that this program had resident, in bytes; `None` if /proc does not say.
///
/// Not `ru_maxrss`: across an exec it keeps the peak of the program that started this one.
pub fn rss_max_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_and_never_shrinks() {
        let before = Cpu::used();
        let spent = Cpu::used().since(before);
        assert!(spent.user_s >= 0.0 && spent.system_s >= 0.0);
        assert!(rss_max_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
