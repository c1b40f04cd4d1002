//! Filling the servers, and finding out whether that is needed and whether it worked.
//!
//! A fill and a probe are plans like any other, carried out by the same workers. Nothing is ever
//! flushed.

use crate::conduct::{Ended, conduct};
use crate::failure::Failure;
use crate::lower::needs_keys;
use crate::survey::{Figures, figures, whole};
use crate::witness::Witness;
use memtide_base::{Instant, ServerId, Span};
use memtide_engine::fleet::Fleet;
use memtide_engine::plan::{RequestPlan, RowPlan, segment};
use memtide_engine::{
    Clients, Cooldown, Pacing, Plan, RateUnit, Refill, ServerPlan, Transport, Verify, Window,
};
use memtide_metrics::{Counters, Mismatch, Mismatches, ReplyClass, Totals};
use memtide_schema::record::Phase;
use memtide_schema::scenario::Load;
use memtide_schema::{Event, Progress, Scenario, Warning};
use memtide_workload::{Mix, MixOrder, OpKind, Popularity, SourcePlan, WindowPlan};

/// Keys that a probe asks for.
const SAMPLE: u64 = 1_000;
const FILL_CONNECTIONS_PER_WORKER: u32 = 4;
const FILL_DEPTH_MAX: u32 = 64;
/// Bytes of requests that a fill has outstanding on one connection.
const FILL_BYTES: usize = 256 * 1024;
const PROBE_DEPTH: u32 = 16;

/// What filling did.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// Counts of all fills and probes.
    pub(crate) counters: Counters,
    /// Wrong values that probes found.
    pub(crate) mismatches: Mismatches,
    /// Connections that were opened for them.
    pub(crate) opened: u64,
    /// Questions asked meanwhile, each on a connection of its own.
    pub(crate) asked: u64,
    /// The user asked to stop.
    pub(crate) interrupted: bool,
    /// What was found to be on the servers at last.
    pub(crate) held: Held,
    /// What was accepted only because the scenario says so.
    pub(crate) warnings: Vec<Warning>,
}

/// Keys of a sample, or of a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Keys that were looked for or stored.
    pub(crate) keys: u64,
    /// Those of them that were there.
    pub(crate) found: u64,
}

impl Held {
    fn note(&mut self, keys: u64, found: u64) {
        self.keys += keys;
        self.found += found;
    }
}

/// Fills each server that needs it, as `load` says.
pub(crate) fn fill<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    load: Load,
    witness: &mut impl Witness,
) -> Result<Filled, Failure> {
    let mut filled = Filled::default();
    let wanted = match (load, &plan.source.window) {
        (Load::Always, _) => true,
        (Load::Never, _) => false,
        (Load::Auto, Some(window)) => window.full,
        (Load::Auto, None) => needs_keys(&plan.source.mix),
    };
    if !wanted {
        return Ok(filled);
    }
    witness.on(&Event::Phase(Phase::Load));
    if let Some(window) = &plan.source.window {
        fill_windows(fleet, scenario, (plan, window), &mut filled, witness)?;
        return Ok(filled);
    }
    let keys = keys_all(plan);
    for server in &plan.servers {
        if load == Load::Auto && !missing_keys(fleet, plan, server, &mut filled)? {
            continue;
        }
        if filled.interrupted {
            break;
        }
        witness.on(&Event::Note(format!("filling server {} with {keys} keys", server.name)));
        let before = figures(fleet, plan, server).ok();
        store_all(fleet, plan, server, &mut filled, witness)?;
        if filled.interrupted {
            break;
        }
        check(fleet, scenario, plan, (server, before), &mut filled)?;
    }
    Ok(filled)
}

/// Has every client fill its window, one set at a time as always.
fn fill_windows<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    (plan, window): (&Plan, &WindowPlan),
    filled: &mut Filled,
    witness: &mut impl Witness,
) -> Result<(), Failure> {
    let total = window.places().get();
    witness.on(&Event::Note(format!(
        "filling {} windows with {} objects each",
        window.clients, window.objects
    )));
    let empty = WindowPlan { overwrite: 0.0, full: false, keys_end: None, ..window.clone() };
    let mix = only(OpKind::Set);
    let source = SourcePlan { mix, multiget: 1, window: Some(empty), ..plan.source.clone() };
    let fill = Plan { verify: plan.verify.clone(), ..beside(plan, source, total) };
    let copies = plan.copies();
    let ended = conduct(fleet, &fill, &mut |start, now, totals| {
        witness.on(&progress((start, now), totals, total * copies));
    })?;
    let counters = filled.absorb(&ended, "every server")?;
    // A copy that is missing will be missed.
    let stored = counters.replies[ReplyClass::Stored as usize] / copies;
    filled.held.note(total, stored);
    if stored == total || ended.interrupted {
        return Ok(());
    }
    if scenario.load_partial {
        filled.warnings.push(Warning::LoadPartial { sampled: total, missing: total - stored });
        return Ok(());
    }
    Err(Failure::unreachable(format!(
        "filling the windows failed: {stored} of {total} objects were stored{}; use a smaller \
         --window or fewer --clients, or accept it with --load-partial",
        said(&ended)
    )))
}

