//! The virtual world: a clock that jumps from event to event, a network described by probability
//! laws, servers from the `server` crate, and a [`Fleet`](memtide_world::Fleet) of workers that
//! run the same engine as in the real world.
//!
//! Everything follows from the seed: equal seeds, scenarios and commits give equal traces. The list
//! below is the reading order.
#![forbid(unsafe_code)]

mod fleet;
mod meter;
mod driver;
mod world;
mod sealed;
mod network;
mod script;
mod trace;

pub use driver::SimDriver;
pub use fleet::SimFleet;
pub use network::Network;
pub use script::{Script, Stretch};
pub use sealed::{WorldClock, WorldFilter};
pub use trace::Trace;
pub use world::{PauseKind, Setting, SimServer, WorkerPause};
