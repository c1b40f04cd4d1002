//! Random meta commands, and the comparison of their replies: byte for byte, except for cas numbers
//! and for times, which may differ by the seconds that pass.

use super::{CasPairs, KEYS, LATEST_S, excerpt, key, pick, value};
use memtide_base::Random;
use memtide_codec::meta::{Answer, ReplyDecoder};
use memtide_codec::{Reply, base64};
use std::fmt::Write;

/// The difference between times that is allowed, in seconds.
const SECONDS_MAX: u64 = 3;
/// Raw keys that are only written in base64.
const RAW_KEYS: [&[u8]; 3] = [b"\x01\xfe", b"raw\xffkey", b"k"];

/// Requests that find every key that only meta commands have.
pub fn every_other_key() -> String {
    let text = |raw: &&[u8]| {
        let mut text = Vec::new();
        base64::encode(&mut text, raw);
        String::from_utf8(text).expect("base64 is text")
    };
    let raw = RAW_KEYS.iter().map(|raw| format!("mg {} b\r\n", text(raw))).collect::<String>();
    format!("{raw}mg {}\r\nmg {}\r\n", "k".repeat(250), "k".repeat(249))
}

/// One to six commands and a barrier, with their number, for memcached and for the server; only cas
/// numbers differ.
pub fn draw(random: &mut Random, cas: &CasPairs, newest: bool) -> (u64, (Vec<u8>, Vec<u8>)) {
    let (mut to_them, mut to_us) = (Vec::new(), Vec::new());
    let mut has_read = false;
    let count = 1 + random.below(6);
    for _ in 0..count {
        let mut word =
            ["mg", "mg", "mg", "ms", "ms", "ms", "md", "ma", "ma", "me"][pick(random, 10)];
        has_read |= word == "mg";
        // memcached holds an item until its value is sent, and then makes a new, shorter number
        // instead of padding.
        if has_read && word == "ma" {
            word = "md";
        }
        let (theirs, ours) = command(random, word, cas, newest);
        to_them.extend(theirs);
        to_us.extend(ours);
    }
    [&mut to_them, &mut to_us].into_iter().for_each(|out| out.extend(b"mn\r\n"));
    (count, (to_them, to_us))
}

