//! What the tests of all faces share: files of expected output, and listings of command lines with
//! their results. Holds no test itself.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide-compat` writes the files again; read the difference before
//! keeping it. A new command line is added to its listing by hand, as a line that begins with `$`.

#[path = "../../base/tests/table/mod.rs"]
pub(crate) mod table;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;

/// Asserts that `text` equals the content of `file`, a path below `src`.
pub(crate) fn expect(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{file} should be\n{kept}\nbut is\n{text}");
}

/// What stands behind `prompt` in the lines of a listing that begin with it.
pub(crate) fn command_lines(file: &str, prompt: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let listing = std::fs::read_to_string(&path).unwrap();
    let lines = listing.lines().filter_map(|line| line.strip_prefix(prompt));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert!(lines.len() > 1, "{file} lists nothing");
    lines
}

/// The rows of a table; lines behind `#` are comments.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// Asserts that each command line of a listing has the `outcome` that follows it there.
pub(crate) fn expect_listing(file: &str, prompt: &str, outcome: impl Fn(&str) -> String) {
    let lines = command_lines(file, prompt).into_iter();
    let listing: String = lines.map(|line| format!("{prompt}{line}\n{}", outcome(&line))).collect();
    expect(file, &listing);
}

/// The words of a command line. A pair of quotes is an empty word.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.replace("''", "")).collect()
}

/// The lines of `values` that are not among those of `than`, indented.
pub(crate) fn changes(values: Vec<String>, than: Vec<String>) -> String {
    let than: BTreeSet<String> = than.into_iter().collect();
    indented(values.into_iter().filter(|value| !than.contains(value)))
}

/// Text of indented lines.
pub(crate) fn indented(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("  {line}\n")).collect()
}

/// The values of `options`, one a line, each with its path, in which types may stand, too.
pub(crate) fn values(options: &impl Debug, with_types: bool) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in format!("{options:#?}").lines() {
        let line = line.trim().trim_end_matches(',');
        if line.ends_with(['{', '(', '[']) {
            let key = line.trim_end_matches(['{', '(', '[']);
            let name = key.split(':').next().unwrap_or_default();
            let key = if with_types { key.replace(": ", " ") } else { name.to_owned() };
            path.push(key.trim().to_owned());
        } else if line.starts_with(['}', ')', ']']) {
            path.pop();
        } else {
            found.push(format!("{} {line}", path[1..].join(".")).trim().to_owned());
        }
    }
    found
}
