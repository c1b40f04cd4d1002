//! Parts of the bare reference clients: their requests, the counting of replies, and the resources
//! that the process has used.
//!
//! A bare client is the least that a client can cost; memtide's cost is compared with it. It is of
//! no other use: it parses nothing, times nothing, and knows only its own constant requests.

pub mod front;
pub mod peer;

pub mod pattern;
pub mod usage;
