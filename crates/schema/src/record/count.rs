//! Counts: what became of the operations of a phase, and the law that they add up.
//!
//! All figures are sums, so records merge by adding them.

use super::verification::VerificationCounts;
use crate::kind::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Filling the server.
    Load,
    /// Load before the measured window.
    Warmup,
    /// The measured window.
    Measure,
    /// After it, while the last measured operations end.
    Cooldown,
}

impl Phase {
    /// The name in records and progress lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Warmup => "warmup",
            Self::Measure => "measure",
            Self::Cooldown => "cooldown",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The counts of all phases; zero where one did not happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Filling the server, with the probes before and after.
    pub load: PhaseCounts,
    /// Load before the measured window.
    pub warmup: PhaseCounts,
    /// Operations intended in the measured window.
    pub measure: PhaseCounts,
    /// Operations intended after it.
    pub cooldown: PhaseCounts,
}

impl Phases {
    /// Every phase with its counts, in order.
    pub fn each(&self) -> [(Phase, &PhaseCounts); 4] {
        [
            (Phase::Load, &self.load),
            (Phase::Warmup, &self.warmup),
            (Phase::Measure, &self.measure),
            (Phase::Cooldown, &self.cooldown),
        ]
    }
}

impl Phases {
    /// What verification found in all phases together.
    pub fn verification(&self) -> VerificationCounts {
        let mut sum = VerificationCounts::default();
        for (_, phase) in self.each() {
            let VerificationCounts {
                checked,
                ok,
                corrupt,
                wrong_key,
                stale,
                truncated,
                verify_misses,
                expired_get,
                unexpired_unget,
            } = phase.totals.verification;
            // A record that was read may hold any numbers.
            sum.checked = sum.checked.saturating_add(checked);
            sum.ok = sum.ok.saturating_add(ok);
            sum.corrupt = sum.corrupt.saturating_add(corrupt);
            sum.wrong_key = sum.wrong_key.saturating_add(wrong_key);
            sum.stale = sum.stale.saturating_add(stale);
            sum.truncated = sum.truncated.saturating_add(truncated);
            sum.verify_misses = sum.verify_misses.saturating_add(verify_misses);
            sum.expired_get = sum.expired_get.saturating_add(expired_get);
            sum.unexpired_unget = sum.unexpired_unget.saturating_add(unexpired_unget);
        }
        sum
    }
}

/// The counts of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseCounts {
    /// What became of its operations.
    #[serde(flatten)]
    pub totals: Totals,
    /// Operations sent, by kind; kinds that were never sent are absent.
    pub ops: BTreeMap<Kind, u64>,
}

/// What became of operations. Each one ends in exactly one of answered, failed, timed_out, lost,
/// dropped, unacknowledged and abandoned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Operations the schedule wanted.
    pub intended: u64,
    /// Operations of which some byte was sent.
    pub sent: u64,
    /// Answered, and not with an error: a miss is an answer.
    pub answered: u64,
    /// Answered with an error.
    pub failed: u64,
    /// Without a complete answer at the deadline.
    pub timed_out: u64,
    /// Those of `timed_out` that were never sent.
    pub timed_out_queued: u64,
    /// Carried by a connection that was lost.
    pub lost: u64,
    /// Not sent: because every connection was full, or because the window had ended.
    pub dropped: u64,
    /// Those of `dropped` that were due and not sent when the window ended.
    #[serde(default)]
    pub dropped_at_end: u64,
    /// Sent without asking for an answer.
    pub unacknowledged: u64,
    /// Without an outcome when the run ended early, or a second after a window after which
    /// nothing is sent.
    pub abandoned: u64,
    /// Answers that came after their operation had timed out; discarded.
    pub late_replies: u64,
    /// Keys asked for by get and gets that were sent, whatever came of them: what a server counts
    /// as `cmd_get`.
    #[serde(default)]
    pub keys_asked: u64,
    /// Keys asked for by answered reads.
    pub keys: u64,
    /// Those of `keys` that were found.
    pub hits: u64,
    /// Those of `keys` that were not found.
    pub misses: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Errors by what they were: a kind of error reply, a cause of loss, a stage of a time-out.
    pub errors: BTreeMap<String, u64>,
    /// Answers by what they said: stored, not_stored, exists, not_found…
    pub replies: BTreeMap<String, u64>,
    /// What became of connections.
    pub connections: ConnectionCounts,
    /// What verification found; all zero without it.
    pub verification: VerificationCounts,
    /// Unusual datagrams, by when they were noticed; absent where there were none.
    #[serde(default, skip_serializing_if = "DatagramCounts::is_zero")]
    pub datagrams: DatagramCounts,
}

