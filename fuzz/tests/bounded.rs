//! A bounded run of every target; the crate's own page says how to run longer.
#![expect(clippy::disallowed_methods, reason = "seeds come from outside")]

use memtide_fuzz::generate::{
    ANSWER_FRAMES, Generator, JOINS, LAWS, META_ANSWERS, META_REQUESTS, RECORDS, REPLIES,
    REQUEST_FRAMES, REQUESTS, SCENARIOS, Words,
};
use memtide_fuzz::spoken::{FROM_AGENT, TO_AGENT};
use std::panic::{self, AssertUnwindSafe};

const SEED: u64 = 1;
const ROUNDS: u64 = 20_000;

fn run(target: fn(&[u8]), dictionary: &'static Words) {
    let seed = number("MEMTIDE_FUZZ_SEED").unwrap_or(SEED);
    let rounds = match number("MEMTIDE_FUZZ_ROUNDS").unwrap_or(ROUNDS) {
        0 => u64::MAX,
        rounds => rounds,
    };
    let mut generator = Generator::new(seed, dictionary);
    for round in 0..rounds {
        let input = generator.input();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| target(&input)));
        assert!(outcome.is_ok(), "seed {seed}, round {round}: b\"{}\"", input.escape_ascii());
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, not '{text}'")))
}

/// Declares a test for each target: the function that it calls, and the words of its inputs.
macro_rules! targets {
    ($(#[test] fn $name:ident: $target:ident, $words:ident;)*) => {
        $(
            #[test]
            fn $name() {
                run(memtide_fuzz::$target, &$words);
            }
        )*
    };
}

targets! {
    #[test] fn reply_decoder: reply_decoder, REPLIES;
    #[test] fn request_decoder: request_decoder, REQUESTS;
    #[test] fn meta_answers: meta_answers, META_ANSWERS;
    #[test] fn meta_requests: request_decoder, META_REQUESTS;
    #[test] fn meta_session: meta_session, META_REQUESTS;
    #[test] fn answer_frames: answer_frames, ANSWER_FRAMES;
    #[test] fn request_frames: request_frames, REQUEST_FRAMES;
    #[test] fn frames_session: frames_session, REQUEST_FRAMES;
    #[test] fn session: session, REQUESTS;
    #[test] fn scenario_toml: scenario_toml, SCENARIOS;
    #[test] fn from_agent: from_agent, FROM_AGENT;
    #[test] fn to_agent: to_agent, TO_AGENT;
    #[test] fn law_words: law_words, LAWS;
    #[test] fn join_file: join_file, JOINS;
    #[test] fn tls_client: tls_client, RECORDS;
    #[test] fn tls_server: tls_server, RECORDS;
    #[test] fn tls_damaged: tls_damaged, RECORDS;
}
