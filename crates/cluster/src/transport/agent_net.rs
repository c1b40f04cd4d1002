//! An agent's network: it dials its master, or waits for masters, and answers pings by itself.

use super::admission::{AdmissionQueue, PendingPeer, bind};
use super::dial::{connect, within};
use super::link::{Ended, Handle, Link};
use super::queue::{Events, Inbox, events, locked, outgoing};
use super::stream::{join, once, serve};
use super::thread::{NetThread, Stop, runtime};
use super::{REDIAL, tls};
use crate::MASTER_SILENT_MAX;
use crate::identity::Identity;
use crate::join::Join;
use crate::message::agent_server::AgentServer;
use crate::message::{FromAgent, Hello, Pong, ToAgent, from_agent, to_agent};
use ring::rand::SystemRandom;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// An event of an agent's network.
#[derive(Clone, Debug, PartialEq)]
pub enum FromMaster {
    /// The master has proved itself and, if the agent dialed it, has accepted the token. Exactly
    /// one `Closed` follows.
    Opened {
        /// The master's address.
        address: String,
        /// SHA-256 of the master's certificate.
        key: [u8; 32],
    },
    /// A message of the master, other than pings and signs of life.
    Message(ToAgent),
    /// The connection has ended.
    Closed {
        /// The reason, as a sentence about the master ("it …").
        why: String,
    },
    /// A peer did not prove to be the master, or the master is not reached. A dialing agent reports
    /// the same reason once; a waiting agent reports at most ten a second.
    Turned {
        /// The address that it came from or was dialed at; `many` for a sum.
        address: String,
        /// The reason, as a sentence without its full stop.
        why: String,
    },
}

fn turned(address: String, why: String) -> FromMaster {
    FromMaster::Turned { address, why }
}

/// An agent's network, on a thread of its own. Dropping it closes the connection and ends the
/// thread within a second; a master that reads still gets messages sent before.
pub struct AgentNet {
    shared: Arc<Shared>,
    events: Events<FromMaster>,
    local: Option<SocketAddr>,
    _thread: NetThread,
}

impl AgentNet {
    /// Dials the master of a join file repeatedly, from the first `set_hello` on. `clock` is the
    /// monotonic clock in nanoseconds, read when a message arrives.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn dial(join: &Join, clock: fn() -> u64) -> Result<Self, String> {
        let runtime = runtime()?;
        let (inbox, events) = events();
        let shared = Shared::new(join, clock, inbox);
        let connector = TlsConnector::from(tls::client(None, Some(join.master))?);
        let address = join.address.clone();
        let thread = NetThread::start(runtime, |runtime, stop| {
            runtime.spawn(Arc::clone(&shared).reach(address, connector, stop));
        })?;
        Ok(Self { shared, events, local: None, _thread: thread })
    }

    /// Waits for the master of a join file on `address` (`host:port`), and serves it from the first
    /// `set_hello` on. Port 0 selects a free port. `clock` is the monotonic clock in nanoseconds,
    /// read when a message arrives.
    ///
    /// # Errors
    /// If the address cannot be bound or the thread cannot be started.
    pub fn listen(address: &str, join: &Join, clock: fn() -> u64) -> Result<Self, String> {
        let runtime = runtime()?;
        let (inbox, events) = events();
        // The token proves the agent to the master; this key only encrypts the connection.
        let own = Identity::make("memtide agent", &SystemRandom::new())?;
        let acceptor = TlsAcceptor::from(tls::server(&own, Some(join.master))?);
        let inside = runtime.enter();
        let (listener, local) = bind(address)?;
        let door = AdmissionQueue::new(inbox.clone(), turned);
        drop(inside);
        let shared = Shared::new(join, clock, inbox);
        let thread = NetThread::start(runtime, |runtime, stop| {
            let (shared, stop_peer) = (Arc::clone(&shared), stop.clone());
            let serve =
                move |tls, guest| Arc::clone(&shared).welcome(tls, guest, stop_peer.clone());
            runtime.spawn(door.accept(listener, acceptor, stop, serve));
        })?;
        Ok(Self { shared, events, local: Some(local), _thread: thread })
    }

    /// The address at which the agent waits for masters; `None` if it dials.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// The next event; `None` if there is none within `timeout`. A slow caller makes the master
    /// wait: at most 1024 events, or 64 MiB, are kept for the caller. Until then pings are still
    /// answered.
    pub fn next(&self, timeout: Duration) -> Option<FromMaster> {
        self.events.next(timeout)
    }

    /// Sends a message to the master. Blocks while 1024 messages or 64 MiB wait for the master, but
    /// not beyond the end of the connection. Without a connection it does nothing.
    pub fn send(&self, message: FromAgent) {
        let current = locked(&self.shared.current);
        let handle = current.as_ref().and_then(|current| current.handle.as_ref());
        let outbox = handle.map(|handle| handle.outbox.clone());
        drop(current);
        if let Some(outbox) = outbox {
            outbox.put(message);
        }
    }

    /// Closes the connection behind the last message. The agent continues to dial or to wait.
    pub fn close(&self) {
        self.shared.release();
    }

    /// Sets the first message to the next master: the agent's name, its kept records, and since
    /// when it is busy. The network adds the token.
    pub fn set_hello(&self, hello: Hello) {
        self.shared.hello.send_replace(Some(hello));
    }

    /// The instant of the master's last message, by the clock that was passed in; 0 before the
    /// first. After [`MASTER_SILENT_MAX`] of silence it does not change until the next connection,
    /// because messages that waited while this process was suspended do not show that the master is
    /// alive.
    #[must_use]
    pub fn heard(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.shared.heard)
    }
}

