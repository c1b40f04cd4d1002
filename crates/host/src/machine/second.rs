//! The machine from one reading to the next: processors, network, memory. Nothing here judges.

use super::{Ticks, field};
use std::fs;

/// With more processors, only their mean and the busiest are told.
const CPUS_MAX: usize = 64;

/// The machine since the reading before. A figure is none if the kernel does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSecond {
    /// Busy share of each processor, in the order of their numbers; empty with more than 64.
    pub cpus: Vec<f64>,
    /// Busy share of all processors together.
    pub cpu_busy: Option<f64>,
    /// Busy share of the busiest processor.
    pub cpu_busy_max: Option<f64>,
    /// Share of all processors' time in which the hypervisor ran something else.
    pub stolen: Option<f64>,
    /// Threads that run or are ready to run now.
    pub runnable: Option<u64>,
    /// Bytes that all network interfaces received.
    pub received_bytes: Option<u64>,
    /// Bytes that all network interfaces sent.
    pub sent_bytes: Option<u64>,
    /// Packets that network interfaces dropped, of both directions.
    pub dropped_packets: Option<u64>,
    /// TCP segments that were sent again.
    pub retransmits: Option<u64>,
    /// Memory that new processes could use now, in bytes.
    pub available_bytes: Option<u64>,
}

/// Reads the machine again and again.
#[derive(Debug, Default)]
pub struct SecondReader {
    before: Option<Reading>,
}

/// Counters since boot.
#[derive(Clone, Debug, Default)]
struct Reading {
    ticks: Ticks,
    /// Bytes received, bytes sent, packets dropped.
    network: Option<[u64; 3]>,
    retransmits: Option<u64>,
}

impl SecondReader {
    /// The machine since the last call; none at the first.
    pub fn read(&mut self) -> Option<MachineSecond> {
        let [stat, devices, protocols] = ["/proc/stat", "/proc/net/dev", "/proc/net/snmp"]
            .map(|path| fs::read_to_string(path).unwrap_or_default());
        let now = Reading {
            ticks: Ticks::of(&stat),
            network: network(&devices),
            retransmits: retransmits(&protocols),
        };
        let available = field("/proc/meminfo", "MemAvailable");
        let kib = available.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        let second = self.before.as_ref().map(|before| MachineSecond {
            runnable: runnable(&stat),
            available_bytes: kib.map(|kib| kib.saturating_mul(1024)),
            ..now.since(before)
        });
        self.before = Some(now);
        second
    }
}

impl Reading {
    fn since(&self, before: &Self) -> MachineSecond {
        let each: Vec<f64> = self
            .ticks
            .each
            .iter()
            .filter_map(|(number, now)| now.share_since(*before.ticks.each.get(number)?))
            .map(rounded)
            .collect();
        let all = self.ticks.all;
        let [received_bytes, sent_bytes, dropped_packets] =
            [0, 1, 2].map(|at| grown(at_of(self.network, at), at_of(before.network, at)));
        MachineSecond {
            cpu_busy: all.share_since(before.ticks.all).map(rounded),
            cpu_busy_max: each.iter().copied().reduce(f64::max),
            stolen: all.stolen_since(before.ticks.all).map(rounded),
            received_bytes,
            sent_bytes,
            dropped_packets,
            retransmits: grown(self.retransmits, before.retransmits),
            cpus: if each.len() > CPUS_MAX { Vec::new() } else { each },
            ..MachineSecond::default()
        }
    }
}

fn grown(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(then?))
}

fn at_of(counters: Option<[u64; 3]>, at: usize) -> Option<u64> {
    counters.map(|each| each[at])
}

/// A tick of the kernel is a hundredth of a second, so four digits are all there is.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Bytes received, bytes sent and packets dropped of all interfaces, of `/proc/net/dev`.
fn network(text: &str) -> Option<[u64; 3]> {
    let mut sum = None;
    for line in text.lines() {
        let Some((_, figures)) = line.split_once(':') else { continue };
        let figures: Vec<u64> = figures.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [received, _, _, missed, _, _, _, _, sent, _, _, dropped, ..] = figures[..] else {
            continue;
        };
        let all: &mut [u64; 3] = sum.get_or_insert_default();
        for (sum, figure) in all.iter_mut().zip([received, sent, missed.saturating_add(dropped)]) {
            *sum = sum.saturating_add(figure);
        }
    }
    sum
}

/// TCP segments that were sent again, of `/proc/net/snmp`: a line of names, then one of figures.
fn retransmits(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, figures) = (lines.next()?, lines.next()?);
    let mut each = names.split_whitespace().zip(figures.split_whitespace());
    each.find(|(name, _)| *name == "RetransSegs")?.1.parse().ok()
}

/// Threads that run or are ready to run, of `/proc/stat`.
fn runnable(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
