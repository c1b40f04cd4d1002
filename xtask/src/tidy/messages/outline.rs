//! What the sources of messages consist of: functions with a body, the variants that they match,
//! and docstrings with a cause and a remedy.

use crate::tidy::source::{Source, bracket_end, words};
use std::ops::Range;

/// The beginning of a docstring's paragraph with the cause of a message.
const CAUSE: &str = "Cause: ";
/// The beginning of a docstring's paragraph with the remedy of a message.
const TO_DO: &str = "To do: ";

/// A function with a body.
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    /// The place of its name.
    pub(super) at: usize,
    pub(super) body: Range<usize>,
}

pub(super) fn functions(source: &Source) -> Vec<Function<'_>> {
    let code = source.code.as_str();
    let body = |at: usize| {
        // Parameters may have braces.
        let behind = bracket_end(code, at + code[at..].find('(')?);
        let open = behind + code[behind..].find(['{', ';'])?;
        code[open..].starts_with('{').then(|| open..bracket_end(code, open))
    };
    let named = source.declared().filter(|it| it.keyword == "fn");
    let named =
        named.filter_map(|it| Some(Function { name: it.name, at: it.at, body: body(it.at)? }));
    named.collect()
}

/// The functions with one of these names in the blocks `impl … of {`.
pub(super) fn of_type<'a>(
    code: &str,
    functions: &'a [Function<'a>],
    of: &str,
    names: &[&str],
) -> impl Iterator<Item = &'a Function<'a>> {
    let heads = [format!("impl {of} {{"), format!(" for {of} {{")];
    let starts = heads.iter().flat_map(|head| code.match_indices(head.as_str()));
    let blocks: Vec<_> = starts.filter_map(|(at, _)| block(code, at)).collect();
    let is_inside = move |at| blocks.iter().any(|block: &Range<usize>| block.contains(at));
    functions.iter().filter(move |it| names.contains(&it.name) && is_inside(&it.at))
}

/// The next block in braces behind `at`.
pub(super) fn block(code: &str, at: usize) -> Option<Range<usize>> {
    let open = at + code[at..].find('{')?;
    Some(open..bracket_end(code, open))
}

/// Variants of the enum `of` that its functions with one of these names match, each with the code
/// behind its arrow.
pub(super) fn variants<'a>(
    source: &'a Source,
    functions: &[Function<'_>],
    of: &str,
    names: &[&str],
) -> Vec<(&'a str, Range<usize>)> {
    let code = source.code.as_str();
    let mut found: Vec<(&str, Range<usize>)> = Vec::new();
    for function in of_type(code, functions, of, names) {
        let first = found.len();
        for (start, mark) in code[function.body.clone()].match_indices("Self::") {
            let start = function.body.start + start;
            let at = start + mark.len();
            let Some((_, variant)) = words(&code[at..]).next() else { continue };
            let mut behind = at + variant.len();
            let rest = code[behind..].trim_start();
            if rest.starts_with(['(', '{']) {
                behind = bracket_end(code, code.len() - rest.len());
            }
            let rest = code[behind..].trim_start();
            if rest.starts_with("=>") || rest.starts_with("if ") {
                if let Some((_, last)) = found[first..].last_mut() {
                    last.end = start;
                }
                found.push((variant, behind..function.body.end));
            }
        }
    }
    found
}

/// The place of `variant` in the block that declares its enum.
pub(super) fn declared(code: &str, declaration: &Range<usize>, variant: &str) -> Option<usize> {
    let mut from = declaration.start;
    for line in code[declaration.clone()].split_inclusive('\n') {
        let rest = line.strip_prefix("    ").and_then(|line| line.strip_prefix(variant));
        if rest.is_some_and(|rest| rest.starts_with([' ', '(', ','])) {
            return Some(from);
        }
        from += line.len();
    }
    None
}

/// The cause and remedy in a docstring.
#[derive(Clone, Default)]
pub(super) struct Docs {
    pub(super) cause: String,
    pub(super) to_do: String,
}

/// The docstring of the item in the line of `at`.
pub(super) fn docstring(source: &Source, at: usize) -> Docs {
    let lines: Vec<&str> = source.text.lines().collect();
    let above = lines[..source.line_of(at) - 1].iter().rev();
    let docs = above.map(|line| line.trim()).take_while(|line| line.starts_with(['/', '#', ')']));
    let docs = docs.filter_map(|line| line.strip_prefix("///"));
    let mut docs: Vec<&str> = docs.map(str::trim).collect();
    docs.reverse();
    let paragraphs: Vec<String> =
        docs.split(|line| line.is_empty()).map(|lines| lines.join(" ")).collect();
    let after = |mark: &str| paragraphs.iter().find_map(|text| text.strip_prefix(mark));
    let cause = after(CAUSE).or(paragraphs.first().map(String::as_str)).unwrap_or_default();
    Docs { cause: cause.to_owned(), to_do: after(TO_DO).unwrap_or_default().to_owned() }
}
