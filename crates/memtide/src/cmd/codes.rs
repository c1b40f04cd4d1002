//! `memtide help CODE`: what a code of a warning or a check means, and what to do about it. All
//! other help is clap's.

use memtide_record::warning::{CodeEntry, code_entries};
use std::ffi::OsString;

/// The text about the code in these words of the command line; none if they ask for no code.
pub(crate) fn explained(words: &[OsString]) -> Option<String> {
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
