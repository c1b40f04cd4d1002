//! Tables of a page. A cell shows a rounded figure, and holds the record's exact figure in an
//! attribute.

use crate::number::{NONE, bound, rate, time, whole};
use maud::{Markup, html};
use memtide_record::LagSplit;
use memtide_record::{Distribution, Missing, Percentile, RateRecord, Record};
use memtide_scenario::Kind;

/// A cell: its text, and the exact figure, if it has one.
pub(super) struct Figure {
    /// Name of the figure in the record.
    pub(super) name: &'static str,
    pub(super) words: String,
    pub(super) value: Option<String>,
    /// Reason why there is no figure.
    pub(super) why: Option<String>,
}

impl Figure {
    pub(super) fn known(name: &'static str, words: String, value: impl ToString) -> Self {
        Self { name, words, value: Some(value.to_string()), why: None }
    }

    pub(super) fn missing(name: &'static str, words: String, why: Option<String>) -> Self {
        Self { name, words, value: None, why }
    }

    fn or_missing(name: &'static str, known: Option<(String, String)>) -> Self {
        match known {
            Some((words, value)) => Self::known(name, words, value),
            None => Self::missing(name, NONE.to_owned(), None),
        }
    }

    fn cell(&self) -> Markup {
        html! {
            td.figure data-name=(self.name) title=[self.why.as_ref()] {
                @match &self.value {
                    Some(value) => data value=(value) { (self.words) },
                    None => (self.words),
                }
            }
        }
    }
}

/// A row of a table of figures.
pub(super) struct Row {
    /// Path of the figures in the record, such as `response.get`.
    pub(super) path: String,
    pub(super) label: String,
    pub(super) figures: Vec<Figure>,
}

