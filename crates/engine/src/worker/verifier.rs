//! Verifies that servers answer with the values that were stored, as long as these are valid. It
//! checks values while their bytes pass, and informs the oracles of writes. It copies nothing but
//! the first bytes of a value, and allocates nothing after the start.

use crate::connection::InFlight;
use crate::recorder::Recorder;
use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{ConnectionId, Instant, Link, ServerId, Table};
use memtide_metrics::{Mismatch, VerifyClass};
use memtide_workload::{
    Action, Finding, KeySpace, Op, OpKind, Oracle, Outcome, Source, ValueCheck, ValueSpace,
    Version, Wrong,
};
use memtide_world::plan::{Matching, Plan, Verify, WATCHED_BYTES, WATCHED_MAX};
use std::collections::VecDeque;
use std::sync::Arc;

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 250;

/// The verification of one worker.
#[derive(Debug)]
pub(super) struct Verifier {
    verify: Verify,
    keys: KeySpace,
    values: ValueSpace,
    numeric_from: u64,
    seed: u64,
    matching: Matching,
    /// By the worker's connections.
    watches: Table<ConnectionId, Watch>,
    key: Vec<u8>,
}

/// The verification of one connection.
#[derive(Debug)]
struct Watch {
    /// The oldest allowed versions, in the order of the reads.
    oldest: VecDeque<Oldest>,
    /// The first key of the read at the head that can still be answered.
    next: u16,
    /// The keys before it that were not answered.
    skipped: Vec<u16>,
    value: Passing,
}

/// The oldest version that is allowed in the answer for one key of a read.
#[derive(Clone, Copy, Debug)]
struct Oldest {
    index: u64,
    nth: u16,
    number: u32,
}

const _: () = assert!(size_of::<Oldest>() as u64 <= WATCHED_BYTES, "a watched key grew");

/// The value whose bytes are being received.
#[derive(Clone, Copy, Debug)]
enum Passing {
    /// Not checked.
    Unwatched,
    /// Checked, with the oldest version allowed.
    Watched(ValueCheck, u32),
    /// Its key was not requested.
    Unasked,
}

/// The result for one value that was checked.
pub(super) type Verified = Result<(), Mismatch>;

impl Verifier {
    /// The verifier of a worker with `connections` connections; `None` if the plan verifies
    /// nothing.
    pub(super) fn new(plan: &Plan, connections: usize) -> Option<Self> {
        let verify = plan.verify.clone()?;
        let keys = plan.depth as usize * usize::from(plan.source.multiget);
        let watches = (0..connections).map(|_| Watch {
            oldest: VecDeque::with_capacity(keys.min(WATCHED_MAX)),
            next: 0,
            skipped: Vec::with_capacity(usize::from(plan.source.multiget)),
            value: Passing::Unwatched,
        });
        Some(Self {
            verify,
            keys: plan.keys.clone(),
            values: plan.values.clone(),
            numeric_from: plan.numeric_from,
            seed: plan.seed,
            matching: plan.requests.matching,
            watches: watches.collect(),
            key: Vec::with_capacity(2 * KEY_BYTES_MAX),
        })
    }

    /// Records that `op` is about to be sent on `connection`. Returns the version of the value that
    /// it carries, if any.
    pub(super) fn announce<S: Source>(
        &mut self,
        Link { connection, server }: Link,
        op: &Op,
        source: &S,
    ) -> Option<Version> {
        if !op.kind.reads() {
            return self.announce_write(server, op.kind, op.key);
        }
        if self.is_checked(op.index) {
            let watch = &mut self.watches[connection];
            let oracle = &self.verify.oracles[server.index()];
            for nth in 0..op.keys {
                let number = oracle.oldest(source.key(op, nth));
                if number > 0 && watch.oldest.len() < watch.oldest.capacity() {
                    watch.oldest.push_back(Oldest { index: op.index, nth, number });
                    debug_assert!(watch.oldest.len() <= WATCHED_MAX, "reads are remembered");
                }
            }
        }
        None
    }

