//! The content of a page about one run, or about merged runs: the answer first, then what explains
//! it.

use super::figures::unbroken;
use super::{contents, facts, figures, over_time, section, servers, spectrum};
use crate::plan::is_simulated;
use crate::text::what;
use maud::{Markup, html};
use memtide_record::Record;
use memtide_scenario::scenario_file;

/// The whole content, from the title to the scenario.
pub(super) fn run(record: &Record) -> Markup {
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
