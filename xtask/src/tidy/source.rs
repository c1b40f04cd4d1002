//! One Rust file as the rules see it: text, code without comments and literals, tests marked.
//!
//! A small scanner, not a parser: it recognises comments and strings, and nothing beyond what the
//! rules need.

/// A Rust source file.
pub(super) struct Source {
    /// Path from the workspace's root, with `/`.
    pub(super) path: String,
    /// The file as it is.
    pub(super) text: String,
    /// The file's bytes, with comments and the insides of literals replaced by spaces.
    pub(super) code: String,
    line_starts: Vec<usize>,
    /// Half-open byte ranges under `#[cfg(test)]`.
    test_ranges: Vec<(usize, usize)>,
    /// True if another file declares this one under `#[cfg(test)]`.
    is_test_module: bool,
    /// Half-open byte ranges of the strings, quotes included.
    strings: Vec<(usize, usize)>,
}

/// A path in a file, such as `std::fs::File` or `crate::pacer`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Byte offset of the word that begins it.
    pub(super) at: usize,
    /// The whole path, even if the source splits it over braces.
    pub(super) path: String,
}

/// A function that has a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) at: usize,
    /// Parameters, without `self`; a tuple counts as its members.
    pub(super) parameters: usize,
    /// Lines from the word `fn` to the closing brace.
    pub(super) lines: usize,
}

