//! The additions to getopt, and glibc's sentences; `tests/getopt.rs` compares the rest with glibc.

use super::*;

const fn entry(long: &'static str, short: Option<char>, argument: Argument) -> Entry {
    let value = match short {
        Some(letter) => letter as u32,
        None => 0,
    };
    Entry { long, short, argument, value, yields: false }
}

const TABLE: &[Entry] = &[
    entry("server", Some('s'), Argument::Required),
    entry("save", None, Argument::Required),
    entry("noload", None, Argument::None),
    entry("no_nodelay", None, Argument::None),
    entry("blocking", Some('B'), Argument::None),
    entry("threads", Some('T'), Argument::Required),
    entry("", Some('M'), Argument::Integer),
    Entry { yields: true, ..entry("save_all", None, Argument::Required) },
    Entry { yields: true, ..entry("json", Some('j'), Argument::Required) },
];

fn read(line: &str) -> String {
    let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let say = |found: Result<Found<'_>, OptionError>| match found {
        Err(fault) => fault.to_string(),
        Ok(Found { index, argument }) => {
            let entry = &TABLE[index];
            let name = match entry.short {
                Some(letter) if entry.long.is_empty() => letter.to_string(),
                _ => entry.long.to_owned(),
            };
            argument.map_or(name.clone(), |argument| format!("{name}={argument}"))
        }
    };
    Words::new(TABLE, &argv).map(say).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_letter_with_an_integer_takes_only_an_integer() {
    assert_eq!(read("-M 120 -B"), "M=120 blocking");
    assert_eq!(read("-M120 -B"), "M=120 blocking");
    assert_eq!(read("-M 0x10"), "M=0x10");
    assert_eq!(read("-M -T 10"), "M threads=10");
    assert_eq!(read("-MT 10"), "M threads=10");
    assert_eq!(read("-BM 5"), "blocking M=5");
    assert_eq!(read("-M host"), "M");
    assert_eq!(read("-M -5"), "M invalid option -- '5'");
    assert_eq!(read("-M 5s"), "M");
    assert_eq!(read("-M"), "M");
}

#[test]
fn an_added_option_makes_no_abbreviation_ambiguous() {
    assert_eq!(read("--sav f"), "save=f");
    assert_eq!(read("--save_ f"), "save_all=f");
    assert_eq!(read("--js f"), "json=f");
}

#[test]
fn long_options_that_getopt_cannot_tell_apart_are_one() {
    assert_eq!(read("--no"), "noload");
    assert_eq!(read("--no_"), "no_nodelay");
}

#[test]
fn the_complaints_are_the_c_librarys() {
    assert_eq!(read("--x=1"), "unrecognized option '--x=1'");
    assert_eq!(read("-x"), "invalid option -- 'x'");
    assert_eq!(read("--server"), "option '--server' requires an argument");
    assert_eq!(read("--ser"), "option '--server' requires an argument");
    assert_eq!(read("-s"), "option requires an argument -- 's'");
    assert_eq!(read("--noload=1"), "option '--noload' doesn't allow an argument");
    assert_eq!(read("--s=1"), "option '--s=1' is ambiguous; possibilities: '--server' '--save'");
}

#[test]
fn words_after_two_dashes_and_a_lone_dash_are_no_options() {
    assert_eq!(read("a -B - -- -T 3"), "blocking");
    assert_eq!(read("-T -- -B"), "threads=-- blocking");
}
