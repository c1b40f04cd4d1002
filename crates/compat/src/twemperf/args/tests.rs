//! Command lines and their results: the listings beside this file are the specification.
//! `UPDATE=1 cargo test -p memtide-compat` writes them anew; read the difference before keeping it.

use super::*;
use crate::twemperf::options::{Keys, Load, Target};
use std::collections::BTreeSet;

fn words(line: &str) -> Vec<String> {
    // A pair of quotes is an empty word, and an underscore a blank.
    let bare = |word: &str| word.replace("''", "").replace('_', " ");
    line.split_whitespace().map(bare).collect()
}

fn read(line: &str) -> Result<Options, Stop> {
    parse(&words(line))
}

fn stop(line: &str) -> Stop {
    read(line).expect_err(line)
}

/// The values of `options`, one a line, each with its path.
fn values(options: &Options) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in format!("{options:#?}").lines() {
        let line = line.trim().trim_end_matches(',');
        if line.ends_with(['{', '(', '[']) {
            let key = line.trim_end_matches(['{', '(', '[']).split(':').collect::<Vec<_>>();
            let words: Vec<&str> = key.iter().map(|word| word.trim()).collect();
            path.push(words.join(" ").trim().to_owned());
        } else if line.starts_with(['}', ')', ']']) {
            path.pop();
        } else {
            found.push(format!("{} {line}", path[1..].join(".")).trim().to_owned());
        }
    }
    found
}

/// The changes of `line` against the empty command line, or its error.
fn outcome(line: &str) -> String {
    let plain: BTreeSet<String> = values(&read("").unwrap()).into_iter().collect();
    match read(line) {
        Ok(options) => {
            let changed = values(&options).into_iter().filter(|value| !plain.contains(value));
            changed.map(|value| format!("  {value}\n")).collect()
        }
        Err(Stop { stdout, stderr, code }) => {
            assert!(stdout.is_empty(), "{line}: everything goes to stderr");
            let (complaint, page) = stderr.split_once('\n').unwrap();
            assert_eq!(page, page::usage(), "{line}: the page follows every complaint");
            format!("  exit {code}: {complaint}\n")
        }
    }
}

