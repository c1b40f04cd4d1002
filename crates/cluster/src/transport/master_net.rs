//! The master's network: agents that dial it, and agents that it dials.

use super::admission::{AdmissionQueue, PendingPeer, bind};
use super::dial::{connect, within};
use super::link::{Ended, Handle, Link};
use super::queue::{Events, Inbox, events, locked, outgoing};
use super::stream::{call_agent, once, serve, why};
use super::thread::{NetThread, Stop, runtime};
use super::{ALIVE_EVERY, BUSY_MAX, REDIAL, tls};
use crate::clock::RoundTrip;
use crate::identity::Identity;
use crate::join::Token;
use crate::message::master_server::MasterServer;
use crate::message::{Alive, FromAgent, Hello, ToAgent, from_agent, to_agent};
use memtide_base::Instant;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{self, Duration};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::sleep;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tonic::Streaming;

/// An event of the master's network.
#[derive(Clone, Debug, PartialEq)]
pub enum FromNet {
    /// An agent has proved that it knows the token. Exactly one `Closed` follows.
    Opened {
        /// The connection's number, which no other connection has had.
        peer: u64,
        /// The address that it dials from, or its listed address.
        address: String,
        /// Its first message, without the token.
        hello: Hello,
    },
    /// A message of an agent.
    Message {
        /// The connection's number.
        peer: u64,
        /// The message.
        message: FromAgent,
        /// The instants at which the ping that it answers left and its answer arrived.
        trip: Option<RoundTrip>,
    },
    /// A connection has ended.
    Closed {
        /// The connection's number.
        peer: u64,
        /// The reason, as a sentence about the agent ("it …").
        why: String,
    },
    /// A connection ended before its peer had proved itself. At most ten a second are reported.
    Turned {
        /// The address that it came from; `many` for a sum.
        address: String,
        /// The reason, as a sentence about the peer ("it …").
        why: String,
    },
    /// A listed agent is not reached. It is dialed again; the same reason is reported once.
    Unreachable {
        /// The address as listed.
        address: String,
        /// The reason, as a sentence about the agent ("it …").
        why: String,
    },
}

fn turned(address: String, why: String) -> FromNet {
    FromNet::Turned { address, why }
}

/// The master's network, on a thread of its own. Dropping it closes all connections and ends the
/// thread within a second; agents that read still get messages sent before.
pub struct MasterNet {
    shared: Arc<Shared>,
    events: Events<FromNet>,
    local: Option<SocketAddr>,
    _thread: NetThread,
}

impl MasterNet {
    /// Waits for agents on `listen`, and dials the agents listed in `dial` until they answer. Port
    /// 0 selects a free port. `clock` is the monotonic clock in nanoseconds, read when a ping
    /// leaves and when its answer arrives.
    ///
    /// # Errors
    /// If the address cannot be bound or the thread cannot be started.
    pub fn start(
        identity: &Identity,
        token: Token,
        listen: Option<&str>,
        dial: Vec<String>,
        clock: fn() -> u64,
    ) -> Result<Self, String> {
        let runtime = runtime()?;
        let (inbox, events) = events();
        let inside = runtime.enter();
        let listener = listen.map(bind).transpose()?;
        let acceptor = TlsAcceptor::from(tls::server(identity, None)?);
        let connector = TlsConnector::from(tls::client(Some(identity), None)?);
        let door = AdmissionQueue::new(inbox.clone(), turned);
        drop(inside);
        let peers = Mutex::new(HashMap::new());
        let (number, called) = (AtomicU64::new(1), Mutex::new(time::Instant::now()));
        let shared = Arc::new(Shared { inbox, token, clock, peers, number, called });
        let local = listener.as_ref().map(|(_, local)| *local);
        let thread = NetThread::start(runtime, |runtime, stop| {
            if let Some((listener, _)) = listener {
                let (shared, stop_peer) = (Arc::clone(&shared), stop.clone());
                let serve =
                    move |tls, guest| Arc::clone(&shared).welcome(tls, guest, stop_peer.clone());
                runtime.spawn(door.accept(listener, acceptor, stop.clone(), serve));
            }
            runtime.spawn(Arc::clone(&shared).say_alive(stop.clone()));
            for address in dial {
                let (shared, connector) = (Arc::clone(&shared), connector.clone());
                runtime.spawn(shared.reach(address, connector, stop.clone()));
            }
        })?;
        Ok(Self { shared, events, local, _thread: thread })
    }

