//! Facts of a run in words: what was run, the verdict, and what went wrong.

use super::figures::{Row, grid, table, unbroken, words};
use super::section;
use crate::answer::check_name;
use crate::counts::outcome_counts;
use crate::figure::{Figure, run_figures};
use crate::judgement::{believable, goal_word};
use crate::number::{NONE, or_none, percent, time, whole};
use crate::plan::{data_words, servers};
use crate::shards::shard_verdict;
use crate::text::{load_words, why_partial, window_words};
use maud::{Markup, html};
use memtide_base::calendar::utc;
use memtide_record::{
    Check, CheckResult, GoalRecord, GoalResult, Record, ShardRecord, Verdict, WarningRecord,
};

/// What was run, and against which servers.
pub(super) fn facts(record: &Record) -> Markup {
    let plan = &record.plan;
    let tags: Vec<String> =
        record.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let facts = [
        ("server", servers(plan)),
        ("load", load_words(record)),
        ("data", data_words(plan)),
        ("window", window_words(record)),
        ("machine", machine(record)),
        ("memtide", record.machine.memtide_version.clone()),
        ("began", began(record)),
        ("tags", tags.join(", ")),
    ];
    html! {
        dl {
            @for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
                dt { (name) } dd { (unbroken(fact)) }
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

/// The verdict in a line, and why the record is partial, if it is.
pub(super) fn verdict(record: &Record) -> Markup {
    let words = believable(record);
    let class = match record.believable.verdict {
        _ if !record.stands() => "verdict no",
        // The figures' grades may be worse than the checks.
        Verdict::Yes if words == "yes" => "verdict",
        _ => "verdict within",
    };
    html! {
        p class=(class) { strong { "believable: " } (unbroken(&words)) }
        @if record.partial { p { strong { "partial: " } (unbroken(&why_partial(record))) } }
    }
}

/// The goals, each check of the verdict, and the warnings.
pub(super) fn reasons(record: &Record) -> Markup {
    html! {
        (goals(record))
        (checks(record))
        (warnings(&record.warnings))
    }
}

fn goals(record: &Record) -> Markup {
    let row = |goal: &GoalRecord| {
        let class = match goal.result {
            GoalResult::Met => "good",
            GoalResult::Missed => "bad",
            GoalResult::Undecided => "warn",
        };
        judged(&goal.goal, (class, goal_word(goal.result)), &goal.why)
    };
    let rows: Vec<Markup> = record.goals.iter().map(row).collect();
    grid("Goals", &["goal", "result", "why"], true, &rows)
}

fn checks(record: &Record) -> Markup {
    let row = |check: &Check| {
        let result = match check.result {
            CheckResult::Passed => ("good", "passed"),
            CheckResult::Failed => ("bad", "failed"),
            CheckResult::Skipped => ("faint", "skipped"),
        };
        judged(check_name(check.code), result, &check.message)
    };
    let rows: Vec<Markup> = record.believable.checks.iter().map(row).collect();
    grid("Checks of the verdict", &["check", "result", "what it found"], true, &rows)
}

/// A row with what was judged, the result with its CSS class, and the reason.
fn judged(subject: &str, (class, result): (&str, &str), why: &str) -> Markup {
    html! {
        tr {
            th.long scope="row" { (subject) }
            td class={ "words " (class) } { (result) }
            td.words { (unbroken(why)) }
        }
    }
}

fn warnings(warnings: &[WarningRecord]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            h3 { "Warnings" }
            ul {
                @for warning in warnings {
                    li { (unbroken(&warning.message)) "; " strong { (unbroken(&warning.remedy)) } }
                }
            }
        }
    }
}

/// Outcomes of operations, and the figures that every output shows.
pub(super) fn counts(record: &Record) -> Markup {
    let totals = &record.totals;
    let count = |path: String, label: &str, count: u64| Row {
        path: Some(path),
        label: label.to_owned(),
        figures: vec![Figure::known("count", whole(count), count)],
    };
    let mut rows = vec![count("totals.intended".to_owned(), "due", totals.intended)];
    let unanswered = outcome_counts(totals).into_iter().skip(1).filter(|(.., it)| *it > 0);
    rows.extend(unanswered.map(|(name, label, it)| count(format!("totals.{name}"), label, it)));
    rows.extend(run_figures(record).into_iter().map(|(of, figure)| Row {
        path: None,
        label: of.label.to_owned(),
        figures: vec![figure],
    }));
    let errors = totals.errors.iter().filter(|(_, it)| **it > 0);
    let errors: Vec<Row> =
        errors.map(|(name, it)| count(format!("totals.errors.{name}"), name, *it)).collect();
    html! {
        (section("Counts"))
        (table("Figures of the measured window.", &["figure", "value"], &rows))
        @if errors.is_empty() { p.faint { "No errors." } }
        @else { (table("Errors by class.", &["error", "count"], &errors)) }
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
        let achieved = Some(shard.achieved()).filter(|rate| rate.per_s.is_finite());
        let busiest = shard.client.worker_busy.iter().copied().reduce(f64::max);
        let verdict = shard_verdict(shard);
        vec![
            name,
            agent.unwrap_or_else(|| NONE.to_owned()),
            or_none(achieved),
            or_none(shard.target()),
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
            (section("Parts of this run"))
            (words("The merged runs or shares.", &rows))
        }
    }
}

/// The command that does the same again, if it is known, and the scenario file that it names.
/// `more` says what else the command needs.
pub(super) fn again(command: Option<&str>, more: &str, file: &str) -> Markup {
    html! {
        (section("Scenario"))
        @match command {
            Some(command) => p {
                "To run the same load again, save this as a file: " code { (command) } (more) "."
            },
            None => p { "The scenario of each step, without its rate." },
        }
        div {
            button.copy type="button" { "Copy" }
            pre tabindex="0" { (file) }
        }
    }
}
