//! The codec from outside: vectors, round trips, and streams cut at every byte.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests use files")]

mod binary;
mod events;
mod generate;
mod meta;
mod round_trip;
mod udp;
mod wire;
