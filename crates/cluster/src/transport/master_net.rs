//! The master's network: agents that dial it, and agents that it dials.

use super::NetEvent;
use super::net::{End, Net};
use super::queue::locked;
use super::stream::why;
use super::{BUSY_MAX, tls};
use crate::identity::Identity;
use crate::join::Token;
use crate::message::{Alive, FromAgent, Hello, ToAgent, from_agent, to_agent};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tonic::Streaming;

/// An event of the master's network.
pub type FromNet = NetEvent<FromAgent>;

/// The master's network, on a thread of its own. Dropping it closes all connections and ends the
/// thread within a second; agents that read still get messages sent before.
pub struct MasterNet(Net<MasterEnd>);

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
        let end = MasterEnd { token, called: Mutex::new(Instant::now()) };
        let server = tls::server(identity, None)?;
        let client = tls::client(Some(identity), None)?;
        let waits = listen.map(|address| (address, server));
        let dials = dial.into_iter().map(|address| (address, Arc::clone(&client)));
        Net::start(end, clock, waits, dials.collect()).map(Self)
    }

    /// The address at which the master waits for agents; `None` if it only dials.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.0.local
    }

    /// The next event; `None` if there is none within `timeout`. A slow caller makes agents wait:
    /// at most 1024 events, or 64 MiB, are kept for the caller. Agents are still told that their
    /// master is alive, unless the caller does not call for 30 s.
    pub fn next(&self, timeout: Duration) -> Option<FromNet> {
        *locked(&self.0.shared.end.called) = Instant::now();
        self.0.next(timeout)
    }

    /// Sends a message to an agent, without blocking. An agent that leaves 1024 messages or 64 MiB
    /// unread, or reads nothing for 10 s, is disconnected. For a closed connection it does nothing.
    pub fn send(&self, peer: u64, message: ToAgent) {
        if let Some(handle) = locked(&self.0.shared.peers).get(&peer) {
            handle.send(message);
        }
    }

    /// Closes a connection behind the last message. A listed agent is not dialed again.
    pub fn close(&self, peer: u64) {
        locked(&self.0.shared.peers).remove(&peer);
    }
}

struct MasterEnd {
    token: Token,
    /// The instant at which the caller last asked for an event.
    called: Mutex<Instant>,
}

impl End for MasterEnd {
    type In = FromAgent;
    type Out = ToAgent;
    const SERVES: &'static str = "/memtide.cluster.v1.Master/Join";
    const CALLS: &'static str = "/memtide.cluster.v1.Agent/Serve";
    const DIALS_ON: bool = false;
    const IS_FIRST: bool = true;
    const UNANSWERED: &'static str = "it closed the connection before it named itself; if its join \
                                       file belongs to another master, copy this master's join \
                                       file to it";
    const ABSENT: &'static str = "nothing waits there for other machines, so start the agent \
                                  there, with the join file";

    /// An agent's refusal of this master's key is told apart, if it arrives before the close.
    fn unanswered(why: String) -> String {
        if why == tls::REFUSED { why } else { Self::UNANSWERED.to_owned() }
    }

    fn engages(message: &ToAgent) -> bool {
        matches!(message.what, Some(to_agent::What::Share(_)))
    }

    fn ping(message: &ToAgent) -> Option<u64> {
        let Some(to_agent::What::Ping(ping)) = &message.what else { return None };
        Some(ping.number)
    }

    fn pong(message: &FromAgent) -> Option<u64> {
        let Some(from_agent::What::Pong(pong)) = &message.what else { return None };
        Some(pong.number)
    }

    /// The first message, which must prove that the agent knows the token.
    async fn proof(&self, incoming: &mut Streaming<FromAgent>) -> Result<Hello, String> {
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

    fn alive(&self) -> Option<ToAgent> {
        let is_alive = locked(&self.called).elapsed() < BUSY_MAX;
        is_alive.then_some(ToAgent { what: Some(to_agent::What::Alive(Alive {})) })
    }
}
