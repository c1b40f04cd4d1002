//! A run that cannot go on.

mod fault;

pub(crate) use fault::{Fault, FillFault, Lengths, NoRoom};

use memtide_schema::Exit;

/// A run that cannot go on: how the program is to end, and a sentence that says whose fault it is
/// and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// The sentence.
    pub message: String,
}

impl Failure {
    /// The exit code of a run that the user ended.
    pub(crate) const INTERRUPTED: u8 = Exit::Interrupted.code();
}

impl<F: Into<Fault>> From<F> for Failure {
    fn from(fault: F) -> Self {
        let fault = fault.into();
        Self { exit: fault.exit(), message: fault.to_string() }
    }
}
