//! Runs the vectors in `tests/wire`. A file is a list of cases:
//!
//! `-- name` begins a case; `C: line` is sent by the client, `S: line` by the server, each with
//! CRLF; `C+ bytes` and `S+ bytes` go without; `Cx` and `Sx` are followed by words of hexadecimal
//! digits and of `'text'`; `=> event` is what the lines of the same side mean. `\r \n \xNN \\`
//! are escapes, `{bytes*count}` repeats, `#` begins a comment.

use crate::events;
use std::path::Path;

/// Small, so that a test can exceed it.
pub const ITEM_BYTES_MAX: usize = 1024;

#[derive(Default)]
struct Case {
    name: String,
    client: Vec<u8>,
    server: Vec<u8>,
    requests: Vec<String>,
    replies: Vec<String>,
}

#[test]
fn every_vector_means_what_it_says_however_it_is_cut() {
    check_all("tests/wire", 70, events::requests, events::replies);
}

/// Decodes a stream from pieces; returns its events, and what was understood encoded again.
pub type Read = fn(&[&[u8]]) -> (Vec<String>, Vec<u8>);

/// Checks every case of the files in `folder`, of which there are at least `least`.
pub fn check_all(folder: &str, least: usize, requests: Read, replies: Read) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            let place = format!("{}, '{}'", path.display(), case.name);
            check(requests, &case.client, &case.requests, &place);
            check(replies, &case.server, &case.replies, &place);
            cases += 1;
        }
    }
    assert!(cases >= least, "only {cases} cases were found");
}

/// Asserts that `bytes` mean `expected` however they are cut, and that what was understood means
/// the same when it is encoded again.
fn check(read: Read, bytes: &[u8], expected: &[String], place: &str) {
    let (events, again) = read(&[bytes]);
    assert_eq!(events, expected, "{place}");
    events::every_cut(bytes, |pieces| assert_eq!(read(pieces).0, events, "{place}: {pieces:?}"));
    let understood = |events: Vec<String>| {
        let ends = ["malformed", "cut", "part of"];
        let good = |event: &String| !ends.iter().any(|end| event.starts_with(end));
        let until = events.into_iter().take_while(good);
        until.filter(|event| !event.starts_with("refused")).collect::<Vec<_>>()
    };
    assert_eq!(understood(read(&[&again]).0), understood(events), "{place}");
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut from_client = true;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("-- ") {
            cases.push(Case { name: name.to_owned(), ..Case::default() });
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let case: &mut Case = cases.last_mut().expect("a line before the first case");
        let (mark, rest) = line.split_at(line.len().min(2));
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        match mark {
            "=>" if from_client => case.requests.push(repeated(rest)),
            "=>" => case.replies.push(repeated(rest)),
            "C:" | "C+" | "Cx" | "S:" | "S+" | "Sx" => {
                from_client = mark.starts_with('C');
                let side = if from_client { &mut case.client } else { &mut case.server };
                side.extend(if mark.ends_with('x') { unhex(rest) } else { unescape(rest) });
                side.extend_from_slice(if mark.ends_with(':') { b"\r\n" } else { b"" });
            }
            _ => panic!("a line of a vector that is no line of a vector: {line}"),
        }
    }
    cases
}

pub fn unhex(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for word in repeated(text).split_whitespace() {
        match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
            Some(text) => out.extend(unescape(text)),
            None => {
                assert!(word.len() % 2 == 0, "half a byte in {text}");
                let byte = |at| u8::from_str_radix(&word[at..at + 2], 16).unwrap();
                out.extend((0..word.len()).step_by(2).map(byte));
            }
        }
    }
    out
}

fn unescape(text: &str) -> Vec<u8> {
    let text = repeated(text);
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        (out, rest) = match (byte, after) {
            (b'\\', [b'r', after @ ..]) => ([out, vec![b'\r']].concat(), after),
            (b'\\', [b'n', after @ ..]) => ([out, vec![b'\n']].concat(), after),
            (b'\\', [b'\\', after @ ..]) => ([out, vec![b'\\']].concat(), after),
            (b'\\', [b'x', after @ ..]) => {
                let (digits, after) = after.split_at(2);
                let digits = std::str::from_utf8(digits).unwrap();
                ([out, vec![u8::from_str_radix(digits, 16).unwrap()]].concat(), after)
            }
            (b'\\', _) => panic!("an escape that is none in {text}"),
            (byte, after) => ([out, vec![*byte]].concat(), after),
        };
    }
    out
}

pub fn repeated(text: &str) -> String {
    let Some((before, rest)) = text.split_once('{') else { return text.to_owned() };
    let (inside, after) = rest.split_once('}').expect("a repetition ends in }");
    let (unit, count) = inside.split_once('*').expect("a repetition has a *");
    [before, &unit.repeat(count.parse().unwrap()), &repeated(after)].concat()
}
