//! A master that makes no run: it asks agents what they are doing, and fetches the records that
//! they keep after their master was lost.
//!
//! An agent is told to forget a record only after it was written and read back.
#![allow(clippy::disallowed_types, reason = "this part reaches the world")]

use crate::agent::RUN_BYTES;
use crate::files::{COUNT_MAX, Kept};
use crate::master::handing_over_max;
use crate::message::from_agent::What as Says;
use crate::message::to_agent::What as Asks;
use crate::message::{
    Acknowledged, Bye, Fetch, Hello, KeptRecord, Ping, RecordPart, ToAgent, Welcome,
};
use crate::parts::Assembly;
use crate::transport::{FromNet, MasterNet};
use memtide_base::hex::to_hex;
use memtide_base::printable::printable;
use memtide_record::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// The longest time without a part of a record that was asked for.
const SILENT_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const PING_EVERY: Duration = Duration::from_secs(1);

/// The hellos of the agents at these addresses, which `net` dials, or why one cannot be reached;
/// what has not come within `most` is absent.
pub fn hellos(
    net: &MasterNet,
    addresses: &[String],
    most: Duration,
) -> BTreeMap<String, Result<Hello, String>> {
    let (mut found, deadline) = (BTreeMap::new(), Instant::now() + most);
    while found.len() < addresses.len() && Instant::now() < deadline {
        match net.next(LOOK_EVERY) {
            Some(FromNet::Opened { peer, address, hello }) => {
                net.send(peer, ToAgent { what: Some(Asks::Bye(Bye {})) });
                found.insert(address, Ok(hello));
            }
            Some(FromNet::Turned { address, why }) => {
                found.insert(address, Err(why));
            }
            _ => {}
        }
    }
    found
}

/// Records that are being fetched.
pub struct Fetching<'a> {
    net: &'a MasterNet,
    folder: Kept,
    say: &'a dyn Fn(&str),
    peers: BTreeMap<u64, Peer>,
    /// The agents that have nothing more to hand over, with their names. They stay until the end:
    /// one that is dismissed comes back, and would count again.
    ready: BTreeMap<u64, String>,
    /// The names of those that have gone since. One that comes back counts once.
    gone: Vec<String>,
    /// The runs and shares of records that were asked for and not refused.
    asked: BTreeSet<(Vec<u8>, u32)>,
    /// The runs and shares of records that their agents keep, because they could not be fetched.
    missed: BTreeSet<(Vec<u8>, u32)>,
    /// The number of records written.
    pub written: usize,
}

/// An agent that hands over its records.
struct Peer {
    name: String,
    left: VecDeque<KeptRecord>,
    assembly: Assembly,
    /// The instant at which its next record was asked for, and that of the record's last part.
    asked: Instant,
    heard: Instant,
}

impl Peer {
    /// The reason to give up the record that it hands over, if any: answers to pings alone hold
    /// nothing up, and a byte now and then does not for long.
    fn overdue(&self, now: Instant) -> Option<String> {
        let bytes = self.assembly.len();
        if now.duration_since(self.heard) >= SILENT_MAX {
            let silent_s = SILENT_MAX.as_secs();
            return Some(format!("it did not hand over its record: nothing came for {silent_s} s"));
        }
        let most = handing_over_max(bytes);
        (now.duration_since(self.asked) >= Duration::from_nanos(most.ns()))
            .then(|| format!("it did not hand over its record in time: {bytes} bytes in {most}"))
    }
}

impl<'a> Fetching<'a> {
    /// Nothing fetched yet. Records go to `folder`, and sentences about agents to `say`.
    pub fn new(net: &'a MasterNet, folder: Kept, say: &'a dyn Fn(&str)) -> Self {
        let (peers, ready, gone) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (asked, missed) = (BTreeSet::new(), BTreeSet::new());
        Self { net, folder, say, peers, ready, gone, asked, missed, written: 0 }
    }

    /// The number of agents that have handed over all their records.
    pub fn done(&self) -> usize {
        self.ready.len() + self.gone.len()
    }

    /// True if each record that an agent had was fetched.
    pub fn is_whole(&self) -> bool {
        self.missed.is_empty()
    }

    /// Fetches until `wanted` agents have handed over their records or were given up, or none is
    /// there and none has come within `expect`. False if `is_stopped` before.
    pub fn run(&mut self, wanted: usize, expect: Duration, is_stopped: impl Fn() -> bool) -> bool {
        let deadline = Instant::now() + expect;
        let mut pinged = Instant::now();
        while self.done() < wanted {
            if is_stopped() {
                return false;
            }
            if self.peers.is_empty() && Instant::now() >= deadline {
                break;
            }
            // Shows the agents that their master is alive.
            if pinged.elapsed() >= PING_EVERY {
                pinged = Instant::now();
                let there = self.peers.keys().chain(self.ready.keys());
                there.for_each(|peer| self.send(*peer, Asks::Ping(Ping { number: 0 })));
            }
            if let Some(came) = self.net.next(LOOK_EVERY) {
                self.take(came);
            }
            let now = Instant::now();
            let overdue =
                self.peers.iter().filter_map(|(at, peer)| Some((*at, peer.overdue(now)?)));
            for (peer, why) in overdue.collect::<Vec<_>>() {
                self.give_up(peer, &why);
            }
        }
        self.ready.keys().for_each(|peer| self.send(*peer, Asks::Bye(Bye {})));
        true
    }

