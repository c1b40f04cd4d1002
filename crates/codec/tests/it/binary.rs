//! The binary protocol from outside: vectors, round trips, and streams cut at every byte.

use crate::events::every_cut;
use crate::generate;
use crate::wire::{Case, for_each_case};
use memtide_base::Random;
use memtide_codec::binary::{
    Answer, Extras, Refused, ReplyDecoder, Request, RequestDecoder, encode,
};
use memtide_codec::{Reply, Then};

const SEED: u64 = 0x6269_6e61_7279_0000;
const ROUNDS: u64 = 4000;
/// Small, so that a test can exceed it.
const ITEM_BYTES_MAX: usize = 1024;

#[test]
fn every_vector_means_what_it_says_however_it_is_cut() {
    let cases = for_each_case("tests/wire/binary", check);
    assert!(cases >= 40, "only {cases} cases were found");
}

fn check(case: &Case, place: &str) {
    let (requests, _) = read_requests(&[&case.client]);
    assert_eq!(requests, case.requests, "{place}");
    every_cut(&case.client, |pieces| {
        assert_eq!(read_requests(pieces).0, requests, "{place}: {pieces:?}");
    });
    let (answers, _) = read_answers(&[&case.server]);
    assert_eq!(answers, case.replies, "{place}");
    every_cut(&case.server, |pieces| {
        assert_eq!(read_answers(pieces).0, answers, "{place}: {pieces:?}");
    });
    // Re-encoding what was decoded must keep the meaning.
    let (_, again) = read_answers(&[&case.server]);
    let understood = |events: &[String]| {
        let good = |event: &&String| !event.starts_with("malformed") && !event.starts_with("cut");
        events.iter().take_while(good).cloned().collect::<Vec<_>>()
    };
    assert_eq!(understood(&read_answers(&[&again]).0), understood(&answers), "{place}");
    let (_, again) = read_requests(&[&case.client]);
    let understood: Vec<_> = requests.into_iter().filter(|e| !e.starts_with("refused")).collect();
    assert_eq!(read_requests(&[&again]).0, understood, "{place}");
}

#[test]
fn requests_survive() {
    for round in 0..ROUNDS {
        let mut random = Random::new(SEED + round);
        let words = generate::words(&mut random);
        let request = generate::binary_request(&mut random, &words);
        let mut wire = Vec::new();
        encode::request(&mut wire, &request);
        let mut decoder = RequestDecoder::new(ITEM_BYTES_MAX);
        let mut input = &wire[..];
        assert_eq!(decoder.next(&mut input), Ok(Some(request)), "seed {}", SEED + round);
        assert_eq!(decoder.next(&mut input), Ok(None), "seed {}", SEED + round);
    }
}

#[test]
fn answers_survive() {
    for round in 0..ROUNDS {
        let mut random = Random::new(SEED + round);
        let words = generate::words(&mut random);
        let answers = generate::answers(&mut random, &words);
        let mut wire = Vec::new();
        answers.iter().for_each(|answer| encode::answer(&mut wire, answer));
        let mut decoder = ReplyDecoder::new();
        let mut input = &wire[..];
        for answer in answers {
            assert_eq!(decoder.next(&mut input), Ok(Some(answer)), "seed {}", SEED + round);
        }
        assert_eq!(decoder.next(&mut input), Ok(None), "seed {}", SEED + round);
        assert!(decoder.is_idle(), "seed {}", SEED + round);
    }
}

#[test]
fn a_stream_means_the_same_wherever_it_is_cut() {
    for round in 0..40 {
        let mut random = Random::new(SEED + round);
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let words = generate::words(&mut random);
            encode::request(&mut requests, &generate::binary_request(&mut random, &words));
            for answer in generate::answers(&mut random, &words) {
                encode::answer(&mut answers, &answer);
            }
        }
        let whole = read_requests(&[&requests]);
        every_cut(&requests, |pieces| {
            assert_eq!(read_requests(pieces), whole, "seed {}", SEED + round);
        });
        let whole = read_answers(&[&answers]);
        every_cut(&answers, |pieces| {
            assert_eq!(read_answers(pieces), whole, "seed {}", SEED + round);
        });
    }
}

/// Decodes a server's stream from these pieces; returns the events and the stream encoded again.
fn read_answers(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let mut decoder = ReplyDecoder::new();
    let (mut events, mut again, mut value) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(answer)) => {
                    encode::answer(&mut again, &answer);
                    if let Reply::Data { bytes, ends } = answer.reply {
                        value.extend_from_slice(bytes);
                        if ends {
                            events.push(format!("data '{}'", value.escape_ascii()));
                            value.clear();
                        }
                    } else {
                        events.push(answer_event(&answer));
                    }
                }
                Ok(None) => break assert!(input.is_empty(), "more bytes than it could use"),
                Err(bad) => {
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

fn answer_event(answer: &Answer<'_>) -> String {
    let Answer { opcode, opaque, status, reply } = answer;
    let status = if status.0 == 0 { String::new() } else { format!(" 0x{:02x}", status.0) };
    format!("{opcode:?} {opaque}{status}: {reply}")
}

/// Decodes a client's stream from these pieces; returns the events and the stream encoded again.
fn read_requests(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
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
