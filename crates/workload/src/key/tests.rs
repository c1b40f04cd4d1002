//! Keys differ, parse back to their ids, and have the sizes of their law.

use super::*;
use std::collections::HashSet;

fn space(count: u64, law: &str) -> KeySpace {
    KeySpace::new(count, law.parse().unwrap(), 1).unwrap()
}

fn key(space: &KeySpace, id: u64) -> Vec<u8> {
    let mut out = Vec::new();
    space.write(id, &mut out);
    let mut line = b"get".to_vec();
    space.write_spaced(id, &mut line);
    assert_eq!(line, [b"get ", &out[..]].concat(), "key {id} after a space");
    out
}

#[test]
fn keys_are_golden() {
    let keys = |law: &str| {
        let space = space(100_000, law);
        [0, 1, 99_999].map(|id| String::from_utf8(key(&space, id)).unwrap())
    };
    let thirty = [
        "0000knrj7c0iqvpqfajcnad6a3aj6e",
        "0001g061j6q7m604d3kt23iagd6get",
        "31kvjm9uovc8qoi5nbnlpj928oi9kd",
    ];
    assert_eq!(keys("fixed:30"), thirty);
    assert_eq!(keys("fixed:4"), ["0000", "0001", "31kv"]);
    let etc = [
        "0000knrj7c0iqvpqfajcnad6a3aj",
        "0001g061j6q7m604d3kt23iagd6getmkvknbi8j9hu",
        "31kvjm9uovc8qoi5nbnlp",
    ];
    assert_eq!(keys("etc-key"), etc);
}

#[test]
fn keys_differ_and_are_read_back() {
    for law in ["fixed:30", "fixed:4", "uniform:4,250", "etc-key", "normal:2,3", "exponential:300"]
    {
        let space = space(100_000, law);
        let mut seen = HashSet::new();
        for id in 0..100_000 {
            let key = key(&space, id);
            assert_eq!(key.len(), space.len(id));
            assert!((4..=KEY_BYTES_MAX).contains(&key.len()));
            assert!(key.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'v')), "{key:?}");
            assert_eq!(space.id_of(&key), Some(id));
            assert!(seen.insert(key), "{law}: key {id} is not the first of its bytes");
        }
    }
}

#[test]
fn huge_spaces_cost_nothing_more() {
    for (count, width) in [(1_000_000_000, 6), (1 << 40, 8), ((1 << 40) + 1, 9), (u64::MAX, 13)] {
        let space = space(count, "fixed:30");
        for id in [0, 1, 31, 32, count / 3, count - 2, count - 1] {
            let key = key(&space, id);
            let digits = std::str::from_utf8(&key[..width]).unwrap();
            assert_eq!(u64::from_str_radix(digits, 32), Ok(id));
            assert_eq!(space.id_of(&key), Some(id));
        }
        let short = format!("fixed:{}", width - 1).parse().unwrap();
        assert!(KeySpace::new(count, short, 1).is_err());
    }
}

#[test]
fn a_key_is_appended_to_what_is_there() {
    let space = space(1, "fixed:1");
    let mut out = b"get ".to_vec();
    space.write(0, &mut out);
    assert_eq!(out, b"get 0");
}

#[test]
fn etc_keys_have_the_published_moments() {
    let space = space(100_000, "etc-key");
    let mut sizes: Vec<f64> = (0..100_000).map(|id| space.len(id) as f64).collect();
    let mean = sizes.iter().sum::<f64>() / 1e5;
    let variance = sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / 1e5;
    // Four standard errors of the mean; rounding to whole bytes moves it by less.
    assert!((mean - 36.223).abs() < 4.0 * 11.809 / 1e5f64.sqrt(), "mean {mean}");
    assert!((variance.sqrt() / 11.809 - 1.0).abs() < 0.02, "deviation {}", variance.sqrt());
    sizes.sort_by(f64::total_cmp);
    for (p, size) in [(0.01, 18.99), (0.5, 33.85), (0.9, 51.0), (0.99, 76.28), (0.999, 106.1)] {
        let got = sizes[(p * 1e5) as usize];
        assert!((got / size - 1.0).abs() < 0.04, "quantile {p}: {got} for {size}");
    }
}

#[test]
fn what_is_no_key_of_the_space_has_no_id() {
    let space = space(100_000, "fixed:30");
    let good = key(&space, 99_999);
    assert_eq!(space.id_of(&good[..29]), None);
    assert_eq!(space.id_of(b""), None);
    assert_eq!(space.id_of(b"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"), None);
    assert_eq!(space.id_of(b"vvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"), None);
}

