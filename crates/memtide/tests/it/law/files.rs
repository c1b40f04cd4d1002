//! Files at the end of a run: the table of percentiles, test cases, the page, and a comparison of
//! the record with itself.

use super::shown::numbers;
use super::text::{self, labelled};
use super::truth::{BUCKET, Law, PERCENTILES, at, decoded, field, fields, ranked};
use memtide_base::Rate;
use memtide_record::compare::{Comparison, FigureRow, Unit};
use memtide_record::steps::CourseKind;
use memtide_record::{CheckResult, GoalResult};
use memtide_scenario::Kind;
use serde_json::Value;
use std::collections::BTreeSet;

/// Holds the table of percentiles of a run; only the master's if it measured beside agents.
pub(super) fn hgrm(law: &mut Law<'_>, text: &str) {
    let response = &law.record.judged().response[&Kind::All];
    let buckets = response.histogram.as_deref().and_then(decoded).unwrap_or_default();
    let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / 1e6;
    let (mean, max) = (ms(response.mean_ns), ms(response.max_ns.map(|ns| ns as f64)));
    let is_whole = response.unanswered == 0;
    law.holds(is_whole == text.contains("#[Mean"), || "a mean without all operations".to_owned());
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let words = line.split(|it: char| !(it.is_ascii_digit() || it == '.'));
        let found: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let rows = |level: f64| {
            let ns = ranked(&buckets, response.unanswered, level).map(|ns| ns as f64);
            // The last bucket counts in full; the rest, up to and with the one of the value.
            let below =
                buckets.iter().filter(|it| Some(*it.0 as f64) <= ns).map(|it| *it.1).sum::<u64>();
            vec![ms(ns), level, below as f64, 1.0 / (1.0 - level)]
        };
        let truths = match line.split(' ').next() {
            Some("#[Mean") if is_whole => vec![mean, ms(response.stddev_ns)],
            Some("#[Max") if is_whole => vec![max, response.count as f64],
            Some("#[Unanswered") if !is_whole => {
                vec![response.unanswered as f64, response.count as f64]
            }
            Some("#[Buckets") => vec![35.0, 256.0],
            Some("#[Load") if law.record.own.is_some() => continue,
            _ if found.len() >= 3 => rows(found[1]),
            _ => Vec::new(),
        };
        let near = |(found, truth): (&f64, &f64)| {
            (found - truth).abs() <= BUCKET * truth.min(1e9) + 0.006 || (found == truth)
        };
        let is_so = found.len() >= truths.len().clamp(1, 3) && found.iter().zip(&truths).all(near);
        law.holds(is_so && !truths.is_empty(), || format!("'{line}' of hgrm is not {truths:?}"));
    }
}

/// The pieces of a text between two signs.
pub(super) fn between(text: &str, from: &str, to: &str) -> Vec<String> {
    text.split(from).skip(1).map(|part| part.split(to).next().unwrap().to_owned()).collect()
}

pub(super) fn attribute(text: &str, name: &str) -> Option<String> {
    between(text, &format!(" {name}=\""), "\"").first().map(|it| unescaped(it))
}

fn unescaped(text: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    // A page holds numbers together by no-break spaces.
    let signs = signs.into_iter().chain([("\u{a0}", " ")]);
    signs.fold(text.to_owned(), |text, (sign, letter)| text.replace(sign, letter))
}

/// The words of a piece of a page.
pub(super) fn inner(text: &str) -> String {
    unescaped(&between(&format!(">{text}"), ">", "<").concat())
}

/// Holds the suite of a run in a file of test cases.
pub(super) fn junit(law: &mut Law<'_>, text: &str) {
    suite(law, text, None);
}

/// Holds the suite of a step at this rate, of a search or a scan.
pub(super) fn junit_of_step(law: &mut Law<'_>, text: &str, (rate, kind): (Rate, CourseKind)) {
    suite(law, text, Some((rate.per_s, kind)));
}

