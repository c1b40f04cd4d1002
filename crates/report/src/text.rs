//! The report on stdout: what was run, the times, the counts, and the verdict.
//!
//! The record contains everything in it; programs should read the record.

mod steps;
mod churn;
mod returns;
mod verification;

pub(crate) use steps::StepsRows;
pub use steps::{StepsText, step_progress_line};

use crate::counts::counts;
use crate::judgement::{judgement, missing_shares};
use crate::layout::{TextLayout, labelled, unbroken};
use crate::number::{counted, seconds, whole};
use crate::plan::{churn_words, connection_words, data_words, rate_words, servers, warmup_words};
use crate::shards::{agents, shards};
use crate::times::times;
use churn::{churn, churn_rate};
use memtide_base::units::format_count;
use memtide_record::{Aborted, CheckKind, EndedBy, LoopKind, Record};
use returns::returns;
use verification::verification;

/// The whole report, ending in its verdict and a line break.
pub fn text(record: &Record) -> String {
    text_for(record, None)
}

/// The report for a terminal of `columns` columns: every line fits, and tables show fewer columns.
/// Without a terminal the same as [`text`].
pub fn text_for(record: &Record, columns: Option<usize>) -> String {
    let mut out = TextLayout::new(columns);
    heading(&mut out, record);
    agents(&mut out, &record.shards);
    if record.measured_s > 0.0 {
        out.push('\n');
        times(&mut out, record);
        out.push('\n');
        counts(&mut out, record);
        churn(&mut out, record);
        returns(&mut out, record);
        verification(&mut out, record);
    }
    judgement(&mut out, record);
    let mut text = out.into_text();
    if let Some(own) = &record.own {
        text.push_str("\nload of the master itself, beside the agents' load:\n\n");
        text.push_str(&text_for(own, columns));
    }
    text
}

/// What was run, in a few lines.
fn heading(out: &mut TextLayout, record: &Record) {
    let plan = &record.plan;
    if record.loop_kind == LoopKind::Closed && plan.churn.is_none() {
        let mut text =
            "throughput is the result; response times are those at saturation.".to_owned();
        let rate = record.achieved();
        let is_known = record.is_one_load() && record.rate_missing(rate.unit).is_none();
        if is_servers_rate(record) && is_known {
            let rate = format_count(two_digits(0.7 * rate.per_s));
            text.push_str(&format!(" For response times, try --rate {rate}"));
        }
        unbroken(out, "closed loop: ", "             ", &text);
    }
    if record.partial {
        unbroken(out, "partial: ", "         ", &why_partial(record));
    }
    labelled(out, "memtide", &format!("{}, {}", record.machine.memtide_version, what(record)));
    labelled(out, "server", &servers(plan));
    labelled(out, "load", &load_words(record));
    labelled(out, "data", &data_words(plan));
    shards(out, record);
    if record.measured_s <= 0.0 {
        return;
    }
    labelled(out, "rate", &achieved_words(record));
    churn_rate(out, record);
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
    if !plan.cpus.is_empty() {
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

/// True if the rate of a closed loop is what the servers could do: it does not consist of errors,
/// and memtide had the CPU time to ask for more.
fn is_servers_rate(record: &Record) -> bool {
    use CheckKind::{Answered, Errors, OwnCpus, WorkerBusy};
    let spoils = |code| matches!(code, Answered | Errors | OwnCpus | WorkerBusy);
    !record.believable.reasons.iter().any(|reason| spoils(reason.code))
}

/// True if clients, network and servers were simulated.
pub(crate) fn is_simulated(record: &Record) -> bool {
    record.plan.io == "simulated"
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

/// Rounds to two significant digits: advice need not be more precise.
fn two_digits(value: f64) -> f64 {
    if value < 1.0 {
        return 1.0;
    }
    let scale = 10f64.powf(value.log10().floor() - 1.0);
    (value / scale).round() * scale
}

#[cfg(test)]
mod tests;
