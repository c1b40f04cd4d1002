//! What to do next, and what came of it: the door through which an engine asks for operations.
//! Knows neither when (see [`crate::schedule`]) nor over which connection.

mod window;

pub use window::{Pick, WindowLaw, WindowPlan, WindowSource};

use crate::mix::{Mix, MixOrder, Turn};
use crate::op::{Op, OpKind, Outcome};
use crate::popularity::{KeyPicker, Popularity};
use memtide_base::Instant;
use memtide_base::rng::{Draws, Stream, hash};

/// What a source has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Do this.
    Op(Op),
    /// There is nothing more to do, ever.
    Done,
}

/// Decides operations and learns what came of them.
pub trait Source {
    /// The source of client number `client` of the run, made from one that no client has used.
    /// Only a source that remembers something tells its clients apart.
    fn of_client(&self, _client: u32) -> Self
    where
        Self: Sized + Clone,
    {
        self.clone()
    }

    /// The operation at position `index` of the run's sequence, a position which the schedule
    /// gave out; `now` is for sources that replay recorded times.
    fn next(&mut self, index: u64, now: Instant) -> Next;

    /// The same of an operation that is not sent, for want of room or of time: it is settled at
    /// once, and nobody asks for its further keys.
    fn skip(&mut self, index: u64, now: Instant) -> Next {
        self.next(index, now)
    }

    /// Gives up operation `index`, which is settled with `outcome` at once: returns its kind and
    /// how many keys it asks for. None when there is nothing more to do, ever.
    fn forgo(&mut self, index: u64, now: Instant, outcome: Outcome) -> Option<(OpKind, u16)> {
        let Next::Op(op) = self.skip(index, now) else { return None };
        self.settle(&op, outcome);
        Some((op.kind, op.keys))
    }

    /// The id of the `nth` key of an operation of this source, `nth` below `op.keys`; the 0th is
    /// `op.key`. The keys of one operation may repeat each other. Known until the next `next`.
    fn key(&self, op: &Op, nth: u16) -> u64;

    /// What came of an operation; called exactly once for each.
    fn settle(&mut self, op: &Op, outcome: Outcome);
}

/// What a [`PlannedSource`] is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcePlan {
    /// The seed of the run.
    pub seed: u64,
    /// Which kinds, and how many of each.
    pub mix: Mix,
    /// In which order they come.
    pub order: MixOrder,
    /// Which keys, and how often each.
    pub popularity: Popularity,
    /// How many ordinary keys there are, at least 1: ids `0..keys`.
    pub keys: u64,
    /// How many go side by side when the popularity is a walk, at least 1.
    pub walkers: u32,
    /// How many keys a get or gets asks for, at least 1.
    pub multiget: u16,
    /// The part of them that does, from 0 to 1; the others ask for one.
    pub multiget_share: f64,
    /// How many numeric keys there are, for incr and decr: the ids that follow `keys`. Without
    /// any, incr and decr work on the ordinary ones.
    pub numeric_keys: u64,
    /// The objects that each client works on instead of keys by popularity, if it does.
    pub window: Option<WindowPlan>,
}

/// The source of a plan, whichever it is.
#[derive(Clone, Debug)]
pub enum PlannedSource {
    /// Keys by popularity.
    Mix(MixSource),
    /// A window of objects for each client.
    Window(WindowSource),
}

impl PlannedSource {
    /// The source of a plan, which must keep to the bounds of [`SourcePlan`]'s fields.
    pub fn new(plan: &SourcePlan) -> Self {
        match &plan.window {
            None => Self::Mix(MixSource::new(plan)),
            Some(window) => Self::Window(WindowSource::new(plan, window)),
        }
    }
}

impl Source for PlannedSource {
    fn of_client(&self, client: u32) -> Self {
        match self {
            Self::Mix(source) => Self::Mix(source.of_client(client)),
            Self::Window(source) => Self::Window(source.of_client(client)),
        }
    }

    #[inline]
    fn next(&mut self, index: u64, now: Instant) -> Next {
        match self {
            Self::Mix(source) => source.next(index, now),
            Self::Window(source) => source.next(index, now),
        }
    }

    fn skip(&mut self, index: u64, now: Instant) -> Next {
        match self {
            Self::Mix(source) => source.skip(index, now),
            Self::Window(source) => source.skip(index, now),
        }
    }

