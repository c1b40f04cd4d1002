//! Exit codes of the program, on which scripts rely. The faces have their own codes.

/// The way the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything was done, and all goals were met.
    Done = 0,
    /// A goal was missed, a check failed, or an output could not be written.
    Failed = 1,
    /// The command line, the environment or the scenario is wrong.
    Usage = 2,
    /// A server cannot be reached, or was lost.
    Unreachable = 3,
    /// The result cannot be believed, and `--strict` was given.
    Unbelievable = 4,
    /// The user interrupted the run.
    Interrupted = 130,
}

impl Exit {
    /// The end of a program that failed with `code`: [`Exit::Failed`] for success, and for a code
    /// that is none of these.
    pub fn of_failure(code: u32) -> Self {
        let each = [Self::Usage, Self::Unreachable, Self::Unbelievable, Self::Interrupted];
        each.into_iter().find(|exit| u32::from(exit.code()) == code).unwrap_or(Self::Failed)
    }

    /// The exit code.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
