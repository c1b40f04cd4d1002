//! The first steps of the dialing side, and the deadline of every proof.

use super::{PROOF_MAX, tls};
use std::io;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsConnector, TlsStream};

/// Waits for a proof until its deadline.
pub(super) async fn within<T>(proof: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = |_| format!("it did not authenticate within {} s", PROOF_MAX.as_secs());
    timeout(PROOF_MAX, proof).await.map_err(late)?
}

/// Opens a TLS connection to an address.
pub(super) async fn connect(
    address: &str,
    connector: &TlsConnector,
) -> Result<TlsStream<TcpStream>, String> {
    let unreached = |error: io::Error| format!("it cannot be reached: {error}");
    let tcp = TcpStream::connect(address).await.map_err(unreached)?;
    // With Nagle's algorithm, pings would wait for acknowledgements.
    let _ = tcp.set_nodelay(true);
    let tls = connector.connect(tls::name(), tcp).await.map_err(|error| tls::why(&error))?;
    if !tls::is_http2(tls.get_ref().1.alpn_protocol()) {
        return Err("it does not speak HTTP/2, so it is not memtide".to_owned());
    }
    Ok(tls.into())
}
