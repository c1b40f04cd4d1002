//! The choice of the peer that goes.

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_oldest_of_the_address_with_most_goes() {
    let mut waiting = Waiting::new();
    assert_eq!(waiting.add(0, address("10.0.0.1"), 0), None);
    assert_eq!(waiting.add(1, address("10.0.0.2"), 1), None);
    for number in 2..UNPROVEN_MAX as u64 {
        assert_eq!(waiting.add(number, address("10.0.0.9"), number), None);
    }
    assert_eq!(waiting.add(100, address("10.0.0.9"), 100), Some(2));
    assert_eq!(waiting.add(101, address("10.0.0.3"), 101), Some(3));
    waiting.remove(0);
    assert_eq!(waiting.add(102, address("10.0.0.9"), 102), None);
    assert_eq!(waiting.peers.len(), UNPROVEN_MAX);
}

#[test]
fn an_ipv6_network_is_one_address() {
    assert_eq!(network(address("2001:db8::1")), network(address("2001:db8::2:3")));
    assert_ne!(network(address("2001:db8::1")), network(address("2001:db8:0:1::1")));
    assert_eq!(network(address("::ffff:10.0.0.1")), address("10.0.0.1"));
}
