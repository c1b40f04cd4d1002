//! The report as text and as Markdown. Each clause and each column stands in `fields.txt`, with the
//! figures that it shows.

use super::shown::{Shown, numbers};
use super::truth::{Law, at, field, known};
use memtide_record::steps::Undecided;
use memtide_record::{
    CheckKind, CheckResult, Distribution, Grade, GradedFigure, Missing, Percentile, Record, joined,
};
use memtide_scenario::{Kind, Measure};
use serde_json::Value;

/// A line of a text, or a row of a table below its heading.
enum Line {
    Sentence(String, String),
    Row(Vec<String>, Vec<String>),
}

/// The part about the master's own load begins with this.
const OWN: &str = "load of the master itself, beside the agents' load";
/// Sentences, which continue on indented lines.
const SENTENCES: [&str; 12] = [
    "closed loop: ",
    "partial: ",
    "goal: ",
    "note: ",
    "warning: ",
    "next: ",
    "failed checks: ",
    "believable: ",
    "doubt: ",
    "lost: ",
    "result: ",
    "simulated: ",
];

/// Holds a report, or the text of a search.
pub(super) fn text(law: &mut Law<'_>, text: &str) {
    let (text, own) = text.split_once(OWN).unwrap_or((text, ""));
    law.own(own, |law| self::text(law, own.trim_start_matches(':')));
    let mut lines: Vec<Line> = Vec::new();
    let mut heading: Option<(Vec<String>, Vec<usize>)> = None;
    for line in text.lines() {
        let first = line.trim_start().split("  ").next().unwrap();
        let is_answer = first == "figure" && line.contains('±');
        let is_table = ["response", "server", "agent", "step"].contains(&first);
        if is_answer || (is_table && line.contains("p99")) {
            heading = Some(columns(line));
            continue;
        }
        if line.is_empty() || line.starts_with(['—', '>', '≥']) {
            heading = None;
        }
        let told = SENTENCES
            .iter()
            .find_map(|it| Some((it.trim_end_matches(": "), line.strip_prefix(it)?)));
        match (&heading, told, lines.last_mut()) {
            _ if line.is_empty() => {}
            (Some((names, ends)), ..) => lines.push(Line::Row(names.clone(), cells(line, ends))),
            (_, Some((label, rest)), _) => {
                lines.push(Line::Sentence(label.to_owned(), rest.to_owned()))
            }
            (.., Some(Line::Sentence(_, last)))
                if line.starts_with(' ') && !line.contains("agent ") =>
            {
                *last = format!("{last} {}", line.trim());
            }
            _ => {
                let label: String = line.chars().take(11).collect();
                let rest = line.chars().skip(11).collect();
                lines.push(Line::Sentence(label.trim().to_owned(), rest));
            }
        }
    }
    lines.iter().for_each(|line| hold(law, line));
}

/// The names of columns, and where each ends, in characters.
fn columns(heading: &str) -> (Vec<String>, Vec<usize>) {
    let (mut names, mut ends, mut from) = (Vec::new(), Vec::new(), 0);
    for name in heading.split("  ").map(str::trim).filter(|name| !name.is_empty()) {
        from += heading[from..].find(name).unwrap() + name.len();
        names.push(name.to_owned());
        ends.push(heading[..from].chars().count());
    }
    (names, ends)
}

/// The cells of a row: the label, then what ends where the headings end.
fn cells(row: &str, ends: &[usize]) -> Vec<String> {
    let label = row.trim_start().split("  ").next().unwrap();
    let mut from = row.len() - row.trim_start().len() + label.chars().count();
    let cell = |end: &usize| {
        let cell: String = row.chars().skip(from).take(end.saturating_sub(from)).collect();
        from = from.max(*end);
        cell.trim().to_owned()
    };
    [label.to_owned()].into_iter().chain(ends[1..].iter().map(cell).collect::<Vec<_>>()).collect()
}

