//! Command lines and the fields of their scenarios; the listing beside this file is the
//! specification. `UPDATE=1 cargo test -p memtide-compat` writes it anew.

use super::*;
use crate::memaslap::configuration::Range;
use crate::memaslap::{Environment, parse};
use memtide_schema::field::FIELDS;
use std::collections::BTreeSet;

fn options(line: &str) -> Options {
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
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
    parse("memaslap", &argv, &environment).unwrap()
}

fn fields(line: &str) -> Vec<String> {
    let settings = lower(&options(line)).unwrap_or_else(|stop| panic!("{line}: {stop:?}"));
    let shown = FIELDS.iter().map(|field| (field.name, field.show(&settings).join(",")));
    shown
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("{name} = {words}"))
        .collect()
}

const LINES: &[&str] = &[
    "-s 127.0.0.1:11211 -S 5s",
    "-t 2m -v 0.2 -e 0.05 -b",
    "-F page -t 2m -w 40k -S 20s -o 0.2",
    "-t 2m -T 4 -c 128 -d 20 -P 40k",
    "-s a:1,b:2 -t 2m",
    "-s a,b,[::1]:5 -T 2 -c 16",
    "-s a,b,c -c 2",
    "-x 100000",
    "-x 100 -d 10 -P 1k",
    "-B",
    "-F gets -v 1",
    "-F gets -d 50 -P 10k",
    "-F sets -v 1 -d 50",
    "-F none",
    "-X 1048576",
    "-c 128 -n 128 -T 2",
    "-U -t 1s",
    "-U -B -d 10",
    "-P 10k",
    "--raw-keys",
    "--seed 7",
    "-s a,b,c -p 2",
    "-s a,b -p 2 -T 1 -c 1",
    "-a -d 50 -n 200",
    "-R",
];

#[test]
fn scenarios() {
    let least: BTreeSet<String> = fields("").into_iter().collect();
    let mut listing = String::from("$ memaslap\n");
    fields("").iter().for_each(|field| listing += &format!("  {field}\n"));
    for line in LINES {
        listing += &format!("$ memaslap {line}\n");
        let changed = fields(line).into_iter().filter(|field| !least.contains(field));
        changed.for_each(|field| listing += &format!("  {field}\n"));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/memaslap/lower/golden.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &listing).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(listing, kept, "the listing differs; UPDATE=1 writes it anew");
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
