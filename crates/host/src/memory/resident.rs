//! Keeps this process small: large blocks that were never written, and pages of the program that
//! ran at start-up and never again, take no memory. Neither changes what the program does.

use rustix::mm::{Advice, madvise};
use std::ffi::{c_int, c_void};
use std::{ptr, slice};

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

/// Gives back what only earlier work needed: free memory of the allocator, and pages of the
/// program.
pub fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes nothing that is in use, and waits for other threads.
    unsafe {
        libc::malloc_trim(0);
    }
    unmap_program();
}

/// Unmaps the code and the constants of the program and its libraries. What runs next is mapped
/// again when it is touched, from the page cache and without reading the file. The kernel maps the
/// sixteen pages around each one that is touched, so start-up alone maps most of the program.
///
/// Breakpoints are lost, because they lie in copies of pages: a build with debug assertions keeps
/// its pages.
fn unmap_program() {
    if !cfg!(debug_assertions) {
        // SAFETY: the callback fits, and keeps nothing that it is passed.
        unsafe { libc::dl_iterate_phdr(Some(unmap_segments), ptr::null_mut()) };
    }
}

unsafe extern "C" fn unmap_segments(
    object: *mut libc::dl_phdr_info,
    _bytes: usize,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes an object that is loaded, with this number of headers.
    let (start, headers) = unsafe {
        let object = &*object;
        let count = usize::from(object.dlpi_phnum);
        (object.dlpi_addr, slice::from_raw_parts(object.dlpi_phdr, count))
    };
    let page = rustix::param::page_size() as u64;
    for header in headers {
        // What may be written, or was while it was linked, is the process's own and stays.
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        let from = (start + header.p_vaddr).next_multiple_of(page);
        let end = (start + header.p_vaddr + header.p_memsz) / page * page;
        let bytes = end.saturating_sub(from) as usize;
        // SAFETY: these pages are mapped from a file and were never written, so that they are read
        // again as they are. The kernel's own object cannot be unmapped, which is an error here.
        let _ = unsafe { madvise(from as *mut c_void, bytes, Advice::LinuxDontNeed) };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_on_without_its_pages() {
        for _ in 0..3 {
            // SAFETY: as in `unmap_program`, which leaves a build with debug assertions alone.
            unsafe { libc::dl_iterate_phdr(Some(unmap_segments), ptr::null_mut()) };
            assert_eq!(format!("{:?}", vec![1.5; 3]), "[1.5, 1.5, 1.5]");
        }
    }
}
