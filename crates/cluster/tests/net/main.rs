//! The transport over loopback: the messages that it carries, and the peers that it refuses.

mod hostile;
mod peers;
mod talk;