impl Drop for AgentNet {
    fn drop(&mut self) {
        self.shared.inbox.close();
        self.close();
    }
}

/// The connection to the one master that the agent serves.
struct Current {
    /// `None` once the connection is being closed.
    handle: Option<Handle<FromAgent>>,
    /// The start of the connection, in seconds since 1970.
    since: u64,
}

struct Shared {
    inbox: Inbox<FromMaster>,
    join: Join,
    /// The first message; `None` until the caller sets it.
    hello: watch::Sender<Option<Hello>>,
    clock: fn() -> u64,
    heard: Arc<AtomicU64>,
    current: Mutex<Option<Current>>,
}

impl Shared {
    fn new(join: &Join, clock: fn() -> u64, inbox: Inbox<FromMaster>) -> Arc<Self> {
        Arc::new(Self {
            inbox,
            join: join.clone(),
            hello: watch::Sender::new(None),
            clock,
            heard: Arc::new(AtomicU64::new(0)),
            current: Mutex::new(None),
        })
    }

    /// The first message, with the token. Only a master that has proved itself receives it.
    fn hello(&self, busy_since: Option<u64>) -> FromAgent {
        let mut hello = self.hello.borrow().clone().unwrap_or_default();
        hello.token = self.join.token.bytes().to_vec();
        hello.busy_since_unix_s = hello.busy_since_unix_s.or(busy_since);
        FromAgent { what: Some(from_agent::What::Hello(hello)) }
    }

    /// Waits for the caller's first hello.
    async fn ready(&self) {
        // This value owns the sender, so the wait cannot fail.
        let _ = self.hello.subscribe().wait_for(Option::is_some).await;
    }

    /// Serves the connection to the master until its end.
    async fn keep(&self, address: String, mut link: Link<ToAgent>) {
        self.heard.store((self.clock)(), Ordering::Relaxed);
        let key = self.join.master;
        self.inbox.put(FromMaster::Opened { address, key }, 1).await;
        let ended = link.carry(&self.inbox, |message| self.take(message)).await;
        self.release();
        let why = link.finish(ended).await;
        *locked(&self.current) = None;
        self.inbox.put(FromMaster::Closed { why }, 1).await;
    }

    /// Ends the connection behind the last message.
    fn release(&self) {
        if let Some(current) = locked(&self.current).as_mut() {
            current.handle = None;
        }
    }

