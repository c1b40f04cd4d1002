//! memcached's protocol on the wire, in both directions, without sockets, clocks or dependencies.
//!
//! [`Request`] and [`Reply`] are the meaning; [`text`] encodes it as the classic text protocol,
//! [`binary`] as frames, and [`udp`] puts either into datagrams. Names in comments such as "Storage
//! commands" are section titles of memcached's protocol document (`doc/protocol.txt`). The codec
//! never resynchronises a broken stream; the caller closes the connection.
#![forbid(unsafe_code)]

pub mod binary;
pub mod meta;
pub mod text;
pub mod sasl;
pub mod udp;
mod print;
mod stream;
mod write;
mod request;
pub mod base64;
mod error;
mod reply;
mod scan;

pub use error::{BadRequest, Excerpt, Malformed, Then};
pub use reply::{ErrorKind, ErrorReply, Reply};
pub use request::{KEY_BYTES_MAX, Keys, Request, Verb};
