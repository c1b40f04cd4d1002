//! The end of a report: goals, notes, warnings, and the line with the verdict.
//!
//! It words the judgements; it makes none.

use crate::answer::{check_name, next, verdict_figures};
use crate::layout::{TextLayout, continued, labelled, unbroken, wrapped};
use crate::number::{NONE, counted, seconds, time};
use memtide_record::steps::{Step, StepRole};
use memtide_record::{
    Check, CheckKind, CheckResult, FloorRecord, GoalRecord, GoalResult, Grade, LoopKind,
    Percentile, Reason, Record, Responder, Verdict, WarningRecord, joined,
};

/// Largest number of goals in a short report, and of warnings, which goals leave less room for.
const GOALS_MAX: usize = 3;
const WARNINGS_MAX: usize = 2;
/// Largest number of reasons in the last line of a short report.
const REASONS_MAX: usize = 2;

/// Adds goals, warnings, what to do next, and the last line. Unless it is to be `full`, only the
/// first goals and warnings.
pub(crate) fn judgement(out: &mut TextLayout, record: &Record, full: bool) {
    let most = |count: usize| if full { usize::MAX } else { count };
    if !record.goals.is_empty() {
        out.push('\n');
    }
    // A goal that was missed comes first.
    let mut goals: Vec<&GoalRecord> = record.goals.iter().collect();
    if goals.len() > most(GOALS_MAX) {
        goals.sort_by_key(|goal| goal.result == GoalResult::Met);
    }
    for goal in goals.iter().take(most(GOALS_MAX)) {
        let text = format!("{}: {}, {}", goal.goal, goal_word(goal.result), goal.why);
        wrapped(out, "goal: ", "      ", &text);
    }
    out.push('\n');
    if full {
        for check in record.believable.checks.iter().filter(|check| is_worth_saying(check, record))
        {
            let code = check.code.code();
            let text = format!("{} not checked: {} [{code}]", subject(check.code), check.message);
            wrapped(out, "note: ", "      ", &text);
        }
    }
    let warnings = most(WARNINGS_MAX - usize::from(!goals.is_empty()));
    for warning in WarningRecord::in_order(&record.warnings).into_iter().take(warnings) {
        let code = if full { format!(" [{}]", warning.code) } else { String::new() };
        let text = format!("{}; {}{code}", warning.message, warning.remedy);
        wrapped(out, "warning: ", "         ", &text);
    }
    let more = [
        (goals.len().saturating_sub(most(GOALS_MAX)), "goal"),
        (record.warnings.len().saturating_sub(warnings), "warning"),
    ];
    let more = more.into_iter().filter(|(count, _)| *count > 0);
    let more: Vec<String> = more.map(|(count, noun)| counted(count as u64, noun)).collect();
    if !more.is_empty() {
        labelled(out, "more", &format!("{}: see --full", more.join(" and ")));
    }
    if let Some((command, why)) = next(record) {
        continued(out, "next: ", &command, &format!("# {why}"));
    }
    let words = believable_by(record, most(REASONS_MAX));
    let mut failed: Vec<&str> = record.believable.reasons.iter().map(|it| it.code.code()).collect();
    failed.dedup();
    if full && !failed.is_empty() {
        wrapped(out, "failed checks: ", "               ", &failed.join(", "));
    }
    unbroken(out, "believable: ", "            ", &words);
}

/// What memtide, the kernel and the way to the server contribute, and which figures are near that.
pub(crate) fn floor_words(floor: &FloorRecord) -> String {
    let all = FloorRecord::PERCENTILES.into_iter();
    let all = all.filter_map(|it| Some(format!("{it} {}", time(floor.percentile(it)? as f64))));
    let of = match floor.responder {
        Responder::Embedded => "an embedded server",
        Responder::Server => "the server, asked for keys that it does not have",
    };
    let age = match floor.age_s {
        0 => String::new(),
        age_s => format!(", {} old", seconds(age_s as f64)),
    };
    let floor_is = format!("{} ({of}{age})", all.collect::<Vec<_>>().join(", "));
    let near: Vec<String> = floor.below.iter().map(Percentile::to_string).collect();
    match near.split_last() {
        None => floor_is,
        Some((only, [])) => format!("{floor_is}; {only} is below 3 × its floor"),
        Some((last, others)) => {
            format!("{floor_is}; {} and {last} are below 3 × their floors", others.join(", "))
        }
    }
}

