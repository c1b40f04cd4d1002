//! A page on which a run is watched, and finished pages: a small HTTP server on a thread of its
//! own.
//!
//! The page of a run is drawn only while a browser watches, with the newest state and no queue: a
//! viewer that reads slowly skips seconds. The server answers only who knows its path, and no page
//! of another origin.

use super::SharedLive;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::routing::get;
use futures_core::Stream;
use memtide_base::Span;
use memtide_report::{index_page, live_page, live_part};
use memtide_scenario::WebPlace;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The largest number of browsers that watch at the same time.
const VIEWERS_MAX: usize = 16;
/// The longest time between two looks at the model.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The longest wait for the server's thread to end.
const END_MAX: Duration = Duration::from_secs(1);

/// Facts that a page needs.
pub struct WebStart {
    /// Its address.
    pub place: WebPlace,
    /// How long the finished page stays, if anybody watched.
    pub linger: Span,
    /// True once the run was asked to stop.
    pub is_stopping: Box<dyn Fn() -> bool + Send>,
}

/// A page on which a run is watched.
pub struct WebView {
    url: String,
    start: WebStart,
    site: Arc<Site>,
    thread: Option<JoinHandle<()>>,
}

/// What all requests share.
struct Site {
    live: SharedLive,
    /// The path, with its slashes.
    path: String,
    /// The newest part of the page.
    newest: watch::Sender<Arc<str>>,
    viewers: AtomicUsize,
    /// True once anybody watched.
    was_watched: AtomicBool,
    ends: AtomicBool,
}