    /// The address at which the master waits for agents; `None` if it only dials.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// The next event; `None` if there is none within `timeout`. A slow caller makes agents wait:
    /// at most 1024 events, or 64 MiB, are kept for the caller. Agents are still told that their
    /// master is alive, unless the caller does not call for 30 s.
    pub fn next(&self, timeout: Duration) -> Option<FromNet> {
        *locked(&self.shared.called) = time::Instant::now();
        self.events.next(timeout)
    }

    /// Sends a message to an agent, without blocking. An agent that leaves 1024 messages or 64 MiB
    /// unread, or reads nothing for 10 s, is disconnected. For a closed connection it does nothing.
    pub fn send(&self, peer: u64, message: ToAgent) {
        if let Some(handle) = locked(&self.shared.peers).get(&peer) {
            handle.send(message);
        }
    }

    /// Closes a connection behind the last message. A listed agent is not dialed again.
    pub fn close(&self, peer: u64) {
        locked(&self.shared.peers).remove(&peer);
    }
}

impl Drop for MasterNet {
    fn drop(&mut self) {
        self.shared.inbox.close();
        locked(&self.shared.peers).clear();
    }
}

/// A connection to an agent that has proved itself.
struct Connected {
    handle: Handle<ToAgent>,
    link: Link<FromAgent>,
    left: Left,
}

/// The instant at which the last ping to an agent left, and its number. The network thread writes
/// and reads it, so that delays of other threads do not affect the comparison of clocks.
#[derive(Clone)]
struct Left {
    clock: fn() -> u64,
    last: Arc<Mutex<Option<(u64, Instant)>>>,
}

impl Left {
    fn new(clock: fn() -> u64) -> Self {
        Self { clock, last: Arc::default() }
    }

    fn now(&self) -> Instant {
        Instant::from_ns((self.clock)())
    }

    /// Records each ping that leaves.
    fn stamp(&self) -> impl FnMut(&ToAgent) + Send + 'static {
        let this = self.clone();
        move |message| {
            if let Some(to_agent::What::Ping(ping)) = &message.what {
                *locked(&this.last) = Some((ping.number, this.now()));
            }
        }
    }

    /// The round trip of the ping that `message` answers, if that is the last one.
    fn trip(&self, message: &FromAgent) -> Option<RoundTrip> {
        let Some(from_agent::What::Pong(pong)) = &message.what else { return None };
        let received = self.now();
        let (_, sent) = locked(&self.last).filter(|(number, _)| *number == pong.number)?;
        Some(RoundTrip { sent, received })
    }
}

struct Shared {
    inbox: Inbox<FromNet>,
    token: Token,
    clock: fn() -> u64,
    peers: Mutex<HashMap<u64, Handle<ToAgent>>>,
    number: AtomicU64,
    /// The instant at which the caller last asked for an event.
    called: Mutex<time::Instant>,
}

impl Shared {
    /// Tells all agents each second that their master is alive, however busy the caller is.
    async fn say_alive(self: Arc<Self>, mut stop: Stop) {
        loop {
            select! {
                () = sleep(ALIVE_EVERY) => {}
                () = stop.asked() => return,
            }
            if locked(&self.called).elapsed() < BUSY_MAX {
                for handle in locked(&self.peers).values() {
                    let alive = Some(to_agent::What::Alive(Alive {}));
                    handle.send(ToAgent { what: alive });
                }
            }
        }
    }

