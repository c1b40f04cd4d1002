//! The values that travel between a master and its agents, in both directions.

use memtide_base::Span;
use memtide_cluster::message::{self, Step};
use memtide_engine::plan::StepTask;
use memtide_record::Aborted;
use memtide_run::steps::{RestedStep, RunTask};

/// A step of a search or scan, as it is sent; none for other runs.
pub(super) fn step_message(task: RunTask) -> Option<Step> {
    let RunTask::Step(RestedStep { task, rest }) = task else { return None };
    let StepTask { number, rate_per_s, keeps_data } = task;
    Some(Step { number, rate_per_s, keeps_data, rest_ns: rest.ns() })
}

/// The run to which a share belongs, as it was sent.
pub(super) fn task_of(share: &message::Share) -> RunTask {
    match (share.load_only, share.step) {
        (true, _) => RunTask::Fill,
        (false, None) => RunTask::Whole,
        (false, Some(Step { number, rate_per_s, keeps_data, rest_ns })) => {
            let task = StepTask { number, rate_per_s, keeps_data };
            RunTask::Step(RestedStep { task, rest: Span::from_ns(rest_ns) })
        }
    }
}

/// An abort condition that came true, as it is sent.
pub(super) fn aborted_message(aborted: Aborted) -> message::Aborted {
    let Aborted { condition, measured, why, after_s } = aborted;
    message::Aborted { condition, measured, why, after_s }
}

/// An abort condition that came true, as the record has it.
pub(super) fn aborted_of(aborted: message::Aborted) -> Aborted {
    let message::Aborted { condition, measured, why, after_s } = aborted;
    Aborted { condition, measured, why, after_s }
}
