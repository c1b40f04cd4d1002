//! Guarantees beside the meaning: where the returned bytes lie, and how much memory is kept.

use super::*;
use crate::stream::PARTIAL_BYTES_KEPT;
use memtide_base::Random;

#[test]
fn what_arrives_whole_is_not_copied() {
    let wire = b"VALUE key 1 5\r\nhello\r\nVERSION 1.6\r\n";
    let lies_within = |piece: &[u8]| wire.as_ptr_range().contains(&piece.as_ptr());
    let mut decoder = ReplyDecoder::new();
    let mut input = &wire[..];
    while let Some(reply) = decoder.next(&mut input).unwrap() {
        match reply {
            Reply::Value { key, .. } => assert!(lies_within(key)),
            Reply::Data { bytes, ends } => assert!(ends && lies_within(bytes)),
            Reply::Version(version) => assert!(lies_within(version)),
            other => panic!("{other}"),
        }
    }
    assert_eq!(decoder.lines.capacity(), 0);
}

#[test]
fn a_cut_line_leaves_little_memory_behind() {
    let mut decoder = ReplyDecoder::new();
    let key = "k".repeat(250);
    for line in ["VALUE short 0 0\r\n\r\n", &format!("VALUE {key} 0 0\r\n\r\n")] {
        let (head, tail) = line.as_bytes().split_at(line.len() / 2);
        assert_eq!(decoder.next(&mut &*head), Ok(None));
        assert!(!decoder.is_idle());
        let mut input = tail;
        assert!(matches!(decoder.next(&mut input), Ok(Some(Reply::Value { .. }))));
        assert_eq!(decoder.next(&mut input), Ok(Some(Reply::Data { bytes: &[], ends: true })));
        assert!(decoder.is_idle());
        let mut next = &b"STORED\r\n"[..];
        assert_eq!(decoder.next(&mut next), Ok(Some(Reply::Stored)));
        assert!(decoder.lines.capacity() <= PARTIAL_BYTES_KEPT);
    }
}

#[test]
fn errors_are_recognised_by_their_message() {
    let read = |line: &[u8]| match ReplyDecoder::new().next(&mut &*line) {
        Ok(Some(Reply::Error(error))) => {
            (error.is_bad_data_chunk(), error.is_too_many_connections())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(read(b"CLIENT_ERROR bad data chunk\r\n"), (true, false));
    assert_eq!(read(b"SERVER_ERROR bad data chunk\r\n"), (false, false));
    assert_eq!(read(b"ERROR Too many open connections\r\n"), (false, true));
    assert_eq!(read(b"ERROR\r\n"), (false, false));
}

#[test]
fn what_cannot_become_a_reply_is_known_by_its_first_bytes() {
    let begun = |bytes: &[u8]| {
        let mut decoder = ReplyDecoder::new();
        assert_eq!(decoder.next(&mut &*bytes), Ok(None));
        decoder.check_partial().is_ok()
    };
    for reply in ["VALUE k 0 5\r\n", "STAT pid 1\r\n", "NOT_FOUND\r\n", "17\r\n", "ERROR: no\r\n"] {
        (0..reply.len()).for_each(|end| assert!(begun(&reply.as_bytes()[..end]), "{reply} {end}"));
    }
    for other in
        [&b"H"[..], b"\x15\x03\x01\x00\x02", b"-ERR", b"STORE ", b"\0", b"\xff\xff", b"valu"]
    {
        assert!(!begun(other), "{}", other.escape_ascii());
    }
    // A cut line that was returned does not affect what follows, and neither does a value.
    let mut decoder = ReplyDecoder::new();
    for piece in ["VAL", "UE k 0 3\r\n", "H", "-E\r", "\n"] {
        let mut input = piece.as_bytes();
        while let Ok(Some(_)) = decoder.next(&mut input) {}
        assert_eq!(decoder.check_partial(), Ok(()), "{piece}");
    }
}

/// What a decoder skips does not depend on the values that it skipped before, although it compares
/// heads with the last one.
#[test]
fn values_are_skipped_alike_whatever_came_before() {
    let seed = 43;
    let mut random = Random::new(seed);
    let mut used = ReplyDecoder::new();
    let (mut skipped, mut kept) = (0, 0);
    for round in 0..20_000 {
        // Few lengths and sizes, so that neighbours are often alike; now and then a byte is wrong
        // or the end is missing.
        let key = vec![b'k'; [1, 15, 16, 17, 30, 33, 250][random.below(7) as usize]];
        let flags = ["0", "7", "4294967295"][random.below(3) as usize];
        let bytes = [0, 8, 200, 201, 123_456][random.below(5) as usize];
        let mut wire = [b"VALUE ", &key[..], format!(" {flags} {bytes}\r\n").as_bytes()].concat();
        wire.resize(wire.len() + bytes, b'v');
        wire.extend_from_slice(b"\r\nEND\r\nVALUE and more that follows\r\n");
        let head = (wire.len() - bytes).min(80) as u64;
        match random.below(8) {
            0 => {
                wire[random.below(head) as usize] = [b' ', 0, b'\r', 0xff][random.below(4) as usize]
            }
            1 => wire.truncate(random.below(wire.len() as u64) as usize),
            _ => {}
        }
        let (mut here, mut there) = (&wire[..], &wire[..]);
        let found = used.skip_values(&mut here, 9);
        let plain = ReplyDecoder::new().skip_values(&mut there, 9);
        let said = || {
            format!("round {round} of seed {seed}: {}", wire[..80.min(wire.len())].escape_ascii())
        };
        assert_eq!((found, here), (plain, there), "{}", said());
        *(if found.0 > 0 { &mut skipped } else { &mut kept }) += 1;
    }
    assert!(skipped > 10_000 && kept > 1_000, "{skipped} skipped, {kept} kept");
}
