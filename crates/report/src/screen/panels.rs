//! The panels below the summary: plots and tables.

use super::View;
use super::plots::{Curve, Plot, against_rate, heat};
use crate::compare::figure_rows;
use crate::live::{
    AGENT_COLUMNS, KIND_COLUMNS, Live, LiveStep, SERVER_COLUMNS, STEP_COLUMNS, time_word,
};
use crate::number::{counted, or_none, percent, rate, time, whole};
use memtide_base::units::format_bytes;
use memtide_record::ServerReport;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row, Table, Widget};

/// Fewest lines of a panel that shows two plots above each other.
const TALL: u16 = 14;

/// Rates, percentiles and the heat map.
pub(super) fn overview(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let halves = [Constraint::Percentage(50), Constraint::Percentage(50)];
    let [upper, lower] = match area.height >= TALL {
        true => Layout::vertical(halves).areas(area),
        false => Layout::vertical([Constraint::Min(0), Constraint::Length(0)]).areas(area),
    };
    let [left, right] = Layout::horizontal(halves).areas(upper);
    rates(live, view, left, out);
    times(live, view, right, out);
    if lower.height > 0 {
        heat(live, view, lower, out);
    }
}

fn rates(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let all = [
        Curve { name: "asked", colour: Color::Yellow, value: &|second| second.due_per_s },
        Curve { name: "answered", colour: Color::Green, value: &|it| Some(it.answered_per_s) },
    ];
    let plot = Plot { title: "rate", word: rate, least: 10.0, is_log: false };
    plot.curves(live, &all, view, area, out);
}

fn times(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let all = [
        Curve { name: "p99.9", colour: Color::Red, value: &|it| Some(it.response[2]? as f64) },
        Curve { name: "p99", colour: Color::Yellow, value: &|it| Some(it.response[1]? as f64) },
        Curve { name: "p50", colour: Color::Green, value: &|it| Some(it.response[0]? as f64) },
    ];
    let plot = Plot { title: "response", word: time, least: 1e4, is_log: true };
    plot.curves(live, &all, view, area, out);
}

/// Kinds of operation, servers, and what the servers say of themselves.
pub(super) fn parts(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let Some(now) = live.last() else { return };
    let (kinds, servers) = (live.kind_rows(), live.server_rows());
    let reports: Vec<Vec<String>> =
        now.reports.iter().map(|(name, report)| report_row(name, report)).collect();
    let [first, second, third] =
        Layout::vertical([height(kinds.len()), height(servers.len()), Constraint::Min(0)])
            .areas(area);
    table("kinds", &KIND_COLUMNS, kinds, view, first, out);
    table("servers, as memtide sees them", &SERVER_COLUMNS, servers, view, second, out);
    let heading = ["server", "operations", "hits", "CPU", "items", "evictions"];
    table("servers, as their stats say", &heading, reports, view, third, out);
}

/// Height of a table with this number of rows below its heading.
fn height(rows: usize) -> Constraint {
    Constraint::Length(u16::try_from(rows).unwrap_or(u16::MAX) + 3)
}

fn report_row(name: &str, of: &ServerReport) -> Vec<String> {
    let length_s = of.length_ns as f64 / 1e9;
    let cpu = of.cpu_user_us.zip(of.cpu_system_us);
    let cpu = cpu.map(|(user, system)| percent((user + system) as f64 / 1e6 / length_s.max(1e-9)));
    let hits = of.hits.zip(of.gets).filter(|(_, gets)| *gets > 0);
    let hits = hits.map(|(hits, gets)| percent(hits as f64 / gets as f64));
    vec![
        name.to_owned(),
        or_none(of.operations.map(|count| rate(count as f64 / length_s))),
        or_none(hits),
        or_none(cpu),
        or_none(of.items.map(whole)),
        or_none(of.evictions.map(whole)),
    ]
}

/// memtide's workers and their machine.
pub(super) fn machine(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(60), Constraint::Min(30)]).areas(area);
    let [upper, lower] =
        Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(left);
    let all = [
        Curve { name: "busiest worker", colour: Color::Cyan, value: &|second| second.busy },
        Curve { name: "without its CPU", colour: Color::Red, value: &|second| second.kept },
        Curve {
            name: "all CPUs",
            colour: Color::Yellow,
            value: &|second| second.host.as_ref()?.cpu_busy,
        },
    ];
    let plot = Plot { title: "busy", word: percent, least: 1.0, is_log: false };
    plot.curves(live, &all, view, upper, out);
    let all = [
        Curve {
            name: "backlog age",
            colour: Color::Red,
            value: &|second| Some(second.under_way.oldest_due_s? * 1e9),
        },
        Curve { name: "lag p99", colour: Color::Cyan, value: &|it| Some(it.lag_p99? as f64) },
    ];
    let plot = Plot { title: "lag and backlog", word: time, least: 1e5, is_log: true };
    plot.curves(live, &all, view, lower, out);
    let lines: Vec<Line<'_>> = facts(live).into_iter().map(Line::raw).collect();
    let block = Block::bordered().title("this second");
    Paragraph::new(lines).block(block).render(right, out);
}

