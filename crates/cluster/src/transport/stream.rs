//! gRPC over one TLS connection: the call that carries both streams, as server and as client.

use super::queue::{Outgoing, locked};
use super::tls;
use crate::message::agent_client::AgentClient;
use crate::message::agent_server::Agent;
use crate::message::master_client::MasterClient;
use crate::message::master_server::Master;
use crate::message::{FromAgent, ToAgent};
use hyper::body::Incoming;
use hyper::client::conn::http2 as client;
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsStream;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, Uri};
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::{BoxFuture, Service};
use tonic::{Status, Streaming};

/// The time that a connection has to write its last bytes.
const LAST_BYTES_MAX: Duration = Duration::from_millis(150);

/// The task that moves a connection's bytes. Dropping it closes the connection at once.
pub(super) struct Driver {
    task: JoinHandle<()>,
    end: Option<oneshot::Sender<()>>,
}

impl Driver {
    /// Closes the connection once its last bytes are written.
    pub(super) async fn end(mut self) {
        self.end = None;
        let _ = timeout(LAST_BYTES_MAX, &mut self.task).await;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The peer's call on the waiting side. Nothing is sent before it is answered.
pub(super) struct Call<In, Out> {
    pub(super) incoming: Streaming<In>,
    answer: oneshot::Sender<Outgoing<Out>>,
}

impl<In, Out> Call<In, Out> {
    /// Accepts the call.
    pub(super) fn answer(self, outgoing: Outgoing<Out>) -> Streaming<In> {
        // If the connection has ended, the stream reports it.
        let _ = self.answer.send(outgoing);
        self.incoming
    }
}

/// A service that passes on the first call of its connection; there is no second.
pub(super) struct Once<In, Out>(Mutex<Option<oneshot::Sender<Call<In, Out>>>>);

/// The service, and the receiver of its call.
pub(super) fn once<In, Out>() -> (Once<In, Out>, oneshot::Receiver<Call<In, Out>>) {
    let (calls, call) = oneshot::channel();
    (Once(Mutex::new(Some(calls))), call)
}

impl<In, Out> Once<In, Out> {
    async fn pass(&self, incoming: Streaming<In>) -> Result<Answer<Out>, Status> {
        let (answer, answered) = oneshot::channel();
        let second = || Status::already_exists("one call for each connection");
        let calls = locked(&self.0).take().ok_or_else(second)?;
        calls.send(Call { incoming, answer }).map_err(|_| second())?;
        let outgoing = answered.await.map_err(|_| Status::unauthenticated(""))?;
        Ok(tonic::Response::new(Answers(outgoing)))
    }
}

type Answer<Out> = tonic::Response<Answers<Out>>;

/// Outgoing messages in the form of a server's answers.
pub(super) struct Answers<Out>(Outgoing<Out>);

impl<Out> Stream for Answers<Out> {
    type Item = Result<Out, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(context).map(|next| next.map(Ok))
    }
}

#[tonic::async_trait]
impl Master for Once<FromAgent, ToAgent> {
    type JoinStream = Answers<ToAgent>;

    async fn join(
        &self,
        request: tonic::Request<Streaming<FromAgent>>,
    ) -> Result<Answer<ToAgent>, Status> {
        self.pass(request.into_inner()).await
    }
}

#[tonic::async_trait]
impl Agent for Once<ToAgent, FromAgent> {
    type ServeStream = Answers<FromAgent>;

    async fn serve(
        &self,
        request: tonic::Request<Streaming<ToAgent>>,
    ) -> Result<Answer<FromAgent>, Status> {
        self.pass(request.into_inner()).await
    }
}

/// Serves one connection.
pub(super) fn serve<S>(tls: TlsStream<TcpStream>, service: S) -> Driver
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
{
    let (end, ended) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let service = service_fn(move |request| service.clone().call(request));
        let mut builder = server::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(1);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(tls), service));
        select! {
            _ = connection.as_mut() => return,
            _ = ended => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    });
    Driver { task, end: Some(end) }
}

/// The dialing side's way to send its call.
#[derive(Clone)]
pub(super) struct Caller(client::SendRequest<Body>);

impl Service<Request<Body>> for Caller {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Begins to speak HTTP/2 as the dialing side.
async fn caller(tls: TlsStream<TcpStream>) -> Result<(Caller, Driver), String> {
    let builder = client::Builder::new(TokioExecutor::new());
    let (caller, connection) = builder
        .handshake(TokioIo::new(tls))
        .await
        .map_err(|error| why(&Status::from_error(Box::new(error))))?;
    let task = tokio::spawn(async move {
        // The end of the streams reports the reason.
        let _ = connection.await;
    });
    Ok((Caller(caller), Driver { task, end: None }))
}

fn origin() -> Uri {
    Uri::from_static("http://memtide")
}

/// An agent's call to its master. It returns once the master has answered.
pub(super) async fn join(
    tls: TlsStream<TcpStream>,
    outgoing: Outgoing<FromAgent>,
) -> Result<(Streaming<ToAgent>, Driver), String> {
    let (caller, driver) = caller(tls).await?;
    let mut client = MasterClient::with_origin(caller, origin());
    let answer = client.join(outgoing).await.map_err(|status| why(&status))?;
    Ok((answer.into_inner(), driver))
}

/// A master's call to an agent. It returns once the agent has answered.
pub(super) async fn call_agent(
    tls: TlsStream<TcpStream>,
    outgoing: Outgoing<ToAgent>,
) -> Result<(Streaming<FromAgent>, Driver), String> {
    let (caller, driver) = caller(tls).await?;
    let mut client = AgentClient::with_origin(caller, origin());
    let answer = client.serve(outgoing).await.map_err(|status| why(&status))?;
    Ok((answer.into_inner(), driver))
}

/// The reason why a stream broke, as a sentence about the peer.
pub(super) fn why(status: &Status) -> String {
    let mut last: Option<&(dyn Error + 'static)> = None;
    let mut next = status.source();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return tls::why_broken(&error.to_string());
        }
        (last, next) = (Some(error), error.source());
    }
    match last {
        Some(error) => tls::why_broken(&error.to_string()),
        None => tls::why_broken(status.message()),
    }
}
