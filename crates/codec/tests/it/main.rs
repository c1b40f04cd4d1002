//! The codec from outside: vectors, round trips, and streams cut at every byte.

mod binary;
mod events;
mod generate;
mod round_trip;
mod udp;
mod wire;
