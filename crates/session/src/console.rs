//! Text for people: results to stdout, everything else to stderr. A broken pipe is success.

use memtide_host::machine::terminal_columns;
use memtide_host::streams::write_stdout;
use std::io::{self, IsTerminal, Write};

/// Longest word of an error that is printed in full, in characters. Paths and host names are
/// shorter.
const WORD_CHARS_MAX: usize = 1024;

/// Prints a result. Returns every error except that the reader has gone away.
pub fn show(text: &str) -> io::Result<()> {
    match show_part(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Width in columns of the terminal that receives the results; none without a terminal.
pub fn columns() -> Option<usize> {
    let out = io::stdout();
    if out.is_terminal() { terminal_columns(&out) } else { None }
}

/// Prints a part of a longer result. A reader that has gone away is an error, too.
pub fn show_part(text: &str) -> io::Result<()> {
    write_stdout(text.as_bytes())
}

/// Prints an error on stderr, shortened, because errors quote input of any length.
pub fn complain(message: &str) {
    say(&complaint(message));
}

/// The text of an error, without its line break.
pub fn complaint(message: &str) -> String {
    format!("memtide: {}", shortened(message))
}

/// Omits the middle of each very long word of `message`.
fn shortened(message: &str) -> String {
    let mut text = String::new();
    for word in message.split_inclusive(char::is_whitespace) {
        let chars = word.chars().count();
        if chars <= WORD_CHARS_MAX {
            text += word;
            continue;
        }
        let kept = WORD_CHARS_MAX / 4;
        text.extend(word.chars().take(kept));
        text += &format!("…({} more)…", chars - 2 * kept);
        text.extend(word.chars().skip(chars - kept));
    }
    text
}

/// Prints a line on stderr. A failure to write it cannot be reported.
pub fn say(message: &str) {
    drop(writeln!(io::stderr().lock(), "{message}"));
}

/// Prints several lines on stderr; the text includes the last line break.
pub fn say_part(text: &str) {
    if text.is_empty() {
        return;
    }
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// A progress line that is overwritten, on a terminal only.
#[derive(Debug)]
pub(crate) struct StatusLine {
    shown: bool,
}

impl StatusLine {
    /// A status line on stderr, if that is a terminal and the user wants one.
    pub(crate) fn new(quiet: bool) -> Option<Self> {
        (!quiet && io::stderr().is_terminal()).then_some(Self { shown: false })
    }

    pub(crate) fn update(&mut self, line: &str) {
        self.shown = true;
        let mut out = io::stderr().lock();
        let line = terminal_columns(&out).map_or(line, |columns| fitting(line, columns));
        // Returns to the first column, and clears the rest of an earlier, longer line.
        drop(write!(out, "\r\x1b[K{line}").and_then(|()| out.flush()));
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            self.shown = false;
            let mut out = io::stderr().lock();
            drop(write!(out, "\r\x1b[K").and_then(|()| out.flush()));
        }
    }
}

/// Cuts `line` to the terminal's columns: the next line would not overwrite a wrapped one.
fn fitting(line: &str, columns: usize) -> &str {
    line.char_indices().nth(columns).map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests;
