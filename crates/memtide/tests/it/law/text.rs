//! The report as text and as Markdown: every clause and every column stands in a table here, with
//! the figures of the record that it shows.

use super::shown::{Shown, numbers};
use super::truth::{Law, PERCENTILES, at};
use memtide_record::steps::Steps;
use memtide_record::{CheckResult, Distribution, Missing, Percentile, Verdict};
use serde_json::Value;

/// Clauses of labelled lines: label, shape, and the figures for the numbers in it. `WORD` is a word
/// of the plan. A condition begins with `?`: two figures are equal.
const CLAUSES: &[(&str, &str, &[&str])] = &[
    ("closed loop", "throughput is the result", &[]),
    ("closed loop", "response times are those at saturation.", &[]),
    ("closed loop", "response times are those at saturation. For response times", &[]),
    ("closed loop", "try --rate {n}", &["~"]),
    ("memtide", "WORD", &[]),
    ("memtide", "closed loop", &[]),
    ("memtide", "simulated closed loop", &[]),
    ("memtide", "open loop at {n}/s", &["plan.rate_per_s"]),
    ("memtide", "open loop at {n} keys/s", &["plan.rate_per_s"]),
    ("memtide", "open loop at {n}/s each", &["plan.rate_per_s"]),
    ("memtide", "simulated open loop at {n}/s", &["plan.rate_per_s"]),
    ("memtide", "simulated open loop at {n}/s each", &["plan.rate_per_s"]),
    ("memtide", "simulated open loop at {n} keys/s", &["plan.rate_per_s"]),
    ("memtide", "connections at {n}/s", &["plan.churn.connection_rate_per_s"]),
    ("memtide", "simulated connections at {n}/s", &["plan.churn.connection_rate_per_s"]),
    ("memtide", "WORD arrivals", &[]),
    ("memtide", "{n} calls on each", &["plan.churn.calls"]),
    ("memtide", "one after the other", &[]),
    ("memtide", "{t} measured", &["measured_s"]),
    ("memtide", "{t} measured after {t} of warm-up", &["measured_s", "plan.warmup_s"]),
    ("memtide", "ended by its operation limit", &[]),
    ("server", "WORD", &[]),
    ("server", "embedded at WORD", &[]),
    ("server", "pinned to CPU {n}", &["plan.server_cpu"]),
    ("load", "{n} worker", &["plan.workers"]),
    ("load", "{n} workers", &["plan.workers"]),
    ("load", "{n} connections", &["plan.connections"]),
    ("load", "{n} connections open at most", &["plan.connections"]),
    ("load", "one schedule", &[]),
    ("load", "depth {n}", &["plan.depth"]),
    ("load", "WORD", &[]),
    ("load", "wait WORD", &[]),
    ("load", "pinned", &[]),
    ("data", "{n} keys (WORD)", &["plan.keys"]),
    ("data", "values WORD", &[]),
    ("data", "WORD", &[]),
    ("data", "mix WORD", &[]),
    ("data", "{n} keys in each get", &["plan.multiget"]),
    ("runs", "{n} runs merged", &["=merged"]),
    ("runs", "they did not run at the same time", &[]),
    ("runs", "so each rate is a mean over the time in which at least one of them measured", &[]),
    ("runs", "start skew {t}", &["start_skew_ns"]),
    ("shares", "{n} of {n} shares merged", &["=shares", "=shares_of"]),
    ("shares", "start skew {t} (± {t})", &["start_skew_ns", "alignment.error_max_ns"]),
    ("rate", "{n}/s achieved", &["=rate"]),
    ("rate", "{n}/s achieved of {n}/s requested", &["=rate", "rate.target_per_s"]),
    ("rate", "{n} keys/s achieved of {n} keys/s requested", &["=rate", "rate.target_per_s"]),
    (
        "connects",
        "{n}/s started of {n}/s requested",
        &["churn.started_per_s", "churn.target_per_s"],
    ),
    ("operations", "{n}", &["totals.intended"]),
    ("operations", "all answered", &["?totals.answered=totals.intended"]),
    ("operations", "{n} due", &["totals.intended"]),
    ("operations", "{n} answered", &["totals.answered"]),
    ("operations", "{n} failed", &["totals.failed"]),
    ("operations", "{n} timed out", &["totals.timed_out"]),
    (
        "operations",
        "{n} timed out ({n} of them never sent)",
        &["totals.timed_out", "totals.timed_out_queued"],
    ),
    ("operations", "{n} lost", &["totals.lost"]),
    ("operations", "{n} dropped", &["totals.dropped"]),
    (
        "operations",
        "{n} dropped ({n} of them not sent before the window ended)",
        &["totals.dropped", "totals.dropped_at_end"],
    ),
    ("operations", "{n} abandoned", &["totals.abandoned"]),
    ("operations", "{n} replies came too late", &["totals.late_replies"]),
    ("keys", "{n} read", &["totals.keys"]),
    ("keys", "{n} hits ({p})", &["totals.hits", "=hit_ratio"]),
    ("keys", "{n} misses", &["totals.misses"]),
    ("keys", "values of {b}", &["=value_bytes"]),
    ("reconnects", "{n} opened", &["totals.connections.opened"]),
    ("reconnects", "{n} failed", &["totals.connections.failed"]),
    ("reconnects", "{n} lost", &["totals.connections.lost"]),
    ("bytes", "{b} sent", &["totals.bytes_sent"]),
    ("bytes", "{b} received", &["totals.bytes_received"]),
    ("client", "{t} of CPU ({n} user", &["=cpu", "client.cpu_user_s"]),
    ("client", "{n} system)", &["client.cpu_system_s"]),
    ("client", "{n} operations per CPU-second", &["=per_cpu_s"]),
    ("client", "{b} of memory", &["client.rss_max_bytes"]),
    ("workers", "busy {p} of the time", &["=busy_max"]),
    ("workers", "busy {p} to {p} of the time", &["=busy_min", "=busy_max"]),
    ("machine", "CPUs {p} busy (idlest {p}", &["machine_cpu.avg", "machine_cpu.min"]),
    ("machine", "busiest {p})", &["machine_cpu.max"]),
    ("stats", "server found {p} of the keys", &["=server_hits"]),
    ("stats", "server took {t} of CPU per million operations", &["=server_cpu"]),
    ("stats", "took {t} of CPU per million operations", &["=server_cpu"]),
    ("stats", "server held {n} items ({b})", &["=server_items", "=server_bytes"]),
    ("stats", "held {n} items ({b})", &["=server_items", "=server_bytes"]),
    ("stats", "{n} of {n} stats requests failed", &["=server_silent", "=server_asked"]),
    ("churn", "{n} connections", &["churn.measure.intended"]),
    ("churn", "all completed", &["?churn.measure.completed=churn.measure.intended"]),
    ("churn", "at most {n} open at once", &["churn.concurrent_max"]),
    ("—", "too few operations for this percentile", &[]),
    ("—", "p99 needs {n}", &["#368"]),
    ("—", "p99.9 needs {n}", &["#3688"]),
    ("—", "p99.99 needs {n}", &["#36887"]),
    (">", "falls among {n} operations that were not answered", &["=unanswered"]),
    (">", "means exclude them", &[]),
    ("summary", "{n}/s", &["=rate"]),
    ("summary", "{n}/s of {n}/s requested", &["=rate", "rate.target_per_s"]),
    ("summary", "{n} keys/s of {n} keys/s requested", &["=rate", "rate.target_per_s"]),
    ("summary", "{n} connections to {n} server", &["plan.connections", "=servers"]),
    ("summary", "memtide WORD", &[]),
];

