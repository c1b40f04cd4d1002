//! Decoding inverts encoding, in both directions, whole and cut.

use crate::events;
use crate::generate;
use memtide_base::Random;
use memtide_codec::text::{ReplyDecoder, RequestDecoder, encode};

const SEED: u64 = 0x6d65_6d74_6964_6500;
const ROUNDS: u64 = 4000;
const ITEM_BYTES_MAX: usize = 4096;

#[test]
fn requests_survive() {
    for round in 0..ROUNDS {
        let mut random = Random::new(SEED + round);
        let words = generate::words(&mut random);
        let request = generate::request(&mut random, &words);
        let mut wire = Vec::new();
        encode::request(&mut wire, &request);
        let mut decoder = RequestDecoder::new(ITEM_BYTES_MAX);
        let mut input = &wire[..];
        assert_eq!(decoder.next(&mut input), Ok(Some(request)), "seed {}", SEED + round);
        assert_eq!(decoder.next(&mut input), Ok(None), "seed {}", SEED + round);
    }
}

#[test]
fn replies_survive() {
    for round in 0..ROUNDS {
        let mut random = Random::new(SEED + round);
        let words = generate::words(&mut random);
        let replies = generate::replies(&mut random, &words);
        let mut wire = Vec::new();
        replies.iter().for_each(|reply| encode::reply(&mut wire, reply));
        let mut decoder = ReplyDecoder::new();
        let mut input = &wire[..];
        for reply in replies {
            assert_eq!(decoder.next(&mut input), Ok(Some(reply)), "seed {}", SEED + round);
        }
        assert_eq!(decoder.next(&mut input), Ok(None), "seed {}", SEED + round);
        assert!(decoder.is_idle(), "seed {}", SEED + round);
    }
}

#[test]
fn a_stream_means_the_same_wherever_it_is_cut() {
    for round in 0..40 {
        let mut random = Random::new(SEED + round);
        let (mut requests, mut replies) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let words = generate::words(&mut random);
            encode::request(&mut requests, &generate::request(&mut random, &words));
            for reply in generate::replies(&mut random, &words) {
                encode::reply(&mut replies, &reply);
            }
        }
        let whole = events::requests(&[&requests], ITEM_BYTES_MAX);
        events::every_cut(&requests, |pieces| {
            let cut = events::requests(pieces, ITEM_BYTES_MAX);
            assert_eq!(cut, whole, "seed {}", SEED + round);
        });
        let whole = events::replies(&[&replies]);
        events::every_cut(&replies, |pieces| {
            assert_eq!(events::replies(pieces), whole, "seed {}", SEED + round);
        });
    }
}