fn suite(law: &mut Law<'_>, text: &str, step: Option<(f64, CourseKind)>) {
    let record = law.record;
    let cases: Vec<&str> = text.split("<testcase").skip(1).collect();
    let having = |sign: &str| cases.iter().filter(|case| case.contains(sign)).count();
    let counts = [cases.len(), having("<failure"), 0, having("<skipped")];
    for head in text.lines().filter(|line| line.contains("<testsuite")) {
        let told = ["tests", "failures", "errors", "skipped"].map(|name| attribute(head, name));
        law.holds(told == counts.map(|it| Some(it.to_string())), || {
            format!("{told:?}, not {counts:?}")
        });
        let time = attribute(head, "time").and_then(|time| time.parse().ok()).unwrap_or(f64::NAN);
        law.near("time", time, record.measured_s, 0.0006);
        let name = attribute(head, "name").unwrap_or_default();
        match (name.strip_prefix("memtide: "), name.split_once(" at ")) {
            (Some(what), Some((_, rate)))
                if what.trim_start_matches("simulated ").starts_with("step ") =>
            {
                let is_so = step.is_some_and(|(truth, _)| numbers(rate).1[0].is(truth));
                law.holds(is_so, || format!("{name}, not {step:?}"));
            }
            (Some(what), _) => {
                let whose = [", the agents' load", ", the master's own load"];
                let what = whose.iter().find_map(|it| what.strip_suffix(it)).unwrap_or(what);
                labelled(law, "memtide", what);
            }
            (None, _) => law.holds(name == "memtide", || name.clone()),
        }
    }
    properties(law, text);
    let times = cases.iter().filter_map(|case| attribute(case, "time")?.parse::<f64>().ok());
    law.near("times of cases", times.sum(), record.measured_s, 0.0006);
    let reasons = text::reasons(record);
    let is_search = step.is_some_and(|(_, kind)| kind == CourseKind::Search);
    let mut named = Vec::new();
    for case in cases {
        let [class, name] = ["classname", "name"].map(|it| attribute(case, it).unwrap_or_default());
        let told = attribute(case.split_once('>').map_or("", |it| it.1), "message");
        let goal = record.goals.iter().find(|goal| goal.goal == name);
        // A search fails no case, and a verdict only a strict run.
        let is_failure = case.contains("<failure");
        let may_fail = !is_search && (goal.is_some() || record.is_strict());
        law.holds(!is_failure || may_fail, || format!("the case {class} {name} fails"));
        let is_so = match (&*class, told.as_deref()) {
            ("memtide.goal", told) => goal.is_some_and(|it| {
                let is_met = it.result == GoalResult::Met;
                told.is_none() == is_met
                    && told.is_none_or(|told| told.ends_with(&it.why) && is_failure != is_search)
            }),
            ("memtide.verdict", None) => record.stands(),
            ("memtide.verdict", Some(told))
                if record.slicing.is_some() && !text::spoiled(record) =>
            {
                told.contains(&text::verdict(record)) && told.ends_with(&reasons.join("; "))
            }
            ("memtide.verdict", Some(told)) => told.ends_with(&reasons.join("; ")),
            ("memtide.errors", None) if name == "wrong_values" => true,
            ("memtide.errors", told) => {
                let count = law.truth(&format!("totals.{name}")).unwrap_or(f64::NAN);
                let (_, shown) = numbers(told.unwrap_or("0, 0 %"));
                shown[0].is(count) && shown[1].is(count / record.totals.intended.max(1) as f64)
            }
            _ => false,
        };
        law.holds(is_so, || format!("the case {class} {name}: {told:?}"));
        named.push(name);
    }
    let all = ["believable", "failed", "timed_out", "lost", "dropped", "abandoned", "wrong_values"];
    let is_there = |name: &&str| named.iter().any(|known| known == name);
    law.holds(all.iter().all(is_there), || format!("cases are missing: {named:?}"));
}

/// Holds the properties of a suite of test cases.
fn properties(law: &mut Law<'_>, text: &str) {
    for property in text.split("<property").skip(1) {
        let [name, value] = ["name", "value"].map(|it| attribute(property, it).unwrap_or_default());
        let path = field("figures", &name).unwrap_or_default();
        let size = if path.ends_with("_cpu") && path.starts_with('=') { 1e9 } else { 1.0 };
        let found = value.parse().unwrap_or(f64::NAN) * size;
        law.near(&name, found, law.truth(path).unwrap_or(f64::NAN), 1e-6 * found);
    }
}