impl Source {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let (code, strings) = masked(&text);
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
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
        let ranges = self.test_ranges.iter().map(|(from, to)| &self.code[*from..*to]);
        let declarations = ranges.filter_map(|code| code.trim_end().strip_suffix(';'));
        let names = declarations.filter_map(|code| words(code).last());
        names.map(|(_, name)| format!("{folder}/{name}")).collect()
    }

    /// Every string outside of tests: the offset of its beginning, and the text between its quotes,
    /// as written.
    pub(super) fn strings(&self) -> impl Iterator<Item = (usize, &str)> {
        let outside = self.strings.iter().filter(|(from, _)| !self.in_test(*from));
        outside.map(|&(from, to)| {
            let text = &self.text[from..to];
            let inside = text.trim_start_matches(['r', 'b', 'c', '#']).trim_end_matches('#');
            (from, inside.trim_matches('"'))
        })
    }

    /// True if the byte at `at` belongs to a test.
    pub(super) fn in_test(&self, at: usize) -> bool {
        self.is_test() || self.test_ranges.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    /// The line of the byte at `at`, counted from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Every identifier and keyword, with its offset.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        words(&self.code)
    }

    /// Every function with a body, nested ones too.
    pub(super) fn functions(&self) -> Vec<Function> {
        let starts = self.words().filter(|(_, word)| *word == "fn");
        starts.filter_map(|(at, _)| self.function(at)).collect()
    }

    /// The function whose `fn` is at `at`; `None` for a function pointer or a mere signature.
    fn function(&self, at: usize) -> Option<Function> {
        let bytes = self.code.as_bytes();
        let (name_at, name) = words(&self.code[at + 2..]).next()?;
        if !self.code[at + 2..at + 2 + name_at].trim().is_empty() {
            return None;
        }
        let mut open = at + 2 + name_at + name.len();
        if bytes.get(open) == Some(&b'<') {
            open = angle_end(bytes, open);
        }
        open += bytes[open..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        if bytes[open] != b'(' {
            return None;
        }
        let close = bracket_end(bytes, open);
        let body = close + bytes[close..].iter().position(|byte| matches!(byte, b'{' | b';'))?;
        if bytes[body] == b';' {
            return None;
        }
        let end = bracket_end(bytes, body).saturating_sub(1);
        Some(Function {
            name: name.to_owned(),
            at,
            parameters: parameters(&self.code[open + 1..close - 1]),
            lines: self.line_of(end) - self.line_of(at) + 1,
        })
    }

    /// Every path that begins at `std`, `core`, `crate` or `super`, and every path of a `use`.
    pub(super) fn named(&self) -> Vec<Named> {
        let mut named = Vec::new();
        let mut past = 0;
        for (at, word) in self.words() {
            if at < past {
                continue;
            }
            if word == "use" {
                let end = self.code[at..].find(';').map_or(self.code.len(), |length| at + length);
                expand("", &self.code[at + 3..end], at + 3, &mut named);
                past = end;
            } else if matches!(word, "std" | "core" | "crate" | "super") {
                let path = inline_path(&self.code[at..]);
                if path != word && !self.code[..at].ends_with("::") {
                    named.push(Named { at, path });
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
    let mut rest = 0;
    std::iter::from_fn(move || {
        let bytes = code.as_bytes();
        loop {
            let from = rest + bytes[rest..].iter().position(|byte| is_word(*byte))?;
            let length = bytes[from..].iter().position(|byte| !is_word(*byte));
            rest = length.map_or(bytes.len(), |length| from + length);
            if !bytes[from].is_ascii_digit() {
                return Some((from, &code[from..rest]));
            }
        }
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `std::fs::File` from the text that begins with it.
fn inline_path(code: &str) -> String {
    let mut end = 0;
    for (at, word) in words(code) {
        let between = &code[end..at];
        if end > 0 && between != "::" {
            break;
        }
        end = at + word.len();
    }
    code[..end].to_owned()
}

/// Adds every path of the use tree `tree`, which is at `at` behind `prefix`.
fn expand(prefix: &str, tree: &str, at: usize, named: &mut Vec<Named>) {
    let skipped = tree.len() - tree.trim_start().len();
    let (at, tree) = (at + skipped, tree.trim());
    let join = |tail: &str| match (prefix, tail) {
        ("", tail) => tail.to_owned(),
        (prefix, "self") => prefix.to_owned(),
        (prefix, tail) => format!("{prefix}::{tail}"),
    };
    let Some(open) = tree.find('{') else {
        let path = tree.split_whitespace().next().unwrap_or("");
        if !path.is_empty() {
            named.push(Named { at, path: join(path) });
        }
        return;
    };
    let head = join(tree[..open].trim().trim_end_matches("::"));
    let close = tree.rfind('}').unwrap_or(tree.len());
    let inner = &tree[open + 1..close];
    for (offset, piece) in split_top(inner, b',') {
        expand(head.trim_end_matches("::"), piece, at + open + 1 + offset, named);
    }
}

/// Splits at `separator` where no bracket is open; gives offsets too.
fn split_top(text: &str, separator: u8) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut depth, mut from) = (0i32, 0);
    let mut before = b' ';
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b'>' if before == b'-' || before == b'=' => {}
            b')' | b']' | b'}' | b'>' => depth -= 1,
            _ if byte == separator && depth == 0 => {
                pieces.push((from, &text[from..at]));
                from = at + 1;
            }
            _ => {}
        }
        before = byte;
    }
    pieces.push((from, &text[from..]));
    pieces
}

/// The number of parameters of a list, without `self`. A tuple counts as its members, so that it
/// hides no parameter.
fn parameters(list: &str) -> usize {
    let pieces = split_top(list, b',').into_iter().map(|(_, piece)| piece.trim());
    let is_self = |piece: &str| {
        let name = piece.split(':').next().unwrap_or(piece);
        words(name).last().is_some_and(|(_, word)| word == "self")
    };
    let pieces = pieces.filter(|piece| !piece.is_empty() && !is_self(piece));
    pieces.map(|piece| split_top(piece, b':').get(1).map_or(1, |(_, kind)| members(kind))).sum()
}

/// The number of members of a tuple's type, even behind a reference or nested; 1 for any other
/// type.
fn members(kind: &str) -> usize {
    let mut kind = kind.trim();
    while let Some(rest) = kind.strip_prefix('&') {
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('\'') {
            Some(lifetime) => lifetime.trim_start_matches(|letter: char| !letter.is_whitespace()),
            None => rest,
        };
        kind = rest.trim_start().strip_prefix("mut ").unwrap_or(rest).trim_start();
    }
    let Some(inner) = kind.strip_prefix('(').and_then(|kind| kind.strip_suffix(')')) else {
        return 1;
    };
    let inner = split_top(inner, b',').into_iter().map(|(_, member)| member.trim());
    inner.filter(|member| !member.is_empty()).map(members).sum::<usize>().max(1)
}

/// The offset behind the bracket that closes the one at `open`.
pub(super) fn bracket_end(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
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
    bytes.len()
}

/// The offset behind the `>` that closes the `<` at `open`; arrows do not close.
fn angle_end(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0usize;
    for at in open..bytes.len() {
        match bytes[at] {
            b'<' => depth += 1,
            b'>' if bytes[at - 1] != b'-' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// The ranges under `#[cfg(test)]`: from the attribute to the end of its item.
fn test_ranges(code: &str) -> Vec<(usize, usize)> {
    let bytes = code.as_bytes();
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]").map(|at| from + at) {
        let item = bytes[found..].iter().position(|byte| matches!(byte, b'{' | b';'));
        let end = match item.map(|length| found + length) {
            Some(at) if bytes[at] == b'{' => bracket_end(bytes, at),
            Some(at) => at + 1,
            None => bytes.len(),
        };
        ranges.push((found, end));
        from = end;
    }
    ranges
}

/// `text` with comments and the insides of literals blanked; as long as `text`, all ASCII.
fn masked(text: &str) -> (String, Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    let mut strings = Vec::new();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let begins_word = at == 0 || !is_word(bytes[at - 1]);
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_comment_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment_end(bytes, at),
            b'"' => string_end(bytes, at + 1),
            b'r' | b'b' | b'c' if begins_word => prefixed_literal_end(bytes, at).unwrap_or(at),
            b'\'' => char_end(text, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            code.push(if bytes[at].is_ascii() { bytes[at] } else { b'_' });
            at += 1;
        } else {
            let literal = bytes[at] != b'/';
            code.extend(
                bytes[at..end].iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }),
            );
            if literal {
                // A literal stays visible as one; otherwise `.expect("why")` would look like a call
                // without arguments.
                let length = code.len();
                code[length - 1] = b'"';
                if bytes[at] != b'\'' {
                    strings.push((at, end));
                }
            }
            at = end;
        }
    }
    (String::from_utf8(code).expect("only ASCII was written"), strings)
}

fn line_comment_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (0usize, at);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The offset behind the quote that ends a string whose inside begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"` or `b'…'`; `None` for a plain word.
fn prefixed_literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let letters = bytes[at..].iter().take(2).take_while(|byte| matches!(byte, b'r' | b'b' | b'c'));
    let open = at + letters.count();
    let raw = bytes[open - 1] == b'r';
    let hashes = bytes[open..].iter().take_while(|byte| **byte == b'#').count();
    match bytes.get(open + hashes)? {
        b'"' if raw => {
            let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            let inside = open + hashes + 1;
            let length = bytes[inside..].windows(close.len()).position(|window| window == close);
            Some(length.map_or(bytes.len(), |length| inside + length + close.len()))
        }
        b'"' if hashes == 0 => Some(string_end(bytes, open + 1)),
        b'\'' if hashes == 0 && &bytes[at..open] == b"b" => {
            let inside = if bytes.get(open + 1) == Some(&b'\\') { open + 3 } else { open + 2 };
            let length = bytes.get(inside..)?.iter().position(|byte| *byte == b'\'')?;
            Some(inside + length + 1)
        }
        _ => None,
    }
}

/// The end of a character literal at `at`; `None` for a lifetime.
fn char_end(text: &str, at: usize) -> Option<usize> {
    let inside = &text[at + 1..];
    let first = inside.chars().next()?;
    if first == '\\' {
        let length = inside.get(2..)?.find('\'')?;
        return Some(at + 1 + 2 + length + 1);
    }
    let behind = at + 1 + first.len_utf8();
    text[behind..].starts_with('\'').then_some(behind + 1)
}
