//! Files and their meanings: the listing beside this file is the specification, every text above
//! its meaning.

use super::*;
use memtide_base::rng::Random;

const FILES: &[&str] = &[
    "key\n64 64 1\nvalue\n1024 1024 1\ncmd\n0    0.1\n1    0.9\n",
    // The example of memaslap's page: comments, and a type of 1.0.
    "#comments should start with '#'\nkey\n# 16 100 0.8\n128 128 1\n#value\nvalue\n2048 2048 1\n\
     #cmd\ncmd\n0    0.1\n1.0 0.9\n",
    "key\n16 100 0.8\n101 200 0.1\n201 249 0.1\nvalue\n1 1000 0.8\n1001 10000 0.1\n\
     10001 100000 0.1\ncmd\n0 0.5\n1 0.5\n",
    // The order of commands, and of sections.
    "key\n64 64 1\nvalue\n1024 1024 1\ncmd\n1 0.9\n0 0.1\n",
    "cmd\n0 0.3\n1 0.7\nkey\n32 32 1\nvalue\n5 5 1\n",
    "key\n32 32 1\ncmd\n0 0.3\n1 0.7\nvalue\n5 5 1\n",
    "cmd\n0 0.3\n1 0.7\nzipf 0.99\nkey\n32 32 1\nvalue\n5 5 1\n",
    "cmd\n1 0.9\n0.0 0.1\nkey\n32 32 1\nvalue\n5 5 1\n",
    "value\n5 5 1\ncmd\n1 1\nkey\n32 32 1\n",
    // Commands of other types, of equal types, none, a single one.
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n2 0.3\n-1 0.2\n0 0.1\n1 0.7\n99999999999 1\n",
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n0 0.3\n0 0.7\n",
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n0 0.1\n1 0.4\n1 0.4\n",
    "key\n32 32 1\nvalue\n5 5 1\n",
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n0 1\n",
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n1 1\n",
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n0.5 0.5\n",
    "key\n32 32 1\nvalue\n5 5 1\ncmd\n0 x\n1\n",
    // Forms found in published files.
    "key\n128 128 1  1\nvalue\n2048 2048 1 #all\ncmd\n0 0.1 set\n1 0.9 get\n",
    "my file\n1 2 3\nkeys:\n 32 32 1\n\n\tvalue\n  # none\nvalue of all\n5\t5\t1\ncmd\n +0 1e-1\n \
     01 .9\n",
    "key\r\n32 32 1\r\nvalue\r\n5 5 1\r\ncmd\r\n0 0.1\r\n1 0.9\r\n",
    "key\n32 32 1\nzipf 0.99\n64 64 5\nvalue\n5 5 1\ncmd\n0 .5\n1 .5\n",
    "key\n32 32 1\nkey\n64 64 1\nvalue\n5 5 1\ncmd\n0 .5\n1 .5",
    "key\n100 20 1\nvalue\n5 5 1\ncmd\n0 .5\n1 .5\n",
    "key\n32 32 0x1p-1\nvalue\n5 5 2\ncmd\n0 1\n1 9\n",
    "key 32 32 1\nvalue\n5 5 1\n",
    "key\n32,32,1\nvalue\n5 5 1\n",
    "key\n0x20 32 1\nvalue\n5 5 1\n",
    "key\n32 32 1\n\0\nvalue\n5 5 1\0 is the end\n",
    // Nothing, or nothing useful.
    "",
    "\n \n\t\n# nothing\n",
    "k",
    "hello\n",
    "64 64 1\n",
    " key\n 64 64 1\n",
    "key\n",
    "cmd\n",
    // Impossible values.
    "key\n32 32 -1\nvalue\n5 5 1\n",
    "key\n32 32 1\nvalue\n5 5 nan\n",
    "cmd\n0 0.1\n1 inf\n",
    "cmd\n0 -0.5\n1 2\n",
    // Lengths.
    "key\n16 250 1\nvalue\n1 1048576 1\n",
    "key\n15 64 1\nvalue\n0 5 1\n",
    "key\n64 251 1\nvalue\n0 5 1\n",
    "key\n-1 64 1\nvalue\n5 5 1\n",
    "key\n64 99999999999999999999 1\nvalue\n5 5 1\n",
    "key\n64 64 1\nvalue\n0 5 1\n",
    "key\n64 64 1\nvalue\n5 1048577 1\n",
];

/// The meaning of a file, or its error, in lines.
fn meaning(text: &[u8]) -> String {
    let (read, differences) = match Configuration::read(text) {
        Ok(read) => read,
        Err(fault) => return format!("  refused: {fault}\n"),
    };
    let ranges = |name: &str, ranges: &[Range]| {
        let line = |range: &Range| {
            format!("  {name} {} to {}, share {}\n", range.least, range.most, range.share)
        };
        ranges.iter().map(line).collect::<String>()
    };
    let mut lines = ranges("key", &read.keys) + &ranges("value", &read.values);
    lines += &format!("  set {}, get {}\n", read.sets, read.gets);
    if let Err(fault) = read.check() {
        lines += &format!("  refused: {fault}\n");
    } else {
        lines += &format!("  an object has {} bytes on average\n", read.object_bytes());
    }
    for difference in differences {
        lines += &format!("  memaslap {difference}\n");
    }
    lines
}

#[test]
fn files() {
    let mut listing = String::new();
    for text in FILES {
        listing += &format!("{text:?}\n{}", meaning(text.as_bytes()));
    }
    crate::tests::expect("memaslap/configuration/golden.txt", &listing);
}

#[test]
fn files_where_none_is_named() {
    let files = ["/home/u/.memslap.cnf", "/home/u/.memaslap.cnf"];
    assert_eq!(default_files("/home/u"), files);
    assert_eq!(default_files("/home/u/"), files);
    assert_eq!(default_files("/")[0], "/.memslap.cnf");
}

/// Pieces that files consist of, and similar ones.
const PIECES: &str = "key|value|cmd|\n|\n|\n| |\t|\r\n|0|1|1.0|.|0.5|64|64 64 1|0 0.1|1 0.9|-1|+|#|\
                      zipf 0.99|1e|1e308|inf|nan|0x|0x1p3|99999999999999999999|\
                      -99999999999999999999|\0|ä|\u{feff}";

#[test]
fn every_text_is_read_or_refused() {
    let pieces: Vec<&str> = PIECES.split('|').collect();
    for seed in 0..20_000u64 {
        let mut random = Random::new(seed);
        let count = random.below(40);
        let mut text = Vec::new();
        for _ in 0..count {
            match random.below(8) {
                0 => text.push(random.below(256) as u8),
                _ => {
                    let piece = pieces[random.below(pieces.len() as u64) as usize];
                    text.extend_from_slice(piece.as_bytes());
                }
            }
        }
        let read = std::panic::catch_unwind(|| meaning(&text));
        assert!(read.is_ok(), "seed {seed}: {:?}", String::from_utf8_lossy(&text));
        let Ok((read, _)) = Configuration::read(&text) else { continue };
        let ranges = || read.keys.iter().chain(&read.values);
        assert!(!read.keys.is_empty() && !read.values.is_empty(), "seed {seed}");
        assert!(ranges().all(|range| range.least <= range.most), "seed {seed}");
        assert!(ranges().all(|range| range.share >= 0.0), "seed {seed}");
        assert!(read.sets >= 0.0 && read.gets >= 0.0, "seed {seed}");
    }
}
