//! Filling the servers, and finding out whether that is needed and whether it worked.
//!
//! A fill and a probe are plans like any other, carried out by the same workers. Nothing is ever
//! flushed.

mod probe;
mod room;

use crate::failure::{Failure, FillFault};
use crate::lower::needs_keys;
use crate::observer::Observer;
use crate::run_plan::{Ended, Loss, run_plan};
use memtide_base::{Instant, Sentence, ServerId, Span};
use memtide_engine::fleet::{Fleet, Trouble, TroubleKind};
use memtide_engine::plan::{Backoff, Reconnect, RequestPlan, RowPlan, segment};
use memtide_engine::{
    Clients, Closed, Cooldown, Pacing, Plan, RateUnit, Refill, ServerPlan, Transport, Window,
};
use memtide_metrics::{Counters, Mismatch, Mismatches, ReplyClass, Totals};
use memtide_schema::record::Phase;
use memtide_schema::scenario::Load;
use memtide_schema::warning::Shortfall;
use memtide_schema::{Event, Progress, Scenario, Warning, natively};
use memtide_workload::{Mix, MixOrder, OpKind, Popularity, SourcePlan, WindowPlan};
use probe::{Probed, accept_as_it_is, wants_keys};
use room::Room;
use std::ops::Range;

const FILL_CONNECTIONS_PER_WORKER: u32 = 4;
const FILL_DEPTH_MAX: u32 = 64;
/// Bytes of requests that a fill has outstanding on one connection.
const FILL_BYTES: usize = 256 * 1024;
/// The longest wait before a probe or a fill opens a lost connection again.
const BACKOFF_MAX: Span = Span::from_ms(100);

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

/// Fills each server that needs it, as `load` says. With `looks` also a server that is not to be
/// filled is asked for a sample: values of other lengths than the scenario says are refused.
pub(crate) fn fill<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    (load, looks): (Load, bool),
    observer: &mut impl Observer,
) -> Result<Filled, Failure> {
    let mut filled = Filled::default();
    // Where connections are the load, one that fails is a result and no reason to end.
    let looks = looks && load == Load::Never && compares_lengths(plan) && plan.churn().is_none();
    let wanted = match (load, &plan.source.window) {
        (Load::Always, _) => true,
        (Load::Never, _) => false,
        (Load::Auto, Some(window)) => window.full,
        (Load::Auto, None) => needs_keys(&plan.source.mix),
    };
    if !wanted {
        if looks {
            for server in &plan.servers {
                accept_as_it_is(fleet, scenario, (plan, server), &mut filled)?;
            }
        }
        return Ok(filled);
    }
    observer.on(&Event::Phase(Phase::Load));
    if let Some(window) = &plan.source.window {
        fill_windows(fleet, scenario, (plan, window), &mut filled, observer)?;
        return Ok(filled);
    }
    let keys = keys_all(plan);
    for server in &plan.servers {
        observer.on(&Event::Note(format!("asking server {} for a sample of keys", server.name)));
        let wanted =
            load != Load::Auto || wants_keys(fleet, scenario, (plan, server), &mut filled)?;
        if filled.interrupted {
            break;
        }
        if !wanted {
            continue;
        }
        observer.on(&Event::Note(format!("filling server {} with {keys} keys", server.name)));
        fill_server(fleet, scenario, (plan, server), &mut filled, observer)?;
    }
    Ok(filled)
}

/// Has every client fill its window, one set at a time as always.
fn fill_windows<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    (plan, window): (&Plan, &WindowPlan),
    filled: &mut Filled,
    observer: &mut impl Observer,
) -> Result<(), Failure> {
    let total = window.places().get();
    observer.on(&Event::Note(format!(
        "filling {} windows with {} objects each",
        window.clients, window.objects
    )));
    let empty = WindowPlan { overwrite: 0.0, full: false, keys_end: None, ..window.clone() };
    let mix = only(OpKind::Set);
    let source = SourcePlan { mix, multiget: 1, window: Some(empty), ..plan.source.clone() };
    let fill = Plan { verify: plan.verify.clone(), ..beside(plan, source, total) };
    let copies = plan.copies();
    let ended = run_plan(fleet, &fill, &mut |start, looked, totals| {
        observer.on(&progress((start, looked.at), totals, (0, total * copies)));
    })?;
    let counters = filled.absorb(&ended, ("every server", "sets of the windows"), &fill)?;
    // A copy that is missing will be missed.
    let stored = counters.replies[ReplyClass::Stored as usize] / copies;
    filled.held.note(total, stored);
    if stored == total || ended.interrupted {
        return Ok(());
    }
    if scenario.load_partial {
        filled.warnings.push(Warning::Shortfall(Shortfall::LoadPartial {
            sampled: total,
            missing: total - stored,
        }));
        return Ok(());
    }
    Err(FillFault::WindowsUnfilled { stored, total, said: said(&ended) }.into())
}

