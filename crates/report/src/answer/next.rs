//! What to do next, as a command: the run's own, with the change that its result calls for. What
//! the scenario's rules refuse is not advised, nor what cannot help.

use crate::plan::is_simulated;
use memtide_base::units::format_count;
use memtide_record::{
    CheckKind, CheckResult, Drifting, EndedBy, Grade, GradedFigure, LATE, LoopKind, Record, YES_MAX,
};
use memtide_scenario::{Advice, Change, given_fields};

/// Part of the highest rate at which response times are those of a server that is not saturated.
const UNSATURATED: f64 = 0.7;
/// From this change of the median on, times of an open loop rise because a backlog grows.
const GROWING: f64 = 1.0;

/// The least and the largest factor by which a run is to be longer.
const LONGER_MIN: f64 = 2.0;
const LONGER_MAX: f64 = 10.0;

/// Something to do next, and what it is for. It is advised if the rules allow the change.
struct Step {
    change: Change,
    why: &'static str,
}

impl Step {
    fn new(change: Change, why: &'static str) -> Self {
        Self { change, why }
    }

    /// To give the command again.
    fn again(why: &'static str) -> Self {
        Self::new(Change::default(), why)
    }

    /// The report in full.
    fn full(why: &'static str) -> Self {
        Self::new(Change::set("full", "true"), why)
    }
}

/// The command, and what it is for; none if nothing was measured.
pub(crate) fn next(record: &Record) -> Option<(String, &'static str)> {
    if record.measured_s <= 0.0 {
        return None;
    }
    steps(record).into_iter().find_map(|Step { change, why }| {
        let advice = change.advised(&record.scenario)?;
        Some((words(record, &advice), why))
    })
}

/// The advised run as a command; for a simulation and for merged records, whose command is unknown,
/// what to change of it.
fn words(record: &Record, advice: &Advice) -> String {
    if !is_simulated(record) && record.shards.is_empty() && record.share.is_none() {
        return with_flags("memtide run", advice.fields());
    }
    let same = advice
        .left_out()
        .iter()
        .fold("the same command".to_owned(), |words, name| format!("{words} without --{name}"));
    let comma = if advice.left_out().is_empty() { "" } else { "," };
    match advice.sets().next() {
        None => same,
        Some(_) => with_flags(&format!("{same}{comma} with"), advice.sets()),
    }
}

/// `command` with each field, a name and a word, as a flag.
fn with_flags<'a>(command: &str, fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut words = command.to_owned();
    for (name, word) in fields {
        words += &match word {
            "true" => format!(" --{name}"),
            "false" => format!(" --{name}=false"),
            word => format!(" --{name} {}", shell_word(word)),
        };
    }
    words
}

/// `word` as a shell needs it: in quotes if a shell would read more or less than a word.
pub fn shell_word(word: &str) -> String {
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// True if a letter means nothing to a shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.,:=/@+%".contains(letter)
}

/// What to do, the best first: what spoils every figure, then what makes figures uncertain.
fn steps(record: &Record) -> Vec<Step> {
    let mut steps = for_checks(record);
    if steps.is_empty() {
        steps = for_figures(record);
    }
    steps.push(Step::full("shows everything that was measured"));
    steps
}

fn is_failed(record: &Record, code: CheckKind) -> bool {
    let mut checks = record.believable.checks.iter();
    checks.any(|check| check.code == code && check.result == CheckResult::Failed)
}

fn is_warned(record: &Record, code: &str) -> bool {
    record.warnings.iter().any(|warning| warning.code == code)
}

/// What to do about checks that failed, and about a load at saturation.
fn for_checks(record: &Record) -> Vec<Step> {
    if is_failed(record, CheckKind::OwnCpus) && is_warned(record, "server_cpu_taken") {
        return vec![Step::again("when no other program uses the server's CPU")];
    }
    if is_failed(record, CheckKind::OwnCpus) {
        let change = Change::set("server", "HOST:11211");
        return vec![Step::new(change, "a server with CPUs of its own")];
    }
    if is_failed(record, CheckKind::Answered) || is_failed(record, CheckKind::Errors) {
        return vec![Step::full("shows the errors by class")];
    }
    if is_failed(record, CheckKind::Silence) {
        let why = "measures also what is due while a server is silent";
        return lower(record, why).into_iter().collect();
    }
    if is_failed(record, CheckKind::ServerCounters) {
        return vec![Step::full("shows every count")];
    }
    if is_failed(record, CheckKind::WorkerBusy) {
        return for_busy_workers(record);
    }
    let is_known = record.is_one_load() && record.rate_missing(record.achieved().unit).is_none();
    let is_saturated = record.loop_kind == LoopKind::Closed && is_known;
    if is_failed(record, CheckKind::Rate) || is_saturated {
        return lower(record, "below saturation").into_iter().collect();
    }
    Vec::new()
}

