//! A load of the master's own beside that of its agents: two records of one round, of which the
//! second is what was measured.

use super::{counters, judge_counters};
use crate::record::{Check, CheckKind, CheckResult, Reason, Record, ShardRecord};

/// The record of agents' load, with `own`, which their master measured meanwhile. Goals are judged
/// by `own`, the servers' counters by both together, and a verdict on one is one on both.
pub fn beside(mut record: Record, mut own: Record) -> Record {
    counters::absorb(&mut record.server, &own.server);
    let ran: Vec<ShardRecord> = record.shards.iter().filter(|s| s.has_run()).cloned().collect();
    record.warnings.retain(|it| !counters::JUDGED_ANEW.contains(&it.code.as_str()));
    let warnings = judge_counters(&mut record, &ran);
    record.warnings.extend(warnings);
    alone(&mut own);
    let ours = &mut record.believable;
    ours.verdict = ours.verdict.max(own.believable.verdict);
    let of_own = |reason: &Reason| {
        let message = format!("the master's own load: {}", reason.message);
        Reason { message, ..reason.clone() }
    };
    ours.reasons.extend(own.believable.reasons.iter().map(of_own));
    record.goals.clone_from(&own.goals);
    record.partial |= own.partial;
    if record.exit == 0 {
        record.exit = own.exit;
    }
    record.own = Some(Box::new(own));
    record
}

/// The record of a load that one process has made, as though no other had been there.
fn alone(own: &mut Record) {
    own.share = None;
    compared_elsewhere(own);
}

/// The servers' counters are compared with what all sent, not with the master's part.
fn compared_elsewhere(own: &mut Record) {
    own.warnings.retain(|it| !counters::JUDGED_ANEW.contains(&it.code.as_str()));
    let code = CheckKind::ServerCounters;
    if let Some(check) = own.believable.checks.iter_mut().find(|check| check.code == code) {
        let message = "they are compared together with the agents' load".to_owned();
        *check = Check { result: CheckResult::Skipped, message, ..check.clone() };
    }
}
