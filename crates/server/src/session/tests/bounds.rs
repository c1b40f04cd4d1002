//! Answers do not depend on the bound for waiting bytes, and few bytes wait for a client that takes
//! none.

use super::*;
use crate::store::StoreOptions;
use memtide_base::Instant;
use memtide_codec::binary::{Extras, Opcode, Request as Frame, encode as frames};

const ITEM_BYTES_MAX: usize = 1 << 20;
const CLOCK: Clock = Clock { now: Instant::ZERO, unix_s: 1_700_000_000 };

fn store() -> Store {
    let options =
        StoreOptions { memory_bytes_max: 8 << 20, item_bytes_max: ITEM_BYTES_MAX, shards: 1 };
    Store::new(options)
}

/// All answers to `pieces`, with the waiting bytes taken after each step.
fn answered(pieces: [&[u8]; 2], most: usize) -> (Vec<u8>, Flow) {
    let (store, mut session) = (store(), Session::new(ITEM_BYTES_MAX));
    let (mut all, mut out) = (Vec::new(), Outgoing::default());
    for piece in pieces {
        let mut bytes = piece;
        loop {
            let flow = session.handle_within(CLOCK, bytes, &store, &mut out, most);
            out.slices().for_each(|slice| all.extend_from_slice(slice));
            out.advance(out.waiting());
            assert_eq!(session.is_behind(), flow == Flow::Paused);
            match flow {
                Flow::Paused => bytes = &[],
                Flow::Continue => break,
                Flow::Close => return (all, flow),
            }
        }
    }
    (all, Flow::Continue)
}

/// Asserts that the answers equal those without a bound, for each bound and each cut of `script`.
fn assert_same(script: &[u8], cuts: impl Iterator<Item = usize> + Clone) {
    let (store, mut session) = (store(), Session::new(ITEM_BYTES_MAX));
    let mut whole = Vec::new();
    let flow = session.handle_bytes(CLOCK, script, &store, &mut whole);
    assert!(whole.len() > 100);
    for most in [1, 40, 20_000, usize::MAX] {
        for cut in cuts.clone() {
            let (head, tail) = script.split_at(cut);
            let bounded = answered([head, tail], most);
            assert!(bounded == (whole.clone(), flow), "at most {most}, cut at {cut}");
        }
    }
}

#[test]
fn lines_are_answered_the_same_whatever_may_wait() {
    let script = "set a 1 0 3\r\nabc\r\nset b 2 0 2\r\nde\r\nget  a b  none a \r\ngats 9 b a\r\n\
                  nonsense\r\nset c 0 0 1 noreply\r\n7\r\nget c\r\nincr c 5\r\nget\r\ngets c c\r\n\
                  version\r\nget a\r\nquit\r\nget a\r\n";
    assert_same(script.as_bytes(), 0..script.len());
    let large = "v".repeat(30_000);
    let larger = "w".repeat(300_000);
    let script = format!(
        "set a 0 0 30000\r\n{large}\r\nget a\r\nset b 0 0 300000\r\n{larger}\r\nget a b a b\r\n\
         set a 0 0 30000\r\n{}\r\nget b a\r\nappend a 0 0 1\r\n1\r\ngets a\r\nget {}\r\n",
        &larger[..30_000],
        "x a ".repeat(40),
    );
    assert_same(script.as_bytes(), (0..script.len()).step_by(40_009));
    let missing = format!("set a 0 0 1\r\n1\r\nget {}a\r\n{}", "x ".repeat(3 * KEYS_MAX), script);
    assert_same(missing.as_bytes(), [0, 9000, 20_000].into_iter());
}

#[test]
fn frames_are_answered_the_same_whatever_may_wait() {
    let frame = |opcode, key: &'static str| Frame {
        opcode,
        opaque: 5,
        cas: 0,
        extras: Extras::None,
        key: key.as_bytes(),
        value: &[],
    };
    for bytes in [3, 20_000] {
        let (value, extras) = (vec![b'v'; bytes], Extras::Store { flags: 7, expiry: 0 });
        let mut script = Vec::new();
        let set = Frame { extras, value: &value, ..frame(Opcode::Set, "a") };
        frames::request(&mut script, &set);
        for opcode in [Opcode::Get, Opcode::GetK, Opcode::GetQ, Opcode::GetKQ, Opcode::Noop] {
            let key = if opcode == Opcode::Noop { "" } else { "a" };
            frames::request(&mut script, &frame(opcode, key));
            if opcode != Opcode::Noop {
                frames::request(&mut script, &frame(opcode, "none"));
            }
        }
        frames::request(&mut script, &frame(Opcode::Quit, ""));
        assert_same(&script, (0..script.len()).step_by(if bytes == 3 { 1 } else { 997 }));
    }
}

#[test]
fn little_waits_for_a_client_that_takes_nothing() {
    let (store, mut session) = (store(), Session::new(ITEM_BYTES_MAX));
    let bytes = ITEM_BYTES_MAX - 100;
    let set = format!("set a 0 0 {bytes}\r\n{}\r\n", "v".repeat(bytes));
    session.handle_bytes(CLOCK, set.as_bytes(), &store, &mut Vec::new());
    let single = "get a\r\n".repeat(1000);
    let many = format!("get {}\r\n", "a ".repeat(1000));
    for request in [single, many] {
        let mut out = Outgoing::default();
        let flow = session.handle_some(CLOCK, request.as_bytes(), &store, &mut out);
        assert_eq!(flow, Flow::Paused);
        let mut left = 0;
        loop {
            assert!(out.waiting() < WAITING_BYTES_MAX + ITEM_BYTES_MAX);
            assert!(out.bytes().capacity() < 1024, "the value was copied");
            left += out.waiting();
            out.advance(out.waiting());
            if !session.is_behind() {
                break;
            }
            session.handle_some(CLOCK, &[], &store, &mut out);
        }
        assert!(left > 1000 * bytes, "{left}");
    }
    // All keys were found, and looked up only when there was room.
    assert_eq!(store.snapshot().counters.get_hits, 2000);
}
