//! A result as one self-contained HTML page: it loads nothing, and the template engine escapes all
//! foreign text.
//!
//! A page about one run, or about merged runs, is made here: the answer first, then what explains
//! it. As in the report, every figure is the record's own.

mod live;
mod comparison;
mod steps;
mod facts;
mod figures;
mod servers;
mod over_time;
mod spectrum;
mod chart;
#[cfg(test)]
mod tests;

pub use comparison::{comparison_page, trial_page};
pub use live::{index_page, live_page, live_part};
pub use steps::StepsPage;

use crate::plan::is_simulated;
use crate::text::what;
use figures::unbroken;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use memtide_record::Record;
use memtide_scenario::scenario_file;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Content security policy: only inline styles and scripts, and nothing loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The record of a run as a page, ending in a line break.
pub fn page(record: &Record) -> String {
    let title = format!("memtide: {}", what(record));
    shell(&title, &run(record))
}

/// The whole content, from the title to the scenario.
fn run(record: &Record) -> Markup {
    let rest = explanation(record);
    html! {
        h1 { "memtide: " (unbroken(&what(record))) }
        (facts::verdict(record))
        (figures::answer(record))
        (contents(&rest))
        (rest)
    }
}

/// Everything below the list of contents.
fn explanation(record: &Record) -> Markup {
    html! {
        (measured(record))
        (section("Checks"))
        (facts::reasons(record))
        (servers::servers(record))
        @if let Some(own) = &record.own {
            (section("Load of the master itself, beside the agents' load"))
            (facts::verdict(own))
            (figures::answer(own))
            (facts::reasons(own))
            (figures::response(own))
            (spectrum::response(own).markup())
        }
        (facts::shards(&record.shards))
        (facts::counts(record))
        (section("What was run"))
        (facts::facts(record))
        @let (command, more) = match is_simulated(record) {
            false => ("memtide run scenario.toml", ""),
            true => ("memtide sim scenario.toml", ", with the options of the simulation"),
        };
        (facts::again(Some(command), more, &scenario_file(&record.scenario)))
    }
}

/// The measurements of a run, as charts and tables.
fn measured(record: &Record) -> Markup {
    if record.measured_s <= 0.0 {
        return html! { (section("Times")) p { "Nothing was measured." } };
    }
    html! {
        (section("Times"))
        (figures::response(record))
        (figures::servers(record))
        (spectrum::response(record).markup())
        (section("Over time"))
        @for chart in over_time::charts(record) { (chart.markup()) }
        (section("Lag"))
        (spectrum::lag(&record.lag_split).markup())
    }
}

/// The heading of a section, to which the list of contents leads.
fn section(title: &str) -> Markup {
    html! { h2 id=(anchor(title)) { (title) } }
}

/// The name of a section in a link: its title in small letters, with a dash for all else.
fn anchor(title: &str) -> String {
    title.to_ascii_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// The list of contents: a link to each section of `content`.
fn contents(content: &Markup) -> Markup {
    let sections = content.0.split("<h2 id=\"").skip(1).filter_map(|part| {
        let (anchor, rest) = part.split_once("\">")?;
        let (title, _) = rest.split_once("</h2>")?;
        Some((format!("#{anchor}"), title))
    });
    html! {
        nav aria-label="Contents" {
            @for (anchor, title) in sections { a href=(anchor) { (PreEscaped(title)) } }
        }
    }
}

/// A whole page with this title and content.
fn shell(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}
