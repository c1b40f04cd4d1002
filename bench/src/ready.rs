//! Waiting for sockets and reading from them, as every bare client over epoll does.

use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;

/// The usual limit of a wait, so that a loop notices the end of its time even if the server sends
/// nothing: 100 ms.
pub const READY_MAX: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Waits once, at most `limit`, and fills `events`, which stay empty if a signal ended the wait.
///
/// # Errors
/// If the system call fails.
#[inline]
pub fn await_events(
    epoll: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    limit: Timespec,
) -> io::Result<()> {
    events.clear();
    match epoll::wait(epoll, rustix::buffer::spare_capacity(events), Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The bytes that have arrived; `None` if none have.
///
/// # Errors
/// If the connection broke, or if the server closed it.
#[inline]
pub fn read<'a>(stream: &mut TcpStream, input: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
    match stream.read(input) {
        Ok(0) => Err(io::Error::other("the server closed a connection")),
        Ok(bytes) => Ok(Some(&input[..bytes])),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
