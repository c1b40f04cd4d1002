//! Properties of both codecs: any bytes are decoded without a panic, the result does not depend on
//! where the stream is split, and decoded messages are decoded again after they were encoded.

use crate::generate::pieces;
use memtide_codec::{BadRequest, Malformed, Reply, Then, binary, meta, text};
use std::fmt::Debug;

/// The largest item that a request decoder accepts: small, so that larger ones occur.
const ITEM_BYTES_MAX: usize = 256;

/// The pieces of a stream.
type Pieces<'a, 'd> = &'a mut dyn Iterator<Item = &'d [u8]>;
/// The decoded replies, encoded again, which joins the pieces of values; and true if the input
/// ended between replies, or the error that ended decoding.
type Replies = (Vec<u8>, Result<bool, Malformed>);
/// The decoded requests, encoded again; and the refused ones, each with the number of bytes before
/// it.
type Requests = (Vec<u8>, Vec<(usize, String)>);

/// A server's bytes, as a client reads them.
pub fn reply_decoder(data: &[u8]) {
    check_replies(data, |pieces| {
        let (mut decoder, mut out) = (text::ReplyDecoder::new(), Vec::new());
        let end = drive(pieces, |input| {
            Ok(decoder.next(input)?.map(|reply| text::encode::reply(&mut out, &reply)).is_some())
        });
        (out, end.map(|()| decoder.is_idle()))
    });
    let mut decoder = text::ReplyDecoder::new();
    check_skipped(
        data,
        |input| text::ReplyDecoder::new().skip_values(input, u16::MAX),
        |input| decoder.next(input).map(|reply| value_bytes(reply?)),
    );
}

/// A server's bytes, as a client of the meta protocol reads them.
pub fn meta_answers(data: &[u8]) {
    check_replies(data, |pieces| {
        let (mut decoder, mut out) = (meta::ReplyDecoder::new(), Vec::new());
        let end = drive(pieces, |input| {
            let answer = decoder.next(input)?;
            Ok(answer.map(|answer| meta::encode::answer(&mut out, &answer)).is_some())
        });
        (out, end.map(|()| decoder.is_idle()))
    });
    let mut decoder = meta::ReplyDecoder::new();
    check_skipped(
        data,
        // The numbers of these flags are not looked at where values are skipped.
        |input| meta::ReplyDecoder::new().skip_values(input, u16::MAX, meta::Letters::of(b"fc")),
        |input| decoder.next(input).map(|answer| value_bytes(answer?.reply)),
    );
}

/// A server's frames, as a client reads them.
pub fn answer_frames(data: &[u8]) {
    check_replies(data, |pieces| {
        let (mut decoder, mut out) = (binary::ReplyDecoder::new(), Vec::new());
        let end = drive(pieces, |input| {
            let answer = decoder.next(input)?;
            Ok(answer.map(|answer| binary::encode::answer(&mut out, &answer)).is_some())
        });
        (out, end.map(|()| decoder.is_idle()))
    });
}

/// A client's bytes, as a server reads them.
pub fn request_decoder(data: &[u8]) {
    check_requests(data, |pieces| {
        let mut decoder = text::RequestDecoder::new(ITEM_BYTES_MAX);
        let (mut out, mut refused) = (Vec::new(), Vec::new());
        let end = drive(pieces, |input| match decoder.next(input) {
            Ok(request) => {
                Ok(request.map(|request| text::encode::request(&mut out, &request)).is_some())
            }
            Err(bad) => {
                refused.push(refusal(out.len(), &bad, is_too_large(&bad), decoder.refused()));
                Ok(true)
            }
        });
        end.map(|()| (out, refused)).expect("a refused request ends nothing")
    });
}

/// A client's frames, as a server reads them.
pub fn request_frames(data: &[u8]) {
    check_requests(data, |pieces| {
        let mut decoder = binary::RequestDecoder::new(ITEM_BYTES_MAX);
        let (mut out, mut refused) = (Vec::new(), Vec::new());
        let end = drive(pieces, |input| match decoder.next(input) {
            Ok(request) => {
                Ok(request.map(|request| binary::encode::request(&mut out, &request)).is_some())
            }
            Err(bad) => {
                refused.push(refusal(
                    out.len(),
                    &bad,
                    bad.then == Then::SwallowedValue,
                    decoder.refused(),
                ));
                Ok(true)
            }
        });
        end.map(|()| (out, refused)).expect("a refused request ends nothing")
    });
}

/// True for a store whose key the decoder still knows.
fn is_too_large(bad: &BadRequest) -> bool {
    bad.reply.message == b"object too large for cache"
}

fn refusal(at: usize, bad: &impl Debug, has_key: bool, key: Option<impl Debug>) -> (usize, String) {
    assert_eq!(key.is_some(), has_key);
    (at, format!("{bad:?} {key:?}"))
}

/// Calls `next` until it returns false, for each piece.
fn drive(
    pieces: Pieces<'_, '_>,
    mut next: impl FnMut(&mut &[u8]) -> Result<bool, Malformed>,
) -> Result<(), Malformed> {
    for mut input in pieces {
        while next(&mut input)? {}
        assert!(input.is_empty(), "bytes are left unread");
    }
    Ok(())
}

fn check_replies(data: &[u8], read: impl Fn(Pieces<'_, '_>) -> Replies) {
    let whole = read(&mut [data].into_iter());
    assert_eq!(read(&mut pieces(data)), whole, "replies depend on where the stream is cut");
    if whole.1 == Ok(true) {
        let again = read(&mut [&whole.0[..]].into_iter());
        assert_eq!(again, whole, "replies change when they are written anew");
    }
}

/// Checks that what `skip` takes from the front are the values whose lengths `next` finds there.
/// `data` comes twice, so that some heads are alike.
fn check_skipped(
    data: &[u8],
    skip: impl Fn(&mut &[u8]) -> (u16, u64),
    mut next: impl FnMut(&mut &[u8]) -> Result<Option<usize>, Malformed>,
) {
    let twice = [data, data].concat();
    let mut rest = &twice[..];
    let skipped = skip(&mut rest);
    let mut taken = &twice[..twice.len() - rest.len()];
    let (mut count, mut sum) = (0, 0);
    while !taken.is_empty() {
        let bytes = next(&mut taken).expect("what is skipped is no error");
        sum += bytes.expect("only values are skipped") as u64;
        count += 1;
        assert_eq!(next(&mut taken), Ok(None), "a value is skipped with its end");
    }
    assert_eq!((count, sum), skipped, "values are skipped as they are read");
}

/// The length of a value that begins; `None` if one ends whole.
fn value_bytes(reply: Reply<'_>) -> Option<usize> {
    match reply {
        Reply::Value { bytes, .. } => Some(bytes),
        Reply::Data { ends: true, .. } => None,
        other => panic!("no value is skipped: {other:?}"),
    }
}

fn check_requests(data: &[u8], read: impl Fn(Pieces<'_, '_>) -> Requests) {
    let whole = read(&mut [data].into_iter());
    assert_eq!(read(&mut pieces(data)), whole, "requests depend on where the stream is cut");
    let again = read(&mut [&whole.0[..]].into_iter());
    assert_eq!(again.0, whole.0, "requests change when they are written anew");
    assert!(again.1.is_empty(), "requests are refused when they are written anew");
}