/// Result of a goal, in a word.
pub(crate) const fn goal_word(result: GoalResult) -> &'static str {
    match result {
        GoalResult::Met => "met",
        GoalResult::Missed => "missed",
        GoalResult::Undecided => "undecided",
    }
}

/// Result of a step's goals, in a word. A peak has none: its loop is closed, and has as many
/// requests in flight as it can, so its times are no user's.
pub(crate) const fn step_goal_word(step: &Step) -> &'static str {
    match (step.goal, step.role) {
        (None, _) | (_, StepRole::Peak) => NONE,
        _ if step.spoilt => "undecided",
        _ if step.behind => "behind",
        (Some(result), _) => goal_word(result),
    }
}

/// True if the report should say that `check` was skipped: not if a warning already gives the
/// reason, nor if the check never applies to a run of this kind.
fn is_worth_saying(check: &Check, record: &Record) -> bool {
    let by_nature = record.loop_kind == LoopKind::Closed
        && !matches!(check.code, CheckKind::ServerCounters | CheckKind::WorkerBusy);
    let said_by: &[&str] = match check.code {
        CheckKind::ServerCounters => &["other_clients", "stats_unavailable"],
        CheckKind::GeneratorP50 | CheckKind::GeneratorP99 => &["too_few_samples"],
        // The check of answers says the first, CPUs are shared only with the embedded server, and
        // shares are missing in merged records alone. A silence is never skipped.
        CheckKind::Errors | CheckKind::OwnCpus | CheckKind::Shares | CheckKind::Silence => {
            return false;
        }
        CheckKind::Answered | CheckKind::Rate | CheckKind::WorkerBusy => &[],
    };
    let said = record.warnings.iter().any(|warning| said_by.contains(&warning.code.as_str()));
    check.result == CheckResult::Skipped && !by_nature && !said
}

/// Subject and verb of the sentence about a check.
fn subject(code: CheckKind) -> String {
    let name = check_name(code);
    let article = if name.starts_with("memtide") { "" } else { "the " };
    let verb = match code {
        CheckKind::OwnCpus | CheckKind::ServerCounters => "were",
        _ => "was",
    };
    format!("{article}{name} {verb}")
}

/// The last line, which programs and people search for: what spoils every figure, or the grade of
/// each.
pub(crate) fn believable(record: &Record) -> String {
    believable_by(record, usize::MAX)
}

/// This line with the first reasons, at most `most` of them.
fn believable_by(record: &Record, most: usize) -> String {
    let is_graded = record.slicing.is_some() && record.measured_s > 0.0;
    let of_shares =
        missing_shares(record).map(|why| format!("only for the shares that were merged: {why}"));
    if is_graded && !record.believable.spoils_all() {
        let grades = Some(grades(record));
        return grades.into_iter().chain(of_shares).collect::<Vec<_>>().join("; ");
    }
    match record.believable.verdict {
        Verdict::Yes => "yes".to_owned(),
        Verdict::Within => of_shares.unwrap_or_else(|| "within the given bounds".to_owned()),
        Verdict::No => {
            let mut reasons: Vec<&Reason> = record.believable.reasons.iter().collect();
            let more = reasons.len().saturating_sub(most);
            if more > 0 {
                // What spoils every figure comes before what widens one.
                reasons.sort_by_key(|reason| reason.code.is_of_figures());
                reasons.truncate(most);
            }
            let mut reasons: Vec<String> = reasons.iter().map(|it| it.message.clone()).collect();
            if more > 0 {
                reasons.push(format!("{}: see --full", counted(more as u64, "more reason")));
            }
            match reasons.is_empty() {
                true => "no — nothing was checked".to_owned(),
                false => format!("no — {}", reasons.join("; ")),
            }
        }
    }
}

/// The grades of all figures of the answer; a plain yes if all are.
fn grades(record: &Record) -> String {
    let figures = verdict_figures(record);
    match figures.iter().all(|figure| figure.grade == Grade::Yes) {
        true => "yes".to_owned(),
        false => joined(&figures),
    }
}

/// The sentence on the shares that are missing in a merged record, if any are.
pub(crate) fn missing_shares(record: &Record) -> Option<&str> {
    record.missing.as_ref()?;
    let mut reasons = record.believable.reasons.iter();
    let why = reasons.find(|reason| reason.code == CheckKind::Shares);
    Some(why.map_or("shares are missing", |reason| reason.message.as_str()))
}
