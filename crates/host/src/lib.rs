//! The real world: sockets, threads, signals and the kernel's clock, on Linux.
//!
//! The only crate in which `unsafe` is allowed, and one of the few with access to the system. It
//! decides nothing about load or measurement. The list below is the reading order.
#![allow(unsafe_code, reason = "what the compiler cannot check stands in one crate")]

#[cfg(not(target_os = "linux"))]
compile_error!("memtide's real world is Linux: it needs epoll, timer slack and /proc");

pub mod fleet;
pub mod serve;
pub mod condition;
pub mod driver;
mod export;
mod handoff;
pub mod barrier;
pub mod resolve;
pub mod memory;

pub mod machine;
pub mod signal;
pub mod streams;
pub mod clock;

pub use clock::Clock;
pub use driver::ConnectGuard;
pub use export::{SampleQueues, SampleSink};
pub use fleet::HostFleet;
pub use machine::pin::{cores, keep_process_on, stay_off, with_cpus};
pub use serve::{ServeOptions, Serving};
