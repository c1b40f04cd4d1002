//! The events of a decoded stream as text, to compare two ways to cut it. The pieces of one value
//! are joined, because only their boundaries may differ.

use memtide_codec::text::{ReplyDecoder, RequestDecoder};
use memtide_codec::{BadRequest, Reply, Then};

/// The events of a server's stream that arrives in these pieces.
pub fn replies(pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = ReplyDecoder::new();
    let mut events = Vec::new();
    let mut value = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(Reply::Data { bytes, ends })) => {
                    value.extend_from_slice(bytes);
                    if ends {
                        events.push(format!("data '{}'", value.escape_ascii()));
                        value.clear();
                    }
                }
                Ok(Some(reply)) => {
                    let is_head = matches!(reply, Reply::Value { .. });
                    events.push(reply.to_string());
                    assert_eq!(decoder.is_idle(), !is_head);
                }
                Ok(None) => break assert!(input.is_empty(), "more bytes than it could use"),
                Err(bad) => {
                    if !value.is_empty() {
                        events.push(format!("part of data '{}'", value.escape_ascii()));
                    }
                    events.push(format!("malformed: {bad}"));
                    return events;
                }
            }
        }
    }
    if !decoder.is_idle() {
        events.push(format!("cut after data '{}'", value.escape_ascii()));
    }
    events
}

/// The events of a client's stream that arrives in these pieces.
pub fn requests(pieces: &[&[u8]], item_bytes_max: usize) -> Vec<String> {
    let mut decoder = RequestDecoder::new(item_bytes_max);
    let mut events = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(request)) => events.push(request.to_string()),
                Ok(None) => break assert!(input.is_empty(), "more bytes than it could use"),
                Err(bad) => {
                    events.push(refusal(&bad));
                    assert_eq!(decoder.refused().is_some(), bad.then == Then::SwallowedValue);
                }
            }
        }
    }
    events
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
