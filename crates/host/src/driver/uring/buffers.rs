//! The memory for received bytes: buffers of equal size on a ring. The kernel takes one per
//! receive, and gets it back once its bytes were read.

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

/// Bytes of one buffer. Large, so that a long reply arrives in few pieces; pages that are never
/// written cost nothing.
const BUFFER_BYTES: usize = 32 * 1024;
/// The ring's number on its io_uring; each has only this one.
pub(super) const BUFFER_GROUP: u16 = 0;

/// Buffers that are registered with one io_uring.
pub(super) struct Buffers {
    /// The ring's entries, and the buffers after them in the same mapping.
    memory: NonNull<c_void>,
    bytes: usize,
    entries: u16,
    /// The number of times that a buffer was given to the kernel, modulo 2^16.
    tail: u16,
}

impl Buffers {
    /// Registers at least `wanted` buffers, at most 32 768, and gives them all to the kernel.
    pub(super) fn register(submitter: &Submitter<'_>, wanted: usize) -> io::Result<Self> {
        let entries = wanted.next_power_of_two().min(1 << 15) as u16;
        assert!(entries.is_power_of_two(), "the kernel takes rings of a power of two");
        let bytes = ring_bytes(entries) + usize::from(entries) * BUFFER_BYTES;
        // SAFETY: a new anonymous mapping overlaps nothing.
        let memory = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let memory = NonNull::new(memory).expect("a mapping is not at address zero");
        let mut buffers = Self { memory, bytes, entries, tail: 0 };
        // SAFETY: the ring's memory is page-aligned, large enough for its entries, and outlives the
        // io_uring: the driver drops its io_uring first.
        unsafe {
            submitter.register_buf_ring_with_flags(memory.as_ptr() as u64, entries, BUFFER_GROUP, 0)
        }?;
        for buffer in 0..entries {
            buffers.give_back(buffer);
        }
        Ok(buffers)
    }

    /// The number of buffers.
    pub(super) fn count(&self) -> usize {
        usize::from(self.entries)
    }

    /// The first `len` bytes of `buffer`, which the kernel has filled and not received back yet.
    pub(super) fn filled(&self, buffer: u16, len: usize) -> &[u8] {
        assert!(buffer < self.entries && len <= BUFFER_BYTES, "the kernel names our buffers");
        // SAFETY: the range lies within the mapping, and the kernel does not write to a buffer
        // from its completion until it is given back, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.address(buffer), len) }
    }

    /// Gives `buffer` back to the kernel.
    pub(super) fn give_back(&mut self, buffer: u16) {
        let ring = self.memory.cast::<BufRingEntry>().as_ptr();
        let place = usize::from(self.tail & (self.entries - 1));
        let address = self.address(buffer) as u64;
        // SAFETY: `place` is below the number of entries; the kernel reads an entry only after
        // the tail has passed it.
        let entry = unsafe { &mut *ring.add(place) };
        entry.set_addr(address);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies within the first entry, is aligned, and is shared with the kernel
        // as an atomic.
        let tail = unsafe { &*BufRingEntry::tail(ring).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    fn address(&self, buffer: u16) -> *mut u8 {
        debug_assert!(buffer < self.entries, "the kernel names our buffers");
        let offset = ring_bytes(self.entries) + usize::from(buffer) * BUFFER_BYTES;
        // SAFETY: `offset` lies within the mapping for every buffer below `entries`.
        unsafe { self.memory.as_ptr().cast::<u8>().add(offset) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: this is our own mapping, and nothing borrowed from it outlives `self`.
        let unmapped = unsafe { munmap(self.memory.as_ptr(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}

/// Bytes of the ring itself, rounded up to whole cache lines.
fn ring_bytes(entries: u16) -> usize {
    (usize::from(entries) * size_of::<BufRingEntry>()).next_multiple_of(64)
}
