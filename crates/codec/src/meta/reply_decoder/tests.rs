//! Guarantees beside the meaning: where the returned bytes lie, and what cannot become an answer.

use super::*;

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
