//! The part of a record that a merged record keeps of it, as one of its shards.

use super::rows;
use memtide_record::{Record, ServerCounters, ShardRecord};
use memtide_scenario::Kind;

/// The shard made from the record of a whole run.
pub(super) fn of_run(record: &Record) -> ShardRecord {
    let lag = record.lag.get(&Kind::All);
    let is_of_agent = record.share.as_ref().is_some_and(|share| share.agent.is_some());
    ShardRecord {
        window_start_unix_ns: record.window_start_unix_ns,
        window_ns: record.window_ns,
        answered_until_s: record.answered_until_s,
        started_unix_ms: record.started_unix_ms,
        ended_unix_ms: record.ended_unix_ms,
        partial: record.partial,
        ended_by: record.ended_by,
        aborted: record.aborted.clone(),
        rate: record.rate.clone(),
        churn_target_per_s: record.churn.as_ref().and_then(|churn| churn.target_per_s),
        believable: record.believable.clone(),
        warnings: record.warnings.clone(),
        client: record.client.clone(),
        machine_cpu: record.machine_cpu.clone(),
        machine: record.machine.clone(),
        scenario: record.scenario.clone(),
        tags: record.tags.clone(),
        plan: record.plan.clone(),
        lanes: record.lanes,
        share: record.share.clone(),
        clock: record.clock.clone(),
        planned: record.planned,
        lag_p99_ns: lag.filter(|_| is_of_agent).and_then(|lag| lag.p99_ns),
        rows: None,
        server: record.server.clone(),
        intervals: record.intervals.clone(),
        slices: record.slices.clone(),
        seconds: record.seconds.clone(),
    }
}

/// The shard made from a share, whose rows, counters and words the merged record has.
pub(super) fn of_share(record: &Record) -> ShardRecord {
    let mut shard = of_run(record);
    shard.rows = Some(rows::of_share(record));
    shard.scenario.clear();
    shard.server = ServerCounters::default();
    (shard.intervals, shard.slices, shard.seconds) = (Vec::new(), Vec::new(), Vec::new());
    shard.plan.why.clear();
    shard.plan.decided.clear();
    shard
}
