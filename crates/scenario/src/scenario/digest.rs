//! Digest of a scenario: equal for all shares of one run.

use super::Scenario;
use memtide_base::hex::to_hex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// Fields that are not hashed: the password, and each machine's own decisions. The number of
/// threads shows in a share's lanes.
pub const NOT_HASHED: [&str; 6] = ["password", "bind", "threads", "pin", "wait", "io"];

/// SHA-256 of a decided scenario's words, in hexadecimal: scenarios with equal digests make the
/// same load. Words are sorted by field and hashed as JSON. The password and each machine's own
/// decisions (`bind`, `threads`, `pin`, `wait` and `io`) are not hashed.
pub fn scenario_digest(scenario: &Scenario) -> String {
    let mut words: BTreeMap<String, Value> = scenario.words().into_iter().collect();
    words.retain(|field, _| !NOT_HASHED.contains(&field.as_str()));
    let text = serde_json::to_string(&words).expect("words are names and texts");
    to_hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Secret;

    #[test]
    fn the_digest_is_of_the_load_alone() {
        let plain = Scenario { rate: Some(1e4), ..Scenario::default() };
        let digest = scenario_digest(&plain);
        assert_eq!(digest, "790b6d0af01a5f402e7730104eb2238cffdc458313cfd6c581c8dda9853cb1a6");
        let local = Scenario {
            password: Some(Secret::new("tan staaf")),
            threads: Some(7),
            bind: vec!["127.0.0.1".parse().expect("an address")],
            ..plain.clone()
        };
        assert_eq!(scenario_digest(&local), digest);
        let faster = Scenario { rate: Some(2e4), ..plain.clone() };
        assert_ne!(scenario_digest(&faster), digest);
        let reseeded = Scenario { seed: plain.seed + 1, ..plain };
        assert_ne!(scenario_digest(&reseeded), digest);
    }

    #[test]
    fn what_is_left_out_are_fields() {
        for name in NOT_HASHED {
            assert!(crate::FIELDS.iter().any(|field| field.name == name), "{name}");
        }
    }
}