    /// Records that a write to `key` is about to be sent; for a cas its second request.
    pub(super) fn announce_write(
        &self,
        server: ServerId,
        kind: OpKind,
        key: u64,
    ) -> Option<Version> {
        let oracle = self.oracle_of_write(server, kind, key)?;
        if let Some(lifetimes) = &self.verify.lifetimes {
            lifetimes.announce(key);
        }
        Some(Version::new(self.verify.writer_at(server.index()), oracle.issue(key)))
    }

    /// Handles the beginning of a value in the answer to `entry`. Returns a mismatch if there
    /// should be no such value.
    pub(super) fn value<S: Source>(
        &mut self,
        Link { connection, server }: Link,
        entry: &InFlight,
        key: &[u8],
        bytes: usize,
        source: &S,
    ) -> Option<Mismatch> {
        let is_checked = self.is_checked(entry.index);
        if !is_checked && self.verify.lifetimes.is_none() {
            return None;
        }
        let op = entry.op();
        let next = self.watches[connection].next;
        let asked = self.keys.id_of(key).filter(|&id| self.is_key(id, key)).and_then(|id| {
            // Keys are answered in the order in which they were requested; missing keys are left
            // out.
            (next..op.keys).find(|&nth| source.key(&op, nth) == id).map(|nth| (id, nth))
        });
        let watch = &mut self.watches[connection];
        if let Some((_, nth)) = asked {
            watch.skipped.extend(next..nth);
            watch.next = nth + 1;
        }
        watch.value = match asked {
            _ if !is_checked => Passing::Unwatched,
            None => Passing::Unasked,
            Some((id, _)) if id >= self.numeric_from => Passing::Unwatched,
            Some((id, nth)) => {
                let oldest = watch.oldest(entry.index, nth);
                Passing::Watched(ValueCheck::new(&self.values, id, bytes), oldest)
            }
        };
        let (lifetimes, (id, _)) = (self.verify.lifetimes.as_ref()?, asked?);
        let expired = lifetimes.must_be_gone(id, entry.sent());
        expired.then(|| found(entry, id, server, VerifyClass::Expired))
    }

    /// True if the value of `key` has another length than planned, in a plan that checks lengths. A
    /// number has the length of its digits.
    pub(super) fn is_resized(&mut self, key: &[u8], bytes: usize) -> bool {
        if !self.verify.lengths {
            return false;
        }
        let known = self.keys.id_of(key).filter(|&id| id < self.numeric_from);
        known.is_some_and(|id| self.values.len(id) != bytes && self.is_key(id, key))
    }

    /// Handles a complete answer to `entry` with values missing; records those that should have
    /// been in it.
    pub(super) fn missed<S: Source>(
        &self,
        Link { connection, server }: Link,
        entry: &InFlight,
        now: Instant,
        source: &S,
        recorder: &mut Recorder,
    ) {
        let is_checked = self.is_checked(entry.index);
        let lifetimes = self.verify.lifetimes.as_deref();
        if !is_checked && lifetimes.is_none() {
            return;
        }
        let (op, watch) = (entry.op(), &self.watches[connection]);
        for nth in watch.skipped.iter().copied().chain(watch.next..op.keys) {
            let id = source.key(&op, nth);
            match lifetimes.filter(|lifetimes| lifetimes.includes(id)) {
                Some(lifetimes) if lifetimes.must_be_there(id, now) => {
                    recorder.mistimed(entry, found(entry, id, server, VerifyClass::Unexpired));
                }
                None if is_checked && id < self.numeric_from => {
                    recorder.verify_missed(entry, server);
                }
                _ => {}
            }
        }
    }

    /// Handles the next bytes of the value that began last. Returns the result at its end.
    pub(super) fn data(
        &mut self,
        Link { connection, server }: Link,
        entry: &InFlight,
        bytes: &[u8],
        ends: bool,
    ) -> Option<Verified> {
        let value = &mut self.watches[connection].value;
        if let Passing::Watched(check, _) = value {
            check.handle_bytes(&self.values, bytes);
        }
        if !ends {
            return None;
        }
        let mismatch = found(entry, entry.key, server, VerifyClass::WrongKey);
        match std::mem::replace(value, Passing::Unwatched) {
            Passing::Unwatched => None,
            Passing::Unasked => Some(Err(mismatch)),
            Passing::Watched(check, version_min) => {
                let mismatch = Mismatch { key: check.id(), version_min, ..mismatch };
                Some(self.judge(check.finding(&self.values), mismatch))
            }
        }
    }