/// Asks for a sample of keys. Whether some are missing, or have values of another scenario;
/// refuses to fill a server of somebody else.
fn missing_keys<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    filled: &mut Filled,
) -> Result<bool, Failure> {
    let probed = probe(fleet, plan, server, filled)?;
    let strange = probed.is_strange();
    if !strange {
        filled.accept(&probed, server_number(plan, server));
    }
    let hits = if strange { 0 } else { probed.counters.hits };
    if hits == probed.counters.keys {
        filled.held.note(hits, hits);
        return Ok(false);
    }
    filled.asked += 1;
    let items = figures(fleet, plan, server).map_or(0, |figures| whole(&figures, "curr_items"));
    let local = server.addresses.iter().all(|address| address.is_local());
    let somebodys = hits == 0 && items > 0 || items as u64 > keys_all(plan);
    if !local && somebodys {
        return Err(Failure::usage(format!(
            "server {} holds {items} items that are not of this scenario; filling could evict \
             them: use --load always to fill it all the same, or --load never to leave it as it is",
            server.name
        )));
    }
    Ok(true)
}

fn probe<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    filled: &mut Filled,
) -> Result<Probed, Failure> {
    let source = side_source(plan, OpKind::Get, Popularity::Sample);
    let probe = Plan {
        connections: u32::from(plan.workers),
        depth: PROBE_DEPTH,
        ..side_plan(plan, server, source, SAMPLE)
    };
    let verify = probe.verify.map(|verify| Verify { fraction: 1.0, ..verify });
    let probe = Plan { verify, ..probe };
    let ended = conduct(fleet, &probe, &mut |_, _, _| {})?;
    let counters = filled.absorb(&ended, &of_server(server))?;
    // Some errors are what a run may be about; a server that mostly gives them is no memcached.
    if counters.answered < counters.intended / 2 && !ended.interrupted {
        return Err(Failure::unreachable(format!(
            "server {} answered {} of {} gets; is it a memcached with the text protocol?{}",
            server.name,
            counters.answered,
            counters.intended,
            said(&ended)
        )));
    }
    Ok(Probed { counters, mismatches: ended.totals.mismatches })
}

/// What a probe found.
struct Probed {
    counters: Counters,
    mismatches: Mismatches,
}

impl Probed {
    /// Whether most of the values are not of this scenario: that is no fault of the server's.
    fn is_strange(&self) -> bool {
        self.counters.wrong.iter().sum::<u64>() * 2 > self.counters.verified
    }
}

fn server_number(plan: &Plan, server: &ServerPlan) -> usize {
    let number = plan.servers.iter().position(|one| std::ptr::eq(one, server));
    number.expect("it is a server of the plan")
}

fn store_all<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    filled: &mut Filled,
    witness: &mut impl Witness,
) -> Result<(), Failure> {
    let total = keys_all(plan);
    let source = side_source(plan, OpKind::Set, Popularity::Sequential);
    let sampled = (0..16).map(|nth| plan.values.len(nth * total / 16)).sum::<usize>() / 16;
    let fitting = (FILL_BYTES / (sampled + 64)) as u32;
    let workers = u32::from(plan.workers);
    let fill = Plan {
        connections: (workers * FILL_CONNECTIONS_PER_WORKER).min(plan.connections.max(workers)),
        depth: fitting.clamp(1, FILL_DEPTH_MAX),
        ..side_plan(plan, server, source, total)
    };
    let ended = conduct(fleet, &fill, &mut |start, now, totals| {
        witness.on(&progress((start, now), totals, total));
    })?;
    let counters = filled.absorb(&ended, &of_server(server))?;
    let stored = counters.replies[ReplyClass::Stored as usize];
    if stored < total && !ended.interrupted {
        return Err(Failure::unreachable(format!(
            "filling server {} failed: it stored {stored} of {total} keys{}",
            server.name,
            said(&ended)
        )));
    }
    Ok(())
}

/// After a fill nothing may have been evicted and a sample must be there.
fn check<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    (server, before): (&ServerPlan, Option<Figures>),
    filled: &mut Filled,
) -> Result<(), Failure> {
    let after = figures(fleet, plan, server).ok();
    filled.asked += 2;
    let of = |side: &Option<Figures>, name| side.as_ref().map_or(0, |side| whole(side, name));
    let evicted = of(&after, "evictions") - of(&before, "evictions");
    let probed = probe(fleet, plan, server, filled)?;
    filled.accept(&probed, server_number(plan, server));
    let probed = probed.counters;
    if filled.interrupted || (evicted == 0 && probed.hits == probed.keys) {
        filled.held.note(keys_all(plan), keys_all(plan));
        return Ok(());
    }
    filled.held.note(probed.keys, probed.hits);
    let missing = probed.keys - probed.hits;
    if scenario.load_partial {
        filled.warnings.push(Warning::LoadPartial { sampled: probed.keys, missing });
        return Ok(());
    }
    let items = of(&after, "curr_items").max(1);
    let item_bytes = of(&after, "bytes") / items;
    // A quarter more than the items themselves: slabs leave room unused.
    let needed_mb = (keys_all(plan) as i64 * item_bytes * 5 / 4 / (1024 * 1024) + 1).max(64);
    Err(Failure::goal(format!(
        "server {} cannot hold the {} keys: {evicted} items were evicted and {missing} of {} \
         sampled keys are missing after the fill; give it about -m {needed_mb}, use fewer or \
         smaller --keys, or accept it with --load-partial",
        server.name,
        keys_all(plan),
        probed.keys
    )))
}

