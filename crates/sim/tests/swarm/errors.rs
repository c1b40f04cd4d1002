//! The verdict is never a yes with more errors than allowed, checked by the operations one by one.

use crate::harness::Rehearsal;
use memtide_base::units::parse_fraction;
use memtide_record::{EndedBy, Outage, Record, Verdict};
use memtide_workload::Outcome;
use memtide_world::{OnFull, Pacing};

/// If the verdict is yes, the servers were there to the end, and few operations and connections
/// failed.
pub fn errors(rehearsal: &Rehearsal) -> Result<(), String> {
    let record = &rehearsal.record;
    if record.believable.verdict == Verdict::No {
        return Ok(());
    }
    if record.ended_by == EndedBy::ServersLost {
        return Err("a run that lost its servers is believed".to_owned());
    }
    gone(record)?;
    let count = |which: &[Outcome]| {
        rehearsal.samples.iter().filter(|sample| which.contains(&sample.outcome)).count() as u64
    };
    let ill = [Outcome::Failed, Outcome::TimedOut, Outcome::Lost, Outcome::Abandoned];
    let (ill, dropped) = (count(&ill), count(&[Outcome::Dropped]));
    let base = rehearsal.samples.len() as u64 - count(&[Outcome::Unacknowledged]);
    // Operations not sent before the end were not dropped by the scenario's policy.
    let when_full = dropped - record.totals.dropped_at_end;
    let asked = if drops(rehearsal) { when_full } else { 0 };
    let allowed = allowed(rehearsal);
    few("operations", (ill + dropped - asked, base - asked), allowed)?;
    let Some(churn) = &record.churn else { return Ok(()) };
    let measure = &churn.measure;
    let asked = if drops(rehearsal) { measure.dropped } else { 0 };
    let base = measure.intended - asked;
    few("connections", (base - measure.opened, base), allowed)
}

/// No server was gone for the last tenth of a second of the window or longer, up to its end.
fn gone(record: &Record) -> Result<(), String> {
    let start_ns = record.window_start_unix_ns.map_or(0, |start| start.0);
    let end_ms = ((start_ns + u128::from(record.window_ns)) / 1_000_000) as u64;
    let died = |away: &Outage| away.until_unix_ms.is_none() && away.from_unix_ms + 100 < end_ms;
    match record.servers.iter().find(|server| server.outages.iter().any(died)) {
        Some(server) => Err(format!("it is believed, but {} was gone at the end", server.name)),
        None => Ok(()),
    }
}

fn few(what: &str, (ill, base): (u64, u64), allowed: f64) -> Result<(), String> {
    match ill as f64 <= allowed * base as f64 {
        true => Ok(()),
        false => Err(format!("it is believed, but {ill} of {base} {what} went wrong")),
    }
}

/// True if the scenario drops operations that find no room.
fn drops(rehearsal: &Rehearsal) -> bool {
    let on_full = match &rehearsal.plan.pacing {
        Pacing::Open { on_full, .. } => *on_full,
        Pacing::Churn(churn) => churn.on_full,
        Pacing::Closed => return false,
    };
    on_full != OnFull::Queue
}

/// The largest share of errors that the scenario allows: its `errors-max`, or 1 %.
fn allowed(rehearsal: &Rehearsal) -> f64 {
    let said = rehearsal.record.scenario.get("errors-max").and_then(|word| word.as_str());
    said.map_or(0.01, |word| parse_fraction(word).expect("it was read before"))
}