#[test]
fn impossible_sizes_are_refused_with_what_is_possible() {
    let refused =
        |count, law: &str| KeySpace::new(count, law.parse().unwrap(), 1).unwrap_err().to_string();
    assert_eq!(
        refused(100_000, "fixed:2"),
        "key size 2 is too small: 100000 keys need at least 4 bytes each to differ; ask for 4 to \
         250 bytes, or for fewer keys"
    );
    assert_eq!(
        refused(10, "uniform:20,251"),
        "key size 251 is too large: memcached takes keys of up to 250 bytes; ask for at most 250"
    );
    assert!(refused(10, "fixed:0").contains("at least 1 bytes"));
    assert!(refused(33, "table:1=1,30=5").contains("at least 2 bytes"));
    for (count, law) in [(32, "fixed:1"), (33, "fixed:2"), (10, "fixed:250"), (10, "etc-value")] {
        assert!(KeySpace::new(count, law.parse().unwrap(), 1).is_ok());
    }
}

fn decimal(count: u64, law: &str) -> KeySpace {
    KeySpace::in_shape(KeyForm::Decimal, count, law.parse().unwrap(), 1).unwrap()
}

#[test]
fn decimal_keys_are_those_of_mutilate() {
    let thirty = decimal(10_000, "fixed:30");
    assert_eq!(key(&thirty, 1234), b"000000000000000000000000001234");
    let draws = [0.659_301, 0.538_287, 0.901_329, 0.780_315, 0.175_245, 0.054_231];
    let lengths = [38, 35, 51, 43, 26, 22];
    let etc = decimal(10_000, "etc-key");
    for (id, (draw, length)) in draws.into_iter().zip(lengths).enumerate() {
        let got = decimal_draw(etc.size.law(), id as u64);
        assert!((got - draw).abs() < 1e-6, "draw {id}: {got}");
        assert_eq!(etc.len(id as u64), length, "length {id}");
    }
    let lengths: Vec<usize> = (0..10_000).map(|id| etc.len(id)).collect();
    assert_eq!(lengths.iter().min().zip(lengths.iter().max()), Some((&14, &130)));
    let mean = lengths.iter().sum::<usize>() as f64 / 1e4;
    assert!((mean - 36.1).abs() < 0.05, "mean {mean}");
}

/// mutilate's draw for key `id`, as in its source: the hash divided by the largest hash.
fn mutilates_draw(id: u64) -> f64 {
    let hash = id.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash as f64 / u64::MAX as f64
}

#[test]
fn uniform_and_normal_decimal_keys_are_as_long_as_mutilates() {
    let longest = |drawn: f64| (drawn.round().max(5.0) as usize).min(KEY_BYTES_MAX);
    for most in [30.0, 100.0, 100.5, 240.0] {
        let keys = decimal(30_000, &format!("uniform-real:0,{most}"));
        for id in 0..30_000 {
            assert_eq!(keys.len(id), longest(most * mutilates_draw(id)), "{most}: {id}");
        }
    }
    for (mean, deviation) in [(30.0, 5.0), (100.0, 40.0)] {
        let keys = decimal(30_000, &format!("mutilate-normal:{mean},{deviation}"));
        for id in 0..30_000 {
            let u = mutilates_draw(id);
            let normal = (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * u).cos();
            assert_eq!(keys.len(id), longest(mean + deviation * normal), "{mean}: {id}");
        }
    }
}

#[test]
fn decimal_keys_differ_and_are_read_back() {
    for law in ["fixed:1", "fixed:300", "uniform:0,20", "etc-key", "pareto:2,3,1", "exponential:9"]
    {
        let space = decimal(20_000, law);
        let mut seen = HashSet::new();
        for id in 0..20_000 {
            let key = key(&space, id);
            assert_eq!(key.len(), space.len(id));
            assert!((5..=KEY_BYTES_MAX).contains(&key.len()));
            assert_eq!(space.id_of(&key), Some(id), "{law}");
            assert!(seen.insert(key), "{law}: key {id} is not the first of its bytes");
        }
    }
    let most = decimal(u64::MAX, "fixed:30");
    assert_eq!(most.id_of(&key(&most, u64::MAX - 1)), Some(u64::MAX - 1));
    for wrong in ["", "7", "00000000000000000000000000123x", "999999999999999999999999999999"] {
        assert_eq!(decimal(10_000, "fixed:30").id_of(wrong.as_bytes()), None, "{wrong}");
    }
}

/// Keys were cut without a word. The shares are closed forms, and those of the keys themselves.
#[test]
fn the_share_of_keys_that_are_cut_is_known() {
    let shares = [
        ("250", 0.0),
        ("fixed:251", 1.0),
        ("uniform:201,300", 0.5),
        ("normal:250.5,30", 0.5),
        ("exponential:50", (-250.5_f64 / 50.0).exp()),
        ("table:16=3,300=1", 0.25),
        ("etc-key", 0.0),
        ("ascending:1", 0.0),
    ];
    for (law, share) in shares {
        let found = share_cut(KeyForm::Hex, &law.parse().unwrap());
        assert!((found - share).abs() < 1e-5, "{law}: {found}");
    }
    let refused = share_cut(KeyForm::Base32, &"fixed:251".parse().unwrap());
    assert_eq!(refused, 0.0, "a run with these keys does not begin");
    let law = "mutilate-normal:240,30";
    let space = decimal(20_000, law);
    let cut = (0..20_000).filter(|&id| space.len(id) == 250).count();
    let expected = share_cut(KeyForm::Decimal, &law.parse().unwrap()) * 20_000.0;
    assert!((cut as f64 / expected - 1.0).abs() < 0.2, "{cut} and {expected}");
}

