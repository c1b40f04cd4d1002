//! A server of minimal cost: one thread; every get hits with the same value, and sets are
//! discarded. Clients are compared against it where a real server would be the bottleneck.
//!
//! It understands whole `get` and `set` lines, `version`, `quit` and a plain `stats`, which has
//! memcached's counters of gets and sets; anything else is `ERROR`.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program talks to its user.

use clap::{Arg, Command, value_parser};
use rustix::event::epoll;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;

const INPUT_BYTES: usize = 64 * 1024;
/// Connections that may wait to be accepted.
const WAITING_MAX: i32 = 4096;
/// The listener among the epoll's data; connections count from 0.
const LISTENER: u64 = u64::MAX;

fn main() -> ExitCode {
    let words = Command::new("null-server")
        .about("Answers memcached's get and set at the least cost")
        .arg(
            Arg::new("port")
                .long("port")
                .default_value("0")
                .value_parser(value_parser!(u16))
                .help("A port of 127.0.0.1; 0 takes a free one"),
        )
        .arg(
            Arg::new("value-bytes")
                .long("value-bytes")
                .default_value("200")
                .value_parser(value_parser!(u32).range(0..=1_000_000))
                .help("Bytes of every value"),
        )
        .get_matches();
    let port: u16 = *words.get_one("port").expect("it has a default");
    let value_bytes: u32 = *words.get_one("value-bytes").expect("it has a default");
    match serve((Ipv4Addr::LOCALHOST, port).into(), value_bytes as usize) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("null-server: {error}");
            ExitCode::from(3)
        }
    }
}

/// One connection, and the part of a request received so far.
struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
    filled: usize,
}

fn serve(address: SocketAddr, value_bytes: usize) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    // The standard library's queue for new connections is short; a client that opens hundreds at
    // once would be held up for seconds by those that the kernel drops.
    rustix::net::listen(&listener, WAITING_MAX)?;
    listener.set_nonblocking(true)?;
    println!("listening on {}", listener.local_addr()?);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(LISTENER);
    epoll::add(&epoll, &listener, data, epoll::EventFlags::IN)?;
    let mut peers: Vec<Option<Peer>> = Vec::new();
    let mut events = Vec::with_capacity(1024);
    let mut replies = Replies::new(value_bytes);
    let mut out = Vec::with_capacity(INPUT_BYTES);
    loop {
        events.clear();
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = event.data.u64();
            if number == LISTENER {
                accept(&listener, &epoll, &mut peers)?;
            } else if let Some(peer) = &mut peers[number as usize]
                && !matches!(answer(peer, &mut replies, &mut out), Ok(true))
            {
                peers[number as usize] = None;
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    epoll: &rustix::fd::OwnedFd,
    peers: &mut Vec<Option<Peer>>,
) -> io::Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        // Reads are done when epoll reports readiness; a send may block, which a healthy client
        // never causes.
        stream.set_nodelay(true)?;
        let number = peers.iter().position(Option::is_none).unwrap_or(peers.len());
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(epoll, &stream, data, epoll::EventFlags::IN)?;
        let peer = Some(Peer { stream, input: vec![0; INPUT_BYTES], filled: 0 });
        match peers.get_mut(number) {
            Some(place) => *place = peer,
            None => peers.push(peer),
        }
    }
}

/// Answers received requests; true if the connection continues.
fn answer(peer: &mut Peer, replies: &mut Replies, out: &mut Vec<u8>) -> io::Result<bool> {
    let bytes = peer.stream.read(&mut peer.input[peer.filled..])?;
    if bytes == 0 {
        return Ok(false);
    }
    peer.filled += bytes;
    out.clear();
    let mut taken = 0;
    while let Some(length) = replies.reply(&peer.input[taken..peer.filled], out) {
        taken += length;
    }
    if taken == 0 && peer.filled == peer.input.len() {
        return Err(io::Error::other("a request is longer than the buffer"));
    }
    peer.input.copy_within(taken..peer.filled, 0);
    peer.filled -= taken;
    peer.stream.write_all(out)?;
    Ok(!std::mem::take(&mut replies.is_quit))
}

/// The constant answers, and the counters over all connections.
struct Replies {
    /// The bytes after the key of a hit.
    after_key: Vec<u8>,
    /// Keys of gets.
    gets: u64,
    sets: u64,
    /// True if the present connection has sent `quit`.
    is_quit: bool,
}

impl Replies {
    fn new(value_bytes: usize) -> Self {
        let mut after_key = format!(" 0 {value_bytes}\r\n").into_bytes();
        after_key.resize(after_key.len() + value_bytes, b'v');
        after_key.extend_from_slice(b"\r\n");
        Self { after_key, gets: 0, sets: 0, is_quit: false }
    }

    /// Answers the request at the front of `input`; returns its length, or `None` if it is
    /// incomplete.
    fn reply(&mut self, input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let length = input.iter().position(|byte| *byte == b'\n')? + 1;
        let line = input[..length].trim_ascii_end();
        match line.split(|byte| *byte == b' ').next() {
            Some(b"get" | b"gets") => {
                for key in line.split(|byte| *byte == b' ').skip(1) {
                    out.extend_from_slice(b"VALUE ");
                    out.extend_from_slice(key);
                    out.extend_from_slice(&self.after_key);
                    self.gets += 1;
                }
                out.extend_from_slice(b"END\r\n");
            }
            Some(b"set") => {
                let digits = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
                let number =
                    |sum: usize, digit: &u8| sum * 10 + usize::from(digit.wrapping_sub(b'0'));
                let whole = length + digits.iter().fold(0, number) + 2;
                if input.len() < whole {
                    return None;
                }
                out.extend_from_slice(b"STORED\r\n");
                self.sets += 1;
                return Some(whole);
            }
            Some(b"stats") if line == b"stats" => self.tell_counters(out),
            Some(b"quit") => self.is_quit = true,
            Some(b"version") => out.extend_from_slice(b"VERSION null\r\n"),
            _ => out.extend_from_slice(b"ERROR\r\n"),
        }
        Some(length)
    }

    /// Counts gets as memcached does: keys, not commands; here each of them hits.
    fn tell_counters(&self, out: &mut Vec<u8>) {
        let counters = [
            ("cmd_get", self.gets),
            ("cmd_set", self.sets),
            ("get_hits", self.gets),
            ("get_misses", 0),
        ];
        for (name, count) in counters {
            out.extend_from_slice(format!("STAT {name} {count}\r\n").as_bytes());
        }
        out.extend_from_slice(b"END\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_and_told() {
        let mut replies = Replies::new(1);
        let input = b"get a b\r\nset c 0 0 1\r\nx\r\nget a\r\nstats\r\nquit\r\n";
        let (mut out, mut taken) = (Vec::new(), 0);
        while let Some(length) = replies.reply(&input[taken..], &mut out) {
            taken += length;
        }
        assert_eq!(taken, input.len());
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.starts_with("VALUE a 0 1\r\nv\r\nVALUE b 0 1\r\nv\r\nEND\r\nSTORED\r\n"));
        let told = "STAT cmd_get 3\r\nSTAT cmd_set 1\r\nSTAT get_hits 3\r\nSTAT get_misses 0\r\n";
        assert!(text.ends_with(&format!("{told}END\r\n")), "{text}");
        assert!(replies.is_quit);
    }
}
