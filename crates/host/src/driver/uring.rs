//! The driver over io_uring: one call sends, receives and waits. Receives stay armed and fill
//! buffers of a ring. Sends are tried within the call and never wait in the kernel, so a message is
//! either sent or returned when the call ends.

mod buffers;
mod request_tag;
mod files;
mod headers;

use crate::clock::Clock;
use crate::driver::guard::ConnectGuard;
use crate::driver::peer::{Peers, SEND_FLAGS};
use crate::driver::socket::{Connecting, close_reason, prepare_close};
use buffers::{BUFFER_GROUP, Buffers};
use files::{File, Files};
use headers::Headers;
use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_world::driver::{Closed, Completion, Driver, DriverError, Event, Sample, Submitted};
use memtide_world::{Address, BufferPosition, Message, SendBuffer, SocketOptions, Wait};
use request_tag::{RequestTag, Task};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::{hint, io};

/// Entries of the submission queue; further requests take another call.
const ENTRIES: u32 = 128;
/// The least size of the kernel's completion queue.
const COMPLETIONS_MIN: u32 = 1024;
const COMPLETIONS_MAX: u32 = 16 * 1024;
const BUFFERS_MIN: usize = 16;
const BUFFERS_MAX: usize = 1024;
/// The most sends gathered before they are submitted, even within a turn: they already have their
/// timestamps, so the time until the call counts as the server's.
const GATHERED_MAX: usize = 32;
/// The most bytes gathered, including referenced ones.
const GATHERED_BYTES_MAX: usize = 256 * 1024;
/// References to large values among the gathered bytes without another allocation.
const REFERENCES: usize = 64;
/// Completions that one reading of the clock may serve.
const STAMP_USES_MAX: u8 = 8;

/// A driver for the connections of one worker, on the thread that made it.
pub(crate) struct UringDriver {
    // Declared before the buffers, so that the kernel has released them when they are dropped.
    ring: IoUring,
    buffers: Buffers,
    files: Files,
    peers: Peers,
    /// Requests of the next call other than sends.
    errands: Vec<RequestTag>,
    /// Receives that ended because no buffer was free.
    starved: VecDeque<RequestTag>,
    /// Messages that the next call sends.
    gathered: SendBuffer,
    pieces: Vec<Piece>,
    /// The headers of pieces that consist of several slices.
    headers: Headers,
    /// Completions of a call that were not handled yet.
    completed: VecDeque<cqueue::Entry>,
    /// The buffer of the completion that was taken last.
    lent: Option<u16>,
    stamp: Stamp,
    /// The error of a call that could not return it; the next wait does.
    failure: Option<DriverError>,
}

/// The gathered message of one connection, which has at most one.
#[derive(Debug)]
struct Piece {
    id: ConnectionId,
    generation: u32,
    part: Range<BufferPosition>,
    /// The kernel's result; none if all was sent.
    result: Option<i32>,
}

/// A reading of the clock that serves a few completions.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    at: Instant,
    uses_left: u8,
}

/// Checks whether io_uring can be used here; the error gives the reason.
pub fn check_uring() -> Result<(), String> {
    let peers = Peers::new(Clock::start(), Wait::Sleep, 1, None, ConnectGuard::default());
    UringDriver::new(peers).map(drop).map_err(|error| match Errno::from_raw_os_error(error.code) {
        Errno::PERM | Errno::ACCESS => "this system forbids io_uring".to_owned(),
        Errno::NOSYS => "this kernel has no io_uring".to_owned(),
        Errno::INVAL => "this kernel is older than Linux 6.1".to_owned(),
        _ => error.to_string(),
    })
}

