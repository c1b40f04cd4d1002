//! Keeps this process small: large blocks that were never written, and memory that was freed, take
//! none. Neither changes what the program does.

#[cfg(target_env = "gnu")]
use std::ffi::c_int;

/// Blocks from this size on are mapped by themselves. A distribution of a worker has 18 KiB.
#[cfg(target_env = "gnu")]
const BLOCK_BYTES_MIN: c_int = 16 * 1024;

/// Has the allocator map large blocks by themselves. Then a page of a distribution that is never
/// written takes no memory, also in the later plans of a process: what the allocator takes from
/// freed memory must be cleared first, every page of it.
pub fn map_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number of the allocator, which allows it at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, BLOCK_BYTES_MIN);
    }
}

/// Gives the allocator's free memory back, which only earlier work needed.
pub fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes nothing that is in use, and waits for other threads.
    unsafe {
        libc::malloc_trim(0);
    }
}
