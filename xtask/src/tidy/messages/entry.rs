//! One message from its source: the whole sentence, its cause and its remedy.
//!
//! The cause stands in the docstring of the enum's variant, or of the function, that words the
//! message: in a paragraph that begins with `Cause:` (of a check: with its name), or else in the
//! first one. A paragraph that begins with `To do:` is the remedy of a sentence that names none.

use super::super::source::{Source, bracket_end, words};
use std::collections::BTreeMap;
use std::ops::Range;

/// A message with its cause and its remedy.
pub(super) struct Entry {
    /// The enum whose variant it words, if any.
    pub(super) of: Option<String>,
    /// True if it is an error, and not a part of one or a note.
    pub(super) is_error: bool,
    /// True if it is a possible value, which appears within messages.
    pub(super) is_form: bool,
    pub(super) cause: String,
    pub(super) message: String,
    pub(super) remedy: String,
}

/// Functions that word the variants of an enum.
const WORDING: [&str; 3] = ["sentence", "message", "fmt"];

/// The beginning of a docstring's paragraph with the cause of a message.
const CAUSE: &str = "Cause: ";
/// The beginning of a docstring's paragraph with the remedy of a message.
const TO_DO: &str = "To do: ";

/// Calls and members that make a text an error.
const ERRORS: [&str; 8] =
    ["Err(", "Stop", "message:", ".add(", " add(", "failed(", "explain(", "Error::other("];

/// Words with which advice begins, behind a colon or a semicolon.
const ADVICE: [&str; 44] = [
    "copy", "install", "use", "give", "name", "add", "remove", "allow", "check", "raise", "set",
    "choose", "leave", "try", "run", "write", "lower", "reduce", "measure", "compare", "reset",
    "enable", "let", "search", "merge", "put", "move", "build", "increase", "free", "fill", "make",
    "start", "stop", "wait", "pass", "is", "ask", "request", "accept", "allowed", "did",
    "{advice}", "{remedy}",
];

/// Members that hold the name of a family of values, or the forms that they can have.
const FORMS: [&str; 2] = ["what:", "forms:"];

/// Remedies of sentences in memtide's own words, by their names.
pub(super) type Remedies = BTreeMap<String, String>;

/// The remedies that `source` words, as `Remedy::Name => "words"`.
pub(super) fn remedies(source: &Source) -> Remedies {
    let mut remedies = Remedies::new();
    for (at, text) in source.strings() {
        let before = &source.code[..at];
        let Some(begin) = before.rfind("Remedy::") else { continue };
        let arm = &before[begin + "Remedy::".len()..];
        let Some((_, name)) = words(arm).next() else { continue };
        if arm[name.len()..].trim_start().starts_with("=>") {
            remedies.entry(name.to_owned()).or_insert_with(|| unescaped(text));
        }
    }
    remedies
}