/// Rows of the table of times, by their labels; other labels are kinds and servers.
const ROWS: &[(&str, &str)] = &[
    ("service", "service.all"),
    ("lag", "lag.all"),
    ("· generator", "lag_split.generator"),
    ("· client busy", "lag_split.client_busy"),
    ("· server", "lag_split.server"),
    ("· disconnected", "lag_split.disconnected"),
    ("client delay", "client_delay"),
    ("connect", "churn.connect"),
    ("· connecting", "churn.connect_service"),
    ("lifetime", "churn.lifetime"),
];

/// Columns of the table of agents, with their figures in a shard.
const AGENTS: &[(&str, &[&str])] = &[
    ("agent", &[]),
    ("share", &["share.number"]),
    ("lanes", &["lanes.first"]),
    ("CPU", &["=busy"]),
    ("lag p99", &["lag_p99_ns"]),
    ("began late", &["share.agent.began_late_ns"]),
    ("master ahead", &["clock.reference.ahead_ns", "clock.reference.error_max_ns"]),
    ("believable", &[]),
];

/// Columns of the table of steps.
const STEPS: [(&str, &str); 10] = [
    ("step", "number"),
    ("target", "rate_per_s"),
    ("achieved", "achieved_per_s"),
    ("p50", "record.response.all.p50_ns"),
    ("p95", "record.response.all.p95_ns"),
    ("p99", "record.response.all.p99_ns"),
    ("service p99", "record.service.all.p99_ns"),
    ("lag p99", "record.lag.all.p99_ns"),
    ("goal", ""),
    ("believable", ""),
];

