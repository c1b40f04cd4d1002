//! Files and their meanings: the listing beside this file is the specification, every text above
//! its meaning.

use super::*;
use memtide_base::rng::Random;

/// The meaning of a file, or its error, in lines.
fn meaning(text: &[u8]) -> String {
    let File { data: read, differences, misread } = match Configuration::read(text) {
        Ok(file) => file,
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
    for line in misread {
        assert!(!line.contains(char::is_control), "it goes to a terminal: {line:?}");
        lines += &format!("  {line}\n");
    }
    lines
}

#[test]
fn files() {
    crate::tests::expect_listing("memaslap/configuration/golden.txt", "\"", |line| {
        let text = line.strip_suffix('"').expect("a text in quotes").replace("\\n", "\n");
        let text = text.replace("\\t", "\t").replace("\\r", "\r").replace("\\0", "\0");
        meaning(text.as_bytes())
    });
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
        let Ok(File { data: read, .. }) = Configuration::read(&text) else { continue };
        let ranges = || read.keys.iter().chain(&read.values);
        assert!(!read.keys.is_empty() && !read.values.is_empty(), "seed {seed}");
        assert!(ranges().all(|range| range.least <= range.most), "seed {seed}");
        assert!(ranges().all(|range| range.share >= 0.0), "seed {seed}");
        assert!(read.sets >= 0.0 && read.gets >= 0.0, "seed {seed}");
    }
}
