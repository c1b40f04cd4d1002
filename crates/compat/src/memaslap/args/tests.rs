//! Command lines and their results: the listings beside this file are the specification.

use super::*;
use crate::memaslap::rows::ROWS;
use crate::tests::{changes, command_lines, expect, expect_listing, indented, values, words};

const PROGRAM: &str = "memcaslap";
const RIGHT: &str = "memaslap/args/golden/right.txt";
const WRONG: &str = "memaslap/args/golden/wrong.txt";

/// Files that command lines may name, and home directories with either default file, both or none.
const FILES: &[(&str, &str)] = &[
    ("config", "key\n128 128 1\nvalue\n2048 2048 1\ncmd\n0 0.5\n1 0.5\n"),
    ("get-only", "key\n64 64 1\nvalue\n1 1000 1\ncmd\n0 0\n1 1\n"),
    ("page", "key\n128 128 1\nvalue\n2048 2048 1\ncmd\n0 0.1\n1.0 0.9\n"),
    ("swapped", "cmd\n1 0.9\n0 0.1\nkey\n64 64 1\nvalue\n1024 1024 1\n"),
    ("bare", "cmd\n0 1\n"),
    ("empty", "# nothing\n"),
    ("short-keys", "key\n8 8 1\nvalue\n5 5 1\n"),
    ("large-values", "key\n16 16 1\nvalue\n5 2000000 1\n"),
    ("negative", "key\n16 16 -1\nvalue\n5 5 1\n"),
    ("/both/.memslap.cnf", "key\n32 32 1\nvalue\n5 5 1\ncmd\n0 1\n"),
    ("/both/.memaslap.cnf", "key\n33 33 1\nvalue\n6 6 1\ncmd\n1 1\n"),
    ("/page/.memaslap.cnf", "key\n33 33 1\nvalue\n6 6 1\ncmd\n1 1\n"),
    ("/broken/.memslap.cnf", ""),
];

fn content(file: &str) -> Option<Vec<u8>> {
    let found = FILES.iter().find(|(name, _)| *name == file);
    found.map(|(_, text)| text.as_bytes().to_vec())
}

/// Parses a line, before which `HOME=` and `MEMCACHED_SERVERS=` may be set.
fn read(line: &str) -> Result<Options, Stop> {
    let mut words = words(line);
    let mut variable = |name: &str| {
        let value = words.first()?.strip_prefix(name)?.to_owned();
        words.remove(0);
        Some(value)
    };
    let home = variable("HOME=");
    let servers = variable("MEMCACHED_SERVERS=");
    let environment =
        Environment { servers: servers.as_deref(), home: home.as_deref(), read: &content };
    parse(PROGRAM, &words, &environment)
}

/// The changes of `line` against the shortest valid command line, or its end.
fn outcome(line: &str) -> String {
    match read(line) {
        Ok(options) => changes(values(&options, false), values(&read("-s h").unwrap(), false)),
        Err(Stop { stdout, stderr, code }) => {
            let page = if stdout.is_empty() { "" } else { ", the page" };
            assert!(stdout.is_empty() || stdout == page::help(), "{line}");
            format!("  exit {code}{page}: {stderr:?}\n")
        }
    }
}

#[test]
fn right_command_lines() {
    let least = values(&read("-s h").unwrap(), false);
    expect("memaslap/args/golden/least.txt", &indented(least));
    expect_listing(RIGHT, "$ ", outcome);
}

#[test]
fn wrong_command_lines() {
    expect_listing(WRONG, "$ ", outcome);
    for line in command_lines(WRONG, "$ ") {
        assert!(read(&line).is_err_and(|stop| stop.code == 1), "{line}");
    }
}

#[test]
fn pages() {
    for (line, page) in [("-h", page::help()), ("-V", page::VERSION.to_owned())] {
        assert_eq!(read(line), Err(Stop { stdout: page, stderr: String::new(), code: 0 }));
    }
    expect("memaslap/args/golden/help.txt", &page::help());
    assert!(page::help().lines().all(|line| line.len() <= 80));
    // The first of the two decides; an error before them comes first, too.
    assert_eq!(read("-hV"), read("--help"));
    assert_eq!(read("-Vh -T 0"), read("--version"));
}

#[test]
fn every_option_is_listed() {
    let [right, wrong] = [RIGHT, WRONG].map(|file| command_lines(file, "$ "));
    let named = |lines: &[String], long: &str, short: Option<char>| {
        lines.iter().flat_map(|line| line.split_whitespace()).any(|word| {
            let short = short.map(|letter| format!("-{letter}"));
            word.strip_prefix("--").is_some_and(|rest| rest.split('=').next() == Some(long))
                || short.is_some_and(|short| word.starts_with(&short) && !word.starts_with("--"))
        })
    };
    for row in ROWS.iter().filter(|row| !matches!(row.long, "help" | "version")) {
        assert!(named(&right, row.long, row.short), "--{}", row.long);
        if row.takes && row.long != "json" {
            assert!(named(&wrong, row.long, row.short), "--{} may go wrong, too", row.long);
        }
    }
}
