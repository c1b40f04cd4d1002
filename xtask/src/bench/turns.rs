//! Clients that take turns of 50 ms against one server, so that a drift of the machine's speed
//! affects all of them alike. Signals stop and continue them. The kernel counts the CPU time of a
//! turn, and the server counts its operations.
//!
//! This module knows neither the clients nor their own measurements.

use super::process::{Did, Process};
use super::server::Counters;
use rustix::process::Signal;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The length of a turn.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// The time in which operations in flight at a stop are answered and counted.
const SETTLING: Duration = Duration::from_millis(2);
/// Time for everything but turns; turns count with half their length more.
const MARGIN_S: u64 = 60;
/// The longest duration that all clients accept: one takes a number of calls, 150 000 for each
/// second, which must fit into 32 bits.
const DURATION_MAX_S: u64 = 20_000;

/// Started clients, all stopped but the one whose turn it is. Dropping this value ends them.
pub(super) struct Turns {
    /// Each client, or the error that ended its participation.
    clients: Vec<Result<Process, String>>,
    counters: Counters,
    /// The client that begins the next cycle.
    first: usize,
}

impl Turns {
    /// Stops each client that has started without an error, before the next one starts, for turns
    /// against the server at `address`.
    pub(super) fn start(
        started: impl Iterator<Item = Result<Process, String>>,
        address: SocketAddr,
    ) -> Result<Self, String> {
        let stop = |mut process: Process| {
            process.signal(Signal::STOP)?;
            process.is_there().map(|()| process)
        };
        let clients: Vec<_> = started.map(|process| process.and_then(stop)).collect();
        let mut turns = Self { clients, counters: Counters::of(address)?, first: 0 };
        // The first turn after a long stop makes another load than all later ones.
        for number in 0..turns.clients.len() {
            turns.turn(number, &mut Did::default());
        }
        Ok(turns)
    }

    /// Runs each client for turns of this many seconds in all; returns its figures, or the reason
    /// of its failure.
    pub(super) fn round(&mut self, seconds: u32) -> Vec<Result<Did, String>> {
        let wanted = Duration::from_secs(u64::from(seconds));
        let mut did = vec![Did::default(); self.clients.len()];
        let mut is_over = false;
        while !is_over {
            is_over = true;
            for number in cycle(self.clients.len(), self.first) {
                if self.clients[number].is_ok() && did[number].ran < wanted {
                    self.turn(number, &mut did[number]);
                    is_over = false;
                }
            }
            self.first += 1;
        }
        let idle = |did: &Did| did.ops == 0 || did.cpu.is_zero();
        for (client, did) in self.clients.iter_mut().zip(&did) {
            if client.is_ok() && idle(did) {
                *client = Err(format!("it did nothing in {seconds} s of turns"));
            }
        }
        let told = self.clients.iter().zip(did);
        told.map(|(client, did)| client.as_ref().map(|_| did).map_err(Clone::clone)).collect()
    }

    /// Runs one turn of a client without an error; a failed turn ends its participation.
    fn turn(&mut self, number: usize, did: &mut Did) {
        let Ok(client) = &mut self.clients[number] else { return };
        match turn(client, &mut self.counters) {
            Ok(more) => {
                did.ran += more.ran;
                did.cpu += more.cpu;
                did.ops += more.ops;
            }
            Err(why) => self.clients[number] = Err(why),
        }
    }
}

/// The turns of a cycle that begins with client `first`.
pub(super) fn cycle(clients: usize, first: usize) -> impl Iterator<Item = usize> {
    (0..clients).map(move |turn| (first + turn) % clients)
}

/// The number of seconds that clients must run, so that none ends before all have had `rounds`
/// rounds of `seconds` seconds; `starts` are their times before the first turn.
pub(super) fn duration_s(starts: &[Duration], rounds: u32, seconds: u32) -> Result<u32, String> {
    let started_s = starts.iter().sum::<Duration>().as_secs() + 1;
    let turns_s = starts.len() as u64 * u64::from(rounds) * u64::from(seconds);
    let wall_s = started_s + turns_s * 3 / 2 + MARGIN_S;
    if wall_s > DURATION_MAX_S {
        return Err(format!(
            "{rounds} rounds in which {} clients have {seconds} s each could take {wall_s} s; at \
             most {DURATION_MAX_S} s are allowed: ask for fewer --rounds or --seconds",
            starts.len()
        ));
    }
    Ok(u32::try_from(wall_s).expect("it is below the limit"))
}

/// Continues a client for a turn.
fn turn(process: &mut Process, counters: &mut Counters) -> Result<Did, String> {
    process.works(counters, |process| {
        let began = Instant::now();
        process.signal(Signal::CONT)?;
        std::thread::sleep(TURN);
        process.signal(Signal::STOP)?;
        let ran = began.elapsed();
        std::thread::sleep(SETTLING);
        Ok(ran)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cycle_begins_with_another_client() {
        let cycles: Vec<Vec<usize>> = (0..4).map(|first| cycle(3, first).collect()).collect();
        assert_eq!(cycles, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }

    #[test]
    fn clients_outlast_all_turns_or_are_not_started() {
        let starts = [1, 1, 3].map(Duration::from_secs);
        let bound_s = duration_s(&starts, 11, 2).expect("it is short enough");
        assert!((5 + 3 * 11 * 2..=200).contains(&bound_s), "{bound_s}");
        assert!(duration_s(&starts, 10_000, 1).is_err_and(|why| why.contains("--rounds")));
    }
}