    fn forgo(&mut self, index: u64, now: Instant, outcome: Outcome) -> Option<(OpKind, u16)> {
        match self {
            Self::Mix(source) => source.forgo(index, now, outcome),
            Self::Window(source) => source.forgo(index, now, outcome),
        }
    }

    #[inline]
    fn key(&self, op: &Op, nth: u16) -> u64 {
        match self {
            Self::Mix(source) => source.key(op, nth),
            Self::Window(source) => source.key(op, nth),
        }
    }

    #[inline]
    fn settle(&mut self, op: &Op, outcome: Outcome) {
        match self {
            Self::Mix(source) => source.settle(op, outcome),
            Self::Window(source) => source.settle(op, outcome),
        }
    }
}

/// Operations without a memory: operation i is a function of (seed, i). Where the kinds come in
/// turn, that is a function of how many operations the client has made.
#[derive(Clone, Debug)]
pub struct MixSource {
    seed: u64,
    mix: Mix,
    kinds: Draws,
    turn: Option<Turn>,
    multiget: u16,
    /// A get whose draw is below this asks for many keys; all do when there is none.
    many_below: Option<u64>,
    ordinary: KeyPicker,
    /// The id of the first numeric key.
    numeric_from: u64,
    /// Made even when no kind uses it; never asked then.
    numeric: KeyPicker,
}

impl MixSource {
    /// The source of a plan, which must keep to the bounds of [`SourcePlan`]'s fields.
    pub fn new(plan: &SourcePlan) -> Self {
        assert!(plan.multiget > 0, "a get asks for at least one key");
        let picker = |keys| {
            let picker = KeyPicker::new(plan.popularity.clone(), keys, plan.seed);
            picker.with_walkers(plan.walkers)
        };
        // 2^64 as a double; the cast saturates.
        let below = (plan.multiget_share * 18_446_744_073_709_551_616.0) as u64;
        Self {
            seed: plan.seed,
            mix: plan.mix.clone(),
            kinds: Draws::new(plan.seed, Stream::KIND),
            turn: (plan.order == MixOrder::Turn).then(|| Turn::new(&plan.mix)),
            multiget: plan.multiget,
            many_below: (plan.multiget_share < 1.0).then_some(below),
            ordinary: picker(plan.keys).with_stride(plan.multiget),
            numeric_from: if plan.numeric_keys > 0 { plan.keys } else { 0 },
            numeric: picker(if plan.numeric_keys > 0 { plan.numeric_keys } else { plan.keys }),
        }
    }
}

impl MixSource {
    /// The kind of operation `index`. Where kinds come in turn, each is asked for once.
    #[inline]
    fn kind(&mut self, index: u64) -> OpKind {
        match &mut self.turn {
            None => self.mix.pick(self.kinds.bits(index)),
            Some(turn) => turn.next(),
        }
    }

    /// How many keys operation `index` of this kind asks for. Apart from `next`, which would
    /// otherwise pay for the registers that it needs.
    #[inline(never)]
    fn keys_of(&self, kind: OpKind, index: u64) -> u16 {
        match self.many_below {
            _ if !kind.allows_many_keys() => 1,
            Some(below) if hash(self.seed, Stream::MULTIGET, index) >= below => 1,
            _ => self.multiget,
        }
    }
}

impl Source for MixSource {
    fn next(&mut self, index: u64, _now: Instant) -> Next {
        let kind = self.kind(index);
        let key = if kind.is_numeric() {
            self.numeric_from + self.numeric.pick(index, 0)
        } else {
            self.ordinary.pick(index, 0)
        };
        let keys = if self.multiget > 1 { self.keys_of(kind, index) } else { 1 };
        Next::Op(Op { index, key, kind, keys })
    }

    /// Its key is not drawn, and nothing is remembered of it.
    fn forgo(&mut self, index: u64, _now: Instant, _outcome: Outcome) -> Option<(OpKind, u16)> {
        let kind = self.kind(index);
        Some((kind, if self.multiget > 1 { self.keys_of(kind, index) } else { 1 }))
    }

    fn key(&self, op: &Op, nth: u16) -> u64 {
        if nth == 0 { op.key } else { self.ordinary.pick(op.index, nth) }
    }

    fn settle(&mut self, _op: &Op, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests;
