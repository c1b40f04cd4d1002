//! Combines the load of agents with a load that their master made at the same time: two records of
//! one round. Only the master's was measured.

use super::{counters, judgement};
use memtide_record::{Check, CheckKind, CheckResult, GoalRecord, Reason, Record, ShardRecord};

/// The record of the agents' load, with `own`, which their master measured at the same time. Goals
/// are judged by `own`, and the servers' counters by both together. A bad verdict on one applies to
/// both.
pub fn beside(mut record: Record, mut own: Record) -> Record {
    counters::absorb(&mut record.server, &own.server);
    let shards = std::mem::take(&mut record.shards);
    let ran: Vec<&ShardRecord> = shards.iter().filter(|shard| shard.has_run()).collect();
    let checks = std::mem::take(&mut record.believable.checks);
    judgement::conclude(&mut record, &ran, checks);
    record.shards = shards;
    own.share = None;
    compared_elsewhere(&mut own);
    let ours = &mut record.believable;
    ours.verdict = ours.verdict.max(own.believable.verdict);
    let of_own = |text: &str| format!("the master's own load: {text}");
    let reason = |it: &Reason| Reason { message: of_own(&it.message), ..it.clone() };
    ours.reasons.extend(own.believable.reasons.iter().map(reason));
    let goal = |it: &GoalRecord| GoalRecord { why: of_own(&it.why), ..it.clone() };
    record.goals = own.goals.iter().map(goal).collect();
    record.partial |= own.partial;
    if record.exit == 0 {
        record.exit = own.exit;
    }
    record.own = Some(Box::new(own));
    record
}

/// Marks the comparison of the servers' counters as made elsewhere: they count all operations.
fn compared_elsewhere(own: &mut Record) {
    own.warnings.retain(|it| !counters::JUDGED_ANEW.contains(&it.code.as_str()));
    let code = CheckKind::ServerCounters;
    if let Some(check) = own.believable.checks.iter_mut().find(|check| check.code == code) {
        let message = "they are compared together with the agents' load".to_owned();
        *check = Check { result: CheckResult::Skipped, message, ..check.clone() };
    }
}
