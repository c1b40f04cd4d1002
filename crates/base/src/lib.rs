//! The foundation of all layers: time as a number, seeded randomness, probability laws, units as
//! people write them, and ids.
//!
//! Nothing here reads a clock, draws from the operating system, or allocates behind a caller's
//! back. The list below is the reading order; `use` arrows run only down it.
#![forbid(unsafe_code)]

pub mod calendar;
mod rate;
pub mod choice;
pub mod hex;
pub mod law;
pub mod rng;
pub mod units;
mod socket;
mod sentence;
pub mod time;
pub mod id;

pub use choice::ItemFlags;
pub use id::{ClientId, ConnectionId, Id, Link, ServerId, Table};
pub use law::Law;
pub use rate::Rate;
pub use rng::Random;
pub use sentence::{Remedy, Sentence, WordError, Words, printable};
pub use socket::SocketOptions;
pub use time::{Instant, Span};
pub use units::UnitError;

/// The error of a bounded container that has no room: full is a value, and nothing grows. The
/// caller decides how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;
