//! From a decided command line to a scenario: each of its values under the name that memtide has
//! for it. Decides nothing that the command line has not decided.

mod sizes;

use super::options::{Length, Options, Transport};
use super::parsed::USAGE;
use crate::Stop;
use crate::said::{Said, nanoseconds};
use memtide_base::Span;
use memtide_scenario::Settings;

/// The timeout over TCP; memaslap waits for ever.
const TIMEOUT: Span = Span::from_s(60);
/// memaslap's timeout over UDP.
const TIMEOUT_UDP: Span = Span::from_s(30);
/// The share of sets below which memaslap makes none and fills the servers first.
const SETS_LEAST: f64 = 0.001;
/// The lifetime of objects that are to expire, in seconds.
const EXPIRY_S: u32 = 60;
/// A rate is a limit: operations that are later than this are not made up for, nor are late ones at
/// the end.
const BEHIND: Span = Span::from_s(1);
const BEHIND_AT_END: Span = Span::from_ms(1);

/// The scenario of `options`.
///
/// # Errors
/// If no machine could carry it out; the sentence names the field of the scenario.
pub fn lower(options: &Options) -> Result<Settings, Stop> {
    let mut said = Said::new();
    target(&mut said, options);
    data(&mut said, options);
    operations(&mut said, options);
    pace(&mut said, options);
    said.settings().map_err(|wrong| Stop::complaint(wrong.in_words(OPTIONS), USAGE))
}

/// memaslap's options for the fields of a scenario; lengths are in its file.
const OPTIONS: &[(&str, &str)] = &[
    ("server", "--servers"),
    ("clients", "--concurrency"),
    ("connections-per-client", "--conn_sock"),
    ("threads", "--threads"),
    ("duration", "--time"),
    ("ops-max", "--execute_number"),
    ("key-size", "--cfg_cmd, section key"),
    ("value-size", "--cfg_cmd, section value"),
    ("mix", "--cfg_cmd, section cmd"),
    ("window", "--win_size"),
    ("multiget", "--division"),
    ("rate", "--tps"),
    ("writers", "--rep_write"),
    ("verify", "--verify"),
    ("expiry", "--exp_verify"),
    ("expiry-share", "--exp_verify"),
    ("overwrite", "--overwrite"),
    ("seed", "--seed"),
];

fn target(said: &mut Said, options: &Options) {
    let servers = options.target.servers.iter().map(ToString::to_string);
    match options.target.writers {
        Some(writers) => {
            said.say_all("server", servers.collect());
            said.say("writers", writers);
        }
        // Every server is loaded, as far as there are enough clients.
        None => said.say_all("server", servers.take(options.concurrency as usize).collect()),
    }
    said.say("clients", options.concurrency);
    said.say("connections-per-client", options.connections_each);
    said.say("threads", options.threads);
    if options.target.is_binary {
        said.say("protocol", "binary");
    }
    match options.target.transport {
        Transport::Tcp => {}
        Transport::Udp => said.say("transport", "udp"),
        Transport::Split => said.say("transport", "split"),
    }
    said.say("wait", "sleep");
}

fn data(said: &mut Said, options: &Options) {
    let shares = &options.shares;
    said.say("window", options.window);
    said.say("overwrite", shares.overwriting);
    if options.is_raw_keys {
        said.say("key-form", "bytes");
    }
    said.say("key-size", sizes::law(&options.data.keys, sizes::KEY_BYTES_LEAST));
    said.say("value-size", sizes::law(&options.data.values, sizes::VALUE_BYTES_LEAST));
    if shares.expiring > 0.0 {
        said.say("expiry", EXPIRY_S);
        said.say("expiry-share", shares.expiring);
        said.switch("verify-expiry", true);
    }
    said.say("seed", options.seed);
    said.switch("quiet", true);
}

fn operations(said: &mut Said, options: &Options) {
    let (sets, gets) = shares(options);
    let mix = match (sets, gets) {
        (0.0, _) => "get=1".to_owned(),
        (_, 0.0) => "set=1".to_owned(),
        _ => format!("get={gets},set={sets}"),
    };
    said.say("mix", mix);
    said.say("mix-order", "turn");
    said.say("load", if sets == 0.0 { "always" } else { "never" });
    if gets > 0.0 {
        said.say("multiget", options.division);
        if options.shares.verified > 0.0 {
            said.say("verify", options.shares.verified);
        }
    }
}

fn pace(said: &mut Said, options: &Options) {
    // Each key of a get of many keys counts.
    said.say("rate-unit", "keys");
    match options.length {
        Length::Time(time) => said.say("duration", nanoseconds(time)),
        Length::Operations(count) => said.say("ops-max", count),
    }
    if let Some(rate_ops) = options.rate_ops_max {
        said.say("rate", rate_ops);
        said.say("arrival", "fixed");
        if matches!(options.length, Length::Time(_)) {
            let (behind, at_end) = (nanoseconds(BEHIND), nanoseconds(BEHIND_AT_END));
            said.say("on-full", format!("skip:{behind},{at_end}"));
        }
    }
    let is_tcp = options.target.transport == Transport::Tcp;
    said.say("timeout", nanoseconds(if is_tcp { TIMEOUT } else { TIMEOUT_UDP }));
    said.say("cooldown", "drain");
}

/// The shares of sets and gets, one of which is above 0.
fn shares(options: &Options) -> (f64, f64) {
    let data = &options.data;
    if data.sets < SETS_LEAST { (0.0, 1.0) } else { (data.sets, data.gets) }
}

#[cfg(test)]
mod tests;
