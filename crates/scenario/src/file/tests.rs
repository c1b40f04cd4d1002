//! Files that are read, files that are refused, and random bytes that must not panic.

use super::*;
use crate::page::EXAMPLE;
use crate::scenario::{Scenario, Settings};
use crate::table;
use memtide_base::Random;

fn read(text: &str) -> Result<Scenario, String> {
    let mut settings = Settings::default();
    let layer = from_toml(text, "s.toml").map_err(|e| e.to_string())?;
    settings.apply(&layer).map_err(|e| e.to_string())?;
    Ok(settings.scenario)
}

#[test]
fn values_may_stand_as_toml_has_them() {
    let text = "rate = 20_000\nserver = [\"a\", \"b:1\"]\nkey_size = 40\nstrict = true\n\
                popularity = \"zipf:0.99\"\nexpiry = -1\nseed = 0xff\nmultiget = 1_0\n";
    let scenario = read(text).unwrap();
    assert_eq!(scenario.rate, Some(20_000.0));
    assert_eq!(scenario.servers.len(), 2);
    assert_eq!(scenario.key_size.to_string(), "fixed:40");
    assert_eq!((scenario.expiry, scenario.seed, scenario.multiget), (-1, 255, 10));
    assert_eq!(scenario.trust.strict, Some(crate::STRICT));
    assert_eq!(read("rate = 1.5e4").unwrap().rate, Some(15_000.0));
    assert_eq!(read("").unwrap(), Scenario::default());
    assert_eq!(read("server = []").unwrap(), Scenario::default());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, sentence) in table::rows(include_str!("../scenario/tests/words.txt"), "files") {
        assert_eq!(read(&text).unwrap_err(), sentence[0]);
    }
}

#[test]
fn text_that_is_not_toml_is_named_with_its_line() {
    for (text, line) in [("rate = 1\nrate 2\n", 2), ("x", 1), ("a = \"\n\n", 1)] {
        let error = read(text).unwrap_err();
        let start = format!("s.toml line {line}: this is not TOML: ");
        assert!(error.starts_with(&start), "{error}");
        assert!(!error.contains('\n'));
    }
    assert!(read("keys = 1\nkeys = 2").unwrap_err().contains("line 2"));
}

#[test]
fn noise_gives_an_error_and_never_a_panic() {
    let seed = 3;
    let mut random = Random::new(seed);
    let pool = b"\"'[]{}=,.#\n\r\t\\ 019eE+-_xnai:%<>@\xc3\xa9\xff\0";
    for _ in 0..5_000 {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            let byte = pool[random.below(pool.len() as u64) as usize];
            match random.below(3) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = read(&text) {
            assert!(error.contains("s.toml line "), "{error}, seed {seed}");
        }
    }
}
