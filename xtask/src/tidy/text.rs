//! Words that are not allowed: calls with a better replacement, system interfaces in pure crates,
//! `unsafe` outside its one crate, and names without meaning.
//!
//! Each ban is a row of a table with its reason and its replacement.

use super::source::Source;
use super::{Finding, Rule};

/// The parts that are free of a ban.
#[derive(Clone, Copy)]
enum Free {
    Nowhere,
    /// Tests.
    Tests,
    /// Tests and these parts.
    TestsAnd(&'static [&'static str]),
}

struct Call {
    pattern: &'static str,
    free: Free,
    why: &'static str,
    instead: &'static str,
}

/// Parts that may print with a macro; memtide has one module for its output.
const PROGRAMS: &[&str] = &["xtask", "bench", "loom"];
/// Parts that may use system interfaces; all other crates are pure.
const WORLDS: &[&str] = &["host", "sinks", "memtide", "xtask", "bench"];
/// Folders of pure crates that may use system interfaces, too, each with the file above it.
const WORLDLY: &[&str] = &["crates/cluster/src/transport"];
/// Parts that may use `unsafe`; tests and bench are exempt by name.
const UNSAFE_PARTS: &[&str] = &["host", "bench"];

const ONE_MOUTH: &str = "only a program speaks; a library that prints cannot be silenced";
const UNFINISHED: &str = "the tree holds nothing unfinished";

const CALLS: &[Call] = &[
    Call {
        pattern: "println!",
        free: Free::TestsAnd(PROGRAMS),
        why: ONE_MOUTH,
        instead: "return the text, or emit an event",
    },
    Call {
        pattern: "print!",
        free: Free::TestsAnd(PROGRAMS),
        why: ONE_MOUTH,
        instead: "return the text, or emit an event",
    },
    Call {
        pattern: "eprintln!",
        free: Free::TestsAnd(PROGRAMS),
        why: ONE_MOUTH,
        instead: "return an error or a warning of the record",
    },
    Call {
        pattern: "eprint!",
        free: Free::TestsAnd(PROGRAMS),
        why: ONE_MOUTH,
        instead: "return an error or a warning of the record",
    },
    Call {
        pattern: "dbg!",
        free: Free::Nowhere,
        why: UNFINISHED,
        instead: "take it out, or assert what you looked for",
    },
    Call {
        pattern: ".unwrap()",
        free: Free::Tests,
        why: "a panic must name the invariant that broke",
        instead: "`.expect(\"the invariant\")`, or return the error",
    },
    Call { pattern: "todo!", free: Free::Nowhere, why: UNFINISHED, instead: "write it" },
    Call { pattern: "unimplemented!", free: Free::Nowhere, why: UNFINISHED, instead: "write it" },
    Call {
        pattern: "#[ignore",
        free: Free::Nowhere,
        why: "a test that does not run states nothing",
        instead: "make it fast and sure, or delete it",
    },
];

struct Door {
    prefix: &'static str,
    instead: &'static str,
}

const ANOTHER_DOOR: &str = "let a world do it through `Driver` or `Fleet`, or take the result as \
                            an argument";

/// Paths of system interfaces.
const DOORS: &[Door] = &[
    Door { prefix: "std::time", instead: "take base's `Instant` and `Span` as arguments" },
    Door { prefix: "core::time", instead: "take base's `Span` as an argument" },
    Door { prefix: "std::fs", instead: "take the text or the bytes as an argument" },
    Door { prefix: "std::env", instead: "take the words as arguments" },
    Door { prefix: "std::thread", instead: ANOTHER_DOOR },
    Door { prefix: "std::process", instead: ANOTHER_DOOR },
    Door { prefix: "std::os", instead: ANOTHER_DOOR },
    Door { prefix: "std::net::TcpStream", instead: ANOTHER_DOOR },
    Door { prefix: "std::net::TcpListener", instead: ANOTHER_DOOR },
    Door { prefix: "std::net::UdpSocket", instead: ANOTHER_DOOR },
    Door { prefix: "std::net::ToSocketAddrs", instead: ANOTHER_DOOR },
    Door { prefix: "std::io::stdin", instead: "take an `impl Read`" },
    Door { prefix: "std::io::stdout", instead: "return the text, or take an `impl Write`" },
    Door { prefix: "std::io::stderr", instead: "return the text, or take an `impl Write`" },
];

