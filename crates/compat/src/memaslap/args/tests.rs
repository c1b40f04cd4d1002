//! Command lines and their results: the listings beside this file are the specification.
//! `UPDATE=1 cargo test -p memtide-compat` writes them anew; read the difference before keeping it.

use super::*;
use crate::memaslap::rows::ROWS;
use std::collections::BTreeSet;

const PROGRAM: &str = "memcaslap";

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

fn words(line: &str) -> Vec<String> {
    // A pair of quotes is an empty word.
    line.split_whitespace().map(|word| word.replace("''", "")).collect()
}

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

/// The values of `options`, one a line, each with its path.
fn values(options: &Options) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in format!("{options:#?}").lines() {
        let line = line.trim().trim_end_matches(',');
        if line.ends_with(['{', '(', '[']) {
            let key = line.trim_end_matches(['{', '(', '[']).split(':').next().unwrap_or("");
            path.push(key.trim().to_owned());
        } else if line.starts_with(['}', ')', ']']) {
            path.pop();
        } else {
            found.push(format!("{} {line}", path[1..].join(".")));
        }
    }
    found
}

/// The changes of `line` against the shortest valid command line, or its end.
fn outcome(line: &str) -> String {
    let least: BTreeSet<String> = values(&read("-s h").unwrap()).into_iter().collect();
    match read(line) {
        Ok(options) => {
            let changed = values(&options).into_iter().filter(|value| !least.contains(value));
            changed.map(|value| format!("  {}\n", value.trim())).collect()
        }
        Err(Stop { stdout, stderr, code }) => {
            let page = if stdout.is_empty() { "" } else { ", the page" };
            assert!(stdout.is_empty() || stdout == page::help(), "{line}");
            format!("  exit {code}{page}: {stderr:?}\n")
        }
    }
}