/// Holds numbers against figures.
fn hold(law: &mut Law<'_>, what: &str, shown: &[Shown], truths: &[Option<f64>]) {
    let is_so = |(shown, truth): (&Shown, &Option<f64>)| truth.is_some_and(|truth| shown.is(truth));
    let all = shown.len() == truths.len() && shown.iter().zip(truths).all(is_so);
    law.holds(all, || format!("'{what}' shows {shown:?}, the record has {truths:?}"));
}

/// Holds a labelled line, clause by clause.
fn line(law: &mut Law<'_>, label: &str, sentence: &str) {
    for clause in sentence.split(", ").flat_map(|it| it.split("; ")).flat_map(|it| it.split(": ")) {
        let (shape, shown) = numbers(clause);
        if let ("replies" | "errors" | "causes", [count]) = (label, &shown[..]) {
            let name = shape.trim_end_matches(" {n}");
            let part = if label == "causes" { "churn.measure" } else { "totals" };
            hold(law, clause, &[*count], &[law.truth(&format!("{part}.{label}.{name}"))]);
            continue;
        }
        let label = if label.starts_with('>') { ">" } else { label };
        let known = CLAUSES.iter().find(|(of, known, _)| *of == label && *known == shape);
        let Some((.., paths)) = known else {
            law.wrong.push(format!("no table has '{shape}' of '{label}'"));
            continue;
        };
        let (conditions, paths): (Vec<&str>, Vec<&str>) =
            paths.iter().partition(|path| path.starts_with('?'));
        for condition in conditions {
            let (one, other) = condition[1..].split_once('=').unwrap();
            law.holds(law.truth(one) == law.truth(other), || format!("not {condition}"));
        }
        if paths == ["~"] {
            let advice = 0.7 * law.record.rate.in_schedule_unit();
            law.near("advice", shown[0].value, advice, 0.05 * advice);
            continue;
        }
        let truths: Vec<Option<f64>> = paths.iter().map(|path| law.truth(path)).collect();
        hold(law, clause, &shown, &truths);
    }
}

/// Holds a line that repeats a sentence of the record.
fn sentence(law: &mut Law<'_>, label: &str, text: &str) -> bool {
    let record = law.record;
    let skipped = |message: &String| text.ends_with(message.as_str());
    let checks = || record.believable.checks.iter();
    let told: Vec<String> = match label {
        "goal" => record
            .goals
            .iter()
            .map(|goal| format!("{}: {:?}, {}", goal.goal, goal.result, goal.why))
            .map(|text| text.replace("Met", "met").replace("Missed", "missed"))
            .map(|text| text.replace("Undecided", "undecided"))
            .collect(),
        "warning" => {
            record.warnings.iter().map(|it| format!("{}; {}", it.message, it.remedy)).collect()
        }
        "note" => checks()
            .filter(|check| check.result == CheckResult::Skipped && skipped(&check.message))
            .map(|_| text.to_owned())
            .collect(),
        "believable" if record.believable.verdict == Verdict::Yes => vec!["yes".to_owned()],
        "believable" => {
            let why: Vec<&str> = record.believable.reasons.iter().map(|it| &*it.message).collect();
            vec![
                format!("no — {}", why.join("; ")),
                format!("only for the shares that were merged: {}", why.join("; ")),
            ]
        }
        "partial" => record.believable.reasons.iter().map(|it| it.message.clone()).collect(),
        "" => record
            .shards
            .iter()
            .flat_map(|shard| &shard.believable.reasons)
            .filter(|it| text.ends_with(&it.message))
            .map(|_| text.to_owned())
            .collect(),
        _ => return false,
    };
    law.holds(told.iter().any(|told| told == text), || {
        format!("{label}: '{text}' is not {told:?}")
    });
    true
}

