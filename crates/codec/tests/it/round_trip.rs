//! Decoding inverts encoding, in both directions and both protocols, whole and cut.

const ROUNDS: u64 = 4000;

macro_rules! round_trips {
    ($protocol:ident, $events:ident, $seed:literal, $request:ident, $answers:ident, $say:ident) => {
        mod $protocol {
            use super::ROUNDS;
            use crate::events::every_cut;
            use crate::wire::ITEM_BYTES_MAX;
            use crate::{generate, $events};
            use memtide_base::Random;
            use memtide_codec::$protocol::{ReplyDecoder, RequestDecoder, encode};

            #[test]
            fn requests_survive() {
                for seed in $seed..$seed + ROUNDS {
                    let mut random = Random::new(seed);
                    let words = generate::words(&mut random);
                    let request = generate::$request(&mut random, &words);
                    let mut wire = Vec::new();
                    encode::request(&mut wire, &request);
                    let mut decoder = RequestDecoder::new(ITEM_BYTES_MAX);
                    let mut input = &wire[..];
                    assert_eq!(decoder.next(&mut input), Ok(Some(request)), "seed {seed}");
                    assert_eq!(decoder.next(&mut input), Ok(None), "seed {seed}");
                }
            }

            #[test]
            fn answers_survive() {
                for seed in $seed..$seed + ROUNDS {
                    let mut random = Random::new(seed);
                    let words = generate::words(&mut random);
                    let answers = generate::$answers(&mut random, &words);
                    let mut wire = Vec::new();
                    answers.iter().for_each(|answer| encode::$say(&mut wire, answer));
                    let mut decoder = ReplyDecoder::new();
                    let mut input = &wire[..];
                    for answer in answers {
                        assert_eq!(decoder.next(&mut input), Ok(Some(answer)), "seed {seed}");
                    }
                    assert_eq!(decoder.next(&mut input), Ok(None), "seed {seed}");
                    assert!(decoder.is_idle(), "seed {seed}");
                }
            }

            #[test]
            fn a_stream_means_the_same_wherever_it_is_cut() {
                for seed in $seed..$seed + 40 {
                    let mut random = Random::new(seed);
                    let (mut requests, mut answers) = (Vec::new(), Vec::new());
                    for _ in 0..4 {
                        let words = generate::words(&mut random);
                        encode::request(&mut requests, &generate::$request(&mut random, &words));
                        for answer in generate::$answers(&mut random, &words) {
                            encode::$say(&mut answers, &answer);
                        }
                    }
                    for (read, bytes) in [
                        ($events::requests as crate::wire::Read, requests),
                        ($events::replies, answers),
                    ] {
                        let whole = read(&[&bytes]);
                        every_cut(&bytes, |cut| assert_eq!(read(cut), whole, "seed {seed}"));
                    }
                }
            }
        }
    };
}

round_trips!(text, events, 0x6d65_6d74_6964_6500, request, replies, reply);
round_trips!(binary, binary, 0x6269_6e61_7279_0000, binary_request, answers, answer);
