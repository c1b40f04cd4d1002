//! Queries and replies by their bytes.

use super::*;

fn query(name: &str, kind: u8) -> Vec<u8> {
    let mut query = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.extend([0, 0, kind, 0, 1]);
    query
}

#[test]
fn the_name_server_knows_the_addresses_of_the_names_it_was_told() {
    let lookup = |name: &str| {
        let addresses = vec![Ipv4Addr::LOCALHOST, Ipv4Addr::new(10, 0, 0, 9)];
        (name == "cache.test").then_some(addresses)
    };
    let known = reply(&query("Cache.test", 1), lookup).unwrap();
    assert_eq!((&known[..2], known[3], known[7]), (&[7, 9][..], 0x80, 2));
    assert!(known.ends_with(&[0, 4, 10, 0, 0, 9]));
    assert_eq!(known.len(), query("cache.test", 1).len() + 2 * 16);
    let sixth = reply(&query("cache.test", 28), lookup).unwrap();
    assert_eq!((sixth[3], sixth[7]), (0x80, 0));
    let other = reply(&query("other.test", 1), lookup).unwrap();
    assert_eq!((other[3], other[7]), (0x83, 0));
    let whole = query("cache.test", 1);
    for length in 0..whole.len() {
        assert_eq!(reply(&whole[..length], lookup), None, "the first {length} bytes");
    }
}