/// The text with the plan's own words, and all names, as `WORD`.
fn anonymous(law: &Law<'_>, text: &str) -> String {
    let plan = &law.record.plan;
    let mut words = vec![&law.record.machine.memtide_version, &plan.arrival, &plan.io, &plan.wait];
    words.extend([&plan.key_size, &plan.value_size, &plan.popularity, &plan.mix]);
    words.extend(
        plan.servers.iter().flat_map(|server| [&server.name].into_iter().chain(&server.addresses)),
    );
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut text = text.to_owned();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        text = text.replace(word.as_str(), "WORD");
    }
    text
}

/// Holds a cell of times: the figure, a bound, or a dash with a reason.
fn time(law: &mut Law<'_>, (row, column, cell): (&str, &str, &str), times: &Distribution) {
    let percentile = Percentile::ALL.into_iter().find(|it| it.to_string() == column);
    let (figure, bound, reason) = match percentile {
        Some(it) => (
            times.percentile(it).map(|ns| ns as f64),
            times.percentile_at_least(it).map(|ns| ns as f64),
            times.missing.get(&it).cloned(),
        ),
        None if column == "mean" => (times.mean_ns, None, None),
        None => {
            let bound = times.max_at_least().map(|ns| ns as f64);
            let lost = (times.unanswered > 0).then_some(Missing::Unanswered);
            (times.max_ns.map(|ns| ns as f64).filter(|_| lost.is_none()), bound, lost)
        }
    };
    let (shape, shown) = numbers(cell);
    let is_so = match (&*shape, figure, bound) {
        ("{t}", Some(truth), _) => shown[0].is(truth),
        ("> {t}", None, Some(truth)) => shown[0].is(truth),
        ("> ?", None, None) => reason == Some(Missing::Unanswered),
        ("—", None, None) => {
            times.count == times.unanswered || reason.is_some_and(|it| it != Missing::Unanswered)
        }
        _ => false,
    };
    law.holds(is_so, || format!("{row} {column} is '{cell}', not {figure:?} or > {bound:?}"));
}

/// Holds a table of times.
fn times(law: &mut Law<'_>, heading: &[String], row: &[String]) {
    let label = row[0].replace('\\', "");
    let path = match ROWS.iter().find(|(known, _)| *known == label) {
        Some((_, path)) => (*path).to_owned(),
        None if heading[0] == "server" => {
            let number = law.record.servers.iter().position(|server| server.name == label);
            format!("servers.{}.response", number.unwrap_or(usize::MAX))
        }
        None => format!("response.{label}"),
    };
    let found = at(law.json, &path).and_then(|it| serde_json::from_value(it.clone()).ok());
    let Some(distribution): Option<Distribution> = found else {
        return law.wrong.push(format!("no table has the row '{label}'"));
    };
    let is_counted = path.starts_with("response") || heading[0] == "server";
    for (column, cell) in heading.iter().zip(row).skip(1) {
        let kind = path.trim_start_matches("response.");
        let truth = match &**column {
            "count" => law.truth(&format!("{path}.count")),
            "answered" => {
                law.truth(&format!("{}.totals.answered", path.trim_end_matches(".response")))
            }
            "rate" if heading[0] == "server" => {
                law.truth(&format!("{}.rate_per_s", path.trim_end_matches(".response")))
            }
            "rate" if kind == "all" => law.truth("rate.achieved_per_s"),
            "rate" => law.truth(&format!("rate.kinds_per_s.{kind}")),
            "mean" | "max" => {
                time(law, (&label, column, cell), &distribution);
                continue;
            }
            _ if PERCENTILES.iter().any(|(_, word, ..)| word == column) => {
                time(law, (&label, column, cell), &distribution);
                continue;
            }
            _ => return law.wrong.push(format!("no table has the column '{column}'")),
        };
        let (_, shown) = numbers(cell);
        let truth = truth.filter(|_| is_counted);
        match (truth, cell.is_empty()) {
            (None, true) => {}
            _ => hold(law, &format!("{label} {column}"), &shown, &[truth]),
        }
    }
}

