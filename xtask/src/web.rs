//! Requests to a page of memtide on this machine, in plain HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait for the page to be served.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Connects, once something listens.
pub(crate) fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return Ok(stream),
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
            Err(why) => return Err(format!("nothing listens at {address}: {why}")),
        }
    }
}

/// Asks for `path`, once something listens; what comes is read from the stream.
pub(crate) fn ask(address: SocketAddr, path: &str) -> Result<TcpStream, String> {
    let mut stream = connect(address)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|why| format!("{address}{path}: {why}"))?;
    Ok(stream)
}

/// The page at `path`, without the head of the answer.
pub(crate) fn page(address: SocketAddr, path: &str) -> Result<String, String> {
    let mut answer = String::new();
    ask(address, path)?
        .read_to_string(&mut answer)
        .map_err(|why| format!("{address}{path}: {why}"))?;
    match answer.split_once("\r\n\r\n") {
        Some((head, page)) if head.contains(" 200 ") => Ok(page.to_owned()),
        _ => Err(format!("{address}{path} has no page: {answer}")),
    }
}
