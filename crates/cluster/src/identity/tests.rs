//! Keys that are valid, and keys that are not.

use super::*;
use ring::rand::SystemRandom;

fn made() -> Identity {
    Identity::make("memtide master", &SystemRandom::new()).unwrap()
}

fn refused(text: &str) -> String {
    Identity::parse(text).unwrap_err()
}

#[test]
fn an_identity_is_read_back_from_its_text() {
    let identity = made();
    let again = Identity::parse(identity.text()).unwrap();
    assert_eq!(again.fingerprint(), identity.fingerprint());
    assert_eq!(again.text(), identity.text());
    assert_ne!(made().fingerprint(), identity.fingerprint());
}

#[test]
fn what_is_wrong_with_a_key_file_is_said() {
    let made_one = made();
    let text = made_one.text();
    let (key, certificate) = text.split_once("-----BEGIN CERT").unwrap();
    let certificate = format!("-----BEGIN CERT{certificate}");
    assert!(refused("").contains("no complete PEM certificate"));
    assert!(refused(key).contains("no complete PEM certificate"));
    assert!(refused(&certificate).contains("no complete PEM private key"));
    assert!(refused(&text[..text.len() - 40]).contains("no complete PEM certificate"));
    let other = made();
    let (other, _) = other.text().split_once("-----BEGIN CERT").unwrap();
    assert!(refused(&format!("{other}{certificate}")).contains("belongs to another key"));
    let damaged = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert!(refused(&format!("{damaged}{certificate}")).contains("private key is damaged"));
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(refused(&format!("{key}{damaged}")).contains("certificate is damaged"));
}

#[test]
fn neither_debug_nor_errors_show_the_key() {
    let identity = made();
    assert!(format!("{identity:?}").starts_with("Identity(sha256:"));
    let text = identity.text();
    let secret = text.lines().nth(1).unwrap();
    for cut in 0..text.len() {
        if let Err(error) = Identity::parse(&text[..cut]) {
            assert!(!error.contains(&secret[..16]), "{error}");
        }
    }
}
