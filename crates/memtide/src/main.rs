//! The memtide program: picks a world, reads the user's settings, and prints the result.
//!
//! Each command is a module in `cmd`; each setting is a row of the table of fields.
#![forbid(unsafe_code)]

mod cmd;
mod flags;
mod exit;
mod output;

use memtide_host::memory;
use memtide_session::console::show;
use std::process::ExitCode;

fn main() -> ExitCode {
    // If the signal cannot be caught, nothing is worse than without the attempt.
    drop(memtide_host::signal::survive_file_size_limit());
    if let Some(call) = cmd::face::Call::of(std::env::args_os()) {
        return ExitCode::from(call.answer());
    }
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(text) = cmd::code_help(&words) {
        // A reader that has gone away is no error.
        drop(show(&text));
        return ExitCode::SUCCESS;
    }
    // What the loader read to link the program.
    memory::release();
    let matches = match flags::command_for(&words).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => return exit::of_usage(error),
    };
    memory::release();
    exit::note_foreign_flags(&matches);
    match cmd::dispatch(&matches) {
        Ok(code) => ExitCode::from(code),
        Err(stop) => exit::report(&stop),
    }
}