fn command(random: &mut Random, word: &str, cas: &CasPairs, newest: bool) -> (Vec<u8>, Vec<u8>) {
    // Versions from 1.6.19 on do not decode the key of `me`.
    let in_base64 = random.below(5) == 0 && !(newest && word == "me");
    let mut key = key(random).to_owned();
    let mut flags = Vec::new();
    if in_base64 {
        let raw = match random.below(2) {
            0 => RAW_KEYS[pick(random, RAW_KEYS.len())],
            _ => KEYS[pick(random, KEYS.len())].as_bytes(),
        };
        let mut text = Vec::new();
        base64::encode(&mut text, raw);
        key = String::from_utf8(text).expect("base64 is text");
        flags.push("b".to_owned());
    } else if random.below(60) == 0 {
        key = "k".repeat([250, 251][pick(random, 2)]);
        if newest && key.len() > 250 {
            // Later versions skip the value of such an ms.
            key.pop();
        }
    }
    if word == "me" {
        let line = format!("me {key}{}\r\n", if in_base64 { " b" } else { "" }).into_bytes();
        return (line.clone(), line);
    }
    flags.extend(others(random, word, newest));
    for at in (1..flags.len()).rev() {
        flags.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut value = if word == "ms" { value(random) } else { Vec::new() };
    if key.len() > 250 || flags.len() > 6 {
        // The value of a refused line may be read as lines, of which a long one ends the stream.
        value.truncate(100);
    }
    let (their_cas, our_cas) = cas.any(random);
    let write = |number: u64| {
        let mut line = format!("{word} {key}");
        if word == "ms" {
            write!(line, " {}", value.len()).expect("a string grows");
        }
        for flag in &flags {
            write!(line, " {}", flag.replace('#', &number.to_string())).expect("a string grows");
        }
        line.push_str("\r\n");
        let data: &[&[u8]] = if word == "ms" { &[&value, b"\r\n"] } else { &[] };
        [&[line.as_bytes()], data].concat().concat()
    };
    (write(their_cas), write(our_cas))
}

/// Flags for a command, in any order; rarely one that is refused.
fn others(random: &mut Random, word: &str, newest: bool) -> Vec<String> {
    let letters = match word {
        "mg" => "c f h k l O q s t u v v v N R T P",
        "ms" => "c k O q F T M M I C P",
        "md" => "k O q C I I T",
        _ => "c k O q t v N J D T M C",
    };
    let mut letters: Vec<&str> = letters.split(' ').collect();
    if newest {
        letters.push(match word {
            "mg" => "C",
            "ms" => ["s", "N"][pick(random, 2)],
            "md" => "x",
            _ => "v",
        });
        letters.push("E");
    }
    let mut flags = Vec::<String>::new();
    for letter in letters {
        if random.below(4) == 0 && !flags.iter().any(|flag| flag.starts_with(letter)) {
            flags.push(format!("{letter}{}", token(random, letter, word)));
        }
    }
    if newest && word == "ma" && flags.iter().any(|flag| flag.starts_with('N')) {
        // Later versions do not answer a quiet one that creates the key.
        flags.retain(|flag| flag != "q");
    }
    // Later versions have other messages.
    if random.below(30) == 0 && !newest {
        let long = format!("O{}", "o".repeat([31, 32][pick(random, 2)]));
        let mut bad = vec![
            "!",
            "D",
            "Dx",
            "Tx",
            "T",
            "Nx",
            "Rx",
            "Cx",
            "Fx",
            "Jx",
            "kk",
            "q q",
            "y",
            "Mxx",
            "M",
            "a b c d e g i j m n o p r w y z A B",
        ];
        if matches!(word, "ms" | "md") && !flags.iter().any(|flag| flag.starts_with('O')) {
            bad.push(&long);
        }
        flags.extend(bad[pick(random, bad.len())].split(' ').map(str::to_owned));
    }
    flags
}

fn token(random: &mut Random, letter: &str, word: &str) -> String {
    match (letter, word) {
        ("O", _) => random.below(1000).to_string(),
        ("T" | "N", _) => [0, 1000, 2_592_000, -1, LATEST_S][pick(random, 5)].to_string(),
        ("R", _) => [0, 30, 5000, -1, LATEST_S - 9][pick(random, 5)].to_string(),
        ("F", _) => [0, 1, u32::MAX][pick(random, 3)].to_string(),
        ("C", _) if random.below(8) == 0 => "0".to_owned(),
        ("C", _) => "#".to_owned(),
        // Far above those that servers give.
        ("E", _) => ((1 << 60) + random.below(1000)).to_string(),
        ("J" | "D", _) => [0, 1, 9, 1000, u64::MAX][pick(random, 5)].to_string(),
        ("M", "ms") => ["S", "E", "A", "P", "R", "x"][pick(random, 6)].to_owned(),
        ("M", _) => ["I", "+", "D", "-", "x"][pick(random, 5)].to_owned(),
        _ => String::new(),
    }
}

/// Asserts that two servers answer the same.
pub fn compare(them: &[u8], us: &[u8], cas: &mut CasPairs, place: &str) {
    let both = format!("{place}\n  we: {}\nthey: {}", excerpt(us), excerpt(them));
    let (mut their, mut our) = (ReplyDecoder::new(), ReplyDecoder::new());
    let (mut theirs, mut ours) = (them, us);
    loop {
        match (their.next(&mut theirs), our.next(&mut ours)) {
            (Ok(Some(they)), Ok(Some(we))) => same(&they, &we, cas, &both),
            (Ok(None), Ok(None)) => return assert!(theirs.is_empty() && ours.is_empty(), "{both}"),
            // Raw keys with control characters are written as they are.
            (Err(_), Err(_)) => return assert_eq!(them.len(), us.len(), "{both}"),
            _ => panic!("{both}"),
        }
    }
}

fn same(they: &Answer<'_>, we: &Answer<'_>, cas: &mut CasPairs, place: &str) {
    match (they.reply, we.reply) {
        (
            Reply::Value { bytes: theirs, key, .. },
            Reply::Value { bytes: ours, key: ours_key, .. },
        ) => {
            assert_eq!((theirs, key), (ours, ours_key), "{place}");
        }
        (Reply::Item { figures: theirs, key }, Reply::Item { figures: ours, key: our_key }) => {
            assert_eq!(key, our_key, "{place}");
            same_figures(theirs, ours, cas, place);
        }
        (theirs, ours) => assert_eq!(theirs, ours, "{place}"),
    }
    assert_eq!(they.flags.count(), we.flags.count(), "{place}");
    for (theirs, ours) in they.flags.zip(we.flags) {
        assert_eq!(theirs.letter, ours.letter, "{place}");
        match (theirs.letter, theirs.number(), ours.number()) {
            (b'c', Some(theirs), Some(ours)) => cas.pair(theirs, ours, place),
            (b't' | b'l', Some(theirs), Some(ours)) => same_seconds(theirs, ours, place),
            _ => assert_eq!(theirs, ours, "{place}"),
        }
    }
}

fn same_seconds(theirs: u64, ours: u64, place: &str) {
    // The seconds since a time that is past wrap, from a time that servers choose differently.
    let both_wrap = theirs > 1 << 31 && ours > 1 << 31;
    assert!(both_wrap || theirs.abs_diff(ours) <= SECONDS_MAX, "{place}");
}

/// Compares the figures of `me`. Classes of sizes are memcached's own, and the sign of the time
/// until expiry depends on its version.
fn same_figures(theirs: &[u8], ours: &[u8], cas: &mut CasPairs, place: &str) {
    let text = |bytes| std::str::from_utf8(bytes).expect("figures are text");
    let (theirs, ours) = (text(theirs).split(' '), text(ours).split(' '));
    for (theirs, ours) in theirs.zip(ours) {
        let pair = |figure: &'static str| {
            let number = |word: &str| word.strip_prefix(figure)?.parse::<i64>().ok();
            Some((number(theirs)?.unsigned_abs(), number(ours)?.unsigned_abs()))
        };
        if let Some((theirs, ours)) = pair("exp=").or_else(|| pair("la=")) {
            same_seconds(theirs, ours, place);
        } else if let Some((theirs, ours)) = pair("cas=") {
            cas.pair(theirs, ours, place);
        } else if !theirs.starts_with("cls=") {
            assert_eq!(theirs, ours, "{place}");
        }
    }
}
