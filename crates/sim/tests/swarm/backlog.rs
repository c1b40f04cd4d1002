//! What the seconds say of the backlog must be possible beside what became of its operations.

use crate::check::was_sent;
use crate::harness::Rehearsal;
use memtide_base::{Instant, Span};
use memtide_record::SecondRecord;
use memtide_workload::Arrival;
use memtide_world::{Pacing, Sample};

/// Time by which a worker's report is older than the end of its second at most, unless it stood
/// still.
const REPORTED: Span = Span::from_ms(150);

/// No operation of the measured window is said to have waited longer, at the end of a second, than
/// one of them waited until it was sent; and with fixed gaps, no more are said to have waited than
/// were due and had not been sent shortly before.
pub fn backlog(rehearsal: &Rehearsal) -> Result<(), String> {
    // One that was never sent may have waited until the end.
    if rehearsal.samples.iter().any(|sample| !was_sent(sample)) {
        return Ok(());
    }
    let lags = rehearsal.samples.iter().map(|sample| sample.sent.since(sample.intended));
    let longest = lags.max().unwrap_or(Span::ZERO);
    let window = &rehearsal.plan.window;
    let is_measured = |second: &&SecondRecord| {
        let end = second.start_s + second.length_s;
        let due = Span::from_s_f64(end - second.under_way.oldest_due_s.unwrap_or(0.0));
        (window.warmup..window.warmup + window.duration).contains(&due)
    };
    for second in rehearsal.record.seconds.iter().filter(is_measured) {
        let age = Span::from_s_f64(second.under_way.oldest_due_s.unwrap_or(0.0));
        if age > longest {
            return Err(format!(
                "at the end of the second from {} s an operation had waited for {age}, but none \
                 of them waited longer than {longest}",
                second.start_s
            ));
        }
        numbered(rehearsal, second)?;
    }
    Ok(())
}

/// Checks the number of operations that are said to have waited at the end of `second`.
fn numbered(rehearsal: &Rehearsal, second: &SecondRecord) -> Result<(), String> {
    let Pacing::Open { arrival: Arrival::Fixed, .. } = &rehearsal.plan.pacing else {
        return Ok(());
    };
    let (Some(first), Some(said)) = (rehearsal.samples.first(), second.under_way.backlog) else {
        return Ok(());
    };
    let end = first.begun + Span::from_s_f64(second.start_s + second.length_s);
    let reported = Instant::from_ns(end.ns().saturating_sub(REPORTED.ns()));
    let waits = |it: &&Sample| it.intended <= end && it.sent >= reported;
    let most = rehearsal.samples.iter().filter(waits).count() as u64;
    // Of each worker, a part of an operation is counted as one.
    if said > most + u64::from(rehearsal.plan.workers) {
        return Err(format!("at {end:?} {said} operations are said to wait, not {most} at most"));
    }
    Ok(())
}
