//! The table against a straightforward implementation, under random use.

use super::*;
use memtide_base::Random;

const SEED: u64 = 11;

#[test]
fn it_holds_what_a_plain_list_holds() {
    let mut random = Random::new(SEED);
    let mut table = ItemTable::new();
    // Oldest first, in the order of use.
    let mut plain: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for step in 0..20_000 {
        let key = format!("key{}", random.below(300)).into_bytes();
        let place = plain.iter().position(|(name, _)| *name == key);
        let at = table.find(hash(&key), &key);
        assert_eq!(at.is_some(), place.is_some(), "seed {SEED}, step {step}");
        match (at, place, random.below(4)) {
            (Some(at), Some(place), 0) => {
                table.remove(at);
                plain.remove(place);
            }
            (Some(at), Some(place), 1) => {
                let value = vec![b'v'; random.below(50) as usize];
                table.update(at, |item| item.set_value(&value));
                plain[place].1 = value;
            }
            (Some(at), Some(place), _) => {
                assert_eq!(table.item(at).value(), plain[place].1);
                table.use_now(at);
                let used = plain.remove(place);
                plain.push(used);
            }
            _ => {
                table.insert(Item::new(hash(&key), &key, b"new"));
                plain.push((key, b"new".to_vec()));
            }
        }
        assert_eq!(table.items(), plain.len());
    }
    let size =
        |(key, value): &(Vec<u8>, Vec<u8>)| text::item_bytes(key.len(), value.len(), 0) as u64;
    assert_eq!(table.bytes(), plain.iter().map(size).sum::<u64>());
    for (key, _) in plain {
        let at = table.oldest().expect("as many items as in the plain list");
        assert_eq!(table.item(at).key(), key, "seed {SEED}");
        table.remove(at);
    }
    assert_eq!((table.oldest(), table.items(), table.bytes()), (None, 0, 0));
}

#[test]
fn keys_that_differ_little_are_spread_evenly() {
    let mut shards = [0u32; 16];
    for key in 0..16_000 {
        shards[(hash(format!("key{key:08}").as_bytes()) >> 60) as usize] += 1;
    }
    assert!(shards.iter().all(|count| (850..1150).contains(count)), "{shards:?}");
    assert_ne!(hash(b"a\0"), hash(b"a"));
}

#[test]
fn a_large_value_that_is_being_sent_stays_what_it_was() {
    let mut table = ItemTable::new();
    let hash = hash(b"key");
    let mut value = vec![b'a'; LARGE_BYTES_MIN];
    table.insert(Item::new(hash, b"key", &value));
    let at = table.find(hash, b"key").unwrap();
    let sent = Arc::clone(table.item(at).large_value().unwrap());
    for (byte, bytes) in [(b'b', LARGE_BYTES_MIN), (b'c', LARGE_BYTES_MIN - 1), (b'd', 70_000)] {
        value = vec![byte; bytes];
        table.update(at, |item| item.set_value(&value));
        let item = table.item(at);
        assert_eq!((item.key(), item.value()), (&b"key"[..], &value[..]));
        assert_eq!(item.large_value().is_some(), bytes >= LARGE_BYTES_MIN);
        assert_eq!(table.bytes(), text::item_bytes(3, bytes, 0) as u64);
    }
    assert!(*sent == [b'a'; LARGE_BYTES_MIN]);
    // In place, because the value is not being sent.
    let place = table.item(at).value().as_ptr();
    table.update(at, |item| item.set_value(&[b'e'; 70_000]));
    assert_eq!(table.item(at).value().as_ptr(), place);
    table.remove(at);
    assert_eq!((table.bytes(), Arc::strong_count(&sent)), (0, 1));
}
