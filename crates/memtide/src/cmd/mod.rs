//! The subcommands.

pub(crate) mod face;
mod compare;
mod ab;
mod report;
mod merge;
mod steps;
mod run;
mod sim;
mod doctor;
mod serve;
#[cfg(feature = "cluster")]
mod agent;
#[cfg(feature = "documents")]
mod generate;

use crate::exit::Stop;
use clap::ArgMatches;

/// Carries out the user's command; returns the exit code.
pub(crate) fn dispatch(matches: &ArgMatches) -> Result<u8, Stop> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches, false),
        Some(("load", matches)) => run::run(matches, true),
        Some(("search", matches)) => steps::search(matches),
        Some(("scan", matches)) => steps::scan(matches),
        Some(("ab", matches)) => ab::ab(matches),
        Some(("sim", matches)) => sim::sim(matches),
        Some(("doctor", matches)) => doctor::doctor(matches),
        Some(("merge", matches)) => merge::merge(matches),
        Some(("report", matches)) => report::report(matches),
        Some(("compare", matches)) => compare::compare(matches),
        Some(("serve", matches)) => serve::serve(matches),
        #[cfg(feature = "cluster")]
        Some(("agent", matches)) => agent::agent(matches),
        #[cfg(feature = "cluster")]
        Some(("key", matches)) => agent::key(matches),
        #[cfg(feature = "documents")]
        Some(("completions", matches)) => generate::completions(matches),
        Some(("install-faces", matches)) => face::install(matches),
        #[cfg(feature = "documents")]
        Some(("man", _)) => generate::manual(),
        _ => unreachable!("the command line requires one of these"),
    }
}
