//! Whether what a run will keep in this process fits in the memory that is available: better said
//! before than by a machine that hangs. It estimates; it limits nothing.

use crate::exit::Stop;
use memtide_base::units::{format_bytes, format_count};
use memtide_base::{Law, Span};
use memtide_host::memory::{self, Available};
use memtide_schema::Scenario;
use memtide_schema::scenario::Load;
use memtide_workload::{OpKind, SizeLaw, WindowLaw};

/// The embedded server keeps each item in less than this beside its key and value.
const ITEM_OVERHEAD_BYTES: u64 = 128;
/// The longest key.
const KEY_BYTES_MAX: u64 = 250;
/// Operations per second of a closed loop, at most.
const RATE_MAX: f64 = 10e6;
const DURATION: Span = Span::from_s(10);

/// Bytes of an item in the embedded server, in the mean.
pub(in crate::cmd) fn item_bytes(scenario: &Scenario) -> u64 {
    let mean = |law: &SizeLaw, most: u64| {
        law.law().mean().map_or(most, |mean| (mean.ceil().max(1.0) as u64).min(most))
    };
    mean(&scenario.key_size, KEY_BYTES_MAX)
        .saturating_add(mean(&scenario.value_size, scenario.value_max))
        .saturating_add(ITEM_OVERHEAD_BYTES)
}

/// Refuses a scenario whose data set, which `copies` servers in this process keep, or whose pool
/// of values needs more memory than is available.
pub(in crate::cmd) fn check(scenario: &Scenario, copies: u64) -> Result<(), Stop> {
    let Some(available) = memory::available() else { return Ok(()) };
    check_against(scenario, copies, available).map_or(Ok(()), Err)
}

fn check_against(scenario: &Scenario, copies: u64, available: Available) -> Option<Stop> {
    let data = data_bytes(scenario).saturating_mul(copies);
    // Values are cut from a pool of twice the longest.
    let longest = match scenario.value_size.law() {
        Law::Fixed(bytes) => (*bytes as u64).min(scenario.value_max),
        _ => scenario.value_max,
    };
    let needed = data.saturating_add(longest.saturating_mul(2));
    if needed <= available.bytes {
        return None;
    }
    let keeps = match copies {
        0 => String::new(),
        _ => format!(
            " for {} items with values {}, which are kept in this process",
            format_count(items(scenario) as f64),
            scenario.value_size
        ),
    };
    let elsewhere = if copies > 0 { ", or name a --server of its own" } else { "" };
    Some(Stop::usage(format!(
        "the run would need about {} of memory{keeps}, and {} are {}: use fewer --keys, a smaller \
         --value-size or --value-max{elsewhere}",
        format_bytes(needed),
        format_bytes(available.bytes),
        available.by
    )))
}

fn data_bytes(scenario: &Scenario) -> u64 {
    items(scenario).saturating_mul(item_bytes(scenario))
}

/// Items that the servers will hold at most: all keys where they are filled with them, else as
/// many as there are operations.
fn items(scenario: &Scenario) -> u64 {
    let clients = u64::from(scenario.crowd.clients.unwrap_or(1));
    let all = match scenario.crowd.window {
        Some(WindowLaw::Objects(objects)) => u64::from(objects).saturating_mul(clients),
        Some(WindowLaw::Cache { bytes, .. }) => bytes / item_bytes(scenario),
        None => scenario.keys,
    };
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

/// Operations that the scenario can make, at most.
fn operations(scenario: &Scenario) -> u64 {
    let length = scenario.warmup.as_s_f64() + scenario.duration.unwrap_or(DURATION).as_s_f64();
    let rate = scenario.rate.filter(|&rate| rate > 0.0).unwrap_or(RATE_MAX);
    let by_time = (rate * length) as u64;
    let connections = scenario.lives.connections_total;
    let by_calls =
        connections.zip(scenario.lives.calls).map(|(of, calls)| of.saturating_mul(calls));
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

    fn refused(toml: &str, copies: u64, bytes: u64) -> Option<String> {
        let layer = memtide_schema::from_toml(toml, "a test").expect("it is a scenario");
        let mut settings = Settings::default();
        settings.apply(&layer).expect("its words are allowed");
        let available = Available { bytes, by: "free on this machine" };
        check_against(&settings.scenario, copies, available).map(|stop| {
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
        let pool = "value-size = 'uniform:1,1000000000'\nvalue-max = '1G'\nkeys = 1\n";
        assert!(refused(pool, 0, 1 << 30).is_some());
    }
}