impl UringDriver {
    /// A driver for `peers`.
    pub(crate) fn new(peers: Peers) -> Result<Self, DriverError> {
        let count = peers.len();
        let connections = count as u32;
        let completions = connections.saturating_mul(2).max(COMPLETIONS_MIN);
        let completions = completions.min(COMPLETIONS_MAX).next_power_of_two();
        assert!(completions <= COMPLETIONS_MAX, "the largest queue is a power of two");
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(completions)
            .build(ENTRIES)
            .map_err(failed("io_uring_setup"))?;
        let buffers = Buffers::register(&ring.submitter(), count.clamp(BUFFERS_MIN, BUFFERS_MAX))
            .map_err(failed("io_uring_register"))?;
        assert!(buffers.count() <= BUFFERS_MAX, "the most buffers are a power of two");
        let files = Files::register(&ring.submitter(), connections);
        Ok(Self {
            ring,
            buffers,
            files,
            peers,
            errands: Vec::with_capacity(count),
            starved: VecDeque::with_capacity(count),
            gathered: SendBuffer::with_capacity(2 * GATHERED_BYTES_MAX, REFERENCES),
            pieces: Vec::with_capacity(GATHERED_MAX),
            headers: Headers::with_capacity(GATHERED_MAX, 2 * REFERENCES + GATHERED_MAX),
            completed: VecDeque::with_capacity(completions as usize),
            lent: None,
            stamp: Stamp::default(),
            failure: None,
        })
    }

    /// Handles the opening of a connection: registers its socket and arms its receive.
    fn keep(&mut self, id: ConnectionId) {
        let peer = &self.peers[id];
        if let Some(socket) = &peer.socket {
            self.files.keep(id, peer.generation, socket.as_raw_fd());
        }
        self.ask(Task::Receive, id);
    }

    /// Closes the socket of a connection that was lost.
    fn forget(&mut self, id: ConnectionId) {
        self.end(id, None);
    }

