//! Whether servers answer with the values that they were given, for as long as they were told to:
//! looks at values while their bytes pass, and keeps the oracles told of what is written. Copies
//! nothing but the first bytes of a value, and allocates nothing after the start.

use crate::connection::InFlight;
use crate::plan::{Plan, Verify};
use crate::recorder::Recorder;
use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{ConnectionId, Instant, ServerId, Table};
use memtide_metrics::{Mismatch, VerifyClass};
use memtide_workload::{
    Action, Finding, KeySpace, Op, OpKind, Oracle, Outcome, Source, ValueCheck, ValueSpace,
    Version, Wrong,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Keys whose oldest allowed version is remembered on one connection. A read that finds no room is
/// not judged by the version that it finds.
const OLDEST_MAX: usize = 4_096;
/// The longest key.
const KEY_BYTES_MAX: usize = 250;

/// What one worker verifies with.
#[derive(Debug)]
pub(super) struct Verifier {
    verify: Verify,
    keys: KeySpace,
    values: ValueSpace,
    numeric_from: u64,
    seed: u64,
    /// By the worker's connections.
    watches: Table<ConnectionId, Watch>,
    key: Vec<u8>,
}

/// What is under way on one connection.
#[derive(Debug)]
struct Watch {
    /// In the order in which reads were issued.
    oldest: VecDeque<Oldest>,
    /// The first key of the read at the head that can still be answered.
    next: u16,
    /// The keys before it that were not.
    skipped: Vec<u16>,
    value: Passing,
}

/// The oldest version that one key of a read may be answered with.
#[derive(Clone, Copy, Debug)]
struct Oldest {
    index: u64,
    nth: u16,
    number: u32,
}

/// The value whose bytes are passing.
#[derive(Clone, Copy, Debug)]
enum Passing {
    /// Not looked at.
    Unwatched,
    /// Looked at; with the oldest version allowed.
    Watched(ValueCheck, u32),
    /// Its key was not asked for.
    Unasked,
}

/// What came of one value that was looked at.
pub(super) type Verified = Result<(), Mismatch>;

impl Verifier {
    /// The verifier of a worker with `connections` connections; `None` if the plan verifies
    /// nothing.
    pub(super) fn new(plan: &Plan, connections: usize) -> Option<Self> {
        let verify = plan.verify.clone()?;
        let keys = plan.depth as usize * usize::from(plan.source.multiget);
        let watch = |_| Watch {
            oldest: VecDeque::with_capacity(keys.min(OLDEST_MAX)),
            next: 0,
            skipped: Vec::with_capacity(usize::from(plan.source.multiget)),
            value: Passing::Unwatched,
        };
        Some(Self {
            verify,
            keys: plan.keys.clone(),
            values: plan.values.clone(),
            numeric_from: plan.numeric_from,
            seed: plan.seed,
            watches: (0..connections).map(watch).collect(),
            key: Vec::with_capacity(2 * KEY_BYTES_MAX),
        })
    }

    /// `op` is about to be sent on `connection`. Returns the version of the value that it carries,
    /// if it carries one.
    pub(super) fn announce<S: Source>(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
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
                }
            }
        }
        None
    }

    /// A write to `key` is about to be sent; of a cas its second request.
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

    /// A value begins in the answer to `entry`. Returns what is wrong with there being one.
    pub(super) fn value<S: Source>(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        entry: &InFlight,
        (key, bytes): (&[u8], usize),
        source: &S,
    ) -> Option<Mismatch> {
        let is_checked = self.is_checked(entry.index);
        if !is_checked && self.verify.lifetimes.is_none() {
            return None;
        }
        let op = entry.op();
        let next = self.watches[connection].next;
        let asked = self.keys.id_of(key).filter(|&id| self.is_key(id, key)).and_then(|id| {
            // Keys are answered in the order in which they were asked for; some are not there.
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
        let expired = lifetimes.must_be_gone(id, entry.sent);
        expired.then(|| found(entry, id, server, VerifyClass::Expired))
    }

    /// Whether the value of `key` has another length than the plan says, where that is looked at.
    /// A number has the length of its digits.
    pub(super) fn is_resized(&mut self, key: &[u8], bytes: usize) -> bool {
        if !self.verify.lengths {
            return false;
        }
        let known = self.keys.id_of(key).filter(|&id| id < self.numeric_from);
        known.is_some_and(|id| self.values.len(id) != bytes && self.is_key(id, key))
    }

    /// The answer to `entry` is complete, and values are missing; those that should have been in it
    /// are recorded.
    pub(super) fn missed<S: Source>(
        &self,
        (connection, server): (ConnectionId, ServerId),
        (entry, now): (&InFlight, Instant),
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

    /// The next bytes of that value. Returns what came of it when it ends.
    pub(super) fn data(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        entry: &InFlight,
        (bytes, ends): (&[u8], bool),
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

    /// The answer to `entry` is complete, in time or late.
    pub(super) fn replied(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        entry: &InFlight,
        outcome: Outcome,
        now: Instant,
    ) {
        let watch = &mut self.watches[connection];
        while watch.oldest.front().is_some_and(|oldest| oldest.index == entry.index) {
            watch.oldest.pop_front();
        }
        watch.begin();
        if entry.kind.does(Action::CompareAndStore) && !entry.stage.is_second() {
            return; // It has not written yet.
        }
        // What a delete does not find is as good as deleted.
        let absent = outcome == Outcome::NotFound && entry.kind.does(Action::Remove);
        let done = absent || matches!(outcome, Outcome::Stored | Outcome::Deleted);
        if let Some(oracle) = self.oracle_of_write(server, entry.kind, entry.key) {
            oracle.answer(entry.key, done);
            if let (Some(lifetimes), Outcome::Stored) = (&self.verify.lifetimes, outcome) {
                lifetimes.stored(entry.key, entry.sent, now);
            }
        }
    }

    /// `connection` is gone, and everything that was under way on it.
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

    /// Whether this run wrote `version`, and certainly a later one before the read was issued.
    fn is_stale(&self, version: Version, mismatch: &Mismatch) -> bool {
        let writer = self.verify.writer_at(mismatch.server.index());
        version.writer() == writer && version.number() < mismatch.version_min
    }

    /// Whether the values of operation `index` are looked at.
    fn is_checked(&self, index: u64) -> bool {
        unit(hash(self.seed, Stream::VERIFY, index)) < self.verify.fraction
    }

    fn is_key(&mut self, id: u64, key: &[u8]) -> bool {
        self.key.clear();
        self.keys.write(id, &mut self.key);
        self.key == key
    }

    /// The oracle that knows `key`, if this kind of operation gives it a value or takes it away.
    fn oracle_of_write(&self, server: ServerId, kind: OpKind, key: u64) -> Option<&Arc<Oracle>> {
        let writes = kind.stores_value() || kind.does(Action::Remove);
        (writes && key < self.numeric_from).then(|| &self.verify.oracles[server.index()])
    }
}

/// Something wrong with key `id` in the answer to `entry`.
fn found(entry: &InFlight, id: u64, server: ServerId, class: VerifyClass) -> Mismatch {
    let (op, version) = (entry.index, None);
    Mismatch { op, key: id, server, class, version_min: 0, version, offset: 0 }
}

impl Watch {
    /// Nothing of the next answer has come.
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