#[test]
fn forms_are_read_and_written() {
    for word in ["base32", "decimal"] {
        assert_eq!(word.parse::<KeyForm>().unwrap().to_string(), word);
    }
    let refused = "decimla".parse::<KeyForm>().unwrap_err().to_string();
    assert!(refused.contains("the nearest name is 'decimal'"), "{refused}");
}

fn shaped(form: KeyForm, prefix: &str, first: u64, law: &str) -> Result<KeySpace, KeyError> {
    let shape = KeyShape { form, prefix: prefix.to_owned(), first };
    KeySpace::in_shape(shape, 1000, law.parse().unwrap(), 1)
}

#[test]
fn keys_can_have_a_prefix_and_a_first_number() {
    let keys = |form, prefix, first, law| {
        let space = shaped(form, prefix, first, law).unwrap();
        [0, 9, 999].map(|id| String::from_utf8(key(&space, id)).unwrap())
    };
    let hex = keys(KeyForm::Hex, "mcp:", 1, "fixed:12");
    assert_eq!(hex, ["mcp:00000001", "mcp:0000000a", "mcp:000003e8"]);
    assert_eq!(keys(KeyForm::Hex, "", 0, "fixed:1"), ["000", "009", "3e7"]);
    assert_eq!(keys(KeyForm::Decimal, "user:", 5, "fixed:0")[2], "user:1004");
    assert_eq!(keys(KeyForm::Base32, "k", 32, "fixed:4"), ["k010", "k019", "k107"]);
}

#[test]
fn shaped_keys_differ_and_are_read_back() {
    for form in [KeyForm::Base32, KeyForm::Decimal, KeyForm::Hex] {
        for (prefix, first, law) in
            [("", 7, "fixed:30"), ("mcp:", 1, "fixed:12"), ("p", 1 << 40, "uniform:20,40")]
        {
            let space = shaped(form, prefix, first, law).unwrap();
            for id in 0..1000 {
                let key = key(&space, id);
                assert_eq!(key.len(), space.len(id), "{form} {prefix} {law}");
                assert_eq!(space.id_of(&key), Some(id), "{form} {prefix} {law}");
            }
            for stranger in ["", "mcp", "mcp:", "x00000001", "mcp:0000000g", "mcp:00000000"] {
                assert_eq!(space.id_of(stranger.as_bytes()), None, "{stranger}");
            }
        }
    }
}

#[test]
fn a_prefix_counts_as_a_part_of_the_key() {
    let refused = |form, prefix: &str, law| shaped(form, prefix, 0, law).unwrap_err();
    let small = KeyError::TooSmall { asked: 5, needed: 6, keys: 1000 };
    assert_eq!(refused(KeyForm::Base32, "mcp:", "fixed:5"), small);
    let long = "p".repeat(249);
    assert_eq!(refused(KeyForm::Hex, &long, "fixed:1"), KeyError::TooLarge { asked: 252 });
    assert_eq!(refused(KeyForm::Hex, "", "ascending:5"), KeyError::Ascending);
}

#[test]
fn keys_of_eight_bytes_fit_into_lines_and_are_read_back() {
    let shape = || KeyShape { form: KeyForm::Bytes, prefix: "p:".to_owned(), first: 3 };
    let space = |count, law: &str| KeySpace::in_shape(shape(), count, law.parse().unwrap(), 1);
    let first = key(&space(100, "fixed:18").unwrap(), 0);
    assert_eq!(first[..10], *b"p:\x13\x10\x10\x10\x10\x10\x10\x10");
    let all = eight::END - 3;
    let whole = space(all, "uniform:10,64").unwrap();
    let mut seen = HashSet::new();
    for id in (0..20_000).chain([1 << 20, all / 3, all - 1]) {
        let key = key(&whole, id);
        assert_eq!((whole.id_of(&key), key.len()), (Some(id), whole.len(id)));
        assert!(!key.iter().any(|byte| matches!(byte, 0 | b' ' | b'\r' | b'\n')), "{key:?}");
        assert!(seen.insert(key));
    }
    assert_eq!(whole.id_of(b"p:\x0f\x10\x10\x10\x10\x10\x10\x10aa"), None);
    let few = KeyError::TooSmall { asked: 9, needed: 10, keys: 5 };
    assert_eq!(space(5, "fixed:9").unwrap_err(), few);
    assert!(space(all + 1, "fixed:10").unwrap_err().to_string().contains("bytes"));
}

#[test]
fn every_error_says_what_to_ask_for() {
    let errors = [
        KeyError::TooSmall { asked: 9, needed: 10, keys: 5 },
        KeyError::TooLarge { asked: 251 },
        KeyError::TooMany { keys: 1 << 60 },
        KeyError::Ascending,
    ];
    errors.iter().for_each(|error| assert!(error.to_string().contains("; ask for"), "{error}"));
}
