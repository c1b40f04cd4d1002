//! memaslap of libmemcached, which Debian calls `memcaslap`.
//!
//! Its command lines and configuration files become values here, and the results of a run become
//! the text that it prints.

mod transcript;
mod lower;
mod args;
mod parsed;
mod page;
mod configuration;
mod options;
pub mod text;
mod servers;
mod quantity;
mod rows;

pub use crate::server::Server;
pub use args::{Environment, parse};
pub use configuration::{Configuration, Range};
pub use lower::lower;
pub use options::{Length, Options, Output, Shares, Target, Transport};
pub use transcript::Transcript;
