//! Merges the shards' checks and warnings: a failure of any shard is a failure of the whole.
//!
//! Checks are not made again; only warnings that more operations can cure are. A load that a master
//! made beside its agents is combined with theirs here: only the master's was measured.

use super::agree::{self, of_different_servers};
use super::{counters, missing};
use memtide_base::Span;
use memtide_record::warning::warning_order;
use memtide_record::{
    AgentRecord, Believable, Check, CheckKind, CheckResult, LateCause, Means, MissingRecord,
    Percentile, Reason, Record, ShardRecord, ShareRecord, Verdict, Warning, WarningRecord,
};
use std::collections::BTreeSet;

/// The warning of a share about a silent server, which only all shares together can judge.
const SILENT: &str = "server_silent";

/// Judges a merged record: verdict, warnings, goals and exit code. `ran` are the shards that made
/// their load, of `all`.
pub(super) fn judge(record: &mut Record, all: &[&ShardRecord], ran: &[&ShardRecord]) {
    record.warnings = warnings(ran, record);
    let mut checks = checks(ran, record.missing.as_ref());
    checks.extend(record.missing.as_ref().map(|missing| missing::check(missing, all)));
    conclude(record, ran, checks);
    record.warnings.sort_by_key(|warning| warning_order(&warning.code));
    let scenarios = ran.iter().map(|shard| &shard.scenario);
    let goals = agree::goals(scenarios.chain([&record.scenario]));
    record.goals = memtide_record::judge(&goals, record);
    record.exit = record.exit_code();
}

/// Sets the verdict: the worst of `checks`, or the worst verdict of a shard if that is worse. A
/// shard that was not judged counts as a no. What shares sent can only be compared with the
/// servers' counters for all of them together, which replaces their own comparisons.
pub(super) fn conclude(record: &mut Record, ran: &[&ShardRecord], mut checks: Vec<Check>) {
    if record.alignment.is_some() {
        let agreement = counters::agreement(record, ran);
        let (check, warning) = (agreement.check(), agreement.warning(&record.plan.servers));
        checks.retain(|of| of.code != check.code);
        let behind = checks.iter().position(|of| of.code == CheckKind::Shares);
        checks.insert(behind.unwrap_or(checks.len()), check);
        silences(record, &mut checks);
        record.warnings.retain(|it| !counters::JUDGED_ANEW.contains(&it.code.as_str()));
        let means = Means::of(record);
        record.warnings.extend(warning.iter().map(|warning| warning.to_record(&means)));
    }
    let judged = Believable::from_checks(checks);
    let worst = ran.iter().map(|shard| shard.believable.verdict).max();
    let verdict = worst.unwrap_or(Verdict::No).max(judged.verdict);
    record.believable = Believable { verdict, ..judged };
}

/// Judges silences anew: those in which no share had a reply. The loop of a share that has this
/// check is closed.
fn silences(record: &mut Record, checks: &mut Vec<Check>) {
    record.warnings.retain(|it| it.code != SILENT);
    record.warnings.extend(record.silences().iter().map(WarningRecord::from));
    let before = checks.len();
    checks.retain(|check| check.code != CheckKind::Silence);
    checks.extend(record.silence_check().filter(|_| checks.len() < before));
}

/// The worst result of each check over all shards, with the shard named, in the order of the
/// checks.
fn checks(shards: &[&ShardRecord], missing: Option<&MissingRecord>) -> Vec<Check> {
    let mut codes: Vec<CheckKind> = Vec::new();
    for check in shards.iter().flat_map(|shard| &shard.believable.checks) {
        if !codes.contains(&check.code) {
            codes.push(check.code);
        }
    }
    codes.into_iter().map(|code| worst(code, shards, missing)).collect()
}

fn worst(code: CheckKind, shards: &[&ShardRecord], missing: Option<&MissingRecord>) -> Check {
    let all: Vec<(usize, &Check)> = shards
        .iter()
        .enumerate()
        .filter_map(|(at, shard)| {
            let check = shard.believable.checks.iter().find(|check| check.code == code);
            check.map(|check| (at, check))
        })
        .collect();
    let result = [CheckResult::Failed, CheckResult::Passed, CheckResult::Skipped]
        .into_iter()
        .find(|result| all.iter().any(|(_, check)| check.result == *result))
        .expect("a code is one of some check");
    let of_result = all.into_iter().filter(|(_, check)| check.result == result);
    let of_result: Vec<(usize, &Check)> = of_result.collect();
    let (at, check) = of_result
        .iter()
        .copied()
        .reduce(|worst, next| if excess(next.1) > excess(worst.1) { next } else { worst })
        .expect("some check has this result");
    let (count, message) = (of_result.len(), &check.message);
    let (noun, name) = name(shards, at);
    let total = total(shards);
    let missing = missing.map_or(String::new(), |missing| {
        let of = shards[at].share.as_ref().map_or(0, |share| share.of);
        format!(" ({} of {of} shares missing)", missing.shares.len())
    });
    let message = match (result, count) {
        (CheckResult::Passed, _) => {
            format!("{count} of {total} {noun}s passed{missing}; worst is {name}: {message}")
        }
        (CheckResult::Skipped, _) => {
            format!("skipped in every {noun}, such as {name}: {message}")
        }
        (CheckResult::Failed, 1) if noun == "agent" => format!("{name}: {message}"),
        (CheckResult::Failed, 1) => format!("{name} of {total}: {message}"),
        (CheckResult::Failed, _) => {
            format!("{count} of {total} {noun}s failed{missing}; worst is {name}: {message}")
        }
    };
    Check { code, result, message, measured: check.measured, allowed: check.allowed }
}

