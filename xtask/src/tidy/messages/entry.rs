//! One message from its source: the whole sentence, its cause and its remedy.
//!
//! The cause stands in the docstring of the enum's variant, or of the function, that words the
//! message: in a paragraph that begins with `Cause:` (of a check: with its name), or else in the
//! first one. A paragraph that begins with `To do:` is the remedy of a sentence that names none.

use super::outline::{Docs, Function, block, declared, docstring, functions, of_type, variants};
use crate::tidy::source::{Source, words};
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
    let functions = functions(source);
    let arms = arms(source, &functions);
    let (mut found, mut listed) = (Vec::new(), 0..0);
    for (at, text) in source.strings() {
        let arm = arms.iter().find(|arm| arm.body.contains(&at));
        let whole = match arm {
            Some(arm) => Some(arm.body.clone()).filter(|body| makes_sentence(source, body)),
            None => chain(source, at),
        };
        // The first text represents the whole sentence.
        if let Some(whole) = &whole
            && std::mem::replace(&mut listed, whole.clone()) == *whole
        {
            continue;
        }
        if !(arm.is_some() && whole.is_some() || is_shown(at, text)) {
            continue;
        }
        let around = functions.iter().filter(|function| function.body.contains(&at));
        let function = around.map(|function| function.at).max();
        let docs = arm.map(|arm| arm.declared).or(function).map(|at| docstring(source, at));
        let Docs { cause, to_do } = docs.unwrap_or_default();
        let text = whole.map_or(text.to_owned(), |whole| sentence(source, &whole, remedies));
        let (message, mut remedy) = divided(&shown(&text));
        let before = &source.code[..at];
        let statement = before.rfind([';', '{', '}']).map_or(before, |end| &before[end..]);
        let is_of_check = cause.starts_with('`') && cause.contains("`: ");
        let is_error = arm.is_some()
            || !remedy.is_empty()
            || match is_of_check {
                true => is_whole(&text) && is_failure(&before[function.unwrap_or(0)..]),
                false => ERRORS.iter().any(|word| statement.contains(word)),
            };
        if is_error && remedy.is_empty() {
            remedy = cell(&to_do);
        }
        let is_constant = statement.contains("const ") && statement.contains(": &str");
        let is_form = arm.is_none()
            && (is_constant || FORMS.iter().any(|member| before.trim_end().ends_with(member)));
        let of = arm.map(|arm| arm.of.clone());
        found.push(Entry { of, is_error, is_form, cause: cell(&cause), message, remedy });
    }
    found
}

/// Code, cause, message and remedy of each warning that `source` words. A message that its arm does
/// not word is the longest text of the function with the name of the code; such a remedy is every
/// text of the function `<code>_remedy`, beside that of `spoilers`, which also have the code of a
/// variant that has none.
pub(super) fn warnings(source: &Source, spoilers: &[[String; 3]]) -> Vec<[String; 4]> {
    let functions = functions(source);
    let mut found = Vec::new();
    for item in source.declared().filter(|it| it.keyword == "enum" && !source.in_test(it.at)) {
        let Some(declaration) = block(&source.code, item.at) else { continue };
        let of = |name| variants(source, &functions, item.name, &[name]);
        let [codes, messages, remedies] = ["code", "message", "remedy"].map(of);
        for (variant, body) in codes {
            let spoiler = spoilers.iter().find(|[of, ..]| of == variant);
            let own = texts(source, &body).into_iter().next();
            let Some(code) = own.or_else(|| spoiler.map(|[_, code, _]| code.clone())) else {
                continue;
            };
            let declared = declared(&source.code, &declaration, variant);
            let cause = declared.map(|at| docstring(source, at).cause).unwrap_or_default();
            let words = |arms: &[(&str, Range<usize>)]| {
                let arms = arms.iter().filter(|(name, _)| *name == variant);
                arms.flat_map(|(_, body)| texts(source, body)).collect::<Vec<_>>().join(" / ")
            };
            let mut message = words(&messages);
            if message.is_empty() {
                let named = functions.iter().filter(|function| function.name == code);
                let texts = named.flat_map(|function| texts(source, &function.body));
                message = texts.max_by_key(String::len).unwrap_or_default();
            }
            let mut remedy = words(&remedies);
            if remedy.is_empty() {
                let name = format!("{code}_remedy");
                let named = functions.iter().filter(|function| function.name == name);
                let said = named.flat_map(|function| texts(source, &function.body));
                let shared = spoiler.map(|[_, _, remedy]| remedy.clone());
                remedy = said.chain(shared).collect::<Vec<_>>().join(" / ");
            }
            found.push([code, cause, message, remedy]);
        }
    }
    found
}

/// The conditions of a machine in `source`, of which runs warn, too: variant, code and remedy.
pub(super) fn spoilers(source: &Source) -> Vec<[String; 3]> {
    let functions = functions(source);
    let remedies = variants(source, &functions, "Spoiler", &["remedy"]);
    let each = remedies.iter().filter_map(|(variant, body)| {
        let row = format!("{variant} = ");
        let code = source.strings().find(|(at, _)| source.code[..*at].ends_with(&row))?.1;
        Some([(*variant).to_owned(), code.to_owned(), texts(source, body).join(" / ")])
    });
    each.collect()
}

/// The strings in a part of the code, without endings of a plural.
fn texts(source: &Source, body: &Range<usize>) -> Vec<String> {
    let inside = source.strings().filter(|(at, text)| body.contains(at) && text.len() > 2);
    inside.map(|(_, text)| shown(text)).collect()
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
    let other = last(&["skipped(", "Skipped,", "code, true,", "Passed,"]);
    failing > other
}

/// What a function that words an enum says of one variant.
struct Arm {
    of: String,
    /// The place of the variant's declaration.
    declared: usize,
    body: Range<usize>,
}

/// What all functions of `source` that word its enums and structs say of each.
fn arms(source: &Source, functions: &[Function<'_>]) -> Vec<Arm> {
    let code = source.code.as_str();
    let mut arms = Vec::new();
    for item in source.declared().filter(|it| it.is_type() && !source.in_test(it.at)) {
        let of = || item.name.to_owned();
        if item.keyword == "enum" {
            let Some(declaration) = block(code, item.at) else { continue };
            for (variant, body) in variants(source, functions, item.name, &WORDING) {
                if let Some(declared) = declared(code, &declaration, variant) {
                    arms.push(Arm { of: of(), declared, body });
                }
            }
        } else if item.keyword == "struct" {
            for function in of_type(code, functions, item.name, &["sentence"]) {
                if let Some(start) = code[function.body.clone()].find("Sentence::") {
                    let body = function.body.start + start..function.body.end;
                    arms.push(Arm { of: of(), declared: item.at, body });
                }
            }
        }
    }
    arms
}

/// True if the code within `body` makes a `Sentence`, whose parts belong together.
fn makes_sentence(source: &Source, body: &Range<usize>) -> bool {
    source.code[body.clone()].contains("Sentence::")
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