    /// Closes the socket. An armed receive keeps it until a reset or the shutdown ends it.
    fn end(&mut self, id: ConnectionId, linger: Option<Span>) {
        let peer = &mut self.peers[id];
        if let Some(socket) = &peer.socket {
            let is_reset = linger.is_some_and(|linger| prepare_close(socket, linger));
            // A reset ends the receive of a stream; that of datagrams only ends with a shutdown. A
            // connection that the server reset is shut down already.
            if !is_reset || peer.datagrams {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        peer.forget();
        self.files.forget(id);
    }

    fn lost(&mut self, id: ConnectionId, errno: Errno) -> Event<'static> {
        self.forget(id);
        Event::Closed(close_reason(errno))
    }

    fn ask(&mut self, task: Task, id: ConnectionId) {
        self.errands.push(RequestTag { task, generation: self.peers[id].generation, id });
    }

    /// Sends the gathered messages at once; the next wait returns a failure.
    fn send_gathered(&mut self) {
        if !self.pieces.is_empty()
            && let Err(error) = self.call(None)
        {
            self.failure = Some(error);
        }
    }

    /// Submits everything to the kernel. With `rest` it also receives, and waits at most that long
    /// for a completion.
    fn call(&mut self, rest: Option<Span>) -> Result<(), DriverError> {
        // The completions of this call happen after the reading.
        self.stamp = Stamp::default();
        self.push_entries()?;
        let rest = if self.is_quiet() { rest } else { rest.map(|_| Span::ZERO) };
        self.enter(rest)?;
        while !self.ring.submission().is_empty() {
            // The kernel was short of memory or of room for completions.
            self.take_completed();
            self.enter(Some(Span::ZERO))?;
        }
        self.take_completed();
        self.settle_pieces();
        Ok(())
    }

    fn enter(&mut self, rest: Option<Span>) -> Result<(), DriverError> {
        let queue = self.ring.submission();
        let (len, pending) = (queue.len() as u32, queue.taskrun() || queue.cq_overflow());
        drop(queue);
        let outcome = match rest {
            // SAFETY: a call without arguments and flags has none that could be wrong.
            None if len > 0 => unsafe { self.ring.submitter().enter::<()>(len, 0, 0, None) },
            Some(Span::ZERO) if len > 0 || pending => self.ring.submitter().submit(),
            None | Some(Span::ZERO) => return Ok(()),
            Some(rest) => {
                let rest = Timespec::new()
                    .sec(rest.ns() / 1_000_000_000)
                    .nsec((rest.ns() % 1_000_000_000) as u32);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&rest))
            }
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
                _ => Err(failed("io_uring_enter")(error)),
            },
        }
    }

    /// Fills the submission queue; submits it whenever it is full.
    fn push_entries(&mut self) -> Result<(), DriverError> {
        // More armed receives than free buffers would fail again, all at once.
        let buffers_free = self.buffers.count().saturating_sub(self.completed.len());
        for _ in 0..buffers_free.min(self.starved.len()) {
            self.errands.extend(self.starved.pop_front());
        }
        while let Some((id, entry)) = self.files.next_change() {
            let generation = self.peers[id].generation;
            let errand = RequestTag { task: Task::Place, generation, id };
            let entry = entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(errand.pack());
            self.push(&entry)?;
        }
        for number in 0..self.errands.len() {
            let errand = self.errands[number];
            if let Some(file) = self.file(errand.id, errand.generation) {
                let entry = match errand.task {
                    Task::Receive => opcode::RecvMulti::new(file.fd, BUFFER_GROUP).build(),
                    _ => opcode::PollAdd::new(file.fd, libc::POLLOUT as u32).build(),
                };
                self.push(&entry.flags(file.flags).user_data(errand.pack()))?;
            }
        }
        self.errands.clear();
        self.push_pieces()
    }

    fn push_pieces(&mut self) -> Result<(), DriverError> {
        // The kernel tries the whole piece now, and posts no completion if it is sent.
        let flags = (SEND_FLAGS.bits() as i32) | libc::MSG_WAITALL;
        let mut described = 0;
        if self.gathered.message().as_plain().is_none() {
            let messages = self.pieces.iter().map(|piece| self.gathered.between(&piece.part));
            self.headers.describe(messages.filter(|message| message.as_plain().is_none()));
        }
        for number in 0..self.pieces.len() {
            let Piece { id, generation, ref part, .. } = self.pieces[number];
            let plain = self.gathered.between(part).as_plain();
            let header = described;
            described += usize::from(plain.is_none());
            let Some(File { fd, flags: named }) = self.file(id, generation) else { continue };
            let entry = match plain {
                Some(bytes) => {
                    opcode::Send::new(fd, bytes.as_ptr(), bytes.len() as u32).flags(flags).build()
                }
                None => {
                    opcode::SendMsg::new(fd, self.headers.get(header)).flags(flags as u32).build()
                }
            };
            let errand = RequestTag { task: Task::Send, generation, id };
            let named = named | squeue::Flags::SKIP_SUCCESS;
            self.push(&entry.flags(named).user_data(errand.pack()))?;
        }
        Ok(())
    }

    fn push(&mut self, entry: &squeue::Entry) -> Result<(), DriverError> {
        // SAFETY: a send's bytes stay in `gathered` and in the pool that it keeps alive, and their
        // description in `headers`. These do not change before the call that submits them has
        // returned, and no send outlives that call. The table of `files` does not move; other
        // entries refer to no memory.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(None)?;
            self.take_completed();
        }
        Ok(())
    }

    /// The socket of this generation, if it still exists.
    fn file(&self, id: ConnectionId, generation: u32) -> Option<File> {
        let peer = &self.peers[id];
        let socket = peer.socket.as_ref().filter(|_| peer.generation == generation)?;
        Some(self.files.name(id, socket.as_raw_fd()))
    }

    /// Takes completions from the kernel's queue, and records the results of pieces.
    fn take_completed(&mut self) {
        for entry in self.ring.completion() {
            let errand = RequestTag::unpack(entry.user_data());
            if errand.task != Task::Send {
                self.completed.push_back(entry);
                continue;
            }
            let mut pieces = self.pieces.iter_mut();
            if let Some(piece) = pieces.find(|piece| piece.id == errand.id) {
                debug_assert!(piece.result.is_none(), "a message is sent once");
                piece.result = Some(entry.result());
            }
        }
    }

    /// Keeps bytes that were not sent with their connection.
    fn settle_pieces(&mut self) {
        for number in 0..self.pieces.len() {
            let Piece { id, generation, ref part, result } = self.pieces[number];
            let Some(result) = result else { continue };
            if self.file(id, generation).is_none() {
                continue;
            }
            let again = [Errno::AGAIN, Errno::INTR].map(|errno| -errno.raw_os_error());
            if result >= 0 || again.contains(&result) {
                let message = self.gathered.between(part);
                self.peers[id].keep(message, result.max(0) as usize);
                self.ask(Task::Room, id);
            } else {
                let happened = self.lost(id, Errno::from_raw_os_error(-result));
                self.peers.note(id, happened);
            }
        }
        self.pieces.clear();
        self.gathered.clear();
        self.gathered.shrink_to(2 * GATHERED_BYTES_MAX);
    }

    /// The event of a completion; for a receive the buffer and the number of bytes.
    fn look(&mut self, entry: &cqueue::Entry) -> Option<Result<Event<'static>, (u16, usize)>> {
        let RequestTag { task, generation, id } = RequestTag::unpack(entry.user_data());
        let buffer = cqueue::buffer_select(entry.flags());
        if self.file(id, generation).is_none() {
            if let Some(buffer) = buffer {
                self.buffers.give_back(buffer);
            }
            return None;
        }
        match task {
            Task::Open => {
                let happened = self.peers[id].opened(entry.result() != i32::from(libc::POLLOUT));
                if matches!(happened, Event::Connected) {
                    self.keep(id);
                }
                Some(Ok(happened))
            }
            Task::Receive => self.received(id, entry, buffer),
            Task::Room => {
                let happened = self.peers[id].send_rest();
                match happened {
                    None => self.ask(Task::Room, id),
                    Some(Event::Closed(_)) => self.forget(id),
                    Some(_) => {}
                }
                happened.map(Ok)
            }
            // Success needs no event. Failure means that the socket cannot be used.
            Task::Place => Some(Ok(self.lost(id, Errno::from_raw_os_error(-entry.result())))),
            Task::Send => None,
        }
    }

    fn received(
        &mut self,
        id: ConnectionId,
        entry: &cqueue::Entry,
        buffer: Option<u16>,
    ) -> Option<Result<Event<'static>, (u16, usize)>> {
        let result = entry.result();
        if result > 0 {
            if !cqueue::more(entry.flags()) {
                self.ask(Task::Receive, id);
            }
            let buffer = buffer.expect("bytes were received into a buffer");
            return Some(Err((buffer, result as usize)));
        }
        if let Some(buffer) = buffer {
            self.buffers.give_back(buffer);
        }
        if result == 0 && self.peers[id].datagrams {
            // An empty datagram is ignored.
            if !cqueue::more(entry.flags()) {
                self.ask(Task::Receive, id);
            }
            return None;
        }
        if result == 0 {
            self.forget(id);
            return Some(Ok(Event::Closed(Closed::ByPeer)));
        }
        match Errno::from_raw_os_error(-result) {
            Errno::NOBUFS => {
                self.starved.push_back(RequestTag::unpack(entry.user_data()));
                None
            }
            Errno::AGAIN | Errno::INTR => {
                self.ask(Task::Receive, id);
                None
            }
            errno => Some(Ok(self.lost(id, errno))),
        }
    }

    fn stamp(&mut self) -> Instant {
        if self.stamp.uses_left == 0 {
            let before = self.stamp.at;
            self.stamp = Stamp { at: self.peers.clock.now(), uses_left: STAMP_USES_MAX };
            debug_assert!(before <= self.stamp.at, "a later completion has an earlier instant");
        }
        debug_assert!((1..=STAMP_USES_MAX).contains(&self.stamp.uses_left), "a reading is fresh");
        self.stamp.uses_left -= 1;
        self.stamp.at
    }

    fn is_quiet(&self) -> bool {
        self.completed.is_empty() && !self.peers.has_early()
    }
}

