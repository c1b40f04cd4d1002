//! A result as one self-contained HTML page: it loads nothing, and the template engine escapes all
//! foreign text.
//!
//! As in the report, every figure is the record's own.

mod live;
mod comparison;
mod steps;
mod run;
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

use maud::{DOCTYPE, Markup, PreEscaped, html};
use memtide_record::Record;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Content security policy: only inline styles and scripts, and nothing loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The record of a run as a page, ending in a line break.
pub fn page(record: &Record) -> String {
    let title = format!("memtide: {}", crate::text::what(record));
    shell(&title, &run::run(record))
}

/// The heading of a section, to which the list of contents leads.
fn section(title: &str) -> Markup {
    html! { h2 id=(anchor(title)) { (title) } }
}

/// The name of a section in a link: its title in small letters, with a dash for all else.
fn anchor(title: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    title.chars().map(letter).collect::<String>().to_ascii_lowercase()
}

/// The list of contents: a link to each section of `content`.
fn contents(content: &Markup) -> Markup {
    let link = |part: &str| {
        let (anchor, rest) = part.split_once("\">")?;
        let (title, _) = rest.split_once("</h2>")?;
        Some((format!("#{anchor}"), title.to_owned()))
    };
    let links: Vec<(String, String)> =
        content.0.split("<h2 id=\"").skip(1).filter_map(link).collect();
    html! {
        nav aria-label="Contents" {
            @for (anchor, title) in &links { a href=(anchor) { (PreEscaped(title)) } }
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
