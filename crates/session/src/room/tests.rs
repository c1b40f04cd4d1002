//! Scenarios that need too much memory, and those that do not.

use super::*;
use memtide_scenario::Settings;

fn scenario(toml: &str) -> Scenario {
    let layer = memtide_scenario::from_toml(toml, "a test").expect("it is a scenario");
    let mut settings = Settings::default();
    settings.apply(&layer).expect("its words are allowed");
    settings.scenario
}

fn refused(toml: &str, copies: u64, bytes: u64) -> Option<String> {
    let scenario = scenario(toml);
    let available = Available { bytes, by: "free on this machine" };
    check_against(&scenario, copies, available).map(|stop| {
        assert_eq!(stop.code, crate::exit::USAGE);
        stop.message
    })
}

#[test]
fn a_data_set_beyond_the_available_memory_is_refused_with_both_figures() {
    let large = "value-size = 1047552\n";
    let message = refused(large, 1, 8 << 30).expect("100 000 MiB do not fit in 8 GiB");
    for word in ["104.8 GB", "8590 MB", "--keys", "--value-size", "--server"] {
        assert!(message.contains(word), "no '{word}' in {message}");
    }
    assert_eq!(refused(large, 0, 8 << 30), None, "a server elsewhere keeps it");
    assert_eq!(refused("value-size = 1047552\nkeys = 1000\n", 1, 8 << 30), None);
    assert_eq!(refused("", 1, 64 << 20), None);
    assert!(refused("", 4, 64 << 20).is_some(), "each simulated server keeps all keys");
}

#[test]
fn what_is_never_stored_takes_no_memory() {
    let few = "value-size = 1047552\nkeys = '1M'\nops-max = 100\n";
    assert!(refused(few, 1, 8 << 30).is_some(), "it is filled first");
    assert_eq!(refused(&format!("{few}mix = 'set=1'\n"), 1, 8 << 30), None);
    assert_eq!(refused(&format!("{few}load = 'never'\n"), 1, 8 << 30), None);
}

#[test]
fn windows_and_the_pool_of_values_count_as_well() {
    let windows = "clients = 100\nwindow = '10k'\nvalue-size = '10k'\nkeys = 1\n";
    assert!(refused(windows, 1, 4 << 30).is_some());
    let verified = "clients = 100\nwindow = '1M'\nkeys = 1\nverify = 1\n";
    let message = refused(verified, 0, 1 << 30).expect("100M places of 12 bytes");
    for word in ["120", "to verify 100M keys", "--clients", "--verify-keys"] {
        assert!(message.contains(word), "no '{word}' in {message}");
    }
    assert!(!message.contains("--server"), "{message}");
    let pool = "value-size = 'uniform:1,1000000000'\nvalue-max = '1G'\nkeys = 1\n";
    assert!(refused(pool, 0, 1 << 30).is_some());
}

#[test]
fn connections_and_their_depth_count_wherever_the_servers_are() {
    let deep = "connections = 20000\ndepth = 4096\nkeys = 10\n";
    let message = refused(deep, 0, 2 << 30).expect("82M operations of 48 bytes");
    for word in ["395", "20000 connections with a depth of 4096", "--depth"] {
        assert!(message.contains(word), "no '{word}' in {message}");
    }
    assert_eq!(refused("connections = 20000\nkeys = 10\n", 0, 1 << 30), None);
    let both = scenario("connections = 20000\nkeys = 10\nrate = 1\n");
    let bytes = |copies: u64| needs(&both, copies)[2].bytes;
    assert_eq!(bytes(1) - bytes(0), 20_000 * CONNECTION_BYTES, "the server has its end");
    let servers = "server = ['a:1', 'b:1']\nverify = 1\nverify-keys = '100M'\nkeys = '1G'\n";
    let message = refused(servers, 0, 1 << 30).expect("100M keys of 8 bytes on two servers");
    assert!(message.contains(" of memory: to verify 100M keys;"), "{message}");
}
