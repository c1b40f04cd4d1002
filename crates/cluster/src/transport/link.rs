//! One connection to a peer, from its opening to its end.

use super::queue::{Backlog, Inbox, Outbox, Outgoing, outgoing, places};
use super::stream::{self, Driver};
use super::thread::Stop;
use super::{CLOSE_MAX, PROOF_MAX, UNREAD_MAX, tls};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::{TlsConnector, TlsStream};
use tonic::Streaming;

/// The longest time that a connection may take to be made; shorter than that for the proof, so that
/// the reason is told.
const CONNECT_MAX: Duration = Duration::from_secs(4);
/// The interval at which a peer's reading is checked, and that of a peer for which nothing waits.
const TICK: Duration = Duration::from_secs(1);
const IDLE_TICK: Duration = Duration::from_secs(10);
const FULL: &str = "it reads too slowly: 1024 messages or 64 MiB are queued for it";

/// Waits for a proof until its deadline.
pub(super) async fn within<T>(proof: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let proved = timeout(PROOF_MAX, proof).await;
    proved.map_err(|_| format!("it did not authenticate within {} s", PROOF_MAX.as_secs()))?
}

/// Opens a TLS connection to an address. `absent` is the end of the sentence if nothing listens
/// there.
pub(super) async fn connect(
    address: &str,
    connector: &TlsConnector,
    absent: &str,
) -> Result<TlsStream<TcpStream>, String> {
    let tcp = match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
        Ok(connected) => connected.map_err(|error| unreached(&error, absent))?,
        Err(_) => {
            return Err(format!(
                "it cannot be reached: no answer within {} s; check the address, and whether a \
                 firewall is in between",
                CONNECT_MAX.as_secs()
            ));
        }
    };
    // With Nagle's algorithm, pings would wait for acknowledgements.
    let _ = tcp.set_nodelay(true);
    let tls = connector.connect(tls::name(), tcp).await.map_err(|error| tls::why(&error))?;
    if !tls::is_http2(tls.get_ref().1.alpn_protocol()) {
        return Err("it does not speak HTTP/2, so it is not memtide".to_owned());
    }
    Ok(tls.into())
}

/// The reason why no connection could be made.
fn unreached(error: &io::Error, absent: &str) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("it cannot be reached: {error}; {absent}"),
        _ => format!("it cannot be reached: {error}"),
    }
}

/// The caller's end of a connection. Dropping it closes the connection; messages sent before are
/// still written.
pub(super) struct Handle<Out> {
    pub(super) outbox: Outbox<Out>,
    end: watch::Sender<bool>,
    /// True once the peer has something to do.
    works: Arc<AtomicBool>,
    /// The number of messages that had left when this was last asked.
    left: AtomicU64,
}

impl<Out: prost::Message> Handle<Out> {
    /// A handle, what shows its end, and its messages; `leaves` sees each just before it is sent.
    /// `works` is set once the peer has something to do.
    pub(super) fn new(
        works: Arc<AtomicBool>,
        leaves: impl FnMut(&Out) + Send + 'static,
    ) -> (Self, watch::Receiver<bool>, Outgoing<Out>) {
        let (outbox, outgoing) = outgoing(leaves);
        let (end, ended) = watch::channel(false);
        (Self { outbox, end, works, left: AtomicU64::new(0) }, ended, outgoing)
    }

    /// True once the peer has something to do.
    pub(super) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    /// True if no message has left since this was last asked.
    pub(super) fn was_quiet(&self) -> bool {
        let left = self.outbox.left();
        self.left.swap(left, Ordering::Relaxed) == left
    }

    /// Sends a message. A peer that has no room for it loses the connection.
    pub(super) fn send(&self, message: Out) {
        if !self.outbox.try_put(message) {
            self.end.send_replace(true);
        }
    }
}

/// The reason of a connection's end.
pub(super) enum Ended {
    /// This side closed it.
    Asked,
    /// The peer closed it, or the network failed.
    Peer(String),
    /// The peer does not read.
    Unread(String),
}

/// The net thread's side of a connection.
pub(super) struct Link<In> {
    pub(super) incoming: Streaming<In>,
    pub(super) driver: Driver,
    pub(super) ended: watch::Receiver<bool>,
    pub(super) backlog: Backlog,
    pub(super) stop: Stop,
}

impl<In: prost::Message> Link<In> {
    /// Passes arriving messages to the caller until the connection ends. `take` turns a message
    /// into an event, or handles it.
    pub(super) async fn carry<E>(
        &mut self,
        inbox: &Inbox<E>,
        mut take: impl FnMut(In) -> Option<E>,
    ) -> Ended {
        let mut tick = pin!(sleep(TICK));
        let (mut taken, mut unread) = (None, Duration::ZERO);
        loop {
            let message = select! {
                // A close by this side is checked first, so that its reason is the one reported.
                biased;
                asked = self.ended.changed() => return asked_or_full(asked.is_ok()),
                () = self.stop.asked() => return Ended::Asked,
                () = tick.as_mut() => {
                    let now = self.backlog.taken();
                    let stays = now.is_some() && now == taken;
                    unread = if stays { unread + TICK } else { Duration::ZERO };
                    taken = now;
                    let next = if now.is_some() { TICK } else { IDLE_TICK };
                    tick.as_mut().reset(Instant::now() + next);
                    if unread >= UNREAD_MAX {
                        let s = UNREAD_MAX.as_secs();
                        return Ended::Unread(format!("it has read nothing for {s} s"));
                    }
                    continue;
                }
                message = self.incoming.message() => message,
            };
            let message = match message {
                Ok(Some(message)) => message,
                Ok(None) => return Ended::Peer("it closed the connection".to_owned()),
                Err(status) => return Ended::Peer(stream::why(&status)),
            };
            let places = places(&message);
            if let Some(event) = take(message) {
                select! {
                    () = inbox.put(event, places) => {}
                    asked = self.ended.changed() => return asked_or_full(asked.is_ok()),
                    () = self.stop.asked() => return Ended::Asked,
                }
            }
        }
    }

    /// Ends the connection, whose handle is gone by now. Gives the peer a moment to read sent
    /// messages.
    pub(super) async fn finish(mut self, ended: Ended) -> String {
        self.backlog.close();
        let why = match ended {
            Ended::Asked => {
                let rest = async { while let Ok(Some(_)) = self.incoming.message().await {} };
                let _ = timeout(CLOSE_MAX, rest).await;
                "this side closed the connection".to_owned()
            }
            Ended::Peer(why) => why,
            Ended::Unread(why) => return why,
        };
        drop(self.incoming);
        self.driver.end().await;
        why
    }
}

fn asked_or_full(is_full: bool) -> Ended {
    if is_full { Ended::Unread(FULL.to_owned()) } else { Ended::Asked }
}
