//! The report on stdout: the answer, on request everything else, and the verdict. Also the line
//! that shows progress, and the facts of a machine.
//!
//! The record contains everything in the report; programs should read the record.

mod steps;
mod outcomes;

pub(crate) use steps::StepsRows;
pub use steps::{StepsText, step_progress_line};

use crate::answer::{answer as figures, explanation};
use crate::counts::counts;
use crate::judgement::{floor_words, judgement, missing_shares};
use crate::layout::{TextLayout, labelled, unbroken, wrapped};
use crate::number::{NONE, counted, or_none, percent, rate, seconds, time, whole};
use crate::plan::{
    churn_words, connection_words, data_words, is_simulated, rate_words, servers, warmup_words,
};
use crate::shards::{agents, shards};
use crate::times::times;
use memtide_base::Span;
use memtide_base::units::format_change;
use memtide_belief::machine::Fact;
use memtide_record::{
    Aborted, CheckKind, CheckResult, Drifting, EndedBy, LoopKind, Phase, Progress, Record,
};
use memtide_scenario::Explained;
use outcomes::{churn, churn_rate, returns, verification};

/// Contents of a report, and the terminal that shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextOptions {
    /// Columns of the terminal: every line fits, and tables show fewer columns; none without a
    /// terminal.
    pub columns: Option<usize>,
    /// True to show everything, not only the answer.
    pub full: bool,
    /// The figure whose origin is explained; none for no explanation.
    pub explain: Option<Explained>,
}

/// The report, ending in its verdict and a line break: the answer in at most 80 columns, which
/// usually fit on 24 lines, then what `options` ask for.
pub fn text_for(record: &Record, options: &TextOptions) -> String {
    let mut out = TextLayout::narrow(options.columns);
    answer(&mut out, record);
    if let Some(figure) = options.explain {
        out.push('\n');
        explanation(&mut out, record, figure);
    }
    if options.full {
        out.widen();
        rest(&mut out, record);
    }
    judgement(&mut out, record, options.full);
    let mut text = out.into_text();
    if let Some(own) = &record.own {
        text.push_str("\nload of the master itself, beside the agents' load:\n\n");
        text.push_str(&text_for(own, options));
    }
    text
}

/// Adds the rate, what was run, and the figures with their uncertainty.
fn answer(out: &mut TextLayout, record: &Record) {
    if record.partial {
        unbroken(out, "partial: ", "         ", &why_partial(record));
    }
    if record.measured_s > 0.0 {
        labelled(out, "rate", &outcome_words(record));
    }
    if record.loop_kind == LoopKind::Closed && record.plan.churn.is_none() {
        let text = "throughput is the result; response times are those at saturation";
        wrapped(out, "closed loop: ", "             ", text);
    }
    labelled(out, "memtide", &format!("{}, {}", record.machine.memtide_version, what(record)));
    labelled(out, "server", &servers(&record.plan));
    shards(out, record);
    if record.measured_s > 0.0 {
        out.push('\n');
        figures(out, record);
        if let Some(floor) = &record.floor {
            labelled(out, "floor", &floor_words(floor));
        }
    }
}

/// Adds how the load was made, and all times and counts.
fn rest(out: &mut TextLayout, record: &Record) {
    out.push('\n');
    labelled(out, "load", &load_words(record));
    labelled(out, "data", &data_words(&record.plan));
    agents(out, &record.shards);
    if record.measured_s <= 0.0 {
        return;
    }
    churn_rate(out, record);
    out.push('\n');
    times(out, record);
    out.push('\n');
    counts(out, record);
    churn(out, record);
    returns(out, record);
    verification(out, record);
}

/// The achieved rate, errors, hits, and whether the servers counted the same.
pub(crate) fn outcome_words(record: &Record) -> String {
    let totals = &record.totals;
    let (tried, failed) = totals.tried();
    let errors = match failed {
        0 => "no errors".to_owned(),
        count => {
            let share = count as f64 / tried.max(1) as f64;
            let share = if share < 0.001 { "< 0.1 %".to_owned() } else { percent(share) };
            format!("{} ({share})", counted(count, "error"))
        }
    };
    let hits = (totals.keys > 0)
        .then(|| format!("{} hits", percent(totals.hits as f64 / totals.keys as f64)))
        .map(|hits| match record.drift.get(&Drifting::HitRatio) {
            Some(change) => format!("{hits} ({} during the run)", format_change(*change, 0)),
            None => hits,
        });
    let checks = record.believable.checks.iter();
    let counters = checks.rev().find(|check| check.code == CheckKind::ServerCounters);
    let agreement = counters.map(|check| match check.result {
        CheckResult::Passed => "counters agree",
        CheckResult::Failed => "counters differ",
        CheckResult::Skipped => "counters not compared",
    });
    let achieved = record.achieved();
    let rate = match record.target().filter(|_| record.rate_missing(achieved.unit).is_none()) {
        Some(target) => format!("{achieved} of {target}"),
        None => achieved_words(record),
    };
    let parts = [Some(rate), Some(errors), hits];
    let parts = parts.into_iter().flatten().chain(agreement.map(str::to_owned));
    parts.collect::<Vec<_>>().join(", ")
}