impl Driver for UringDriver {
    fn now(&self) -> Instant {
        self.peers.clock.now()
    }

    fn connect(
        &mut self,
        id: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    ) {
        match self.peers.connect(id, address, source, sockets) {
            None => {}
            Some(Connecting::Pending) => self.ask(Task::Open, id),
            Some(Connecting::Connected) => {
                self.peers.note(id, Event::Connected);
                self.keep(id);
            }
        }
    }

    fn send(&mut self, id: ConnectionId, message: Message<'_>) -> Submitted {
        if let Some(submitted) = self.peers.hold(id, message) {
            return submitted;
        }
        let peer = &self.peers[id];
        let (generation, datagrams) = (peer.generation, peer.datagrams);
        if self.pieces.last().is_some_and(|last| datagrams || last.id != id)
            && self.pieces.iter().any(|piece| piece.id == id)
        {
            // Of two pieces, the second could be sent although the first was not, and two datagrams
            // must not become one.
            self.send_gathered();
            // A rest of the first is still to be sent if the socket was full.
            if let Some(submitted) = self.peers.hold(id, message) {
                return submitted;
            }
        }
        let fits = self.pieces.len() < GATHERED_MAX && self.gathered.len() < GATHERED_BYTES_MAX;
        debug_assert!(fits || self.failure.is_some(), "too much is gathered");
        let from = self.gathered.end();
        self.gathered.append(message, 0);
        let to = self.gathered.end();
        match self.pieces.last_mut() {
            Some(last) if last.id == id && last.generation == generation => last.part.end = to,
            _ => self.pieces.push(Piece { id, generation, part: from..to, result: None }),
        }
        if self.pieces.len() == GATHERED_MAX || self.gathered.len() >= GATHERED_BYTES_MAX {
            self.send_gathered();
        }
        match self.peers[id].has_unsent() {
            true => Submitted::Pending,
            false => Submitted::Done,
        }
    }