/// Holds the row of an agent.
fn agent(law: &mut Law<'_>, heading: &[String], row: &[String]) {
    let empty = Vec::new();
    let shards = law.json["shards"].as_array().unwrap_or(&empty);
    let name =
        |shard: &Value| at(shard, "share.agent.name").and_then(Value::as_str) == Some(&row[0]);
    let Some(shard) = shards.iter().find(|shard| name(shard)) else {
        return law.wrong.push(format!("no agent is named '{}'", row[0]));
    };
    for (column, cell) in heading.iter().zip(row) {
        let Some((_, paths)) = AGENTS.iter().find(|(known, _)| known == column) else {
            return law.wrong.push(format!("no table has the column '{column}'"));
        };
        let (_, shown) = numbers(cell);
        let busiest = || {
            let busy =
                at(shard, "client.worker_busy")?.as_array()?.iter().filter_map(Value::as_f64);
            busy.reduce(f64::max)
        };
        let truths: Vec<Option<f64>> = paths
            .iter()
            .map(|path| if *path == "=busy" { busiest() } else { at(shard, path)?.as_f64() })
            .collect();
        if cell != "—" {
            hold(
                law,
                &format!("{} {column}", row[0]),
                &shown[..shown.len().min(truths.len())],
                &truths,
            );
        }
    }
}

/// Holds the row of a step.
fn step(wrong: &mut Vec<String>, heading: &[String], row: &[String], steps: &Value) {
    let number = row[0].parse::<usize>().unwrap_or(0);
    let Some(step) = number.checked_sub(1).and_then(|number| steps["steps"].get(number)) else {
        return wrong.push(format!("no step is {}", row[0]));
    };
    for (column, cell) in heading.iter().zip(row) {
        let Some((_, path)) = STEPS.iter().find(|(known, _)| known == column) else {
            return wrong.push(format!("no table has the column '{column}'"));
        };
        let truth = at(step, path).and_then(Value::as_f64);
        let (_, shown) = numbers(cell);
        let is_so = match (&shown[..], truth) {
            ([shown], Some(truth)) => shown.is(truth),
            ([], None) => ["—", "peak", "all"].contains(&cell.as_str()) || path.is_empty(),
            _ => false,
        };
        if !is_so {
            wrong.push(format!("{column} of step {number} is '{cell}', not {truth:?}"));
        }
    }
}

/// Lines of a text: those that continue a line are joined to it, rows of tables are cells.
enum Line {
    Labelled(String, String),
    Cells(Vec<String>, Vec<String>),
}

/// Beginnings of tables' headings.
const HEADINGS: [&str; 4] = ["response ", "server   ", "agent ", "step "];

fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut heading: Option<(Vec<String>, Vec<usize>)> = None;
    for line in text.lines() {
        let is_heading = HEADINGS.iter().any(|begin| line.trim_start().starts_with(begin))
            && line.contains("p99");
        if is_heading {
            let (names, ends) = columns(line);
            heading = Some((names, ends));
            continue;
        }
        if line.is_empty() || line.starts_with("—") || line.starts_with('>') {
            heading = None;
        }
        if line.is_empty() {
            continue;
        }
        if let Some((names, ends)) = &heading {
            lines.push(Line::Cells(names.clone(), cells(line, ends)));
            continue;
        }
        let sentence =
            ["closed loop: ", "partial: ", "goal: ", "note: ", "warning: ", "believable: "]
                .into_iter()
                .chain(["doubt: ", "lost: ", "result: "])
                .find_map(|begin| Some((begin.trim_end_matches(": "), line.strip_prefix(begin)?)));
        let padded = line.chars().take(11).collect::<String>();
        let rest = line.chars().skip(11).collect::<String>();
        match (sentence, lines.last_mut()) {
            (Some((label, rest)), _) => {
                lines.push(Line::Labelled(label.to_owned(), rest.to_owned()))
            }
            (None, Some(Line::Labelled(_, last)))
                if line.starts_with(' ') && !line.contains("agent ") =>
            {
                *last = format!("{last} {}", line.trim());
            }
            _ => lines.push(Line::Labelled(padded.trim().to_owned(), rest)),
        }
    }
    lines
}

