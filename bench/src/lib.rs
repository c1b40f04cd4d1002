//! Parts of the bare reference clients: what they send, how they count what comes back, and what
//! the process has used so far.
//!
//! A bare client is the floor that memtide's cost is held against. It refuses to be useful: it
//! parses nothing, times nothing, and knows only its own constant requests.

pub mod front;
pub mod peer;

pub mod pattern;
pub mod usage;
