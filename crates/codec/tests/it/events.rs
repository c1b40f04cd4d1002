//! The events of a decoded stream of lines as text, to compare two ways to cut it. The pieces of
//! one value are joined, because only their boundaries may differ.

use crate::wire::ITEM_BYTES_MAX;
use memtide_codec::text::{ReplyDecoder, RequestDecoder, encode};
use memtide_codec::{BadRequest, Reply, Then};

/// Decodes a server's stream from these pieces; returns the events and the stream encoded again.
pub fn replies(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let mut decoder = ReplyDecoder::new();
    let (mut events, mut again, mut value) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(Reply::Data { bytes, ends })) => {
                    encode::reply(&mut again, &Reply::Data { bytes, ends });
                    value.extend_from_slice(bytes);
                    if ends {
                        events.push(format!("data '{}'", value.escape_ascii()));
                        value.clear();
                    }
                }
                Ok(Some(reply)) => {
                    let is_head = matches!(reply, Reply::Value { .. });
                    encode::reply(&mut again, &reply);
                    events.push(reply.to_string());
                    assert_eq!(decoder.is_idle(), !is_head);
                }
                Ok(None) => break assert!(input.is_empty(), "more bytes than it could use"),
                Err(bad) => {
                    if !value.is_empty() {
                        events.push(format!("part of data '{}'", value.escape_ascii()));
                    }
                    events.push(format!("malformed: {bad}"));
                    return (events, again);
                }
            }
        }
    }
    if !decoder.is_idle() {
        events.push(format!("cut after data '{}'", value.escape_ascii()));
    }
    (events, again)
}

/// Decodes a client's stream from these pieces; returns the events and the stream encoded again.
pub fn requests(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let mut decoder = RequestDecoder::new(ITEM_BYTES_MAX);
    let (mut events, mut again) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(request)) => {
                    encode::request(&mut again, &request);
                    events.push(request.to_string());
                }
                Ok(None) => break assert!(input.is_empty(), "more bytes than it could use"),
                Err(bad) => {
                    events.push(refusal(&bad));
                    let too_large = bad.reply.message == b"object too large for cache";
                    assert_eq!(decoder.refused().is_some(), too_large);
                }
            }
        }
    }
    (events, again)
}

fn refusal(bad: &BadRequest) -> String {
    let silent = if bad.silent { " silently" } else { "" };
    let then = match bad.then {
        Then::Continue => "",
        Then::SwallowedValue => ", value swallowed",
        Then::Close => ", close",
    };
    format!("refused{silent}: {}{then}", bad.reply)
}

/// Cuts `bytes` in two at every byte, and in three if it is short; passes each way to `check`.
pub fn every_cut(bytes: &[u8], mut check: impl FnMut(&[&[u8]])) {
    for first in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(first);
        check(&[head, tail]);
        if bytes.len() <= 160 {
            for second in 0..=tail.len() {
                let (middle, tail) = tail.split_at(second);
                check(&[head, middle, tail]);
            }
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    check(&single);
}
