//! gRPC over one TLS connection: the call that carries both streams, as server and as client.

use super::queue::{Outgoing, locked};
use super::tls;
use hyper::body::Incoming;
use hyper::client::conn::http2 as client;
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsStream;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::http::{Request, Response, Uri};
use tonic::codegen::tokio_stream::StreamExt;
use tonic::codegen::tokio_stream::adapters::Map;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::StreamingService;
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;

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

/// The receiver of a connection's first call.
type First<In, Out> = Option<oneshot::Sender<Call<In, Out>>>;

/// A service that passes on the first call of its connection; there is no second.
struct Once<In, Out>(Arc<Mutex<First<In, Out>>>);

/// Outgoing messages in the form of a server's answers.
type Answers<Out> = Map<Outgoing<Out>, fn(Out) -> Result<Out, Status>>;

impl<In: Send + 'static, Out: Send + 'static> StreamingService<In> for Once<In, Out> {
    type Response = Out;
    type ResponseStream = Answers<Out>;
    type Future = BoxFuture<tonic::Response<Answers<Out>>, Status>;

    fn call(&mut self, request: tonic::Request<Streaming<In>>) -> Self::Future {
        let first = locked(&self.0).take();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let call = Call { incoming: request.into_inner(), answer };
            first.ok_or_else(second_call)?.send(call).map_err(|_| second_call())?;
            let outgoing = answered.await.map_err(|_| Status::unauthenticated(""))?;
            Ok(tonic::Response::new(outgoing.map(Ok as fn(_) -> _)))
        })
    }
}

fn second_call() -> Status {
    Status::already_exists("one call for each connection")
}

/// Serves one connection, and with it one call of the method at `path`.
pub(super) fn serve<In, Out>(
    tls: TlsStream<TcpStream>,
    path: &'static str,
) -> (Driver, oneshot::Receiver<Call<In, Out>>)
where
    In: prost::Message + Default + 'static,
    Out: prost::Message + 'static,
{
    let (calls, call) = oneshot::channel();
    let calls = Arc::new(Mutex::new(Some(calls)));
    let service = service_fn(move |request: Request<Incoming>| {
        let once = Once(Arc::clone(&calls));
        async move {
            let codec = ProstCodec::<Out, In>::default();
            Ok::<_, Infallible>(match request.uri().path() == path {
                true => tonic::server::Grpc::new(codec).streaming(once, request).await,
                false => Status::unimplemented("").into_http(),
            })
        }
    });
    let (end, ended) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let mut builder = server::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(1);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(tls), service));
        select! {
            _ = connection.as_mut() => return,
            _ = ended => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    });
    (Driver { task, end: Some(end) }, call)
}

/// The dialing side's way to send its call.
struct Caller(client::SendRequest<Body>);

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

/// Calls the method at `path` of the peer that was dialed. Returns once it has answered.
pub(super) async fn call<In, Out>(
    tls: TlsStream<TcpStream>,
    path: &'static str,
    outgoing: Outgoing<Out>,
) -> Result<(Streaming<In>, Driver), Status>
where
    In: prost::Message + Default + 'static,
    Out: prost::Message + 'static,
{
    let builder = client::Builder::new(TokioExecutor::new());
    let (caller, connection) = builder.handshake(TokioIo::new(tls)).await.map_err(broken)?;
    let (breaks, breach) = oneshot::channel();
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            // Once the call is answered, the end of the streams reports the reason.
            let _ = breaks.send(broken(error));
        }
    });
    let driver = Driver { task, end: None };
    let origin = Uri::from_static("http://memtide");
    let mut client = tonic::client::Grpc::with_origin(Caller(caller), origin);
    client.ready().await.map_err(broken)?;
    let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Out, In>::default());
    match client.streaming(tonic::Request::new(outgoing), path, codec).await {
        Ok(answer) => Ok((answer.into_inner(), driver)),
        // The connection knows better than the call why there is no answer.
        Err(status) => Err(match timeout(LAST_BYTES_MAX, breach).await {
            Ok(Ok(breach)) => breach,
            _ => status,
        }),
    }
}

fn broken(error: hyper::Error) -> Status {
    Status::from_error(Box::new(error))
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
