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

#[test]
fn reply_decoder() {
    run(memtide_fuzz::reply_decoder, &REPLIES);
}

#[test]
fn request_decoder() {
    run(memtide_fuzz::request_decoder, &REQUESTS);
}

#[test]
fn meta_answers() {
    run(memtide_fuzz::meta_answers, &META_ANSWERS);
}

#[test]
fn meta_requests() {
    run(memtide_fuzz::request_decoder, &META_REQUESTS);
}

#[test]
fn meta_session() {
    run(memtide_fuzz::meta_session, &META_REQUESTS);
}

#[test]
fn answer_frames() {
    run(memtide_fuzz::answer_frames, &ANSWER_FRAMES);
}

#[test]
fn request_frames() {
    run(memtide_fuzz::request_frames, &REQUEST_FRAMES);
}

#[test]
fn frames_session() {
    run(memtide_fuzz::frames_session, &REQUEST_FRAMES);
}

#[test]
fn session() {
    run(memtide_fuzz::session, &REQUESTS);
}

#[test]
fn scenario_toml() {
    run(memtide_fuzz::scenario_toml, &SCENARIOS);
}

#[test]
fn from_agent() {
    run(memtide_fuzz::from_agent, &FROM_AGENT);
}

#[test]
fn to_agent() {
    run(memtide_fuzz::to_agent, &TO_AGENT);
}

#[test]
fn law_words() {
    run(memtide_fuzz::law_words, &LAWS);
}

#[test]
fn join_file() {
    run(memtide_fuzz::join_file, &JOINS);
}

#[test]
fn tls_client() {
    run(memtide_fuzz::tls_client, &RECORDS);
}

#[test]
fn tls_server() {
    run(memtide_fuzz::tls_server, &RECORDS);
}

#[test]
fn tls_damaged() {
    run(memtide_fuzz::tls_damaged, &RECORDS);
}