/// A mix of nothing but `kind`.
fn only(kind: OpKind) -> Mix {
    let word = format!("{}=1", kind.name());
    word.parse().unwrap_or_else(|error| panic!("every kind's name is a word of a mix: {error}"))
}

/// One operation for each key, or for some.
fn side_source(plan: &Plan, kind: OpKind, popularity: Popularity) -> SourcePlan {
    SourcePlan {
        seed: plan.seed,
        mix: only(kind),
        order: MixOrder::Drawn,
        popularity,
        keys: keys_all(plan),
        walkers: 1,
        multiget: 1,
        multiget_share: 1.0,
        numeric_keys: 0,
        window: None,
    }
}

/// How far a fill has come.
fn progress((start, now): (Instant, Instant), totals: &Totals, total: u64) -> Event {
    let counters = &totals.segments[usize::from(segment::MEASURE)];
    let elapsed_s = now.since(start).as_s_f64();
    Event::Progress(Progress {
        phase: Phase::Load,
        elapsed_s,
        length_s: None,
        done: counters.answered,
        total: Some(total),
        living: None,
        rate_per_s: (elapsed_s > 0.0).then(|| counters.answered as f64 / elapsed_s),
        response_p99_ns: None,
        unanswered: counters.unanswered(),
    })
}

/// A plan beside the main one: one server, whose connections are everybody's.
fn side_plan(plan: &Plan, server: &ServerPlan, source: SourcePlan, ops: u64) -> Plan {
    Plan {
        servers: vec![server.clone()],
        clients: Clients::Workers,
        verify: plan.verify.as_ref().map(|verify| verify.of_server(server_number(plan, server))),
        ..beside(plan, source, ops)
    }
}

/// A plan beside the main one: as fast as it goes, a fixed number of operations.
fn beside(plan: &Plan, source: SourcePlan, ops: u64) -> Plan {
    Plan {
        unit: RateUnit::Operations,
        pacing: Pacing::Closed,
        pause: Span::ZERO,
        refill: Refill::Each,
        window: Window {
            warmup: Span::ZERO,
            duration: Span::MAX,
            ops_max: Some(ops),
            cooldown: Cooldown::Drain,
        },
        source,
        // What is lost of a fill would be missing in the run.
        requests: RequestPlan { noreply: false, transport: Transport::Stream, ..plan.requests },
        samples: false,
        rows: RowPlan::default(),
        ..plan.clone()
    }
}

fn keys_all(plan: &Plan) -> u64 {
    plan.source.keys + plan.source.numeric_keys
}

fn of_server(server: &ServerPlan) -> String {
    format!("server {}", server.name)
}

/// The server's own words for what went wrong, if it had any.
fn said(ended: &Ended) -> String {
    let refusal = ended.workers.iter().find_map(|worker| worker.refusal);
    let trouble = ended.workers.iter().find_map(|worker| worker.trouble);
    match (refusal, trouble) {
        (Some(refusal), _) => format!("; it answered '{refusal}'"),
        (None, Some(trouble)) => format!("; it {}", trouble.what),
        (None, None) => String::new(),
    }
}

impl Filled {
    /// Adds what a probe of server `number` found by verification.
    fn accept(&mut self, probed: &Probed, number: usize) {
        let Counters { verified, wrong, .. } = probed.counters;
        self.counters += &Counters { verified, wrong, ..Counters::default() };
        // A probe knows only one server.
        let server = ServerId(number as u16);
        for &mismatch in probed.mismatches.kept() {
            self.mismatches.push(Mismatch { server, ..mismatch });
        }
    }

    /// `who` is filled or asked.
    fn absorb(&mut self, ended: &Ended, who: &str) -> Result<Counters, Failure> {
        if ended.loss.is_some() {
            return Err(Failure::unreachable(format!(
                "{who} went away while it was filled{}",
                said(ended)
            )));
        }
        for counters in &ended.totals.segments {
            // What was verified is added by those who know whether it says something.
            let unverified = Counters {
                verified: 0,
                wrong: Default::default(),
                verify_misses: 0,
                ..counters.clone()
            };
            self.counters += &unverified;
        }
        self.opened += ended.totals.connections.opened;
        self.interrupted |= ended.interrupted;
        Ok(ended.measured().clone())
    }
}