/// What the shard at this position is called, and its name: an agent has a name, a share of a run
/// has a number, other shards are counted from 1.
fn name(shards: &[&ShardRecord], at: usize) -> (&'static str, String) {
    match &shards[at].share {
        Some(ShareRecord { number, agent: Some(AgentRecord { name, .. }), .. }) => {
            ("agent", format!("agent {name} (share {number})"))
        }
        Some(share) => ("share", format!("share {}", share.number)),
        None => ("run", format!("run {}", at + 1)),
    }
}

/// Number of shards that there should be: of shares those of the run, else those that are there.
fn total(shards: &[&ShardRecord]) -> usize {
    match &shards[0].share {
        Some(ShareRecord { of, agent: None, .. }) => *of as usize,
        _ => shards.len(),
    }
}

/// The first shard's warning of this code, with the number of shards that have one.
fn once(code: &str, shards: &[&ShardRecord]) -> Option<WarningRecord> {
    let mut all = shards
        .iter()
        .enumerate()
        .filter_map(|(at, shard)| Some((at, shard.warnings.iter().find(|it| it.code == code)?)));
    let (at, first) = all.next()?;
    let (total, (noun, name)) = (total(shards), name(shards, at));
    let who = match all.count() {
        // Agents that were lost are not among those that are counted here.
        0 if noun == "agent" => name,
        0 => format!("{name} of {total}"),
        others => format!("{} of {total} {noun}s, such as {name}", others + 1),
    };
    Some(WarningRecord { message: format!("{who}: {}", first.message), ..first.clone() })
}

/// The judged figure as a part of its bound; above 1 it is beyond.
fn excess(check: &Check) -> f64 {
    match (check.measured, check.allowed) {
        (Some(measured), Some(allowed)) if allowed > 0.0 => measured.abs() / allowed,
        _ => 0.0,
    }
}

/// The warnings of all shards, each once, in their order. Warnings about response times, and of
/// shares about their precision, are computed from the merged `record`. "Sent late" is one warning
/// for all: each shard keeps its own figure.
fn warnings(shards: &[&ShardRecord], record: &Record) -> Vec<WarningRecord> {
    let curable = [
        Warning::HistogramSaturated { count: 0 }.code(),
        Warning::TooFewSamples {
            kind: memtide_scenario::Kind::All,
            percentile: Percentile::P50,
            needed: 0,
            has: 0,
        }
        .code(),
    ];
    let imprecise = Warning::Imprecise { asked: String::new(), half_width: None, length_s: 0.0 };
    let overloaded = Warning::Overloaded { from: Span::ZERO, to: Span::ZERO };
    let is_run = record.alignment.is_some();
    let percentile = Percentile::P99;
    let late =
        Warning::GeneratorLate { percentile, seen_ns: 0, ideal_ns: 0, cause: LateCause::Wake }
            .code();
    let mut warnings: Vec<WarningRecord> = Vec::new();
    for warning in shards.iter().flat_map(|shard| &shard.warnings) {
        let told = if warning.code == late { once(late, shards) } else { Some(warning.clone()) };
        let Some(told) = told else { continue };
        let is_of_run = [imprecise.code(), overloaded.code()].contains(&told.code.as_str());
        let is_curable = curable.contains(&told.code.as_str()) || is_run && is_of_run;
        if !is_curable && !warnings.contains(&told) {
            warnings.push(told);
        }
    }
    let mut of_merged = Warning::of_response(&record.response);
    of_merged.extend(is_run.then(|| record.imprecise()).into_iter().flatten());
    of_merged.extend(is_run.then(|| record.overloaded()).flatten());
    if of_different_servers(shards) {
        let names = shards.iter().flat_map(|shard| &shard.plan.servers).map(|server| &server.name);
        let servers = names.collect::<BTreeSet<_>>().len();
        of_merged.push(Warning::ServersDiffer { runs: shards.len(), servers });
    }
    let means = Means::of(record);
    warnings.extend(of_merged.iter().map(|warning| warning.to_record(&means)));
    warnings
}

/// The record of the agents' load, with `own`, which their master measured at the same time. Goals
/// are judged by `own`, and the servers' counters by both together. A bad verdict on one applies to
/// both.
pub fn beside(mut record: Record, mut own: Record) -> Record {
    counters::absorb(&mut record.server, &own.server);
    let shards = std::mem::take(&mut record.shards);
    let ran: Vec<&ShardRecord> = shards.iter().filter(|shard| shard.has_run()).collect();
    let checks = std::mem::take(&mut record.believable.checks);
    conclude(&mut record, &ran, checks);
    record.shards = shards;
    own.share = None;
    compared_elsewhere(&mut own);
    let ours = &mut record.believable;
    ours.verdict = ours.verdict.max(own.believable.verdict);
    for reason in &own.believable.reasons {
        let message = format!("the master's own load: {}", reason.message);
        ours.reasons.push(Reason { message, ..reason.clone() });
    }
    record.goals.clone_from(&own.goals);
    for goal in &mut record.goals {
        goal.why.insert_str(0, "the master's own load: ");
    }
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
