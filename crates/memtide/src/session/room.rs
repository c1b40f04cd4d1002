//! Checks before a run whether what it will keep in this process fits into the available memory,
//! rather than let the machine hang. It estimates; it limits nothing.

use crate::exit::Stop;
use memtide_base::units::{format_bytes, format_count};
use memtide_base::{Law, Span};
use memtide_host::memory::{self, Available};
use memtide_run::decided;
use memtide_schema::Scenario;
use memtide_schema::scenario::Load;
use memtide_workload::{OpKind, SizeLaw, WindowLaw};

/// Upper bound of an item's overhead in the embedded server, besides its key and value.
const ITEM_OVERHEAD_BYTES: u64 = 128;
/// Upper bound of a connection's memory in its process, besides its operations in flight.
const CONNECTION_BYTES: u64 = 4096;
/// Memory of an operation in flight.
const OPERATION_BYTES: u64 = 48;
/// Memory of a window's slot.
const PLACE_BYTES: u64 = 4;
/// Memory of a key of a server under verification.
const VERIFIED_KEY_BYTES: u64 = 8;
/// Additional memory of a key whose expiry is verified.
const LIFETIME_BYTES: u64 = 16;
/// Longest key.
const KEY_BYTES_MAX: u64 = 250;
/// Largest rate of a closed loop, in operations per second.
const RATE_MAX: f64 = 10e6;

/// Mean size of an item in the embedded server, in bytes.
pub(crate) fn item_bytes(scenario: &Scenario) -> u64 {
    let mean = |law: &SizeLaw, most: u64| {
        law.law().mean().map_or(most, |mean| (mean.ceil().max(1.0) as u64).min(most))
    };
    mean(&scenario.key_size, KEY_BYTES_MAX)
        .saturating_add(mean(&scenario.value_size, scenario.value_max))
        .saturating_add(ITEM_OVERHEAD_BYTES)
}

/// Refuses a scenario that needs more memory than is available: for its data, kept by `copies`
/// servers in this process, and for the client's own needs: values to send, connections, windows,
/// and the state of verification.
pub(crate) fn check(scenario: &Scenario, copies: u64) -> Result<(), Stop> {
    let Some(available) = memory::available() else { return Ok(()) };
    check_against(scenario, copies, available).map_or(Ok(()), Err)
}

/// Estimated memory of a run whose servers are elsewhere, in bytes.
#[cfg(feature = "cluster")]
pub(crate) fn needed_bytes(scenario: &Scenario) -> u64 {
    needs(scenario, 0).iter().fold(0, |sum: u64, need| sum.saturating_add(need.bytes))
}

/// The error of a run that needs more memory than is available.
///
/// Cause: The data, values, connections or windows of the scenario need more memory than there is.
fn check_against(scenario: &Scenario, copies: u64, available: Available) -> Option<Stop> {
    let mut needs = needs(scenario, copies);
    let needed = needs.iter().fold(0_u64, |sum, need| sum.saturating_add(need.bytes));
    if needed <= available.bytes {
        return None;
    }
    needs.sort_by_key(|need| std::cmp::Reverse(need.bytes));
    // Small needs are not mentioned.
    needs.retain(|need| need.bytes >= needed / 8);
    let parts: Vec<String> = match &needs[..] {
        [only] => vec![only.what.clone()],
        parts => parts.iter().map(|of| format!("{} {}", format_bytes(of.bytes), of.what)).collect(),
    };
    let advice: Vec<&str> = needs.iter().map(|need| need.advice).collect();
    Some(Stop::usage(format!(
        "the run would need about {} of memory: {}; {} are {}: use {}",
        format_bytes(needed),
        parts.join(", "),
        format_bytes(available.bytes),
        available.by,
        advice.join(", ")
    )))
}

/// Something that this process keeps in memory.
struct Need {
    bytes: u64,
    /// Purpose.
    what: String,
    /// What to change to need less.
    advice: &'static str,
}

/// Everything that a run keeps in this process, including `copies` servers.
fn needs(scenario: &Scenario, copies: u64) -> Vec<Need> {
    let servers = scenario.servers.len().max(1) as u32;
    let scenario = &decided(scenario, servers);
    let longest = match scenario.value_size.law() {
        Law::Fixed(bytes) => (*bytes as u64).min(scenario.value_max),
        _ => scenario.value_max,
    };
    let connections = connections(scenario, servers);
    let depth = u64::from(scenario.depth.unwrap_or(1));
    // A simulated or embedded server has its own end of each connection.
    let ends = 1 + u64::from(copies > 0);
    let clients = u64::from(scenario.client.clients.unwrap_or(1));
    let windows = places(scenario);
    let verified = match windows {
        _ if scenario.verify == 0.0 && !scenario.verify_expiry => 0,
        Some(places) => places,
        None => scenario.verify_keys.min(scenario.keys),
    };
    let lifetimes = if scenario.verify_expiry { verified * LIFETIME_BYTES } else { 0 };
    let oracles = verified.saturating_mul(VERIFIED_KEY_BYTES).saturating_mul(servers.into());
    let need = |bytes: u64, what: String, advice| Need { bytes, what, advice };
    vec![
        need(
            data_bytes(scenario).saturating_mul(copies),
            format!(
                "for {} items with values {}, which are kept in this process",
                format_count(items(scenario) as f64),
                scenario.value_size
            ),
            "fewer --keys, a smaller --value-size or --value-max, or a --server of its own",
        ),
        need(
            // Values are cut from a pool of twice the longest.
            longest.saturating_mul(2),
            format!("to make values of up to {}", format_bytes(longest)),
            "a smaller --value-size or --value-max",
        ),
        need(
            connections
                .saturating_mul(CONNECTION_BYTES * ends)
                .saturating_add(connections.saturating_mul(depth * OPERATION_BYTES)),
            format!("for {connections} connections with a depth of {depth}"),
            "fewer --connections or a smaller --depth",
        ),
        need(
            windows.unwrap_or(0).saturating_mul(PLACE_BYTES),
            format!("for the windows of {clients} clients"),
            "fewer --clients or a smaller --window",
        ),
        need(
            oracles.saturating_add(lifetimes),
            format!("to verify {} keys", format_count(verified as f64)),
            "a smaller --verify-keys or --window, or no --verify",
        ),
    ]
}

