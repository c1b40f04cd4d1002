//! The ends of outputs, and what is said of those that could not be opened or written.

use crate::place::is_of_stdout;
use memtide_record::{Exit, Warning};
use std::io;

/// The failure of an output, as a sentence with the exit code that it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputStop {
    /// The exit code.
    pub exit: Exit,
    /// The sentence.
    pub message: String,
}

impl OutputStop {
    /// An output that the user must name otherwise.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// An output that failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }

    /// The failure of an output that cannot be written.
    pub fn unwritable(name: &str, error: &io::Error) -> Self {
        let warning = Warning::OutputFailed { output: name.to_owned(), why: error.to_string() };
        Self::failed(format!("{}; {}", warning.message(), warning.remedy()))
    }

    /// The failure of the output `name`, if `written` is one. That the reader of stdout has gone
    /// away is no failure, by whatever name or flag stdout was requested.
    pub fn of(name: &str, written: io::Result<()>) -> Option<Self> {
        let error = written.err().filter(|error| !is_closed_stdout(name, error))?;
        Some(error.downcast::<Self>().unwrap_or_else(|error| Self::unwritable(name, &error)))
    }
}

/// True if the reader of stdout, to which the output `name` leads, has gone away.
fn is_closed_stdout(name: &str, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe && (name == "stdout" || is_of_stdout(error))
}

impl std::fmt::Display for OutputStop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OutputStop {}

impl From<OutputStop> for io::Error {
    fn from(stop: OutputStop) -> Self {
        Self::other(stop)
    }
}

/// The result of a sink.
#[derive(Debug)]
pub struct Ending {
    /// The sink's name in messages: its flag.
    pub name: String,
    /// The error that ended it, if any.
    pub result: io::Result<()>,
    /// Events left out because the sink was too slow.
    pub events_lost: u64,
}

impl Ending {
    /// The failure of the sink, or the loss of events.
    pub fn stop(self) -> Option<OutputStop> {
        let lost = match self.events_lost {
            0 => Ok(()),
            1 => {
                Err(io::Error::other("it was too slow, and 1 event is missing; use a faster place"))
            }
            n => Err(io::Error::other(format!(
                "it was too slow, and {n} events are missing; use a faster place"
            ))),
        };
        OutputStop::of(&self.name, self.result.and(lost))
    }

    /// True if the sink wrote all that it was given.
    pub const fn is_whole(&self) -> bool {
        self.result.is_ok() && self.events_lost == 0
    }

    /// True if the sink writes a record as JSON.
    pub fn is_record(&self) -> bool {
        self.name == "--json" || self.name.starts_with("--out json=")
    }
}