/// Workers, connections and their ways.
pub(crate) fn load_words(record: &Record) -> String {
    let plan = &record.plan;
    let schedule = match (record.loop_kind, plan.schedule.as_str()) {
        _ if plan.churn.is_some() => " open at most",
        (LoopKind::Closed, _) => "",
        (LoopKind::Open, "connection") => ", one schedule per connection",
        (LoopKind::Open, _) => ", one schedule",
    };
    let refill = plan.refill.as_ref().map_or(String::new(), |refill| format!(", refill {refill}"));
    let mut load = format!(
        "{}, {}{schedule}, depth {}{refill}, {}, wait {}",
        counted(u64::from(plan.workers), "worker"),
        counted(u64::from(plan.connections), "connection"),
        whole(u64::from(plan.depth)),
        plan.io,
        plan.wait
    );
    if (1..=plan.workers as usize).contains(&plan.cpus.len()) {
        load.push_str(", pinned");
    }
    load + &connection_words(plan)
}

/// The achieved rate, and the requested one.
pub(crate) fn achieved_words(record: &Record) -> String {
    let achieved = record.achieved();
    if let Some(why) = record.rate_missing(achieved.unit) {
        return format!("no total rate, because {why}");
    }
    match record.target() {
        Some(target) => format!("{achieved} achieved of {target} requested"),
        None => format!("{achieved} achieved"),
    }
}

/// The kind of load of a record, and its length.
pub(crate) fn what(record: &Record) -> String {
    let plan = &record.plan;
    let mut text = match record.loop_kind {
        _ if plan.churn.is_some() => churn_words(plan),
        LoopKind::Closed => "closed loop".to_owned(),
        LoopKind::Open => {
            let rate = match record.is_one_load() {
                true => rate_words(plan),
                false if plan.rate_per_s.is_some() => format!("{} each", rate_words(plan)),
                false => "different rates".to_owned(),
            };
            format!("open loop at {rate}, {} arrivals", plan.arrival)
        }
    };
    if is_simulated(record) {
        text.insert_str(0, "simulated ");
    }
    if record.measured_s <= 0.0 {
        text.push_str(", nothing measured");
        return text;
    }
    text + ", " + &window_words(record)
}

/// Length of the measured window, and what ended it.
pub(crate) fn window_words(record: &Record) -> String {
    let plan = &record.plan;
    let mut text = format!("{} measured", seconds(record.measured_s));
    match (record.ended_by, plan.churn.is_some()) {
        (EndedBy::Operations, true) => text.push_str(", ended by its connection limit"),
        (EndedBy::Operations, false) => text.push_str(", ended by its operation limit"),
        _ => {}
    }
    if let Some(precision) = &plan.precision {
        let asked = precision.asked.join(", ");
        text.push_str(&match precision.reached {
            Some(true) => format!(" until {asked} was reached"),
            Some(false) => format!(" without reaching {asked}"),
            None => format!(", to end with {asked}"),
        });
    }
    if let Some(interval_s) = plan.interval_s {
        text.push_str(&format!(" in rows of {}", seconds(interval_s)));
    }
    text + &warmup_words(plan)
}

/// Reasons why a record is partial: shares of the run are missing, or it ended before its scenario
/// was done.
pub(crate) fn why_partial(record: &Record) -> String {
    let missing = missing_shares(record).map(str::to_owned);
    let why: Vec<String> = missing.into_iter().chain(why_ended(record)).collect();
    if why.is_empty() { "the run ended early".to_owned() } else { why.join("; ") }
}

