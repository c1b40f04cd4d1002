//! The bare epoll client: one thread, prebuilt requests, a sliding window per connection.
//!
//! After each readable event it counts bytes and sends one request for each reply they complete.
//! It parses nothing and times nothing, so what it costs is what the system calls cost.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program talks to its user.

use clap::{Arg, ArgMatches, Command, value_parser};
use memtide_bench::pattern::{Cursor, Pattern, Shape};
use memtide_bench::{peer, usage};
use rustix::event::epoll;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The clock is read once in this many turns of the loop, to see whether the time is up.
const TURNS_PER_LOOK: u32 = 256;

fn main() -> ExitCode {
    let words = command().get_matches();
    match run(&words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bare-epoll: {error}");
            ExitCode::from(3)
        }
    }
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .default_value(default)
            .value_parser(value_parser!(u32).range(0..))
            .help(help)
    };
    let positive = |name, default, help| {
        number(name, default, help).value_parser(value_parser!(u32).range(1..=1_000_000))
    };
    Command::new("bare-epoll")
        .about("The floor of what a memcached client costs: sends, counts bytes, sends again")
        .arg(
            Arg::new("server")
                .short('s')
                .long("server")
                .value_name("ADDRESS")
                .default_value("127.0.0.1:11211")
                .value_parser(value_parser!(SocketAddr))
                .help("An IP address and port"),
        )
        .arg(positive("connections", "16", "Connections"))
        .arg(positive("depth", "1", "Outstanding requests per connection"))
        .arg(positive("keys", "1000", "Distinct keys, stored before the run"))
        .arg(
            number("key-bytes", "30", "Bytes of each key")
                .value_parser(value_parser!(u32).range(14..=250)),
        )
        .arg(
            number("value-bytes", "200", "Bytes of each value")
                .value_parser(value_parser!(u32).range(0..=1_000_000)),
        )
        .arg(number("set-every", "10", "One request in N is a set; 0 sends gets only"))
        .arg(positive("multiget", "1", "Keys that each get asks for"))
        .arg(number("ops", "0", "Stop after N operations; 0 for no such limit"))
        .arg(positive("seconds", "10", "Stop after N seconds"))
}

fn run(words: &ArgMatches) -> io::Result<String> {
    let number = |name: &str| *words.get_one::<u32>(name).expect("every number has a default");
    let server = *words.get_one::<SocketAddr>("server").expect("the server has a default");
    let pattern = Pattern::new(Shape {
        keys: number("keys") as usize,
        key_bytes: number("key-bytes") as usize,
        value_bytes: number("value-bytes") as usize,
        set_every: number("set-every") as usize,
        keys_per_get: number("multiget") as usize,
        depth: number("depth") as usize,
    });
    let unreachable = |error: io::Error| io::Error::new(error.kind(), format!("{server}: {error}"));
    peer::fill(server, &pattern).map_err(unreachable)?;
    let streams = peer::connect(server, number("connections") as usize).map_err(unreachable)?;
    let mut client = Client::new(&pattern, streams)?;
    let ops_max = match number("ops") {
        0 => u64::MAX,
        ops => u64::from(ops),
    };
    let time_max = Duration::from_secs(u64::from(number("seconds")));

    let cpu_before = usage::Cpu::used();
    let began = Instant::now();
    client.send_first()?;
    let mut turns = 0u32;
    while client.ops < ops_max {
        let events = client.turn()?;
        turns = turns.wrapping_add(1);
        let look = events == 0 || turns.is_multiple_of(TURNS_PER_LOOK);
        if look && began.elapsed() >= time_max {
            break;
        }
    }
    let wall_s = began.elapsed().as_secs_f64();
    let cpu = usage::Cpu::used().since(cpu_before);
    let rss = usage::rss_max_bytes().map_or("null".to_owned(), |bytes| bytes.to_string());
    Ok(format!(
        "{{\"ops\":{},\"wall_s\":{wall_s:.6},\"cpu_user_s\":{:.6},\"cpu_system_s\":{:.6},\
         \"rss_max_bytes\":{rss}}}",
        client.ops, cpu.user_s, cpu.system_s
    ))
}

struct Peer {
    stream: TcpStream,
    cursor: Cursor,
    /// Whether epoll also tells when this socket can be written again.
    awaits_room: bool,
}

struct Client<'a> {
    pattern: &'a Pattern,
    peers: Vec<Peer>,
    epoll: rustix::fd::OwnedFd,
    events: Vec<epoll::Event>,
    input: Vec<u8>,
    /// Replies received whole.
    ops: u64,
}

impl<'a> Client<'a> {
    fn new(pattern: &'a Pattern, streams: Vec<TcpStream>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let count = streams.len();
        let mut peers = Vec::with_capacity(count);
        for (index, stream) in streams.into_iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, &stream, data, epoll::EventFlags::IN)?;
            // Connections start apart from each other, so that they do not set in step.
            let cursor = Cursor::new(pattern, index * pattern.len() / count);
            peers.push(Peer { stream, cursor, awaits_room: false });
        }
        let events = Vec::with_capacity(count.clamp(16, 1024));
        Ok(Self { pattern, peers, epoll, events, input: vec![0; 64 * 1024], ops: 0 })
    }

    /// Opens every connection's window.
    fn send_first(&mut self) -> io::Result<()> {
        (0..self.peers.len()).try_for_each(|index| self.send(index))
    }

    /// Waits once and serves all that is ready; returns how many sockets that were.
    fn turn(&mut self) -> io::Result<usize> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        // So that a server that fell silent cannot keep the loop from seeing that time is up.
        let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
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

    fn receive(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let bytes = match peer.stream.read(&mut self.input) {
            Ok(0) => return Err(io::Error::other("the server closed a connection")),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let completed = peer.cursor.handle_received(self.pattern, bytes);
        self.ops += completed as u64;
        if completed > 0 { self.send(index) } else { Ok(()) }
    }

    fn send(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let unsent = peer.cursor.unsent(self.pattern);
        let written = match peer.stream.write(unsent) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let is_full = written < unsent.len();
        peer.cursor.handle_sent(self.pattern, written);
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