    /// Serves an agent that has dialed, once it has proved itself.
    async fn welcome(
        self: Arc<Self>,
        tls: TlsStream<TcpStream>,
        guest: PendingPeer<FromNet>,
        stop: Stop,
    ) {
        let (service, call) = once();
        let driver = serve(tls, MasterServer::new(service));
        let proof = async {
            let gone = |_| "it closed the connection before it authenticated".to_owned();
            let mut call = call.await.map_err(gone)?;
            let hello = self.first_message(&mut call.incoming).await?;
            Ok((call, hello))
        };
        let (call, hello) = match within(proof).await {
            Ok(proved) => proved,
            Err(why) => return guest.turn_away(why),
        };
        guest.proved();
        let left = Left::new(self.clock);
        let (outbox, outgoing) = outgoing(left.stamp());
        let incoming = call.answer(outgoing);
        let (handle, end) = Handle::new(outbox);
        let backlog = handle.outbox.backlog();
        let link = Link { incoming, driver, end, backlog, stop };
        let address = guest.address.to_string();
        self.keep(address, hello, Connected { handle, link, left }).await;
    }

    /// Receives the first message, which must prove that the agent knows the token.
    async fn first_message(&self, incoming: &mut Streaming<FromAgent>) -> Result<Hello, String> {
        let first = incoming.message().await.map_err(|status| why(&status))?;
        let Some(FromAgent { what: Some(from_agent::What::Hello(mut hello)) }) = first else {
            return Err(
                "its first message is not a hello; this port is for memtide only".to_owned()
            );
        };
        if !self.token.matches(&hello.token) {
            return Err("it has another token than this master; copy the join file beside this \
                        master's key to it"
                .to_owned());
        }
        hello.token.clear();
        Ok(hello)
    }

    /// Serves a connection to an agent that has proved itself, until its end. Returns true if this
    /// side ended it.
    async fn keep(
        &self,
        address: String,
        hello: Hello,
        Connected { handle, mut link, left }: Connected,
    ) -> bool {
        let peer = self.number.fetch_add(1, Ordering::Relaxed);
        locked(&self.peers).insert(peer, handle);
        self.inbox.put(FromNet::Opened { peer, address, hello }, 1).await;
        let event = |message| {
            let trip = left.trip(&message);
            Some(FromNet::Message { peer, message, trip })
        };
        let ended = link.carry(&self.inbox, event).await;
        locked(&self.peers).remove(&peer);
        let asked = matches!(ended, Ended::Asked);
        let why = link.finish(ended).await;
        self.inbox.put(FromNet::Closed { peer, why }, 1).await;
        asked
    }

    /// Dials a listed agent until this side closes the connection. An agent that is busy with
    /// another run is dialed again, because it becomes free.
    async fn reach(self: Arc<Self>, address: String, connector: TlsConnector, mut stop: Stop) {
        let (mut pause, mut said) = (REDIAL.0, String::new());
        let for_links = stop.clone();
        loop {
            let dialed = select! {
                dialed = within(self.dial(&address, &connector, &for_links)) => dialed,
                () = stop.asked() => return,
            };
            match dialed {
                Ok((hello, connected)) => {
                    let is_busy = hello.busy_since_unix_s.is_some();
                    let is_over = self.keep(address.clone(), hello, connected).await;
                    said.clear();
                    match is_busy {
                        true => {}
                        false if is_over => return,
                        false => pause = REDIAL.0,
                    }
                }
                Err(why) if why != said => {
                    said.clone_from(&why);
                    let address = address.clone();
                    self.inbox.put(FromNet::Unreachable { address, why }, 1).await;
                }
                Err(_) => {}
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
    ) -> Result<(Hello, Connected), String> {
        // An agent of another master may close before its alert is read. Both cases have one
        // sentence, so it is reported once.
        let silent = |_| {
            "it closed the connection before it named itself; if its join file belongs to another \
             master, copy this master's join file to it"
                .to_owned()
        };
        let tls = connect(address, connector).await?;
        let left = Left::new(self.clock);
        let (outbox, outgoing) = outgoing(left.stamp());
        let (mut incoming, driver) = call_agent(tls, outgoing).await.map_err(silent)?;
        let hello = self.first_message(&mut incoming).await?;
        let (handle, end) = Handle::new(outbox);
        let backlog = handle.outbox.backlog();
        let link = Link { incoming, driver, end, backlog, stop: stop.clone() };
        Ok((hello, Connected { handle, link, left }))
    }
}
