//! The exit code of a run, from what ended it and what it found, before `--strict`.

use super::{ChurnRecord, EndedBy, GoalResult, Record};
use crate::exit::Exit;

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
