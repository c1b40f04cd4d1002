//! The check of errors: how large a share of what was asked was not answered well.
//!
//! A miss, NOT_STORED, EXISTS and NOT_FOUND are answers.

use super::{judged, skipped};
use memtide_engine::driver::Refusal;
use memtide_metrics::{ChurnCounters, ChurnFate, Counters};
use memtide_schema::record::{Check, CheckKind};
use memtide_schema::warning::exact_percent;

/// What the check looks at.
pub(crate) struct Errors<'a> {
    /// Counts of the measured window.
    pub(crate) operations: &'a Counters,
    /// The measured connections, where these are the load.
    pub(crate) connections: Option<&'a ChurnCounters>,
    /// The share that is allowed.
    pub(crate) allowed: f64,
    /// Clauses that say which server was gone, since when and until when.
    pub(crate) gone: &'a [String],
    /// How much of the window went without servers.
    pub(crate) missed: Missed,
    /// Whether there were several: then the others got the load of one that was gone.
    pub(crate) several_servers: bool,
    /// The first answer that was an error.
    pub(crate) refusal: Option<Refusal>,
    /// Whether the run ended because every server was gone.
    pub(crate) servers_lost: bool,
}

/// How much of a run went without servers that it was to load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Missed {
    /// The share of the measured window in which a server was gone, in the mean over all servers.
    pub(crate) share: f64,
    /// Whether one was gone at the end: it died, as far as this run can tell.
    pub(crate) at_end: bool,
}

impl Errors<'_> {
    /// Why this was another load than the one that was requested, if it was.
    ///
    /// Cause: `errors`: servers were gone for so long that the load was not the requested one.
    ///
    /// To do: Check the servers' logs, and run again on servers that stay up.
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

/// Things that were to go well, and those that did not.
struct Tried {
    base: u64,
    ill: u64,
    /// Left out of both.
    asked_drops: u64,
}

/// Operations that were to be answered. Only `on-full` asks to drop; what was not sent before the
/// end is not answered either.
fn operations(counters: &Counters) -> Tried {
    let asked_drops = counters.dropped - counters.dropped_at_end;
    Tried {
        base: counters.intended - counters.unacknowledged - asked_drops,
        ill: counters.unanswered() - asked_drops,
        asked_drops,
    }
}

/// Connections that were to be opened.
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

/// Judges operations, and connections where these are the load, by the worse of the two.
///
/// Cause: `errors`: more operations or connections failed than `--errors-max` allows.
///
/// To do: Find the reason in the counts by class and in the servers' logs, or allow more.
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
        if let Some(refusal) = errors.refusal.filter(|_| errors.operations.failed > 0) {
            message.push_str(&format!("; the first error was '{refusal}'"));
        }
        message = gone(message, errors.gone);
    }
    judged(code, passed, message, share, allowed)
}

/// How operations ended that were not answered well.
fn causes(counters: &Counters) -> Vec<String> {
    let parts = [
        (counters.failed, "failed"),
        (counters.timed_out, "timed out"),
        (counters.lost, "lost"),
        (counters.abandoned, "abandoned"),
        (counters.dropped_at_end, "not sent before the window ended"),
    ];
    let some = parts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect()
}

/// `message` with the servers that were gone.
fn gone(message: String, gone: &[String]) -> String {
    gone.iter().fold(message, |message, clause| format!("{message}; {clause}"))
}
