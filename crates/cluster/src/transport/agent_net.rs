//! An agent's network: it dials its master, or waits for masters, and answers pings by itself.

use super::NetEvent;
use super::net::{End, Net};
use super::queue::{Inbox, locked};
use super::tls;
use crate::MASTER_SILENT_MAX;
use crate::identity::Identity;
use crate::join::{Join, Token};
use crate::message::{FromAgent, Hello, Pong, ToAgent, from_agent, to_agent};
use ring::rand::SystemRandom;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tonic::Streaming;

/// An event of an agent's network: its master and the messages of its master.
pub type FromMaster = NetEvent<ToAgent>;

/// An agent's network, on a thread of its own. Dropping it closes the connection and ends the
/// thread within a second; a master that reads still gets messages sent before.
pub struct AgentNet {
    net: Net<AgentEnd>,
    master: [u8; 32],
}

impl AgentNet {
    /// Dials the master of a join file repeatedly, from the first `set_hello` on. `clock` is the
    /// monotonic clock in nanoseconds, read when a message arrives.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn dial(join: &Join, clock: fn() -> u64) -> Result<Self, String> {
        let dials = vec![(join.address.clone(), tls::client(None, Some(join.master))?)];
        let net = Net::start(AgentEnd::new(join, clock), clock, None, dials)?;
        Ok(Self { net, master: join.master })
    }

    /// Waits for the master of a join file on `address` (`host:port`), and serves it from the first
    /// `set_hello` on. Port 0 selects a free port. `clock` is the monotonic clock in nanoseconds,
    /// read when a message arrives.
    ///
    /// # Errors
    /// If the address cannot be bound or the thread cannot be started.
    pub fn listen(address: &str, join: &Join, clock: fn() -> u64) -> Result<Self, String> {
        // The token proves the agent to the master; this key only encrypts the connection.
        let own = Identity::make("memtide agent", &SystemRandom::new())?;
        let waits = Some((address, tls::server(&own, Some(join.master))?));
        let net = Net::start(AgentEnd::new(join, clock), clock, waits, Vec::new())?;
        Ok(Self { net, master: join.master })
    }

    /// The address at which the agent waits for masters; `None` if it dials.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.net.local
    }

    /// SHA-256 of the certificate of the only master that it serves.
    #[must_use]
    pub const fn master(&self) -> [u8; 32] {
        self.master
    }

    /// The next event; `None` if there is none within `timeout`. A slow caller makes the master
    /// wait: at most 1024 events, or 64 MiB, are kept for the caller. Until then pings are still
    /// answered.
    pub fn next(&self, timeout: Duration) -> Option<FromMaster> {
        self.net.next(timeout)
    }

    /// Waker of the caller of [`next`](Self::next) from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.net.shared.inbox.clone())
    }

    /// Counts the silence of a master that was silent for too long anew. Only a caller without a
    /// load may do so, because nothing shows that the master is alive: until it says something,
    /// another master takes its place.
    pub fn hear_again(&self) {
        let end = &self.net.shared.end;
        if end.is_silent() {
            end.is_doubted.store(true, Ordering::Relaxed);
            end.heard.store((end.clock)(), Ordering::Relaxed);
        }
    }

    /// Sends a message to the master. Blocks while 1024 messages or 64 MiB wait for the master, but
    /// not beyond the end of the connection. Without a connection it does nothing.
    pub fn send(&self, message: FromAgent) {
        let outbox = locked(&self.net.shared.peers).values().next().map(|it| it.outbox.clone());
        if let Some(outbox) = outbox {
            outbox.put(message);
        }
    }

    /// Closes the connection to this master behind the last message. The agent continues to dial or
    /// to wait. A connection that has ended meanwhile is not mistaken for that of the next master.
    pub fn close(&self, peer: u64) {
        locked(&self.net.shared.peers).remove(&peer);
    }

    /// Sets the first message to the next master: the agent's name, its kept records, and since
    /// when it is busy. The network adds the token.
    pub fn set_hello(&self, hello: Hello) {
        self.net.shared.end.hello.send_replace(Some(hello));
    }

    /// The instant of the master's last message, by the clock that was passed in; 0 before the
    /// first. After [`MASTER_SILENT_MAX`] of silence it does not change while the caller is busy,
    /// because messages that waited while this process was suspended do not show that the master is
    /// alive.
    #[must_use]
    pub fn heard(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.net.shared.end.heard)
    }
}

