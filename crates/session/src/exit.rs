//! How a command ends without a result: exit codes that scripts rely on, with sentences for people.
//! The words of the command line, and the end of the program, are not here.

use memtide_record::Exit;
use memtide_run::Failure;
use memtide_scenario::{FieldError, Problem};
use memtide_sinks::OutputStop;
use std::io;

/// A goal was missed or a check failed.
pub const FAILED: u8 = Exit::Failed.code();
/// The command line, the environment or the scenario is wrong.
pub const USAGE: u8 = Exit::Usage.code();
/// A server cannot be reached, or was lost.
pub const UNREACHABLE: u8 = Exit::Unreachable.code();
/// The result cannot be believed, and `--strict` was given.
pub const UNBELIEVABLE: u8 = Exit::Unbelievable.code();
/// The user interrupted the run.
pub const INTERRUPTED: u8 = Exit::Interrupted.code();

/// An end without a result.
#[derive(Debug)]
pub struct Stop {
    /// The exit code.
    pub code: u8,
    /// The sentence.
    pub message: String,
}

impl Stop {
    /// The end of a command with a wrong command line, environment or scenario.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, message: message.into() }
    }
}

impl From<FieldError> for Stop {
    fn from(error: FieldError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::usage(problem.to_string())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self { code: failure.exit, message: failure.message() }
    }
}

impl From<OutputStop> for Stop {
    fn from(stop: OutputStop) -> Self {
        Self { code: stop.exit.code(), message: stop.message }
    }
}

/// The failure of a run whose `output` cannot be written.
pub fn unwritable(output: &str, error: &io::Error) -> Stop {
    OutputStop::unwritable(output, error).into()
}

/// The flag raised by signals.
///
/// # Errors
/// If the system refused their handlers.
pub fn caught<T>(signals: io::Result<T>) -> Result<T, Stop> {
    signals.map_err(|error| Stop::usage(format!("signals cannot be caught: {error}")))
}
