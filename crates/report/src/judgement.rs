//! The end of a report: goals, notes, warnings, and the line that says whether to believe it.
//!
//! It words what was judged; it judges nothing.

use crate::layout::{Sheet, unbroken, wrapped};
use memtide_schema::record::{
    Check, CheckKind, CheckResult, GoalResult, LoopKind, Record, Verdict,
};

/// Everything from the goals to the last line.
pub(crate) fn judgement(out: &mut Sheet, record: &Record) {
    if !record.goals.is_empty() {
        out.push('\n');
    }
    for goal in &record.goals {
        let result = match goal.result {
            GoalResult::Met => "met",
            GoalResult::Missed => "missed",
            GoalResult::Undecided => "undecided",
        };
        let text = format!("{}: {result}, {}", goal.goal, goal.why);
        wrapped(out, "goal: ", "      ", &text);
    }
    out.push('\n');
    for check in record.believable.checks.iter().filter(|check| is_news(check, record)) {
        let were = if check.code == CheckKind::Answered { "were" } else { "was" };
        let text = format!("{} {were} not checked: {}", subject(check.code), check.message);
        wrapped(out, "note: ", "      ", &text);
    }
    for warning in &record.warnings {
        let text = format!("{}; {}", warning.message, warning.remedy);
        wrapped(out, "warning: ", "         ", &text);
    }
    unbroken(out, "believable: ", "            ", &believable(record));
}

/// Whether a reader should hear that `check` was skipped: not when a warning says why, nor when it
/// could not be otherwise.
fn is_news(check: &Check, record: &Record) -> bool {
    let said_by: &[&str] = match check.code {
        CheckKind::ServerCounters => &["other_clients", "stats_unavailable"],
        CheckKind::GeneratorP50 | CheckKind::GeneratorP99 => &["too_few_samples"],
        // The check of answers says it.
        CheckKind::Errors => return false,
        CheckKind::Answered | CheckKind::Rate | CheckKind::WorkerBusy => &[],
        // Only the embedded server can have to share.
        CheckKind::OwnCpus => return false,
    };
    let by_nature = record.loop_kind == LoopKind::Closed
        && !matches!(check.code, CheckKind::ServerCounters | CheckKind::WorkerBusy);
    let said = record.warnings.iter().any(|warning| said_by.contains(&warning.code.as_str()));
    check.result == CheckResult::Skipped && !by_nature && !said
}

const fn subject(code: CheckKind) -> &'static str {
    match code {
        CheckKind::Answered => "the answers",
        CheckKind::Errors => "the share of errors",
        CheckKind::Rate => "the rate",
        CheckKind::GeneratorP50 => "the generator's part in p50",
        CheckKind::GeneratorP99 => "the generator's part in p99",
        CheckKind::WorkerBusy => "the load on the workers",
        CheckKind::OwnCpus => "the CPU of the embedded server",
        CheckKind::ServerCounters => "our count against the servers'",
    }
}

/// What the last line says, which programs and people look for.
fn believable(record: &Record) -> String {
    match record.believable.verdict {
        Verdict::Yes => "yes".to_owned(),
        Verdict::Within => "within the bounds given".to_owned(),
        Verdict::No => {
            let reasons: Vec<&str> =
                record.believable.reasons.iter().map(|reason| reason.message.as_str()).collect();
            match reasons.is_empty() {
                true => "no, nothing was judged".to_owned(),
                false => format!("no, {}", reasons.join("; ")),
            }
        }
    }
}
