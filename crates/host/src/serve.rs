//! The embedded server on real sockets: a few threads, each with an epoll of its own, that share
//! one listener and one store; the first also has the socket for datagrams. The crate `server`
//! decides the answers and when they leave.

mod thread;
mod datagrams;
mod peer;
mod sealed;
mod shared;

use crate::clock::Clock;
use crate::machine::pin;
use datagrams::UdpSide;
use memtide_server::{ProfileState, ServerProfile, Store, StoreOptions};
use memtide_world::FilterPlan;
use rustix::thread::{Pid, gettid};
use shared::Shared;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use thread::Server;

/// Options of the embedded server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen at; port 0 selects a free port.
    pub listen: SocketAddr,
    /// True to answer datagrams at the same port number too.
    pub udp: bool,
    /// The number of threads; at least 1.
    pub threads: usize,
    /// Memory for items, in bytes.
    pub memory_bytes_max: u64,
    /// The largest item, in bytes.
    pub item_bytes_max: usize,
    /// The filter of every stream, such as encryption.
    pub filter: Option<FilterPlan>,
}

/// The number of ports tried to find one that is free for TCP and UDP.
const ATTEMPTS: usize = 50;

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// The kernel's ids of the threads.
    ids: Vec<Pid>,
}

impl Serving {
    /// Starts to listen and to serve. Fails if the address is in use or not of this machine.
    ///
    /// A server with a behaviour sends answers at their instants: its threads sleep until shortly
    /// before the next one and then spin.
    pub fn start(options: &ServeOptions, profile: ServerProfile) -> io::Result<Self> {
        let (listener, socket) = listen(options)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let store = Store::new(StoreOptions {
            memory_bytes_max: options.memory_bytes_max,
            item_bytes_max: options.item_bytes_max,
            shards: (options.threads * 4).next_power_of_two(),
        });
        let plain = profile.is_plain();
        let shared = Arc::new(Shared {
            listener,
            store,
            item_bytes_max: options.item_bytes_max,
            filter: options.filter.clone(),
            clock: Clock::start(),
            profile: (!plain).then(|| Mutex::new(ProfileState::new(profile))),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let mut udp =
            socket.map(|socket| UdpSide::new(socket, options.item_bytes_max)).transpose()?;
        let (tell, told) = channel();
        let threads = (0..options.threads)
            .map(|number| {
                let mut server = Server::new(Arc::clone(&shared), udp.take())?;
                let (stop, tell) = (Arc::clone(&stop), tell.clone());
                std::thread::Builder::new().name(format!("server-{number}")).spawn(move || {
                    // The receiver exists until each thread has sent.
                    let _ = tell.send(gettid());
                    server.run(&stop);
                })
            })
            .collect::<io::Result<Vec<_>>>()?;
        let ids = told.iter().take(threads.len()).collect();
        Ok(Self { address, stop, threads, ids })
    }

    /// Pins the server's threads to processor `cpu`. Fails if the kernel forbids it.
    pub fn keep_on(&self, cpu: usize) -> io::Result<()> {
        self.ids.iter().try_for_each(|&id| Ok(pin::keep(Some(id), &[cpu])?))
    }

    /// The kernel's ids of its threads.
    pub fn threads(&self) -> Vec<u32> {
        self.ids.iter().map(|id| id.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A listener and, if wanted, a socket for datagrams with the same port.
fn listen(options: &ServeOptions) -> io::Result<(TcpListener, Option<UdpSocket>)> {
    let mut attempts = if options.listen.port() == 0 { ATTEMPTS } else { 1 };
    loop {
        let listener = TcpListener::bind(options.listen)?;
        if !options.udp {
            return Ok((listener, None));
        }
        attempts -= 1;
        match UdpSocket::bind(listener.local_addr()?) {
            Ok(socket) => return Ok((listener, Some(socket))),
            Err(error) if attempts == 0 || error.kind() != io::ErrorKind::AddrInUse => {
                return Err(error);
            }
            Err(_) => {}
        }
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

#[cfg(test)]
mod tests;
