//! The bare client over TLS, on the library that memtide uses: prebuilt requests, a sliding window
//! per connection, or a handshake for each few requests. It neither parses nor measures times, so
//! its cost is that of the library and the system calls. It counts the library's allocations, and
//! makes the certificate of the server.
#![expect(unsafe_code, reason = "it counts allocations")]

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use memtide_bench::front::{self, Client};
use memtide_bench::pattern::{Cursor, Pattern};
use memtide_bench::ready::{READY_MAX, await_events, read};
use memtide_bench::{peer, usage};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io::{self, BufRead, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The allocations of this program, which has one thread.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.store(ALLOCATIONS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let words = front::command("bare-tls")
        .arg(
            Arg::new("folder")
                .long("folder")
                .value_parser(value_parser!(PathBuf))
                .required(true)
                .help("Where server.pem and server.key are"),
        )
        .arg(flag("certificate", "Instead: make server.pem and server.key"))
        .arg(front::positive("calls", "1", "Gets of each connection, which is then closed"))
        .arg(flag("churn", "Open a connection for each few gets"))
        .arg(flag("full", "Never resume a session"))
        .get_matches();
    let outcome = match (words.get_flag("certificate"), words.get_flag("churn")) {
        (true, _) => certificate(&words),
        (_, true) => churn(&words),
        _ => stay(&words),
    };
    front::exit("bare-tls", outcome)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn folder(words: &ArgMatches) -> &PathBuf {
    words.get_one("folder").expect("it is required")
}

/// Makes a certificate for servers on this machine.
fn certificate(words: &ArgMatches) -> io::Result<String> {
    let made = memtide_tls::made(&["localhost", "127.0.0.1"]).map_err(io::Error::other)?;
    fs::create_dir_all(folder(words))?;
    fs::write(folder(words).join("server.pem"), made.chain)?;
    fs::write(folder(words).join("server.key"), made.key)?;
    Ok("{}".to_owned())
}

/// The settings of all connections.
fn config(words: &ArgMatches) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let own = CertificateDer::from_pem_file(folder(words).join("server.pem"));
    roots.add(own.map_err(io::Error::other)?).map_err(io::Error::other)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    if words.get_flag("full") {
        config.resumption = Resumption::disabled();
    }
    Ok(Arc::new(config))
}

/// A new end, before its handshake.
fn end(config: &Arc<ClientConfig>, server: SocketAddr) -> io::Result<ClientConnection> {
    let name = ServerName::IpAddress(server.ip().into());
    let mut end = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    end.set_buffer_limit(None);
    Ok(end)
}

/// Fills the server, and does the figures of a run without the allocations before it.
fn filled(words: &ArgMatches, config: &Arc<ClientConfig>, pattern: &Pattern) -> io::Result<()> {
    let server = front::server_of(words);
    let mut stream = StreamOwned::new(end(config, server)?, peer::patient(server)?);
    peer::fill_over(&mut stream, pattern)
}

/// Adds the allocations since `before` to a line of figures.
fn with_allocations(line: &str, before: u64) -> String {
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    format!("{},\"allocations\":{count}}}", line.trim_end_matches('}'))
}

/// Connections that stay, each with a window.
fn stay(words: &ArgMatches) -> io::Result<String> {
    let (config, server) = (config(words)?, front::server_of(words));
    let pattern = front::pattern_of(words);
    filled(words, &config, &pattern)?;
    let count = front::number_of(words, "connections") as usize;
    let mut client = Windows {
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        events: Vec::with_capacity(count.clamp(16, 1024)),
        peers: Vec::with_capacity(count),
        input: vec![0; 64 * 1024],
        ops: 0,
        pattern,
    };
    for (index, mut stream) in peer::connect(server, count)?.into_iter().enumerate() {
        let mut end = end(&config, server)?;
        stream.set_nonblocking(false)?;
        while end.is_handshaking() {
            end.complete_io(&mut stream)?;
        }
        stream.set_nonblocking(true)?;
        let data = EventData::new_u64(index as u64);
        epoll::add(&client.epoll, &stream, data, EventFlags::IN)?;
        let cursor = Cursor::new(&client.pattern, index * client.pattern.len() / count);
        client.peers.push(Peer { stream, end, cursor, wire: Vec::new(), sent: 0 });
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    Ok(with_allocations(&front::drive(client, words)?, before))
}

struct Peer {
    stream: TcpStream,
    end: ClientConnection,
    cursor: Cursor,
    /// Encrypted bytes, of which the first `sent` are sent.
    wire: Vec<u8>,
    sent: usize,
}

struct Windows {
    pattern: Pattern,
    peers: Vec<Peer>,
    epoll: rustix::fd::OwnedFd,
    events: Vec<epoll::Event>,
    input: Vec<u8>,
    /// Complete replies.
    ops: u64,
}

impl Client for Windows {
    fn send_first(&mut self) -> io::Result<()> {
        (0..self.peers.len()).try_for_each(|index| self.send(index))
    }

    fn turn(&mut self) -> io::Result<usize> {
        let mut events = std::mem::take(&mut self.events);
        await_events(&self.epoll, &mut events, READY_MAX)?;
        for event in &events {
            let (index, flags) = (event.data.u64() as usize, event.flags);
            if flags.contains(EventFlags::OUT) {
                self.send(index)?;
            }
            if !flags.difference(EventFlags::OUT).is_empty() {
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

impl Windows {
    fn receive(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let Some(wire) = read(&mut peer.stream, &mut self.input)? else { return Ok(()) };
        let bytes = decrypt(&mut peer.end, wire)?;
        let completed = peer.cursor.handle_received(&self.pattern, bytes);
        self.ops += completed as u64;
        if completed > 0 { self.send(index) } else { Ok(()) }
    }

    fn send(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let was_full = peer.sent < peer.wire.len();
        if !was_full {
            (peer.sent, _) = (0, peer.wire.clear());
            let unsent = peer.cursor.unsent(&self.pattern);
            if unsent.is_empty() {
                return Ok(());
            }
            encrypt(&mut peer.end, unsent, &mut peer.wire)?;
            let all = unsent.len();
            peer.cursor.handle_sent(&self.pattern, all);
        }
        match peer.stream.write(&peer.wire[peer.sent..]) {
            Ok(bytes) => peer.sent += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let is_full = peer.sent < peer.wire.len();
        if is_full != was_full {
            let room = if is_full { EventFlags::OUT } else { EventFlags::empty() };
            let data = EventData::new_u64(index as u64);
            epoll::modify(&self.epoll, &peer.stream, data, EventFlags::IN | room)?;
        }
        Ok(())
    }
}

/// Decrypts received bytes; returns the number of bytes that were in them.
fn decrypt(end: &mut ClientConnection, mut wire: &[u8]) -> io::Result<usize> {
    let mut plain = 0;
    while !wire.is_empty() {
        end.read_tls(&mut wire)?;
        end.process_new_packets().map_err(io::Error::other)?;
        let mut reader = end.reader();
        while let Ok(chunk) = reader.fill_buf()
            && !chunk.is_empty()
        {
            let bytes = chunk.len();
            plain += bytes;
            reader.consume(bytes);
        }
    }
    Ok(plain)
}

/// Appends the encrypted form of `plain`, and what the library says by itself.
fn encrypt(end: &mut ClientConnection, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
    end.writer().write_all(plain)?;
    while end.wants_write() {
        end.write_tls(wire)?;
    }
    Ok(())
}

/// Connections of a few gets each.
fn churn(words: &ArgMatches) -> io::Result<String> {
    let (config, server) = (config(words)?, front::server_of(words));
    let pattern = front::pattern_of(words);
    filled(words, &config, &pattern)?;
    let (get, reply) = pattern.probe();
    let calls = front::number_of(words, "calls") as usize;
    let slots = front::number_of(words, "connections") as usize;
    let mut client = Churn {
        server,
        config,
        request: get.repeat(calls),
        reply_bytes: reply.len() * calls,
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        slots: Vec::with_capacity(slots),
        input: vec![0; 64 * 1024],
        completed: 0,
    };
    let time_max = Duration::from_secs(u64::from(front::number_of(words, "seconds")));
    let (cpu_before, began) = (usage::Cpu::used(), Instant::now());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for slot in 0..slots {
        let connection = client.open(slot)?;
        client.slots.push(connection);
    }
    let mut events = Vec::with_capacity(slots);
    while began.elapsed() < time_max {
        await_events(&client.epoll, &mut events, READY_MAX)?;
        events.iter().try_for_each(|event| client.serve(event.data.u64() as usize))?;
    }
    let line = front::figures("connections", client.completed, (began, cpu_before));
    Ok(with_allocations(&line, before))
}

struct Churn {
    server: SocketAddr,
    config: Arc<ClientConfig>,
    request: Vec<u8>,
    reply_bytes: usize,
    epoll: rustix::fd::OwnedFd,
    slots: Vec<Connection>,
    input: Vec<u8>,
    /// Connections that have received all their replies.
    completed: u64,
}

struct Connection {
    stream: TcpStream,
    end: ClientConnection,
    has_asked: bool,
    /// Bytes of replies.
    received: usize,
}

impl Churn {
    /// A new connection, which has begun its handshake.
    fn open(&self, slot: usize) -> io::Result<Connection> {
        // On loopback a connect is over at once.
        let mut stream = TcpStream::connect(self.server)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll::add(&self.epoll, &stream, EventData::new_u64(slot as u64), EventFlags::IN)?;
        let mut end = end(&self.config, self.server)?;
        send(&mut stream, &mut end, &[])?;
        Ok(Connection { stream, end, has_asked: false, received: 0 })
    }

    fn serve(&mut self, slot: usize) -> io::Result<()> {
        let Connection { stream, end, has_asked, received } = &mut self.slots[slot];
        let Some(wire) = read(stream, &mut self.input)? else { return Ok(()) };
        *received += decrypt(end, wire)?;
        let asks = !end.is_handshaking() && !std::mem::replace(has_asked, !end.is_handshaking());
        send(stream, end, if asks { &self.request } else { &[] })?;
        if *received < self.reply_bytes {
            return Ok(());
        }
        rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO))?;
        self.completed += 1;
        self.slots[slot] = self.open(slot)?;
        Ok(())
    }
}

/// Sends `plain` and what the library says by itself; a new connection takes this much.
fn send(stream: &mut TcpStream, end: &mut ClientConnection, plain: &[u8]) -> io::Result<()> {
    let mut wire = Vec::new();
    encrypt(end, plain, &mut wire)?;
    if wire.is_empty() { Ok(()) } else { stream.write_all(&wire) }
}
