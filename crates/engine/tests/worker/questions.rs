//! Questions beside the load, and replies that do not answer them.

use crate::prelude::*;
use memtide_engine::probe::{ask, ask_unless};
use memtide_world::question::{AskError, Question};

#[test]
fn what_is_no_answer_is_named_by_its_first_bytes() {
    let rows: &'static [u8] = b"STAT a 1\r\n".repeat(200_000).leak();
    for (says, protocol, words) in [
        (&b"HTTP/1.1 400 Bad"[..], Protocol::Text, "with HTTP"),
        (b"HTTP/1.1 400 Bad Request\r\n", Protocol::Binary, "('HTTP/1.1 400 Bad Request')"),
        (b"\x15\x03\x01\0\x02\x02\x46", Protocol::Text, "with TLS"),
        (b"-ERR unknown command\r\n", Protocol::Text, "Redis"),
        (b"SSH-2.0-OpenSSH_9\r\n", Protocol::Text, "SSH"),
        (b"\x81\0\0\0", Protocol::Text, "memcached's binary protocol"),
        (b"ERROR\r\n", Protocol::Binary, "memcached's text protocol"),
        (b"\0\0\0", Protocol::Text, "\\x00\\x00"),
        (b"STAT pid 1\r\nSTORED\r\n", Protocol::Text, "answered STORED to stats"),
        (b"STAT pid 1\r\n", Protocol::Text, "12 bytes came"),
        (rows, Protocol::Text, "without an end"),
    ] {
        let mut plan = plan();
        plan.requests.protocol = protocol;
        let world = World::new(&plan, Script { says: Some((ms(0), says)), ..Script::default() });
        let mut driver = world.driver();
        let error = ask(&mut driver, &plan, &plan.servers[0], Question::Statistics).unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
        let waited = driver.now();
        let is_broken = !matches!(error, AskError::Unfinished { .. });
        assert!(waited < ms(10) || !is_broken, "it was noticed at {waited:?}: {error}");
    }
}

#[test]
fn a_question_is_given_up_when_its_user_does() {
    let plan = plan();
    let says = Some((ms(0), &b"STAT a 1\r\n"[..]));
    let world = World::new(&plan, Script { says, ..Script::default() });
    let mut driver = world.driver();
    let looks = std::cell::Cell::new(0);
    let is_interrupted = || looks.replace(looks.get() + 1) == 3;
    let (server, question) = (&plan.servers[0], Question::Statistics);
    let answer = ask_unless(&is_interrupted, &mut driver, &plan, server, question);
    assert_eq!(answer, Err(AskError::Interrupted));
    assert!(driver.now() < Instant::ZERO + plan.timeout);
}
