//! mutilate and its descendants: `mutilate` (the original and its improved fork), `mcperf` 0.3 and
//! the dynamic `mcperf`.
//!
//! Their command lines become values here, and the results of a run become the text that they
//! print.

mod transcript;
mod lower;
mod args;
mod parsed;
mod page;
mod options;
pub mod text;
mod numbers;
mod rows;

pub use args::parse;
pub use lower::{Divided, OwnRate, divide, lower, refused};
pub use numbers::{Dynamic, Law, Scan, Search, Searched, Server, Sinusoid, Statistic, Waveform};
pub use options::{
    AgentOptions, Command, Connections, Fleet, Keys, Load, Login, Mode, Multiget, Options, Output,
    OwnLoad, Paced, Patience, Skip, Target, Verbosity,
};
pub use rows::Face;
pub use transcript::{Transcript, agent_log, agent_rows, agent_waits, skipped, whose};

pub(crate) use parsed::reading;

/// The face for this command line, called as `face`: under the bare name `mcperf`, an option of the
/// dynamic fork selects that fork. `argv` is without the program's name.
pub(crate) fn face_for(face: Face, argv: &[String]) -> Face {
    if face == Face::Mcperf && parsed::names_dynamic(argv) { Face::McperfDynamic } else { face }
}
