//! Checks whether a server keeps what it was filled with. Judged by this fill's own keys, because
//! evicted items may belong to anyone.

use super::probe::{probe, sample};
use super::{Filled, server_number};
use crate::failure::{Failure, FillFault, NoRoom};
use crate::lower::{keys_all, keys_own, mean, value_bytes};
use crate::survey::{ServerStatistics, figures, whole};
use memtide_record::Warning;
use memtide_record::warning::Shortfall;
use memtide_scenario::Scenario;
use memtide_world::fleet::Fleet;
use memtide_world::plan::Work;
use memtide_world::{Plan, ServerPlan};

/// Largest overhead of an item in a server, besides its key and value, in bytes.
const ITEM_OVERHEAD_BYTES: u64 = 64;
/// A fill is checked after each `1 / PORTIONS_MAX` of its bytes, or each `PORTION_BYTES_MIN`,
/// whichever is more.
const PORTIONS_MAX: u64 = 32;
const PORTION_BYTES_MIN: u64 = 64 << 20;
const MIB: u64 = 1 << 20;

/// Checks a server's memory while it is filled.
pub(super) struct Room<'a> {
    plan: &'a Plan,
    server: &'a ServerPlan,
    /// The server's last count of evicted items; none if it does not report it.
    evictions: Option<i64>,
}

/// Number of keys to store between two checks.
pub(super) fn portion(plan: &Plan) -> u64 {
    let keys = keys_own(plan);
    let bytes = keys.saturating_mul(item_bytes(plan));
    let portion = (bytes / PORTIONS_MAX).max(PORTION_BYTES_MIN);
    (portion / item_bytes(plan)).clamp(1, keys.max(1))
}

/// Mean size of an item in a server in bytes, estimated from a few.
fn item_bytes(plan: &Plan) -> u64 {
    mean(plan, |id| plan.keys.len(id)) + value_bytes(plan) + ITEM_OVERHEAD_BYTES
}

impl<'a> Room<'a> {
    /// The state before the fill.
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

    /// Checks that the server keeps the keys at positions 0 to `end` (exclusive), which were
    /// stored: a sample must be found, including the first keys if the server evicted items. Before
    /// the last portion, no evictions are enough.
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
        let probed = sample(fleet, plan, server, end, filled)?;
        filled.accept(&probed, server_number(plan, server));
        let (mut sampled, mut missing) = (probed.counters.keys, probed.missing());
        let found = share(sampled - missing, sampled);
        if evicted > 0 && missing == 0 {
            let number = server_number(plan, server);
            let work = Work::Earliest { server: number };
            let probed = probe(fleet, plan, server, work, filled)?;
            filled.accept(&probed, number);
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

    /// Memory that would suffice for this data set and for the server's other items; `own` items
    /// belong to this fill. A quarter more than the items' size, because slabs leave room unused,
    /// and more than the server's present limit, which was too small.
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