/// Reason why the exit code of a run without goals says that it failed, as a clause for people;
/// none if it does not.
pub fn why_failed(record: &Record) -> Option<String> {
    let lost: Vec<String> = record.lost_servers().map(|name| format!("server {name}")).collect();
    let wrong = record.phases.verification().wrong();
    match why_ended(record) {
        Some(why) => Some(why),
        None if !lost.is_empty() => {
            Some(format!("{} was lost and did not return", lost.join(", ")))
        }
        None if wrong > 0 => Some(format!("{} wrong", counted(wrong, "value"))),
        None => missing_shares(record).map(str::to_owned),
    }
}

/// Reason why a run ended before its scenario was done, if the record has one.
fn why_ended(record: &Record) -> Option<String> {
    let why = match (record.ended_by, &record.aborted) {
        (EndedBy::Aborted, Some(Aborted { condition, why, after_s, .. })) => {
            return Some(format!(
                "--abort-on {condition} ended the run after {}: {why} in the last second",
                seconds(*after_s)
            ));
        }
        (EndedBy::Interrupted, _) => "the run was interrupted",
        (EndedBy::ServersLost, _) => "all servers were gone for longer than the timeout",
        (EndedBy::ConnectionLost, _) => "a connection was lost",
        (EndedBy::NotRun, _) => {
            match record.share.as_ref().and_then(|share| share.not_run.as_ref()) {
                Some(why) => return Some(why.clone()),
                None => "the run never began",
            }
        }
        (EndedBy::Duration | EndedBy::Operations | EndedBy::Aborted, _) => return None,
    };
    Some(why.to_owned())
}

/// Columns of what a fact is about.
const ABOUT: usize = 13;

/// The facts of `memtide doctor`, each with what to do below it, and a last line that says whether
/// they spoil measurements; for a terminal of `columns` columns, or for none.
pub fn facts_text(facts: &[Fact], columns: Option<usize>) -> String {
    let mut out = TextLayout::narrow(columns);
    let indent = " ".repeat(ABOUT);
    for fact in facts {
        wrapped(&mut out, &format!("{:<ABOUT$}", fact.about), &indent, &fact.found);
        if let Some(to_do) = &fact.to_do {
            let mark = if fact.spoils { "spoils runs: " } else { "better: " };
            wrapped(&mut out, &format!("{indent}{mark}"), &indent, to_do);
        }
    }
    let spoiling: Vec<&str> =
        facts.iter().filter(|fact| fact.spoils).map(|fact| fact.about.as_str()).collect();
    out.push('\n');
    match spoiling[..] {
        [] => wrapped(&mut out, "", "", "fit to measure: nothing that was seen spoils a run"),
        _ => wrapped(&mut out, "not fit to measure: ", "", &spoiling.join(", ")),
    }
    out.into_text()
}

/// Age from which a backlog is shown: younger ones come and go.
const BACKLOG_TOLD: Span = Span::from_ms(100);

/// Progress of a run: its phase, its rate and its response times, in at most 79 characters unless
/// figures are extreme. The caller overwrites the line before it.
pub fn progress_line(progress: &Progress) -> String {
    let elapsed = format!("{:.1}", progress.elapsed_s);
    let whereabouts = match (progress.total, progress.length_s) {
        (Some(total), _) if total > 0 => {
            let part = percent(done_part(progress.done, total));
            format!("{elapsed} s, {part} of {}", whole(total))
        }
        (_, Some(length_s)) => format!("{elapsed} of {}", seconds(length_s)),
        _ => format!("{elapsed} s"),
    };
    let mut line = format!("{} {whereabouts}  ", progress.phase);
    line.push_str(&progress.rate_per_s.map_or_else(|| format!("{NONE}/s"), rate));
    if progress.phase != Phase::Load {
        let p99 = progress.response_p99_ns.map(|ns| time(ns as f64));
        line.push_str(&format!("  p99 {}", or_none(p99)));
    }
    if let Some(living) = progress.living {
        line.push_str(&format!("  {} open", whole(living)));
    }
    if let Some(waiting) = progress.oldest_due.filter(|waiting| *waiting >= BACKLOG_TOLD) {
        line.push_str(&format!("  backlog {}", time(waiting.ns() as f64)));
    }
    if progress.unanswered > 0 {
        line.push_str(&format!("  {} not answered", whole(progress.unanswered)));
    }
    line
}

/// The completed part, from 0 to 1, in whole hundredths that are never rounded up to the end.
fn done_part(done: u64, total: u64) -> f64 {
    (done as f64 / total as f64 * 100.0).floor().min(100.0) / 100.0
}

#[cfg(test)]
mod tests;
