//! The network of one end: it waits for peers and dials them, and carries their messages.
//!
//! What the two ends do differently is said by an [`End`].

use super::NetEvent;
use super::admission::{AdmissionQueue, PendingPeer, bind};
use super::link::{Ended, Handle, Link, connect, within};
use super::queue::{Events, Inbox, Outgoing, events, locked};
use super::stream::{Driver, call, serve, why};
use super::thread::{NetThread, Stop, runtime};
use super::{ALIVE_EVERY, ALIVE_WAITING, REDIAL};
use crate::clock::RoundTrip;
use crate::message::Hello;
use memtide_base::Instant;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{self, Duration};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::sleep;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tonic::Streaming;

/// What one end of the network says and hears by itself.
pub(super) trait End: Send + Sync + 'static {
    /// The messages of the other end.
    type In: prost::Message + Default + Clone + 'static;
    /// The messages of this end.
    type Out: prost::Message + Default + Clone + 'static;
    /// The path of the call with which the other end dials this one.
    const SERVES: &'static str;
    /// The path of the call with which this end dials the other one.
    const CALLS: &'static str;
    /// True if it dials a peer again also after it has closed the connection itself.
    const DIALS_ON: bool;
    /// True if its thread goes before the other threads of its machine, where that is allowed.
    const IS_FIRST: bool = false;
    /// The sentence about a dialed peer that does not answer the call. It may close before its
    /// alert is read, so both cases have one sentence.
    const UNANSWERED: &'static str;
    /// The clause about an address at which no peer listens.
    const ABSENT: &'static str;

    /// The sentence about a dialed peer whose answer to the call is this failure.
    fn unanswered(_why: String) -> String {
        Self::UNANSWERED.to_owned()
    }
    /// Waits until this end can meet peers.
    fn ready(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
    /// The first message of this end, if it speaks first. False if it has no room for a further
    /// peer, which is told by the message.
    fn greeting(&self) -> (Option<Self::Out>, bool) {
        (None, true)
    }
    /// Receives the proof of a peer, beside that of TLS.
    fn proof(
        &self,
        incoming: &mut Streaming<Self::In>,
    ) -> impl Future<Output = Result<Hello, String>> + Send;
    /// The connection to a peer begins.
    fn opened(&self) {}
    /// The connection to a peer, or an attempt to make one, has ended.
    fn closed(&self) {}
    /// The message that shows all peers each second that this end is alive.
    fn alive(&self) -> Option<Self::Out> {
        None
    }
    /// True if this message makes the peer work, so that it must hear every second that this end is
    /// alive.
    fn engages(_message: &Self::Out) -> bool {
        false
    }
    /// The number of a ping that leaves.
    fn ping(_message: &Self::Out) -> Option<u64> {
        None
    }
    /// The number of a ping that a peer answers.
    fn pong(_message: &Self::In) -> Option<u64> {
        None
    }
    /// Handles a message by itself and breaks with its answer, or leaves it to the caller.
    fn handle(&self, _message: &Self::In) -> ControlFlow<Option<Self::Out>> {
        ControlFlow::Continue(())
    }
}

/// A network, on a thread of its own. Dropping it closes all connections and ends the thread within
/// a second; peers that read still get messages sent before.
pub(super) struct Net<E: End> {
    pub(super) shared: Arc<Shared<E>>,
    events: Events<NetEvent<E::In>>,
    pub(super) local: Option<SocketAddr>,
    _thread: NetThread,
}

