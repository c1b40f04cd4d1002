//! Files at the end of a run: the table of percentiles, test cases, the page, and a comparison of
//! the record with itself.

use super::shown::numbers;
use super::text::labelled;
use super::truth::{BUCKET, Law, PERCENTILES, at, decoded, ranked};
use memtide_record::compare::Comparison;
use memtide_scenario::Kind;
use serde_json::Value;

/// Holds the table of percentiles of a run; only the master's if it measured beside agents.
pub(super) fn hgrm(law: &mut Law<'_>, text: &str) {
    let response = &law.record.judged().response[&Kind::All];
    let buckets = response.histogram.as_deref().and_then(decoded).unwrap_or_default();
    let numbers = |line: &str| -> Vec<f64> {
        let words = line.split(|it: char| !(it.is_ascii_digit() || it == '.'));
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / 1e6;
    let count = (response.count - response.unanswered) as f64;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let found = numbers(line);
        let named = |name: &str| line.starts_with(&format!("#[{name} "));
        let (what, truths, slack) = if line.trim_start().starts_with("Value") {
            continue;
        } else if named("Mean") {
            (
                "mean",
                vec![ms(response.mean_ns), ms(response.stddev_ns)],
                1e-6 + ms(response.mean_ns) * 1e-3,
            )
        } else if named("Max") {
            ("max", vec![ms(response.max_ns.map(|ns| ns as f64)), count], 1e-6)
        } else if named("Unanswered") {
            ("unanswered", vec![response.unanswered as f64], 0.0)
        } else if named("Buckets") {
            ("buckets", vec![35.0, 256.0], 0.0)
        } else if found.len() >= 3 {
            let ns = ranked(&buckets, response.unanswered, found[1]).map(|ns| ns as f64);
            let below = buckets
                .iter()
                .filter(|(ns, _)| **ns as f64 <= found[0] * 1e6 * (1.0 + BUCKET) + 1.0);
            let below = below.map(|(_, count)| *count as f64).sum();
            law.near("a value of hgrm", found[0], ms(ns), BUCKET * found[0] + 2e-6);
            let wanted = found[1] * response.count as f64;
            law.holds(wanted - 1.0 <= found[2] && found[2] <= below, || {
                format!("the count of '{line}'")
            });
            if let [.., level, _, distance] = found[..] {
                let truth = 1.0 / (1.0 - level);
                law.near("1/(1-Percentile)", distance, truth, 0.006 + truth * 1e-6);
            }
            continue;
        } else {
            law.wrong.push(format!("no table has the line '{line}'"));
            continue;
        };
        law.holds(found.len() == truths.len(), || format!("'{line}'"));
        for (found, truth) in found.iter().zip(&truths) {
            law.near(what, *found, *truth, slack);
        }
    }
    for (name, _, fraction, _) in PERCENTILES {
        let Some(truth) =
            law.truth(&format!("response.all.{name}")).filter(|_| law.record.own.is_none())
        else {
            continue;
        };
        let is_below = |line: &&str| numbers(line).get(1).is_some_and(|level| *level <= fraction);
        let rows = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        let last = rows.filter(is_below).last().map_or(0.0, |line| numbers(line)[0] * 1e6);
        law.holds(last <= truth * (1.0 + BUCKET) + 2.0, || {
            format!("{name} of hgrm is above {truth}")
        });
    }
}

/// Attributes of an element that begins in `line`.
fn attribute(line: &str, name: &str) -> Option<String> {
    let value = line.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0;
    Some(unescaped(value))
}

fn unescaped(text: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    signs.iter().fold(text.to_owned(), |text, (sign, letter)| text.replace(sign, letter))
}