impl WebView {
    /// Serves `live`.
    ///
    /// # Errors
    /// If the address cannot be used, or the system starts no thread.
    pub fn start(live: SharedLive, start: WebStart) -> io::Result<Self> {
        let WebListener { listener, path, url } = WebListener::open(&start.place)?;
        let site = Arc::new(Site {
            live,
            path,
            newest: watch::Sender::new(Arc::from("")),
            viewers: AtomicUsize::new(0),
            was_watched: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&site);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = thread::Builder::new().name("web".to_owned()).spawn(move || {
            // An error of the listener ends the page, and not the run.
            drop(runtime.block_on(serve(theirs, listener)));
            runtime.shutdown_background();
        })?;
        Ok(Self { url, start, site, thread: Some(thread) })
    }

    /// The page's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Keeps the finished page for a while, if anybody watched, and ends the server.
    pub fn finish(&mut self) {
        let linger = Duration::from_nanos(self.start.linger.ns());
        let deadline = Instant::now() + linger;
        while self.site.was_watched.load(Ordering::Acquire)
            && Instant::now() < deadline
            && !(self.start.is_stopping)()
        {
            thread::sleep(Duration::from_millis(20));
        }
        self.site.ends.store(true, Ordering::Release);
        let deadline = Instant::now() + END_MAX;
        while let Some(thread) = self.thread.take_if(|_| Instant::now() < deadline) {
            match thread.is_finished() {
                true => drop(thread.join()),
                false => {
                    thread::sleep(Duration::from_millis(5));
                    self.thread = Some(thread);
                }
            }
        }
    }
}

/// The listening socket of a page, and its address.
struct WebListener {
    listener: TcpListener,
    /// The path, with its slashes.
    path: String,
    url: String,
}

impl WebListener {
    /// Listens at `place`.
    fn open(place: &WebPlace) -> io::Result<Self> {
        let listener = TcpListener::bind(place.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let path = place.path.clone().map_or_else(token, Ok)?;
        let path = if path.is_empty() { "/".to_owned() } else { format!("/{path}/") };
        let url = format!("http://{}{path}", shown(address));
        Ok(Self { listener, path, url })
    }
}

/// A path that cannot be guessed: 128 bits of the system's randomness.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// An address as a browser can use it: one that means "every address" is this machine.
fn shown(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("localhost:{}", address.port()),
        false => address.to_string(),
    }
}

async fn serve(site: Arc<Site>, listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let path = site.path.clone();
    let routes = Router::new()
        .route(&path, get(whole))
        .route(&format!("{path}live"), get(seconds))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(from_fn_with_state(Arc::from(path), guarded))
        .with_state(Arc::clone(&site));
    let serving = axum::serve(listener, routes).into_future();
    tokio::select! {
        result = serving => result,
        () = draw(&site) => Ok(()),
    }
}

/// Draws the newest part while anybody watches, until the page ends.
async fn draw(site: &Site) {
    let mut drawn = None;
    while !site.ends.load(Ordering::Acquire) {
        let is_watched = site.viewers.load(Ordering::Acquire) > 0;
        let version = site.live.lock().version();
        if is_watched && drawn != Some(version) {
            drawn = Some(version);
            let part = live_part(&site.live.lock());
            site.newest.send_replace(Arc::from(part));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Refuses pages of other origins, and names that another party may let lead here; adds headers
/// that keep the page to itself.
async fn guarded(State(path): State<Arc<str>>, request: Request, next: Next) -> Response<Body> {
    let mut response = match is_own(request.headers(), request.uri()) {
        // Without the path, nothing is told, not even that something else is wrong.
        _ if !request.uri().path().starts_with(&*path) => StatusCode::NOT_FOUND.into_response(),
        false => StatusCode::FORBIDDEN.into_response(),
        true => next.run(request).await,
    };
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// True if the request is for an address, not a name, and comes from no page of another origin.
fn is_own(headers: &HeaderMap, uri: &Uri) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host.or_else(|| uri.authority().map(|host| host.as_str())) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let is_address = name == "localhost" || name.parse::<IpAddr>().is_ok();
    let origin = headers.get(header::ORIGIN).map(|origin| origin.as_bytes());
    is_address && origin.is_none_or(|origin| origin == format!("http://{host}").as_bytes())
}

/// The page: the finished one once all is over.
async fn whole(State(site): State<Arc<Site>>) -> impl IntoResponse {
    let live = site.live.lock();
    let text = live.finished().map_or_else(|| live_page(&live), |page| page.to_string());
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text)
}

/// A viewer, until it goes.
struct Viewer {
    site: Arc<Site>,
    newest: watch::Receiver<Arc<str>>,
    has_ended: bool,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.site.viewers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The newest part of the page, again and again.
async fn seconds(State(site): State<Arc<Site>>) -> Response<Body> {
    let before = site.viewers.fetch_add(1, Ordering::AcqRel);
    site.was_watched.store(true, Ordering::Release);
    let newest = site.newest.subscribe();
    let viewer = Viewer { site, newest, has_ended: false };
    if before >= VIEWERS_MAX {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    Sse::new(Messages::to(viewer)).keep_alive(KeepAlive::default()).into_response()
}

/// Server-sent events: `part` with the newest part; `over` at the end, after which the page loads
/// the finished one.
struct Messages(Coming);

/// The next message to a viewer, with the viewer; none after the last one.
type Coming = Pin<Box<dyn Future<Output = Option<(Message, Viewer)>> + Send>>;

impl Messages {
    fn to(viewer: Viewer) -> Self {
        Self(Box::pin(next(viewer)))
    }
}

impl Stream for Messages {
    type Item = Result<Message, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, about: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll(about).map(|came| {
            let (message, viewer) = came?;
            self.0 = Box::pin(next(viewer));
            Some(Ok(message))
        })
    }
}

async fn next(mut viewer: Viewer) -> Option<(Message, Viewer)> {
    loop {
        if viewer.has_ended {
            return None;
        }
        if viewer.site.live.lock().is_over() {
            viewer.has_ended = true;
            return Some((Message::default().event("over").data("over"), viewer));
        }
        let waited = tokio::time::timeout(LOOK_EVERY, viewer.newest.changed()).await;
        if matches!(waited, Ok(Err(_))) {
            return None;
        }
        let part = Arc::clone(&viewer.newest.borrow_and_update());
        if matches!(waited, Ok(Ok(()))) && !part.is_empty() {
            return Some((Message::default().event("part").data(&*part), viewer));
        }
    }
}

/// Pages that are being served.
pub struct WebPages {
    url: String,
}

impl WebPages {
    /// The address of the first of them.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Serves `pages`, each with its name. Several begin with a list of their names.
///
/// # Errors
/// If the address cannot be used, or the system starts no thread.
pub fn serve_pages(place: &WebPlace, pages: Vec<(String, String)>) -> io::Result<WebPages> {
    let WebListener { listener, path, url } = WebListener::open(place)?;
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let first = match pages.as_slice() {
        [(_, only)] => only.clone(),
        _ => index_page(&names),
    };
    let mut routes = Router::new().route(&path, get(|| html(Arc::from(first))));
    for (number, (_, page)) in pages.into_iter().enumerate() {
        let page: Arc<str> = Arc::from(page);
        routes = routes.route(&format!("{path}{number}"), get(move || html(Arc::clone(&page))));
    }
    let routes = routes
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(from_fn_with_state(Arc::from(path), guarded));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("web".to_owned()).spawn(move || {
        // An error of the listener ends the pages; the program goes on until it is told to end.
        drop(runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, routes).await
        }));
    })?;
    Ok(WebPages { url })
}

async fn html(page: Arc<str>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.to_string())
}
