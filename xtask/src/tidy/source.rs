//! One Rust file as the rules see it: text, code without comments and literals, tests marked.
//!
//! `proc_macro2` finds comments and literals; the rest looks for words, and knows no syntax beyond
//! what the rules need.

use proc_macro2::{Span, TokenStream, TokenTree};
use std::ops::Range;

/// Words behind which a name is declared.
const DECLARES: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "union", "const", "static", "mod"];
/// Words that may stand between `pub` and one of `DECLARES`.
const QUALIFIES: [&str; 3] = ["async", "unsafe", "extern"];

/// A Rust source file.
pub(super) struct Source {
    /// Path from the workspace's root, with `/`.
    pub(super) path: String,
    /// The file as it is.
    pub(super) text: String,
    /// The file's bytes, with comments and the insides of literals replaced by spaces.
    pub(super) code: String,
    line_starts: Vec<usize>,
    /// Byte ranges under `#[cfg(test)]`.
    test_ranges: Vec<Range<usize>>,
    /// True if another file declares this one under `#[cfg(test)]`.
    is_test_module: bool,
    /// Byte ranges of the strings, quotes included.
    strings: Vec<Range<usize>>,
}

/// A path in a file, such as `std::fs::File` or `crate::pacer`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Byte offset of a word in it.
    pub(super) at: usize,
    /// The whole path, even if the source splits it over braces.
    pub(super) path: String,
}

/// A name in the place where it is declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared<'a> {
    /// One of `DECLARES`.
    pub(super) keyword: &'a str,
    /// Byte offset of the name.
    pub(super) at: usize,
    pub(super) name: &'a str,
    /// True if it has an unrestricted `pub`.
    pub(super) is_pub: bool,
}

impl Declared<'_> {
    pub(super) fn is_type(&self) -> bool {
        matches!(self.keyword, "struct" | "enum" | "trait" | "type" | "union")
    }
}

impl Source {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let (code, strings) = masked(&text);
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(newlines).collect();
        let test_ranges = test_ranges(&code);
        Self { path, text, code, line_starts, test_ranges, is_test_module: false, strings }
    }

    /// The folder that names the part: `engine` for `crates/engine/…`, `xtask` for `xtask/…`.
    pub(super) fn part(&self) -> &str {
        let inner = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        inner.split('/').next().unwrap_or(inner)
    }

    /// True if this is a part's `lib.rs` or `main.rs`.
    pub(super) fn is_root(&self) -> bool {
        let inner = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        matches!(inner.split_once('/'), Some((_, "src/lib.rs" | "src/main.rs")))
    }

    /// True if the whole file is a test.
    pub(super) fn is_test(&self) -> bool {
        self.is_test_module || self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// The paths, without `.rs`, of the modules that this file declares under `#[cfg(test)]`.
    fn test_modules(&self) -> Vec<String> {
        let stem = self.path.trim_end_matches(".rs");
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let folder = if matches!(name, "lib" | "main" | "mod") { folder } else { stem };
        let ranges = self.test_ranges.iter().map(|range| &self.code[range.clone()]);
        let declarations = ranges.filter_map(|code| code.trim_end().strip_suffix(';'));
        let names = declarations.filter_map(|code| words(code).last());
        names.map(|(_, name)| format!("{folder}/{name}")).collect()
    }

    /// Every string outside of tests: the offset of its beginning, and the text between its quotes,
    /// as written.
    pub(super) fn strings(&self) -> impl Iterator<Item = (usize, &str)> {
        let outside = self.strings.iter().filter(|range| !self.in_test(range.start));
        outside.map(|range| {
            let text = &self.text[range.clone()];
            let inside = text.trim_start_matches(['r', 'b', 'c', '#']).trim_end_matches('#');
            (range.start, inside.trim_matches('"'))
        })
    }

    /// True if the byte at `at` belongs to a test.
    pub(super) fn in_test(&self, at: usize) -> bool {
        self.is_test() || self.test_ranges.iter().any(|range| range.contains(&at))
    }

    /// The line of the byte at `at`, counted from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Every identifier and keyword, with its offset.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        words(&self.code)
    }

    /// Every declaration, tests included; not of names that a macro is given.
    pub(super) fn declared(&self) -> impl Iterator<Item = Declared<'_>> {
        let (mut keyword, mut end, mut is_pub) = ("", 0, false);
        self.words().filter_map(move |(at, name)| {
            let is_name = DECLARES.contains(&keyword) && !DECLARES.contains(&name);
            // `fn(` is a type.
            let is_next = self.code[end..at].trim().is_empty();
            let declared = Declared { keyword, at, name, is_pub };
            let goes_on = DECLARES.contains(&name) || QUALIFIES.contains(&name);
            (keyword, end, is_pub) = (name, at + name.len(), name == "pub" || is_pub && goes_on);
            (is_name && is_next).then_some(declared)
        })
    }

    /// Every path of a `use`, and every other one that begins at `crate` or `super`.
    pub(super) fn named(&self) -> Vec<Named> {
        let mut named = Vec::new();
        let mut past = 0;
        for (at, word) in self.words() {
            if at < past {
                continue;
            }
            if word == "use" {
                past = self.code[at..].find(';').map_or(self.code.len(), |length| at + length);
                expand(&self.code[..past], at + word.len(), &mut named);
            } else if matches!(word, "crate" | "super") && !self.code[..at].ends_with("::") {
                let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
                let path = self.code[at..].split(|c| !is_path(c)).next().unwrap_or_default();
                if path != word {
                    named.push(Named { at, path: path.trim_end_matches(':').to_owned() });
                }
            }
        }
        named
    }
}

