//! Start-up of a bare client: connect, fill, and check that the server answers as expected.
//!
//! Everything here blocks and happens before anything is counted.

use crate::pattern::Pattern;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server that does not answer the fill for this long is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stores every key of `pattern` at `server` and reads one of them back.
///
/// # Errors
/// If the server cannot be reached, sends nothing, or sends other replies than those with the
/// pattern's constant lengths.
pub fn fill(server: SocketAddr, pattern: &Pattern) -> io::Result<()> {
    fill_over(&mut patient(server)?, pattern)
}

/// A blocking connection to `server` that waits for a limited time.
///
/// # Errors
/// If the server cannot be reached.
pub fn patient(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Does what [`fill`] does, over a connection that is open already.
///
/// # Errors
/// If the server sends nothing, or other replies.
pub fn fill_over(stream: &mut (impl Read + Write), pattern: &Pattern) -> io::Result<()> {
    let (requests, reply_bytes) = pattern.fill();
    stream.write_all(&requests)?;
    let mut replies = vec![0; reply_bytes];
    stream.read_exact(&mut replies)?;
    if !pattern.is_filled(&replies) {
        return Err(Error::other("did not store every key; is its memory full?"));
    }
    let (request, expected) = pattern.probe();
    stream.write_all(&request)?;
    let mut reply = vec![0; expected.len()];
    stream.read_exact(&mut reply)?;
    if reply != expected {
        return Err(Error::other("does not answer a get with what was set"));
    }
    Ok(())
}

/// Opens `count` connections to `server`, non-blocking and without Nagle's delay. Raises the
/// process's limit of open files as far as possible.
///
/// # Errors
/// If a connection cannot be opened or prepared.
pub fn connect(server: SocketAddr, count: usize) -> io::Result<Vec<TcpStream>> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let one = || {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    (0..count).map(|_| one()).collect()
}
