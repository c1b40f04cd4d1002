//! Fills the servers, and finds out whether that is needed and whether it worked.
//!
//! A fill and a probe are plans like any other, carried out by the same workers. Nothing is ever
//! flushed.

mod length;
mod probe;
mod room;

use crate::failure::{Failure, FillFault};
use crate::lower::{SampledServers, compares_lengths, keys_own, needs_keys, plan_of};
use crate::observer::Observer;
use crate::run_plan::{Ended, Loss, run_plan};
use length::{check_length, check_lengths, is_tried};
use memtide_base::{Sentence, ServerId, Span};
use memtide_metrics::{Counters, Mismatch, Mismatches, ReplyClass, TallySum};
use memtide_record::warning::Shortfall;
use memtide_record::{Event, Phase, Progress, Warning, natively};
use memtide_scenario::{Load, Scenario};
use memtide_workload::{OpKind, WindowPlan};
use memtide_world::driver::Refusal;
use memtide_world::fleet::{Fleet, TroubleKind};
use memtide_world::plan::{Work, segment};
use memtide_world::{Closed, Plan, ServerPlan};
use probe::{Probed, accept_as_it_is, wants_keys};
use room::Room;
use std::ops::Range;

/// Results of filling.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// Counts of all fills and probes.
    pub(crate) counters: Counters,
    /// Wrong values that probes found.
    pub(crate) mismatches: Mismatches,
    /// Connections opened for fills and probes.
    pub(crate) opened: u64,
    /// Queries during the fill, each on a connection of its own.
    pub(crate) asked: u64,
    /// True if the user asked to stop.
    pub(crate) interrupted: bool,
    /// The first error with which a server replied.
    pub(crate) refusal: Option<Refusal>,
    /// Keys found on the servers at the end.
    pub(crate) held: Held,
    /// Shortfalls that only the scenario's settings allow.
    pub(crate) warnings: Vec<Warning>,
}

/// Keys of a sample, or of a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Number of keys looked for or stored.
    pub(crate) keys: u64,
    /// Number of keys found.
    pub(crate) found: u64,
}

impl Held {
    fn note(&mut self, keys: u64, found: u64) {
        self.keys += keys;
        self.found += found;
    }
}

/// Fills each server that needs it, according to `load`.
pub(crate) fn fill<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    load: Load,
    sampled: SampledServers,
    observer: &mut impl Observer,
) -> Result<Filled, Failure> {
    let mut filled = Filled::default();
    // Under connection churn, a failed connection is a result and no reason to end the run.
    let looks = sampled.unfilled
        && scenario.load == Load::Never
        && compares_lengths(plan)
        && plan.churn().is_none();
    let wanted = match (load, &plan.source.window) {
        (Load::Always, _) => true,
        (Load::Never, _) => false,
        (Load::Auto, Some(window)) => window.full,
        (Load::Auto, None) => needs_keys(&plan.source.mix),
    };
    let is_tried = is_tried(scenario, plan, sampled);
    // Under connection churn, a server that is not filled may refuse connections.
    let stores = plan.source.mix.kinds().any(OpKind::stores_value) && plan.churn().is_none();
    if !wanted {
        if is_tried && stores {
            check_lengths(fleet, scenario, plan, &mut filled)?;
        }
        if looks {
            for server in &plan.servers {
                accept_as_it_is(fleet, scenario, plan, server, &mut filled)?;
            }
        }
        return Ok(filled);
    }
    observer.on(&Event::Phase(Phase::Load));
    if let Some(window) = &plan.source.window {
        if is_tried {
            check_lengths(fleet, scenario, plan, &mut filled)?;
        }
        fill_windows(fleet, scenario, plan, window, &mut filled, observer)?;
        return Ok(filled);
    }
    let keys = keys_own(plan);
    if keys == 0 {
        return Ok(filled); // The keys are fewer than the lanes of all shares.
    }
    for server in &plan.servers {
        observer.on(&Event::Note(format!("asking server {} for a sample of keys", server.name)));
        let wanted = load != Load::Auto || wants_keys(fleet, scenario, plan, server, &mut filled)?;
        if is_tried && !filled.interrupted && (wanted || stores) {
            check_length(fleet, plan, server, &mut filled)?;
        }
        if filled.interrupted {
            break;
        }
        if !wanted {
            continue;
        }
        observer.on(&Event::Note(format!("filling server {} with {keys} keys", server.name)));
        let room = sampled.filled.then(|| Room::new(fleet, plan, server, &mut filled));
        fill_server(fleet, scenario, plan, server, room, &mut filled, observer)?;
    }
    Ok(filled)
}