    /// Handles the complete answer to `entry`, in time or late.
    pub(super) fn replied(
        &mut self,
        Link { connection, server }: Link,
        entry: &InFlight,
        outcome: Outcome,
        now: Instant,
    ) {
        let watch = &mut self.watches[connection];
        match self.matching {
            Matching::Order => {
                while watch.oldest.front().is_some_and(|oldest| oldest.index == entry.index) {
                    watch.oldest.pop_front();
                }
            }
            Matching::Opaque => watch.oldest.retain(|oldest| oldest.index != entry.index),
        }
        watch.begin();
        if entry.kind.stores_second() && !entry.stage.is_second() {
            return; // It has not written yet.
        }
        // A delete that finds no item leaves the key deleted.
        let absent = outcome == Outcome::NotFound && entry.kind.does(Action::Remove);
        let done = absent || matches!(outcome, Outcome::Stored | Outcome::Deleted);
        if let Some(oracle) = self.oracle_of_write(server, entry.kind, entry.key) {
            oracle.answer(entry.key, done);
            if let (Some(lifetimes), Outcome::Stored) = (&self.verify.lifetimes, outcome) {
                lifetimes.stored(entry.key, entry.sent(), now);
            }
        }
    }

    /// Drops all state of `connection`, which was lost.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        let watch = &mut self.watches[connection];
        watch.oldest.clear();
        watch.begin();
    }

    fn judge(&self, finding: Finding, mismatch: Mismatch) -> Verified {
        match finding {
            Finding::Right(Some(version)) if self.is_stale(version, &mismatch) => {
                let version = Some(version.number());
                Err(Mismatch { class: VerifyClass::Stale, version, ..mismatch })
            }
            Finding::Right(_) => Ok(()),
            Finding::Wrong { wrong, offset, version } => Err(Mismatch {
                class: match wrong {
                    Wrong::Corrupt => VerifyClass::Corrupt,
                    Wrong::WrongKey => VerifyClass::WrongKey,
                    Wrong::Truncated => VerifyClass::Truncated,
                },
                version: version.map(Version::number),
                offset: offset as u64,
                ..mismatch
            }),
        }
    }

    /// True if this run wrote `version`, and certainly a later one before the read was issued.
    fn is_stale(&self, version: Version, mismatch: &Mismatch) -> bool {
        let writer = self.verify.writer_at(mismatch.server.index());
        version.writer() == writer && version.number() < mismatch.version_min
    }

    /// True if the values of operation `index` are checked.
    fn is_checked(&self, index: u64) -> bool {
        unit(hash(self.seed, Stream::VERIFY, index)) < self.verify.fraction
    }

    fn is_key(&mut self, id: u64, key: &[u8]) -> bool {
        self.key.clear();
        self.keys.write(id, &mut self.key);
        debug_assert!(self.key.len() <= KEY_BYTES_MAX, "a key of the plan is too long");
        self.key == key
    }

    /// The oracle for `key`, if an operation of this kind stores or removes a value.
    fn oracle_of_write(&self, server: ServerId, kind: OpKind, key: u64) -> Option<&Arc<Oracle>> {
        let writes = kind.stores_value() || kind.does(Action::Remove);
        (writes && key < self.numeric_from).then(|| &self.verify.oracles[server.index()])
    }
}

/// A mismatch of key `id` in the answer to `entry`.
fn found(entry: &InFlight, id: u64, server: ServerId, class: VerifyClass) -> Mismatch {
    let (op, version) = (entry.index, None);
    Mismatch { op, key: id, server, class, version_min: 0, version, offset: 0 }
}

impl Watch {
    /// Prepares for the next answer.
    fn begin(&mut self) {
        self.next = 0;
        self.skipped.clear();
        self.value = Passing::Unwatched;
    }

    /// The oldest version that key `nth` of operation `index` may be answered with.
    fn oldest(&self, index: u64, nth: u16) -> u32 {
        let of_op = self.oldest.iter().skip_while(|oldest| oldest.index != index);
        let mut of_op = of_op.take_while(|oldest| oldest.index == index);
        of_op.find(|oldest| oldest.nth == nth).map_or(0, |oldest| oldest.number)
    }
}
