//! The check of errors: the fraction of operations without a good answer.
//!
//! A miss, NOT_STORED, EXISTS and NOT_FOUND are answers.

use super::{judged, skipped};
use memtide_metrics::{ChurnCounters, ChurnFate, Counters};
use memtide_record::warning::exact_percent;
use memtide_record::{Check, CheckKind};
use memtide_world::driver::Refusal;

/// Figures that the check judges.
pub(crate) struct Errors<'a> {
    /// Counts of the measured window.
    pub(crate) operations: &'a Counters,
    /// The measured connections, under connection churn.
    pub(crate) connections: Option<&'a ChurnCounters>,
    /// Largest fraction allowed.
    pub(crate) allowed: f64,
    /// Clauses that say which server was gone, from when until when.
    pub(crate) gone: &'a [String],
    /// Part of the window in which servers were gone.
    pub(crate) missed: Missed,
    /// True if there are several servers: the others then took the load of one that was gone.
    pub(crate) several_servers: bool,
    /// The first error reply.
    pub(crate) refusal: Option<Refusal>,
    /// True if the run ended because every server was gone.
    pub(crate) servers_lost: bool,
}

/// Part of a run in which servers to be loaded were gone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Missed {
    /// Fraction of the measured window in which a server was gone, as the mean over all servers.
    pub(crate) share: f64,
    /// True if a server was gone at the end: it died, as far as this run can tell.
    pub(crate) at_end: bool,
}

impl Errors<'_> {
    /// Reason why the load differed from the requested one, if it did.
    fn deserted(&self) -> Option<String> {
        let Missed { share, at_end } = self.missed;
        if self.servers_lost {
            return Some("all servers were gone for longer than the timeout".to_owned());
        }
        if at_end {
            let which = if self.several_servers { "a server" } else { "the server" };
            return Some(format!("{which} was gone at the end of the measured window"));
        }
        (self.several_servers && share > self.allowed).then(|| {
            format!(
                "servers were gone for {} of the time (limit {}), and the others took their load",
                exact_percent(share),
                exact_percent(self.allowed)
            )
        })
    }
}

/// Attempts, and failures among them.
struct Tried {
    base: u64,
    ill: u64,
    /// Operations dropped as requested; counted in neither.
    asked_drops: u64,
}

/// Operations that were to be answered. Drops count as requested only by `on-full`; an operation
/// not sent before the end counts as unanswered.
fn operations(counters: &Counters) -> Tried {
    let asked_drops = counters.dropped - counters.dropped_at_end;
    Tried {
        base: counters.intended - counters.unacknowledged - asked_drops,
        ill: counters.unanswered() + counters.refused - asked_drops,
        asked_drops,
    }
}

/// Connections that were to open.
fn connections(counters: &ChurnCounters) -> Tried {
    let asked_drops = counters.fates[ChurnFate::Dropped as usize];
    let base = counters.intended - asked_drops;
    Tried { base, ill: base - counters.opened, asked_drops }
}

impl Tried {
    fn share(&self) -> f64 {
        self.ill as f64 / self.base as f64
    }
}

/// Judges operations and, under connection churn, connections, by the worse of the two.
pub(super) fn check(errors: &Errors<'_>) -> Check {
    let code = CheckKind::Errors;
    let of_operations = (operations(errors.operations), "operations had errors");
    let of_connections =
        errors.connections.map(|churn| (connections(churn), "connections could not be opened"));
    let all = [Some(of_operations), of_connections].into_iter().flatten();
    let tried = all.filter(|(tried, _)| tried.base > 0);
    let worst = tried.max_by(|a, b| a.0.share().total_cmp(&b.0.share()));
    let deserted = errors.deserted();
    let Some((tried, what)) = worst else {
        return match deserted {
            Some(why) => judged(code, false, gone(why, errors.gone), 1.0, errors.allowed),
            None => skipped(code, "no operation expected a reply"),
        };
    };
    let (share, allowed) = (tried.share(), errors.allowed);
    let mut message = format!(
        "{} of {} {what} ({}, limit {})",
        tried.ill,
        tried.base,
        exact_percent(share),
        exact_percent(allowed)
    );
    let causes = causes(errors.operations);
    if !causes.is_empty() && what.starts_with("operations") {
        message.push_str(&format!(": {}", causes.join(", ")));
    }
    if tried.asked_drops > 0 {
        message.push_str(&format!("; on-full dropped {} more", tried.asked_drops));
    }
    let passed = share <= allowed && deserted.is_none();
    if let Some(why) = deserted {
        message = format!("{why}; {message}");
    }
    if !passed {
        let is_refused = errors.operations.failed + errors.operations.refused > 0;
        if let Some(refusal) = errors.refusal.filter(|_| is_refused) {
            message.push_str(&format!("; the first error was '{refusal}'"));
        }
        message = gone(message, errors.gone);
    }
    judged(code, passed, message, share, allowed)
}

/// Outcomes of the operations without a good answer, with their counts.
fn causes(counters: &Counters) -> Vec<String> {
    let parts = [
        (counters.failed, "failed"),
        (counters.refused, "refused"),
        (counters.timed_out, "timed out"),
        (counters.lost, "lost"),
        (counters.abandoned, "abandoned"),
        (counters.dropped_at_end, "not sent before the window ended"),
    ];
    let some = parts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Adds to `message` the servers that were gone.
fn gone(message: String, gone: &[String]) -> String {
    gone.iter().fold(message, |message, clause| format!("{message}; {clause}"))
}
