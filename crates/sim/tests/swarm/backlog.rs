//! What the seconds say of the backlog must be possible beside what became of its operations.

use crate::check::was_sent;
use crate::harness::Rehearsal;
use memtide_base::Span;
use memtide_record::SecondRecord;

/// No operation of the measured window is said to have waited longer, at the end of a second, than
/// one of them waited until it was sent.
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
    }
    Ok(())
}