/// The heading of the master's own load.
const OWN_SECTION: &str = ">Load of the master itself, beside the agents' load</h2>";

/// Holds each figure in the tables of a page; those after the master's heading are of its own load.
pub(super) fn figures(law: &mut Law<'_>, page: &str) {
    let (page, own) = page.split_once(OWN_SECTION).unwrap_or((page, ""));
    let (own, rest) = own.split_once(COUNTS).unwrap_or((own, ""));
    law.own(own, |law| figures(law, own));
    words_of(law, page);
    for row in
        page.split("<tr data-figures=\"").skip(1).chain(rest.split("<tr data-figures=\"").skip(1))
    {
        let (path, rest) = row.split_once('"').unwrap();
        for cell in between(rest.split("</tr>").next().unwrap(), " data-name=\"", "</td>") {
            let (name, rest) = cell.split_once('"').unwrap();
            figure(law, (path, name), rest, &inner(rest.split_once('>').unwrap().1));
        }
    }
}

/// The heading of the counts, behind all loads.
const COUNTS: &str = ">Counts</h2>";

/// The rows of a table of a page by its caption, or by the beginning of its heading: the words of
/// their cells.
fn rows_of(page: &str, sign: &str) -> Vec<Vec<String>> {
    let table = page.split(sign).nth(1).unwrap_or("").split("</table>").next().unwrap();
    let cells = |row: &str| -> Vec<String> {
        // A cell begins with its tag.
        let cells = row.replace("<th", "\0<th").replace("<td", "\0<td");
        cells.split('\0').skip(1).map(|cell| inner(cell.split_once('>').unwrap().1)).collect()
    };
    table.split("<tr").skip(1).map(cells).collect()
}

/// Holds the words of a load's tables: grades and shares of the answer, goals, checks, verdict.
fn words_of(law: &mut Law<'_>, page: &str) {
    let record = law.record;
    let heading = ["figure", "memtide", "believable"].map(str::to_owned);
    for row in rows_of(page, ">95 % interval<").iter().filter(|row| row.len() == 5) {
        text::answer(law, &heading, &[&row[..1], &row[3..]].concat());
    }
    let goals = record.goals.iter().map(|it| {
        [it.goal.clone(), format!("{:?}", it.result).to_lowercase(), it.why.clone()].to_vec()
    });
    let is_run = page.contains("Checks of the verdict");
    let goals: Vec<Vec<String>> = goals.collect();
    let found = rows_of(page, "<caption>Goals</caption>");
    law.holds(!is_run || found.iter().skip(1).eq(&goals), || format!("goals {found:?}"));
    let checks = record.believable.checks.iter().map(|it| {
        let result = match it.result {
            CheckResult::Passed => "passed",
            CheckResult::Failed => "failed",
            CheckResult::Skipped => "skipped",
        };
        [result.to_owned(), it.message.clone()].to_vec()
    });
    let found = rows_of(page, "<caption>Checks of the verdict</caption>");
    let is_so = found.iter().skip(1).map(|row| row[1..].to_vec()).eq(checks);
    law.holds(!is_run || is_so, || format!("checks {found:?}"));
    for verdict in between(page, "<strong>believable: </strong>", "</p>").iter().take(1) {
        labelled(law, "believable", &inner(verdict));
    }
}

/// Holds a cell of a page: the exact figure and the words.
fn figure(law: &mut Law<'_>, (path, name): (&str, &str), cell: &str, words: &str) {
    let place = match (path.strip_prefix("response."), path.split_once('.').map(|it| it.0), name) {
        (Some("all"), _, "per_s") => "rate.achieved_per_s".to_owned(),
        (Some(kind), _, "per_s") => format!("rate.kinds_per_s.{kind}"),
        (_, Some("totals"), _) => path.to_owned(),
        (_, Some("servers"), "per_s") => format!("{path}.rate_per_s"),
        (_, Some("servers"), _) => format!("{path}.response.{name}"),
        _ => format!("{path}.{name}"),
    };
    let of = if path.starts_with("servers") { format!("{path}.response") } else { path.to_owned() };
    let is_lost = at(law.json, &of).is_some_and(|it| it["unanswered"].as_u64() > Some(0));
    let truth = at(law.json, &place).and_then(Value::as_f64);
    let exact = between(cell, "<data value=\"", "\"").first().and_then(|it| it.parse().ok());
    let is_shown =
        truth.is_none_or(|truth| numbers(words).1.first().is_some_and(|it| it.is(truth)));
    // A bound of unanswered operations is its own reason.
    let is_bound = is_lost && (words.starts_with("> ") || words.starts_with("≥ "));
    let is_reasoned =
        truth.is_some() || cell.contains("title=") || is_bound || ["", "—"].contains(&words);
    let is_so = exact == truth && is_shown && is_reasoned;
    law.holds(is_so, || format!("{place} is '{words}' ({exact:?}) on the page, not {truth:?}"));
}

