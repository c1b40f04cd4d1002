//! Admission on the waiting side: which peers may connect, how long they may take, and reports
//! about refused ones. Nothing that a stranger does ends it.

use super::NetEvent;
use super::queue::{Inbox, locked};
use super::tally::Tally;
use super::thread::Stop;
use super::waiting::Waiting;
use super::{PROOF_MAX, UNPROVEN_MAX, tls};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fmt, io};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::select;
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsStream};

/// The most connections that the kernel holds before they are accepted.
const BACKLOG: u32 = 1024;
/// The pause in accepting connections when the process has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on the first address of `host:port` that can be bound. Must be called within a runtime.
pub(super) fn bind(address: &str) -> Result<(TcpListener, SocketAddr), String> {
    let cannot =
        |why: &dyn fmt::Display| format!("cannot listen on {address}: {why}; name another address");
    let mut last = None;
    for one in address.to_socket_addrs().map_err(|error| cannot(&error))? {
        match bind_one(one) {
            Ok(bound) => return Ok(bound),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| cannot(&"the name has no address"), |error| cannot(&error)))
}

fn bind_one(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let local = listener.local_addr()?;
    Ok((listener, local))
}

/// Peers that have not proved themselves, and the reports about them. `M` are a peer's messages.
pub(super) struct AdmissionQueue<M> {
    inbox: Inbox<NetEvent<M>>,
    tally: Mutex<Tally>,
    waiting: Mutex<Waiting<AbortHandle>>,
    number: AtomicU64,
    opened: Instant,
}

impl<M: Send + 'static> AdmissionQueue<M> {
    pub(super) fn new(inbox: Inbox<NetEvent<M>>) -> Arc<Self> {
        Arc::new(Self {
            inbox,
            tally: Mutex::new(Tally::default()),
            waiting: Mutex::new(Waiting::new()),
            number: AtomicU64::new(0),
            opened: Instant::now(),
        })
    }

    /// Reports that a peer was refused, or counts it.
    pub(super) fn turn_away(&self, address: &str, why: String) {
        let mut tally = locked(&self.tally);
        let event = NetEvent::Turned { address: address.to_owned(), why };
        if tally.admit(self.opened.elapsed().as_secs()) && !self.inbox.try_put(event) {
            tally.lost();
        }
    }

    fn say_summary(&self) {
        let sentences = locked(&self.tally).summary();
        for sentence in sentences {
            self.turn_away("many", sentence);
        }
    }

    /// Accepts connections until the thread stops; `serve` receives those whose TLS handshake
    /// succeeded.
    pub(super) async fn accept<F, Served>(
        self: Arc<Self>,
        listener: TcpListener,
        acceptor: TlsAcceptor,
        mut stop: Stop,
        serve: F,
    ) where
        F: Fn(TlsStream<TcpStream>, PendingPeer<M>) -> Served + Clone + Send + 'static,
        Served: Future<Output = ()> + Send + 'static,
    {
        let mut tick = interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = select! {
                () = stop.asked() => return,
                _ = tick.tick() => {
                    self.say_summary();
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            let (tcp, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.turn_away("unknown", format!("a connection was not accepted: {error}"));
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let number = self.number.fetch_add(1, Ordering::Relaxed);
            let pending = PendingPeer { queue: Arc::clone(&self), number, address };
            let (acceptor, serve) = (acceptor.clone(), serve.clone());
            let task = tokio::spawn(async move {
                if let Some((tls, pending)) = shake_hands(tcp, acceptor, pending).await {
                    serve(tls, pending).await;
                }
            });
            self.let_wait(number, address, task.abort_handle());
        }
    }

    /// Gives a peer time to prove itself, and closes another one if too many are waiting.
    fn let_wait(&self, number: u64, address: SocketAddr, end: AbortHandle) {
        let Some(other) = locked(&self.waiting).add(number, address.ip(), end) else {
            return;
        };
        other.abort();
        let first = locked(&self.tally).push_out();
        if first {
            let why = format!(
                "more than {UNPROVEN_MAX} connections are not yet authenticated; each new one \
                 closes the oldest of the address that has most"
            );
            self.turn_away(&address.to_string(), why);
        }
    }
}

/// A connection that has not proved itself.
pub(super) struct PendingPeer<M> {
    queue: Arc<AdmissionQueue<M>>,
    number: u64,
    pub(super) address: SocketAddr,
}

impl<M> PendingPeer<M> {
    /// Records that the peer has proved itself: it no longer counts as waiting.
    pub(super) fn proved(&self) {
        locked(&self.queue.waiting).remove(self.number);
    }
}

impl<M: Send + 'static> PendingPeer<M> {
    pub(super) fn turn_away(&self, why: String) {
        self.queue.turn_away(&self.address.to_string(), why);
    }
}

impl<M> Drop for PendingPeer<M> {
    fn drop(&mut self) {
        self.proved();
    }
}

async fn shake_hands<M: Send + 'static>(
    tcp: TcpStream,
    acceptor: TlsAcceptor,
    pending: PendingPeer<M>,
) -> Option<(TlsStream<TcpStream>, PendingPeer<M>)> {
    // With Nagle's algorithm, pings would wait for acknowledgements.
    let _ = tcp.set_nodelay(true);
    let why = match timeout(PROOF_MAX, acceptor.accept(tcp)).await {
        Ok(Ok(tls)) if tls::is_http2(tls.get_ref().1.alpn_protocol()) => {
            return Some((tls.into(), pending));
        }
        Ok(Ok(_)) => "it did not ask for HTTP/2; this port is for memtide only".to_owned(),
        Ok(Err(error)) => tls::why(&error),
        Err(_) => format!("it did not finish the TLS handshake within {} s", PROOF_MAX.as_secs()),
    };
    pending.turn_away(why);
    None
}
