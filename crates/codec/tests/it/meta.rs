//! The meta protocol from outside: vectors, and answers that survive, whole and cut. Requests go
//! with those of the text protocol.

use crate::events::{self, Next, Piece, decoded, every_cut};
use crate::generate::{self, Words};
use crate::wire::check_all;
use memtide_base::Random;
use memtide_codec::Reply;
use memtide_codec::meta::{Answer, Flag, Flags, ReplyDecoder, Word, encode};

const ROUNDS: u64 = 4000;
const SEED: u64 = 0x6d65_7461_0000;

#[test]
fn every_vector_of_meta_means_what_it_says_however_it_is_cut() {
    check_all("tests/wire/meta", 30, events::requests, answers);
}

/// The flags of each command in the protocol document of memcached 1.6.45.
const FLAGS: [(&str, &str); 5] = [
    ("mg", "bcCfhklOqstuvENRTPL"),
    ("ms", "bcCEFIkOqsTMNPL"),
    ("md", "bCEIkOqTxPL"),
    ("ma", "bCENJDTMOqtcvkPL"),
    ("me", "b"),
];

#[test]
fn every_flag_of_every_command_has_a_vector() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/meta");
    let texts = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let texts = texts.collect::<String>();
    for (command, letters) in FLAGS {
        // What a line means stands behind `=>`; refused ones mean nothing.
        let understood = texts.lines().filter_map(|line| line.strip_prefix("=> "));
        let words = understood.filter_map(|line| line.strip_prefix(command)?.strip_prefix(' '));
        let seen = words.flat_map(|words| words.split(' ').skip(1)).collect::<Vec<_>>();
        for letter in letters.chars() {
            assert!(
                seen.iter().any(|word| word.starts_with(letter)),
                "no vector of {command} {letter}"
            );
        }
    }
}

/// Decodes a server's stream of answers.
fn answers(pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let next: Next<ReplyDecoder> = |decoder, input, again| {
        Ok(decoder.next(input)?.map(|answer| {
            encode::answer(again, &answer);
            Piece::of(&answer.reply, || format!("{}{}", answer.reply, answer.flags))
        }))
    };
    decoded(next, ReplyDecoder::is_idle, pieces)
}

fn drawn<'a>(random: &mut Random, words: &'a Words, flags: &'a str) -> Vec<Answer<'a>> {
    let flags = Flags::spaced(flags.as_bytes());
    let answer = |reply| Answer { reply, flags };
    let codes =
        [Reply::Done, Reply::End, Reply::NotStored, Reply::Exists, Reply::NotFound, Reply::Noop];
    match random.below(10) {
        0..4 => {
            let bytes = words.value.len();
            let key = flags.find(Flag::Key).map_or(&b""[..], |word| word.token);
            let number = |flag| flags.find(flag).and_then(Word::number);
            let cas = number(Flag::ReturnCas);
            let client = number(Flag::ReturnFlags).unwrap_or(0) as u32;
            let head = Reply::Value { key, flags: client, bytes, cas };
            vec![answer(head), Reply::Data { bytes: &words.value, ends: true }.into()]
        }
        4 => vec![Reply::Item { key: &words.key, figures: b"exp=-1 la=0" }.into()],
        5 => vec![Reply::Version(&words.text).into()],
        _ => vec![answer(codes[random.below(6) as usize])],
    }
}

fn flags(random: &mut Random) -> String {
    let all = "f7 c18446744073709551615 kkey b O31 t-1 h1 l99999999999 s5 W X Z";
    let some = all.split(' ').filter(|_| random.below(3) == 0);
    some.collect::<Vec<_>>().join(" ")
}

#[test]
fn answers_of_meta_survive() {
    for seed in SEED..SEED + ROUNDS {
        let mut random = Random::new(seed);
        let (words, flags) = (generate::words(&mut random), flags(&mut random));
        let drawn = drawn(&mut random, &words, &flags);
        let mut wire = Vec::new();
        drawn.iter().for_each(|answer| encode::answer(&mut wire, answer));
        let (mut decoder, mut input) = (ReplyDecoder::new(), &wire[..]);
        for answer in drawn {
            assert_eq!(decoder.next(&mut input), Ok(Some(answer)), "seed {seed}");
        }
        assert_eq!(decoder.next(&mut input), Ok(None), "seed {seed}");
        assert!(decoder.is_idle(), "seed {seed}");
    }
}

#[test]
fn a_stream_of_meta_means_the_same_wherever_it_is_cut() {
    for seed in SEED..SEED + 40 {
        let mut random = Random::new(seed);
        let mut wire = Vec::new();
        for _ in 0..4 {
            let (words, flags) = (generate::words(&mut random), flags(&mut random));
            let drawn = drawn(&mut random, &words, &flags);
            drawn.iter().for_each(|answer| encode::answer(&mut wire, answer));
        }
        let whole = answers(&[&wire]);
        every_cut(&wire, |cut| assert_eq!(answers(cut), whole, "seed {seed}"));
    }
}