/// Holds the tables and sentences of the page of a run.
pub(super) fn html(law: &mut Law<'_>, page: &str) {
    let record = law.record;
    figures(law, page);
    for fact in between(page, "<dt>", "</dd>") {
        let (name, fact) = fact.split_once("</dt><dd>").unwrap();
        let (fact, machine) = (unescaped(fact), &record.machine);
        let began = || memtide_base::calendar::utc(record.started_unix_ms / 1000);
        let is_so = match (name, field("facts", name)) {
            (_, Some(path)) => {
                let truth = law.truth(path);
                let shown = numbers(&fact).1.first().copied();
                truth.is_none() == (fact == "—")
                    && shown.is_none_or(|it| truth.is_some_and(|truth| it.is(truth)))
            }
            ("machine", _) => fact.contains(&format!("{} CPUs", machine.cpus_allowed)),
            ("memtide", _) => fact == machine.memtide_version,
            ("began", _) => fact == began(),
            ("tags", _) => {
                record.tags.iter().all(|(key, value)| fact.contains(&format!("{key}={value}")))
            }
            (name, _) => {
                labelled(law, if name == "window" { "memtide" } else { name }, &fact);
                true
            }
        };
        law.holds(is_so, || format!("{name} is '{fact}' on the page"));
    }
    let parts = rows_of(page, "<caption>The merged runs or shares.</caption>");
    for (number, row) in parts.iter().enumerate().skip(1) {
        text::cells_of(law, "parts", (&parts[0], row), &law.json["shards"][number - 1].clone());
    }
    let is_so = parts.len().saturating_sub(1) == record.shards.len();
    law.holds(is_so, || format!("{} parts on the page", parts.len()));
    for row in rows_of(page, "<caption>Figures of the measured window.</caption>").iter().skip(1) {
        if let Some(path) = field("figures", &row[0]) {
            let truth = law.truth(path);
            text::shown(law, &row.join(": "), &row[1], truth.as_slice());
        }
    }
    for served in between(page, "<li><strong>", "</li>") {
        let (name, told) = served.split_once("</strong> ").unwrap_or((&served, ""));
        let name = unescaped(name);
        if record.server.during.contains_key(&name) {
            // Restarts and reasons are held by the tests of servers that are lost.
            let told = unescaped(told.split("; re").next().unwrap());
            labelled(law, "stats", &format!("{name} {told}"));
        }
    }
    let words = unescaped(page);
    let own = record.own.iter().flat_map(|own| &own.believable.checks);
    let checks = record.believable.checks.iter().chain(own).map(|check| check.message.clone());
    let scenario = [memtide_scenario::scenario_file(&record.scenario)];
    for told in checks.chain(scenario).chain(record.warnings.iter().map(|it| it.message.clone())) {
        law.holds(words.contains(&told), || format!("the page lacks '{told}'"));
    }
    labelled(law, "memtide", &inner(&between(page, "<h1>memtide: ", "</h1>")[0]));
}

/// The rows of the table of steps on a page.
pub(super) fn steps(page: &str) -> Vec<Vec<String>> {
    let table = page.split("All steps, in order.</caption>").nth(1).unwrap_or("");
    let rows = table.split("</table>").next().unwrap().split("<tr>").skip(1);
    let cells = |row: &str| -> Vec<String> {
        let cells = row.split('>').filter_map(|it| Some(it.split_once('<')?.0.to_owned()));
        cells.filter(|cell| !cell.is_empty()).collect()
    };
    rows.map(cells).collect()
}

