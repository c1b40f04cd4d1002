//! The end of a report: goals, notes, warnings, and the line that says whether to believe it.
//!
//! It words what was judged; it judges nothing.

use crate::layout::wrapped;
use memtide_schema::record::{CheckKind, CheckResult, GoalResult, Record, Verdict};

/// Everything from the goals to the last line.
pub(crate) fn judgement(out: &mut String, record: &Record) {
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
    let counters =
        |code, result| code == CheckKind::ServerCounters && result == CheckResult::Skipped;
    for check in record.believable.checks.iter().filter(|c| counters(c.code, c.result)) {
        wrapped(out, "note: ", "      ", &check.message);
    }
    for warning in &record.warnings {
        let text = format!("{}; {}", warning.message, warning.remedy);
        wrapped(out, "warning: ", "         ", &text);
    }
    out.push_str(&believable_line(record));
}

/// The last line, never broken: programs and people look for it.
fn believable_line(record: &Record) -> String {
    match record.believable.verdict {
        Verdict::Yes => "believable: yes\n".to_owned(),
        Verdict::No => {
            let reasons: Vec<&str> =
                record.believable.reasons.iter().map(|reason| reason.message.as_str()).collect();
            match reasons.is_empty() {
                true => "believable: no, nothing was judged\n".to_owned(),
                false => format!("believable: no, {}\n", reasons.join("; ")),
            }
        }
    }
}
