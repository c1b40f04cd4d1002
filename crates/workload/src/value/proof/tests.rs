//! Each kind of error is told from the others, however the bytes are cut, at every length.

use super::*;
use memtide_base::Random;

fn space(len: usize) -> ValueSpace {
    ValueSpace::new(crate::SizeLaw::fixed(len as u64), 1 << 20, 7)
}

fn value(values: &ValueSpace, id: u64, version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    values.write(id, version, &mut out);
    out
}

/// The result of checking `bytes` as the value of key `id`; it must not depend on the width of the
/// pieces.
fn find(values: &ValueSpace, id: u64, bytes: &[u8]) -> Finding {
    let mut found = Vec::new();
    for width in [bytes.len().max(1), 1, 3, 15, 16, 17] {
        let mut check = ValueCheck::new(values, id, bytes.len());
        for piece in bytes.chunks(width) {
            check.handle_bytes(values, piece);
            check.handle_bytes(values, b"");
        }
        found.push(check.finding(values));
    }
    assert!(found.iter().all(|finding| *finding == found[0]), "{found:?}");
    found[0]
}

/// Every length near a boundary, and larger ones.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=64).chain([200, 4096, 65_536])
}

const VERSION: Version = Version::new(0xabc_def, 41);

#[test]
fn words_are_spelt_and_read() {
    for word in [0, 1, 63, 64, 0x12_3456, Version::NUMBER_MAX] {
        assert_eq!(read(&spell(word)), Some(word));
    }
    assert_eq!(read(b"abc "), None);
}

#[test]
fn values_have_their_length_and_are_printable() {
    for len in lengths() {
        let values = space(len);
        let value = value(&values, 5, VERSION);
        assert_eq!(value.len(), len);
        assert!(value.iter().all(u8::is_ascii_graphic));
    }
}

#[test]
fn a_right_value_is_right_and_tells_its_version_where_it_has_room() {
    for len in lengths() {
        let values = space(len);
        for id in 0..20 {
            let version = Version::new(id as u32, 99 - id as u32);
            let told = (len >= PROOF_BYTES).then_some(version);
            assert_eq!(find(&values, id, &value(&values, id, version)), Finding::Right(told));
            let plain = values.slice(id).to_vec();
            assert_eq!(find(&values, id, &plain), Finding::Right(None), "{len} bytes, no proof");
        }
    }
}

#[test]
fn versions_and_keys_have_different_bytes() {
    let values = space(200);
    let other = value(&values, 5, Version::new(0xabc_def, 42));
    let mine = value(&values, 5, VERSION);
    assert_ne!(mine[PROOF_BYTES..], other[PROOF_BYTES..]);
    assert_ne!(mine[PROOF_BYTES..], value(&values, 6, VERSION)[PROOF_BYTES..]);
}

#[test]
fn every_flipped_bit_is_found() {
    for len in (1..=20).chain([31, 64]) {
        let values = space(len);
        for id in 0..2 {
            let right = value(&values, id, VERSION);
            for at in 0..len {
                for bit in 0..8 {
                    let mut bytes = right.clone();
                    bytes[at] ^= 1 << bit;
                    let Finding::Wrong { wrong, offset, .. } = find(&values, id, &bytes) else {
                        panic!("bit {bit} of byte {at} of {len}");
                    };
                    assert_eq!(wrong, Wrong::Corrupt, "bit {bit} of byte {at} of {len}");
                    // A flipped bit may look like bytes without a proof for a while; in the two
                    // middle words only the checksum, or a byte that is not a letter, tells.
                    let in_head = len >= PROOF_BYTES && at < PROOF_BYTES;
                    let near = in_head && offset > at && offset < PROOF_BYTES;
                    assert!(offset == at || near, "{offset} is said for byte {at} of {len}");
                }
            }
        }
    }
}

#[test]
fn the_value_of_another_key_is_found() {
    for len in lengths().filter(|len| *len >= PROOF_BYTES) {
        let values = space(len);
        for id in 0..20 {
            let Finding::Wrong { wrong, version, offset } =
                find(&values, id, &value(&values, id + 1, VERSION))
            else {
                panic!("{len} bytes");
            };
            assert_eq!((wrong, version), (Wrong::WrongKey, Some(VERSION)));
            assert!(offset < WORD_LETTERS);
        }
    }
    let short = space(12);
    let finding = find(&short, 1, &value(&short, 2, VERSION));
    assert!(matches!(finding, Finding::Wrong { wrong: Wrong::Corrupt, .. }), "no room for a proof");
}

#[test]
fn the_value_of_another_key_is_found_by_its_proof_whatever_the_lengths() {
    let values = ValueSpace::new("uniform:0,100".parse().unwrap(), 1 << 20, 7);
    let mut found = 0;
    for id in 0..2_000 {
        let other = value(&values, id + 1, VERSION);
        let finding = find(&values, id, &other);
        if other.len() >= PROOF_BYTES {
            let Finding::Wrong { wrong, .. } = finding else { panic!("{id} is not {}", id + 1) };
            assert_eq!(wrong, Wrong::WrongKey, "{id} is not {}", id + 1);
            found += 1;
        } else if values.len(id) > 0 || !other.is_empty() {
            assert!(
                matches!(finding, Finding::Wrong { wrong: Wrong::Corrupt | Wrong::Truncated, .. }),
                "{finding:?}"
            );
        }
    }
    assert!(found > 1_500);
}

#[test]
fn every_beginning_of_a_value_is_truncated() {
    for len in (1..=64).chain([200, 4096]) {
        let values = space(len);
        for bytes in [value(&values, 9, VERSION), values.slice(9).to_vec()] {
            for told in (0..len).step_by(len.div_ceil(100)) {
                let Finding::Wrong { wrong, offset, .. } = find(&values, 9, &bytes[..told]) else {
                    panic!("{told} of {len} bytes");
                };
                assert_eq!((wrong, offset), (Wrong::Truncated, told), "{told} of {len} bytes");
            }
        }
    }
}

#[test]
fn a_beginning_with_a_wrong_byte_is_corrupt() {
    let values = space(200);
    let mut bytes = value(&values, 9, VERSION);
    bytes[50] ^= 1;
    bytes.truncate(100);
    let wrong = Wrong::Corrupt;
    assert_eq!(
        find(&values, 9, &bytes),
        Finding::Wrong { wrong, offset: 50, version: Some(VERSION) }
    );
    bytes[2] = b' ';
    bytes.truncate(10);
    assert_eq!(find(&values, 9, &bytes), Finding::Wrong { wrong, offset: 2, version: None });
}

#[test]
fn a_value_with_something_behind_it_is_corrupt() {
    for len in lengths() {
        let values = space(len);
        for mut bytes in [value(&values, 9, VERSION), values.slice(9).to_vec()] {
            bytes.extend_from_slice(b"more");
            let Finding::Wrong { wrong, offset, .. } = find(&values, 9, &bytes) else {
                panic!("{len} bytes and more");
            };
            assert_eq!((wrong, offset), (Wrong::Corrupt, len));
        }
    }
}

#[test]
fn noise_is_never_right() {
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let values = space(random.below(64) as usize);
        let mut bytes: Vec<u8> = (0..random.below(64) + 1).map(|_| random.bits() as u8).collect();
        bytes.insert(0, 0xff);
        let finding = find(&values, 3, &bytes);
        assert!(matches!(finding, Finding::Wrong { .. }), "seed {seed}: {finding:?}");
    }
}
