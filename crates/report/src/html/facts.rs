//! Facts of a run in words: what was run, the verdict, and what went wrong.

use super::figures::{Row, grid, table, unbroken, words};
use super::section;
use crate::answer::check_name;
use crate::counts::outcome_counts;
use crate::figure::{Figure, run_figures};
use crate::judgement::{believable, goal_word};
use crate::number::{or_none, percent, time, whole};
use crate::plan::{data_words, servers};
use crate::shards::shard_verdict;
use crate::text::{load_words, why_partial, window_words};
use maud::{Markup, html};
use memtide_base::calendar::utc;
use memtide_record::{
    CheckResult, GoalRecord, GoalResult, Record, ShardRecord, Verdict, WarningRecord,
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
    let rows = record.goals.iter().map(|goal| {
        let class = match goal.result {
            GoalResult::Met => "good",
            GoalResult::Missed => "bad",
            GoalResult::Undecided => "warn",
        };
        let GoalRecord { goal: subject, why, .. } = goal;
        Judged { subject, class, result: goal_word(goal.result), why }.row()
    });
    grid("Goals", &["goal", "result", "why"], true, &rows.collect::<Vec<_>>())
}

fn checks(record: &Record) -> Markup {
    let rows = record.believable.checks.iter().map(|check| {
        let (class, result) = match check.result {
            CheckResult::Passed => ("good", "passed"),
            CheckResult::Failed => ("bad", "failed"),
            CheckResult::Skipped => ("faint", "skipped"),
        };
        Judged { subject: check_name(check.code), class, result, why: &check.message }.row()
    });
    let headings = ["check", "result", "what it found"];
    grid("Checks of the verdict", &headings, true, &rows.collect::<Vec<_>>())
}

/// What was judged, the result with its CSS class, and the reason.
struct Judged<'a> {
    subject: &'a str,
    class: &'static str,
    result: &'static str,
    why: &'a str,
}

impl Judged<'_> {
    fn row(&self) -> Markup {
        html! {
            tr {
                th.long scope="row" { (self.subject) }
                td class={ "words " (self.class) } { (self.result) }
                td.words { (unbroken(self.why)) }
            }
        }
    }
}

fn warnings(warnings: &[WarningRecord]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            h3 { "Warnings" }
            ul {
                @for warning in WarningRecord::in_order(warnings) {
                    li { (unbroken(&warning.message)) "; " strong { (unbroken(&warning.remedy)) } }
                }
            }
        }
    }
}

/// Outcomes of operations, and the figures that every output shows.
pub(super) fn counts(record: &Record) -> Markup {
    let totals = &record.totals;
    let mut rows = vec![count_row("totals.intended".to_owned(), "due", totals.intended)];
    let unanswered = outcome_counts(totals).into_iter().skip(1).filter(|of| of.count > 0);
    rows.extend(unanswered.map(|of| count_row(format!("totals.{}", of.name), of.words, of.count)));
    rows.extend(run_figures(record).into_iter().map(|(of, figure)| Row {
        path: None,
        label: of.label.to_owned(),
        figures: vec![figure],
    }));
    let errors = totals.errors.iter().filter(|(_, it)| **it > 0);
    let errors: Vec<Row> =
        errors.map(|(name, it)| count_row(format!("totals.errors.{name}"), name, *it)).collect();
    html! {
        (section("Counts"))
        (table("Figures of the measured window.", &["figure", "value"], &rows))
        @if errors.is_empty() { p.faint { "No errors." } }
        @else { (table("Errors by class.", &["error", "count"], &errors)) }
    }
}

fn count_row(path: String, label: &str, count: u64) -> Row {
    let figures = vec![Figure::known("count", whole(count), count)];
    Row { path: Some(path), label: label.to_owned(), figures }
}

/// A row for each merged share, agent or run.
pub(super) fn shards(shards: &[ShardRecord]) -> Markup {
    let heading = ["part", "agent", "rate", "target", "CPU", "lag p99", "warnings", "believable"];
    let heading = heading.map(str::to_owned).to_vec();
    let rows = (1..).zip(shards).map(|(number, shard)| shard_row(number, shard));
    let rows: Vec<Vec<String>> = [heading].into_iter().chain(rows).collect();
    html! {
        @if !shards.is_empty() {
            (section("Parts of this run"))
            (words("The merged runs or shares.", &rows))
        }
    }
}

/// The cells of a merged record, which is a share of a run or run `number`.
fn shard_row(number: usize, shard: &ShardRecord) -> Vec<String> {
    let share = shard.share.as_ref();
    let agent = share.and_then(|share| share.agent.as_ref()).map(|agent| &agent.name);
    let name = match share {
        Some(share) => format!("share {}", share.number),
        None => format!("run {number}"),
    };
    let achieved = Some(shard.achieved()).filter(|rate| rate.per_s.is_finite());
    let busiest = shard.client.worker_busy.iter().copied().reduce(f64::max);
    vec![
        name,
        or_none(agent),
        or_none(achieved),
        or_none(shard.target()),
        or_none(busiest.map(percent)),
        or_none(shard.lag_p99_ns.map(|ns| time(ns as f64))),
        shard.warnings.len().to_string(),
        shard_verdict(shard).to_owned(),
    ]
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
