//! The additions to getopt, and glibc's sentences; `tests/getopt.rs` compares the rest with glibc.

use super::*;
use crate::tests::table::assert_said;

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
fn lines_are_read_as_the_c_library_would_read_them_with_the_additions() {
    for rule in [
        "a letter with an integer takes only an integer",
        "an added option makes no abbreviation ambiguous",
        "long options that getopt cannot tell apart are one",
        "the complaints are the C library's",
        "words after two dashes and a lone dash are no options",
    ] {
        assert_said(include_str!("tests/lines.txt"), rule, read);
    }
}
