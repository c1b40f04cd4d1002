//! Guarantees beside the meaning: where the returned bytes lie, what was refused, and how much
//! memory is kept.

use super::*;

#[test]
fn what_arrives_whole_is_not_copied() {
    let wire = b"set key 1 0 5\r\nhello\r\nget a b\r\n";
    let lies_within = |piece: &[u8]| wire.as_ptr_range().contains(&piece.as_ptr());
    let mut decoder = RequestDecoder::new(1024);
    let mut input = &wire[..];
    while let Some(request) = decoder.next(&mut input).unwrap() {
        match request {
            Request::Store { key, value, .. } => assert!(lies_within(key) && lies_within(value)),
            Request::Retrieve { mut keys, .. } => assert!(keys.all(lies_within)),
            other => panic!("{other}"),
        }
    }
    assert_eq!(decoder.buffer.capacity(), 0);
}

#[test]
fn a_refused_store_still_tells_its_key() {
    let mut decoder = RequestDecoder::new(100);
    let mut input = &b"set large 0 0 90\r\n"[..];
    assert_eq!(decoder.next(&mut input), Ok(None));
    assert_eq!(decoder.refused(), None);
    let value = [b'v'; 92];
    assert_eq!(decoder.next(&mut &value[..91]), Ok(None));
    assert_eq!(decoder.next(&mut &value[91..]), Err(TOO_LARGE));
    assert_eq!(decoder.refused(), Some((Verb::Set, &b"large"[..])));
    assert_eq!(decoder.next(&mut &b"get a\r\n"[..]).unwrap().unwrap().to_string(), "get a");
    assert_eq!(decoder.refused(), None);
}

#[test]
fn a_large_value_leaves_little_memory_behind() {
    let mut decoder = RequestDecoder::new(1 << 20);
    let value = vec![b'v'; 100_000];
    assert_eq!(decoder.next(&mut &b"set large 0 0 99998\r\n"[..]), Ok(None));
    assert_eq!(decoder.next(&mut &value[..99_998]), Ok(None));
    assert!(matches!(decoder.next(&mut &b"\r\n"[..]), Ok(Some(Request::Store { .. }))));
    assert_eq!(decoder.next(&mut &b""[..]), Ok(None));
    assert!(decoder.buffer.capacity() <= BUFFER_BYTES_KEPT);
}

#[test]
fn nothing_is_read_after_hanging_up() {
    let mut decoder = RequestDecoder::new(1024);
    assert_eq!(decoder.next(&mut &b"GET / HTTP/1.1\r\n"[..]), Err(HANG_UP));
    let mut input = &b"get a\r\n"[..];
    assert_eq!(decoder.next(&mut input), Ok(None));
    assert!(input.is_empty());
    let endless = vec![b'k'; LINE_BYTES_MAX + 1];
    assert_eq!(RequestDecoder::new(1024).next(&mut &endless[..]), Err(HANG_UP));
    assert_eq!(RequestDecoder::new(1024).next(&mut &endless[1..]), Ok(None));
    let mut keys = b"get ".to_vec();
    keys.resize(KEYS_LINE_BYTES_MAX + 1, b'k');
    assert_eq!(RequestDecoder::new(1024).next(&mut &keys[..]), Err(HANG_UP));
}
