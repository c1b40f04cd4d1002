//! What every layer shares: time as a number, seeded randomness, the probability laws, units as
//! people write them, ids, and a ring that cannot grow.
//!
//! Nothing here reads a clock, draws from the operating system, or allocates behind a caller's
//! back. The list below is the reading order; `use` arrows run only down it.
#![forbid(unsafe_code)]

pub mod id;
pub mod law;
pub mod ring;
pub mod rng;
pub mod time;
pub mod units;

pub use id::{ConnectionId, ServerId, WorkerId};
pub use law::Law;
pub use ring::{Full, Ring};
pub use rng::Random;
pub use time::{Instant, Span};
pub use units::UnitError;