    /// Handles pings and signs of life; returns any other message for the caller.
    fn take(&self, message: ToAgent) -> Option<FromMaster> {
        let clock_ns = (self.clock)();
        let silent_ns = clock_ns.saturating_sub(self.heard.load(Ordering::Relaxed));
        if silent_ns < MASTER_SILENT_MAX.ns() {
            self.heard.store(clock_ns, Ordering::Relaxed);
        }
        let ping = match &message.what {
            Some(to_agent::What::Ping(ping)) => ping,
            Some(to_agent::What::Alive(_)) => return None,
            _ => return Some(FromMaster::Message(message)),
        };
        let pong = Pong { number: ping.number, clock_ns };
        let current = locked(&self.current);
        if let Some(handle) = current.as_ref().and_then(|current| current.handle.as_ref()) {
            handle.send(FromAgent { what: Some(from_agent::What::Pong(pong)) });
        }
        None
    }

    /// Dials the master until the thread stops.
    async fn reach(self: Arc<Self>, address: String, connector: TlsConnector, mut stop: Stop) {
        let (mut pause, mut said) = (REDIAL.0, String::new());
        let for_links = stop.clone();
        select! {
            () = self.ready() => {}
            () = stop.asked() => return,
        }
        loop {
            let dialed = select! {
                dialed = within(self.dial(&address, &connector, &for_links)) => dialed,
                () = stop.asked() => return,
            };
            match dialed {
                Ok((handle, link)) => {
                    said.clear();
                    *locked(&self.current) =
                        Some(Current { handle: Some(handle), since: unix_s() });
                    let opened = Instant::now();
                    self.keep(address.clone(), link).await;
                    // A master that closed the connection at once is not dialed again at once.
                    if opened.elapsed() >= REDIAL.1 {
                        pause = REDIAL.0;
                    }
                }
                Err(why) if why != said => {
                    said.clone_from(&why);
                    let why = about_master(&address, &why);
                    self.inbox.put(turned(address.clone(), why), 1).await;
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
    ) -> Result<(Handle<FromAgent>, Link<ToAgent>), String> {
        let tls = connect(address, connector).await?;
        let (outbox, outgoing) = outgoing(|_| {});
        let (handle, end) = Handle::new(outbox);
        handle.send(self.hello(None));
        let refused = |_| {
            "it refused the token of the join file, or it is ending; if this happens again, copy \
             the master's join file once more"
                .to_owned()
        };
        let (incoming, driver) = join(tls, outgoing).await.map_err(refused)?;
        let backlog = handle.outbox.backlog();
        Ok((handle, Link { incoming, driver, end, backlog, stop: stop.clone() }))
    }

    /// Serves a master whose key TLS has proved, unless there is one already.
    async fn welcome(
        self: Arc<Self>,
        tls: TlsStream<TcpStream>,
        guest: PendingPeer<FromMaster>,
        stop: Stop,
    ) {
        let (service, call) = once();
        let driver = serve(tls, AgentServer::new(service));
        let gone = |_| "it closed the connection before its first request".to_owned();
        let call = match within(async {
            self.ready().await;
            call.await.map_err(gone)
        })
        .await
        {
            Ok(call) => call,
            Err(why) => return guest.turn_away(why),
        };
        let (outbox, outgoing) = outgoing(|_| {});
        let (handle, end) = Handle::new(outbox);
        let backlog = handle.outbox.backlog();
        let busy_since = {
            let mut current = locked(&self.current);
            let busy_since = current.as_ref().map(|current| current.since);
            handle.send(self.hello(busy_since));
            match busy_since {
                None => *current = Some(Current { handle: Some(handle), since: unix_s() }),
                // No message follows the hello.
                Some(_) => drop(handle),
            }
            busy_since
        };
        let link = Link { incoming: call.answer(outgoing), driver, end, backlog, stop };
        if busy_since.is_some() {
            guest.turn_away("a second master, which was told that this agent is busy".to_owned());
            link.finish(Ended::Asked).await;
            return;
        }
        guest.proved();
        self.keep(guest.address.to_string(), link).await;
    }
}

/// The sentence about a dialed master, which begins with "it".
fn about_master(address: &str, why: &str) -> String {
    match why.strip_prefix("it ") {
        Some(rest) => format!("the master at {address} {rest}"),
        None => format!("the master at {address}: {why}"),
    }
}

/// Seconds since 1970.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
