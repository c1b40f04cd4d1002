//! Properties of the text codec: any bytes are decoded without a panic, the result does not depend
//! on where the stream is split, and decoded messages are decoded again after they were encoded.

use crate::generate::pieces;
use memtide_codec::text::{ReplyDecoder, RequestDecoder, encode};
use memtide_codec::{Malformed, Then};

/// The largest item that the request decoder accepts: small, so that larger ones occur.
const ITEM_BYTES_MAX: usize = 256;

/// A server's bytes, as a client reads them.
pub fn reply_decoder(data: &[u8]) {
    let whole = read_replies([data]);
    let cut = read_replies(pieces(data));
    assert_eq!(cut, whole, "replies depend on where the stream is cut");
    if whole.end == Ok(true) {
        let again = read_replies([&whole.rewritten[..]]);
        assert_eq!(again, whole, "replies change when they are written anew");
    }
}

/// A client's bytes, as a server reads them.
pub fn request_decoder(data: &[u8]) {
    let whole = read_requests([data]);
    let cut = read_requests(pieces(data));
    assert_eq!(cut, whole, "requests depend on where the stream is cut");
    let again = read_requests([&whole.rewritten[..]]);
    assert_eq!(again.rewritten, whole.rewritten, "requests change when they are written anew");
    assert!(again.refused.is_empty(), "requests are refused when they are written anew");
}

#[derive(Debug, PartialEq)]
struct Replies {
    /// The decoded replies, encoded again; this joins the pieces of values.
    rewritten: Vec<u8>,
    /// True if the input ended between replies, or the error that ended decoding.
    end: Result<bool, Malformed>,
}

fn read_replies<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Replies {
    let mut decoder = ReplyDecoder::new();
    let mut rewritten = Vec::new();
    for mut input in pieces {
        loop {
            match decoder.next(&mut input) {
                Ok(Some(reply)) => encode::reply(&mut rewritten, &reply),
                Ok(None) => break assert!(input.is_empty(), "bytes are left unread"),
                Err(bad) => return Replies { rewritten, end: Err(bad) },
            }
        }
    }
    Replies { rewritten, end: Ok(decoder.is_idle()) }
}

#[derive(Debug, PartialEq)]
struct Requests {
    /// The decoded requests, encoded again.
    rewritten: Vec<u8>,
    /// The refused requests, each with the number of bytes before it.
    refused: Vec<(usize, String)>,
}

fn read_requests<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Requests {
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
    Requests { rewritten, refused }
}
