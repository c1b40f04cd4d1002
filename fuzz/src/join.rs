//! Properties of a join file: any bytes are parsed or refused without a panic, a parsed file is
//! parsed again from its own text, and no error and no debugging text shows the token.

use memtide_base::Random;
use memtide_cluster::join::Join;
use memtide_cluster::law::Law;

/// The token that the dictionary's files contain, in hexadecimal digits.
const TOKEN: &str = "c0ffee0123456789deadbeef76543210";
/// The length from which a run of the token's digits is never shown; shorter runs may be quoted.
const SHOWN_MIN: usize = 13;

/// Checks a join file. Bytes that are not UTF-8 are replaced first.
pub fn join_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let join = match Join::parse(&text) {
        Ok(join) => join,
        Err(error) => {
            assert!(!error.is_empty(), "an error says nothing");
            assert!(!error.contains('\n'), "an error takes more than one line: {error}");
            return hides_token(&error);
        }
    };
    hides_token(&format!("{join:?}"));
    let again = Join::parse(&join.text()).unwrap_or_else(|why| panic!("its own text: {why}"));
    assert_eq!(again, join, "its own text means something else");
    assert_eq!(again.text(), join.text(), "its text changes when it is written anew");
    assert!(join.token.matches(again.token.bytes()), "a token is not its own");
    let mut random = Random::new(data.len() as u64);
    let other: Vec<u8> = (0..16).map(|_| random.bits() as u8).collect();
    assert!(!join.token.matches(&other) && !join.token.matches(&[]), "any token is accepted");
    if let Err(error) = Law::parse(&join.limits) {
        assert!(error.contains("-target: ") || error.contains("-max: "), "{error}");
    }
}

/// Asserts that a text shows no long part of the token, in lower or upper case.
fn hides_token(text: &str) {
    let text = text.to_ascii_lowercase();
    let shown =
        (0..=TOKEN.len() - SHOWN_MIN).find(|&from| text.contains(&TOKEN[from..from + SHOWN_MIN]));
    assert_eq!(shown, None, "a part of the token is shown: {text}");
}
