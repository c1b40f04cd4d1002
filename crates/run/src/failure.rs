//! A run that cannot go on.

mod fault;

pub(crate) use fault::{Fault, FillFault, Lengths, NoRoom};

/// A run that cannot go on: the program's exit code, and a sentence that says whose fault it is
/// and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// 1 a check failed, 2 usage, 3 a server cannot be reached or was lost, 130 interrupted.
    pub exit: u8,
    /// The sentence.
    pub message: String,
}

impl Failure {
    /// The exit code of a run that the user ended.
    pub(crate) const INTERRUPTED: u8 = 130;
}

impl<F: Into<Fault>> From<F> for Failure {
    fn from(fault: F) -> Self {
        let fault = fault.into();
        Self { exit: fault.exit(), message: fault.to_string() }
    }
}