fn server_number(plan: &Plan, server: &ServerPlan) -> usize {
    let number = plan.servers.iter().position(|one| std::ptr::eq(one, server));
    number.expect("it is a server of the plan")
}

/// Fills `server` and sees to it that it holds what it was given. A fill that is long is done in
/// portions: a server that throws out the first keys when it is given the last is not given them.
fn fill_server<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    (plan, server): (&Plan, &ServerPlan),
    filled: &mut Filled,
    observer: &mut impl Observer,
) -> Result<(), Failure> {
    let total = keys_all(plan);
    let mut room = Room::new(fleet, plan, server, filled);
    let portion = room::portion(plan);
    let (mut first, mut refused) = (0, Refused::default());
    while first < total && !filled.interrupted {
        let end = (first + portion).min(total);
        let missed = store(fleet, (plan, server), first..end, filled, observer)?;
        first = end;
        if filled.interrupted {
            return Ok(());
        }
        if missed.keys > 0 && !scenario.load_partial {
            let (server, stored) = (server.name.clone(), end - missed.keys);
            return Err(FillFault::Unfilled { server, stored, total, why: missed.why }.into());
        }
        refused.add(missed);
        if end < total && scenario.load_partial {
            continue; // Whatever is found at the end is accepted.
        }
        room.check(fleet, scenario, end, filled)?;
    }
    if refused.keys > 0 {
        let (server, stored) = (server.name.clone(), total - refused.keys);
        filled.warnings.push(Warning::Shortfall(Shortfall::StoresRefused {
            server,
            stored,
            total,
            why: natively(&refused.why),
        }));
    }
    Ok(())
}

/// Keys that a server was given and did not store.
#[derive(Debug, Default)]
struct Refused {
    keys: u64,
    /// What the server said to it first: a clause after a semicolon, or nothing.
    why: Sentence,
}

impl Refused {
    fn add(&mut self, more: Self) {
        if self.why == Sentence::default() {
            self.why = more.why;
        }
        self.keys += more.keys;
    }
}

