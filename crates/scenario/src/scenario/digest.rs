//! Digest of a scenario: equal for all shares of one run.

use super::Scenario;
use memtide_base::hex::to_hex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// Fields that are not hashed: the password, and each machine's own decisions. The number of
/// threads shows in a share's lanes.
pub const NOT_HASHED: [&str; 9] =
    ["password", "tls-ca", "tls-cert", "tls-key", "bind", "threads", "pin", "wait", "io"];

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
mod tests;