impl<E: End> Net<E> {
    /// Waits for peers at an address, where port 0 selects a free one, and dials others until they
    /// answer. `clock` is the monotonic clock in nanoseconds.
    ///
    /// # Errors
    /// If the address cannot be bound or the thread cannot be started.
    pub(super) fn start(
        end: E,
        clock: fn() -> u64,
        waits: Option<(&str, Arc<ServerConfig>)>,
        dials: Vec<(String, Arc<ClientConfig>)>,
    ) -> Result<Self, String> {
        let runtime = runtime()?;
        let (inbox, events) = events();
        let inside = runtime.enter();
        let listener = waits.map(|(address, tls)| bind(address).map(|bound| (bound, tls)));
        let listener = listener.transpose()?;
        let queue = AdmissionQueue::new(inbox.clone());
        drop(inside);
        let (peers, number) = (Mutex::default(), AtomicU64::new(1));
        let shared = Arc::new(Shared { end, inbox, clock, peers, number });
        let local = listener.as_ref().map(|((_, local), _)| *local);
        let thread = NetThread::start(runtime, E::IS_FIRST, |runtime, stop| {
            if let Some(((listener, _), tls)) = listener {
                let (shared, stop_peer) = (Arc::clone(&shared), stop.clone());
                let tls = TlsAcceptor::from(tls);
                runtime.spawn(queue.accept(listener, tls, stop.clone(), move |tls, pending| {
                    Arc::clone(&shared).welcome(tls, pending, stop_peer.clone())
                }));
            }
            if shared.end.alive().is_some() {
                runtime.spawn(Arc::clone(&shared).say_alive(stop.clone()));
            }
            for (address, tls) in dials {
                let connector = TlsConnector::from(tls);
                runtime.spawn(Arc::clone(&shared).reach(address, connector, stop.clone()));
            }
        })?;
        Ok(Self { shared, events, local, _thread: thread })
    }

    /// The next event; `None` if there is none within `timeout`.
    pub(super) fn next(&self, timeout: Duration) -> Option<NetEvent<E::In>> {
        self.events.next(timeout)
    }
}

impl<E: End> Drop for Net<E> {
    fn drop(&mut self) {
        self.shared.inbox.close();
        locked(&self.shared.peers).clear();
    }
}

/// What the caller and the network thread share.
pub(super) struct Shared<E: End> {
    pub(super) end: E,
    pub(super) inbox: Inbox<NetEvent<E::In>>,
    clock: fn() -> u64,
    /// The connections that are open for writing, by their numbers.
    pub(super) peers: Mutex<HashMap<u64, Handle<E::Out>>>,
    number: AtomicU64,
}

/// The number of the last ping to a peer, and the instant at which it left. The network thread
/// writes and reads it, so that delays of other threads do not affect the comparison of clocks.
type LastPing = Arc<Mutex<Option<(u64, Instant)>>>;

/// A connection to a peer that has proved itself.
struct Connected<E: End> {
    handle: Handle<E::Out>,
    link: Link<E::In>,
    last_ping: LastPing,
}

impl<E: End> Shared<E> {
    fn now(&self) -> Instant {
        Instant::from_ns((self.clock)())
    }

    /// Tells all peers that work each second that this end is alive, however busy the caller is;
    /// the others seldom, and only if nothing else was said.
    async fn say_alive(self: Arc<Self>, mut stop: Stop) {
        for second in 1_u32.. {
            select! {
                () = sleep(ALIVE_EVERY) => {}
                () = stop.asked() => return,
            }
            let is_for_all = second.is_multiple_of(ALIVE_WAITING);
            for handle in locked(&self.peers).values() {
                if handle.works() || (is_for_all && handle.was_quiet()) {
                    self.end.alive().into_iter().for_each(|alive| handle.send(alive));
                }
            }
        }
    }

    /// Serves a peer that has dialed, once it has proved itself.
    async fn welcome(
        self: Arc<Self>,
        tls: TlsStream<TcpStream>,
        pending: PendingPeer<E::In>,
        stop: Stop,
    ) {
        let (driver, call) = serve(tls, E::SERVES);
        let proof = async {
            self.end.ready().await;
            let mut call =
                call.await.map_err(|_| "it closed the connection before it authenticated")?;
            let hello = self.end.proof(&mut call.incoming).await?;
            Ok((call, hello))
        };
        let (call, hello) = match within(proof).await {
            Ok(proved) => proved,
            Err(why) => return pending.turn_away(why),
        };
        let answer = async |outgoing| Ok((call.answer(outgoing), driver));
        let Ok((connected, has_room)) = self.open(answer, stop).await else { return };
        if !has_room {
            pending.turn_away("a second master, which was told that this agent is busy".to_owned());
            drop(connected.handle);
            connected.link.finish(Ended::Asked).await;
            return;
        }
        pending.proved();
        self.keep(pending.address.to_string(), hello, connected).await;
    }

