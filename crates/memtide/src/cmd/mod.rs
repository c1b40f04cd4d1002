//! The subcommands.

pub(crate) mod face;
mod compare;
mod ab;
mod report;
#[cfg(feature = "web")]
mod view;
mod merge;
mod steps;
mod run;
mod sim;
mod doctor;
mod codes;
mod serve;
#[cfg(feature = "cluster")]
mod agent;
#[cfg(feature = "documents")]
mod generate;

pub(crate) use codes::explained;

use clap::ArgMatches;
use memtide_session::exit::Stop;

/// Carries out the user's command; returns the exit code.
pub(crate) fn dispatch(matches: &ArgMatches) -> Result<u8, Stop> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches, false),
        Some(("load", matches)) => run::run(matches, true),
        Some(("search", matches)) => steps::search(matches, false),
        Some(("scan", matches)) => steps::scan(matches, false),
        Some(("sim", matches)) => match matches.subcommand() {
            Some(("search", matches)) => steps::search(matches, true),
            Some(("scan", matches)) => steps::scan(matches, true),
            _ => sim::sim(matches),
        },
        Some(("ab", matches)) => ab::ab(matches),
        Some(("doctor", matches)) => doctor::doctor(matches),
        Some(("merge", matches)) => merge::merge(matches),
        Some(("report", matches)) => report::report(matches),
        #[cfg(feature = "web")]
        Some(("view", matches)) => view::view(matches),
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
