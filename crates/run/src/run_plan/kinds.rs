//! Figures of one kind of operation, taken from the totals.

use memtide_metrics::{Counters, Histogram, Slice};
use memtide_scenario::Kind;
use memtide_workload::{Action, OpKind};
use memtide_world::Plan;
use memtide_world::plan::slot;

/// Rows of this plan's tables: all, the kinds of the mix, and get by hit and miss.
pub(crate) fn kinds(plan: &Plan) -> Vec<Kind> {
    let mut kinds = vec![Kind::All];
    for kind in plan.source.mix.kinds() {
        kinds.push(kind.into());
        if kind == OpKind::Get {
            kinds.extend([Kind::GetHit, Kind::GetMiss]);
        }
    }
    kinds
}

/// Slots that make up a kind.
fn slots_of(kind: Kind, plan: &Plan) -> Vec<usize> {
    match (kind, kind.op()) {
        (Kind::All, _) | (_, None) => {
            let all = plan.source.mix.kinds().map(OpKind::index);
            all.chain([slot::GET_HIT, slot::GET_MISS]).collect()
        }
        (Kind::GetHit, _) => vec![slot::GET_HIT],
        (Kind::GetMiss, _) => vec![slot::GET_MISS],
        (Kind::Get, _) => vec![OpKind::Get.index(), slot::GET_HIT, slot::GET_MISS],
        (_, Some(op)) => vec![op.index()],
    }
}

/// Distribution of a kind, merged from its slots.
pub(crate) fn merged(slots: &[Option<Histogram<u64>>], kind: Kind, plan: &Plan) -> Histogram<u64> {
    let mut sum = Histogram::new();
    let wanted = slots_of(kind, plan);
    for part in wanted.into_iter().filter_map(|slot| slots.get(slot)?.as_ref()) {
        sum.absorb(part);
    }
    sum
}

/// Slice of a kind, merged from its slots.
pub(crate) fn merged_slice(slots: &[Slice], kind: Kind, plan: &Plan) -> Slice {
    let mut sum = Slice::default();
    let wanted = slots_of(kind, plan);
    wanted.into_iter().filter_map(|slot| slots.get(slot)).for_each(|part| sum.absorb(part));
    sum
}

/// Keys of the operations that were sent; an operation without keys counts as one.
pub(crate) fn keys_sent(counters: &Counters) -> u64 {
    let reading = OpKind::ALL.into_iter().filter(|kind| kind.reads());
    let asking = reading.filter(|kind| !kind.does(Action::ReadAndTouch));
    let by_keys: u64 = asking.map(|kind| counters.kinds[kind.index()].sent).sum();
    counters.sent - by_keys + counters.keys_asked
}

/// Number of operations of a kind that were sent and got no good answer. Their service times are
/// unknown, and rank above those of the answered ones.
pub(crate) fn sent_unanswered(counters: &Counters, kind: Kind) -> u64 {
    match (kind, kind.op()) {
        (Kind::GetHit | Kind::GetMiss, _) => 0,
        (_, Some(op)) => {
            let of_kind = &counters.kinds[op.index()];
            of_kind.sent - of_kind.answered - of_kind.unacknowledged
        }
        (_, None) => counters.sent - counters.answered - counters.unacknowledged,
    }
}

/// Number of operations of a kind that rank above its answered ones. Whether they would have been
/// hits or misses is unknown, so they rank above neither.
pub(crate) fn unanswered(counters: &Counters, kind: Kind) -> u64 {
    match (kind, kind.op()) {
        (Kind::GetHit | Kind::GetMiss, _) => 0,
        (_, Some(op)) => counters.kinds[op.index()].unanswered,
        (_, None) => counters.unanswered(),
    }
}
