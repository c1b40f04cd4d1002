//! What to do next, as a command: the run's own, with the change that its result calls for.

use crate::plan::is_simulated;
use memtide_base::units::format_count;
use memtide_record::{
    Check, CheckKind, CheckResult, Grade, GradedFigure, LATE, LoopKind, Record, YES_MAX,
};
use memtide_scenario::given_fields;

/// Part of the highest rate at which response times are those of a server that is not saturated.
const UNSATURATED: f64 = 0.7;

/// The fields that set the rate of operations, and of connections under connection churn.
const RATE: &str = "rate";
const CONNECTION_RATE: &str = "connection-rate";

/// Factor by which a run is to be longer if a figure has no interval, and the largest factor.
const LONGER: f64 = 4.0;
const LONGER_MAX: f64 = 10.0;

/// A change of the scenario, and what it is for.
struct Change {
    flags: Vec<String>,
    why: &'static str,
}

impl Change {
    fn new(flag: impl Into<String>, why: &'static str) -> Option<Self> {
        Some(Self { flags: vec![flag.into()], why })
    }

    /// True if it sets this field.
    fn sets(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag.starts_with(&format!("--{name} ")))
    }
}

/// The command, and what it is for; none if nothing was measured.
pub(crate) fn next(record: &Record) -> Option<(String, &'static str)> {
    if record.measured_s <= 0.0 {
        return None;
    }
    let change = change(record)?;
    let mut words = match command(record, &change) {
        Some(command) => vec![command],
        None if change.flags.is_empty() => vec!["the same command".to_owned()],
        None if change.sets(RATE) && record.scenario.contains_key("wave") => {
            vec!["the same command without --wave, with".to_owned()]
        }
        None => vec!["the same command with".to_owned()],
    };
    words.extend(change.flags);
    Some((words.join(" "), change.why))
}

/// The run's own command without the fields that `change` sets; none for a simulation and for
/// merged records, whose command is unknown.
fn command(record: &Record, change: &Change) -> Option<String> {
    if is_simulated(record) || !record.shards.is_empty() || record.share.is_some() {
        return None;
    }
    let is_set = |name: &str| change.sets(name);
    // A length replaces the precision that would end the run.
    let has_no_room = |name: &str| ["precision", "at-most"].contains(&name) && is_set("duration");
    let given = given_fields(&record.scenario).into_iter();
    let is_replaced = |name: &str| name == "wave" && is_set(RATE);
    let is_kept = |name: &str| !is_set(name) && !has_no_room(name) && !is_replaced(name);
    let given = given.filter(|(name, _)| is_kept(name));
    let flag = |(name, word): (&str, String)| match word.as_str() {
        "true" => format!(" --{name}"),
        "false" => format!(" --{name}=false"),
        word => format!(" --{name} {}", shell_word(word)),
    };
    Some(given.map(flag).fold("memtide run".to_owned(), |command, flag| command + &flag))
}

/// `word` as a shell needs it: in quotes if a shell would read more or less than a word.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.,:=/@+%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What to change: first what spoils every figure, then what makes figures uncertain.
fn change(record: &Record) -> Option<Change> {
    let plan = &record.plan;
    let failed = |code| {
        let is_it = |check: &Check| check.code == code && check.result == CheckResult::Failed;
        record.believable.checks.iter().any(is_it)
    };
    let (field, achieved) = match &record.churn {
        Some(churn) => (CONNECTION_RATE, churn.started_per_s),
        None => (RATE, record.achieved().per_s),
    };
    let lower = |why| {
        let rate = format_count(two_digits(UNSATURATED * achieved));
        Change::new(format!("--{field} {rate}"), why).filter(|_| achieved > 0.0)
    };
    let warned = |code| record.warnings.iter().any(|it| it.code == code);
    if failed(CheckKind::OwnCpus) && warned("server_cpu_taken") {
        let why = "when no other program uses the server's CPU";
        return Some(Change { flags: Vec::new(), why });
    }
    if failed(CheckKind::OwnCpus) {
        return Change::new("--server HOST:11211", "a server with CPUs of its own");
    }
    if failed(CheckKind::Answered) || failed(CheckKind::Errors) {
        return Change::new("--full", "shows the errors by class");
    }
    if failed(CheckKind::Silence) {
        return lower("measures also what is due while a server is silent");
    }
    if failed(CheckKind::ServerCounters) {
        return Change::new("--full", "shows every count");
    }
    let rate = record.achieved();
    let is_known = record.is_one_load() && record.rate_missing(rate.unit).is_none();
    // What spoils this rate has its own advice, above.
    let is_saturated = record.loop_kind == LoopKind::Closed && is_known;
    for (code, why) in [
        ("cpu_taken", "when no other program uses its CPUs"),
        ("cpu_throttled", "when its control group has CPU time to spare"),
    ] {
        if failed(CheckKind::WorkerBusy) && warned(code) {
            return Some(Change { flags: Vec::new(), why });
        }
    }
    if failed(CheckKind::WorkerBusy) && record.machine.cpus_allowed > plan.workers {
        return Change::new(format!("--threads {}", plan.workers + 1), "more workers");
    }
    if failed(CheckKind::WorkerBusy) {
        return lower("below memtide's limit");
    }
    if failed(CheckKind::Rate) || is_saturated {
        return lower("below saturation");
    }
    let figures = record.judged_figures();
    let is_late = |figure: &GradedFigure| figure.reason.as_deref() == Some(LATE);
    if figures.iter().any(is_late) {
        return match plan.wait.as_str() {
            "spin" => Change::new("--full", "shows what kept memtide from running"),
            _ => Change::new("--wait spin", "memtide wakes earlier"),
        };
    }
    // A record without slices has no intervals, however long it is.
    let is_graded = record.slicing.is_some();
    let is_wide = |figure: &&GradedFigure| is_graded && figure.grade != Grade::Yes;
    match figures.iter().filter(is_wide).map(longer).reduce(f64::max) {
        Some(factor) => {
            let length = format!("--duration {}s", two_digits(record.measured_s * factor));
            Change::new(length, "narrows the intervals")
        }
        None => {
            let seed = format!("--seed {}", plan.seed.wrapping_add(1));
            let flags = vec![seed, "--json second.json".to_owned()];
            Some(Change { flags, why: "once more, for memtide compare" })
        }
    }
}

/// By which factor a run must be longer for a figure's range to be a yes, within reason: it narrows
/// with the square root of the length.
fn longer(figure: &GradedFigure) -> f64 {
    let factor = figure.half_width.map_or(LONGER, |half| (half / YES_MAX).powi(2));
    factor.clamp(2.0, LONGER_MAX)
}

/// Rounds to two significant digits: advice need not be more precise.
fn two_digits(value: f64) -> f64 {
    if value < 1.0 {
        return 1.0;
    }
    let scale = 10f64.powf(value.log10().floor() - 1.0);
    (value / scale).round() * scale
}