/// Wakes the thread that waits for the next event of its network.
#[derive(Clone)]
pub struct Waker(Inbox<FromMaster>);

impl Waker {
    /// Wakes it. A thread that has 1024 events before it is awake.
    pub fn wake(&self) {
        self.0.try_put(NetEvent::Woken);
    }
}

struct AgentEnd {
    token: Token,
    /// The first message; `None` until the caller sets it.
    hello: watch::Sender<Option<Hello>>,
    clock: fn() -> u64,
    heard: Arc<AtomicU64>,
    /// True if the master was silent for too long, and has said nothing since.
    is_doubted: AtomicBool,
    /// Since when it serves its one master, in seconds since 1970.
    serves_since: Mutex<Option<u64>>,
}

impl AgentEnd {
    fn new(join: &Join, clock: fn() -> u64) -> Self {
        let (hello, heard) = (watch::Sender::new(None), Arc::default());
        let (is_doubted, serves_since) = (AtomicBool::new(false), Mutex::default());
        Self { token: join.token.clone(), hello, clock, heard, is_doubted, serves_since }
    }

    /// True while the caller carries out a share.
    fn is_busy(&self) -> bool {
        self.hello.borrow().as_ref().is_some_and(|hello| hello.busy_since_unix_s.is_some())
    }

    /// True if the master has been silent for too long.
    fn is_silent(&self) -> bool {
        let silent_ns = (self.clock)().saturating_sub(self.heard.load(Ordering::Relaxed));
        silent_ns >= MASTER_SILENT_MAX.ns()
    }
}

impl End for AgentEnd {
    type In = ToAgent;
    type Out = FromAgent;
    const SERVES: &'static str = "/memtide.cluster.v1.Agent/Serve";
    const CALLS: &'static str = "/memtide.cluster.v1.Master/Join";
    const DIALS_ON: bool = true;
    const UNANSWERED: &'static str = "it refused the token of the join file, or it is ending; if \
                                       this happens again, copy the master's join file once more";
    const ABSENT: &'static str = "no master waits there yet; this agent tries again until one does";

    /// Waits for the caller's first hello.
    async fn ready(&self) {
        // This value owns the sender, so the wait cannot fail.
        let _ = self.hello.subscribe().wait_for(Option::is_some).await;
    }

    /// A master has proved itself by its certificate.
    async fn proof(&self, _incoming: &mut Streaming<ToAgent>) -> Result<Hello, String> {
        Ok(Hello::default())
    }

    /// The hello, with the token. Only a master that has proved itself receives it.
    fn greeting(&self) -> (Option<FromAgent>, bool) {
        let mut serves_since = locked(&self.serves_since);
        let mut hello = self.hello.borrow().clone().unwrap_or_default();
        hello.token = self.token.bytes().to_vec();
        hello.busy_since_unix_s = hello.busy_since_unix_s.or(*serves_since);
        let has_room = serves_since.is_none();
        if !has_room && self.is_doubted.load(Ordering::Relaxed) {
            // The caller leaves the silent master; the other one dials again.
            self.heard.store(0, Ordering::Relaxed);
        }
        serves_since.get_or_insert_with(unix_s);
        (Some(FromAgent { what: Some(from_agent::What::Hello(hello)) }), has_room)
    }

    fn opened(&self) {
        self.is_doubted.store(false, Ordering::Relaxed);
        self.heard.store((self.clock)(), Ordering::Relaxed);
    }

    fn closed(&self) {
        *locked(&self.serves_since) = None;
    }

    /// Answers pings, and notes signs of life.
    fn handle(&self, message: &ToAgent) -> ControlFlow<Option<FromAgent>> {
        let clock_ns = (self.clock)();
        if !self.is_busy() || !self.is_silent() {
            self.heard.store(clock_ns, Ordering::Relaxed);
            self.is_doubted.store(false, Ordering::Relaxed);
        }
        match &message.what {
            Some(to_agent::What::Ping(ping)) => {
                let pong = Pong { number: ping.number, clock_ns };
                let pong = FromAgent { what: Some(from_agent::What::Pong(pong)) };
                ControlFlow::Break(Some(pong))
            }
            Some(to_agent::What::Alive(_)) => ControlFlow::Break(None),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Seconds since 1970.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
