//! The transport over loopback: the messages that it carries, and the peers that it refuses.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests reach the world"
)]

mod hostile;
mod floods;
mod peers;
mod talk;
