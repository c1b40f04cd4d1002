//! The whole of stdout in the order in which it is printed, and messages on stderr: lost and
//! restored servers and, if requested, each failed verification. The options decide which parts
//! appear; nothing follows the last line.

use super::blocks;
use super::figures::{Kinds, Period, per_second, per_second_mib};
use crate::memaslap::options::{Length, Options, Transport};
use crate::server::Server;
use memtide_record::WrongValue;

/// The counts of a whole run, without the fill before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunCounts {
    /// The times.
    pub kinds: Kinds,
    /// Keys requested.
    pub gets: u64,
    /// Sets sent, including failed ones and each copy.
    pub sets: u64,
    /// Keys not found.
    pub misses: u64,
    /// Objects that could not be verified because they were not found.
    pub verify_misses: u64,
    /// Objects whose value was not the one that had been set.
    pub verify_failed: u64,
    /// Objects that were found after their expiry.
    pub expired_found: u64,
    /// Objects that were not found before their expiry.
    pub unexpired_missed: u64,
    /// All bytes sent.
    pub bytes_sent: u64,
    /// All bytes received.
    pub bytes_received: u64,
    /// Bytes in the keys and values of all sets.
    pub object_bytes: u64,
    /// Datagrams that arrived out of order.
    pub datagrams_disordered: u64,
    /// Datagrams still missing when an answer was given up.
    pub datagrams_lost: u64,
    /// Answers over UDP that were given up.
    pub udp_timeouts: u64,
    /// The length of the run, in seconds.
    pub run_s: f64,
}

/// The formatter of one command line's output.
#[derive(Clone, Copy, Debug)]
pub struct Formatter<'a> {
    options: &'a Options,
}

impl<'a> Formatter<'a> {
    /// The formatter for `options`.
    pub const fn new(options: &'a Options) -> Self {
        Self { options }
    }

    /// The text printed before connecting to the servers.
    pub fn header(&self) -> String {
        let Options { target, threads, concurrency, length, window, data, .. } = self.options;
        let length = match length {
            Length::Time(time) => format!("run time: {}s", time.ns() / 1_000_000_000),
            Length::Operations(count) => format!("execute number: {count}"),
        };
        format!(
            "servers: {}\nthreads count: {threads}\nconcurrency: {concurrency}\n{length}\n\
             windows size: {}k\nset proportion: set_prop={:.2}\nget proportion: get_prop={:.2}\n",
            target.written,
            window / 1024,
            data.sets,
            data.gets
        )
    }

    /// The text printed every `--stat_freq`; empty for a run that ends by its count.
    pub fn period(&self, period: &Period) -> String {
        let Options { length, output, data, .. } = self.options;
        if output.statistics_every.is_none() || matches!(length, Length::Operations(_)) {
            return String::new();
        }
        let clear = if output.is_plain { "" } else { "\u{1b}[1;1H\u{1b}[2J" };
        format!("{clear}\n{}", blocks::now(period, data.object_bytes()))
    }

    /// The text printed at the end.
    pub fn end(&self, totals: &RunCounts) -> String {
        let options = self.options;
        let mut text = String::new();
        if options.output.statistics_every.is_some() {
            text += &blocks::last(&totals.kinds);
        }
        let always = true;
        let is_verifying = options.shares.verified > 0.0;
        let is_expiring = options.shares.expiring > 0.0;
        let is_udp = options.target.transport != Transport::Tcp;
        let counters = [
            (always, "cmd_get", totals.gets),
            (always, "cmd_set", totals.sets),
            (always, "get_misses", totals.misses),
            (is_verifying, "verify_misses", totals.verify_misses),
            (is_verifying, "verify_failed", totals.verify_failed),
            (is_expiring, "expired_get", totals.expired_found),
            (is_expiring, "unexpired_unget", totals.unexpired_missed),
            (always, "written_bytes", totals.bytes_sent),
            (always, "read_bytes", totals.bytes_received),
            (always, "object_bytes", totals.object_bytes),
            (is_udp, "packet_disorder", totals.datagrams_disordered),
            (is_udp, "packet_drop", totals.datagrams_lost),
            (is_udp, "udp_timeout", totals.udp_timeouts),
        ];
        for (_, name, count) in counters.into_iter().filter(|(is_shown, ..)| *is_shown) {
            text += &format!("{name}: {count}\n");
        }
        text + &last_line(totals)
    }

    /// The line about a server whose connection is lost and will be opened again.
    pub fn lost(&self, server: &Server) -> String {
        format!("Server {}:{} disconnect\n", server.host, server.port)
    }

    /// The line about a server that is connected again after `away_s` seconds.
    pub fn back(&self, server: &Server, away_s: u64) -> String {
        format!("Server {}:{} reconnect after {away_s}s\n", server.host, server.port)
    }
}

fn last_line(totals: &RunCounts) -> String {
    let ops = u128::from(totals.gets) + u128::from(totals.sets);
    let bytes = u128::from(totals.bytes_sent) + u128::from(totals.bytes_received);
    format!(
        "\nRun time: {:.1}s Ops: {ops} TPS: {:.0} Net_rate: {:.1}M/s\n",
        totals.run_s,
        per_second(ops as f64, totals.run_s),
        per_second_mib(bytes, totals.run_s)
    )
}

/// The lines of `--verbose` about a failed verification: memaslap's first three, then the known
/// facts about the value in place of its bytes.
pub fn failure(wrong: &WrongValue) -> String {
    let WrongValue { op, server, key, class, version_min, version, offset } = wrong;
    let (what, more) = match *class {
        "expired_get" => {
            ("expire time verification failed, object expired but get it now", String::new())
        }
        "unexpired_unget" => (
            "expire time verification failed, object doesn't expire but can't get it now",
            String::new(),
        ),
        "stale" => {
            let version = version.map_or_else(|| "–".to_owned(), |version| version.to_string());
            let more = format!(", version {version} and not at least {version_min}");
            ("data verification failed", more)
        }
        _ => ("data verification failed", format!(" at byte {offset}")),
    };
    format!(
        "\n<{op} {what}\n\tkey len: {}\n\tkey: {key}\n\tserver: {server}\n\tfound: {class}{more}\n",
        key.chars().count()
    )
}