/// Number of connections to all servers.
fn connections(decided: &Scenario, servers: u32) -> u64 {
    match decided.client.clients {
        Some(clients) => u64::from(clients).saturating_mul(decided.connections_of_client(servers)),
        None => u64::from(decided.connections.unwrap_or(1)).saturating_mul(servers.into()),
    }
}

/// Number of objects in all windows; none without windows.
fn places(decided: &Scenario) -> Option<u64> {
    let WindowLaw::Objects(objects) = decided.client.window? else { return None };
    Some(u64::from(objects).saturating_mul(decided.client.clients.unwrap_or(1).into()))
}

fn data_bytes(scenario: &Scenario) -> u64 {
    items(scenario).saturating_mul(item_bytes(scenario))
}

/// Largest number of items that the servers will hold: all keys if they are filled, else the number
/// of operations.
fn items(scenario: &Scenario) -> u64 {
    let all = places(scenario).unwrap_or(scenario.keys);
    let reads = scenario.mix.kinds().any(|kind| !kind.stores_value());
    let stores = scenario.mix.kinds().any(OpKind::stores_value);
    let fills = match scenario.load {
        Load::Always => true,
        Load::Never => false,
        Load::Auto => reads,
    };
    match (fills, stores) {
        (true, _) => all,
        (false, true) => all.min(operations(scenario)),
        (false, false) => 0,
    }
}

/// Largest number of operations that the scenario can make.
fn operations(scenario: &Scenario) -> u64 {
    let length = (scenario.warmup + scenario.duration.unwrap_or(Span::ZERO)).as_s_f64();
    let rate = scenario.rate.filter(|&rate| rate > 0.0).unwrap_or(RATE_MAX);
    let by_time = (rate * length) as u64;
    let connections = scenario.churn.connections_total;
    let by_calls =
        connections.zip(scenario.churn.calls).map(|(of, calls)| of.saturating_mul(calls));
    let counted = scenario.ops_max.or(by_calls);
    match (counted, scenario.duration) {
        (Some(count), None) => count,
        (Some(count), Some(_)) => count.min(by_time),
        (None, _) => by_time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_schema::Settings;

    fn scenario(toml: &str) -> Scenario {
        let layer = memtide_schema::from_toml(toml, "a test").expect("it is a scenario");
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
        let large = "value-size = '1MiB'\n";
        let message = refused(large, 1, 8 << 30).expect("100 000 MiB do not fit in 8 GiB");
        for word in ["104.9 GB", "8590 MB", "--keys", "--value-size", "--server"] {
            assert!(message.contains(word), "no '{word}' in {message}");
        }
        assert_eq!(refused(large, 0, 8 << 30), None, "a server elsewhere keeps it");
        assert_eq!(refused("value-size = '1MiB'\nkeys = 1000\n", 1, 8 << 30), None);
        assert_eq!(refused("", 1, 64 << 20), None);
        assert!(refused("", 4, 64 << 20).is_some(), "each simulated server keeps all keys");
    }

    #[test]
    fn what_is_never_stored_takes_no_memory() {
        let few = "value-size = '1MiB'\nkeys = '1M'\nops-max = 100\n";
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
        for word in ["1200 MB", "to verify 100M keys", "--clients", "--verify-keys"] {
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
        for word in ["4014 MB", "20000 connections with a depth of 4096", "--depth"] {
            assert!(message.contains(word), "no '{word}' in {message}");
        }
        assert_eq!(refused("connections = 20000\nkeys = 10\n", 0, 1 << 30), None);
        let both = scenario("connections = 20000\nkeys = 10\nrate = 1\n");
        let bytes = |copies: u64| needs(&both, copies)[2].bytes;
        assert_eq!(bytes(1) - bytes(0), 20_000 * CONNECTION_BYTES, "the server has its end");
        let servers = "server = ['a:1', 'b:1']\nverify = 1\nverify-keys = '100M'\nkeys = '1G'\n";
        let message = refused(servers, 0, 1 << 30).expect("100M keys of 8 bytes on two servers");
        assert!(message.contains("1601 MB of memory: to verify 100M keys;"), "{message}");
    }
}