/// Holds the Markdown of a run or a search.
pub(super) fn markdown(law: &mut Law<'_>, text: &str) {
    let (text, scenario) = text.split_once("<details>").unwrap_or((text, ""));
    let file = memtide_scenario::scenario_file(&law.record.scenario);
    let is_same = law.steps.is_some() || scenario.contains(&format!("```toml\n{file}```"));
    law.holds(is_same || scenario.is_empty(), || "another scenario".to_owned());
    let (text, own) = text.split_once(&format!("**{OWN}:** ")).unwrap_or((text, ""));
    law.own(own, |law| markdown(law, own));
    let mut heading: Option<Vec<String>> = None;
    for line in text.lines().map(|line| line.replace('\\', "").replace("&lt;", "<")) {
        if let Some(row) = line.strip_prefix("| ") {
            let row = row.trim_end_matches('|').trim_end().split(" | ");
            let row: Vec<String> = row.map(|it| it.trim().to_owned()).collect();
            match &heading {
                _ if row[0] == "---" => {}
                None => heading = Some(row),
                Some(names) => hold(law, &Line::Row(names.clone(), row)),
            }
            continue;
        }
        heading = None;
        let marked = line.trim_start_matches(['✅', '⚠', '\u{fe0f}', ' ', '-', '#']);
        let (label, rest) = match marked.strip_prefix("**").and_then(|it| it.split_once(":** ")) {
            Some(("not answered", rest)) => ("operations", rest),
            Some(marked) => marked,
            None => {
                marked.strip_prefix("memtide: ").map_or(("summary", marked), |it| ("memtide", it))
            }
        };
        if !rest.is_empty() {
            labelled(law, label, rest);
        }
    }
}

fn hold(law: &mut Law<'_>, line: &Line) {
    match line {
        Line::Sentence(label, rest) => labelled(law, label, rest),
        Line::Row(heading, row) if heading[0] == "goal" => {
            labelled(law, "goal", &format!("{}: {}, {}", row[0], row[1], row[2]));
        }
        Line::Row(heading, row) => self::row(law, heading, row),
    }
}

/// Holds a row of a table.
pub(super) fn row(law: &mut Law<'_>, heading: &[String], row: &[String]) {
    let json = law.json;
    let part = |name: &str| json[name].as_array().map_or(&[][..], Vec::as_slice);
    let name =
        |shard: &&Value| at(shard, "share.agent.name").and_then(Value::as_str) == Some(&row[0]);
    let (section, root) = match &*heading[0] {
        "agent" => ("agents", part("shards").iter().find(name)),
        "step" => (
            "steps",
            row[0].parse::<usize>().ok().and_then(|it| part("steps").get(it.checked_sub(1)?)),
        ),
        "figure" if heading.contains(&"±".to_owned()) => return answer(law, heading, row),
        "figure" => {
            let truth = field("figures", &row[0]).and_then(|path| law.truth(path));
            return shown(law, &format!("{}: {}", row[0], row[1]), &row[1], truth.as_slice());
        }
        _ => return times(law, heading, row),
    };
    let Some(root) = root else { return law.wrong.push(format!("nothing is named '{}'", row[0])) };
    cells_of(law, section, (heading, row), root);
}

/// Holds the cells of a row about a part of the record or a step: `root`.
pub(super) fn cells_of(
    law: &mut Law<'_>,
    section: &str,
    (heading, row): (&[String], &[String]),
    root: &Value,
) {
    let is_step = section == "steps";
    for (column, cell) in heading.iter().zip(row) {
        let Some(paths) = field(section, column) else {
            law.wrong.push(format!("no table has the column '{column}'"));
            continue;
        };
        let verdict = if is_step { &root["record"] } else { root };
        let word = match &**column {
            "believable" if !is_step && root["ended_by"] == "not_run" => Some("did not run"),
            "believable" if is_step => Some(if stands(verdict) { "yes" } else { "no" }),
            "believable" => verdict["believable"]["verdict"].as_str(),
            "goal" if root["role"] == "peak" => Some("—"),
            "goal" if root["spoilt"] == true => Some("undecided"),
            "goal" if root["behind"] == true => Some("behind"),
            "goal" => Some(root["goal"].as_str().unwrap_or("—")),
            _ => None,
        };
        law.holds(word.is_none_or(|word| word == cell), || {
            format!("{column}: {cell}, not {word:?}")
        });
        let truth = |path: &str| match path {
            "=warnings" => root["warnings"].as_array().map(|it| it.len() as f64),
            "=achieved" => {
                let keys = root["rate"]["keys_per_s"].as_f64();
                keys.or_else(|| root["rate"]["achieved_per_s"].as_f64())
            }
            _ => known(at(root, path)?),
        };
        let truths: Vec<f64> = paths.split(' ').filter_map(truth).collect();
        if word.is_none() && !["part", "agent"].contains(&&**column) {
            shown(law, &format!("{column} of {}: {cell}", row[0]), cell, &truths);
        }
    }
}