fn for_busy_workers(record: &Record) -> Vec<Step> {
    for (code, why) in [
        ("cpu_taken", "when no other program uses its CPUs"),
        ("cpu_throttled", "when its control group has CPU time to spare"),
    ] {
        if is_warned(record, code) {
            return vec![Step::again(why)];
        }
    }
    let workers = record.plan.workers;
    // Those of merged runs are the sum over several machines.
    let is_single = record.shards.is_empty();
    let more = (is_single && record.machine.cpus_allowed > workers)
        .then(|| Step::new(Change::set("threads", (workers + 1).to_string()), "more workers"));
    more.into_iter().chain(lower(record, "below memtide's limit")).collect()
}

/// A lower rate than the achieved one, of operations, or of connections under connection churn. It
/// takes the place of a wave. None if it cannot be lower.
fn lower(record: &Record, why: &'static str) -> Option<Step> {
    let (field, achieved) = match &record.churn {
        Some(churn) => ("connection-rate", churn.started_per_s),
        None => ("rate", record.achieved().per_s),
    };
    let rate = two_digits(UNSATURATED * achieved);
    let change = Change::set(field, format_count(rate)).without("wave");
    (rate < achieved).then(|| Step::new(change, why))
}

/// What to do about figures that are not known well, else what to do with a good run.
fn for_figures(record: &Record) -> Vec<Step> {
    let figures = record.judged_figures();
    if figures.iter().any(|figure| figure.reason.as_deref() == Some(LATE)) {
        return for_lateness(record);
    }
    if record.ended_by == EndedBy::Aborted {
        return vec![Step::full("shows what ended the run")];
    }
    // A record without slices has no intervals, however long it is.
    let wide = figures.iter().filter(|it| record.has_slices() && it.grade != Grade::Yes);
    let wide: Vec<&GradedFigure> = wide.collect();
    if wide.is_empty() {
        return vec![repetition(record)];
    }
    let rise = record.drift.get(&Drifting::P50).copied().unwrap_or(0.0);
    if record.loop_kind == LoopKind::Open && rise >= GROWING {
        return lower(record, "times rise: below saturation").into_iter().collect();
    }
    match wide.iter().filter_map(|figure| longer(record, figure)).reduce(f64::max) {
        Some(factor) => narrower(record, factor).into_iter().chain([repetition(record)]).collect(),
        // What changes does not settle by waiting, and unanswered operations stay what they are.
        None if record.drift.is_empty() => vec![Step::full("shows the errors by class")],
        None => vec![Step::new(Change::set("out", "html=run.html"), "shows when it changed")],
    }
}

fn for_lateness(record: &Record) -> Vec<Step> {
    // A worker that spins needs a CPU that no other program uses.
    let has_cpus =
        record.machine.cpus_allowed == 0 || record.machine.cpus_allowed > record.plan.workers;
    match record.plan.wait.as_str() {
        "sleep" | "hybrid" | "" if has_cpus => {
            vec![Step::new(Change::set("wait", "spin"), "memtide wakes earlier")]
        }
        _ => vec![Step::full("shows what kept memtide from running")],
    }
}

/// Once more, to compare.
fn repetition(record: &Record) -> Step {
    let seed = record.plan.seed.wrapping_add(1).to_string();
    let change = Change::set("seed", seed).and("json", "second.json");
    Step::new(change, "once more, for memtide compare")
}

/// By which factor a run must be longer for a figure's range to be a yes, within reason: it narrows
/// with the square root of the length. A figure without a range is to have one first. None if a
/// longer run does not help.
fn longer(record: &Record, figure: &GradedFigure) -> Option<f64> {
    let factor = match figure.half_width {
        Some(_) if record.drifts(figure) => return None,
        Some(half) => (half / YES_MAX).powi(2),
        None => record.longer(figure)?,
    };
    Some(factor.clamp(LONGER_MIN, LONGER_MAX))
}

/// A run that is longer by this factor: by the field that ended this one. None if the run was asked
/// to end when figures are known, and they are.
fn narrower(record: &Record, factor: f64) -> Option<Step> {
    let given = given_fields(&record.scenario);
    let asks_for_precision = given.iter().any(|(name, _)| *name == "precision");
    let seconds = format!("{}s", two_digits(record.measured_s * factor));
    let is_counted = record.ended_by == EndedBy::Operations;
    let connections = record.plan.churn.as_ref().and_then(|churn| churn.connections_total);
    let reached = record.plan.precision.as_ref().map(|precision| precision.reached);
    let change = match (record.plan.ops_max, connections) {
        _ if reached == Some(Some(false)) => Change::set("at-most", seconds),
        _ if reached.is_some() && asks_for_precision => return None,
        (Some(count), _) if is_counted => Change::set("ops-max", more(count, factor)),
        (None, Some(count)) if is_counted => Change::set("connections-total", more(count, factor)),
        _ => Change::set("duration", seconds).without("at-most"),
    };
    Some(Step::new(change, "narrows the intervals"))
}

/// A count that is larger by this factor.
fn more(count: u64, factor: f64) -> String {
    format_count(two_digits(count as f64 * factor))
}

/// Rounds to two significant digits, up to whole numbers: advice need not be more precise.
fn two_digits(value: f64) -> f64 {
    if value < 1.0 {
        return 1.0;
    }
    let scale = 10f64.powf(value.log10().floor() - 1.0);
    (value / scale).round() * scale
}

#[cfg(test)]
mod tests;
