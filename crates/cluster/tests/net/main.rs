//! The transport over loopback: what it carries, and whom it turns away.

mod hostile;
mod peers;
mod talk;