/// True if a step can be believed as a whole: nothing spoils it, and memtide's own delay is small.
fn stands(record: &Value) -> bool {
    let reasons = record["believable"]["reasons"].as_array().map_or(&[][..], Vec::as_slice);
    let is_late = |it: &Value| it["code"].as_str().is_some_and(|it| it.starts_with("generator_"));
    record["believable"]["verdict"] != "no" && !reasons.iter().any(is_late)
}

/// Holds a row of the answer: the figure of all operations and of kinds, its interval and memtide's
/// share, and its grade.
pub(super) fn answer(law: &mut Law<'_>, heading: &[String], row: &[String]) {
    let record = law.record;
    let is_it = |figure: &&GradedFigure| figure.name() == row[0];
    let Some(graded) = figures(record).into_iter().find(|figure| is_it(&figure)) else {
        return law.wrong.push(format!("the answer has no figure '{}'", row[0]));
    };
    let half =
        |ends: Option<[f64; 2]>| ends.map(|[low, high]| ((high / low).sqrt() - 1.0).min(1.0));
    for (column, cell) in heading.iter().zip(row).skip(1) {
        let is_unknown = graded.own.is_some_and(|own| own >= 0.995);
        let truths: Vec<f64> = match &**column {
            "±" => half(graded.interval).into_iter().collect(),
            "memtide" => graded.own.filter(|_| !is_unknown).into_iter().collect(),
            "believable" => {
                let is_no = spoiled(record) || record.slicing.is_none();
                let is_so =
                    *cell == graded.grade.to_string() || (is_no && ["no", "—"].contains(&&**cell));
                law.holds(is_so, || format!("{}: '{cell}' is no grade of it", row[0]));
                continue;
            }
            kind => {
                let of = match (kind, graded.measure) {
                    ("all", _) => Some(graded.clone()),
                    (kind, None) => {
                        let rate = law.truth(&format!("rate.kinds_per_s.{kind}"));
                        shown(law, &format!("rate of {kind}: {cell}"), cell, rate.as_slice());
                        continue;
                    }
                    (kind, Some(measure)) => record.response_figure(kind.parse().unwrap(), measure),
                };
                let interval =
                    half(of.as_ref().and_then(|of| of.interval).filter(|_| kind != "all"));
                let value = of.and_then(|of| of.value);
                // A bound of unanswered operations is held in the table of all times.
                if value.is_none() {
                    continue;
                }
                value.into_iter().chain(interval).collect()
            }
        };
        shown(law, &format!("{column} of {}: {cell}", row[0]), cell, &truths);
    }
}

/// The figures of the answer.
fn figures(record: &Record) -> Vec<GradedFigure> {
    let percentiles = [50.0, 90.0, 99.0, 99.9].map(Measure::Percentile);
    let measures = percentiles.into_iter().chain([Measure::Mean]);
    let times = measures.filter_map(|measure| record.response_figure(Kind::All, measure));
    let rate = Some(record.rate_figure()).filter(|rate| rate.value.is_some());
    times.chain(rate).collect()
}

/// True if a check failed that spoils every figure.
pub(super) fn spoiled(record: &Record) -> bool {
    record.believable.spoils_all()
}

