//! A result as one self-contained HTML page: it loads nothing, and the template engine escapes all
//! foreign text.
//!
//! As in the report, every figure is the record's own.

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

pub use comparison::comparison_page;
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
