//! Failures: why a run cannot continue.

mod fault;
mod lacking;

pub(crate) use fault::{Fault, FillFault, Lengths, NoRoom, TooLong};
pub(crate) use lacking::Lacking;

use memtide_base::Sentence;
use memtide_record::{Exit, natively};

/// Failure of a run: the exit code, and a sentence that says whose fault it is and what to do. Each
/// front end words the remedy in its own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// The sentence.
    pub sentence: Sentence,
}

impl Failure {
    /// Exit code of a run that the user interrupted.
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