/// Holds a comparison of a record with another one, or with itself.
pub(super) fn comparison(law: &mut Law<'_>, other: &Law<'_>, text: &str) {
    let Ok(comparison) = serde_json::from_str::<Comparison>(text) else {
        return law.wrong.push("it is no comparison".to_owned());
    };
    let (one, two) = (law.record.started_unix_ms, other.record.started_unix_ms);
    let is_it = comparison.records.iter().map(|it| it.started_unix_ms).eq([one, two]);
    let is_one = std::ptr::eq(law.record, other.record);
    law.holds(is_it && (!is_one || comparison.differences.is_empty()), || {
        format!("{:?}", comparison.differences)
    });
    for row in &comparison.figures {
        let truths = [compared(law, &row.name), compared(other, &row.name)];
        let [Some(first), Some(second)] = truths else {
            return law.wrong.push(format!("no table has the figure '{}'", row.name));
        };
        for (number, (value, truth)) in row.values.iter().zip([first, second]).enumerate() {
            let near = |found: Option<f64>, truth: Option<f64>| match (found, truth) {
                (Some(found), Some(truth)) => (found - truth).abs() <= 1e-9 * truth.abs(),
                (found, truth) => found == truth,
            };
            let ratio = first.zip(second).map(|(first, second)| second / first);
            let ratio = ratio.filter(|it| number > 0 && it.is_finite());
            // Reports of a part of the load are no CPU time.
            let is_unknown = row.name == "server_cpu" && value.value.is_none();
            let of = if number == 0 { &*law } else { other };
            let end = |at: usize| near(value.ci.map(|it| it[at]), interval(of, row)[at]);
            let is_interval = value.value.is_none() || (end(0) && end(1));
            let is_so = near(value.value, truth) && near(value.ratio, ratio) || is_unknown;
            let is_so = is_so && is_interval;
            law.holds(is_so && value.value.is_some() != value.missing.is_some(), || {
                format!("{}: {value:?}, not {truth:?}", row.name)
            });
        }
    }
}

/// The ends of the interval of a time or of the rate of operations in a comparison, which has none
/// of other figures.
fn interval(law: &Law<'_>, row: &FigureRow) -> [Option<f64>; 2] {
    ["low", "high"].map(|end| match row.name.split_once('.') {
        Some((kind, figure)) => {
            let judged = if law.record.own.is_some() { "own." } else { "" };
            let figure = figure.replace('.', "");
            law.truth(&format!("{judged}response.{kind}.{figure}_ci_{end}_ns"))
        }
        None if row.name == "rate" && row.unit == Unit::PerS => {
            law.truth(&format!("rate.achieved_ci_{end}_per_s"))
        }
        None => None,
    })
}

/// A figure of a comparison; the outer option is none if no table has its name.
fn compared(law: &Law<'_>, name: &str) -> Option<Option<f64>> {
    let record = law.record;
    let errors = || {
        let bad = record.believable.checks.iter().find(|it| it.message.contains("had errors"));
        bad.map_or(Some(0.0), |check| check.measured)
    };
    Some(match (name.split_once('.'), name) {
        (Some((kind, figure)), _) => {
            let judged = if record.own.is_some() { "own." } else { "" };
            law.truth(&format!("{judged}response.{kind}.{}_ns", figure.replace('.', "")))
        }
        (None, "rate") => law.truth("=rate").filter(|it| it.is_finite()),
        (None, "errors") if record.totals.intended == 0 => None,
        // Connections that fail are errors, too; of several processes, the check has the worst.
        (None, "errors") if record.churn.is_none() => {
            let (tried, failed) = record.totals.tried();
            let is_known = tried > 0 || record.totals.unacknowledged > 0;
            is_known.then(|| failed as f64 / tried.max(1) as f64)
        }
        (None, "errors") => errors(),
        (None, name) => {
            // Times are in seconds there.
            let size = if ["client_cpu", "server_cpu"].contains(&name) { 1e9 } else { 1.0 };
            law.truth(field("figures", name)?).filter(|it| it.is_finite()).map(|it| it / size)
        }
    })
}

