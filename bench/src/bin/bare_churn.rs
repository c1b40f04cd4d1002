//! The bare client of connection churn: connect, write, read, close, repeat.
//!
//! It sends prebuilt gets in one write, counts the bytes of their replies, and resets the
//! connection. It neither parses nor measures times, so its cost is that of the system calls.

use clap::Command;
use memtide_bench::pattern::{Pattern, Shape};
use memtide_bench::ready::{READY_MAX, await_events};
use memtide_bench::{front, peer, usage};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    front::exit("bare-churn", run())
}

/// Runs until the time is up; returns its counts and its resource use as a line of JSON.
fn run() -> io::Result<String> {
    let words = Command::new("bare-churn")
        .about("The least that connection churn can cost a memcached client")
        .arg(front::server())
        .arg(front::positive("connections", "16", "Connections at a time"))
        .arg(front::positive("calls", "10", "Gets on each, in one write"))
        .arg(front::positive("seconds", "10", "Stop after N seconds"))
        .get_matches();
    let number = |name| front::number_of(&words, name);
    let server = front::server_of(&words);
    let pattern = Pattern::new(Shape::gets(1_000));
    peer::fill(server, &pattern)?;
    let (get, reply) = pattern.probe();
    let calls = number("calls") as usize;
    let mut client = Client {
        server,
        request: get.repeat(calls),
        reply_bytes: reply.len() * calls,
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        slots: (0..number("connections")).map(|_| None).collect(),
        input: vec![0; 64 * 1024],
        completed: 0,
    };
    let time_max = Duration::from_secs(u64::from(number("seconds")));
    let cpu_before = usage::Cpu::used();
    let began = Instant::now();
    for slot in 0..client.slots.len() {
        client.open(slot)?;
    }
    let mut events = Vec::with_capacity(client.slots.len());
    while began.elapsed() < time_max {
        client.turn(&mut events)?;
    }
    Ok(front::figures("connections", client.completed, (began, cpu_before)))
}

struct Client {
    server: SocketAddr,
    request: Vec<u8>,
    reply_bytes: usize,
    epoll: OwnedFd,
    slots: Vec<Option<Connection>>,
    input: Vec<u8>,
    /// Connections that have received all their replies.
    completed: u64,
}

struct Connection {
    socket: OwnedFd,
    /// Bytes received; `None` while it connects.
    received: Option<usize>,
}

impl Client {
    fn open(&mut self, slot: usize) -> io::Result<()> {
        let family = if self.server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let tcp = Some(ipproto::TCP);
        let socket = net::socket_with(family, SocketType::STREAM, flags, tcp)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match net::connect(&socket, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let data = EventData::new_u64(slot as u64);
        epoll::add(&self.epoll, &socket, data, EventFlags::OUT)?;
        self.slots[slot] = Some(Connection { socket, received: None });
        Ok(())
    }

    /// Waits once, at most 100 ms, and serves all ready connections.
    fn turn(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        await_events(&self.epoll, events, READY_MAX)?;
        events.iter().try_for_each(|event| self.serve(event.data.u64() as usize))
    }

    fn serve(&mut self, slot: usize) -> io::Result<()> {
        let Some(connection) = &mut self.slots[slot] else { return Ok(()) };
        let Some(received) = &mut connection.received else {
            sockopt::socket_error(&connection.socket)??;
            let sent = net::send(&connection.socket, &self.request, net::SendFlags::NOSIGNAL)?;
            if sent < self.request.len() {
                return Err(io::Error::other("a new connection did not take a few requests"));
            }
            connection.received = Some(0);
            let data = EventData::new_u64(slot as u64);
            return Ok(epoll::modify(&self.epoll, &connection.socket, data, EventFlags::IN)?);
        };
        match net::recv(&connection.socket, &mut self.input[..], net::RecvFlags::empty()) {
            Ok((0, _)) => return Err(io::Error::other("the server closed a connection")),
            Ok((bytes, _)) => *received += bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if *received < self.reply_bytes {
            return Ok(());
        }
        sockopt::set_socket_linger(&connection.socket, Some(Duration::ZERO))?;
        self.slots[slot] = None;
        self.completed += 1;
        self.open(slot)
    }
}