/// The reasons that the verdict names: all of a no, and the missing shares otherwise.
pub(super) fn reasons(record: &Record) -> Vec<&str> {
    let is_no = record.believable.verdict == memtide_record::Verdict::No;
    let all = record.believable.reasons.iter();
    let named = all.filter(|reason| is_no || reason.code == CheckKind::Shares);
    named.map(|reason| &*reason.message).collect()
}

/// The verdict in words, from the grades of all figures.
pub(super) fn verdict(record: &Record) -> String {
    let mut all = figures(record);
    let more = record.judged_figures().into_iter().filter(|figure| !all.contains(figure));
    let more: Vec<GradedFigure> = more.collect();
    all.extend(more);
    if all.iter().all(|figure| figure.grade == Grade::Yes) {
        "yes".to_owned()
    } else {
        joined(&all)
    }
}

/// Holds the numbers of a text against figures; a text without numbers has none.
pub(super) fn shown(law: &mut Law<'_>, what: &str, text: &str, truths: &[f64]) {
    let (_, shown) = numbers(text);
    let all = |it: &(&Shown, &f64)| it.0.is(*it.1);
    let count = shown.iter().zip(truths).filter(all).count();
    law.holds(shown.len() == truths.len() && count == shown.len(), || {
        format!("'{what}' is not {truths:?}")
    });
}

/// Holds a labelled line clause by clause, or a sentence of the record.
pub(super) fn labelled(law: &mut Law<'_>, label: &str, text: &str) {
    if let Some(told) = sentences(law, label, text) {
        return law.holds(told, || format!("{label}: the record does not say '{text}'"));
    }
    if let ("stats", Some((name, rest))) = (label, reported(law.record, text)) {
        let mut of_one = law.record.clone();
        of_one.server.during.retain(|it, _| *it == name);
        let mut one = Law::new(&of_one, law.json);
        labelled(&mut one, "of a server", rest);
        return law.wrong.extend(one.wrong.into_iter().map(|why| format!("{name}: {why}")));
    }
    let text = anonymous(law, text);
    for clause in text.split(", ").flat_map(|it| it.split("; ")).flat_map(|it| it.split(": ")) {
        let (shape, found) = numbers(clause);
        let counters = law.record.believable.checks.iter().rev();
        let counters = counters.clone().find(|check| check.code == CheckKind::ServerCounters);
        let is_so = match (clause.strip_prefix("counters "), counters.map(|check| check.result)) {
            (Some(told), result) => match told {
                "agree" => result == Some(CheckResult::Passed),
                "differ" => result == Some(CheckResult::Failed),
                _ => result == Some(CheckResult::Skipped),
            },
            (None, _) => clause != "no errors" || law.record.totals.tried().1 == 0,
        };
        law.holds(is_so, || format!("it is not so that {clause}"));
        if let ("replies" | "errors" | "causes", [_]) = (label, &found[..]) {
            let part = if label == "causes" { "churn.measure" } else { "totals" };
            let truth = law.truth(&format!("{part}.{label}.{}", shape.trim_end_matches(" {n}")));
            shown(law, clause, clause, truth.as_slice());
            continue;
        }
        let label = if label.starts_with('>') { ">" } else { label };
        let Some(paths) = field("clauses", &format!("{label} | {shape}")) else {
            law.wrong.push(format!("no table has '{shape}' of '{label}'"));
            continue;
        };
        if let Some((one, other)) = paths.strip_prefix('?').and_then(|it| it.split_once('=')) {
            law.holds(law.truth(one) == law.truth(other), || format!("not {one} = {other}"));
        } else if paths == "~" {
            let advice = 0.7 * law.record.achieved().per_s;
            law.near("advice", found[0].value, advice, 0.05 * advice);
        } else {
            let truths: Vec<f64> = paths.split(' ').filter_map(|path| law.truth(path)).collect();
            shown(law, clause, clause, &truths);
        }
    }
}

