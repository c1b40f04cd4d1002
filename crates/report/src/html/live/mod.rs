//! The page on which a run is watched: a frame that is loaded once, and a part that a script
//! replaces each second. Its charts are those of the finished page.

use super::chart::{Cell, Chart, FromZero, Limit, Line, TimedValue, values};
use super::comparison::trial_so_far;
use super::figures::words;
use super::over_time::{busy_limit, real, rounded};
use super::steps::curve;
use super::{SCRIPT, STYLE, shell};
use crate::axis::{Axis, Scale};
use crate::live::{
    AGENT_COLUMNS, HEAT_CELLS, KIND_COLUMNS, Live, LiveSecond, LiveStep, SERVER_COLUMNS,
    STEP_COLUMNS, Suspect, heat_edge, time_word, unanswered,
};
use crate::number::{or_none, percent, rate, seconds, time, whole};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use memtide_record::steps::Point;

const LIVE_SCRIPT: &str = include_str!("live.js");
/// As the policy of the finished page, and requests to where the page came from.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'";

/// The page with what is known now. Its script replaces that again and again.
pub fn live_page(live: &Live) -> String {
    let state = if live.last().is_some() { "under way" } else { "waiting for the first second" };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "memtide: a run under way" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "memtide: a run under way" }
                    p {
                        button #pause type="button" aria-pressed="false" { "Pause the picture" }
                        " " span #state role="status" { (state) }
                    }
                    div #live { (PreEscaped(live_part(live))) }
                }
                script { (PreEscaped(SCRIPT)) }
                script { (PreEscaped(LIVE_SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// A list of pages by their names; the page of each is at its number, from 0.
pub fn index_page(names: &[&str]) -> String {
    let content = html! {
        h1 { "memtide: results" }
        ul { @for (number, name) in names.iter().enumerate() { li { a href=(number) { (name) } } } }
    };
    shell("memtide: results", &content)
}

/// The part of the page that changes, of what is known now.
pub fn live_part(live: &Live) -> String {
    let part = html! {
        (summary(live))
        (steps(live))
        (trial(live))
        @for chart in charts(live) { (chart.markup()) }
        (agents(live))
        (kinds(live))
        (servers(live))
        (workers(live))
    };
    part.into_string()
}

fn summary(live: &Live) -> Markup {
    let now = live.last();
    let [p50, p99, p999] = now.map_or([None; 3], |now| now.response);
    let errors = unanswered(&live.counts);
    let age = now.and_then(|now| now.under_way.oldest_due_s).map(|s| time(s * 1e9));
    let figures = [
        ("asked", or_none(now.and_then(|now| now.due_per_s).map(rate))),
        ("answered", or_none(now.map(|now| rate(now.answered_per_s)))),
        ("p50", time_word(p50)),
        ("p99", time_word(p99)),
        ("p99.9", time_word(p999)),
        ("backlog age", or_none(age)),
        ("answered so far", whole(live.counts.answered)),
        ("not answered so far", whole(errors)),
    ];
    let (names, cells): (Vec<&str>, Vec<String>) = figures.into_iter().unzip();
    html! {
        p { (live.whereabouts()) }
        @if let Some(suspect) = live.suspect() {
            @let word = match suspect {
                Suspect::Calm(_) => "calm",
                Suspect::Server(_) => "server",
                Suspect::Own(_) => "own",
            };
            p data-suspect=(word) { strong { (suspect.sentence()) } }
        }
        (table("The last second", &names, &[cells]))
        @for aim in live.aims() { p { "goal " (aim.goal) ": " (aim.word()) " (" (aim.figure) ")" } }
        @let grades = live.grades();
        @if !grades.is_empty() {
            p {
                "grades so far:"
                @for (name, grade) in &grades { " " (name) " " strong { (grade) } }
            }
        }
        @for said in live.words.iter().rev().take(3) { p { (said) } }
    }
}

/// A line of one figure of each second.
fn line(name: impl Into<String>, live: &Live, value: impl Fn(&LiveSecond) -> Option<f64>) -> Line {
    let values = live.seconds.iter().map(|second| {
        let LiveSecond { start_s, length_s, .. } = *second;
        TimedValue { start_s, length_s, value: value(second) }
    });
    Line::over_time(name, TimedValue::end_s, values)
}

fn charts(live: &Live) -> Vec<Chart> {
    let (Some(first), Some(last)) = (live.seconds.front(), live.seconds.back()) else {
        return Vec::new();
    };
    let x = Axis::over(Scale::Linear, [last.end_s()].into_iter(), seconds)
        .between(first.start_s, last.end_s());
    let rates = vec![
        line("asked", live, |second| second.due_per_s),
        line("answered", live, |second| Some(second.answered_per_s)),
    ];
    let lags = vec![
        line("lag p99", live, |second| real(second.lag_p99)),
        line("service p99", live, |second| real(second.service_p99)),
        line("backlog age", live, |second| second.under_way.oldest_due_s.map(|s| s * 1e9)),
    ];
    let own = vec![
        line("busiest worker", live, |second| second.busy),
        line("worker without its CPU", live, |second| second.kept),
        line("all CPUs", live, |second| second.host.as_ref()?.cpu_busy),
        line("busiest CPU", live, |second| second.host.as_ref()?.cpu_busy_max),
        line("stolen by the hypervisor", live, |second| second.host.as_ref()?.stolen),
    ];
    let bad = vec![line("not answered", live, |second| Some(second.unanswered as f64))];
    let about_rates = "Operations due and answered in each second of the load.";
    let about_bad = "Operations that failed, timed out or were lost in each second.";
    let about_lags = "Lag: how late operations were sent. Service: from sent to received. Backlog \
                      age: how long the oldest unsent operation had been due.";
    let about_own = "The part of each second in which workers and CPUs were busy, and in which \
                     another program had a worker's CPU.";
    let counts = FromZero { word: rounded, least: 1.0 };
    let times = FromZero { word: time, least: 1e6 };
    let shares = FromZero { word: percent, least: 1.0 };
    let own = Chart::of_lines("memtide and its machine", about_own, own, x, shares);
    vec![
        Chart::of_lines("Rate", about_rates, rates, x, FromZero { word: rate, least: 1.0 }),
        response(live, x),
        Chart::of_lines("Not answered", about_bad, bad, x, counts),
        Chart::of_lines("Lag, service and backlog", about_lags, lags, x, times),
        Chart { limits: vec![busy_limit()], ..own },
    ]
}

/// Response times as a heat map with percentiles over it.
fn response(live: &Live, x: Axis) -> Chart {
    let lines = vec![
        line("p50", live, |second| real(second.response[0])),
        line("p99", live, |second| real(second.response[1])),
        line("p99.9", live, |second| real(second.response[2])),
    ];
    let used =
        (0..HEAT_CELLS).filter(|cell| live.seconds.iter().any(|second| second.heat[*cell] > 0));
    let edges = used.flat_map(|cell| [heat_edge(cell), heat_edge(cell + 1)]);
    let y = Axis::over(Scale::Log, values(&lines).chain(edges), time);
    let cells = live.seconds.iter().flat_map(|second| {
        let most = f64::from(second.heat.iter().copied().max().unwrap_or(0).max(1));
        let held = second.heat.iter().enumerate().filter(|(_, count)| **count > 0);
        held.map(move |(cell, count)| Cell {
            x: [second.start_s, second.end_s()],
            y: [heat_edge(cell), heat_edge(cell + 1)],
            strength: f64::from(*count) / most,
        })
    });
    let about = "Response time of measured operations by the second in which they ended. A darker \
                 cell holds more operations.";
    Chart {
        about: about.to_owned(),
        cells: cells.collect(),
        lines,
        ..Chart::new("Response over time", x, y)
    }
}

fn table(caption: &str, heading: &[&str], rows: &[Vec<String>]) -> Markup {
    let heading = heading.iter().map(|name| (*name).to_owned()).collect();
    let all: Vec<Vec<String>> = [heading].into_iter().chain(rows.iter().cloned()).collect();
    if rows.is_empty() {
        html! {}
    } else {
        words(caption, &all)
    }
}

fn kinds(live: &Live) -> Markup {
    table("Kinds in the last second", &KIND_COLUMNS, &live.kind_rows())
}

fn servers(live: &Live) -> Markup {
    let reports = live.last().into_iter().flat_map(|now| &now.reports);
    let said: Vec<Vec<String>> = reports
        .map(|(name, of)| {
            let hits = of.hits.zip(of.gets).filter(|(_, gets)| *gets > 0);
            let hits = hits.map(|(hits, gets)| percent(hits as f64 / gets as f64));
            vec![
                name.clone(),
                or_none(of.operations.map(whole)),
                or_none(hits),
                or_none(of.items.map(whole)),
                or_none(of.evictions.map(whole)),
            ]
        })
        .collect();
    let says = ["server", "operations", "hits", "items", "evictions"];
    html! {
        (table("Servers, as memtide sees them", &SERVER_COLUMNS, &live.server_rows()))
        (table("Servers, as their stats say", &says, &said))
    }
}

/// The curve of a search or scan as it grows, with what is known of the answer, and the steps.
fn steps(live: &Live) -> Markup {
    if live.steps.is_empty() {
        return html! {};
    }
    let points: Vec<Point> = live.steps.iter().map(|step| step.point).collect();
    let goals: Vec<String> = live.aims().into_iter().map(|aim| aim.goal).collect();
    let ends = live.bracket().into_iter().zip(["met at", "missed at"]);
    let marked = ends.filter_map(|(end, word)| {
        let end = end?;
        Some(Limit::upright(format!("{word} {}", rate(end)), end))
    });
    let rows: Vec<Vec<String>> = live.steps.iter().map(LiveStep::row).collect();
    html! {
        (curve(&points, &goals, marked.collect()).markup())
        (table("Steps", &STEP_COLUMNS, &rows))
    }
}

/// What the pairs of a trial say so far.
fn trial(live: &Live) -> Markup {
    live.trial.as_ref().map_or_else(|| html! {}, |trial| trial_so_far(trial))
}

/// A row for each agent.
fn agents(live: &Live) -> Markup {
    let (rows, more) = live.agent_rows();
    html! {
        (table("Agents in the last second", &AGENT_COLUMNS, &rows))
        @if more > 0 { p { (more) " more agents are faster" } }
    }
}

fn workers(live: &Live) -> Markup {
    let workers = live.last().into_iter().flat_map(|now| now.workers.iter().enumerate());
    let rows: Vec<Vec<String>> = workers
        .map(|(number, busy)| vec![number.to_string(), or_none(busy.map(percent))])
        .collect();
    table("Workers in the last second", &["worker", "busy"], &rows)
}

#[cfg(test)]
mod tests;