/// The messages of `source` in its order; its other texts only if `is_shown`.
pub(super) fn entries(
    source: &Source,
    remedies: &Remedies,
    is_shown: impl Fn(usize, &str) -> bool,
) -> Vec<Entry> {
    let arms = arms(source);
    let mut found = Vec::new();
    for arm in &arms {
        let words = of_arm(source, arm, remedies, &is_shown).into_iter();
        found.extend(words.map(|entry| (arm.body.start, entry)));
    }
    for (at, text) in source.strings() {
        if arms.iter().any(|arm| arm.body.contains(&at)) || !is_shown(at, text) {
            continue;
        }
        let before = &source.code[..at];
        let statement = before.rfind([';', '{', '}']).map_or(before, |end| &before[end..]);
        let chain = chain(source, at);
        let text = match &chain {
            // The first text represents the whole sentence.
            Some(chain) if source.strings().any(|(to, _)| to < at && chain.contains(&to)) => {
                continue;
            }
            Some(chain) => sentence(source, chain, remedies),
            None => text.to_owned(),
        };
        let function = enclosing(source, at);
        let docs = function.map(|at| docstring(source, at)).unwrap_or_default();
        let is_of_check = docs.cause.starts_with('`') && docs.cause.contains("`: ");
        let mut entry = entry(None, docs, &text);
        entry.is_error |= match is_of_check {
            true => is_whole(&text) && is_failure(&before[function.unwrap_or(0)..]),
            false => ERRORS.iter().any(|word| statement.contains(word)),
        };
        if !entry.is_error {
            entry.remedy.clear();
        }
        let is_constant = statement.contains("const ") && statement.contains(": &str");
        entry.is_form =
            is_constant || FORMS.iter().any(|member| before.trim_end().ends_with(member));
        found.push((at, entry));
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// True if a text of a check stands alone: it is neither a clause behind another text nor a name.
fn is_whole(text: &str) -> bool {
    let is_name = !text.contains('{') && text.split(' ').count() < 3;
    !text.starts_with([';', ',', ' ']) && !is_name
}

/// True if the text behind `before`, in a function about a check, says why the check fails: not why
/// it passes or is skipped.
fn is_failure(before: &str) -> bool {
    let before = before.split_whitespace().collect::<Vec<_>>().join(" ");
    let last = |words: &[&str]| words.iter().filter_map(|word| before.rfind(word)).max();
    let failing = last(&["code, false,", "message =", "Failed,", "Some(", "let mut text"]);
    let other = last(&["skipped(", "code, true,", "Passed,"]);
    failing > other
}

/// What a function that words an enum says of one variant.
struct Arm {
    of: String,
    /// The place of the variant's declaration.
    declared: usize,
    body: Range<usize>,
}

/// The arms of all functions of `source` that word the variants of its enums.
fn arms(source: &Source) -> Vec<Arm> {
    let code = source.code.as_str();
    let mut arms = Vec::new();
    for (at, _) in code.match_indices("enum ").filter(|(at, _)| !source.in_test(*at)) {
        let Some((_, of)) = words(&code[at + "enum ".len()..]).next() else { continue };
        let Some(declaration) = block(code, at) else { continue };
        for implementation in implementations(code, of) {
            for function in source.functions() {
                let words_it = WORDING.contains(&function.name.as_str());
                if !words_it || !implementation.contains(&function.at) {
                    continue;
                }
                let Some(body) = body(code, function.at) else { continue };
                let mut bodies = bodies(code, body);
                bodies.reverse();
                for (variant, body) in bodies {
                    if let Some(declared) = declared(code, &declaration, variant) {
                        arms.push(Arm { of: of.to_owned(), declared, body });
                    }
                }
            }
        }
    }
    for (at, _) in code.match_indices("struct ").filter(|(at, _)| !source.in_test(*at)) {
        let Some((_, of)) = words(&code[at + "struct ".len()..]).next() else { continue };
        let implementation = implementations(code, of);
        let inside = |at: &usize| implementation.iter().any(|block| block.contains(at));
        let sentences = source
            .functions()
            .into_iter()
            .filter(|function| function.name == "sentence" && inside(&function.at));
        let bodies = sentences.filter_map(|function| body(code, function.at));
        arms.extend(bodies.filter_map(|body| {
            let start = body.start + code[body.clone()].find("Sentence::")?;
            Some(Arm { of: of.to_owned(), declared: at, body: start..body.end })
        }));
    }
    arms
}

/// The blocks of `impl … of {`.
fn implementations(code: &str, of: &str) -> Vec<Range<usize>> {
    let heads = [format!("impl {of} {{"), format!(" for {of} {{")];
    let starts = heads.iter().flat_map(|head| code.match_indices(head.as_str()));
    starts.filter_map(|(at, _)| block(code, at)).collect()
}

/// The next block in braces behind `at`.
fn block(code: &str, at: usize) -> Option<Range<usize>> {
    let open = at + code[at..].find('{')?;
    Some(open..bracket_end(code.as_bytes(), open))
}

/// The body of the function at `at`, whose parameters may have braces.
fn body(code: &str, at: usize) -> Option<Range<usize>> {
    let open = at + code[at..].find('(')?;
    block(code, bracket_end(code.as_bytes(), open))
}

/// Variants that are matched within `block`, each with the code behind its arrow.
fn bodies(code: &str, block: Range<usize>) -> Vec<(&str, Range<usize>)> {
    let mut found: Vec<(&str, Range<usize>)> = Vec::new();
    let mut end = block.end;
    let starts: Vec<usize> = code[block.clone()].match_indices("Self::").map(|m| m.0).collect();
    for start in starts.into_iter().rev() {
        let at = block.start + start + "Self::".len();
        let Some((_, variant)) = words(&code[at..]).next() else { continue };
        let mut behind = at + variant.len();
        let rest = code[behind..].trim_start();
        if rest.starts_with(['(', '{']) {
            behind = bracket_end(code.as_bytes(), code.len() - rest.len());
        }
        let rest = code[behind..].trim_start();
        if rest.starts_with("=>") || rest.starts_with("if ") {
            found.push((variant, behind..end));
            end = block.start + start;
        }
    }
    found
}

/// The place of `variant` in the block that declares its enum.
fn declared(code: &str, declaration: &Range<usize>, variant: &str) -> Option<usize> {
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

/// The sentences of an arm: one for a `Sentence`, whose parts belong together, else one per text.
fn of_arm(
    source: &Source,
    arm: &Arm,
    remedies: &Remedies,
    is_shown: impl Fn(usize, &str) -> bool,
) -> Vec<Entry> {
    let code = &source.code[arm.body.clone()];
    let texts = || source.strings().filter(|(at, _)| arm.body.contains(at));
    let docs = docstring(source, arm.declared);
    if !code.contains("Sentence::") {
        let texts = texts().filter(|(at, text)| is_shown(*at, text));
        return texts.map(|(_, text)| entry(Some(arm.of.clone()), docs.clone(), text)).collect();
    }
    let whole = sentence(source, &arm.body, remedies);
    texts().take(1).map(|_| entry(Some(arm.of.clone()), docs.clone(), &whole)).collect()
}

/// The statement or arm around `at` that makes a `Sentence`; `None` if it makes none.
fn chain(source: &Source, at: usize) -> Option<Range<usize>> {
    let code = source.code.as_str();
    let ends = [";", "{", "}", "=>"];
    let from = ends.iter().filter_map(|end| code[..at].rfind(end)).max().unwrap_or_default();
    let to = ends.iter().filter_map(|end| code[at..].find(end)).min().unwrap_or(code.len() - at);
    code[from..at].contains("Sentence::").then_some(from..at + to)
}

/// The joined parts of the `Sentence` that is made within `body`.
fn sentence(source: &Source, body: &Range<usize>, remedies: &Remedies) -> String {
    let code = &source.code[body.clone()];
    let mut parts: BTreeMap<usize, String> = BTreeMap::new();
    for (at, text) in source.strings().filter(|(at, _)| body.contains(at)) {
        let is_field = source.code[..at].ends_with(".field(");
        let whole = unescaped(text);
        parts.insert(at, if is_field { format!("--{whole}") } else { whole });
    }
    for call in ["Sentence::new(", ".and(", ".text("] {
        for (at, _) in code.match_indices(call) {
            let argument = code[at + call.len()..].trim_start().trim_start_matches('&');
            let name = words(argument).next().filter(|(at, _)| *at == 0).map(|(_, name)| name);
            if let Some(name) = name.filter(|name| *name != "format") {
                parts.insert(body.start + at, format!("{{{name}}}"));
            }
        }
    }
    for (at, call) in code.match_indices(".remedy(Remedy::") {
        let name = words(&code[at + call.len()..]).next().map_or("", |(_, name)| name);
        let text = remedies.get(name).cloned().unwrap_or_default();
        parts.insert(body.start + at, text);
    }
    parts.into_values().collect()
}

fn entry(of: Option<String>, docs: Docs, sentence: &str) -> Entry {
    let (message, said) = divided(&shown(sentence));
    let is_error = of.is_some() || !said.is_empty();
    let remedy = if said.is_empty() { cell(&docs.to_do) } else { said };
    Entry { of, is_error, is_form: false, cause: cell(&docs.cause), message, remedy }
}

/// The start of the innermost function around `at`.
fn enclosing(source: &Source, at: usize) -> Option<usize> {
    let around = source.functions().into_iter().filter(|function| {
        function.at < at
            && body(&source.code, function.at).is_some_and(|inside| inside.contains(&at))
    });
    around.map(|function| function.at).max()
}

/// The cause and remedy in a docstring.
#[derive(Clone, Default)]
struct Docs {
    cause: String,
    to_do: String,
}

/// The docstring of the item in the line of `at`.
fn docstring(source: &Source, at: usize) -> Docs {
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

/// A text without the advice at its end, and the advice.
pub(super) fn divided(text: &str) -> (String, String) {
    let marks = text.match_indices([':', ';', '(']);
    for (at, mark) in marks {
        let rest = text[at + mark.len()..].trim_start();
        let first = rest.split([' ', ',']).next().unwrap_or_default();
        let is_advice = match mark {
            "(" => rest.starts_with("--") || rest.starts_with("see --"),
            _ => ADVICE.contains(&first),
        };
        if is_advice {
            let rest = if mark == "(" { rest.replacen(')', "", 1) } else { rest.to_owned() };
            return (text[..at].trim_end().to_owned(), rest);
        }
    }
    (text.to_owned(), String::new())
}

/// A string as a cell of a table: escapes undone, lines joined.
pub(super) fn shown(text: &str) -> String {
    cell(&unescaped(text))
}

fn unescaped(text: &str) -> String {
    let mut whole = String::new();
    let mut lines = text.split("\\\n");
    whole.push_str(lines.next().unwrap_or_default());
    for line in lines {
        whole.push_str(line.trim_start());
    }
    whole.replace("\\n", " ").replace("\\\"", "\"").replace('\n', " ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").trim().to_owned()
}

#[cfg(test)]
mod tests;
