//! A window of objects for each client. The client stores new objects, overwrites some, reads those
//! it has stored, and replaces the oldest by the newest. No two clients share an object.
//!
//! Takes four bytes of memory per object, however long the run. A failed operation changes nothing:
//! the object that a new one should have replaced is still there.

mod law;

pub use law::{Pick, WindowLaw};

use super::{Next, Source, SourcePlan};
use crate::mix::{Mix, MixOrder, Turn};
use crate::op::{Op, OpKind, Outcome};
use memtide_base::Instant;
use memtide_base::rng::{Stream, below, hash};
use std::num::NonZeroU64;

/// The number of objects that occupy one slot in turn before the first returns.
const GENERATIONS: u32 = 1 << 20;
/// Not the index of any operation.
const NO_OP: u64 = u64::MAX;

/// The windows of all clients of a run. The plan's mix may contain only get and set, and a client
/// may have at most one operation outstanding.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowPlan {
    /// The number of clients, at least 1. Client c makes the operations whose index is c modulo
    /// this number.
    pub clients: u32,
    /// The number of objects in each client's window, at least 1.
    pub objects: u32,
    /// The share of its sets that overwrite an object, from 0 to 1; the rest store a new one.
    pub overwrite: f64,
    /// The object that is read or overwritten.
    pub pick: Pick,
    /// True if the windows start full, because the first objects were stored before.
    pub full: bool,
    /// Operations before this index are made, counting each key of a get. Keys gathered for a get
    /// of many keys are requested once nothing else is left.
    pub keys_end: Option<u64>,
}

impl WindowPlan {
    /// The number of slots in all windows. The first objects have the ids below it; ids that are
    /// equal modulo this number occupy the same slot in turn.
    pub fn slots(&self) -> NonZeroU64 {
        let slots = u64::from(self.clients.max(1)) * u64::from(self.objects.max(1));
        NonZeroU64::new(slots).expect("both factors are at least 1")
    }

    /// One more than the largest id.
    pub fn ids(&self) -> u64 {
        self.slots().get().saturating_mul(u64::from(GENERATIONS))
    }
}

/// Operations on the window of one client.
#[derive(Clone, Debug)]
pub struct WindowSource {
    plan: WindowPlan,
    client: u64,
    seed: u64,
    mix: Mix,
    turn: Option<Turn>,
    multiget: u16,
    /// For each slot, the number of objects before the present one.
    generations: Vec<u32>,
    /// Slots below this hold an object.
    filled: u32,
    /// The slot of the oldest object, once all slots are filled.
    oldest: u32,
    /// The slot that a sequential pick takes next.
    picked: u32,
    /// The number of decisions so far, which numbers the draws: kinds and picks.
    kinds: u64,
    picks: u64,
    sets: u64,
    overwrites: u64,
    /// Keys gathered for the next get.
    gathered: u16,
    under_way: Batch,
}

/// The keys of the last get, whose reply may arrive after it has ended.
#[derive(Clone, Debug)]
struct Batch {
    index: u64,
    keys: Vec<u64>,
}

impl WindowSource {
    /// A template from which the clients' sources are made; it remembers nothing and allocates
    /// nothing.
    pub(super) fn new(plan: &SourcePlan, window: &WindowPlan) -> Self {
        assert!(plan.multiget > 0, "a get asks for at least one key");
        Self {
            plan: window.clone(),
            client: 0,
            seed: plan.seed,
            mix: plan.mix.clone(),
            turn: (plan.order == MixOrder::Turn).then(|| Turn::new(&plan.mix)),
            multiget: plan.multiget,
            generations: Vec::new(),
            filled: 0,
            oldest: 0,
            picked: 0,
            kinds: 0,
            picks: 0,
            sets: 0,
            overwrites: 0,
            gathered: 0,
            under_way: Batch { index: NO_OP, keys: Vec::new() },
        }
    }

    /// The next kind. Before the first set there is nothing to read.
    fn kind(&mut self) -> OpKind {
        let kind = match &mut self.turn {
            Some(turn) => turn.next(),
            None => {
                let number = self.kinds * u64::from(self.plan.clients) + self.client;
                self.mix.pick(hash(self.seed, Stream::KIND, number))
            }
        };
        self.kinds += 1;
        if self.filled == 0 && self.sets == 0 { OpKind::Set } else { kind }
    }

