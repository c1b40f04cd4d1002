//! The embedded server on real sockets: a few threads, each with an epoll of its own, that share
//! one listener and one store.

use crate::clock::{self, Clock};
use memtide_server::{Flow, Session, Store, StoreOptions};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// How the embedded server runs.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// How many threads; at least 1.
    pub threads: usize,
    /// Memory for items, in bytes.
    pub memory_bytes_max: u64,
    /// The largest item, in bytes.
    pub item_bytes_max: usize,
}

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The listener's number among the watched sockets; connections count from 1.
const LISTENER: u64 = 0;
const READY_MAX: usize = 256;
const RECEIVE_BYTES_MAX: usize = 64 * 1024;
/// How often a thread looks whether it should end.
const LOOK_UP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

impl Serving {
    /// Starts to listen and to serve. Fails when the address is taken or not ours.
    pub fn start(options: &ServeOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = Arc::new(listener);
        let store = Arc::new(Store::new(StoreOptions {
            memory_bytes_max: options.memory_bytes_max,
            item_bytes_max: options.item_bytes_max,
            shards: (options.threads * 4).next_power_of_two(),
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let clock = Clock::start();
        let threads = (0..options.threads)
            .map(|number| {
                let mut server = Server {
                    epoll: epoll::create(CreateFlags::CLOEXEC)?,
                    listener: Arc::clone(&listener),
                    store: Arc::clone(&store),
                    item_bytes_max: options.item_bytes_max,
                    clock,
                    peers: HashMap::new(),
                    next: LISTENER + 1,
                };
                let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
                epoll::add(&server.epoll, &*listener, EventData::new_u64(LISTENER), flags)?;
                store.thread_started();
                let stop = Arc::clone(&stop);
                thread::Builder::new()
                    .name(format!("server-{number}"))
                    .spawn(move || server.run(&stop))
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { address, stop, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

/// One thread of the server.
struct Server {
    epoll: OwnedFd,
    listener: Arc<TcpListener>,
    store: Arc<Store>,
    item_bytes_max: usize,
    clock: Clock,
    peers: HashMap<u64, Peer>,
    next: u64,
}

/// One client of the server.
struct Peer {
    stream: TcpStream,
    session: Session,
    /// Replies that the kernel has not taken.
    out: Vec<u8>,
    /// Close as soon as `out` is gone.
    closing: bool,
}

impl Server {
    fn run(&mut self, stop: &AtomicBool) {
        let mut ready = Vec::with_capacity(READY_MAX);
        let mut buffer = vec![0; RECEIVE_BYTES_MAX];
        while !stop.load(Ordering::Relaxed) {
            ready.clear();
            let spare = rustix::buffer::spare_capacity(&mut ready);
            match epoll::wait(&self.epoll, spare, Some(&LOOK_UP)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => panic!("epoll_wait on our own epoll failed: {errno}"),
            }
            for event in &ready {
                let (number, flags) = (event.data.u64(), event.flags);
                if number == LISTENER {
                    self.accept();
                } else if self.attend(number, flags, &mut buffer).is_err()
                    && self.peers.remove(&number).is_some()
                {
                    self.store.connection_closed();
                }
            }
        }
    }

    fn accept(&mut self) {
        // When nobody waits any more, or files have run out, the next event brings us back.
        while let Ok((stream, _)) = self.listener.accept() {
            let number = self.next;
            let watched = stream
                .set_nonblocking(true)
                .and_then(|()| stream.set_nodelay(true))
                .and_then(|()| {
                    let data = EventData::new_u64(number);
                    Ok(epoll::add(&self.epoll, &stream, data, EventFlags::IN)?)
                });
            if watched.is_ok() {
                self.next += 1;
                self.store.connection_opened();
                let session = Session::new(self.item_bytes_max);
                self.peers
                    .insert(number, Peer { stream, session, out: Vec::new(), closing: false });
            }
        }
    }

    /// Reads and answers; an error means that the connection is over.
    fn attend(&mut self, number: u64, flags: EventFlags, buffer: &mut [u8]) -> Result<(), Errno> {
        let Some(peer) = self.peers.get_mut(&number) else { return Ok(()) };
        let behind = !peer.out.is_empty();
        if !behind && !flags.contains(EventFlags::OUT) {
            let (len, _) = match recv(&peer.stream, &mut buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => return Err(Errno::PIPE),
                Ok(read) => read,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(errno) => return Err(errno),
            };
            let clock = memtide_server::Clock {
                now: self.clock.now(),
                unix_s: clock::since_unix().ns() / 1_000_000_000,
            };
            let flow = peer.session.handle_bytes(clock, &buffer[..len], &self.store, &mut peer.out);
            peer.closing = flow == Flow::Close;
        }
        match send(&peer.stream, &peer.out, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == peer.out.len() => peer.out.clear(),
            Ok(sent) => drop(peer.out.drain(..sent)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if peer.out.is_empty() && peer.closing {
            return Err(Errno::PIPE);
        }
        // Nothing more is read from a client that does not take its replies.
        let wanted = if peer.out.is_empty() { EventFlags::IN } else { EventFlags::OUT };
        if behind == peer.out.is_empty() {
            epoll::modify(&self.epoll, &peer.stream, EventData::new_u64(number), wanted)?;
        }
        Ok(())
    }
}
