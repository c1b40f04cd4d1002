//! A memcached small enough to trust: bytes in, bytes out.
//!
//! A [`Session`] is one connection and a [`Store`] is what all of them share. Both do what
//! memcached 1.6.18 does, which a test holds them against. Sockets, threads and clocks are handed
//! in; there are no slabs, no binary protocol and no authentication.
#![forbid(unsafe_code)]

mod session;
mod store;
mod shard;
mod table;
mod counter;
mod clock;

pub use clock::Clock;
pub use session::{Flow, Session};
pub use store::{Store, StoreOptions};
