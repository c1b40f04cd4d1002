//! A small world for tests: a virtual clock, a network without jitter, and the embedded server
//! behind it. What goes wrong, and when, is written in a [`Script`] beforehand.

mod driver;

pub use driver::{Sent, WorldDriver};

use memtide_base::{Instant, Span};
use memtide_engine::{Sample, SocketOptions};
use memtide_server::{Store, StoreOptions};
use std::cell::RefCell;
use std::rc::Rc;

/// A stretch of time, from its first instant to the first after it.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub from: Instant,
    pub to: Instant,
}

impl Stretch {
    pub fn ms(from: u64, to: u64) -> Self {
        Self { from: ms(from), to: ms(to) }
    }

    pub fn holds(self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }
}

/// The instant `at` milliseconds after the world's beginning.
pub fn ms(at: u64) -> Instant {
    Instant::ZERO + Span::from_ms(at)
}

/// How the world behaves.
#[derive(Clone, Debug)]
pub struct Script {
    /// From a request's sending to its reply's arrival.
    pub delay: Span,
    /// The server does nothing; what reaches it meanwhile is answered at the end.
    pub server_stops: Vec<Stretch>,
    /// The worker does not run: a wait that would end within ends late.
    pub worker_stops: Vec<Stretch>,
    /// The network takes no bytes; what is submitted meanwhile is sent at the end.
    pub unwritable: Option<Stretch>,
    /// Connects are refused.
    pub refuses: Option<Stretch>,
    /// The server closes connections at these instants.
    pub closes: Vec<(Instant, u32)>,
    /// From here on the server says this instead of what it should.
    pub says: Option<(Instant, &'static [u8])>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            delay: Span::from_us(100),
            server_stops: Vec::new(),
            worker_stops: Vec::new(),
            unwritable: None,
            refuses: None,
            closes: Vec::new(),
            says: None,
        }
    }
}

/// What all drivers of a world share.
#[derive(Clone)]
pub struct World {
    pub script: Rc<Script>,
    pub store: Rc<Store>,
    pub seen: Rc<RefCell<Seen>>,
}

/// What drivers were asked to do.
#[derive(Default)]
pub struct Seen {
    pub sent: Vec<Sent>,
    pub connects: Vec<(Instant, u32)>,
    /// How the last of them wanted its socket.
    pub sockets: SocketOptions,
    pub samples: Vec<Sample>,
}

impl World {
    pub fn new(script: Script) -> Self {
        let options =
            StoreOptions { memory_bytes_max: 64 << 20, item_bytes_max: 1 << 20, shards: 1 };
        Self { script: Rc::new(script), store: Rc::new(Store::new(options)), seen: Rc::default() }
    }

    /// A driver whose clock stands at `now`.
    pub fn driver(&self, now: Instant) -> WorldDriver {
        WorldDriver::new(self.clone(), now)
    }
}
