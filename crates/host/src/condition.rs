//! What this machine does to a measurement: settings of the kernel, and short trials on each CPU.
//!
//! It reports what it saw; `memtide_run::machine` judges it.

mod trial;
mod interrupts;
mod settings;

pub use interrupts::Interrupts;
pub use settings::{IdleState, governor, idle_state, inherited_slack};
pub use trial::{CpuTrial, round_trips, told, trials};
