//! An agent's network: it dials its master, or waits for masters. It answers pings by itself.

use super::dial::{connect, within};
use super::door::{Door, Guest, bind};
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

/// What happens on an agent's network.
#[derive(Clone, Debug, PartialEq)]
pub enum FromMaster {
    /// The master has proved itself, and where the agent dialed it, it has accepted the token.
    /// Exactly one `Closed` follows.
    Opened {
        /// Where the master is.
        address: String,
        /// SHA-256 of its certificate.
        key: [u8; 32],
    },
    /// A message of the master. Pings and signs of life are not among them.
    Message(ToAgent),
    /// The connection has ended.
    Closed {
        /// Why, about the master ("it …").
        why: String,
    },
    /// A peer did not prove to be the master, or the master is not reached. The same reason is
    /// said once where the agent dials; where it waits, at most ten are said in a second.
    Turned {
        /// Where it came from or was dialed; `many` for a sum.
        address: String,
        /// Why: a sentence without its full stop.
        why: String,
    },
}

fn turned(address: String, why: String) -> FromMaster {
    FromMaster::Turned { address, why }
}

/// An agent's network, on a thread of its own. Dropping it closes the connection and ends the
/// thread within a second; a master that reads still gets what was sent before.
pub struct AgentNet {
    shared: Arc<Shared>,
    events: Events<FromMaster>,
    local: Option<SocketAddr>,
    _thread: NetThread,
}

impl AgentNet {
    /// Dials the master of a join file, again and again, from the first `set_hello` on. `clock` is
    /// the monotonic clock in nanoseconds, read when a message arrives.
    ///
    /// # Errors
    /// When the thread cannot be started.
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
    /// `set_hello` on. Port 0 takes a free port. `clock` is the monotonic clock in nanoseconds,
    /// read when a message arrives.
    ///
    /// # Errors
    /// When the address cannot be bound or the thread cannot be started.
    pub fn listen(address: &str, join: &Join, clock: fn() -> u64) -> Result<Self, String> {
        let runtime = runtime()?;
        let (inbox, events) = events();
        // The master knows the agent by its token; this key only makes the connection secret.
        let own = Identity::make("memtide agent", &SystemRandom::new())?;
        let acceptor = TlsAcceptor::from(tls::server(&own, Some(join.master))?);
        let inside = runtime.enter();
        let (listener, local) = bind(address)?;
        let door = Door::new(inbox.clone(), turned);
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

    /// Where the agent waits for masters, if it does.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// What happened next; none if nothing happens within `timeout`. A caller that is slow lets
    /// the master wait: at most 1024 events, or 64 MiB, are kept for it. Pings are answered all the
    /// same until then.
    pub fn next(&self, timeout: Duration) -> Option<FromMaster> {
        self.events.next(timeout)
    }

    /// Sends a message to the master. While 1024 messages or 64 MiB wait for it, this waits too, at
    /// most until the connection ends. Without a connection the message has no effect.
    pub fn send(&self, message: FromAgent) {
        let current = locked(&self.shared.current);
        let handle = current.as_ref().and_then(|current| current.handle.as_ref());
        let outbox = handle.map(|handle| handle.outbox.clone());
        drop(current);
        if let Some(outbox) = outbox {
            outbox.put(message);
        }
    }

    /// Closes the connection behind the last message. The agent goes on to dial or to wait.
    pub fn close(&self) {
        self.shared.release();
    }

    /// Sets what the next master hears first: the agent's name, what it keeps, since when it is
    /// busy. The token is put in here.
    pub fn set_hello(&self, hello: Hello) {
        self.shared.hello.send_replace(Some(hello));
    }

    /// When the master's last message came, by the clock that was passed in; 0 before the first.
    /// After [`MASTER_SILENT_MAX`] of silence it stays as it is until the next connection: messages
    /// that waited while this process was stopped do not show that the master was heard.
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
    /// None once the connection is being closed.
    handle: Option<Handle<FromAgent>>,
    /// Seconds since 1970.
    since: u64,
}

struct Shared {
    inbox: Inbox<FromMaster>,
    join: Join,
    /// None until the caller sets it.
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

    /// The first message, with the token. Its reader has proved to be the master.
    fn hello(&self, busy_since: Option<u64>) -> FromAgent {
        let mut hello = self.hello.borrow().clone().unwrap_or_default();
        hello.token = self.join.token.bytes().to_vec();
        hello.busy_since_unix_s = hello.busy_since_unix_s.or(busy_since);
        FromAgent { what: Some(from_agent::What::Hello(hello)) }
    }

    /// Waits for the caller's first hello.
    async fn ready(&self) {
        // The sender is this value's own, so that it is there.
        let _ = self.hello.subscribe().wait_for(Option::is_some).await;
    }

    /// Keeps the connection to the master until its end.
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

    /// Lets the connection end behind the last message.
    fn release(&self) {
        if let Some(current) = locked(&self.current).as_mut() {
            current.handle = None;
        }
    }

    /// Answers a ping, and hears that the master lives; anything else is for the caller.
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
                    // A master that has no use for this agent is not asked at once again.
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
        guest: Guest<FromMaster>,
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
                // Nothing follows the hello.
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

/// A sentence about a dialed master that begins with "it".
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
