//! The machinery that makes load: workers, clients, connections and pacing. A [`Worker`] carries
//! out its part of a `Plan` over a `Driver`, and [`probe`] asks servers questions beside the load.
//!
//! It has no socket, clock, thread or randomness of its own: a world hands them in, so the same
//! code runs against a kernel and in virtual time. The list below is the reading order.
#![forbid(unsafe_code)]

mod worker;
pub mod probe;
mod client;
mod recorder;
mod connection;
mod dialect;
mod pacer;
mod route;

pub use recorder::MeasuredWindow;
pub use worker::Worker;