/// Holds the suite of a run in a file of test cases.
pub(super) fn junit(law: &mut Law<'_>, text: &str) {
    let record = law.record;
    let cases: Vec<&str> = text.split("<testcase").skip(1).collect();
    let having = |sign: &str| cases.iter().filter(|case| case.contains(sign)).count();
    let counts = [cases.len(), having("<failure"), 0, having("<skipped")];
    for head in text.lines().filter(|line| line.contains("<testsuite")) {
        for (name, truth) in ["tests", "failures", "errors", "skipped"].into_iter().zip(counts) {
            let found = attribute(head, name);
            law.holds(found == Some(truth.to_string()), || {
                format!("{name} is {found:?}, not {truth}")
            });
        }
        let time = attribute(head, "time").and_then(|time| time.parse().ok()).unwrap_or(f64::NAN);
        law.near("time", time, record.measured_s, 0.0006);
        let name = attribute(head, "name").unwrap_or_default();
        if let Some(rate) = name.strip_prefix("memtide: step ").and_then(|it| it.split_once(" at "))
        {
            let (_, shown) = numbers(rate.1);
            let truth = record.rate.target_per_s.unwrap_or(record.rate.in_schedule_unit());
            law.holds(shown[0].is(truth), || name.clone());
        } else if let Some(what) = name.strip_prefix("memtide: ") {
            labelled(law, "memtide", what);
        }
    }
    let times = cases.iter().filter_map(|case| attribute(case, "time")?.parse::<f64>().ok());
    law.near("times of cases", times.sum(), record.measured_s, 0.0006);
    let mut named = Vec::new();
    for case in cases {
        let (class, name) = (
            attribute(case, "classname").unwrap_or_default(),
            attribute(case, "name").unwrap_or_default(),
        );
        let message = attribute(case.split_once('>').map_or("", |it| it.1), "message");
        let why: Vec<&str> = record.believable.reasons.iter().map(|it| &*it.message).collect();
        let is_so = match (&*class, message.as_deref()) {
            ("memtide.goal", told) => {
                let goal = record.goals.iter().find(|goal| goal.goal == name);
                goal.is_some_and(|goal| told.is_none_or(|told| told == goal.why))
            }
            ("memtide.verdict", None) => why.is_empty() || record.missing.is_some(),
            ("memtide.verdict", Some(told)) => told.ends_with(&why.join("; ")),
            ("memtide.errors", None) if name == "wrong_values" => true,
            ("memtide.errors", told) => {
                let count = law.truth(&format!("totals.{name}")).unwrap_or(f64::NAN);
                let share = count / record.totals.intended.max(1) as f64;
                let (_, shown) = numbers(told.unwrap_or("0, 0 %"));
                shown.len() == 2 && shown[0].is(count) && shown[1].is(share)
            }
            _ => false,
        };
        law.holds(is_so, || format!("the case {class} {name}: {message:?}"));
        named.push(name);
    }
    let all: Vec<&str> =
        ["believable", "failed", "timed_out", "lost", "dropped", "abandoned", "wrong_values"]
            .into();
    let is_there = |name: &str| named.iter().any(|known| known == name);
    law.holds(all.into_iter().all(is_there), || format!("cases are missing: {named:?}"));
}

/// Facts of a page that are no lines of the report, with their figures.
const FACTS: [(&str, &str); 3] = [
    ("CPU of memtide", "client.cpu_s_per_mops"),
    ("busiest worker", "=busy_max"),
    ("CPUs of the machine", "machine_cpu.avg"),
];

fn between(text: &str, from: &str, to: &str) -> Vec<String> {
    text.split(from).skip(1).map(|part| part.split(to).next().unwrap().to_owned()).collect()
}

/// The words of a piece of a page.
fn inner(text: &str) -> String {
    unescaped(&between(&format!(">{text}"), ">", "<").concat())
}

/// Holds each figure in the tables of a page; those after the master's heading are of its own load.
pub(super) fn figures(law: &mut Law<'_>, page: &str) {
    let (all, own) = page.split_once("Load of the master itself").unwrap_or((page, ""));
    for (page, prefix) in [(all, ""), (own, "own.")] {
        for row in page.split("<tr data-figures=\"").skip(1) {
            let (path, rest) = row.split_once('"').unwrap();
            let path = if path.starts_with("totals") {
                path.to_owned()
            } else {
                format!("{prefix}{path}")
            };
            for cell in between(rest.split("</tr>").next().unwrap(), " data-name=\"", "</td>") {
                let (name, rest) = cell.split_once('"').unwrap();
                figure(law, (&path, name), rest, &inner(rest.split_once('>').unwrap().1));
            }
        }
    }
}

/// Holds the tables and sentences of the page of a run.
pub(super) fn html(law: &mut Law<'_>, page: &str) {
    let record = law.record;
    figures(law, page);
    for (name, fact) in
        between(page, "<dt>", "</dd>").iter().filter_map(|fact| fact.split_once("</dt><dd>"))
    {
        let fact = unescaped(fact.trim_end_matches("</dd>"));
        match FACTS.iter().find(|(known, _)| *known == name) {
            Some((_, path)) => {
                let (_, shown) = numbers(&fact);
                let truth =
                    law.truth(path).map(|it| if path.contains("mops") { it * 1e9 } else { it });
                let is_so = match (&shown[..], truth) {
                    ([shown, ..], Some(truth)) => shown.is(truth),
                    (_, truth) => fact == "—" && truth.is_none(),
                };
                law.holds(is_so, || format!("{name}: '{fact}', not {truth:?}"));
            }
            None if name == "window" => labelled(law, "memtide", &fact),
            None if name == "machine" => {
                law.holds(fact.contains(&format!("{} CPUs", record.machine.cpus_allowed)), || fact)
            }
            None if name == "memtide" => law.holds(fact == record.machine.memtide_version, || fact),
            None if name == "began" => {
                let truth = memtide_base::calendar::utc(record.started_unix_ms / 1000);
                law.holds(fact == truth, || format!("it began {fact}, not {truth}"));
            }
            None if name == "tags" => {}
            None => labelled(law, name, &fact),
        }
    }
    let checks = record
        .believable
        .checks
        .iter()
        .chain(record.own.iter().flat_map(|own| &own.believable.checks));
    let told = page.split_once("Checks of the verdict").map_or("", |it| it.1);
    let missing: Vec<&String> =
        checks.map(|check| &check.message).filter(|it| !unescaped(told).contains(*it)).collect();
    law.holds(missing.is_empty(), || format!("the page lacks {missing:?}"));
    let title = inner(&between(page, "<h1>memtide: ", "</h1>")[0]);
    labelled(law, "memtide", &title);
    let file = memtide_scenario::scenario_file(&record.scenario);
    law.holds(unescaped(page).contains(&file), || "the page has another scenario".to_owned());
}

