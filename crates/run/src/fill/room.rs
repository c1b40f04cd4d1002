//! Whether a server holds what it was filled with. It is judged by this fill's own keys: what a
//! server throws out to make room for them may be anybody's.

use super::probe::{earliest, sample};
use super::{Filled, server_number};
use crate::failure::{Failure, FillFault, NoRoom};
use crate::lower::{keys_all, keys_own, mean, value_bytes};
use crate::survey::{ServerStatistics, figures, whole};
use memtide_engine::fleet::Fleet;
use memtide_engine::{Plan, ServerPlan};
use memtide_schema::warning::Shortfall;
use memtide_schema::{Scenario, Warning};

/// What a server keeps of an item beside its key and value, at most.
const ITEM_OVERHEAD_BYTES: u64 = 64;
/// A fill is checked after each of this many parts, or this many bytes, whichever is more.
const PORTIONS_MAX: u64 = 32;
const PORTION_BYTES_MIN: u64 = 64 << 20;
const MIB: u64 = 1 << 20;

/// A server's room while it is filled.
pub(super) struct Room<'a> {
    plan: &'a Plan,
    server: &'a ServerPlan,
    /// Items that it has thrown out, as it said last; none where it does not say.
    evictions: Option<i64>,
}

/// How many keys are stored before the server is looked at.
pub(super) fn portion(plan: &Plan) -> u64 {
    let keys = keys_own(plan);
    let bytes = keys.saturating_mul(item_bytes(plan));
    let portion = (bytes / PORTIONS_MAX).max(PORTION_BYTES_MIN);
    (portion / item_bytes(plan)).clamp(1, keys.max(1))
}

/// Bytes of an item in a server, by the lengths of a few.
fn item_bytes(plan: &Plan) -> u64 {
    mean(plan, |id| plan.keys.len(id)) + value_bytes(plan) + ITEM_OVERHEAD_BYTES
}

impl<'a> Room<'a> {
    /// The room before the fill.
    pub(super) fn new<F: Fleet>(
        fleet: &mut F,
        plan: &'a Plan,
        server: &'a ServerPlan,
        filled: &mut Filled,
    ) -> Self {
        filled.asked += 1;
        let evictions = figures(fleet, plan, server).ok().map(|now| whole(&now, "evictions"));
        Self { plan, server, evictions }
    }

    /// The keys at positions 0 to `end`, exclusive, have been stored: a sample must be there, the
    /// first ones included where the server threw items out. Before the last portion it is enough
    /// that nothing was thrown out.
    pub(super) fn check<F: Fleet>(
        &mut self,
        fleet: &mut F,
        scenario: &Scenario,
        end: u64,
        filled: &mut Filled,
    ) -> Result<(), Failure> {
        let (plan, server) = (self.plan, self.server);
        let after = figures(fleet, plan, server).ok();
        filled.asked += 1;
        let evictions = after.as_ref().map(|after| whole(after, "evictions"));
        let counted = self.evictions.zip(evictions).map(|(before, after)| after - before);
        let evicted = counted.unwrap_or(0);
        let whole_fill = end == keys_own(plan);
        if !whole_fill && evicted <= 0 {
            return Ok(());
        }
        self.evictions = evictions;
        let probed = sample(fleet, plan, server, (end, filled))?;
        filled.accept(&probed, server_number(plan, server));
        let (mut sampled, mut missing) = (probed.counters.keys, probed.missing());
        let found = share(sampled - missing, sampled);
        if evicted > 0 && missing == 0 {
            let probed = earliest(fleet, plan, server, filled)?;
            filled.accept(&probed, server_number(plan, server));
            sampled += probed.counters.keys;
            missing += probed.missing();
        }
        if whole_fill {
            filled.held.note(sampled, sampled - missing);
        }
        if filled.interrupted || missing == 0 {
            return Ok(());
        }
        if scenario.load_partial {
            filled.warnings.push(Warning::Shortfall(Shortfall::LoadPartial { sampled, missing }));
            return Ok(());
        }
        let advice = match &after {
            Some(after) if counted.is_some() => self.advice(after, (end as f64 * found) as u64),
            _ => "give it more memory (its -m)".to_owned(),
        };
        let too_small = NoRoom {
            server: server.name.clone(),
            keys: keys_own(plan),
            sampled,
            missing,
            stopped_after: (!whole_fill).then_some(end),
            evicted: counted,
            advice,
        };
        Err(FillFault::NoRoom(Box::new(too_small)).into())
    }

    /// The memory that would do: for this data set and for what else the server holds, of which
    /// `own` items are of this fill. A quarter more than the items themselves, since slabs leave
    /// room unused; and more than it has, since that was too little.
    fn advice(&self, after: &ServerStatistics, own: u64) -> String {
        let item_bytes = item_bytes(self.plan);
        let held = whole(after, "bytes").max(0) as u64;
        let others = held.saturating_sub(own.saturating_mul(item_bytes));
        let data = keys_all(self.plan).saturating_mul(item_bytes);
        let limit = whole(after, "limit_maxbytes").max(0) as u64;
        let needed = data.saturating_add(others).max(limit).saturating_mul(5) / 4;
        let beside = match others / MIB {
            0 => String::new(),
            others => format!(", including {others} MiB for the other items that it holds"),
        };
        format!("give it about -m {}{beside}", (needed / MIB + 1).max(64))
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