/// True if the record says a sentence, false if it says another one; none if it says none of this
/// label.
fn sentences(law: &Law<'_>, label: &str, text: &str) -> Option<bool> {
    let record = law.record;
    let records = || law.steps.iter().flat_map(|it| &it.steps).map(|step| &step.record);
    let records = || records().chain([record]);
    let why = reasons(record);
    let ends = |message: &str| text.ends_with(message);
    Some(match (label, &law.steps) {
        ("goal", _) => record.goals.iter().any(|goal| {
            let result = format!("{:?}", goal.result).to_lowercase();
            text == format!("{}: {result}, {}", goal.goal, goal.why)
        }),
        ("warning", _) => {
            let mut all = records().flat_map(|it| &it.warnings);
            all.any(|it| {
                ends(&format!("{}; {} [{}]", it.message, it.remedy, it.code))
                    || ends(&format!("{}; {}", it.message, it.remedy))
            })
        }
        ("note", _) => {
            let all = record.believable.checks.iter();
            all.filter(|it| it.result == CheckResult::Skipped).any(|it| {
                ends(&it.message) || ends(&format!("{} [{}]", it.message, it.code.code()))
            })
        }
        ("failed checks", _) => {
            let mut codes: Vec<_> =
                record.believable.reasons.iter().map(|it| it.code.code()).collect();
            codes.dedup();
            text == codes.join(", ")
        }
        ("believable", None) if record.slicing.is_some() && !spoiled(record) => {
            let rest = text.strip_prefix(&*verdict(record));
            rest.is_some_and(|it| it.ends_with(&why.join("; ")) && it.is_empty() == why.is_empty())
        }
        ("believable", _) => ends(&why.join("; ")) && why.is_empty() == (text == "yes"),
        ("next", _) => text.contains("memtide run") || text.starts_with("the same command"),
        ("—", _) if text.starts_with("no interval of ") => {
            record.graded().iter().filter_map(|it| it.reason.as_ref()).any(|it| text.ends_with(it))
        }
        ("partial", None) => why.contains(&text),
        ("partial", Some(_)) => text.contains("--steps-max") || text.contains("so far"),
        ("", _) => {
            record.shards.iter().flat_map(|it| &it.believable.reasons).any(|it| ends(&it.message))
        }
        ("doubt", _) => {
            records().flat_map(|it| &it.believable.reasons).any(|it| text.contains(&it.message))
        }
        ("goals", Some(steps)) => text.replace('`', "") == steps.goals.join(", "),
        ("memtide", Some(steps)) => numbers(text).1[0].is(steps.steps.len() as f64),
        ("simulated", Some(steps)) => steps.steps.iter().all(|it| it.record.plan.io == "simulated"),
        ("lost", Some(steps)) => steps.conclusion.lost.iter().any(|lost| lost.sentence() == text),
        ("result", Some(steps)) => {
            let (answer, goals) = (steps.conclusion.answer.as_ref()?, steps.goals.join(" and "));
            let counts = [answer.met, answer.met + answer.missed].map(|it| Some(f64::from(it)));
            let rates = [answer.rate_per_s, answer.missed_per_s];
            let undecided = answer.undecided.unwrap_or_default();
            let Undecided { from_per_s, to_per_s, decidable_ns, pause_ns } = undecided;
            let others = [Some(from_per_s), Some(to_per_s), decidable_ns, pause_ns, Some(0.95)];
            let known = rates.into_iter().chain(counts).chain(others);
            let known: Vec<f64> = known.flatten().collect();
            let (_, shown) = numbers(&text.replace(&goals, "GOALS"));
            text.contains(&goals) && shown.iter().all(|it| known.iter().any(|known| it.is(*known)))
        }
        _ => return None,
    })
}

/// The server that a line about reports is of, and what it says; a single one is not named.
fn reported<'a>(record: &Record, text: &'a str) -> Option<(String, &'a str)> {
    let servers = &record.server.during;
    let only = || servers.keys().next().filter(|_| servers.len() == 1).cloned();
    let rest = |name: &str| Some(text.strip_prefix(name)?.trim_start_matches([':', ' ']));
    let named = servers.keys().find_map(|name| Some((name.clone(), rest(name)?)));
    named.or_else(|| Some((only()?, rest("server")?)))
}

