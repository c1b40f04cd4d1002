//! The digest is that of the load, and of nothing else.

use super::*;
use crate::scenario::Secret;

#[test]
fn the_digest_is_of_the_load_alone() {
    let plain = Scenario { rate: Some(1e4), ..Scenario::default() };
    let digest = scenario_digest(&plain);
    assert_eq!(digest, "3ab6ac50aae41b1417629393ac56f1b4e2466630bb1fa525637a5fa5363983de");
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
