//! Finished pages for a browser, served from memory until the program ends.

use super::web::{WebListener, guarded};
use axum::Router;
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use memtide_report::index_page;
use memtide_scenario::WebPlace;
use std::sync::Arc;
use std::{io, thread};

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
    let mut routes = Router::new().route(&path, get(|| shown(Arc::from(first))));
    for (number, (_, page)) in pages.into_iter().enumerate() {
        let page: Arc<str> = Arc::from(page);
        routes = routes.route(&format!("{path}{number}"), get(move || shown(Arc::clone(&page))));
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

async fn shown(page: Arc<str>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.to_string())
}