/// Marks as tests the files that others declare under `#[cfg(test)]`, and all below them.
pub(super) fn mark_test_modules(sources: &mut [Source]) {
    let modules: Vec<String> = sources.iter().flat_map(Source::test_modules).collect();
    for source in sources {
        let below = |module: &String| {
            let rest = source.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        source.is_test_module = modules.iter().any(below);
    }
}

/// Identifiers and keywords of `code`, with their offsets.
pub(super) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let bytes = code.as_bytes();
        loop {
            let from = rest + bytes[rest..].iter().position(is_word)?;
            let length = bytes[from..].iter().position(|byte| !is_word(byte));
            rest = length.map_or(bytes.len(), |length| from + length);
            if !bytes[from].is_ascii_digit() {
                return Some((from, &code[from..rest]));
            }
        }
    })
}

/// Adds every path of the use tree between `from` and the end of `code`.
fn expand(code: &str, from: usize, named: &mut Vec<Named>) {
    let mut path: Vec<&str> = Vec::new();
    // The length of `path` at each open brace, and the place of a path that is not added yet.
    let (mut open, mut new, mut rest) = (Vec::new(), None, from);
    let mut add = |path: &[&str], new: &mut Option<usize>| {
        named.extend(new.take().map(|at| Named { at, path: path.join("::") }));
    };
    while let Some(at) = code[rest..].find(|c: char| !c.is_whitespace()).map(|skip| rest + skip) {
        let end = code[at..].find(['{', '}', ',', ':', ' ', '\n']).map_or(code.len(), |n| at + n);
        rest = end.max(at + 1);
        match &code[at..rest] {
            ":" => {}
            "{" => {
                open.push(path.len());
                new = None;
            }
            mark @ ("," | "}") => {
                add(&path, &mut new);
                if mark == "}" {
                    open.pop();
                }
                path.truncate(open.last().copied().unwrap_or_default());
            }
            // Of `a as b` only the first name is of interest.
            "as" => {
                rest = code[rest..].find([',', '}']).map_or(code.len(), |length| rest + length);
            }
            "self" if open.last() == Some(&path.len()) => new = Some(at),
            word => {
                path.push(word);
                new = Some(at);
            }
        }
    }
    add(&path, &mut new);
}

/// The offset behind the bracket that closes the one at `open`.
pub(super) fn bracket_end(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The ranges under `#[cfg(test)]`: from the attribute to the end of its item.
fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (found, _) in code.match_indices("#[cfg(test)]") {
        if ranges.last().is_some_and(|last| last.contains(&found)) {
            continue;
        }
        let end = match code[found..].find(['{', ';']).map(|length| found + length) {
            Some(at) if code[at..].starts_with('{') => bracket_end(code, at),
            Some(at) => at + 1,
            None => code.len(),
        };
        ranges.push(found..end);
    }
    ranges
}

/// `text` with comments and the insides of literals blanked, as long as `text` and all ASCII; and
/// the ranges of its strings. Text that the compiler could not read either is blank.
fn masked(text: &str) -> (String, Vec<Range<usize>>) {
    let blank = |byte| if byte == b'\n' { b'\n' } else { b' ' };
    let (mut code, mut strings) = (text.bytes().map(blank).collect(), Vec::new());
    show(text.parse().unwrap_or_default(), text, &mut code, &mut strings);
    (String::from_utf8(code).expect("only ASCII was written"), strings)
}

/// Copies the tokens from `text` to `code`. A literal stays visible as a quote at its end;
/// otherwise `.expect("why")` would look like a call without arguments.
fn show(tokens: TokenStream, text: &str, code: &mut Vec<u8>, strings: &mut Vec<Range<usize>>) {
    for token in tokens {
        let span: Range<usize> = token.span().byte_range();
        let written = &text[span.clone()];
        // Documentation is a comment that looks like an attribute.
        if written.starts_with("//") || written.starts_with("/*") {
            continue;
        }
        let mut copy = |span: Span| {
            for at in span.byte_range() {
                let byte = text.as_bytes()[at];
                code[at] = if byte.is_ascii() { byte } else { b'_' };
            }
        };
        match token {
            TokenTree::Group(group) => {
                copy(group.span_open());
                copy(group.span_close());
                show(group.stream(), text, code, strings);
            }
            TokenTree::Literal(_) if !written.starts_with(|c: char| c.is_ascii_digit()) => {
                code[span.end - 1] = b'"';
                if !written.starts_with('\'') {
                    strings.push(span);
                }
            }
            other => copy(other.span()),
        }
    }
}
