//! Exit codes of the program, on which scripts rely, and that of a run before `--strict`. The faces
//! have their own codes.

use crate::record::{ChurnRecord, EndedBy, GoalResult, Record};

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

impl Record {
    /// Exit code of the run, before `--strict` is considered, from what ended it, its goals, wrong
    /// values and missing shares. The process of a share that never began did what it should.
    pub fn exit_code(&self) -> u8 {
        self.exit_if(|result| result != GoalResult::Met)
    }

    /// True if nothing but undecided goals makes the run fail: with `--strict` it is then not
    /// believable instead.
    pub fn fails_undecided(&self) -> bool {
        self.exit_code() != self.exit_if(|result| result == GoalResult::Missed)
    }

    /// Exit code of the run if a goal with such a result fails it.
    fn exit_if(&self, fails: impl Fn(GoalResult) -> bool) -> u8 {
        let missed = self.goals.iter().any(|goal| fails(goal.result));
        let wrong = self.phases.verification().wrong() > 0;
        let none_opened = self.churn.as_ref().is_some_and(ChurnRecord::none_opened);
        let lost = self.lost_servers().next().is_some();
        let exit = match self.ended_by {
            EndedBy::ServersLost | EndedBy::ConnectionLost => Exit::Unreachable,
            EndedBy::Interrupted => Exit::Interrupted,
            EndedBy::Aborted => Exit::Failed,
            EndedBy::Duration | EndedBy::Operations if none_opened || lost => Exit::Unreachable,
            _ if missed || wrong || self.missing.is_some() => Exit::Failed,
            EndedBy::Duration | EndedBy::Operations | EndedBy::NotRun => Exit::Done,
        };
        exit.code()
    }
}
