//! A receiver of points that accepts all and keeps none, so that the cost of sending them can be
//! measured without a database. It implements no more of HTTP than memtide uses.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program talks to its user.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;

const TAKEN: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("discard-server: {error}");
            ExitCode::from(3)
        }
    }
}

fn serve() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        // A sender that closes its connection ends the thread.
        thread::spawn(move || drop(take_all(&stream)));
    }
    Ok(())
}

/// Answers each request of a connection once it is whole.
fn take_all(mut stream: &TcpStream) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(word) = line.strip_prefix("content-length:") {
                length = word.trim().parse().map_err(io::Error::other)?;
            }
            if line.is_empty() {
                break;
            }
        }
        io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        stream.write_all(TAKEN)?;
    }
}
