//! The tables of times: response by kind, then service and lag, then each server.
//!
//! A percentile without a figure shows as a dash or a bound, and a line below gives the reason.

use crate::layout::{TextLayout, TextTable, labelled};
use crate::number::{NONE, bound, rate, time, whole};
use memtide_record::{Distribution, Missing, Percentile, RateRecord, Record};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// The percentiles of a table.
const COLUMNS: [Percentile; 5] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999, Percentile::P9999];
/// Columns that a narrow terminal may omit, least needed first.
const DISPENSABLE: [&str; 7] = ["p99.99", "p90", "mean", "p99.9", "rate", "count", "answered"];
/// Longest name of a server in a table, in characters.
const NAME: usize = 24;

/// Adds response by kind, service, lag and its causes; a row per server if there are several; and
/// notes on the cells.
pub(crate) fn times(out: &mut TextLayout, record: &Record) {
    let (table, mut shown) = response_table(record);
    table.render(out);
    if record.servers.len() > 1 {
        out.push('\n');
        shown.extend(servers(out, record));
    }
    footnotes(out, &shown);
}

/// The first table, with the distributions that it shows. A kind without operations has no row.
pub(crate) fn response_table(record: &Record) -> (TextTable, Vec<&Distribution>) {
    let mut table = table("response", "count", "rate");
    let mut shown = Vec::new();
    for (kind, response) in &record.response {
        if *kind == Kind::All || response.count > 0 {
            table.row(full_row(*kind, response, &record.rate));
            shown.push(response);
        }
    }
    let split = &record.lag_split;
    let parts = [
        ("· generator", &split.generator),
        ("· client busy", &split.client_busy),
        ("· server", &split.server),
        ("· disconnected", &split.disconnected),
    ];
    let parts = parts.into_iter().filter(|(_, part)| part.max_ns.is_some_and(|max| max > 0));
    let whole = [("service", &record.service), ("lag", &record.lag)];
    let whole = whole.into_iter().filter_map(|(label, by)| Some((label, by.get(&Kind::All)?)));
    let below = whole.chain(parts).chain([("client delay", &record.client_delay)]);
    let churn = record.churn.iter().flat_map(|churn| {
        [
            ("connect", &churn.connect),
            ("· connecting", &churn.connect_service),
            ("lifetime", &churn.lifetime),
        ]
    });
    let below = below.chain(churn);
    for (label, distribution) in below.filter(|(_, distribution)| distribution.count > 0) {
        table.row(time_row(label, distribution));
        shown.push(distribution);
    }
    (table, shown)
}

/// Adds a row per server; returns the distributions shown.
fn servers<'a>(out: &mut TextLayout, record: &'a Record) -> Vec<&'a Distribution> {
    let mut table = table("server", "answered", "rate");
    for server in &record.servers {
        let answered = whole(server.totals.answered);
        let mut row = vec![shortened(&server.name), answered, rate(server.rate_per_s)];
        row.extend(time_cells(&server.response));
        table.row(row);
    }
    table.render(out);
    record.servers.iter().map(|server| &server.response).collect()
}

/// Shortens a server's name to the column's width. Its end, a port or a file, tells servers apart.
fn shortened(name: &str) -> String {
    let surplus = name.chars().count().saturating_sub(NAME);
    match surplus {
        0 => name.to_owned(),
        _ => format!("…{}", name.chars().skip(surplus + 1).collect::<String>()),
    }
}

fn table(subject: &str, count: &str, rate: &str) -> TextTable {
    let percentiles = COLUMNS.map(|percentile| percentile.to_string());
    let mut heading = vec![subject, count, rate, "mean"];
    heading.extend(percentiles.iter().map(String::as_str));
    heading.push("max");
    TextTable::new(&heading).without(&DISPENSABLE)
}

/// A row of one kind. Whether a get hits is unknown when it is sent, so hits and misses have no
/// rate.
fn full_row(kind: Kind, distribution: &Distribution, rates: &RateRecord) -> Vec<String> {
    let per_s = match kind {
        Kind::All => Some(&rates.achieved_per_s),
        _ => rates.kinds_per_s.get(&kind),
    };
    let per_s =
        per_s.filter(|per_s| per_s.is_finite()).map_or_else(String::new, |per_s| rate(*per_s));
    let mut row = vec![kind.name().to_owned(), whole(distribution.count), per_s];
    row.extend(time_cells(distribution));
    row
}

/// A row of times that are not counted by kind: no count, no rate.
fn time_row(label: &str, distribution: &Distribution) -> Vec<String> {
    let mut row = vec![label.to_owned(), String::new(), String::new()];
    row.extend(time_cells(distribution));
    row
}

fn time_cells(distribution: &Distribution) -> Vec<String> {
    let mut cells = vec![distribution.mean_ns.map_or_else(|| NONE.to_owned(), time)];
    cells.extend(COLUMNS.map(|percentile| percentile_cell(distribution, percentile)));
    // If some operations were unanswered, the maximum is one of them.
    cells.push(match (distribution.max_at_least(), distribution.max_ns) {
        (Some(at_least_ns), _) => above(at_least_ns),
        (None, _) if distribution.unanswered > 0 => UNBOUNDED.to_owned(),
        (None, Some(max)) => time(max as f64),
        (None, None) => NONE.to_owned(),
    });
    cells
}

fn percentile_cell(distribution: &Distribution, percentile: Percentile) -> String {
    match (distribution.percentile(percentile), distribution.percentile_at_least(percentile)) {
        (Some(ns), _) => time(ns as f64),
        (None, Some(at_least_ns)) => above(at_least_ns),
        (None, None) if distribution.missing.get(&percentile) == Some(&Missing::Unanswered) => {
            UNBOUNDED.to_owned()
        }
        (None, None) => NONE.to_owned(),
    }
}

/// A time above all those that are known, such as the service time of an operation without answer.
const UNBOUNDED: &str = "> ?";

/// Formats a lower bound: `> 5 s`, for unanswered operations.
fn above(at_least_ns: u64) -> String {
    format!("> {}", bound(at_least_ns))
}

/// Adds notes on cells that are not plain times.
fn footnotes(out: &mut TextLayout, shown: &[&Distribution]) {
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
    let lost = shown.iter().filter(|it| it.unanswered > 0 && it.max_at_least().is_none());
    if let Some(lost) = lost.map(|it| it.unanswered).max() {
        let count = whole(lost);
        labelled(out, UNBOUNDED, &format!("falls among {count} operations sent and not answered"));
    }
    let bounded = shown.iter().filter(|it| it.max_at_least().is_some());
    let worst = bounded.max_by_key(|distribution| distribution.unanswered);
    if let Some((worst, at_least_ns)) = worst.and_then(|it| Some((it, it.max_at_least()?))) {
        let count = whole(worst.unanswered);
        let text =
            format!("falls among {count} operations that were not answered; means exclude them");
        // If the window's end cut some operations off, each cell has its own bound.
        let label = worst.bounds.as_ref().map_or_else(|| above(at_least_ns), |_| ">".to_owned());
        labelled(out, &label, &text);
    }
}
