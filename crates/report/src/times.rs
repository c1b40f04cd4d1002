//! The tables of times: response by kind, then service and lag, then each server. Every output with
//! such a table shows these rows.
//!
//! A figure that is not known shows as a dash or a bound, and a line below gives the reason.

use crate::figure::Figure;
use crate::layout::{TextLayout, TextTable, labelled};
use crate::number::{NONE, above, at_least, bound, rate, time, whole};
use memtide_record::{Distribution, LagSplit, Missing, Percentile, Record};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// The percentiles of a text's table.
const COLUMNS: [Percentile; 5] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999, Percentile::P9999];
/// Columns that a narrow terminal may omit, least needed first.
const DISPENSABLE: [&str; 7] = ["p99.99", "p90", "mean", "p99.9", "rate", "count", "answered"];
/// Longest name of a server in a table, in characters.
const NAME: usize = 24;
/// A time above all those that are known, such as the service time of an operation without answer.
const UNBOUNDED: &str = "> ?";

/// A row of times.
pub(crate) struct TimesRow<'a> {
    /// Path of its figures in the record, such as `response.get`.
    pub(crate) path: String,
    pub(crate) label: String,
    /// Number of operations; none for times that are not counted by kind.
    pub(crate) count: Option<u64>,
    pub(crate) per_s: Option<f64>,
    pub(crate) times: &'a Distribution,
}

impl<'a> TimesRow<'a> {
    fn new(path: impl Into<String>, label: impl Into<String>, times: &'a Distribution) -> Self {
        Self { path: path.into(), label: label.into(), count: None, per_s: None, times }
    }
}

/// The parts of the lag, each with its name in the record and its label.
pub(crate) fn lag_parts(split: &LagSplit) -> [(&'static str, &'static str, &Distribution); 4] {
    [
        ("generator", "generator", &split.generator),
        ("client_busy", "client busy", &split.client_busy),
        ("server", "server", &split.server),
        ("disconnected", "disconnected", &split.disconnected),
    ]
}

/// Response by kind, service, lag and its causes, and times of connections. A kind without
/// operations has no row. Whether a get hits is unknown when it is sent, so hits and misses have no
/// rate.
pub(crate) fn rows(record: &Record) -> Vec<TimesRow<'_>> {
    let rates = &record.rate;
    let kinds =
        record.response.iter().filter(|(kind, times)| **kind == Kind::All || times.count > 0);
    let mut rows: Vec<TimesRow<'_>> = kinds
        .map(|(kind, times)| TimesRow {
            count: Some(times.count),
            per_s: match kind {
                Kind::All => Some(rates.achieved_per_s).filter(|per_s| per_s.is_finite()),
                _ => rates.kinds_per_s.get(kind).copied().filter(|per_s| per_s.is_finite()),
            },
            ..TimesRow::new(format!("response.{kind}"), kind.name(), times)
        })
        .collect();
    let whole = [("service", &record.service), ("lag", &record.lag)];
    let whole = whole.into_iter().filter_map(|(name, by)| {
        Some(TimesRow::new(format!("{name}.all"), name, by.get(&Kind::All)?))
    });
    let parts = lag_parts(&record.lag_split);
    let parts = parts.into_iter().filter(|(.., part)| part.max_ns.is_some_and(|max| max > 0));
    let parts = parts.map(|(name, label, part)| {
        TimesRow::new(format!("lag_split.{name}"), format!("· {label}"), part)
    });
    let delay = TimesRow::new("client_delay", "client delay", &record.client_delay);
    let connections = &record.totals.connections;
    let is_split = connections.handshakes_full + connections.handshakes_resumed > 0;
    let churn = record.churn.iter().flat_map(move |churn| {
        let parts = [
            TimesRow::new("churn.connect_tcp", "·· TCP", &churn.connect_tcp),
            TimesRow::new("churn.handshake", "·· handshake", &churn.handshake),
            TimesRow::new("churn.first_reply", "first reply", &churn.first_reply),
        ];
        let parts = parts.into_iter().filter(move |_| is_split);
        [
            TimesRow::new("churn.connect", "connect", &churn.connect),
            TimesRow::new("churn.connect_service", "· connecting", &churn.connect_service),
        ]
        .into_iter()
        .chain(parts)
        .chain([TimesRow::new("churn.lifetime", "lifetime", &churn.lifetime)])
    });
    let below = whole.chain(parts).chain([delay]).chain(churn);
    rows.extend(below.filter(|row| row.times.count > 0));
    rows
}

/// A row for each server, if there are several.
pub(crate) fn server_rows(record: &Record) -> Vec<TimesRow<'_>> {
    let servers = record.servers.iter().enumerate().filter(|_| record.servers.len() > 1);
    let rows = servers.map(|(number, server)| TimesRow {
        count: Some(server.totals.answered),
        per_s: Some(server.rate_per_s),
        ..TimesRow::new(format!("servers.{number}"), &server.name, &server.response)
    });
    rows.collect()
}

/// The figures of a row: the mean, these percentiles, and the maximum.
pub(crate) fn figures(times: &Distribution, percentiles: &[Percentile]) -> Vec<Figure> {
    let least = times.mean_at_least_ns.map(time);
    let mut figures = vec![moment(times, "mean_ns", times.mean_ns, least)];
    figures.extend(percentiles.iter().map(|percentile| at(times, *percentile)));
    let least = times.max_at_least_ns.map(bound);
    figures.push(moment(times, "max_ns", times.max_ns.map(|ns| ns as f64), least));
    figures
}

