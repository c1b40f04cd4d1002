//! The program's end: what clap refuses, in sentences for people. The exit codes are the session's
//! (`memtide_session::exit`).

mod foreign;

use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use memtide_scenario::is_near;
use memtide_session::console::{complain, say};
use memtide_session::exit::{Stop, USAGE};
use std::ffi::OsStr;
use std::process::ExitCode;

/// Prints why there is no result; returns the exit code.
pub(crate) fn report(stop: &Stop) -> ExitCode {
    complain(&stop.message);
    ExitCode::from(stop.code)
}

/// The error of an argument that is not UTF-8.
pub(crate) fn no_text(word: &OsStr) -> Option<String> {
    word.to_str()
        .is_none()
        .then(|| format!("the argument {word:?} is not UTF-8 text; give it as UTF-8"))
}

/// The flag that does not exist, if that is the error.
fn unknown_flag(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => {
            Some(flag)
        }
        _ => None,
    }
}

/// The error of a flag that another program has; clap would suggest any similar flag.
fn known_otherwise(error: &clap::Error) -> Option<Stop> {
    let flag = unknown_flag(error)?;
    let ours = foreign::ours(flag)?;
    Some(Stop::usage(format!("there is no flag {flag}; memtide has {ours}")))
}

/// Prints a note about a flag that another program has with another meaning.
pub(crate) fn note_foreign_flags(matches: &ArgMatches) {
    let commands = std::iter::successors(matches.subcommand(), |(_, matches)| matches.subcommand());
    let notes = commands.filter_map(|(_, command)| foreign::same_name(command));
    notes.for_each(|note| say(&note));
}

/// A command that needs a feature.
struct Featured {
    command: &'static str,
    feature: &'static str,
    /// True if this program has the feature.
    is_built: bool,
}

/// Every command that needs a feature.
const FEATURED: [Featured; 5] = [
    Featured { command: "view", feature: "web", is_built: cfg!(feature = "web") },
    Featured { command: "agent", feature: "cluster", is_built: cfg!(feature = "cluster") },
    Featured { command: "key", feature: "cluster", is_built: cfg!(feature = "cluster") },
    Featured {
        command: "completions",
        feature: "documents",
        is_built: cfg!(feature = "documents"),
    },
    Featured { command: "man", feature: "documents", is_built: cfg!(feature = "documents") },
];

/// The error of a command that this program was built without.
fn left_out(error: &clap::Error, featured: &[Featured]) -> Option<Stop> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let missing = featured.iter().find(|it| it.command == name && !it.is_built)?;
    let Featured { command, feature, .. } = missing;
    Some(Stop::usage(format!(
        "this program was built without 'memtide {command}'; build memtide with the feature \
         {feature} (cargo build --release --features {feature})"
    )))
}

/// Leaves those of clap's suggestions that are probably meant.
fn keep_near_only(error: &mut clap::Error) {
    if unknown_flag(error).is_some() {
        // A flag is never meant as a scenario file.
        error.remove(ContextKind::Suggested);
    }
    keep_near(error, ContextKind::InvalidArg, ContextKind::SuggestedArg);
    keep_near(error, ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand);
}

/// Leaves those of clap's suggestions, in place of `written`, that are probably meant. Clap
/// suggests any word with a few letters in common, such as `--replicate` for `--direct`.
fn keep_near(error: &mut clap::Error, written: ContextKind, suggested: ContextKind) {
    let Some(ContextValue::String(written)) = error.get(written).cloned() else { return };
    let written = written.trim_start_matches('-');
    let near = |word: &String| is_near(word.trim_start_matches('-'), written);
    match error.remove(suggested) {
        Some(ContextValue::String(word)) if near(&word) => {
            error.insert(suggested, ContextValue::String(word));
        }
        Some(ContextValue::Strings(words)) if words.iter().any(near) => {
            let words = words.into_iter().filter(near).collect();
            error.insert(suggested, ContextValue::Strings(words));
        }
        // Clap shows its suggestion in the usage, too.
        Some(_) => drop(error.remove(ContextKind::Usage)),
        None => {}
    }
}

/// Prints clap's own text: help and version to stdout with success, the rest to stderr. For an
/// argument that is not UTF-8, the text names it, which clap's does not.
pub(crate) fn of_usage(mut error: clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let garbled = std::env::args_os().find_map(|word| no_text(&word));
        return report(&Stop::usage(garbled.unwrap_or_else(|| error.to_string())));
    }
    if let Some(stop) = known_otherwise(&error).or_else(|| left_out(&error, &FEATURED)) {
        return report(&stop);
    }
    keep_near_only(&mut error);
    // A reader that has gone away is no error.
    drop(error.print());
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}
