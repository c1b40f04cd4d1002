//! The interface through which an engine asks for operations and reports outcomes. Does not know
//! when they are due (see [`crate::schedule`]) or which connection carries them.

mod window;

pub use window::{Pick, WindowLaw, WindowPlan, WindowSource};

use crate::mix::{Mix, MixOrder, Turn};
use crate::op::{Op, OpKind, Outcome};
use crate::popularity::{KeyPicker, Popularity};
use memtide_base::Instant;
use memtide_base::rng::{Draws, Stream, hash};

/// A source's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Do this operation.
    Op(Op),
    /// There are no more operations.
    Done,
}

/// Decides operations and learns their outcomes.
pub trait Source {
    /// The source for client number `client` of the run, made from an unused source. Only a source
    /// with a memory differs between clients.
    fn of_client(&self, _client: u32) -> Self
    where
        Self: Sized + Clone,
    {
        self.clone()
    }

    /// The operation at position `index` of the run's sequence, as given out by the schedule. `now`
    /// is for sources that replay recorded times.
    fn next(&mut self, index: u64, now: Instant) -> Next;

    /// The operation at position `index`, which will not be sent for lack of room or time. The
    /// caller settles it at once and requests none of its further keys.
    fn skip(&mut self, index: u64, now: Instant) -> Next {
        self.next(index, now)
    }

    /// Skips operation `index` and settles it with `outcome`. Returns its kind and number of keys;
    /// `None` if there are no more operations.
    fn forgo(&mut self, index: u64, now: Instant, outcome: Outcome) -> Option<(OpKind, u16)> {
        let Next::Op(op) = self.skip(index, now) else { return None };
        self.settle(&op, outcome);
        Some((op.kind, op.keys))
    }

    /// The id of the `nth` key of an operation of this source, for `nth` below `op.keys`; key 0 is
    /// `op.key`. Keys of one operation may repeat. Valid until the next call of `next`.
    fn key(&self, op: &Op, nth: u16) -> u64;

    /// Reports the outcome of an operation; called exactly once for each.
    fn settle(&mut self, op: &Op, outcome: Outcome);
}

/// The parameters of a [`PlannedSource`].
#[derive(Clone, Debug, PartialEq)]
pub struct SourcePlan {
    /// The seed of the run.
    pub seed: u64,
    /// The kinds and their weights.
    pub mix: Mix,
    /// The order of the kinds.
    pub order: MixOrder,
    /// The frequency with which each key is requested.
    pub popularity: Popularity,
    /// The number of ordinary keys, at least 1: ids `0..keys`.
    pub keys: u64,
    /// The number of parallel walkers if the popularity is a walk, at least 1.
    pub walkers: u32,
    /// The number of keys that a get or gets requests, at least 1.
    pub multiget: u16,
    /// Share of gets that request `multiget` keys, from 0 to 1; the rest request one key.
    pub multiget_share: f64,
    /// The number of numeric keys for incr and decr: the ids that follow `keys`. If 0, incr and
    /// decr work on the ordinary keys.
    pub numeric_keys: u64,
    /// The window of objects that each client works on, in place of keys by popularity.
    pub window: Option<WindowPlan>,
}

/// The source that a plan asks for.
#[derive(Clone, Debug)]
pub enum PlannedSource {
    /// Keys by popularity.
    Mix(MixSource),
    /// A window of objects for each client.
    Window(WindowSource),
}

impl PlannedSource {
    /// The source of a plan, whose fields must be within the bounds of [`SourcePlan`].
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

/// Operations without memory: operation i is a function of (seed, i). If the kinds rotate, its kind
/// is a function of the number of operations that the client has made.
#[derive(Clone, Debug)]
pub struct MixSource {
    seed: u64,
    mix: Mix,
    kinds: Draws,
    turn: Option<Turn>,
    multiget: u16,
    /// A get whose draw is below this requests `multiget` keys; `None` if all do.
    many_below: Option<u64>,
    ordinary: KeyPicker,
    /// The id of the first numeric key.
    numeric_from: u64,
    /// Made even if no kind uses it.
    numeric: KeyPicker,
}

impl MixSource {
    /// The source of a plan, whose fields must be within the bounds of [`SourcePlan`].
    pub fn new(plan: &SourcePlan) -> Self {
        assert!(plan.multiget > 0, "a get asks for at least one key");
        // 2^64 as a double; the cast saturates.
        let below = (plan.multiget_share * 18_446_744_073_709_551_616.0) as u64;
        Self {
            seed: plan.seed,
            mix: plan.mix.clone(),
            kinds: Draws::new(plan.seed, Stream::KIND),
            turn: (plan.order == MixOrder::Turn).then(|| Turn::new(&plan.mix)),
            multiget: plan.multiget,
            many_below: (plan.multiget_share < 1.0).then_some(below),
            ordinary: picker(plan, plan.keys).with_stride(plan.multiget),
            numeric_from: if plan.numeric_keys > 0 { plan.keys } else { 0 },
            numeric: match plan.numeric_keys {
                0 => picker(plan, plan.keys),
                keys => picker(plan, keys),
            },
        }
    }

    /// The kind of operation `index`. If kinds rotate, it must be asked once for each operation.
    #[inline(always)]
    fn kind(&mut self, index: u64) -> OpKind {
        match &mut self.turn {
            None => self.mix.pick(self.kinds.bits(index)),
            Some(turn) => turn.next(),
        }
    }

    /// The number of keys of operation `index` of this kind. A separate function, so that `next`
    /// does not pay for its registers.
    #[inline(never)]
    fn keys_of(&self, kind: OpKind, index: u64) -> u16 {
        match self.many_below {
            _ if !kind.allows_many_keys() => 1,
            Some(below) if hash(self.seed, Stream::MULTIGET, index) >= below => 1,
            _ => self.multiget,
        }
    }
}

/// What picks from this number of keys.
fn picker(plan: &SourcePlan, keys: u64) -> KeyPicker {
    KeyPicker::new(plan.popularity.clone(), keys, plan.seed).with_walkers(plan.walkers)
}

impl Source for MixSource {
    #[inline(always)]
    fn next(&mut self, index: u64, _now: Instant) -> Next {
        let kind = self.kind(index);
        debug_assert!(
            self.turn.is_some() || self.kind(index) == kind,
            "a kind follows from a draw"
        );
        let key = if kind.is_numeric() {
            self.numeric_from + self.numeric.pick(index, 0)
        } else {
            self.ordinary.pick(index, 0)
        };
        let keys = if self.multiget > 1 { self.keys_of(kind, index) } else { 1 };
        debug_assert!((1..=self.multiget).contains(&keys), "a get asks for 1 to multiget keys");
        Next::Op(Op { index, key, kind, keys })
    }

    /// Draws no key, and remembers nothing of the operation.
    fn forgo(&mut self, index: u64, _now: Instant, _outcome: Outcome) -> Option<(OpKind, u16)> {
        let kind = self.kind(index);
        Some((kind, if self.multiget > 1 { self.keys_of(kind, index) } else { 1 }))
    }

    #[inline]
    fn key(&self, op: &Op, nth: u16) -> u64 {
        debug_assert!(nth < op.keys, "an operation has no such key");
        if nth == 0 { op.key } else { self.ordinary.pick(op.index, nth) }
    }

    #[inline]
    fn settle(&mut self, _op: &Op, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests;
