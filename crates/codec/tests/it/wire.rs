//! Runs the vectors in `tests/wire`. A file is a list of cases:
//!
//! `-- name` begins a case; `C: line` is sent by the client, `S: line` by the server, each with
//! CRLF; `C+ bytes` and `S+ bytes` go without; `Cx` and `Sx` are followed by words of hexadecimal
//! digits and of `'text'`; `=> event` is what the lines of the same side mean. `\r \n \xNN \\`
//! are escapes, `{bytes*count}` repeats, `#` begins a comment.

use crate::events;
use memtide_codec::text::encode;
use std::path::Path;

/// Small, so that a test can exceed it.
const ITEM_BYTES_MAX: usize = 1024;

#[derive(Default)]
pub struct Case {
    pub name: String,
    pub client: Vec<u8>,
    pub server: Vec<u8>,
    pub requests: Vec<String>,
    pub replies: Vec<String>,
}

#[test]
fn every_vector_means_what_it_says_however_it_is_cut() {
    let cases = for_each_case("tests/wire", check);
    assert!(cases >= 70, "only {cases} cases were found");
}

/// Passes every case of the files in `folder`, with its place, to `check`; returns their number.
pub fn for_each_case(folder: &str, check: impl Fn(&Case, &str)) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            check(&case, &format!("{}, '{}'", path.display(), case.name));
            cases += 1;
        }
    }
    cases
}

fn check(case: &Case, place: &str) {
    let requests = events::requests(&[&case.client], ITEM_BYTES_MAX);
    assert_eq!(requests, case.requests, "{place}");
    events::every_cut(&case.client, |pieces| {
        assert_eq!(events::requests(pieces, ITEM_BYTES_MAX), requests, "{place}: {pieces:?}");
    });
    let replies = events::replies(&[&case.server]);
    assert_eq!(replies, case.replies, "{place}");
    events::every_cut(&case.server, |pieces| {
        assert_eq!(events::replies(pieces), replies, "{place}: {pieces:?}");
    });
    check_encoding(case, place);
}

/// Re-encoding what was decoded must keep the meaning.
fn check_encoding(case: &Case, place: &str) {
    let mut again = Vec::new();
    let mut input = &case.server[..];
    let mut decoder = memtide_codec::text::ReplyDecoder::new();
    let end = loop {
        match decoder.next(&mut input) {
            Ok(Some(reply)) => encode::reply(&mut again, &reply),
            Ok(None) => break Ok(()),
            Err(bad) => break Err(bad),
        }
    };
    if end.is_ok() && decoder.is_idle() {
        assert_eq!(events::replies(&[&again]), case.replies, "{place}");
    }
    let mut again = Vec::new();
    let mut input = &case.client[..];
    let mut decoder = memtide_codec::text::RequestDecoder::new(ITEM_BYTES_MAX);
    let mut understood = 0;
    while let Ok(Some(request)) = decoder.next(&mut input) {
        encode::request(&mut again, &request);
        understood += 1;
    }
    let events = events::requests(&[&again], ITEM_BYTES_MAX);
    assert_eq!(events, case.requests[..understood], "{place}");
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
