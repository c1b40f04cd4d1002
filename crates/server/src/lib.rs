//! A memcached small enough to trust: bytes in, bytes out.
//!
//! A [`Session`] is one connection and a [`Store`] is the state that all connections share. Both
//! behave as memcached 1.6.18, which a test compares them with. An [`Endpoint`] is a connection to
//! a server that delays answers or makes faults on purpose; [`Datagrams`] is its counterpart for
//! UDP. Sockets, threads and clocks are handed in; there are no slabs and no authentication.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

mod endpoint;
mod profile;
mod session;
mod behaviour;
mod fault;
mod word;
mod store;
mod shard;
mod table;
mod counter;
mod clock;

#[cfg(test)]
#[path = "../../base/tests/table/mod.rs"]
mod cases;

pub use behaviour::Behaviour;
pub use clock::Clock;
pub use endpoint::{After, Datagrams, Endpoint};
pub use fault::{FaultKind, Faults};
pub use profile::{ProfileState, ServerProfile};
pub use session::{Flow, Session};
pub use store::{Store, StoreOptions};
pub use table::{Outgoing, ReplyBuffer};