/// The names of columns, and the place at which each ends, in characters.
fn columns(heading: &str) -> (Vec<String>, Vec<usize>) {
    let (mut names, mut ends): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    let letters: Vec<char> = heading.chars().collect();
    for name in heading.split("  ").map(str::trim).filter(|name| !name.is_empty()) {
        let from = ends.last().copied().unwrap_or(0);
        let length = name.chars().count();
        let begins = (from..letters.len())
            .find(|at| letters[*at..].starts_with(&name.chars().collect::<Vec<_>>()));
        ends.push(begins.unwrap() + length);
        names.push(name.to_owned());
    }
    (names, ends)
}

/// The cells of a row: the label, then what ends where the headings end.
fn cells(row: &str, ends: &[usize]) -> Vec<String> {
    let indent = row.len() - row.trim_start().len();
    let label = row.trim_start().split("  ").next().unwrap();
    let mut from = indent + label.chars().count();
    let mut cells = vec![label.to_owned()];
    for end in &ends[1..] {
        let cell: String = row.chars().skip(from).take(end.saturating_sub(from)).collect();
        cells.push(cell.trim().to_owned());
        from = from.max(*end);
    }
    cells
}

/// Begins the part of a text about the master's own load.
const OWN: &str = "load of the master itself, beside the agents' load";

/// Holds what is said of the master's own load by `of`.
fn own(law: &mut Law<'_>, of: impl FnOnce(&mut Law<'_>)) {
    let Some(record) = law.record.own.as_deref() else {
        return law.wrong.push("the record has no load of the master".to_owned());
    };
    let mut own = Law::new(record, &law.json["own"]);
    of(&mut own);
    law.wrong.extend(own.wrong.into_iter().map(|why| format!("own load: {why}")));
}

/// Holds a report.
pub(super) fn text(law: &mut Law<'_>, text: &str) {
    let (text, of_master) = text.split_once(OWN).unwrap_or((text, ""));
    if !of_master.is_empty() {
        own(law, |law| self::text(law, of_master.trim_start_matches(':')));
    }
    for line in lines(text) {
        match line {
            Line::Labelled(label, rest) => labelled(law, &label, &rest),
            Line::Cells(heading, row) if heading[0] == "agent" => agent(law, &heading, &row),
            Line::Cells(heading, row) => times(law, &heading, &row),
        }
    }
}

/// Holds a labelled line, or a sentence.
pub(super) fn labelled(law: &mut Law<'_>, label: &str, rest: &str) {
    if !sentence(law, label, rest) {
        let rest = anonymous(law, rest);
        line(law, label, &rest);
    }
}

/// Holds the text of a search or scan.
pub(super) fn steps_text(steps: &Steps, json: &Value, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in lines(text) {
        match line {
            Line::Cells(heading, row) => step(&mut wrong, &heading, &row, json),
            Line::Labelled(label, rest) => conclusion(&mut wrong, (&label, &rest), steps),
        }
    }
    wrong
}

/// Holds a sentence below the steps.
fn conclusion(wrong: &mut Vec<String>, (label, text): (&str, &str), steps: &Steps) {
    let records = || steps.steps.iter().map(|step| &step.record);
    let is_so = match label {
        "result" => {
            let answer = steps.conclusion.answer.as_ref();
            let known = answer.map_or(Vec::new(), |it| vec![it.rate_per_s, it.missed_per_s]);
            let goals = steps.goals.join(" and ");
            let (_, shown) = numbers(&text.replace(&goals, "GOALS"));
            let met = answer.map_or((0, 0), |it| (it.met, it.met + it.missed));
            let others = [Some(f64::from(met.0)), Some(f64::from(met.1))];
            text.contains(&goals)
                && !shown.is_empty()
                && shown
                    .iter()
                    .all(|shown| known.iter().chain(&others).flatten().any(|it| shown.is(*it)))
        }
        "warning" => records()
            .flat_map(|it| &it.warnings)
            .any(|it| text.ends_with(&format!("{}; {}", it.message, it.remedy))),
        "doubt" => {
            records().flat_map(|it| &it.believable.reasons).any(|it| text.contains(&it.message))
        }
        "partial" => text.contains("--steps-max") || text.contains("so far"),
        "lost" => steps.conclusion.lost.iter().any(|lost| lost.sentence() == text),
        _ => false,
    };
    if !is_so {
        wrong.push(format!("{label}: '{text}' is not said by the steps"));
    }
}

