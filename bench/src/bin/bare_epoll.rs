//! The bare epoll client: one thread, prebuilt requests, a sliding window per connection.
//!
//! After each readable event it counts bytes and sends one request for each reply that they
//! complete (or, as an option, a whole window once its last reply is complete). It neither parses
//! nor measures times, so its cost is that of the system calls.

use memtide_bench::front::{self, Client};
use memtide_bench::pattern::{Cursor, Pattern};
use memtide_bench::ready::{READY_MAX, await_events, read};
use rustix::event::epoll;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = front::command("bare-epoll").get_matches();
    front::exit("bare-epoll", front::run(&words, EpollClient::new))
}

struct Peer {
    stream: TcpStream,
    cursor: Cursor,
    /// True if epoll also reports when this socket can be written again.
    awaits_room: bool,
}

struct EpollClient {
    pattern: Pattern,
    peers: Vec<Peer>,
    epoll: rustix::fd::OwnedFd,
    events: Vec<epoll::Event>,
    input: Vec<u8>,
    /// Complete replies.
    ops: u64,
}

impl Client for EpollClient {
    fn send_first(&mut self) -> io::Result<()> {
        (0..self.peers.len()).try_for_each(|index| self.send(index))
    }

    fn turn(&mut self) -> io::Result<usize> {
        let mut events = std::mem::take(&mut self.events);
        await_events(&self.epoll, &mut events, READY_MAX)?;
        for event in &events {
            let (index, flags) = (event.data.u64() as usize, event.flags);
            if flags.contains(epoll::EventFlags::OUT) {
                self.send(index)?;
            }
            let readable = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            if flags.intersects(readable) {
                self.receive(index)?;
            }
        }
        let count = events.len();
        self.events = events;
        Ok(count)
    }

    fn ops(&self) -> u64 {
        self.ops
    }
}

impl EpollClient {
    fn new(pattern: Pattern, streams: Vec<TcpStream>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let count = streams.len();
        let mut peers = Vec::with_capacity(count);
        for (index, stream) in streams.into_iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, &stream, data, epoll::EventFlags::IN)?;
            // Connections start at different requests, so that their sets do not coincide.
            let cursor = Cursor::new(&pattern, index * pattern.len() / count);
            peers.push(Peer { stream, cursor, awaits_room: false });
        }
        let events = Vec::with_capacity(count.clamp(16, 1024));
        Ok(Self { pattern, peers, epoll, events, input: vec![0; 64 * 1024], ops: 0 })
    }

    fn receive(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let Some(bytes) = read(&mut peer.stream, &mut self.input)? else { return Ok(()) };
        let completed = peer.cursor.handle_received(&self.pattern, bytes.len());
        self.ops += completed as u64;
        if completed > 0 { self.send(index) } else { Ok(()) }
    }

    fn send(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let unsent = peer.cursor.unsent(&self.pattern);
        if unsent.is_empty() {
            return Ok(());
        }
        let written = match peer.stream.write(unsent) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let is_full = written < unsent.len();
        peer.cursor.handle_sent(&self.pattern, written);
        if is_full != peer.awaits_room {
            let wanted = if is_full {
                epoll::EventFlags::IN | epoll::EventFlags::OUT
            } else {
                epoll::EventFlags::IN
            };
            let data = epoll::EventData::new_u64(index as u64);
            epoll::modify(&self.epoll, &peer.stream, data, wanted)?;
            peer.awaits_room = is_full;
        }
        Ok(())
    }
}
