//! Tables of a page. A cell of a figure shows it rounded, and holds the record's exact figure in an
//! attribute.

use crate::figure::Figure;
use crate::number::{rate, whole};
use crate::times::{self, TimesRow};
use maud::{Markup, html};
use memtide_record::{Percentile, Record};

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
    let row = |row: &Row| {
        html! {
            tr data-figures=[row.path.as_ref()] {
                th scope="row" { (row.label) }
                @for Figure { name, words, value, why } in &row.figures {
                    td.figure data-name=(name) title=[why.as_ref()] {
                        @match value {
                            Some(value) => data value=(value) { (words) },
                            None => (words),
                        }
                    }
                }
            }
        }
    };
    grid(caption, headings, false, &rows.iter().map(row).collect::<Vec<_>>())
}

/// A table of words, with the first row as its heading; nothing if that is the only row.
pub(super) fn words(caption: &str, rows: &[Vec<String>]) -> Markup {
    let Some((heading, rows)) = rows.split_first() else { return html! {} };
    let row = |row: &Vec<String>| {
        html! {
            tr {
                @for (number, cell) in row.iter().enumerate() {
                    @if number == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            }
        }
    };
    grid(caption, heading, false, &rows.iter().map(row).collect::<Vec<_>>())
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
    let headings = [subject, "count", "unanswered", "rate", "mean"].map(str::to_owned);
    let headings: Vec<String> =
        headings.into_iter().chain(percentiles).chain(["max".to_owned()]).collect();
    let row = |TimesRow { path, label, per_s, times, .. }| {
        let mut figures = vec![
            Figure::known("count", whole(times.count), times.count),
            Figure::known("unanswered", whole(times.unanswered), times.unanswered),
            match per_s {
                Some(per_s) => Figure::known("per_s", rate(per_s), per_s),
                None => Figure::missing("per_s", "", None),
            },
        ];
        figures.extend(times::figures(times, &PERCENTILES));
        Row { path: Some(path), label, figures }
    };
    table(caption, &headings, &rows.into_iter().map(row).collect::<Vec<_>>())
}
