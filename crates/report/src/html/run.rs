//! The content of a page about one run, or about merged runs.

use super::{facts, figures, over_time, servers, spectrum};
use crate::text::what;
use maud::{Markup, html};
use memtide_record::Record;
use memtide_scenario::scenario_file;

/// The command that makes the load of a record again, with its scenario as a file.
const COMMAND: &str = "memtide run scenario.toml";

/// The whole content, from the title to the scenario.
pub(super) fn run(record: &Record) -> Markup {
    html! {
        h1 { "memtide: " (what(record)) }
        (facts::facts(record))
        (facts::verdict(record))
        (measured(record))
        (servers::servers(record))
        @if let Some(own) = &record.own {
            h2 { "Load of the master itself, beside the agents' load" }
            (facts::verdict(own))
            (figures::response(own))
            (spectrum::response(own).markup())
        }
        (facts::shards(&record.shards))
        (facts::counts(record))
        (facts::again(Some(COMMAND), &scenario_file(&record.scenario)))
    }
}

/// The measurements of a run, as tables and charts.
fn measured(record: &Record) -> Markup {
    html! {
        h2 { "Times" }
        @if record.measured_s > 0.0 {
            (figures::response(record))
            (figures::servers(record))
            (spectrum::response(record).markup())
            @for chart in over_time::charts(record) { (chart.markup()) }
            h2 { "Lag" }
            (spectrum::lag(&record.lag_split).markup())
        } @else { p { "Nothing was measured." } }
    }
}
