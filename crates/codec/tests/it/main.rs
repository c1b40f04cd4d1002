//! The codec from outside: vectors, round trips, and streams cut at every place.

mod binary;
mod events;
mod generate;
mod round_trip;
mod udp;
mod wire;
