//! Two groups of records as text and as Markdown: what both measured, by how much they differ, and
//! what that means.

use super::trial::{equal, rows, visible_words};
use super::{rule_line, table, trust_sentence};
use crate::files::{escaped, table as markdown_table};
use crate::layout::{TextLayout, labelled, unbroken, wrapped};
use crate::number::counted;
use memtide_base::calendar::utc;
use memtide_record::compare::{Groups, TrialFinding};

/// The comparison for a terminal of `columns` columns, or for none.
pub fn groups_text(groups: &Groups, columns: Option<usize>) -> String {
    let mut out = TextLayout::new(columns);
    for (letter, names) in ["A", "B"].into_iter().zip(&groups.records) {
        labelled(&mut out, letter, &names.join(" "));
    }
    out.push('\n');
    table(&rows(&groups.figures)).render(&mut out);
    for sentence in sentences(groups) {
        wrapped(&mut out, "", "", &sentence);
    }
    for rule in &groups.rules {
        unbroken(&mut out, "fail-on: ", "         ", &rule_line(rule));
    }
    out.into_text()
}

/// The comparison as Markdown, ending in a line break.
pub fn groups_markdown(groups: &Groups) -> String {
    let mut out = "### memtide: two groups of records compared\n\n".to_owned();
    for (letter, names) in ["A", "B"].into_iter().zip(&groups.records) {
        out += &format!("- **{letter}:** {}\n", escaped(&names.join(" ")));
    }
    out += &format!("\n{}\n", markdown_table(&rows(&groups.figures)));
    let rules = groups.rules.iter().map(rule_line);
    for sentence in sentences(groups).into_iter().chain(rules) {
        out += &format!("- {}\n", escaped(&sentence));
    }
    out
}

/// What the times of the groups leave open; none if their runs alternate.
fn one_after_the_other(groups: &Groups) -> Option<String> {
    let [a, b] = groups.measured_unix_ms;
    let is_one_day = utc(a[0] / 1000)[..10] == utc(b[1] / 1000)[..10];
    let [a, b] = [a, b].map(|ends| stretch(ends, is_one_day));
    groups.are_apart().then(|| {
        format!(
            "A was measured {a}, B {b} (UTC): a change of the machine between them cannot be told \
             from the server's. Alternate the runs, as memtide ab does."
        )
    })
}

/// A stretch of time: `14:00–14:05`, with the days unless `is_one_day`.
fn stretch([began, ended]: [u64; 2], is_one_day: bool) -> String {
    let [from, to] = [began, ended].map(|unix_ms| utc(unix_ms / 1000));
    let is_time = is_one_day || from[..10] == to[..10];
    format!("{}–{}", to_the_minute(&from, is_one_day), to_the_minute(&to, is_time))
}

/// A day and a time of day without its seconds, or the time alone.
fn to_the_minute(utc: &str, is_time: bool) -> String {
    let (day, time) = utc.split_once(' ').unwrap_or((utc, ""));
    let time = time.get(..5).unwrap_or(time);
    if is_time { time.to_owned() } else { format!("{day} {time}") }
}

/// What the answers mean, and what limits them.
fn sentences(groups: &Groups) -> Vec<String> {
    let mut sentences: Vec<String> = trust_sentence(groups.unchecked).into_iter().collect();
    sentences.push(
        "The ranges are by the scatter of the runs of each group, and hold together in 95 % of \
         comparisons."
            .to_owned(),
    );
    sentences.extend(one_after_the_other(groups));
    sentences.extend(equal(&groups.figures, groups.difference));
    let undecided = groups.figures.iter().filter(|it| it.finding == TrialFinding::Undecided);
    sentences.extend(undecided.map(|figure| match figure.visible {
        _ if figure.picked => format!(
            "{} is undecided: the runs that count are the best of the group that often did not \
             carry the load.",
            figure.name
        ),
        Some(visible) => format!(
            "{} is undecided: these runs find a change of {} or more; for less, use more runs, or \
             memtide ab.",
            figure.name,
            visible_words(figure, visible)
        ),
        None if figure.pairs < 2 => {
            format!("{} is undecided: fewer than two runs of a group have it.", figure.name)
        }
        None => format!(
            "{} is undecided: the operations of some runs were not answered, and no ratio says how \
             much that is.",
            figure.name
        ),
    }));
    if let Some(last) = groups.left_out.last() {
        sentences.push(format!(
            "{} left out, because a run was not the load that was asked for; the last: {last}. \
             If the servers did not carry the load, rate and errors count all the same.",
            counted(groups.left_out.len() as u64, "record"),
        ));
    }
    if !groups.unlike.is_empty() {
        sentences.push(format!(
            "The records differ in {}: a change may come from that.",
            groups.unlike.join(", ")
        ));
    }
    sentences
}