fn check_listing(file: &str, listing: &str) {
    let path = format!("{}/src/memaslap/args/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, listing).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(listing, kept, "{file} differs; UPDATE=1 writes it anew");
}

fn list(file: &str, lines: &[&str]) {
    let mut listing = String::new();
    for line in lines {
        listing += &format!("$ {line}\n{}", outcome(line));
    }
    check_listing(file, &listing);
}

const RIGHT: &[&str] = &[
    "--servers h",
    "-s a:1,b,[::1]:5",
    "-s a:1 -s b:2",
    "-s a:1,,b,",
    "-s a:1:50,b:2/?3,fe80::1",
    "MEMCACHED_SERVERS=a:1,b:2",
    "MEMCACHED_SERVERS=a:1 -s b:2",
    "-sh stray words",
    "-s h -T 4",
    "-s h --threads=2x",
    "-s a,b,c -T 2",
    "-s a,b -T 2",
    "-s h -c 128",
    "-s h -c 16abc",
    "-s h --concurrency +4",
    "-s h -n 128",
    "-s h --conn_sock=200",
    "-s h -T 2 -c 128 -n 128",
    "-s h -x 100000",
    "-s h --execute_number=5000000000",
    "-s h -x 100 -t 5s",
    "-s h -t 5s -x 100",
    "-s h -t 24h",
    "-s h --time=30s",
    "-s h -t 2M",
    "-s h -t 1D",
    "-s h -t 5ms",
    "-s h -t 1.5s",
    "-s h -t +5S",
    "-s h -F config",
    "-s h --cfg_cmd=get-only",
    "-s h -F page",
    "-s h -F swapped",
    "-s h -F bare",
    "-s h -F bare -X 100",
    "-s h -F large-values -X 100",
    "-s h -F config -F page",
    "HOME=/none -s h",
    "HOME=/both -s h",
    "HOME=/both/ -s h -F config",
    "HOME=/page -s h",
    "-s h -w 40k",
    "-s h --win_size=1M",
    "-s h -w 10kk",
    "-s h -w 1g",
    "-s h -X 1048576",
    "-s h --fixed_size 1k",
    "-s h -v 0.2 -e 0.05 -b",
    "-s h --verify=0.01 --exp_verify=0.01",
    "-s h -v 1 -e 1 -o 1",
    "-s h -v 0.5abc -o 1e-3",
    "-s h -o 0.2",
    "-s h --overwrite=0.01",
    "-s h -d 50",
    "-s h --division=2k",
    "-s h -S 5s",
    "-s h --stat_freq=20S",
    "-s h -S 2d",
    "-s h -R",
    "-s h --reconnect",
    "-s h -U",
    "-s h --udp --binary",
    "-s h -d 50 -a -n 40",
    "-s h --facebook --division=50 --conn_sock=200",
    "-s h -B",
    "-s h -P 40k",
    "-s h --tps=10K",
    "-s h --tps=0k",
    "-s h -P xk",
    "-s h -P 1g",
    "-s a,b -p 2",
    "-s a,b --rep_write=1x",
    "-s a,b,c -p 2 -T 4 -R",
    "-s h --verbose",
    "-s h --verb",
    "-bBRs h",
    "-s h --fix 5 --exe 7",
    "-s h --json record.json",
    "-s h --notes",
    "-s h --seed 7",
    "-s h --raw-keys",
    "-s h --fail-on-error",
    "-s h --plain",
    "-s h --raw --fail --pl --js=-",
];

const WRONG: &[&str] = &[
    "-- -s h",
    "-s h --ex 7",
    "",
    "h",
    "-s",
    "-s ''",
    "-s ,",
    "MEMCACHED_SERVERS=",
    "-s h --nothing",
    "-z",
    "-s h -bz",
    "--s h",
    "--t 5s",
    "--con 4",
    "--ver",
    "--help=1",
    "--servers",
    "-s h:0",
    "-s h:99999",
    "-s h:abc",
    "-s [::1",
    "-s [::1]5",
    "-s :11211",
    "-T 0 -c 0",
    "-c 0 -T 0",
    "-T 0 -h",
    "-s h -T -1",
    "-s h -T abc",
    "-s h -T 2000",
    "-s h -c 0x10",
    "-s h -c -1",
    "-s h -c 4294967296",
    "-s h -c 3 -T 2",
    "-a -c 3 -T 2",
    "-s h -c 3 -T 2 -F missing",
    "-s h -n 0",
    "-s h -c 2048 -n 1024",
    "-s h -x 0",
    "-s h -x -5",
    "-s h -x 0x10",
    "-s h -t 5",
    "-s h -t ''",
    "-s h -t 5x",
    "-s h -t 5sx",
    "-s h -t 5ä",
    "-s h -t s",
    "-s h -t 0s",
    "-s h -t 0x10s",
    "-s h -t -5s",
    "-s h -t 367d",
    "-s h -t 99999999999999999999d",
    "-s h -t 5s -t 10",
    "-s h -F missing",
    "-s h -F ''",
    "-F missing",
    "-s h -F missing -T 0",
    "-s h -F empty",
    "-s h -F short-keys",
    "-s h -F large-values",
    "-s h -F negative",
    "HOME=/broken -s h",
    "-s h -w 5",
    "-s h -w 1b",
    "-s h -w 0k",
    "-s h -w -1k",
    "-s h -w 2g",
    "-s h -X 0",
    "-s h -X 1048577",
    "-s h -X -1",
    "-s h -X abc",
    "-s h -v 0",
    "-s h -v 1.1",
    "-s h -v nan",
    "-s h -v ''",
    "-s h -e 0",
    "-s h -e 2",
    "-s h -o 0",
    "-s h -o -0.5",
    "-s h -d 0",
    "-s h -d -1",
    "-s h -d 65536",
    "-s h -S 5",
    "-s h -S 0s",
    "-s h -S -1s",
    "-s h -P 5",
    "-s h -P ''",
    "-s h -P -1k",
    "-s h -p 0",
    "-s h -p 1",
    "-s h -p 3",
    "-s a,b -p 3",
    "-s h -U -n 2",
    "-U -n 2",
    "-s a,b -U -p 2",
    "-s h -U -p 2",
    "-s a,b -U -p 2 -n 2",
    "-s h -a",
    "-s h -a --division 1",
    "-s h -a -U -n 2",
    "-s h -a -U -d 2 -n 2",
    "-s a,b -a -d 2 -p 2",
    "-s a,b -a -d 2 -p 3",
    "-s h -a -F empty",
    "-s h -a -F short-keys",
    "-s h --seed -1",
    "-s h --seed seven",
    "-s h --json",
];

#[test]
fn right_command_lines() {
    let mut listing = String::new();
    for value in values(&read("-s h").unwrap()) {
        listing += &format!("  {}\n", value.trim());
    }
    check_listing("least.txt", &listing);
    list("right.txt", RIGHT);
}

#[test]
fn wrong_command_lines() {
    list("wrong.txt", WRONG);
    WRONG.iter().for_each(|line| assert!(read(line).is_err_and(|stop| stop.code == 1), "{line}"));
}

#[test]
fn pages() {
    for (line, page) in [("-h", page::help()), ("-V", page::VERSION.to_owned())] {
        assert_eq!(read(line), Err(Stop { stdout: page, stderr: String::new(), code: 0 }));
    }
    check_listing("help.txt", &page::help());
    assert!(page::help().lines().all(|line| line.len() <= 80));
    // The first of the two decides; an error before them comes first, too.
    assert_eq!(read("-hV"), read("--help"));
    assert_eq!(read("-Vh -T 0"), read("--version"));
}

#[test]
fn every_option_is_listed() {
    let named = |lines: &[&str], long: &str, short: Option<char>| {
        lines.iter().flat_map(|line| line.split_whitespace()).any(|word| {
            let short = short.map(|letter| format!("-{letter}"));
            word.strip_prefix("--").is_some_and(|rest| rest.split('=').next() == Some(long))
                || short.is_some_and(|short| word.starts_with(&short) && !word.starts_with("--"))
        })
    };
    for row in ROWS.iter().filter(|row| !matches!(row.long, "help" | "version")) {
        assert!(named(RIGHT, row.long, row.short), "--{}", row.long);
        if row.takes && row.long != "json" {
            assert!(named(WRONG, row.long, row.short), "--{} may go wrong, too", row.long);
        }
    }
}