/// Words that no name may contain, and their replacements.
pub(super) const WORDS: &[(&str, &str)] = &[
    ("latency", "say which: lag, service or response"),
    ("latencies", "say which: lag, service or response"),
    ("manager", "name what it does or what it is"),
    ("helper", "name what it does"),
    ("helpers", "name what they do"),
    ("util", "put it where it is used, and name it"),
    ("utils", "put it where it is used, and name it"),
    ("witness", "say observer"),
    ("crowd", "say clients"),
    ("desk", "say sink"),
    ("teller", "say transcript or formatter"),
    ("voice", "say formatter"),
    ("voices", "say formatters"),
    ("conduct", "say profile, or name what is carried out"),
    ("joint", "name what is joined"),
    ("news", "say what is new, or which event"),
    ("lives", "say connection churn, or lifetimes"),
    ("habits", "say options"),
    ("tongue", "say wire format or dialect"),
    ("births", "say openings"),
    ("stillborn", "say failed to connect"),
];

/// Parts that may not name flags, because each front has flags of its own.
const FLAGLESS: &[&str] =
    &["base", "codec", "workload", "metrics", "server", "engine", "run", "host", "sim", "sinks"];

/// Every disallowed word of one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(calls(source));
    findings.extend(doors(source));
    findings.extend(names(source));
    findings.extend(unsafety(source));
    findings.extend(flags(source));
    findings
}

/// Flags of a command line in the strings of a part that may not name them.
fn flags(source: &Source) -> Vec<Finding> {
    if !FLAGLESS.contains(&source.part()) || source.is_test() {
        return Vec::new();
    }
    let why = "a face has other flags, or none; who speaks with the user puts facts into words";
    let instead = "return a `Sentence` with a `Remedy` or the name of a field in it";
    let mut findings = Vec::new();
    for (at, dashes) in source.text.match_indices("--") {
        let after = source.text[at + dashes.len()..].bytes().next();
        let is_masked = !source.code[at..].starts_with(dashes);
        let start = source.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let is_comment = source.text[start..].trim_start().starts_with("//");
        if after.is_some_and(|byte| byte.is_ascii_lowercase())
            && is_masked
            && !is_comment
            && !source.in_test(at)
        {
            let flag = source.text[at..].split(|c: char| c != '-' && !c.is_ascii_lowercase());
            let flag = format!("`{}`", flag.into_iter().next().unwrap_or(dashes));
            findings.push(found(source, at, Rule::Word, (flag, why, instead)));
        }
    }
    findings
}

/// Parts that are free of a ban and do not use that freedom.
pub(super) fn check_freedoms(sources: &[Source]) -> Vec<Finding> {
    let speaks = |source: &Source| {
        CALLS.iter().any(|call| {
            matches!(call.free, Free::TestsAnd(_)) && uses(source, call).next().is_some()
        })
    };
    let reaches = |source: &Source| {
        source.named().iter().any(|named| {
            let door = DOORS.iter().any(|door| opens(door, &named.path));
            door && !source.in_test(named.at)
        })
    };
    let trusts =
        |source: &Source| source.words().any(|(at, word)| word == "unsafe" && !source.in_test(at));
    let mut findings = Vec::new();
    let mut check = |parts: &[&str], what: &str, used: &dyn Fn(&Source) -> bool| {
        for part in parts {
            if !sources.iter().any(|source| source.part() == *part && used(source)) {
                findings.push(Finding {
                    path: "xtask/src/tidy/text.rs".to_owned(),
                    line: 0,
                    rule: Rule::Unused,
                    what: format!("`{part}` may {what}, and does not"),
                    why: "who is free of a rule without need will come to break it",
                    instead: "take it out of the table".to_owned(),
                });
            }
        }
    };
    check(PROGRAMS, "speak to a person", &speaks);
    check(WORLDS, "reach the world", &reaches);
    check(UNSAFE_PARTS, "say `unsafe`", &trusts);
    findings
}

