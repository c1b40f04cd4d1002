//! A message in slices has the same bytes in the same order, wherever sending resumes.

use super::{Message, SendBuffer};
use memtide_base::rng::{Random, Stream, below};
use std::sync::Arc;

fn pool(first: u8) -> Arc<[u8]> {
    (0..200).map(|n| first.wrapping_add(n)).collect()
}

fn flat(message: Message<'_>, skip: usize) -> Vec<u8> {
    message.slices(skip).flatten().copied().collect()
}

/// Own bytes and references by turns, drawn by `seed`; and the bytes that they add up to.
fn made(pool: &Arc<[u8]>, seed: u64) -> (SendBuffer, Vec<u8>) {
    let mut random = Random::at(seed, Stream::KIND, 0);
    let mut draw = |range: u64| below(random.bits(), range) as usize;
    let (mut buffer, mut expected) = (SendBuffer::default(), Vec::new());
    for _ in 0..draw(6) {
        if draw(2) == 0 {
            let own = vec![draw(256) as u8; draw(4)];
            buffer.bytes_mut().extend_from_slice(&own);
            expected.extend(own);
        } else {
            let from = draw(150);
            let place = from..from + 1 + draw(9);
            buffer.push_pooled(pool, place.clone());
            expected.extend_from_slice(&pool[place]);
        }
    }
    (buffer, expected)
}

#[test]
fn every_rest_of_a_message_is_the_end_of_its_bytes() {
    let pool = pool(0);
    for seed in 0..300 {
        let (buffer, expected) = made(&pool, seed);
        assert_eq!(buffer.len(), expected.len(), "seed {seed}");
        assert_eq!(buffer.is_empty(), expected.is_empty(), "seed {seed}");
        for skip in 0..=expected.len() {
            let message = buffer.message();
            assert_eq!(flat(message, skip), expected[skip..], "seed {seed}, skip {skip}");
            assert!(message.slices(skip).all(|slice| !slice.is_empty()), "seed {seed}");
            let mut kept = SendBuffer::default();
            kept.append(Message::plain(b"ab"), 1);
            kept.append(message, skip);
            assert_eq!(flat(kept.message(), 1), expected[skip..], "seed {seed}, skip {skip}");
            assert_eq!(kept.len(), 1 + expected.len() - skip, "seed {seed}, skip {skip}");
        }
        assert_eq!(buffer.message().flat(&mut b"old".to_vec()), expected, "seed {seed}");
    }
}

#[test]
fn messages_of_one_buffer_can_be_told_apart() {
    let pool = pool(0);
    for seed in 0..300 {
        let mut buffer = SendBuffer::with_capacity(10, 10);
        let mut parts = Vec::new();
        for nth in 0..4 {
            let (part, expected) = made(&pool, seed * 4 + nth);
            let from = buffer.end();
            buffer.append(part.message(), 0);
            parts.push((from..buffer.end(), expected));
        }
        for (range, expected) in &parts {
            assert_eq!(flat(buffer.between(range), 0), *expected, "seed {seed}");
        }
        let two = parts[1].0.start..parts[2].0.end;
        let expected = [&parts[1].1[..], &parts[2].1].concat();
        assert_eq!(flat(buffer.between(&two), 0), expected, "seed {seed}");
    }
}

#[test]
fn values_are_referred_to_and_not_copied() {
    let pool = pool(0);
    let mut buffer = SendBuffer::default();
    buffer.bytes_mut().extend_from_slice(b"set");
    buffer.push_pooled(&pool, 10..20);
    let mut kept = SendBuffer::default();
    kept.append(buffer.message(), 5);
    let slice = kept.message().slices(0).next().expect("eight bytes are left");
    assert!(std::ptr::eq(slice, &raw const pool[12..20]));
    assert_eq!(kept.message().as_plain(), None);
}

#[test]
fn of_a_second_pool_bytes_are_copied_until_the_first_is_let_go() {
    let (first, second) = (pool(0), pool(100));
    let mut buffer = SendBuffer::default();
    buffer.push_pooled(&first, 0..3);
    buffer.push_pooled(&second, 0..3);
    assert_eq!(flat(buffer.message(), 0), [0, 1, 2, 100, 101, 102]);
    buffer.clear();
    assert!(buffer.is_empty());
    buffer.push_pooled(&second, 1..3);
    assert_eq!(flat(buffer.message(), 0), [101, 102]);
}
