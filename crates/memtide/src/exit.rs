//! The program's end: exit codes that scripts rely on, and sentences for people.

mod foreign;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use memtide_record::Exit;
use memtide_run::Failure;
use memtide_scenario::{FieldError, Problem, is_near};
use memtide_sinks::OutputStop;
use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;

/// A goal was missed or a check failed.
pub(crate) const FAILED: u8 = Exit::Failed.code();
/// The command line, the environment or the scenario is wrong.
pub(crate) const USAGE: u8 = Exit::Usage.code();
/// A server cannot be reached, or was lost.
pub(crate) const UNREACHABLE: u8 = Exit::Unreachable.code();
/// The result cannot be believed, and `--strict` was given.
pub(crate) const UNBELIEVABLE: u8 = Exit::Unbelievable.code();
/// The user interrupted the run.
pub(crate) const INTERRUPTED: u8 = Exit::Interrupted.code();

/// An end without a result.
#[derive(Debug)]
pub(crate) struct Stop {
    /// The exit code.
    pub(crate) code: u8,
    /// The sentence.
    pub(crate) message: String,
}

impl Stop {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, message: message.into() }
    }

    pub(crate) fn report(self) -> ExitCode {
        crate::output::complain(&self.message);
        ExitCode::from(self.code)
    }
}

impl From<FieldError> for Stop {
    fn from(error: FieldError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::usage(problem.to_string())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self { code: failure.exit, message: failure.message() }
    }
}

/// The failure of a run whose `output` cannot be written.
pub(crate) fn unwritable(output: &str, error: &io::Error) -> Stop {
    OutputStop::unwritable(output, error).into()
}

/// The error of an argument that is not UTF-8.
///
/// Cause: An argument contains bytes that are not UTF-8.
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
///
/// Cause: The flag is another program's.
///
/// To do: Use memtide's flag, which the message names.
fn known_otherwise(error: &clap::Error) -> Option<Stop> {
    let flag = unknown_flag(error)?;
    let ours = foreign::ours(flag)?;
    Some(Stop::usage(format!("there is no flag {flag}; memtide has {ours}")))
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
    let plain = |word: &str| word.trim_start_matches('-').to_owned();
    let near = |word: &String| is_near(&plain(word), &plain(&written));
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
        return Stop::usage(garbled.unwrap_or_else(|| error.to_string())).report();
    }
    if let Some(stop) = known_otherwise(&error) {
        return stop.report();
    }
    keep_near_only(&mut error);
    // A reader that has gone away is no error.
    drop(error.print());
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}