/// Holds a comparison as text, as Markdown and as a page against its JSON.
pub(super) fn comparison_shown(law: &mut Law<'_>, [json, text, markdown, page]: [&str; 4]) {
    let comparison: Comparison = serde_json::from_str(json).unwrap();
    let markdown = markdown.replace("\\_", "_");
    for row in &comparison.figures {
        let size = if ["client_cpu", "server_cpu"].contains(&&*row.name) { 1e9 } else { 1.0 };
        let value = |number: usize| {
            let it = &row.values[number];
            it.value.map(|value| value * size).or(it.at_least)
        };
        let ratio = row.values[1].ratio;
        let truths: Vec<f64> = [value(0), value(1), ratio].into_iter().flatten().collect();
        if truths.is_empty() {
            continue;
        }
        let begin = format!("{} ", row.name);
        for (sort, line) in [
            ("text", text.lines().find(|line| line.starts_with(&begin))),
            ("Markdown", markdown.lines().find(|line| line.starts_with(&format!("| {begin}")))),
        ] {
            let line = line.unwrap_or_default().trim_start_matches("| ");
            let is_marked = row.values[1].apart == Some(false) && ratio.is_some();
            law.holds(line.contains('~') == is_marked, || {
                format!("{} as {sort} is marked: {}", row.name, !is_marked)
            });
            let told = line.strip_prefix(&*row.name).unwrap_or_default().replace('~', "");
            text::shown(law, &format!("{} as {sort}: {told}", row.name), &told, &truths);
        }
        let cells = between(page, &format!("<tr data-figures=\"{}\">", row.name), "</tr>").concat();
        let exact: Vec<f64> = between(&cells, "<data value=\"", "\"")
            .iter()
            .filter_map(|it| it.parse().ok())
            .collect();
        let known = [row.values[0].value, row.values[1].value, ratio];
        let is_so = exact.iter().copied().eq(known.into_iter().flatten());
        law.holds(is_so, || format!("{} is {exact:?} on the page, not {known:?}", row.name));
    }
}

/// Holds the metrics of a run; with a load of the master, those of both loads.
pub(super) fn metrics(law: &mut Law<'_>, text: &str) {
    let own = "load=\"master\"";
    let (of_own, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains(own));
    law.own(&of_own.join("\n"), |law| metrics_of(law, &of_own));
    metrics_of(law, &lines);
    law.holds(text.ends_with("# EOF\n"), || "metrics without an end".to_owned());
}

fn metrics_of(law: &mut Law<'_>, lines: &[&str]) {
    let mut found = BTreeSet::new();
    for line in lines.iter().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap_or_default();
        let (name, labels) = name.split_once('{').unwrap_or((name, ""));
        let name = name.trim_start_matches("memtide_");
        let label = |of: &str| between(labels, &format!("{of}=\""), "\"").concat();
        let mut tags = law.record.tags.iter();
        let is_tagged = tags.all(|(tag, value)| label(&format!("tag_{tag}")) == *value);
        law.holds(is_tagged, || format!("other tags: {labels}"));
        let path = match name {
            "response_seconds" => {
                let of = |it: &&(_, _, f64, _)| it.2.to_string() == label("quantile");
                let at = PERCENTILES.iter().find(of).map_or("", |it| it.0);
                format!("response.{}.{at}", label("op"))
            }
            _ => field("metrics", name).or(field("figures", name)).unwrap_or("").to_owned(),
        };
        // Times are in seconds there.
        let is_s = name.ends_with("_seconds") || ["client_cpu", "server_cpu"].contains(&name);
        let size =
            if is_s { 1e9 } else { 1.0 } / if name.starts_with("started") { 1e6 } else { 1.0 };
        let value = value.parse().unwrap_or(f64::NAN) * size;
        let truth = law.truth(&path).unwrap_or(f64::NAN);
        law.near(name, value, truth, 1e-9 * truth.abs());
        found.insert(name);
    }
    for (name, path) in fields("metrics").filter_map(|line| line.split_once(" | ")) {
        let is_known = law.truth(path).is_some_and(f64::is_finite);
        law.holds(found.contains(name) == is_known, || format!("{name} is there: {}", !is_known));
    }
}