/// Stores the keys with these ids. Returns which of them the server refused or lost.
fn store<F: Fleet>(
    fleet: &mut F,
    (plan, server): (&Plan, &ServerPlan),
    ids: Range<u64>,
    filled: &mut Filled,
    observer: &mut impl Observer,
) -> Result<Refused, Failure> {
    let (total, count) = (keys_all(plan), ids.end - ids.start);
    let source = side_source(plan, OpKind::Set, Popularity::Onward(ids.start));
    let fitting = (FILL_BYTES / (room::value_bytes(plan) as usize + 64)) as u32;
    let workers = u32::from(plan.workers);
    let fill = Plan {
        connections: (workers * FILL_CONNECTIONS_PER_WORKER).min(plan.connections.max(workers)),
        depth: fitting.clamp(1, FILL_DEPTH_MAX),
        ..side_plan(plan, server, source, count)
    };
    let ended = run_plan(fleet, &fill, &mut |start, looked, totals| {
        observer.on(&progress((start, looked.at), totals, (ids.start, total)));
    })?;
    let counters = filled.absorb(&ended, (&of_server(server), "sets of the fill"), &fill)?;
    let keys = count - counters.replies[ReplyClass::Stored as usize];
    let why = if keys > 0 { said(&ended) } else { Sentence::default() };
    Ok(Refused { keys, why })
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

/// How far a fill has come, which was at `done` when it started, of `total`.
fn progress((start, now): (Instant, Instant), totals: &Totals, (done, total): (u64, u64)) -> Event {
    let counters = &totals.segments[usize::from(segment::MEASURE)];
    let elapsed_s = now.since(start).as_s_f64();
    Event::Progress(Progress {
        phase: Phase::Load,
        elapsed_s,
        length_s: None,
        done: done + counters.answered,
        total: Some(total),
        living: None,
        rate_per_s: (elapsed_s > 0.0).then(|| counters.answered as f64 / elapsed_s),
        response_p99_ns: None,
        unanswered: counters.unanswered(),
        oldest_due: None,
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
        // A server that ends connections again and again is found out soon.
        reconnect: match plan.reconnect {
            Reconnect::Never => Reconnect::Never,
            Reconnect::After(Backoff { first, longest }) => Reconnect::After(Backoff {
                first: first.min(BACKOFF_MAX),
                longest: longest.min(BACKOFF_MAX),
            }),
        },
        // What is lost of a fill would be missing in the run.
        requests: RequestPlan { noreply: false, transport: Transport::Stream, ..plan.requests },
        samples: false,
        rows: RowPlan::default(),
        ..plan.clone()
    }
}

/// Whether the lengths of values on servers can be compared with those that the plan gives them.
fn compares_lengths(plan: &Plan) -> bool {
    plan.source.window.is_none()
        && needs_keys(&plan.source.mix)
        && !plan.source.mix.kinds().any(OpKind::lengthens_value)
}

fn keys_all(plan: &Plan) -> u64 {
    plan.source.keys + plan.source.numeric_keys
}

fn of_server(server: &ServerPlan) -> String {
    format!("server {}", server.name)
}

/// What went wrong, in the server's own words if it had any.
fn said(ended: &Ended) -> Sentence {
    let unanswered = ended.measured().timed_out;
    let refusal = ended.workers.iter().find_map(|worker| worker.refusal);
    let trouble = ended.workers.iter().find_map(|worker| worker.trouble);
    match (refusal, trouble) {
        (Some(refusal), _) => Sentence::new(format!("; it answered '{refusal}'")),
        (None, Some(trouble)) => Sentence::new("; it ").and(&trouble.what.sentence()),
        (None, None) if unanswered > 0 => {
            Sentence::new(format!("; it did not answer {unanswered} operations within the timeout"))
        }
        (None, None) => Sentence::default(),
    }
}

/// How a server broke the protocol; the last breach that is known.
fn broken(ended: &Ended) -> Sentence {
    let breach = |trouble: &Trouble| matches!(trouble.what, TroubleKind::Closed(Closed::Broken(_)));
    let trouble = ended.workers.iter().filter_map(|worker| worker.trouble).find(breach);
    match trouble {
        Some(trouble) => trouble.what.sentence(),
        None => Sentence::new("broke the protocol").and(&said(ended)),
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

    /// `who` is filled or asked; answers to `what` were awaited.
    fn absorb(
        &mut self,
        ended: &Ended,
        (who, what): (&str, &str),
        plan: &Plan,
    ) -> Result<Counters, Failure> {
        let who = who.to_owned();
        match ended.loss {
            // Where more replies come than were asked for, each may answer another question than
            // it seems to.
            None if ended.protocol_errors() > 0 => {
                return Err(FillFault::Breach { who, what: broken(ended) }.into());
            }
            None => {}
            Some(Loss::Unserved) => {
                return Err(FillFault::Unserved { who, said: said(ended) }.into());
            }
            Some(Loss::Silence) => {
                let (awaited, timeout) = (what.to_owned(), plan.timeout);
                return Err(FillFault::Silence { who, awaited, timeout, said: said(ended) }.into());
            }
            Some(Loss::Servers | Loss::Connection) => {
                return Err(FillFault::Gone { who, said: said(ended) }.into());
            }
        }
        for counters in &ended.totals.segments {
            // The caller, which knows whether they mean something, adds verified values.
            let unverified = Counters {
                verified: 0,
                wrong: Default::default(),
                verify_misses: 0,
                ..counters.clone()
            };
            self.counters += &unverified;
        }
        self.opened += ended.totals.all_connections().opened;
        self.interrupted |= ended.interrupted;
        Ok(ended.measured().clone())
    }
}