impl Totals {
    /// Whether the outcomes add up to what was intended; the error shows the sum.
    pub fn check_conservation(&self) -> Result<(), String> {
        if self.dropped_at_end > self.dropped {
            let (part, whole) = (self.dropped_at_end, self.dropped);
            return Err(format!("{part} of {whole} dropped operations at the end of the window"));
        }
        let outcomes = [
            self.answered,
            self.failed,
            self.timed_out,
            self.lost,
            self.dropped,
            self.unacknowledged,
            self.abandoned,
        ];
        // A record that was read may hold any numbers.
        let ended: u128 = outcomes.into_iter().map(u128::from).sum();
        match ended == u128::from(self.intended) {
            true => Ok(()),
            false => Err(format!(
                "{} operations were intended but {ended} ended: {} answered, {} failed, \
                 {} timed out, {} lost, {} dropped, {} unacknowledged, {} abandoned",
                self.intended,
                self.answered,
                self.failed,
                self.timed_out,
                self.lost,
                self.dropped,
                self.unacknowledged,
                self.abandoned
            )),
        }
    }

    /// Those of `dropped` that found every connection full, which the scenario said to drop.
    pub const fn dropped_when_full(&self) -> u64 {
        self.dropped.saturating_sub(self.dropped_at_end)
    }

    /// Adds `part`. Every count is named, so that a new one cannot be forgotten.
    pub(crate) fn add(&mut self, part: &Self) {
        let Self {
            intended,
            sent,
            answered,
            failed,
            timed_out,
            timed_out_queued,
            lost,
            dropped,
            dropped_at_end,
            unacknowledged,
            abandoned,
            late_replies,
            keys_asked,
            keys,
            hits,
            misses,
            bytes_sent,
            bytes_received,
            errors,
            replies,
            connections,
            verification,
            datagrams,
        } = part;
        add(&mut self.intended, *intended);
        add(&mut self.sent, *sent);
        add(&mut self.answered, *answered);
        add(&mut self.failed, *failed);
        add(&mut self.timed_out, *timed_out);
        add(&mut self.timed_out_queued, *timed_out_queued);
        add(&mut self.lost, *lost);
        add(&mut self.dropped, *dropped);
        add(&mut self.dropped_at_end, *dropped_at_end);
        add(&mut self.unacknowledged, *unacknowledged);
        add(&mut self.abandoned, *abandoned);
        add(&mut self.late_replies, *late_replies);
        add(&mut self.keys_asked, *keys_asked);
        add(&mut self.keys, *keys);
        add(&mut self.hits, *hits);
        add(&mut self.misses, *misses);
        add(&mut self.bytes_sent, *bytes_sent);
        add(&mut self.bytes_received, *bytes_received);
        add_counts(&mut self.errors, errors);
        add_counts(&mut self.replies, replies);
        let ConnectionCounts { opened, failed, lost } = connections;
        add(&mut self.connections.opened, *opened);
        add(&mut self.connections.failed, *failed);
        add(&mut self.connections.lost, *lost);
        add_verification(&mut self.verification, verification);
        let DatagramCounts { disordered, duplicate, late, lost, foreign } = datagrams;
        add(&mut self.datagrams.disordered, *disordered);
        add(&mut self.datagrams.duplicate, *duplicate);
        add(&mut self.datagrams.late, *late);
        add(&mut self.datagrams.lost, *lost);
        add(&mut self.datagrams.foreign, *foreign);
    }

    /// Operations that ended without a good answer: failed, timed out, lost, dropped, abandoned.
    pub const fn unanswered(&self) -> u64 {
        self.failed + self.timed_out + self.lost + self.dropped + self.abandoned
    }
}

/// Datagrams of replies that did not come once and in order. Only a timeout tells that one is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatagramCounts {
    /// Came before one that they should follow.
    pub disordered: u64,
    /// Came again.
    pub duplicate: u64,
    /// Came after their operation had timed out.
    pub late: u64,
    /// Missing of replies of which something came in time; of others nobody knows.
    pub lost: u64,
    /// Belonged to nothing that was asked.
    pub foreign: u64,
}

impl DatagramCounts {
    /// Whether there were none.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// What became of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionCounts {
    /// Opened.
    pub opened: u64,
    /// Could not be opened.
    pub failed: u64,
    /// Open, and lost.
    pub lost: u64,
}

fn add_verification(sum: &mut VerificationCounts, part: &VerificationCounts) {
    let VerificationCounts {
        checked,
        ok,
        corrupt,
        wrong_key,
        stale,
        truncated,
        verify_misses,
        expired_get,
        unexpired_unget,
    } = part;
    add(&mut sum.verify_misses, *verify_misses);
    add(&mut sum.expired_get, *expired_get);
    add(&mut sum.unexpired_unget, *unexpired_unget);
    add(&mut sum.checked, *checked);
    add(&mut sum.ok, *ok);
    add(&mut sum.corrupt, *corrupt);
    add(&mut sum.wrong_key, *wrong_key);
    add(&mut sum.stale, *stale);
    add(&mut sum.truncated, *truncated);
}

/// Adds counts by their names.
pub(crate) fn add_counts<K: Clone + Ord>(sums: &mut BTreeMap<K, u64>, parts: &BTreeMap<K, u64>) {
    for (name, count) in parts {
        add(sums.entry(name.clone()).or_default(), *count);
    }
}

/// Counts that were read may be near the end of their type; a sum stops there.
pub(crate) fn add(sum: &mut u64, part: u64) {
    *sum = sum.saturating_add(part);
}
