//! What the user wants to see: the form of a report, and notes on stderr. Printing is the session's
//! (`memtide_session::console`).

use memtide_report::TextOptions;
use memtide_scenario::{Outputs, Settings};
use memtide_session::console::{columns, say};
use std::io::{self, IsTerminal};

/// How the user wants the report on this stdout.
pub(crate) fn text_options(outputs: &Outputs) -> TextOptions {
    TextOptions { columns: columns(), full: outputs.full, explain: outputs.explain }
}

/// Prints on stderr which keys of a scenario are cut, unless the user wants no notes.
pub(crate) fn note_cut_keys(settings: &Settings) {
    let scenario = &settings.scenario;
    if !settings.outputs.quiet
        && let Some(which) = scenario.cut_keys()
    {
        say(&format!("memtide: key-size {}: {which}", scenario.key_size));
    }
}

/// The variable that requests notes (1) or suppresses them (0), whatever stderr is.
pub(crate) const NOTES: &str = "MEMTIDE_NOTES";

/// True if a face prints notes on stderr that the original does not: if `asked` to, by the
/// variable, or if stderr is a terminal, which no script reads.
///
/// # Errors
/// If the variable has another value; the sentence says which are allowed.
pub(crate) fn wants_notes(asked: bool) -> Result<bool, String> {
    let word = std::env::var_os(NOTES).unwrap_or_default();
    match &*word.to_string_lossy() {
        _ if asked => Ok(true),
        "1" => Ok(true),
        "0" => Ok(false),
        "" => Ok(io::stderr().is_terminal()),
        word => {
            Err(format!("{NOTES}: '{word}' is not allowed; 1 shows notes on stderr, 0 shows none"))
        }
    }
}
