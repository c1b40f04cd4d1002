//! What the silences of a record's servers mean: warnings, and the check of a closed loop.

use super::{TimeRange, Upset, Warning};
use crate::record::{Check, CheckKind, CheckResult, Record, ServerSilence, SilentTime};

/// Above this fraction of time, the silences of a closed loop hide what p99.9 should show.
const HIDDEN_MAX: f64 = 0.001;

impl Record {
    /// A warning for each server that was silent.
    pub fn silences(&self) -> Vec<Warning> {
        let silent = self.servers.iter().filter_map(|server| {
            // Of several processes the longest reply time counts.
            let all = server.silence.clone()?;
            Some((&server.name, ServerSilence::of(all.reply_ns, all.times)?))
        });
        let warnings = silent.map(|(name, silence)| {
            Warning::Upset(Upset::Silent {
                server: name.clone(),
                silent_s: silence.total_s(),
                measured_s: self.measured_s,
                when: silence.times.iter().map(range).collect(),
                rhythm: silence.rhythm(),
            })
        });
        warnings.collect()
    }

    /// The check of a closed loop whose servers were silent: it sends nothing meanwhile, so that
    /// its percentiles leave this time out. None if no server was silent for long enough to matter.
    pub fn silence_check(&self) -> Option<Check> {
        let warnings = self.silences();
        let longest = warnings.iter().filter_map(|warning| match warning {
            Warning::Upset(Upset::Silent { silent_s, .. }) => Some(silent_s / self.measured_s),
            _ => None,
        });
        let measured = longest.reduce(f64::max).filter(|share| *share > HIDDEN_MAX)?;
        let clauses: Vec<String> = warnings.iter().map(Warning::message).collect();
        Some(Check {
            code: CheckKind::Silence,
            result: CheckResult::Failed,
            message: format!(
                "{}; a closed loop does not send meanwhile, so the times leave this out",
                clauses.join("; ")
            ),
            measured: Some(measured),
            allowed: Some(HIDDEN_MAX),
        })
    }
}

fn range(silence: &SilentTime) -> TimeRange {
    let [from_s, until_s] = [silence.from_ns, silence.until_ns].map(|ns| ns as f64 / 1e9);
    TimeRange { from_s, until_s: Some(until_s) }
}

#[cfg(test)]
mod tests;
