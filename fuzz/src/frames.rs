//! Properties of the binary codec: any bytes are decoded without a panic, the result does not
//! depend on where the stream is split, and decoded messages are decoded again after they were
//! encoded.

use crate::generate::pieces;
use memtide_codec::binary::{ReplyDecoder, RequestDecoder, encode};
use memtide_codec::{Malformed, Then};

/// The largest item that the request decoder accepts: small, so that larger ones occur.
const ITEM_BYTES_MAX: usize = 256;

/// A server's frames, as a client reads them.
pub fn answer_frames(data: &[u8]) {
    let whole = read_answers([data]);
    let cut = read_answers(pieces(data));
    assert_eq!(cut, whole, "answers depend on where the stream is cut");
    if whole.1 == Ok(true) {
        let again = read_answers([&whole.0[..]]);
        assert_eq!(again, whole, "answers change when they are written anew");
    }
}

/// A client's frames, as a server reads them.
pub fn request_frames(data: &[u8]) {
    let whole = read_requests([data]);
    let cut = read_requests(pieces(data));
    assert_eq!(cut, whole, "requests depend on where the stream is cut");
    let again = read_requests([&whole.0[..]]);
    assert_eq!(again.0, whole.0, "requests change when they are written anew");
    assert!(again.1.is_empty(), "requests are refused when they are written anew");
}

/// The decoded answers, encoded again; and true if the input ended between answers, or the error
/// that ended decoding.
fn read_answers<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<bool, Malformed>) {
    let mut decoder = ReplyDecoder::new();
    let mut rewritten = Vec::new();
    for mut input in pieces {
        loop {
            match decoder.next(&mut input) {
                Ok(Some(answer)) => encode::answer(&mut rewritten, &answer),
                Ok(None) => break assert!(input.is_empty(), "bytes are left unread"),
                Err(bad) => return (rewritten, Err(bad)),
            }
        }
    }
    (rewritten, Ok(decoder.is_idle()))
}

/// The decoded requests, encoded again, and the refused ones, each with the number of bytes before
/// it.
fn read_requests<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Vec<(usize, String)>) {
    let mut decoder = RequestDecoder::new(ITEM_BYTES_MAX);
    let (mut rewritten, mut refused) = (Vec::new(), Vec::new());
    for mut input in pieces {
        loop {
            match decoder.next(&mut input) {
                Ok(Some(request)) => encode::request(&mut rewritten, &request),
                Ok(None) => break assert!(input.is_empty(), "bytes are left unread"),
                Err(bad) => {
                    let key = decoder.refused();
                    assert_eq!(key.is_some(), bad.then == Then::SwallowedValue);
                    refused.push((rewritten.len(), format!("{bad:?} {key:?}")));
                }
            }
        }
    }
    (rewritten, refused)
}
