//! The tables of times: response by kind, then where the time went, then each server.
//!
//! A percentile without figure is a dash or a bound here, and a line below says why.

use crate::layout::{Table, labelled};
use crate::number::{NONE, bound, rate, time, whole};
use memtide_schema::record::{Distribution, Missing, Percentile, Record};
use std::collections::BTreeMap;

/// The percentiles of a table.
const COLUMNS: [Percentile; 5] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999, Percentile::P9999];

/// Response by kind, service, lag and its parts, and what the reader must know of the cells.
pub(crate) fn times(out: &mut String, record: &Record) {
    let mut table = table("response", "count", "rate");
    for (kind, response) in &record.response {
        table.row(full_row(kind.name(), response, record.measured_s));
    }
    let mut below = |label: &str, distribution: Option<&Distribution>| {
        if let Some(distribution) = distribution.filter(|d| d.count > 0) {
            table.row(time_row(label, distribution));
        }
    };
    let all = memtide_schema::Kind::All;
    below("service", record.service.get(&all));
    below("lag", record.lag.get(&all));
    let split = &record.lag_split;
    let parts = [
        ("· generator", &split.generator),
        ("· client busy", &split.client_busy),
        ("· server", &split.server),
        ("· disconnected", &split.disconnected),
    ];
    for (label, part) in parts {
        below(label, Some(part).filter(|part| part.max_ns.is_some_and(|max| max > 0)));
    }
    below("client delay", Some(&record.client_delay));
    table.render(out);
    footnotes(out, record);
}

/// A row per server, when there are several.
pub(crate) fn servers(out: &mut String, record: &Record) {
    if record.servers.len() < 2 {
        return;
    }
    out.push('\n');
    let mut table = table("server", "answered", "rate");
    for server in &record.servers {
        let mut row =
            vec![server.name.clone(), whole(server.totals.answered), rate(server.rate_per_s)];
        row.extend(time_cells(&server.response));
        table.row(row);
    }
    table.render(out);
}

fn table(subject: &str, count: &str, rate: &str) -> Table {
    let percentiles = COLUMNS.map(|percentile| percentile.to_string());
    let mut heading = vec![subject, count, rate, "mean"];
    heading.extend(percentiles.iter().map(String::as_str));
    heading.push("max");
    Table::new(&heading)
}

fn full_row(label: &str, distribution: &Distribution, measured_s: f64) -> Vec<String> {
    let answered = distribution.count.saturating_sub(distribution.unanswered);
    let per_s = match measured_s > 0.0 {
        true => rate(answered as f64 / measured_s),
        false => NONE.to_owned(),
    };
    let mut row = vec![label.to_owned(), whole(distribution.count), per_s];
    row.extend(time_cells(distribution));
    row
}

/// A row of what was not counted by kind: no count, no rate.
fn time_row(label: &str, distribution: &Distribution) -> Vec<String> {
    let mut row = vec![label.to_owned(), String::new(), String::new()];
    row.extend(time_cells(distribution));
    row
}

fn time_cells(distribution: &Distribution) -> Vec<String> {
    let mut cells = vec![distribution.mean_ns.map_or_else(|| NONE.to_owned(), time)];
    cells.extend(COLUMNS.map(|percentile| percentile_cell(distribution, percentile)));
    let max = distribution.max_ns.map_or_else(|| NONE.to_owned(), |max| time(max as f64));
    // The longest of all is never an answered one when some were not answered.
    cells.push(above(distribution).unwrap_or(max));
    cells
}

fn percentile_cell(distribution: &Distribution, percentile: Percentile) -> String {
    match (distribution.percentile(percentile), distribution.missing.get(&percentile)) {
        (Some(ns), _) => time(ns as f64),
        (None, Some(Missing::Unanswered)) => above(distribution).unwrap_or_else(|| NONE.to_owned()),
        (None, _) => NONE.to_owned(),
    }
}

/// `> 5 s`, when some operations were not answered.
fn above(distribution: &Distribution) -> Option<String> {
    let at_least = distribution.at_least_ns.filter(|_| distribution.unanswered > 0)?;
    Some(format!("> {}", bound(at_least)))
}

/// What the cells mean that are no plain times.
fn footnotes(out: &mut String, record: &Record) {
    let mut needs = BTreeMap::new();
    let shown = record.response.values().chain(record.service.values().take(1));
    for distribution in shown.clone() {
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
    let worst = shown.max_by_key(|distribution| distribution.unanswered);
    if let Some((worst, above)) = worst.and_then(|worst| Some((worst, above(worst)?))) {
        let count = whole(worst.unanswered);
        let text = format!("among {count} operations that were not answered; means leave them out");
        labelled(out, &above, &text);
    }
}
