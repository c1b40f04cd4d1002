//! Bounded queues: events to the caller, messages to a peer.
//!
//! A queue has room for a number of messages, and a long message takes the room of several. A
//! message without room waits or is refused; none is dropped.

use super::WAITING_MAX;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tonic::codegen::tokio_stream::Stream;

const BYTES_PER_PLACE: usize = 64 * 1024;
/// The most messages without room that still wait for a peer.
const SPARE_MAX: usize = 64;

/// The number of places that a message takes in a queue.
pub(super) fn places(message: &impl prost::Message) -> u32 {
    let more = message.encoded_len() / BYTES_PER_PLACE;
    u32::try_from(more).unwrap_or(WAITING_MAX).saturating_add(1).min(WAITING_MAX)
}

/// Locks a mutex even if another thread panicked while holding it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The net thread's end of the queue to the caller.
#[derive(Clone)]
pub(super) struct Inbox<E> {
    sender: mpsc::Sender<(E, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

impl<E> Inbox<E> {
    /// Waits for room, then passes the event to the caller.
    pub(super) async fn put(&self, event: E, places: u32) {
        if let Ok(room) = Arc::clone(&self.room).acquire_many_owned(places).await {
            // The caller may be gone.
            let _ = self.sender.send((event, room));
        }
    }

    /// Passes the event to the caller if there is room.
    pub(super) fn try_put(&self, event: E) -> bool {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            return false;
        };
        self.sender.send((event, room)).is_ok()
    }

    /// Closes the queue: no further event is passed.
    pub(super) fn close(&self) {
        self.room.close();
    }
}

/// The caller's end of the queue.
pub(super) struct Events<E>(Mutex<mpsc::Receiver<(E, OwnedSemaphorePermit)>>);

impl<E> Events<E> {
    pub(super) fn next(&self, timeout: Duration) -> Option<E> {
        locked(&self.0).recv_timeout(timeout).ok().map(|(event, _room)| event)
    }
}

/// Makes a queue from the network thread to the caller.
pub(super) fn events<E>() -> (Inbox<E>, Events<E>) {
    let (sender, receiver) = mpsc::channel();
    let room = Arc::new(Semaphore::new(WAITING_MAX as usize));
    (Inbox { sender, room }, Events(Mutex::new(receiver)))
}

/// The writers' end of the queue to one peer. Once all writers are gone, the stream to the peer
/// ends behind the last message.
#[derive(Clone)]
pub(super) struct Outbox<T> {
    sender: UnboundedSender<(T, OwnedSemaphorePermit)>,
    backlog: Backlog,
    /// Room for short messages that cannot wait, such as answers to pings, while a caller that does
    /// wait has filled the queue.
    spare: Arc<Semaphore>,
}

impl<T: prost::Message> Outbox<T> {
    /// False if there is no room.
    pub(super) fn try_put(&self, message: T) -> bool {
        let places = places(&message);
        let room = Arc::clone(&self.backlog.room).try_acquire_many_owned(places);
        let room = match room {
            Err(TryAcquireError::NoPermits) if places == 1 => {
                Arc::clone(&self.spare).try_acquire_owned()
            }
            other => other,
        };
        // If the connection has ended, the message has no reader; the caller learns of the end.
        room.is_ok_and(|room| self.sender.send((message, room)).is_ok())
            || self.backlog.room.is_closed()
    }

    /// Waits for room, outside the network thread; returns at once when the connection ends.
    pub(super) fn put(&self, message: T) {
        let room = Arc::clone(&self.backlog.room);
        if let Ok(room) = room.blocking_acquire_many_owned(places(&message)) {
            let _ = self.sender.send((message, room));
        }
    }

    /// The number of messages that have left so far.
    pub(super) fn left(&self) -> u64 {
        self.backlog.taken.load(Ordering::Relaxed)
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }
}

/// A peer's progress in reading.
#[derive(Clone)]
pub(super) struct Backlog {
    room: Arc<Semaphore>,
    taken: Arc<AtomicU64>,
}

impl Backlog {
    /// The number of messages that have left the queue so far; `None` while it is empty.
    pub(super) fn taken(&self) -> Option<u64> {
        let free = self.room.available_permits();
        assert!(free <= WAITING_MAX as usize, "a place is freed once");
        let waits = free < WAITING_MAX as usize;
        waits.then(|| self.taken.load(Ordering::Relaxed))
    }

    /// Wakes writers that wait for room, because the connection has ended.
    pub(super) fn close(&self) {
        self.room.close();
    }
}

/// The messages of an outbox as a stream for gRPC.
pub(super) struct Outgoing<T> {
    receiver: UnboundedReceiver<(T, OwnedSemaphorePermit)>,
    taken: Arc<AtomicU64>,
    leaves: Box<dyn FnMut(&T) + Send>,
}

impl<T> Stream for Outgoing<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.receiver.poll_recv(context));
        self.taken.fetch_add(1, Ordering::Relaxed);
        let next = next.map(|(message, _room)| message);
        next.iter().for_each(|message| (self.leaves)(message));
        Poll::Ready(next)
    }
}

/// Makes a queue to a peer. `leaves` sees each message just before it is sent, in the network
/// thread.
pub(super) fn outgoing<T>(leaves: impl FnMut(&T) + Send + 'static) -> (Outbox<T>, Outgoing<T>) {
    let (sender, receiver) = unbounded_channel();
    let taken = Arc::new(AtomicU64::new(0));
    let room = Arc::new(Semaphore::new(WAITING_MAX as usize));
    let backlog = Backlog { room, taken: Arc::clone(&taken) };
    let leaves = Box::new(leaves);
    let spare = Arc::new(Semaphore::new(SPARE_MAX));
    (Outbox { sender, backlog, spare }, Outgoing { receiver, taken, leaves })
}
