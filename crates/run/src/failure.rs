//! A run that cannot go on.

use memtide_engine::fleet::FleetError;

/// A run that cannot go on: the program's exit code, and a sentence that says whose fault it is
/// and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// 1 a check failed, 2 usage, 3 a server cannot be reached or was lost,
    /// 130 the user interrupted.
    pub exit: u8,
    /// The sentence.
    pub message: String,
}

impl Failure {
    pub(crate) fn unreachable(message: String) -> Self {
        Self { exit: 3, message }
    }

    pub(crate) fn interrupted(message: String) -> Self {
        Self { exit: 130, message }
    }

    pub(crate) fn usage(message: String) -> Self {
        Self { exit: 2, message }
    }

    pub(crate) fn goal(message: String) -> Self {
        Self { exit: 1, message }
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        Self::unreachable(error.message)
    }
}