fn check_listing(file: &str, listing: &str) {
    let path = format!("{}/src/twemperf/args/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, listing).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(listing, kept, "{file} differs; UPDATE=1 writes it anew");
}

fn list(file: &str, lines: &[&str]) {
    let mut listing = String::new();
    for line in lines {
        listing += &format!("$ mcperf {line}\n{}", outcome(line));
    }
    check_listing(file, &listing);
}

const GIVEN: &[&str] = &[
    "-v 3 -n 5",
    "-v 99",
    "--verbosity=0 -z 100",
    "-o f",
    "--output=f -o ''",
    "-s h",
    "--server=10.0.0.1 --port 7000",
    "-s /tmp/m.sock -D",
    "-p 65535",
    "-p _+7",
    "-H",
    "--print-histogram",
    "-t 5",
    "--timeout=0.5",
    "-t 0",
    "-l 0",
    "--linger=3",
    "-b 8192",
    "--recv-buffer=0",
    "-B 1",
    "-D",
    "--disable-nodelay",
    "-m get",
    "-m gets",
    "-m delete",
    "-m cas",
    "-m set",
    "-m add",
    "-m replace",
    "-m append",
    "-m prepend",
    "-m incr -z d5",
    "--method=decr",
    "-e 2147483647",
    "--expiry=60",
    "-q",
    "-q -m get",
    "--use-noreply --method=gets",
    "-P ''",
    "--prefix=1234567890123456",
    "-c 1/8",
    "-c 3/2",
    "--client=255/256",
    "--client=65537/0",
    "-n 3",
    "--num-con=3 --conn-rate=1",
    "-N 7",
    "--num-calls=10",
    "-r 1000",
    "-r 0",
    "-r 0.0 -n 2",
    "-r 0x10",
    "--conn-rate=d1000",
    "-r e0.5",
    "-r u0.1,0.2",
    "-r u1,1",
    "-r s1",
    "-R 1000",
    "--call-rate=e0.00267",
    "-r 1000 -r 0",
    "-z d100",
    "-z 100",
    "-z 0.01",
    "-z 0.4",
    "-z 100 -m get",
    "-z 2 -z d2",
    "--sizes=u1,16",
    "--sizes=u100,100",
    "-z e40",
    "-z e100000",
    "-z s5",
    "-z s1048576 -N 2",
    "-z d1048576",
    "-z d2000000 -m get",
    "stray words -n 2 -r 1",
    "-Hn2 -r1 -qD",
    "-- -n x",
    "--linger=0 --timeout=5 --conn-rate=1000 --call-rate=1000 --num-calls=10 --num-conns=1000 \
     --sizes=u1,16",
    "--linger=0 --call-rate=0 --num-calls=100 --conn-rate=0 --num-conns=100 --sizes=d1",
    "--sizes=u100,100 --num-calls=10000  --num-conns=100 --call-rate=1000 --conn-rate=10000 \
     --method=set --server=h --port=11211",
    "--threads=4 -n 8",
    "--time=10",
    "--time=10 -n 5 -N 2 -t 1",
    "--report-stdout",
    "--fail-on-error",
    "--json=r.json",
    "--notes",
    "--own-keys",
    "--own-keys -c 1/8",
    "--own-keys -c 7/8",
    "--t 1",
    "--tim 1",
    "--o f",
    "--re 1",
    "--own-keys -c 0/2147483647 -n 2",
];

const WRONG: &[&str] = &[
    "-n",
    "-v",
    "-p",
    "-l",
    "-b",
    "-B",
    "-e",
    "-N",
    "-o",
    "-s",
    "-m",
    "-P",
    "-c",
    "-t",
    "-r",
    "-R",
    "-z",
    "--num-conns",
    "-n x",
    "-n ''",
    "-n -1",
    "-n 2147483648",
    "-n 99999999999999999999",
    "-n 5x",
    "-n 5_",
    "-v -1",
    "-v x",
    "-l x",
    "-b x",
    "-B x",
    "-e x",
    "-N 0x10",
    "-p x",
    "-p 0",
    "-p 65536",
    "-t x",
    "-t -1",
    "-t 1e-320",
    "-t ''",
    "-m foo",
    "-m SET",
    "-m ''",
    "-m xxx",
    "-P 12345678901234567",
    "-c 3",
    "-c /",
    "-c a/3",
    "-c /3",
    "-c 1/",
    "-c 1/b",
    "-c 1/2/3",
    "-T 3",
    "-?",
    "-é",
    "--foo",
    "--num=3",
    "--n 1",
    "--help=3",
    "--use-noreply=1",
    "-Hx",
    "-r ''",
    "-r x",
    "-r -1",
    "-r 1e400",
    "-r d",
    "-r d0",
    "-r dx",
    "-r e-1",
    "-r s0",
    "-r u1",
    "-r u0,1",
    "-r ux,1",
    "-r u1,0",
    "-r u1,2,3",
    "-r u5,2",
    "-r u1e7,0.00000125",
    "-R x5",
    "-z 0",
    "-z 0.0",
    "-z ''",
    "-z x",
    "-n 3 -n x",
    "-n x -p 0",
    "-h -n x",
    "-n x -h",
    // Values that the original accepts and then fails on.
    "-n 0",
    "-N 0",
    "-r nan",
    "-r inf",
    "-r dinf",
    "-r dnan",
    "-r u1,inf",
    "-r 1e-300",
    "-r 1e10",
    "-R d1e10",
    "-z nan",
    "-z d1048577",
    "-z u1,2000000",
    "-m incr -z d1e17",
    "-t inf",
    "-t 1e10",
    "-s ''",
    "-P a_b",
    "--threads=0",
    "--threads=1025",
    "--threads",
    "--time=0",
    "--time=x",
    "--time=1e10",
    "--json",
    "--own-keys=1",
    "--own-keys -c 8/8",
    "--own-keys -c 0/0",
    "--own-keys -c 0/2147483647 -n 3",
];

#[test]
fn command_lines_become_options() {
    let plain: String =
        values(&read("").unwrap()).iter().map(|value| format!("  {value}\n")).collect();
    check_listing("plain.txt", &format!("$ mcperf\n{plain}"));
    list("given.txt", GIVEN);
}

#[test]
fn wrong_command_lines_are_complained_about() {
    list("wrong.txt", WRONG);
}

#[test]
fn help_and_version_are_on_stderr() {
    let help = stop("--help");
    assert_eq!((help.stdout.as_str(), help.code), ("", 0));
    check_listing("help.txt", &help.stderr);
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