/// The text with the plan's own words, and all names, as `WORD`.
fn anonymous(law: &Law<'_>, text: &str) -> String {
    let plan = &law.record.plan;
    let mut words = vec![&law.record.machine.memtide_version, &plan.arrival, &plan.wait, &plan.io];
    words.extend([&plan.key_size, &plan.value_size, &plan.popularity, &plan.mix]);
    words.extend(plan.churn.iter().filter_map(|churn| churn.connection_arrival.as_ref()));
    let servers = plan.servers.iter();
    words.extend(servers.flat_map(|it| [&it.name].into_iter().chain(&it.addresses)));
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let words = words.into_iter().filter(|word| !word.is_empty() && *word != "simulated");
    words.fold(text.to_owned(), |text, word| text.replace(word.as_str(), "WORD"))
}

/// Holds a row of a table of times.
fn times(law: &mut Law<'_>, heading: &[String], row: &[String]) {
    let label = &row[0];
    let server = law.record.servers.iter().position(|server| server.name == *label);
    let (path, counts) = match (field("rows", label), server) {
        (Some(path), _) => (path.to_owned(), None),
        (None, Some(number)) => {
            (format!("servers.{number}.response"), Some(format!("servers.{number}.")))
        }
        (None, None) => (format!("response.{label}"), Some("rate.kinds_per_s.".to_owned())),
    };
    let found = at(law.json, &path).and_then(|it| serde_json::from_value(it.clone()).ok());
    let Some(of): Option<Distribution> = found else {
        return law.wrong.push(format!("no table has the row '{label}'"));
    };
    for (column, cell) in heading.iter().zip(row).skip(1) {
        let percentile = Percentile::ALL.into_iter().find(|it| it.to_string() == *column);
        let place = match (&**column, &counts) {
            ("count" | "answered" | "rate", None) => None,
            ("count", Some(_)) => Some(format!("{path}.count")),
            ("answered", Some(of)) => Some(format!("{of}totals.answered")),
            ("rate", Some(_)) if label == "all" => Some("rate.achieved_per_s".to_owned()),
            ("rate", Some(of)) if server.is_some() => Some(format!("{of}rate_per_s")),
            ("rate", Some(of)) => Some(format!("{of}{label}")),
            _ if percentile.is_some() || ["mean", "max"].contains(&&**column) => {
                time(law, (&path, column, cell), &of, percentile);
                continue;
            }
            _ => return law.wrong.push(format!("no table has the column '{column}'")),
        };
        let truth = place.and_then(|place| law.truth(&place));
        shown(law, &format!("{label} {column}: {cell}"), cell, truth.as_slice());
    }
}

/// Holds a cell of times: the figure, a bound, or a dash with a reason.
fn time(
    law: &mut Law<'_>,
    (row, column, cell): (&str, &str, &str),
    of: &Distribution,
    percentile: Option<Percentile>,
) {
    let lost = (of.unanswered > 0).then_some(Missing::Unanswered);
    let whole = |ns: u64| ns as f64;
    let (figure, bound, reason) = match percentile {
        Some(it) => {
            let bound = of.percentile_at_least(it).map(whole);
            (of.percentile(it).map(whole), bound, of.missing.get(&it).cloned())
        }
        None if column == "mean" => (of.mean_ns, of.mean_at_least_ns, lost),
        None => (of.max_ns.map(whole), of.max_at_least_ns.map(whole), lost),
    };
    let (shape, shown) = numbers(cell);
    let sign = if percentile.is_some() { "> {t}" } else { "≥ {t}" };
    let is_so = match (&*shape, figure, bound) {
        ("{t}", Some(truth), _) => shown[0].is(truth),
        (bounded, None, Some(truth)) if bounded == sign => shown[0].is(truth),
        ("> ?", None, None) => reason == Some(Missing::Unanswered),
        ("—", None, None) => {
            of.count == of.unanswered || reason.is_some_and(|it| it != Missing::Unanswered)
        }
        _ => false,
    };
    law.holds(is_so, || format!("{row} {column} is '{cell}', not {figure:?} or {sign} {bound:?}"));
}
