//! Facts of a run in words: what was run, the verdict, and what went wrong.

use super::figures::{Figure, Row, table, words};
use crate::judgement::{believable, goal_word, shard_verdict};
use crate::number::{NONE, counted, or_none, percent, rate, seconds, time, whole};
use crate::plan::{data_words, servers};
use crate::text::why_partial;
use maud::{Markup, html};
use memtide_base::calendar::utc;
use memtide_record::Record;
use memtide_record::{
    CheckKind, CheckResult, GoalResult, ShardRecord, Totals, Verdict, WarningRecord,
};
use memtide_scenario::scenario_file;

/// What was run, and against which servers.
pub(super) fn facts(record: &Record) -> Markup {
    let plan = &record.plan;
    let data = data_words(plan);
    let load = format!(
        "{}, {}, depth {}, {}, wait {}",
        counted(u64::from(plan.workers), "worker"),
        counted(u64::from(plan.connections), "connection"),
        plan.depth,
        plan.io,
        plan.wait
    );
    let tags: Vec<String> =
        record.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut window = format!("{} measured", seconds(record.measured_s));
    if plan.warmup_s > 0.0 {
        window += &format!(" after {} of warm-up", seconds(plan.warmup_s));
    }
    let facts = [
        ("server", servers(plan)),
        ("load", load),
        ("data", data),
        ("window", window),
        ("machine", machine(record)),
        ("memtide", record.machine.memtide_version.clone()),
        ("began", began(record)),
        ("tags", tags.join(", ")),
    ];
    html! {
        dl {
            @for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
                dt { (name) } dd { (fact) }
            }
        }
    }
}

fn machine(record: &Record) -> String {
    let machine = &record.machine;
    let model = machine.cpu_model.clone().unwrap_or_else(|| machine.architecture.clone());
    let parts = [model, format!("{} CPUs", machine.cpus_allowed), machine.kernel.clone()];
    let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    known.join(", ")
}

/// Start of the run in UTC; empty if unknown, as in a simulation.
fn began(record: &Record) -> String {
    match record.started_unix_ms {
        0 => String::new(),
        ms => utc(ms / 1000),
    }
}

/// The verdict, each check, and the goals.
pub(super) fn verdict(record: &Record) -> Markup {
    let class = match record.believable.verdict {
        Verdict::Yes => "verdict",
        Verdict::Within => "verdict within",
        Verdict::No => "verdict no",
    };
    html! {
        h2 { "Verdict" }
        p class=(class) { strong { "believable: " } (believable(record)) }
        @if record.partial { p { strong { "partial: " } (why_partial(record)) } }
        (goals(record))
        (checks(record))
        (warnings(&record.warnings))
    }
}

fn goals(record: &Record) -> Markup {
    html! {
        @if !record.goals.is_empty() {
            div.scroll {
                table {
                    caption { "Goals" }
                    thead {
                        tr {
                            th scope="col" { "goal" }
                            th.words scope="col" { "result" }
                            th.words scope="col" { "why" }
                        }
                    }
                    tbody {
                        @for goal in &record.goals {
                            tr {
                                th.long scope="row" { (goal.goal) }
                                td class={ "words " (goal_class(goal.result)) } {
                                    (goal_word(goal.result))
                                }
                                td.words { (goal.why) }
                            }
                        }
                    }
                }
            }
        }
    }
}

const fn goal_class(result: GoalResult) -> &'static str {
    match result {
        GoalResult::Met => "good",
        GoalResult::Missed => "bad",
        GoalResult::Undecided => "warn",
    }
}

