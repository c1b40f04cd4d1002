//! memcached on the wire, both directions, without sockets, clocks or dependencies.
//!
//! [`Request`] and [`Reply`] say what is meant; [`text`] is the classic text form of that meaning,
//! [`binary`] the form in frames, and [`udp`] how either travels in datagrams.
//! Names in comments such as "Storage commands" are section titles of memcached's protocol
//! document (`doc/protocol.txt`). It never resynchronises a broken stream: that is the
//! connection's job.
#![forbid(unsafe_code)]

pub mod binary;
pub mod text;
pub mod sasl;
pub mod udp;
mod print;
mod error;
mod request;
mod reply;
mod scan;

pub use error::{BadRequest, Excerpt, Malformed, Then};
pub use reply::{ErrorKind, ErrorReply, Reply};
pub use request::{KEY_BYTES_MAX, Keys, Request, Verb};
