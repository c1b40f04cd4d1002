//! The events of a decoded stream of lines as text, to compare two ways to cut it. The pieces of
//! one value are joined, because only their boundaries may differ.

use crate::wire::ITEM_BYTES_MAX;
use memtide_codec::text::{ReplyDecoder, RequestDecoder, encode};
use memtide_codec::{BadRequest, Malformed, Reply, Then};

/// A piece of a server's stream: bytes of a value and true at its end, or another event and true
/// if a value follows.
pub enum Piece {
    Data(Vec<u8>, bool),
    Event(String, bool),
}

impl Piece {
    /// That of a reply, which `word` describes.
    pub fn of(reply: &Reply<'_>, word: impl FnOnce() -> String) -> Self {
        match reply {
            Reply::Data { bytes, ends } => Self::Data(bytes.to_vec(), *ends),
            _ => Self::Event(word(), matches!(reply, Reply::Value { .. })),
        }
    }
}

/// Takes a piece from the front of a decoder's input, and encodes it again.
pub type Next<D> = fn(&mut D, &mut &[u8], &mut Vec<u8>) -> Result<Option<Piece>, Malformed>;

/// Decodes a server's stream from these pieces; returns the events and the stream encoded again.
pub fn decoded<D: Default>(
    next: Next<D>,
    is_idle: fn(&D) -> bool,
    pieces: &[&[u8]],
) -> (Vec<String>, Vec<u8>) {
    let mut decoder = D::default();
    let (mut events, mut again, mut value) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match next(&mut decoder, &mut input, &mut again) {
                Ok(Some(Piece::Data(bytes, ends))) => {
                    value.extend(bytes);
                    if ends {
                        events.push(format!("data '{}'", value.escape_ascii()));
                        value.clear();
                    }
                }
                Ok(Some(Piece::Event(event, is_head))) => {
                    events.push(event);
                    assert_eq!(is_idle(&decoder), !is_head);
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
    if !is_idle(&decoder) {
        events.push(format!("cut after data '{}'", value.escape_ascii()));
    }
    (events, again)
}

/// Decodes a server's stream of lines.
pub fn replies(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let next: Next<ReplyDecoder> = |decoder, input, again| {
        Ok(decoder.next(input)?.map(|reply| {
            encode::reply(again, &reply);
            Piece::of(&reply, || reply.to_string())
        }))
    };
    decoded(next, ReplyDecoder::is_idle, pieces)
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