/// Holds a cell of a page: the exact figure and the words.
fn figure(law: &mut Law<'_>, (path, name): (&str, &str), cell: &str, words: &str) {
    let own = path.strip_prefix("own.");
    let prefix = if own.is_some() { "own." } else { "" };
    let kind = own.unwrap_or(path).strip_prefix("response.");
    let place = match (kind, name) {
        (Some("all"), "per_s") => format!("{prefix}rate.achieved_per_s"),
        (Some(kind), "per_s") => format!("{prefix}rate.kinds_per_s.{kind}"),
        _ if path.starts_with("totals") => path.to_owned(),
        _ if path.starts_with("servers") && name == "per_s" => format!("{path}.rate_per_s"),
        _ if path.starts_with("servers") => format!("{path}.response.{name}"),
        _ => format!("{path}.{name}"),
    };
    let is_lost = name == "max_ns"
        && at(law.json, path).is_some_and(|it| it["unanswered"].as_u64() > Some(0));
    let truth = at(law.json, &place).and_then(Value::as_f64).filter(|_| !is_lost);
    let exact: Option<f64> = attribute(&format!(" {}", cell.replace("<data ", " ")), "value")
        .and_then(|it| it.parse().ok());
    law.holds(exact == truth, || format!("{place} is {exact:?} on the page, not {truth:?}"));
    let (_, shown) = numbers(words);
    let is_shown = truth.is_none() || shown.first().is_some_and(|shown| shown.is(truth.unwrap()));
    law.holds(is_shown, || format!("{place} is '{words}' on the page, not {truth:?}"));
    let is_reasoned = truth.is_some() || cell.contains("title=") || ["", "—"].contains(&words);
    law.holds(is_reasoned, || format!("{place}: '{words}' has no reason"));
}

/// Holds a comparison of a record with itself.
pub(super) fn comparison(law: &mut Law<'_>, text: &str) {
    let Ok(comparison) = serde_json::from_str::<Comparison>(text) else {
        return law.wrong.push("it is no comparison".to_owned());
    };
    law.holds(comparison.differences.is_empty(), || format!("{:?}", comparison.differences));
    let record = law.record;
    let began = comparison.records.iter().all(|of| of.started_unix_ms == record.started_unix_ms);
    law.holds(began, || "it began at another time".to_owned());
    for row in &comparison.figures {
        let server = record.server.during.values().map(|load| load.report);
        let truth = match row.name.split_once('.') {
            Some((kind, figure)) => {
                let figure = format!("{}_ns", figure.replace('.', ""));
                let judged = if record.own.is_some() { "own." } else { "" };
                law.truth(&format!("{judged}response.{kind}.{figure}"))
            }
            None => match &*row.name {
                "rate" => law.truth("=rate").filter(|rate| rate.is_finite()),
                "errors" => row.values[0].value,
                "hit_ratio" => law.truth("=hit_ratio").filter(|it| it.is_finite()),
                "client_cpu" => record.client.cpu_s_per_mops,
                "server_cpu" if row.values[0].value.is_none() => None,
                "server_cpu" => server.clone().next().and_then(|it| it.cpu_s_per_mops()),
                name @ ("answered" | "hits" | "misses") => law.truth(&format!("totals.{name}")),
                name => return law.wrong.push(format!("no table has the figure '{name}'")),
            },
        };
        for (number, value) in row.values.iter().enumerate() {
            let found = value.value;
            let near = found
                .zip(truth)
                .is_some_and(|(found, truth)| (found - truth).abs() <= 1e-9 * truth.abs());
            law.holds(near || found == truth, || {
                format!("{} is {found:?}, not {truth:?}", row.name)
            });
            let reasoned = found.is_some() || value.missing.is_some();
            law.holds(reasoned, || format!("{} has no reason", row.name));
            let ratio = (number > 0 && found.is_some_and(|it| it != 0.0)).then_some(1.0);
            law.holds(value.ratio == ratio, || {
                format!("{}: the ratio is {:?}", row.name, value.ratio)
            });
        }
    }
}
