//! Parts of the bare reference clients: their requests, the counting of replies, and the resources
//! that the process has used.
//!
//! A bare client is the cheapest possible client, with which memtide's cost is compared. It has no
//! other use: it parses nothing, measures no times, and knows only its own constant requests.

pub mod front;
pub mod peer;
pub mod ready;

pub mod pattern;
pub mod usage;
