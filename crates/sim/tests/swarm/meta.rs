//! The laws of what only the meta protocol has: who stores a value anew, after which time, and what
//! does not travel; and, for every protocol, that each answer has one class.

use crate::check::{equal, is_answered};
use crate::harness::Rehearsal;
use memtide_record::{CheckKind, CheckResult};
use memtide_workload::{Action, Outcome};
use memtide_world::Sample;

/// Checks all of them.
///
/// # Errors
/// A sentence that names the law that does not hold.
pub fn meta(rehearsal: &Rehearsal) -> Result<(), String> {
    let totals = &rehearsal.record.totals;
    let said = |name: &str| totals.replies.get(name).copied().unwrap_or(0);
    let of = |action: Action, is: fn(&Sample) -> bool| {
        rehearsal.samples.iter().filter(move |sample| sample.kind.does(action) && is(sample))
    };
    let won = of(Action::Recache, |sample| sample.outcome == Outcome::Stored);
    // A win whose store failed is a win, and one that was refused has the class of that, too.
    let stored = won.clone().count() as u64;
    let most = stored + of(Action::Recache, |sample| sample.outcome != Outcome::Hit).count() as u64;
    if !(stored..=most).contains(&said("won")) {
        return Err(format!("{} recaches were won, and {stored} to {most} stored", said("won")));
    }
    let classes = totals.replies.values().sum::<u64>() - (said("won") - stored);
    equal("classes of answers", classes, totals.answered)?;
    let least = rehearsal.plan.requests.recache_time.at(0.0);
    if let Some(early) = won.clone().find(|won| won.received.since(won.sent) < least) {
        return Err(format!("a recache took less than {least:?}: {early:?}"));
    }
    let invalidated = of(Action::Invalidate, |sample| sample.outcome == Outcome::Invalidated);
    equal("items that were invalidated", said("invalidated"), invalidated.count() as u64)?;
    let found = of(Action::Peek, |sample| sample.outcome == Outcome::Hit).count() as u64;
    if said("unchanged") > found {
        return Err(format!("{} peeks were unchanged, and {found} found", said("unchanged")));
    }
    let marked = of(Action::Recache, |sample| is_answered(sample.outcome)).count()
        + of(Action::Peek, |sample| is_answered(sample.outcome)).count()
        + of(Action::Read, |sample| is_answered(sample.outcome)).count()
        + of(Action::ReadAndTouch, |sample| is_answered(sample.outcome)).count()
        + of(Action::CompareAndStore, |sample| is_answered(sample.outcome)).count();
    if said("stale") + said("waiting") > marked as u64 {
        return Err(format!("more items were stale or awaited than {marked} reads found"));
    }
    counters(rehearsal)
}

/// The servers count what was sent, if all of it was answered and none of them lied.
fn counters(rehearsal: &Rehearsal) -> Result<(), String> {
    let record = &rehearsal.record;
    let phases = record.phases.each().map(|(_, counts)| &counts.totals);
    let is_whole =
        phases.iter().all(|totals| totals.answered == totals.intended && totals.late_replies == 0);
    let is_whole = is_whole && rehearsal.faults.iter().all(|(_, count)| *count == 0);
    let mut checks = record.believable.checks.iter();
    let failed = checks.find(|check| {
        check.code == CheckKind::ServerCounters && check.result == CheckResult::Failed
    });
    match failed {
        Some(failed) if is_whole => Err(format!("all was answered, but {}", failed.message)),
        _ => Ok(()),
    }
}