    fn take(&mut self, came: FromNet) {
        match came {
            FromNet::Opened { peer, hello, .. } => self.opened(peer, hello),
            FromNet::Message { peer, message, .. } => match message.what {
                Some(Says::Record(part)) => self.part(peer, &part),
                Some(Says::Refused(refused)) => self.failed(peer, &printable(&refused.why, 600)),
                _ => {}
            },
            FromNet::Closed { peer, why } => {
                self.gone.extend(self.ready.remove(&peer));
                if let Some(gone) = self.peers.remove(&peer) {
                    // It may come back, and is then asked again.
                    if let Some(KeptRecord { run, share, .. }) = gone.left.front() {
                        self.miss(run.clone(), *share);
                    }
                    (self.say)(&format!("{} is gone: {why}", gone.name));
                }
            }
            FromNet::Turned { address, why } => (self.say)(&format!("{address}: {why}")),
            FromNet::Woken => {}
        }
    }

    fn opened(&mut self, peer: u64, hello: Hello) {
        // It turns this master away, and can be reached once it is free.
        if hello.busy_since_unix_s.is_some() {
            return self.net.close(peer);
        }
        self.send(peer, Asks::Welcome(Welcome { version: hello.version }));
        let left = hello.kept.into_iter().filter(|kept| kept.run.len() == RUN_BYTES);
        let left: VecDeque<KeptRecord> = left.take(COUNT_MAX).collect();
        let name = printable(&hello.name, 64);
        // Names need not differ: who has a record that was not offered before is another agent.
        let is_known = left.iter().all(|kept| {
            let record = (kept.run.clone(), kept.share);
            self.asked.contains(&record) || self.missed.contains(&record)
        });
        if is_known && let Some(at) = self.gone.iter().position(|gone| *gone == name) {
            self.gone.swap_remove(at);
        }
        let (asked, assembly) = (Instant::now(), Assembly::default());
        self.peers.insert(peer, Peer { name, left, assembly, asked, heard: asked });
        self.ask(peer);
    }

    fn part(&mut self, peer: u64, part: &RecordPart) {
        let Some(of) = self.peers.get_mut(&peer) else { return };
        let Some(KeptRecord { run, share, .. }) = of.left.front().cloned() else { return };
        of.heard = Instant::now();
        match of.assembly.add(&run, part) {
            Ok(None) => {}
            Ok(Some(record)) => match self.keep(&run, share, &record) {
                Ok(()) => {
                    self.written += 1;
                    self.missed.remove(&(run.clone(), share));
                    self.send(peer, Asks::Acknowledged(Acknowledged { run, share }));
                    self.next(peer);
                }
                Err(why) => self.failed(peer, &why),
            },
            Err(why) => self.failed(peer, &why),
        }
    }

    /// Writes a record and reads it back.
    fn keep(&self, run: &[u8], share: u32, record: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(record).map_err(|_| "its record is not text".to_owned())?;
        let read = Record::from_json(text).map_err(|why| format!("its record: {why}"))?;
        let Some(of) = read.share.filter(|it| it.number == share) else {
            return Err(format!("its record is not that of share {share}"));
        };
        let name = to_hex(run);
        if of.agent.is_none_or(|agent| agent.run != name) {
            return Err(format!("its record is not that of run {name}"));
        }
        let written = self.folder.keep(run, share, record);
        match self.folder.find(run, share) {
            Some(kept) if kept == record => Ok(()),
            _ => Err(match written {
                Err(error) => format!("its record cannot be written: {error}"),
                Ok(()) => "its record cannot be read back from the disk".to_owned(),
            }),
        }
    }

    /// Goes on without the record that an agent was asked for.
    fn failed(&mut self, peer: u64, why: &str) {
        let Some(of) = self.peers.get_mut(&peer) else { return };
        of.assembly = Assembly::default();
        (self.say)(&format!("{}: {why}", of.name));
        if let Some(KeptRecord { run, share, .. }) = of.left.front() {
            let (run, share) = (run.clone(), *share);
            self.miss(run, share);
        }
        self.next(peer);
    }

    /// Goes on without an agent that hands over nothing more; it keeps what it has.
    fn give_up(&mut self, peer: u64, why: &str) {
        let Some(of) = self.peers.get_mut(&peer) else { return };
        (self.say)(&format!("{}: {why}", of.name));
        for KeptRecord { run, share, .. } in std::mem::take(&mut of.left) {
            self.miss(run, share);
        }
        self.ask(peer);
    }

    /// Leaves the record of a run and share with its agent, or with another one that has it.
    fn miss(&mut self, run: Vec<u8>, share: u32) {
        let record = (run, share);
        self.asked.remove(&record);
        self.missed.insert(record);
    }

    fn next(&mut self, peer: u64) {
        if let Some(of) = self.peers.get_mut(&peer) {
            of.left.pop_front();
        }
        self.ask(peer);
    }

    /// Requests the next record that no other agent hands over, if there is one.
    fn ask(&mut self, peer: u64) {
        let Some(of) = self.peers.get_mut(&peer) else { return };
        while let Some(KeptRecord { run, share, .. }) = of.left.front().cloned() {
            // Agents of one machine may share their folder.
            if self.asked.insert((run.clone(), share)) {
                (of.asked, of.heard) = (Instant::now(), Instant::now());
                return self.send(peer, Asks::Fetch(Fetch { run, share }));
            }
            of.left.pop_front();
        }
        let name = self.peers.remove(&peer).map(|of| of.name);
        self.ready.extend(name.map(|name| (peer, name)));
    }

    fn send(&self, peer: u64, what: Asks) {
        self.net.send(peer, ToAgent { what: Some(what) });
    }
}

#[cfg(test)]
mod tests;
