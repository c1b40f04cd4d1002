//! A session: one run, search, trial or repeat, from settings to an exit code, over a world: this
//! machine, a simulation, or agents.
//!
//! It opens outputs, catches signals, and prints. A program above it reads the command line, and
//! supplies a [`Front`], which says what is shown and how the run ends. The list below is the
//! reading order.
#![forbid(unsafe_code)]

#[cfg(feature = "cluster")]
pub mod cluster;
mod session;
mod run_observer;
mod watching;
pub mod world;
pub mod outlets;
mod front;
pub mod placement;
mod floor;
pub mod fresh;
pub mod room;
pub mod console;
pub mod exit;

pub use floor::{FloorMode, Floors};
#[cfg(feature = "cluster")]
pub use front::division::{Division, OwnPart};
pub use front::{
    Came, Ended, Front, FrontProfile, InStep, LostAgents, Manner, Opened, Screen, check_whole,
    failed_in,
};
pub use session::{Session, Steps, Task};
pub use watching::WatchedRuns;
