//! Command lines and their results: the listings beside this file are the specification.

use super::*;
use crate::tests::{changes, expect, expect_listing, indented, values};
use crate::twemperf::options::{Keys, Load, Target};

/// The folder of the listings.
const GOLDEN: &str = "twemperf/args/golden";

fn words(line: &str) -> Vec<String> {
    // An underscore is a blank.
    crate::tests::words(line).iter().map(|word| word.replace('_', " ")).collect()
}

fn read(line: &str) -> Result<Options, Stop> {
    parse(&words(line))
}

fn stop(line: &str) -> Stop {
    read(line).expect_err(line)
}

/// The changes of `line` against the empty command line, or its error.
fn outcome(line: &str) -> String {
    match read(line) {
        Ok(options) => changes(values(&options, true), values(&read("").unwrap(), true)),
        Err(Stop { stdout, stderr, code }) => {
            assert!(stdout.is_empty(), "{line}: everything goes to stderr");
            let (complaint, page) = stderr.split_once('\n').unwrap();
            assert_eq!(page, page::usage(), "{line}: the page follows every complaint");
            format!("  exit {code}: {complaint}\n")
        }
    }
}

#[test]
fn command_lines_become_options() {
    let plain = indented(values(&read("").unwrap(), true));
    expect(&format!("{GOLDEN}/plain.txt"), &format!("$ mcperf\n{plain}"));
    expect_listing(&format!("{GOLDEN}/given.txt"), "$ mcperf ", outcome);
}

#[test]
fn wrong_command_lines_are_complained_about() {
    expect_listing(&format!("{GOLDEN}/wrong.txt"), "$ mcperf ", outcome);
}

#[test]
fn help_and_version_are_on_stderr() {
    let help = stop("--help");
    assert_eq!((help.stdout.as_str(), help.code), ("", 0));
    expect(&format!("{GOLDEN}/help.txt"), &help.stderr);
    for line in ["-h", "-hV", "-V --help", "-h -n 5", "--he"] {
        assert_eq!(stop(line), help, "{line}");
    }
    let version =
        Stop { stdout: String::new(), stderr: "This is mcperf-0.1.1\r\n\n".to_owned(), code: 0 };
    for line in ["-V", "--version", "--vers", "-V -n 3"] {
        assert_eq!(stop(line), version, "{line}");
    }
}

#[test]
fn draws_are_seeded_by_the_client() {
    let seed = |line: &str| read(line).unwrap().load.seed_words;
    // C's unsigned short truncates 0x1234 ^ id, 0x5678 ^ (id << 8) and 0x9abc ^ ~id.
    assert_eq!(seed(""), [0x1234, 0x5678, 0x6543]);
    assert_eq!(seed("-c 1/8"), [0x1235, 0x5778, 0x6542]);
    assert_eq!(seed("-c 257/300"), [0x1335, 0x5778, 0x6442]);
}

#[test]
fn own_keys_of_all_clients_do_not_meet() {
    let mut next = 1;
    for client in 0..7 {
        let keys = read(&format!("--own-keys -c {client}/7")).unwrap().keys;
        assert_eq!(u64::from(keys.first), next);
        next += keys.count;
    }
    assert!(next <= 1 << 32);
}

#[test]
fn a_run_by_time_needs_no_counts() {
    let Load { connections, calls_each, time, .. } = read("--time=2.5").unwrap().load;
    assert_eq!((connections, calls_each), (None, None));
    assert_eq!(time, Some(Span::from_ms(2500)));
}

#[test]
fn a_server_may_be_a_path() {
    let target = read("-s /run/memcached.sock -p 7").unwrap().target;
    assert_eq!(target, Target::Unix("/run/memcached.sock".to_owned()));
    let Keys { prefix, first, count } = read("").unwrap().keys;
    assert_eq!((prefix.as_str(), first, count), ("mcp:", 1, u64::from(u32::MAX)));
}
