//! One thread of the embedded server: its sockets, and the instants at which answers leave. It
//! decides nothing about answers.

use super::datagrams::UdpSide;
use super::peer::{Line, Peer, reset_when_closed};
use super::sealed::Sealed;
use super::shared::Shared;
use memtide_base::{Instant, Span};
use memtide_server::{Endpoint, Session};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The listener's number among the watched sockets.
const LISTENER: u64 = 0;
/// The number of the socket for datagrams; connections count from the next.
const DATAGRAMS: u64 = 1;
const READY_MAX: usize = 256;
const RECEIVE_BYTES_MAX: usize = 64 * 1024;
/// The interval at which a thread checks whether it should end.
const LOOK_UP: Span = Span::from_ms(50);
/// A thread stops sleeping this long before an instant: more than the usual lateness of a timer
/// with the smallest slack.
const SPIN_WINDOW: Span = Span::from_us(60);

/// One thread of the server.
pub(super) struct Server {
    epoll: OwnedFd,
    shared: Arc<Shared>,
    peers: HashMap<u64, Peer>,
    next: u64,
    /// The instants at which connections have something to send. An entry is skipped if the
    /// connection has closed or has another instant by now.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    buffer: Box<[u8]>,
    udp: Option<UdpSide>,
}

impl Server {
    /// A thread that watches the listener, and the socket for datagrams if it has one.
    pub fn new(shared: Arc<Shared>, udp: Option<UdpSide>) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        epoll::add(&epoll, &shared.listener, EventData::new_u64(LISTENER), flags)?;
        if let Some(udp) = &udp {
            epoll::add(&epoll, udp.socket(), EventData::new_u64(DATAGRAMS), EventFlags::IN)?;
        }
        shared.store.thread_started();
        let (peers, due) = (HashMap::new(), BinaryHeap::new());
        let buffer = vec![0; RECEIVE_BYTES_MAX].into();
        Ok(Self { epoll, shared, peers, next: DATAGRAMS + 1, due, buffer, udp })
    }

    /// Serves until `stop` is raised.
    pub fn run(&mut self, stop: &AtomicBool) {
        if self.shared.profile.is_some() {
            // If this is forbidden, answers leave as late as the default slack makes them.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
        let mut ready = Vec::with_capacity(READY_MAX);
        while !stop.load(Ordering::Relaxed) {
            ready.clear();
            debug_assert!(ready.capacity() >= READY_MAX, "events have no room");
            let timeout = self.timeout();
            let spare = rustix::buffer::spare_capacity(&mut ready);
            match epoll::wait(&self.epoll, spare, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => panic!("epoll_wait on our own epoll failed: {errno}"),
            }
            self.release();
            for event in &ready {
                let (number, flags) = (event.data.u64(), event.flags);
                match (number, &mut self.udp) {
                    (LISTENER, _) => self.accept(),
                    (DATAGRAMS, Some(udp)) => udp.attend(&self.shared),
                    _ => {
                        let outcome = self.attend(number, flags);
                        self.forget_if(number, outcome);
                    }
                }
                self.release();
            }
        }
    }

    /// The time to sleep; zero if an answer leaves soon.
    fn timeout(&self) -> Timespec {
        let due = self.due.peek().map(|Reverse((at, _))| *at);
        let datagram = self.udp.as_ref().and_then(UdpSide::leaves);
        let sleep = match due.into_iter().chain(datagram).min() {
            None => LOOK_UP,
            Some(at) => (at - SPIN_WINDOW).since(self.shared.clock.now()),
        };
        Timespec { tv_sec: 0, tv_nsec: sleep.min(LOOK_UP).ns() as i64 }
    }

    /// Sends the answers that are due.
    fn release(&mut self) {
        if let Some(udp) = &mut self.udp {
            udp.release(&self.shared.clock);
        }
        while let Some(&Reverse((at, number))) = self.due.peek() {
            if at > self.shared.clock.now() {
                return;
            }
            self.due.pop();
            let Some(peer) = self.peers.get_mut(&number) else { continue };
            if peer.armed == Some(at) {
                peer.armed = None;
                let outcome = self.settle(number);
                self.forget_if(number, outcome);
            }
        }
    }

    fn forget_if(&mut self, number: u64, outcome: Result<(), Errno>) {
        if outcome.is_err() && self.peers.remove(&number).is_some() {
            self.shared.store.connection_closed();
        }
    }

    fn accept(&mut self) {
        // If no client waits, or no descriptors are left, the next event resumes the loop.
        while let Ok((stream, _)) = self.shared.listener.accept() {
            let line = match self.shared.profile() {
                None => Line::Plain(Session::new(self.shared.item_bytes_max)),
                Some(mut state) => match Endpoint::accept(&mut state, self.shared.item_bytes_max) {
                    Some(endpoint) => Line::Shaped(endpoint),
                    None => {
                        reset_when_closed(&stream);
                        continue;
                    }
                },
            };
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
                self.shared.store.connection_opened();
                let filter = self.shared.filter.as_ref();
                let sealed = filter.map(|filter| Box::new(Sealed::new(filter.make(""))));
                self.peers.insert(number, Peer::new(stream, line, sealed));
            }
        }
    }

    /// Reads and answers; an error means that the connection is over.
    fn attend(&mut self, number: u64, flags: EventFlags) -> Result<(), Errno> {
        let Some(peer) = self.peers.get_mut(&number) else { return Ok(()) };
        let is_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        if peer.is_deaf && is_gone {
            return Err(Errno::PIPE);
        }
        if peer.has_unsent() {
            peer.send(&self.shared.clock)?;
        }
        if peer.has_unsent() {
            return self.settle(number);
        }
        if peer.is_behind() {
            if peer.can_go_on(self.shared.clock.now()) {
                peer.answer(&[], &self.shared);
            } else if is_gone {
                return Err(Errno::PIPE);
            }
        } else if !flags.contains(EventFlags::OUT) {
            match recv(&peer.stream, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => peer.is_deaf = true,
                Ok((len, _)) => peer.receive(&self.buffer[..len], &self.shared)?,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
        self.settle(number)
    }

    /// Sends what the kernel takes, and arms events and instants for the rest.
    fn settle(&mut self, number: u64) -> Result<(), Errno> {
        let Some(peer) = self.peers.get_mut(&number) else { return Ok(()) };
        peer.send(&self.shared.clock)?;
        let wanted = peer.wanted(self.shared.clock.now());
        if wanted != peer.watched {
            epoll::modify(&self.epoll, &peer.stream, EventData::new_u64(number), wanted)?;
            peer.watched = wanted;
        }
        if let Some(at) = peer.arm() {
            self.due.push(Reverse((at, number)));
        }
        Ok(())
    }
}