/// Holds the Markdown of a run.
pub(super) fn markdown(law: &mut Law<'_>, text: &str) {
    let (shown, scenario) = text.split_once("<details>").unwrap_or((text, ""));
    let file = memtide_scenario::scenario_file(&law.record.scenario);
    law.holds(scenario.contains(&format!("```toml\n{file}```")), || "another scenario".to_owned());
    let (shown, of_master) = shown.split_once(&format!("**{OWN}:** ")).unwrap_or((shown, ""));
    if !of_master.is_empty() {
        own(law, |law| rows(law, of_master));
    }
    rows(law, shown);
}

/// Holds the lines of a text in Markdown.
fn rows(law: &mut Law<'_>, text: &str) {
    let mut heading: Option<Vec<String>> = None;
    for line in text.lines().map(plain).filter(|line| !line.is_empty()) {
        if let Some(row) = line.strip_prefix("| ") {
            let row: Vec<String> =
                format!("{row} ").split(" | ").map(|it| it.trim().to_owned()).collect();
            match &heading {
                _ if row[0] == "---" => {}
                None => heading = Some(row),
                Some(names) if names[0] == "goal" => {
                    labelled(law, "goal", &format!("{}: {}, {}", row[0], row[1], row[2]));
                }
                Some(names) => times(law, &names.clone(), &row),
            }
            continue;
        }
        heading = None;
        let marked = line.trim_start_matches(['✅', '⚠', '\u{fe0f}', ' ', '-']);
        match marked.strip_prefix("**").and_then(|it| it.split_once(":** ")) {
            Some(("not answered", rest)) => self::line(law, "operations", rest),
            Some((label, rest)) => labelled(law, label, rest),
            None => match line.strip_prefix("### memtide: ") {
                Some(what) => labelled(law, "memtide", what),
                None => labelled(law, "summary", &line),
            },
        }
    }
}

/// Holds the Markdown of a search or scan.
pub(super) fn steps_markdown(steps: &Steps, json: &Value, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let shown = text.split("<details>").next().unwrap();
    for line in shown.lines().map(plain).filter(|line| !line.is_empty()) {
        if let Some(row) = line.strip_prefix("| ") {
            let row: Vec<String> =
                format!("{row} ").split(" | ").map(|it| it.trim().to_owned()).collect();
            if row[0] != "---" && row[0] != "step" {
                step(&mut wrong, &STEPS.map(|it| it.0.to_owned()), &row, json);
            }
            continue;
        }
        match line.strip_prefix("**").and_then(|it| it.split_once(":** ")) {
            Some(("goals", goals)) if goals.replace('`', "") == steps.goals.join(", ") => {}
            Some((label, rest)) => conclusion(&mut wrong, (label, rest), steps),
            None => {
                let (_, shown) = numbers(&line);
                if !shown.first().is_some_and(|shown| shown.is(steps.steps.len() as f64)) {
                    wrong.push(format!("no table has '{line}'"));
                }
            }
        }
    }
    wrong
}

/// Holds the table of steps on a page.
pub(super) fn steps_cells(json: &Value, page: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let table = page.split("All steps, in order.</caption>").nth(1).unwrap_or("");
    let rows = table.split("</table>").next().unwrap().split("<tr>").skip(2);
    for row in rows {
        let cells: Vec<String> = row
            .split('>')
            .filter_map(|it| it.split_once('<'))
            .map(|it| it.0.to_owned())
            .filter(|it| !it.is_empty())
            .collect();
        step(&mut wrong, &STEPS.map(|it| it.0.to_owned()), &cells, json);
    }
    wrong
}

/// A line without escapes.
fn plain(line: &str) -> String {
    line.replace('\\', "").replace("&lt;", "<").replace("&amp;", "&")
}
