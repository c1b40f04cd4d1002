//! The events of a decoded stream of frames as text, and the vectors of the binary protocol.

use crate::events::{Next, Piece, decoded};
use crate::wire::{ITEM_BYTES_MAX, check_all};
use memtide_codec::Then;
use memtide_codec::binary::{
    Answer, Extras, Refused, ReplyDecoder, Request, RequestDecoder, encode,
};

#[test]
fn every_vector_means_what_it_says_however_it_is_cut() {
    check_all("tests/wire/binary", 40, requests, replies);
}

/// Decodes a server's stream of frames.
pub fn replies(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let next: Next<ReplyDecoder> = |decoder, input, again| {
        Ok(decoder.next(input)?.map(|answer| {
            encode::answer(again, &answer);
            Piece::of(&answer.reply, || answer_event(&answer))
        }))
    };
    decoded(next, ReplyDecoder::is_idle, pieces)
}

fn answer_event(answer: &Answer<'_>) -> String {
    let Answer { opcode, opaque, status, reply } = answer;
    let status = if status.0 == 0 { String::new() } else { format!(" 0x{:02x}", status.0) };
    format!("{opcode:?} {opaque}{status}: {reply}")
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
                    events.push(request_event(&request));
                }
                Ok(None) => break assert!(input.is_empty(), "more bytes than it could use"),
                Err(bad) => {
                    events.push(refusal_event(&bad));
                    assert_eq!(decoder.refused().is_some(), bad.then == Then::SwallowedValue);
                }
            }
        }
    }
    (events, again)
}

fn request_event(request: &Request<'_>) -> String {
    let Request { opcode, opaque, cas, extras, key, value } = request;
    let mut event = format!("{opcode:?} {opaque}");
    if !key.is_empty() {
        event += &format!(" {}", key.escape_ascii());
    }
    if *cas != 0 {
        event += &format!(" cas={cas}");
    }
    event += &match extras {
        Extras::None => String::new(),
        Extras::Store { flags, expiry } => format!(" flags={flags} expiry={expiry}"),
        Extras::Count { delta, initial, expiry } => {
            format!(" by={delta} initial={initial} expiry={expiry}")
        }
        Extras::Expiry(expiry) => format!(" expiry={expiry}"),
        Extras::Level(level) => format!(" level={level}"),
    };
    if !value.is_empty() {
        event += &format!(" '{}'", value.escape_ascii());
    }
    event
}

fn refusal_event(bad: &Refused) -> String {
    let then = match bad.then {
        Then::Continue => "",
        Then::SwallowedValue => ", value swallowed",
        Then::Close => ", close",
    };
    match bad.status {
        None => format!("refused without a word{then}"),
        Some(status) => {
            format!("refused 0x{:02x} {} with 0x{:02x}{then}", bad.opcode, bad.opaque, status.0)
        }
    }
}
