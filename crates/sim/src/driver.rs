//! A worker's driver in the virtual world. The network carries bytes, not packets, so Nagle's
//! algorithm has no effect here.

use crate::world::{Delivered, World};
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_world::driver::{Completion, Driver, DriverError, Event, Sample, Submitted};
use memtide_world::{Address, Message, SocketOptions};
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;

/// The driver of one worker of a world, or of a probe to a server.
#[derive(Debug)]
pub struct SimDriver {
    world: Rc<RefCell<World>>,
    worker: u16,
    /// The run-queue time of the worker's thread, which its fleet keeps.
    kept: Rc<Cell<Span>>,
    /// The bytes of the completion that was taken last.
    current: Vec<u8>,
    /// The buffer for a message in one slice.
    flat: Vec<u8>,
}

impl SimDriver {
    pub(crate) fn new(world: Rc<RefCell<World>>, worker: u16) -> Self {
        let kept = Rc::default();
        Self { world, worker, kept, current: Vec::new(), flat: Vec::new() }
    }

    /// The run-queue time of the worker's thread, to which its fleet adds.
    pub(crate) fn kept_time(&self) -> Rc<Cell<Span>> {
        Rc::clone(&self.kept)
    }
}

impl Driver for SimDriver {
    fn now(&self) -> Instant {
        self.world.borrow().now()
    }

    fn connect(&mut self, id: ConnectionId, to: &Address, _: Option<IpAddr>, _: SocketOptions) {
        self.world.borrow_mut().connect(self.worker, id, to);
    }

    fn send(&mut self, id: ConnectionId, message: Message<'_>) -> Submitted {
        let bytes = message.flat(&mut self.flat);
        match self.world.borrow_mut().send(self.worker, id, bytes) {
            true => Submitted::Done,
            false => Submitted::Pending,
        }
    }

    fn close(&mut self, id: ConnectionId, linger: Option<Span>) {
        self.world.borrow_mut().close(self.worker, id, linger == Some(Span::ZERO));
    }

    fn has_unsent(&self) -> bool {
        self.world.borrow().has_unsent(self.worker)
    }

    /// Advances the world until an event for this worker. Only for a worker that is alone in the
    /// world; a fleet wakes its workers itself.
    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        let mut world = self.world.borrow_mut();
        while !world.has_mail(self.worker) {
            let next = world.next_event();
            if next > until {
                world.pass_to(until);
                break;
            }
            world.pass_to(next);
        }
        let awake = world.awake_at(world.now());
        world.pass_to(awake);
        Ok(())
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        let mut world = self.world.borrow_mut();
        let (connection, delivered) = world.take_mail(self.worker)?;
        let at = world.now();
        let event = match delivered {
            Delivered::Connected => Event::Connected,
            Delivered::ConnectFailed(error) => Event::ConnectFailed(error),
            Delivered::Writable => Event::Writable,
            Delivered::Closed(closed) => Event::Closed(closed),
            Delivered::Bytes(bytes) => {
                world.recycle(std::mem::replace(&mut self.current, bytes));
                Event::Received(&self.current)
            }
        };
        Some(Completion { connection, at, event })
    }

    fn kept(&self) -> Option<Span> {
        Some(self.kept.get())
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        self.world.borrow_mut().export(&sample);
        Ok(())
    }
}
