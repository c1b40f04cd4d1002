//! Guarantees beside the meaning: where the returned bytes lie, and what cannot become an answer.

use super::*;
use memtide_base::Random;

#[test]
fn what_arrives_whole_is_not_copied() {
    let wire = b"VA 5 kkey f1 O7\r\nhello\r\nHD O7\r\nMN\r\n";
    let lies_within = |piece: &[u8]| wire.as_ptr_range().contains(&piece.as_ptr());
    let mut decoder = ReplyDecoder::new();
    let mut input = &wire[..];
    let mut answers = 0;
    while let Some(answer) = decoder.next(&mut input).unwrap() {
        match answer.reply {
            Reply::Value { key, flags: 1, bytes: 5, .. } => assert!(lies_within(key)),
            Reply::Data { bytes, ends } => assert!(ends && lies_within(bytes)),
            Reply::Done => assert!(lies_within(answer.flags.rest())),
            Reply::Noop => assert!(answer.flags.rest().is_empty()),
            other => panic!("{other}"),
        }
        answers += 1;
    }
    assert_eq!((answers, decoder.lines.capacity()), (4, 0));
}

#[test]
fn what_cannot_become_an_answer_is_known_by_its_first_bytes() {
    let begun = |bytes: &[u8]| {
        let mut decoder = ReplyDecoder::new();
        assert_eq!(decoder.next(&mut &*bytes), Ok(None));
        decoder.check_partial().is_ok()
    };
    for answer in ["VA 5 kkey\r\n", "HD O1\r\n", "MN\r\n", "VERSION 1\r\n", "ME k a=1\r\n"] {
        (0..answer.len()).for_each(|end| assert!(begun(&answer.as_bytes()[..end]), "{answer}"));
    }
    for other in [&b"HT"[..], b"\x81", b"-ERR", b"VB", b"MNO"] {
        assert!(!begun(other), "{}", other.escape_ascii());
    }
}

/// The text protocol's replies passed for answers to meta commands.
#[test]
fn classic_replies_are_refused_once_only_meta_commands_are_sent() {
    const CLASSIC: [&str; 13] = [
        "VALUE k 0 2",
        "END",
        "STORED",
        "NOT_STORED",
        "EXISTS",
        "NOT_FOUND",
        "DELETED",
        "TOUCHED",
        "OK",
        "RESET",
        "17",
        "VERSION 1",
        "STAT pid 1",
    ];
    const ERRORS: [&str; 4] = ["ERROR", "CLIENT_ERROR no", "SERVER_ERROR no", "ERROR: no"];
    let reads = |line: &str, cut: usize, refuses: bool| {
        let wire = format!("{line}\r\n");
        let mut decoder = ReplyDecoder::new();
        if refuses {
            decoder.refuse_classic();
        }
        let pieces = wire.as_bytes().split_at(cut);
        [pieces.0, pieces.1].into_iter().all(|mut piece| {
            let is_read = decoder.next(&mut piece).is_ok();
            is_read && decoder.check_partial().is_ok()
        })
    };
    for line in CLASSIC.into_iter().chain(ERRORS).chain(["HD", "EN O1", "VA 2", "NF", "MN"]) {
        for cut in 0..=line.len() + 2 {
            assert!(reads(line, cut, false), "{line} {cut}");
            assert_eq!(reads(line, cut, true), !CLASSIC.contains(&line), "{line} {cut}");
        }
    }
}

/// What a decoder skips does not depend on the values that it skipped before, although it compares
/// heads with the last one; nor does it skip a value that the caller wants to read.
#[test]
fn values_are_skipped_alike_whatever_came_before() {
    let seed = 40;
    let mut random = Random::new(seed);
    let mut used = ReplyDecoder::new();
    let wants = [Letters::default(), Letters::of(b"t")];
    let (mut skipped, mut kept) = (0, 0);
    for round in 0..40_000 {
        // Few lengths, sizes and flags, so that neighbours are often alike; now and then a byte is
        // wrong or the end is missing.
        let key = "x".repeat([1, 15, 16, 17, 30, 250][random.below(6) as usize]);
        let flags = [" k", " k", " s1 O123 k", " s1 O1234 k", ""][random.below(5) as usize];
        let key = if flags.is_empty() { "" } else { &key };
        let more = ["", "", " t-1", " Oabcdefgh i j", " k"][random.below(5) as usize];
        let bytes = [0, 8, 200, 201, 123_456][random.below(5) as usize];
        let mut wire = format!("VA {bytes}{flags}{key}{more}\r\n").into_bytes();
        wire.resize(wire.len() + bytes, b'v');
        wire.extend_from_slice(b"\r\nMN\r\nVA and more that follows\r\n");
        let head = (wire.len() - bytes).min(80) as u64;
        match random.below(8) {
            0 => {
                wire[random.below(head) as usize] = [b' ', 0, b'\r', 0xff][random.below(4) as usize]
            }
            1 => wire.truncate(random.below(wire.len() as u64) as usize),
            _ => {}
        }
        let but = wants[random.below(2) as usize];
        let (mut here, mut there) = (&wire[..], &wire[..]);
        let found = used.skip_values(&mut here, 9, but);
        let plain = ReplyDecoder::new().skip_values(&mut there, 9, but);
        let said = || {
            format!("round {round} of seed {seed}: {}", wire[..80.min(wire.len())].escape_ascii())
        };
        assert_eq!((found, here), (plain, there), "{}", said());
        *(if found.0 > 0 { &mut skipped } else { &mut kept }) += 1;
    }
    assert!(skipped > 20_000 && kept > 4_000, "{skipped} skipped, {kept} kept");
}

#[test]
fn an_end_is_skipped_only_if_it_ends_that_answer() {
    for (bytes, several, is_skipped) in [
        ("MN\r\n", true, true),
        ("EN\r\n", false, true),
        ("EN\r\n", true, false),
        ("MN\r\n", false, false),
        ("EN O1\r\n", false, false),
        ("EN\r", false, false),
    ] {
        let mut input = bytes.as_bytes();
        assert_eq!(ReplyDecoder::new().skip_end(&mut input, several), is_skipped, "{bytes}");
        assert_eq!(input.is_empty(), is_skipped, "{bytes}");
    }
}