/// Lets every client fill its window, one set at a time as in the load.
fn fill_windows<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    window: &WindowPlan,
    filled: &mut Filled,
    observer: &mut impl Observer,
) -> Result<(), Failure> {
    let windows = plan.own_clients().unwrap_or(window.clients);
    let total = u64::from(windows) * u64::from(window.objects);
    observer.on(&Event::Note(format!(
        "filling {windows} windows with {} objects each",
        window.objects
    )));
    let fill = plan_of(plan, Work::FillWindows);
    let copies = plan.copies();
    let ended = run_plan(fleet, &fill, &mut |_, start, looked, totals| {
        observer.on(&progress(looked.at.since(start), totals, 0, total * copies));
    })?;
    let counters = filled.absorb(&ended, "every server", "sets of the windows", &fill)?;
    // A missing copy would be missed by reads.
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

fn server_number(plan: &Plan, server: &ServerPlan) -> ServerId {
    let number = plan.servers.iter().position(|one| std::ptr::eq(one, server));
    ServerId(number.expect("it is a server of the plan") as u16)
}

/// Fills `server` and, with `room`, checks that it keeps the items. A long fill is then done in
/// portions, so that it stops early on a server that evicts the first keys when it receives the
/// last.
fn fill_server<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    server: &ServerPlan,
    mut room: Option<Room<'_>>,
    filled: &mut Filled,
    observer: &mut impl Observer,
) -> Result<(), Failure> {
    let total = keys_own(plan);
    let portion = room.as_ref().map_or(total, |_| room::portion(plan));
    let (mut first, mut refused) = (0, Refused::default());
    while first < total && !filled.interrupted {
        let end = (first + portion).min(total);
        let missed = store(fleet, plan, server, first..end, filled, observer)?;
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
        match &mut room {
            Some(room) => room.check(fleet, scenario, end, filled)?,
            None => filled.held.note(total, total - refused.keys),
        }
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

/// Keys sent to a server that it did not store.
#[derive(Debug, Default)]
struct Refused {
    keys: u64,
    /// The server's first reason: a clause after a semicolon, or nothing.
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

/// Stores the keys with these ids. Returns the keys that the server refused or lost.
fn store<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    ids: Range<u64>,
    filled: &mut Filled,
    observer: &mut impl Observer,
) -> Result<Refused, Failure> {
    let (total, count) = (keys_own(plan), ids.end - ids.start);
    let server_id = server_number(plan, server);
    let fill = plan_of(plan, Work::Fill { server: server_id, first: ids.start, end: ids.end });
    let ended = run_plan(fleet, &fill, &mut |_, start, looked, totals| {
        observer.on(&progress(looked.at.since(start), totals, ids.start, total));
    })?;
    let counters = filled.absorb(&ended, &of_server(server), "sets of the fill", &fill)?;
    let keys = count - counters.replies[ReplyClass::Stored as usize];
    let why = if keys > 0 { said(&ended) } else { Sentence::default() };
    Ok(Refused { keys, why })
}

/// Progress of a fill that had `done` keys of `total` behind it when it began, `elapsed` ago.
fn progress(elapsed: Span, totals: &TallySum, done: u64, total: u64) -> Event {
    let counters = &totals.segments[usize::from(segment::MEASURE)];
    let elapsed_s = elapsed.as_s_f64();
    Event::Progress(Progress {
        phase: Phase::Load,
        elapsed_s,
        done: done + counters.answered,
        total: Some(total),
        rate_per_s: (elapsed_s > 0.0).then(|| counters.answered as f64 / elapsed_s),
        unanswered: counters.unanswered(),
        ..Progress::default()
    })
}

fn of_server(server: &ServerPlan) -> String {
    format!("server {}", server.name)
}

/// The cause of a failure, in the server's own words if there are any.
fn said(ended: &Ended) -> Sentence {
    let unanswered = ended.measured().timed_out;
    let refusal = ended.refusal();
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

/// The server's breach of the protocol; the last one known.
fn broken(ended: &Ended) -> Sentence {
    let mut troubles = ended.workers.iter().filter_map(|worker| worker.trouble);
    let breach = troubles.find(|it| matches!(it.what, TroubleKind::Closed(Closed::Broken(_))));
    match breach {
        Some(trouble) => trouble.what.sentence(),
        None => Sentence::new("broke the protocol").and(&said(ended)),
    }
}

impl Filled {
    /// Adds the wrong values that a probe of server `number` found.
    fn accept(&mut self, probed: &Probed, server: ServerId) {
        let Counters { verified, wrong, .. } = probed.counters;
        self.counters += &Counters { verified, wrong, ..Counters::default() };
        // A probe's plan has only one server.
        for &mismatch in probed.mismatches.kept() {
            self.mismatches.push(Mismatch { server, ..mismatch });
        }
    }

    /// Adds a fill or probe of `who`; `what` names the awaited replies.
    fn absorb(
        &mut self,
        ended: &Ended,
        who: &str,
        what: &str,
        plan: &Plan,
    ) -> Result<Counters, Failure> {
        let who = who.to_owned();
        match ended.loss {
            // If there are more replies than requests, replies may belong to other requests than
            // they seem to.
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
            // Verified values are added by the caller, which knows whether they count.
            let unverified = Counters {
                verified: 0,
                wrong: Default::default(),
                verify_misses: 0,
                ..counters.clone()
            };
            self.counters += &unverified;
        }
        self.refusal = self.refusal.or_else(|| ended.refusal());
        self.opened += ended.totals.all_connections().opened;
        self.interrupted |= ended.interrupted;
        Ok(ended.measured().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_portions_lack_add_up_and_the_first_reason_stays() {
        let mut sum = Refused::default();
        sum.add(Refused::default());
        for (keys, why) in [(3, "; it answered 'no'"), (2, "; it left")] {
            sum.add(Refused { keys, why: Sentence::new(why) });
        }
        assert_eq!((sum.keys, sum.why), (5, Sentence::new("; it answered 'no'")));
    }
}
