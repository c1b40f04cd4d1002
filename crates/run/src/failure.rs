//! A run that cannot go on.

mod fault;

pub(crate) use fault::{Fault, FillFault, Lengths, NoRoom};

use memtide_base::Sentence;
use memtide_schema::{Exit, natively};

/// A run that cannot go on: how the program is to end, and a sentence that says whose fault it is
/// and what to do. Each front has its own words for what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// The sentence.
    pub sentence: Sentence,
}

impl Failure {
    /// The exit code of a run that the user ended.
    pub(crate) const INTERRUPTED: u8 = Exit::Interrupted.code();

    /// The sentence in memtide's own words.
    pub fn message(&self) -> String {
        natively(&self.sentence)
    }
}

impl<F: Into<Fault>> From<F> for Failure {
    fn from(fault: F) -> Self {
        let fault = fault.into();
        Self { exit: fault.exit(), sentence: fault.sentence() }
    }
}
