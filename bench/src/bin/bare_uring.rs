//! The bare io_uring client: one thread, prebuilt requests, a sliding window per connection.
//!
//! Receives stay armed and fill buffers of a ring; one call sends and waits. It counts bytes and
//! sends one request for each reply that they complete; it neither parses nor measures times.
#![expect(unsafe_code, reason = "a bare client")]

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use memtide_bench::front::{self, Client};
use memtide_bench::pattern::{Cursor, Pattern};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU16, Ordering};

fn main() -> ExitCode {
    let words = front::command("bare-uring").get_matches();
    front::exit("bare-uring", front::run(&words, UringClient::new))
}

const ENTRIES: u32 = 256;
const BUFFER_BYTES: usize = 32 * 1024;
const BUFFERS_MAX: usize = 1024;
/// The number of the only group of buffers.
const GROUP: u16 = 0;
/// Added to a connection's number in the user data of its sends.
const SEND: u64 = 1 << 32;

struct UringClient {
    // Declared first, so that the kernel has released the buffers when they are dropped.
    ring: IoUring,
    buffers: Box<[Page]>,
    entries: u16,
    tail: u16,
    pattern: Pattern,
    peers: Vec<Peer>,
    completed: Vec<(u64, i32, u32)>,
    ops: u64,
}

struct Peer {
    stream: TcpStream,
    cursor: Cursor,
}

/// The ring's entries lie at the beginning, on a page of their own; the buffers follow.
#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; 4096]);

impl Client for UringClient {
    fn send_first(&mut self) -> io::Result<()> {
        for index in 0..self.peers.len() {
            self.receive_always(index)?;
            self.send(index)?;
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<usize> {
        // A limit, so that the loop notices the end of its time even if the server sends nothing.
        let patience = Timespec::new().nsec(100_000_000);
        let wait = SubmitArgs::new().timespec(&patience);
        match self.ring.submitter().submit_with_args(1, &wait) {
            Ok(_) => {}
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(error),
        }
        let mut completed = std::mem::take(&mut self.completed);
        let entries = self.ring.completion();
        completed.extend(entries.map(|entry| (entry.user_data(), entry.result(), entry.flags())));
        for &(data, result, flags) in &completed {
            if data & SEND == 0 {
                self.received(data as usize, result, flags)?;
            } else {
                // A send completes only if it was not sent as a whole.
                return Err(io::Error::other("a socket's buffer is full; lower --depth"));
            }
        }
        let count = completed.len();
        completed.clear();
        self.completed = completed;
        Ok(count)
    }

    fn ops(&self) -> u64 {
        self.ops
    }
}

impl UringClient {
    fn new(pattern: Pattern, streams: Vec<TcpStream>) -> io::Result<Self> {
        let count = streams.len();
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize((2 * count as u32).clamp(1024, 1 << 15).next_power_of_two())
            .build(ENTRIES)?;
        let entries = count.clamp(16, BUFFERS_MAX).next_power_of_two() as u16;
        let pages = ring_pages(entries) + usize::from(entries) * BUFFER_BYTES / size_of::<Page>();
        let buffers = vec![Page([0; 4096]); pages].into_boxed_slice();
        // SAFETY: the memory is page-aligned, has room for the entries, and outlives the ring.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.as_ptr() as u64,
                entries,
                GROUP,
                0,
            )
        }?;
        let peers = streams.into_iter().enumerate().map(|(index, stream)| {
            // Connections start at different requests, so that their sets do not coincide.
            let cursor = Cursor::new(&pattern, index * pattern.len() / count);
            Peer { stream, cursor }
        });
        let peers = peers.collect();
        let completed = Vec::with_capacity(1024);
        let mut client =
            Self { ring, buffers, entries, tail: 0, pattern, peers, completed, ops: 0 };
        for buffer in 0..entries {
            client.give_back(buffer);
        }
        Ok(client)
    }

    fn received(&mut self, index: usize, result: i32, flags: u32) -> io::Result<()> {
        if let Some(buffer) = cqueue::buffer_select(flags) {
            self.give_back(buffer);
        }
        match result {
            0 => return Err(io::Error::other("the server closed a connection")),
            // Every buffer was taken; this turn returns some before the next attempt.
            error if error == -libc::ENOBUFS => {}
            error if error < 0 => return Err(io::Error::from_raw_os_error(-error)),
            bytes => {
                let cursor = &mut self.peers[index].cursor;
                let completed = cursor.handle_received(&self.pattern, bytes as usize);
                self.ops += completed as u64;
                if completed > 0 {
                    self.send(index)?;
                }
            }
        }
        if cqueue::more(flags) { Ok(()) } else { self.receive_always(index) }
    }

    /// Arms a receive that stays armed for all replies of the connection.
    fn receive_always(&mut self, index: usize) -> io::Result<()> {
        let fd = Fd(self.peers[index].stream.as_raw_fd());
        self.push(&opcode::RecvMulti::new(fd, GROUP).build().user_data(index as u64))
    }

    fn send(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let unsent = peer.cursor.unsent(&self.pattern);
        if unsent.is_empty() {
            return Ok(());
        }
        let (address, bytes) = (unsent.as_ptr(), unsent.len());
        let entry = opcode::Send::new(Fd(peer.stream.as_raw_fd()), address, bytes as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(index as u64 | SEND);
        peer.cursor.handle_sent(&self.pattern, bytes);
        self.push(&entry)
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: sends point into the pattern, which lives as long as the client and never moves.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    /// Gives `buffer` back to the kernel; its bytes are not read.
    fn give_back(&mut self, buffer: u16) {
        let first = ring_pages(self.entries) * size_of::<Page>();
        let address = self.buffers.as_ptr() as u64;
        let entries = self.buffers.as_mut_ptr().cast::<BufRingEntry>();
        let place = usize::from(self.tail & (self.entries - 1));
        // SAFETY: `place` is below the number of entries, which lie at the front of the memory;
        // the kernel reads an entry only after the tail has passed it.
        let entry = unsafe { &mut *entries.add(place) };
        entry.set_addr(address + (first + usize::from(buffer) * BUFFER_BYTES) as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies within the first entry, is aligned, and is shared with the kernel
        // as an atomic.
        let tail = unsafe { &*BufRingEntry::tail(entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

/// True if a call to the ring did all that is possible now.
fn is_for_later(error: &io::Error) -> bool {
    let errors = [libc::ETIME, libc::EINTR, libc::EBUSY, libc::EAGAIN];
    error.raw_os_error().is_some_and(|errno| errors.contains(&errno))
}

/// The number of pages of a ring's entries.
fn ring_pages(entries: u16) -> usize {
    (usize::from(entries) * size_of::<BufRingEntry>()).div_ceil(size_of::<Page>())
}