/// What the last second says of memtide and its machine, a line each.
fn facts(live: &Live) -> Vec<String> {
    let Some(now) = live.last() else { return Vec::new() };
    let mut lines = Vec::new();
    for (number, busy) in now.workers.iter().enumerate() {
        lines.push(format!("worker {number}     {}", or_none(busy.map(percent))));
    }
    lines.push(format!("lag p99      {}", time_word(now.lag_p99)));
    lines.push(format!("service p99  {}", time_word(now.service_p99)));
    lines.push(format!("in flight    {}", or_none(now.under_way.in_flight.map(whole))));
    lines.push(format!("backlog      {}", or_none(now.under_way.backlog.map(whole))));
    let Some(host) = &now.host else { return lines };
    for (number, busy) in host.cpus.iter().enumerate() {
        lines.push(format!("CPU {number}        {}", percent(*busy)));
    }
    lines.push(format!("stolen       {}", or_none(host.stolen.map(percent))));
    lines.push(format!("ready        {} threads", or_none(host.runnable.map(whole))));
    lines.push(format!("received     {}", per_s(host.received_bytes, now.length_s)));
    lines.push(format!("sent         {}", per_s(host.sent_bytes, now.length_s)));
    lines.push(format!("retransmits  {}", or_none(host.retransmits.map(whole))));
    lines.push(format!("dropped      {}", or_none(host.dropped_packets.map(whole))));
    lines.push(format!("memory free  {}", or_none(host.available_bytes.map(format_bytes))));
    lines
}

/// Bytes per second in words.
fn per_s(bytes: Option<u64>, length_s: f64) -> String {
    let per_s = bytes.map(|bytes| (bytes as f64 / length_s.max(1e-9)) as u64);
    or_none(per_s.map(|bytes| format!("{}/s", format_bytes(bytes))))
}

/// The curve of a search or scan as it grows, and its steps, the latest first; of a trial, by how
/// much its arms differ so far.
pub(super) fn steps(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    if let Some(trial) = &live.trial {
        let rows = figure_rows(&trial.figures);
        let Some((heading, rows)) = rows.split_first() else { return };
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        let pairs = counted(trial.pairs.len() as u64, "pair");
        let title = format!("by how much B differs from A after {pairs}");
        return table(&title, &heading, rows.to_vec(), view, area, out);
    }
    let rows: Vec<Vec<String>> = live.steps.iter().rev().map(LiveStep::row).collect();
    if rows.is_empty() {
        let words = "No step is over. Steps are those of a search, a scan or ab.";
        return nothing("steps", words, area, out);
    }
    let [upper, lower] = match area.height >= TALL {
        true => Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]).areas(area),
        false => Layout::vertical([Constraint::Length(0), Constraint::Min(0)]).areas(area),
    };
    if upper.height > 0 {
        against_rate(live, view, upper, out);
    }
    table("steps, the latest first", &STEP_COLUMNS, rows, view, lower, out);
}

/// The agents of the run in the last second.
pub(super) fn agents(live: &Live, view: &View, area: Rect, out: &mut Buffer) {
    let (rows, more) = live.agent_rows();
    if rows.is_empty() {
        let words = "No agent has reported a second. Agents are those of --agents.";
        return nothing("agents", words, area, out);
    }
    let more = if more > 0 { format!("; {more} more are faster") } else { String::new() };
    let title = format!("agents in the last second{more}");
    table(&title, &AGENT_COLUMNS, rows, view, area, out);
}

fn nothing(title: &str, words: &str, area: Rect, out: &mut Buffer) {
    Paragraph::new(words).block(Block::bordered().title(title)).render(area, out);
}

fn table(
    title: &str,
    heading: &[&str],
    rows: Vec<Vec<String>>,
    view: &View,
    area: Rect,
    out: &mut Buffer,
) {
    let widths = heading.iter().enumerate().map(|(column, name)| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        let widest = cells.chain([name.chars().count()]).max().unwrap_or(0);
        Constraint::Length(u16::try_from(widest + 1).unwrap_or(u16::MAX))
    });
    let widths: Vec<Constraint> = widths.collect();
    let rows: Vec<Row<'_>> = rows.into_iter().map(Row::new).collect();
    let heading = Row::new(heading.iter().map(|cell| (*cell).to_owned())).style(view.strong());
    let table = Table::new(rows, widths).header(heading);
    Widget::render(table.block(Block::bordered().title(title.to_owned())), area, out);
}
