//! Properties of the words of an agent's limits: any words are parsed or refused without a panic,
//! an address has one meaning, and two sets of limits together allow what both allow.

use memtide_cluster::law::{LIMITS, Law, LawWords};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Lines of `NAME = WORD`, as in the limits of a join file. Bytes that are not UTF-8 are replaced
/// first.
pub fn law_words(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some(law) = read(&text) else { return };
    let both = law.clone().narrowed(&Law::loopback());
    let itself = law.clone().narrowed(&law);
    for address in addresses(data) {
        let allowed = law.is_allowed(address);
        assert_eq!(itself.is_allowed(address), allowed, "a law narrows itself: {address}");
        let canonical = SocketAddr::new(address.ip().to_canonical(), address.port());
        assert_eq!(law.is_allowed(canonical), allowed, "{address} has two meanings");
        let expected = Law::loopback().is_allowed(address) && (allowed || is_silent(&law));
        assert_eq!(both.is_allowed(address), expected, "not both allow {address}");
    }
    assert_eq!(itself.is_allowed_unix("/run/m.sock"), law.is_allowed_unix("/run/m.sock"));
    assert!(!both.is_allowed_unix("/run/m.sock"), "loopback is no unix socket");
}

/// True if the words name no target.
fn is_silent(law: &Law) -> bool {
    law.clone().complete().is_err()
}

fn read(text: &str) -> Option<Law> {
    let mut words = LawWords::default();
    for line in text.lines() {
        let (name, word) = line.split_once(" = ")?;
        let word = word.to_owned();
        match name {
            "allow-target" => words.allow_target.push(word),
            _ => {
                let limit = LIMITS.iter().find(|limit| limit.name == name)?;
                words.most.insert(limit.name, word);
            }
        }
    }
    let said = |why: String| {
        assert!(why.contains("-target: ") || why.contains("-max: "), "no limit is named: {why}");
    };
    Law::parse(&words).map_err(said).ok()
}

/// Addresses close to those of the dictionary, and some that depend on the input.
fn addresses(data: &[u8]) -> impl Iterator<Item = SocketAddr> {
    let sum = data.iter().fold(0_u32, |sum, &byte| sum.wrapping_mul(31) + u32::from(byte));
    let plain = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(10, 1, 2, 3), Ipv4Addr::from(sum)];
    let mapped = plain.map(|address| IpAddr::V6(address.to_ipv6_mapped()));
    let others = [Ipv6Addr::LOCALHOST, "fd00::7".parse().expect("an address")];
    let all = plain.map(IpAddr::V4).into_iter().chain(mapped).chain(others.map(IpAddr::V6));
    all.flat_map(|address| [11211, 22].map(|port| SocketAddr::new(address, port)))
}
