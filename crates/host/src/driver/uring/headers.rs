//! Descriptions of messages with several slices for the kernel: lists of slices, and a header for
//! each list. They do not move until they are made again.

use memtide_world::Message;
use std::{mem, ptr};

/// Slices that the kernel takes in one message (`UIO_MAXIOV`).
const SLICES_MAX: usize = 1024;

/// The headers of the messages that one call sends. They do not keep alive the bytes that they
/// point to.
pub(super) struct Headers {
    slices: Vec<libc::iovec>,
    headers: Vec<libc::msghdr>,
}

impl Headers {
    /// Headers with room for this number of messages and slices without another allocation.
    pub(super) fn with_capacity(messages: usize, slices: usize) -> Self {
        Self { slices: Vec::with_capacity(slices), headers: Vec::with_capacity(messages) }
    }

    /// Describes `messages` in place of earlier ones.
    pub(super) fn describe<'a>(&mut self, messages: impl Iterator<Item = Message<'a>>) {
        self.slices.clear();
        self.headers.clear();
        for message in messages {
            let before = self.slices.len();
            self.slices.extend(message.slices(0).map(|slice| libc::iovec {
                iov_base: slice.as_ptr().cast_mut().cast(),
                iov_len: slice.len(),
            }));
            let count = self.slices.len() - before;
            assert!(count <= SLICES_MAX, "references are large and what is gathered is bounded");
            self.headers.push(header(count));
        }
        // From here on no slice is added, so the slices do not move.
        let mut rest = &mut self.slices[..];
        for header in &mut self.headers {
            // A `size_t` with glibc, an `int` with musl; at most `SLICES_MAX`.
            let (slices, others) = rest.split_at_mut(header.msg_iovlen as _);
            header.msg_iov = slices.as_mut_ptr();
            rest = others;
        }
    }

    /// The header of described message `number`.
    pub(super) fn get(&self, number: usize) -> &libc::msghdr {
        &self.headers[number]
    }
}

/// A header for `count` slices, without their address.
fn header(count: usize) -> libc::msghdr {
    // SAFETY: all of its fields are numbers and pointers, for which zeros are valid.
    let mut header = unsafe { mem::zeroed::<libc::msghdr>() };
    header.msg_iov = ptr::null_mut();
    header.msg_iovlen = count as _;
    header
}
