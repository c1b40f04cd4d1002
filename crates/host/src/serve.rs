//! The embedded server on real sockets: a few threads, each with an epoll of its own, that share
//! one listener and one store. What it answers, and when, is decided below.

mod peer;
mod thread;

use crate::clock::Clock;
use memtide_server::{Conduct, ConductState, Store, StoreOptions};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use thread::{Server, Shared};

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

impl Serving {
    /// Starts to listen and to serve. Fails when the address is taken or not ours.
    ///
    /// A server that takes its time lets answers leave at their instants: its threads sleep until
    /// shortly before the next one and then spin.
    pub fn start(options: &ServeOptions, conduct: Conduct) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let store = Store::new(StoreOptions {
            memory_bytes_max: options.memory_bytes_max,
            item_bytes_max: options.item_bytes_max,
            shards: (options.threads * 4).next_power_of_two(),
        });
        let plain = conduct.is_plain();
        let shared = Arc::new(Shared {
            listener,
            store,
            item_bytes_max: options.item_bytes_max,
            clock: Clock::start(),
            conduct: (!plain).then(|| Mutex::new(ConductState::new(conduct))),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..options.threads)
            .map(|number| {
                let mut server = Server::new(Arc::clone(&shared))?;
                let stop = Arc::clone(&stop);
                std::thread::Builder::new()
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

#[cfg(test)]
mod tests;