    /// The object to store.
    fn storing(&mut self) -> u64 {
        let wanted = (self.overwrites as f64) < self.sets as f64 * self.plan.overwrite;
        self.sets += 1;
        if wanted && self.filled > 0 {
            self.overwrites += 1;
            return self.any();
        }
        if self.filled < self.plan.objects {
            return self.id(self.filled, self.generations[self.filled as usize]);
        }
        let generation = self.generations[self.oldest as usize] + 1;
        self.id(self.oldest, generation % GENERATIONS)
    }

    /// An object that is present; if none is, the first to be stored.
    fn any(&mut self) -> u64 {
        let slot = match self.plan.pick {
            _ if self.filled == 0 => 0,
            Pick::Random => {
                let number = self.picks * u64::from(self.plan.clients) + self.client;
                below(hash(self.seed, Stream::KEY, number), u64::from(self.filled)) as u32
            }
            Pick::Sequential => {
                let slot = self.picked % self.filled;
                self.picked = slot + 1;
                slot
            }
        };
        self.picks += 1;
        self.id(slot, self.generations[slot as usize])
    }

    fn id(&self, slot: u32, generation: u32) -> u64 {
        debug_assert!(slot < self.plan.objects && generation < GENERATIONS, "no such object");
        let clients = u64::from(self.plan.clients);
        u64::from(generation) * self.plan.slots().get() + u64::from(slot) * clients + self.client
    }

    /// The operation at `index`; only the first key of a get is known yet.
    fn decide(&mut self, index: u64) -> Op {
        let left = self.plan.keys_end.map_or(u64::MAX, |end| {
            end.saturating_sub(index).div_ceil(u64::from(self.plan.clients)).max(1)
        });
        let full = u64::from(self.multiget).min(left);
        while u64::from(self.gathered) < full {
            if self.kind() == OpKind::Set {
                return Op { index, key: self.storing(), kind: OpKind::Set, keys: 1 };
            }
            self.gathered += 1;
        }
        let keys = std::mem::take(&mut self.gathered);
        Op { index, key: self.any(), kind: OpKind::Get, keys }
    }

    /// Records that `id` was stored.
    fn stored(&mut self, id: u64) {
        let (generation, slot) = (id / self.plan.slots(), id % self.plan.slots());
        let client = slot % u64::from(self.plan.clients);
        debug_assert_eq!(client, self.client, "a client stores its own objects");
        let slot = (slot / u64::from(self.plan.clients)) as u32;
        if slot >= self.filled {
            self.filled = slot + 1;
            debug_assert!(self.filled <= self.plan.objects, "a window holds its objects");
        } else if self.generations[slot as usize] != generation as u32 {
            self.generations[slot as usize] = generation as u32;
            self.oldest = (slot + 1) % self.plan.objects;
        }
    }
}

impl Source for WindowSource {
    fn of_client(&self, client: u32) -> Self {
        let objects = self.plan.objects;
        assert!(client < self.plan.clients, "client {client} is one of the plan's");
        let keys = Vec::with_capacity(usize::from(self.multiget));
        Self {
            client: u64::from(client),
            generations: vec![0; objects as usize],
            filled: if self.plan.full { objects } else { 0 },
            under_way: Batch { index: NO_OP, keys },
            ..self.clone()
        }
    }

    fn next(&mut self, index: u64, _now: Instant) -> Next {
        let op = self.decide(index);
        if op.keys > 1 {
            let mut keys = std::mem::take(&mut self.under_way.keys);
            keys.clear();
            keys.push(op.key);
            keys.extend((1..op.keys).map(|_| self.any()));
            self.under_way = Batch { index, keys };
        }
        Next::Op(op)
    }

    fn skip(&mut self, index: u64, _now: Instant) -> Next {
        Next::Op(self.decide(index))
    }

    fn key(&self, op: &Op, nth: u16) -> u64 {
        if nth == 0 || self.under_way.index != op.index {
            return op.key;
        }
        self.under_way.keys[usize::from(nth)]
    }

    fn settle(&mut self, op: &Op, outcome: Outcome) {
        if op.kind == OpKind::Set && outcome == Outcome::Stored {
            self.stored(op.key);
        }
    }
}

#[cfg(test)]
mod tests;
