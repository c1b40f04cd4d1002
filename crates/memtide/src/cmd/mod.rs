//! The subcommands, and the help about codes.

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
mod serve;
#[cfg(feature = "cluster")]
mod agent;
#[cfg(feature = "documents")]
mod generate;

use clap::ArgMatches;
use memtide_record::warning::{CodeEntry, code_entries};
use memtide_session::exit::Stop;
use std::ffi::OsString;

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

/// The text of `memtide help CODE`: what the code of a warning or a check means, and what to do.
/// Returns `None` if the command line is not of this form, or names no code.
pub(crate) fn code_help(words: &[OsString]) -> Option<String> {
    let [_, help, code] = words else { return None };
    if help != "help" {
        return None;
    }
    let CodeEntry { code, is_check, meaning, remedy } =
        code_entries().into_iter().find(|entry| code == entry.code)?;
    let (of, when) = match is_check {
        true => ("a check of the verdict", "if it fails"),
        false => ("a warning", "what to do"),
    };
    Some(format!("{code}: {of}\n\n{meaning}\n{when}: {remedy}\n"))
}