/// The mean or the maximum of `times`: the least that it can be if operations were not answered.
fn moment(times: &Distribution, name: &str, ns: Option<f64>, least: Option<String>) -> Figure {
    let why = "operations were not answered, and each counts with what is known of it";
    match (ns, least) {
        (Some(ns), _) => Figure::known(name, time(ns), ns),
        (None, Some(least)) => Figure::missing(name, at_least(&least), Some(why)),
        (None, None) if times.unanswered > 0 => Figure::missing(name, UNBOUNDED, Some(why)),
        (None, None) => Figure::missing(name, NONE, None),
    }
}

fn at(times: &Distribution, percentile: Percentile) -> Figure {
    // p99.9 is p999_ns in the record.
    let name = format!("{}_ns", percentile.to_string().replace('.', ""));
    if let Some(ns) = times.percentile(percentile) {
        return Figure::known(name, time(ns as f64), ns);
    }
    let why = match times.missing.get(&percentile) {
        Some(Missing::TooFew { needed, has }) => Some(format!(
            "it needs {} operations, and {} were measured",
            whole(*needed),
            whole(*has)
        )),
        Some(Missing::Unanswered) => {
            Some("it falls among operations that were not answered".to_owned())
        }
        None => None,
    };
    let words = match (times.percentile_at_least(percentile), times.missing.get(&percentile)) {
        (Some(at_least_ns), _) => above(at_least_ns),
        (None, Some(Missing::Unanswered)) => UNBOUNDED.to_owned(),
        (None, _) => NONE.to_owned(),
    };
    Figure::missing(name, words, why.as_deref())
}

/// Adds response by kind, service, lag and its causes; a row per server if there are several; and
/// notes on the cells.
pub(crate) fn times(out: &mut TextLayout, record: &Record) {
    let (rows, servers) = (rows(record), server_rows(record));
    table("response", "count", &rows).render(out);
    if !servers.is_empty() {
        out.push('\n');
        table("server", "answered", &servers).render(out);
    }
    footnotes(out, &rows.iter().chain(&servers).collect::<Vec<_>>());
}

/// The first table of times of a record.
pub(crate) fn response_table(record: &Record) -> TextTable {
    table("response", "count", &rows(record))
}

fn table(subject: &str, count: &str, rows: &[TimesRow<'_>]) -> TextTable {
    let heading = [subject, count, "rate", "mean"].map(str::to_owned).into_iter();
    let heading = heading.chain(COLUMNS.map(|percentile| percentile.to_string()));
    let heading: Vec<String> = heading.chain(["max".to_owned()]).collect();
    let mut table = TextTable::new(&heading, &DISPENSABLE);
    for row in rows {
        let count = row.count.map_or_else(String::new, whole);
        let per_s = row.per_s.map_or_else(String::new, rate);
        let cells = figures(row.times, &COLUMNS).into_iter().map(|figure| figure.words);
        table.row([shortened(&row.label), count, per_s].into_iter().chain(cells).collect());
    }
    table
}

/// Shortens a server's name to the column's width. Its end, a port or a file, tells servers apart.
fn shortened(name: &str) -> String {
    let surplus = name.chars().count().saturating_sub(NAME);
    match surplus {
        0 => name.to_owned(),
        _ => format!("…{}", name.chars().skip(surplus + 1).collect::<String>()),
    }
}

/// Adds notes on cells that are not plain times.
fn footnotes(out: &mut TextLayout, rows: &[&TimesRow<'_>]) {
    let shown: Vec<&Distribution> = rows.iter().map(|row| row.times).collect();
    if shown.iter().all(|distribution| distribution.count == 0) {
        labelled(out, NONE, "no times were measured");
        return;
    }
    let mut needs = BTreeMap::new();
    for distribution in shown.iter().filter(|distribution| distribution.count > 0) {
        for percentile in COLUMNS {
            if let Some(Missing::TooFew { needed, .. }) = distribution.missing.get(&percentile) {
                needs.insert(percentile, *needed);
            }
        }
    }
    if !needs.is_empty() {
        let each = needs
            .iter()
            .map(|(percentile, needed)| format!("{percentile} needs {}", whole(*needed)));
        let each = each.collect::<Vec<_>>().join(", ");
        labelled(out, NONE, &format!("too few operations for this percentile: {each}"));
    }
    for (is_of_churn, what) in
        [(false, "operations that were not answered"), (true, "connections that did not complete")]
    {
        let of = rows.iter().filter(|row| row.path.starts_with("churn.") == is_of_churn);
        unanswered(out, what, &of.map(|row| row.times).collect::<Vec<_>>());
    }
}

/// Adds notes on cells that fall among what has no time: `what`.
fn unanswered(out: &mut TextLayout, what: &str, shown: &[&Distribution]) {
    let among =
        shown.iter().filter(|it| it.missing.values().any(|why| *why == Missing::Unanswered));
    let (bounded, lost): (Vec<&Distribution>, Vec<&Distribution>) =
        among.partition(|it| it.at_least_ns.is_some());
    if let Some(lost) = lost.iter().map(|it| it.unanswered).max() {
        let count = whole(lost);
        labelled(out, UNBOUNDED, &format!("falls among {count} operations sent and not answered"));
    }
    let worst = bounded.iter().max_by_key(|it| it.unanswered);
    if let Some((worst, at_least_ns)) = worst.and_then(|it| Some((it, it.at_least_ns?))) {
        let text = format!("falls among {} {what}", whole(worst.unanswered));
        // If the window's end cut some operations off, each cell has its own bound.
        let label = worst.bounds.as_ref().map_or_else(|| above(at_least_ns), |_| ">".to_owned());
        labelled(out, &label, &text);
    }
    if let Some(most) = shown.iter().map(|it| it.unanswered).max().filter(|most| *most > 0) {
        let text = format!("lower bound: {} {what} count with what is known of them", whole(most));
        labelled(out, "≥", &text);
    }
}