    /// Opens a connection whose streams `begin` makes. False if there is no room for its peer.
    async fn open(
        &self,
        begin: impl AsyncFnOnce(Outgoing<E::Out>) -> Result<(Streaming<E::In>, Driver), String>,
        stop: Stop,
    ) -> Result<(Connected<E>, bool), String> {
        let last_ping = LastPing::default();
        let (clock, stamped) = (self.clock, Arc::clone(&last_ping));
        let works = Arc::new(AtomicBool::new(false));
        let engaged = Arc::clone(&works);
        let (handle, ended, outgoing) = Handle::new(works, move |message| {
            engaged.fetch_or(E::engages(message), Ordering::Relaxed);
            if let Some(number) = E::ping(message) {
                *locked(&stamped) = Some((number, Instant::from_ns(clock())));
            }
        });
        let (greeting, has_room) = self.end.greeting();
        greeting.into_iter().for_each(|greeting| handle.send(greeting));
        let (incoming, driver) = begin(outgoing).await?;
        let link = Link { incoming, driver, ended, backlog: handle.outbox.backlog(), stop };
        Ok((Connected { handle, link, last_ping }, has_room))
    }

    /// Serves a connection to a peer that has proved itself, until its end. Returns true if this
    /// side ended it.
    async fn keep(&self, address: String, hello: Hello, connected: Connected<E>) -> bool {
        let Connected { handle, mut link, last_ping } = connected;
        let peer = self.number.fetch_add(1, Ordering::Relaxed);
        locked(&self.peers).insert(peer, handle);
        self.end.opened();
        self.inbox.put(NetEvent::Opened { peer, address, hello }, 1).await;
        let ended = link.carry(&self.inbox, |message| self.take(peer, message, &last_ping)).await;
        locked(&self.peers).remove(&peer);
        let asked = matches!(ended, Ended::Asked);
        let why = link.finish(ended).await;
        self.end.closed();
        self.inbox.put(NetEvent::Closed { peer, why }, 1).await;
        asked
    }

    /// Handles a message, or returns the event for the caller.
    fn take(&self, peer: u64, message: E::In, last: &LastPing) -> Option<NetEvent<E::In>> {
        if let ControlFlow::Break(answer) = self.end.handle(&message) {
            let peers = locked(&self.peers);
            let handle = peers.get(&peer);
            handle.into_iter().zip(answer).for_each(|(handle, answer)| handle.send(answer));
            return None;
        }
        let received = self.now();
        let answered = locked(last).filter(|(ping, _)| E::pong(&message) == Some(*ping));
        let trip = answered.map(|(_, sent)| RoundTrip { sent, received });
        Some(NetEvent::Message { peer, message, trip })
    }

    /// Dials a peer until the thread stops. An agent that is busy with another run is dialed again,
    /// because it becomes free.
    async fn reach(self: Arc<Self>, address: String, connector: TlsConnector, mut stop: Stop) {
        let (mut pause, mut said) = (REDIAL.0, String::new());
        let for_links = stop.clone();
        select! {
            () = self.end.ready() => {}
            () = stop.asked() => return,
        }
        loop {
            let dialed = select! {
                dialed = within(self.dial(&address, &connector, &for_links)) => dialed,
                () = stop.asked() => return,
            };
            match dialed {
                Ok((hello, connected)) => {
                    said.clear();
                    let (opened, is_busy) = (time::Instant::now(), hello.busy_since_unix_s);
                    let asked = self.keep(address.clone(), hello, connected).await;
                    if asked && is_busy.is_none() && !E::DIALS_ON {
                        return;
                    }
                    // A peer that closed the connection at once is not dialed again at once.
                    if opened.elapsed() >= REDIAL.1 {
                        pause = REDIAL.0;
                    }
                }
                Err(why) => {
                    self.end.closed();
                    if why != said {
                        said.clone_from(&why);
                        let address = address.clone();
                        self.inbox.put(NetEvent::Turned { address, why }, 1).await;
                    }
                }
            }
            select! {
                () = sleep(pause) => pause = (pause * 2).min(REDIAL.1),
                () = stop.asked() => return,
            }
        }
    }

    async fn dial(
        &self,
        address: &str,
        connector: &TlsConnector,
        stop: &Stop,
    ) -> Result<(Hello, Connected<E>), String> {
        let tls = connect(address, connector, E::ABSENT).await?;
        let begin = async |outgoing| {
            call(tls, E::CALLS, outgoing).await.map_err(|status| E::unanswered(why(&status)))
        };
        let (mut connected, _) = self.open(begin, stop.clone()).await?;
        let hello = self.end.proof(&mut connected.link.incoming).await?;
        Ok((hello, connected))
    }
}
