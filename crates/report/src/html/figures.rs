//! Tables of a page. A cell of a figure shows it rounded, and holds the record's exact figure in an
//! attribute.

use crate::answer::{AnswerRow, FigureNames, answer_rows, grade};
use crate::figure::Figure;
use crate::number::{NONE, rate, whole};
use crate::text::outcome_words;
use crate::times::{self, TimesRow};
use maud::{Markup, html};
use memtide_record::{Percentile, Record};

/// The text with no-break spaces within its numbers and before their units, so that no line ends in
/// a number.
pub(super) fn unbroken(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out = String::with_capacity(text.len() + 16);
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            let before = words[number - 1];
            out.push(if is_one_number(before, word) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// True if a word that ends in a digit or a sign and the next one are one number with its unit.
fn is_one_number(before: &str, word: &str) -> bool {
    const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "%", "B", "kB", "MB", "GB"];
    let unit = word.trim_end_matches(|letter: char| ",;:.)".contains(letter));
    let is_sign = matches!(before.trim_start_matches('('), "±" | ">" | "≥" | "≤" | "<" | "−");
    match before.ends_with(|letter: char| letter.is_ascii_digit()) {
        true => UNITS.contains(&unit) || is_group(word),
        false => is_sign && word.starts_with(|letter: char| letter.is_ascii_digit()),
    }
}

/// True if a word is the next three digits of a number.
fn is_group(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3 && !word[3..].starts_with(char::is_alphanumeric)
}

/// A row of a table of figures.
pub(super) struct Row {
    /// Path of the figures in the record, such as `response.get`; none for derived figures.
    pub(super) path: Option<String>,
    pub(super) label: String,
    pub(super) figures: Vec<Figure>,
}

/// A table with its headings and rows, the first cell of a row included; nothing without rows.
/// Columns of words are `wordy`, except the first.
pub(super) fn grid(
    caption: &str,
    headings: &[impl AsRef<str>],
    wordy: bool,
    rows: &[Markup],
) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.scroll tabindex="0" role="group" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead {
                        tr {
                            @for (number, heading) in headings.iter().enumerate() {
                                th.words[wordy && number > 0] scope="col" { (heading.as_ref()) }
                            }
                        }
                    }
                    tbody { @for row in rows { (row) } }
                }
            }
        }
    }
}

/// A table of figures.
pub(super) fn table(caption: &str, headings: &[impl AsRef<str>], rows: &[Row]) -> Markup {
    grid(caption, headings, false, &rows.iter().map(Row::markup).collect::<Vec<_>>())
}

impl Row {
    fn markup(&self) -> Markup {
        html! {
            tr data-figures=[self.path.as_ref()] {
                th scope="row" { (self.label) }
                @for Figure { name, words, value, why } in &self.figures {
                    td.figure data-name=(name) title=[why.as_ref()] {
                        @match value {
                            Some(value) => data value=(value) { (words) },
                            None => (words),
                        }
                    }
                }
            }
        }
    }
}

/// A table of words, with the first row as its heading; nothing if that is the only row.
pub(super) fn words(caption: &str, rows: &[Vec<String>]) -> Markup {
    let Some((heading, rows)) = rows.split_first() else { return html! {} };
    // A part or step that cannot be believed looks so.
    let verdict = heading.iter().position(|name| name == "believable");
    let rows = rows.iter().map(|row| {
        let is_doubtful = verdict.and_then(|at| row.get(at)).is_some_and(|it| it == "no");
        html! {
            tr class=[is_doubtful.then_some("doubtful")] {
                @for (number, cell) in row.iter().enumerate() {
                    @if number == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            }
        }
    });
    grid(caption, heading, false, &rows.collect::<Vec<_>>())
}

/// The percentiles of a table of times.
const PERCENTILES: [Percentile; 6] = [
    Percentile::P50,
    Percentile::P90,
    Percentile::P95,
    Percentile::P99,
    Percentile::P999,
    Percentile::P9999,
];

/// The answer: the main figures, each with its interval, memtide's share and its grade.
pub(super) fn answer(record: &Record) -> Markup {
    let rows = answer_rows(record);
    if record.measured_s <= 0.0 || rows.is_empty() {
        return html! {};
    }
    let headings = ["figure", "all", "95 % interval", "memtide", "believable"];
    let rows: Vec<Markup> = rows.iter().map(|row| answer_row(record, row)).collect();
    html! { div.answer { (grid(&outcome_words(record), &headings, false, &rows)) } }
}

fn answer_row(record: &Record, row: &AnswerRow) -> Markup {
    let graded = &row.graded;
    let FigureNames { path, value, ends } = row.names();
    let between = graded.sampled().map(|ends| ends.map(|end| row.word(end)));
    // What decides instead of an interval is no member of the record.
    let interval = graded.interval.filter(|_| graded.eighths.is_none());
    let grade = grade(record, row);
    let class = match grade.as_str() {
        "yes" => "good",
        "no" => "bad",
        NONE => "faint",
        _ => "warn",
    };
    html! {
        tr data-figures=(path) {
            th scope="row" { (graded.name()) }
            td.figure data-name=(value) {
                @match graded.value {
                    Some(value) => data value=(value) { (row.words) },
                    None => (row.words),
                }
            }
            td.interval title=[graded.reason.as_ref()] {
                @match (interval, between) {
                    (Some([low, high]), Some([from, to])) => {
                        span data-name=(ends[0]) { data value=(low) { (from) } } " – "
                        span data-name=(ends[1]) { data value=(high) { (to) } }
                    },
                    (None, Some([from, to])) => { (from) " – " (to) },
                    _ => (NONE),
                }
            }
            td.figure { (row.own) }
            td class=(class) title=[graded.reason.as_ref()] { (grade) }
        }
    }
}

/// Times of a run: response by kind, service, lag and its causes, and connections.
pub(super) fn response(record: &Record) -> Markup {
    let about = "Response is received − intended, service received − sent, lag sent − intended; \
                 below the lag are its causes: memtide (generator, client busy), the server, or no \
                 open connection.";
    times(about, "response", times::rows(record))
}

/// A row per server, if there are several.
pub(super) fn servers(record: &Record) -> Markup {
    times("Response by server.", "server", times::server_rows(record))
}

fn times(caption: &str, subject: &str, rows: Vec<TimesRow<'_>>) -> Markup {
    let percentiles = PERCENTILES.map(|percentile| percentile.to_string());
    let behind = ["mean", "max", "rate", "count", "unanswered"].map(str::to_owned);
    let headings = [subject.to_owned()].into_iter().chain(percentiles).chain(behind);
    let headings: Vec<String> = headings.collect();
    table(caption, &headings, &rows.into_iter().map(times_row).collect::<Vec<_>>())
}

fn times_row(TimesRow { path, label, per_s, times, .. }: TimesRow<'_>) -> Row {
    let mut figures = times::figures(times, &PERCENTILES);
    // The mean stands behind the percentiles.
    figures[..=PERCENTILES.len()].rotate_left(1);
    figures.extend([
        match per_s {
            Some(per_s) => Figure::known("per_s", rate(per_s), per_s),
            None => Figure::missing("per_s", "", None),
        },
        Figure::known("count", whole(times.count), times.count),
        Figure::known("unanswered", whole(times.unanswered), times.unanswered),
    ]);
    Row { path: Some(path), label, figures }
}
