//! A memcached small enough to trust: bytes in, bytes out.
//!
//! A [`Session`] is one connection and a [`Store`] is what all of them share. Both do what
//! memcached 1.6.18 does, which a test holds them against. An [`Endpoint`] is a connection to a
//! server that takes its time or does wrong on purpose; [`Datagrams`] is all that a socket without
//! connections needs. Sockets, threads and clocks are handed in; there are no slabs and no
//! authentication.
#![forbid(unsafe_code)]

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

pub use behaviour::Behaviour;
pub use clock::Clock;
pub use endpoint::{After, Datagrams, Endpoint};
pub use fault::{FaultKind, Faults};
pub use profile::{ProfileState, ServerProfile};
pub use session::{Flow, Session};
pub use store::{Store, StoreOptions};
pub use table::{Outgoing, Sink};
pub use word::WordError;