    fn close(&mut self, id: ConnectionId, linger: Option<Span>) {
        self.send_gathered();
        self.end(id, linger);
        self.peers.drop_early(id);
    }

    fn has_unsent(&self) -> bool {
        !self.pieces.is_empty() || self.peers.has_unsent()
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let sleep_until = self.peers.sleep_until(until);
        self.call(Some(sleep_until.since(self.peers.clock.now())))?;
        while self.peers.wait != Wait::Sleep && self.is_quiet() && self.peers.clock.now() < until {
            // A word in memory shows whether the kernel has work that needs a call.
            if self.ring.submission().taskrun() {
                self.call(Some(Span::ZERO))?;
            } else {
                hint::spin_loop();
            }
        }
        Ok(())
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
        if let Some(early) = self.peers.early() {
            return Some(early);
        }
        while let Some(entry) = self.completed.pop_front() {
            let connection = RequestTag::unpack(entry.user_data()).id;
            match self.look(&entry) {
                None => {}
                Some(Ok(event)) => return Some(Completion { connection, at: self.stamp(), event }),
                Some(Err((buffer, len))) => {
                    self.lent = Some(buffer);
                    let at = self.stamp();
                    let event = Event::Received(self.buffers.filled(buffer, len));
                    return Some(Completion { connection, at, event });
                }
            }
        }
        None
    }

    fn kept(&self) -> Option<Span> {
        self.peers.kept.read()
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        self.peers.export(sample)
    }
}

impl Drop for UringDriver {
    /// Nothing may write to the buffers once they are freed.
    fn drop(&mut self) {
        // Without an armed request there is nothing to cancel, which is reported as an error.
        let _ = self.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
    }
}

fn failed(action: &'static str) -> impl Fn(io::Error) -> DriverError {
    move |error| DriverError { action, code: error.raw_os_error().unwrap_or(0) }
}
