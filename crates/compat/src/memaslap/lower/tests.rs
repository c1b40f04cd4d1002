//! Command lines and the fields of their scenarios; the listing beside this file is the
//! specification.

use super::*;
use crate::memaslap::configuration::Range;
use crate::memaslap::{Environment, parse};
use crate::tests::{changes, expect_listing, indented, words};
use memtide_scenario::field::FIELDS;

fn options(line: &str) -> Options {
    let text = |name: &str| match name {
        "gets" => Some("key\n16 16 1\nvalue\n1 1 1\ncmd\n0 0.0001\n1 1\n"),
        "sets" => Some("key\n16 250 1\nvalue\n1 1048576 1\ncmd\n0 1\n"),
        "none" => Some("key\n16 17 1\nvalue\n100 102 0.5\n"),
        "page" => Some(
            "key\n16 100 0.8\n101 200 0.1\n201 249 0.1\nvalue\n10 10 0.7\n20 20 0.2\n30 30 0.1\n\
             cmd\n0 3\n1 1\n",
        ),
        _ => None,
    };
    let read = |name: &str| text(name).map(|text| text.as_bytes().to_vec());
    let environment = Environment { servers: Some("h:1"), home: None, read: &read };
    parse("memaslap", &words(line), &environment).unwrap()
}

fn fields(line: &str) -> Vec<String> {
    let settings = lower(&options(line)).unwrap_or_else(|stop| panic!("{line}: {stop:?}"));
    let shown = FIELDS.iter().map(|field| (field.name, field.show(&settings).join(",")));
    shown
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("{name} = {words}"))
        .collect()
}

#[test]
fn scenarios() {
    expect_listing("memaslap/lower/golden.txt", "$ memaslap", |line| match line {
        "" => indented(fields("")),
        line => changes(fields(line), fields("")),
    });
}

#[test]
fn lengths_are_dealt_out_as_memaslap_does() {
    let range = |least, most, share| Range { least, most, share };
    let law = |ranges: &[Range]| sizes::law(ranges, 16);
    assert_eq!(law(&[range(64, 64, 1.0)]), "fixed:64");
    assert_eq!(law(&[range(64, 64, 7.0), range(1, 5, 1.0)]), "fixed:64", "nothing is left");
    assert_eq!(law(&[range(16, 100, 1.0)]), "uniform:17,99", "the ends do not come up");
    assert_eq!(law(&[range(64, 65, 1.0)]), "fixed:64", "half of one is nothing");
    assert_eq!(law(&[range(20, 20, 0.5), range(30, 30, 0.5)]), "table:20=512,30=512");
    assert_eq!(
        law(&[range(100, 100, 0.333), range(200, 200, 0.333), range(300, 300, 0.333)]),
        "table:100=340,199=4,200=340,300=340",
        "what no share has is as long as the mean"
    );
    assert_eq!(law(&[range(20, 20, 0.5)]), "table:16=512,20=512", "and not too short");
    assert_eq!(law(&[range(64, 64, 0.0)]), "fixed:16");
    assert_eq!(law(&[range(10, 16, 0.5), range(1000, 1000, 0.5)]).split(',').count(), 6);
}