fn checks(record: &Record) -> Markup {
    html! {
        @if !record.believable.checks.is_empty() {
            div.scroll {
                table {
                    caption { "Checks of the verdict" }
                    thead {
                        tr {
                            th scope="col" { "check" }
                            th.words scope="col" { "result" }
                            th.words scope="col" { "what it found" }
                        }
                    }
                    tbody {
                        @for check in &record.believable.checks {
                            tr {
                                th.long scope="row" { (check_name(check.code)) }
                                (check_result(check.result))
                                td.words { (check.message) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn check_result(result: CheckResult) -> Markup {
    let (class, word) = match result {
        CheckResult::Passed => ("good", "passed"),
        CheckResult::Failed => ("bad", "failed"),
        CheckResult::Skipped => ("faint", "skipped"),
    };
    html! { td class={ "words " (class) } { (word) } }
}

const fn check_name(code: CheckKind) -> &'static str {
    match code {
        CheckKind::Answered => "number of replies",
        CheckKind::Errors => "error rate",
        CheckKind::Rate => "rate",
        CheckKind::GeneratorP50 => "memtide's own delay at p50",
        CheckKind::GeneratorP99 => "memtide's own delay at p99",
        CheckKind::WorkerBusy => "busy time of the workers",
        CheckKind::OwnCpus => "CPUs of the embedded server",
        CheckKind::ServerCounters => "servers' counters",
        CheckKind::Shares => "number of shares",
    }
}

fn warnings(warnings: &[WarningRecord]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            h3 { "Warnings" }
            ul {
                @for warning in warnings {
                    li { (warning.message) "; " strong { (warning.remedy) } }
                }
            }
        }
    }
}

/// Outcomes of operations, keys and connections.
pub(super) fn counts(record: &Record) -> Markup {
    let totals = &record.totals;
    let count = |name: &'static str, label: &str, count: u64| Row {
        path: format!("totals.{name}"),
        label: label.to_owned(),
        figures: vec![Figure::known("count", whole(count), count)],
    };
    let of_any = |(name, label, number): (&'static str, &str, u64)| {
        (number > 0).then(|| count(name, label, number))
    };
    let mut rows = vec![
        count("intended", "due", totals.intended),
        count("answered", "answered", totals.answered),
    ];
    rows.extend(unanswered(totals).into_iter().filter_map(of_any));
    rows.push(count("hits", "keys found", totals.hits));
    rows.push(count("misses", "keys not found", totals.misses));
    let errors: Vec<Row> = totals
        .errors
        .iter()
        .filter(|(_, number)| **number > 0)
        .map(|(name, number)| Row {
            path: format!("totals.errors.{name}"),
            label: name.clone(),
            figures: vec![Figure::known("count", whole(*number), *number)],
        })
        .collect();
    html! {
        h2 { "Counts" }
        (table("Operations of the measured window.", &["operations", "count"], &rows))
        @if errors.is_empty() { p.faint { "No errors." } }
        @else { (table("Errors by class.", &["error", "count"], &errors)) }
        (client(record))
    }
}

fn unanswered(totals: &Totals) -> [(&'static str, &'static str, u64); 6] {
    [
        ("failed", "failed", totals.failed),
        ("timed_out", "timed out", totals.timed_out),
        ("lost", "lost with their connection", totals.lost),
        ("dropped", "dropped", totals.dropped),
        ("unacknowledged", "sent with noreply", totals.unacknowledged),
        ("abandoned", "abandoned at the end", totals.abandoned),
    ]
}

/// Cost of the load to the machine that made it.
fn client(record: &Record) -> Markup {
    let client = &record.client;
    let cpu = client.cpu_s_per_mops.map(|cost| format!("{cost:.2} s per million operations"));
    let busiest = client.worker_busy.iter().copied().reduce(f64::max).map(percent);
    let machine = record.machine_cpu.as_ref().map(|cpu| percent(cpu.avg));
    html! {
        dl {
            dt { "CPU of memtide" } dd { (or_none(cpu)) }
            dt { "busiest worker" } dd { (or_none(busiest)) }
            dt { "CPUs of the machine" } dd { (or_none(machine)) }
        }
    }
}

/// A row for each merged share, agent or run.
pub(super) fn shards(shards: &[ShardRecord]) -> Markup {
    let heading = ["part", "agent", "rate", "target", "CPU", "lag p99", "warnings", "believable"];
    let row = |(number, shard): (usize, &ShardRecord)| {
        let share = shard.share.as_ref();
        let agent = share.and_then(|share| share.agent.as_ref()).map(|agent| agent.name.clone());
        let name = match share {
            Some(share) => format!("share {}", share.number),
            None => format!("run {}", number + 1),
        };
        let achieved = Some(shard.rate.in_schedule_unit()).filter(|rate| rate.is_finite());
        let busiest = shard.client.worker_busy.iter().copied().reduce(f64::max);
        let verdict = shard_verdict(shard);
        vec![
            name,
            agent.unwrap_or_else(|| NONE.to_owned()),
            or_none(achieved.map(rate)),
            or_none(shard.rate.target_per_s.map(rate)),
            or_none(busiest.map(percent)),
            or_none(shard.lag_p99_ns.map(|ns| time(ns as f64))),
            shard.warnings.len().to_string(),
            verdict.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = [heading.map(str::to_owned).to_vec()]
        .into_iter()
        .chain(shards.iter().enumerate().map(row))
        .collect();
    html! {
        @if !shards.is_empty() {
            h2 { "Parts of this run" }
            (words("The merged runs or shares.", &rows))
        }
    }
}

/// The scenario as a file that runs the same load again.
pub(super) fn scenario(record: &Record) -> Markup {
    html! {
        h2 { "Scenario" }
        p {
            "To run the same load again, save this as a file: "
            code { "memtide run scenario.toml" }
            "."
        }
        div {
            button.copy type="button" { "Copy" }
            pre tabindex="0" { (scenario_file(&record.scenario)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_420_898, "2026-11-23 08:01:38 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ];
        for (unix_s, words) in cases {
            assert_eq!(utc(unix_s), words);
        }
    }
}