/// A table of figures with its headings; nothing without rows.
pub(super) fn table(caption: &str, headings: &[&str], rows: &[Row]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.scroll tabindex="0" role="group" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                    tbody {
                        @for row in rows {
                            tr data-figures=(row.path) {
                                th scope="row" { (row.label) }
                                @for figure in &row.figures { (figure.cell()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A table of words, with the first row as its heading; nothing if that is the only row.
pub(super) fn words(caption: &str, rows: &[Vec<String>]) -> Markup {
    let (heading, rows) =
        rows.split_first().map_or((&[][..], &[][..]), |(first, rest)| (first.as_slice(), rest));
    html! {
        @if !rows.is_empty() {
            div.scroll tabindex="0" role="group" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for cell in heading { th scope="col" { (cell) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (number, cell) in row.iter().enumerate() {
                                    @if number == 0 { th scope="row" { (cell) } }
                                    @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Headings of the columns that [`times`] makes.
const TIMES: [&str; 8] = ["mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
const NAMES: [(Percentile, &str); 6] = [
    (Percentile::P50, "p50_ns"),
    (Percentile::P90, "p90_ns"),
    (Percentile::P95, "p95_ns"),
    (Percentile::P99, "p99_ns"),
    (Percentile::P999, "p999_ns"),
    (Percentile::P9999, "p9999_ns"),
];

/// Times of a run: response by kind, service and lag.
pub(super) fn response(record: &Record) -> Markup {
    let headings: Vec<&str> =
        ["operations", "count", "unanswered", "rate"].into_iter().chain(TIMES).collect();
    let is_shown = |(kind, times): &(&Kind, &Distribution)| **kind == Kind::All || times.count > 0;
    let rows = record.response.iter().filter(is_shown).map(|(kind, times)| {
        row(
            format!("response.{kind}"),
            format!("{kind} response"),
            times,
            per_s(*kind, &record.rate),
        )
    });
    let others = [("service", &record.service), ("lag", &record.lag)];
    let others = others.into_iter().filter_map(|(name, by_kind)| {
        let times = by_kind.get(&Kind::All).filter(|times| times.count > 0)?;
        Some(row(format!("{name}.all"), name.to_owned(), times, None))
    });
    let delay = Some(&record.client_delay).filter(|delay| delay.count > 0);
    let delay =
        delay.map(|delay| row("client_delay".to_owned(), "client delay".to_owned(), delay, None));
    let rows: Vec<Row> = rows.chain(others).chain(delay).collect();
    let caption = "Response is received − intended, service received − sent, lag sent − intended.";
    table(caption, &headings, &rows)
}

/// The lag by cause.
pub(super) fn lag_split(split: &LagSplit) -> Markup {
    let headings: Vec<&str> =
        ["cause of lag", "count", "unanswered", "rate"].into_iter().chain(TIMES).collect();
    let parts = [
        ("generator", "generator", &split.generator),
        ("client_busy", "client busy", &split.client_busy),
        ("server", "server", &split.server),
        ("disconnected", "disconnected", &split.disconnected),
    ];
    let parts = parts.into_iter().filter(|(_, _, times)| times.count > 0);
    let rows: Vec<Row> = parts
        .map(|(name, label, times)| row(format!("lag_split.{name}"), label.to_owned(), times, None))
        .collect();
    table(
        "Lag by cause: memtide (generator, client busy), the server, or no open connection.",
        &headings,
        &rows,
    )
}

/// A row per server.
pub(super) fn servers(record: &Record) -> Markup {
    let headings: Vec<&str> =
        ["server", "count", "unanswered", "rate"].into_iter().chain(TIMES).collect();
    let servers = record.servers.iter().enumerate();
    let rows: Vec<Row> = servers
        .map(|(number, server)| {
            let per_s = Some(server.rate_per_s);
            row(format!("servers.{number}"), server.name.clone(), &server.response, per_s)
        })
        .collect();
    table("Response by server.", &headings, if rows.len() > 1 { &rows } else { &[] })
}

fn per_s(kind: Kind, rates: &RateRecord) -> Option<f64> {
    match kind {
        Kind::All => Some(rates.achieved_per_s).filter(|rate| rate.is_finite()),
        _ => rates.kinds_per_s.get(&kind).copied(),
    }
}

fn row(path: String, label: String, times: &Distribution, per_s: Option<f64>) -> Row {
    let mut figures = vec![
        Figure::known("count", whole(times.count), times.count),
        Figure::known("unanswered", whole(times.unanswered), times.unanswered),
        match per_s {
            Some(per_s) => Figure::known("per_s", rate(per_s), per_s),
            None => Figure::missing("per_s", String::new(), None),
        },
        Figure::or_missing("mean_ns", times.mean_ns.map(|ns| (time(ns), ns.to_string()))),
    ];
    figures.extend(NAMES.map(|(percentile, name)| at(times, percentile, name)));
    figures.push(match (times.max_at_least(), times.max_ns) {
        (Some(least), _) => {
            let why = "the longest operation was not answered".to_owned();
            Figure::missing("max_ns", format!("> {}", bound(least)), Some(why))
        }
        (None, _) if times.unanswered > 0 => {
            let why = "the longest operation was not answered".to_owned();
            Figure::missing("max_ns", NONE.to_owned(), Some(why))
        }
        (None, max) => {
            Figure::or_missing("max_ns", max.map(|ns| (time(ns as f64), ns.to_string())))
        }
    });
    Row { path, label, figures }
}

fn at(times: &Distribution, percentile: Percentile, name: &'static str) -> Figure {
    if let Some(ns) = times.percentile(percentile) {
        return Figure::known(name, time(ns as f64), ns);
    }
    let words = match times.percentile_at_least(percentile) {
        Some(least) => format!("> {}", bound(least)),
        None => NONE.to_owned(),
    };
    let why = times.missing.get(&percentile).map(|why| match why {
        Missing::TooFew { needed, has } => {
            format!("it needs {} operations, and {} were measured", whole(*needed), whole(*has))
        }
        Missing::Unanswered => "it falls among operations that were not answered".to_owned(),
    });
    Figure::missing(name, words, why)
}