fn found(
    source: &Source,
    at: usize,
    rule: Rule,
    (what, why, instead): (String, &'static str, &str),
) -> Finding {
    let (path, line) = (source.path.clone(), source.line_of(at));
    Finding { path, line, rule, what, why, instead: instead.to_owned() }
}

fn calls(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for call in CALLS {
        for at in uses(source, call) {
            let free = match call.free {
                Free::Nowhere => false,
                Free::Tests => source.in_test(at),
                Free::TestsAnd(parts) => source.in_test(at) || parts.contains(&source.part()),
            };
            if !free {
                let what = format!("`{}`", call.pattern);
                findings.push(found(source, at, Rule::Call, (what, call.why, call.instead)));
            }
        }
    }
    findings
}

/// The places at which a file makes this call.
fn uses(source: &Source, call: &Call) -> impl Iterator<Item = usize> {
    let begins_word = call.pattern.as_bytes()[0].is_ascii_alphabetic();
    source.code.match_indices(call.pattern).map(|(at, _)| at).filter(move |at| {
        let before = source.code[..*at].bytes().last().unwrap_or(b' ');
        !begins_word || !(before.is_ascii_alphanumeric() || before == b'_')
    })
}

/// True if a path belongs to this system interface.
fn opens(door: &Door, path: &str) -> bool {
    let rest = path.strip_prefix(door.prefix);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn is_worldly(source: &Source) -> bool {
    let below = |rest: &str| rest == ".rs" || rest.starts_with('/');
    WORLDLY.iter().any(|folder| source.path.strip_prefix(folder).is_some_and(below))
}

fn doors(source: &Source) -> Vec<Finding> {
    if WORLDS.contains(&source.part()) || is_worldly(source) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for named in source.named() {
        if let Some(door) = DOORS.iter().find(|door| opens(door, &named.path))
            && !source.in_test(named.at)
        {
            let what = format!("`{}`", named.path);
            let why = "a crate that cannot reach the world can be replayed from a seed";
            findings.push(found(source, named.at, Rule::World, (what, why, door.instead)));
        }
    }
    findings
}

fn names(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let why = "a name says what a thing is, in the words of the glossary";
    let mut before = "";
    for (at, word) in source.words() {
        let banned = |(bad, _): &&(&str, &str)| pieces(word).any(|piece| piece == *bad);
        if let Some((_, instead)) = WORDS.iter().find(banned) {
            findings.push(found(source, at, Rule::Word, (format!("`{word}`"), why, instead)));
        }
        if before == "mod" && word == "stats" {
            let instead = "name what it holds: counters, series, summary";
            findings.push(found(source, at, Rule::Word, ("`mod stats`".to_owned(), why, instead)));
        }
        before = word;
    }
    findings
}

/// The words inside an identifier, in lower case: `lagNs`, `LagNs`, `lag_ns`, `LAG_NS`.
pub(super) fn pieces(identifier: &str) -> impl Iterator<Item = String> {
    let shouted = !identifier.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut spaced = String::new();
    for letter in identifier.chars() {
        if letter == '_' || (letter.is_ascii_uppercase() && !shouted) {
            spaced.push(' ');
        }
        if letter != '_' {
            spaced.push(letter.to_ascii_lowercase());
        }
    }
    spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn unsafety(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if UNSAFE_PARTS.contains(&source.part()) {
        return findings;
    }
    let why = "what the compiler cannot check stands in one crate, where it is looked at";
    for (at, _) in source.words().filter(|(_, word)| *word == "unsafe") {
        if !source.in_test(at) {
            let instead = "move it to host behind a safe function";
            findings.push(found(source, at, Rule::Unsafe, ("`unsafe`".to_owned(), why, instead)));
        }
    }
    if source.is_root() && !source.code.contains("#![forbid(unsafe_code)]") {
        let what = "no `#![forbid(unsafe_code)]`".to_owned();
        findings.push(found(source, 0, Rule::Unsafe, (what, why, "write it under the header")));
    }
    findings
}
