//! One plan, from start to finish: open, begin, watch, stop, collect. The same for a fill, a
//! probe and the run itself.

mod abort;
mod kinds;

pub(crate) use abort::Watch;
pub(crate) use kinds::{merged, unanswered};

use crate::failure::Failure;
use memtide_base::{Instant, Span};
use memtide_engine::fleet::{Command, Fleet, Interval, TroubleKind, WorkerReport};
use memtide_engine::plan::segment;
use memtide_engine::{Closed, Pacing, PeerError, Plan, Reconnect, Stage};
use memtide_metrics::{Counters, Totals};
use memtide_schema::record::Aborted;

/// How often the workers are looked at.
const LOOK_EVERY: Span = Span::from_ms(100);
/// From the order to begin to the beginning: longer than a worker takes to notice.
const LEAD: Span = Span::from_ms(30);
/// How long a user who interrupts waits for what is in flight.
const GRACE_INTERRUPTED: Span = Span::from_s(1);
/// How much later than the last deadline a run is ended in any case.
const OVERTIME: Span = Span::from_s(5);

/// A plan that is over.
pub(crate) struct Ended {
    pub(crate) totals: Totals,
    pub(crate) workers: Vec<WorkerReport>,
    /// When the schedules started.
    pub(crate) start: Instant,
    /// When the order to stop was given.
    pub(crate) stopped: Instant,
    /// The user asked to stop.
    pub(crate) interrupted: bool,
    /// What was lost, so that there was no going on.
    pub(crate) loss: Option<Loss>,
    /// The condition that ended it early.
    pub(crate) aborted: Option<Aborted>,
}

/// What a plan cannot go on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Every server was gone, or said nothing, for longer than the timeout.
    Servers,
    /// A connection, where none is opened again.
    Connection,
}

/// Carries out `plan`; `watch` sees the totals about ten times a second.
pub(crate) fn conduct<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    watch: &mut dyn FnMut(Instant, Instant, &Totals),
) -> Result<Ended, Failure> {
    conduct_unless(fleet, plan, Watch::new(&[]), watch)
}

/// Carries out `plan`, or ends it early when a condition of `unless` is true.
pub(crate) fn conduct_unless<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    mut unless: Watch<'_>,
    watch: &mut dyn FnMut(Instant, Instant, &Totals),
) -> Result<Ended, Failure> {
    let mut totals = Totals::new(&plan.shape());
    fleet.start(plan)?;
    let opened = open(fleet, plan, &mut totals)?;
    let start = fleet.now() + LEAD;
    let mut stopped = None;
    let mut loss = None;
    let mut aborted = None;
    if opened.interrupted {
        stop(fleet, Span::ZERO, &mut stopped)?;
    } else {
        fleet.command(start, Command::Begin)?;
    }
    let mut heard = Heard { settled: 0, at: start };
    let last_deadline = plan.window.measure_end(start) + plan.timeout + OVERTIME;
    loop {
        let interval = fleet.collect(fleet.now() + LOOK_EVERY, &mut totals)?;
        watch(start, interval.at, &totals);
        if interval.workers.iter().all(|worker| worker.stage == Stage::Finished) {
            return Ok(Ended {
                totals,
                workers: interval.workers,
                start,
                stopped: stopped.unwrap_or(interval.at),
                interrupted: interval.interrupted,
                loss,
                aborted,
            });
        }
        if stopped.is_some() {
            continue;
        }
        if interval.interrupted {
            stop(fleet, GRACE_INTERRUPTED.min(plan.timeout), &mut stopped)?;
        } else if plan.reconnect == Reconnect::Never && totals.connections.lost > 0 {
            loss = Some(Loss::Connection);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if disconnected(&interval, plan.timeout)
            || heard.is_stuck(plan, &totals, interval.at)
        {
            loss = Some(Loss::Servers);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if interval.workers.iter().all(|worker| worker.measured_done)
            || interval.at >= last_deadline
        {
            stop(fleet, plan.timeout, &mut stopped)?;
        } else {
            aborted = unless.look(plan, start, interval.at, &totals);
            if aborted.is_some() {
                stop(fleet, GRACE_INTERRUPTED.min(plan.timeout), &mut stopped)?;
            }
        }
    }
}

/// Waits until every connection is open.
fn open<F: Fleet>(fleet: &mut F, plan: &Plan, totals: &mut Totals) -> Result<Interval, Failure> {
    let deadline = fleet.now() + plan.timeout + LOOK_EVERY;
    loop {
        let interval = fleet.collect(fleet.now() + LEAD, totals)?;
        let ready = interval.workers.iter().all(|worker| worker.stage >= Stage::Ready);
        if ready || interval.interrupted {
            return Ok(interval);
        }
        let trouble = interval.workers.iter().find_map(|worker| worker.trouble);
        if let Some(trouble) = trouble {
            let server = &plan.servers[trouble.server.index()];
            return Err(Failure::unreachable(format!("server {} {}", server.name, trouble.what)));
        }
        if interval.at >= deadline {
            let open: u32 = interval.workers.iter().map(|worker| worker.connections_open).sum();
            return Err(Failure::unreachable(format!(
                "only {open} of {} connections could be opened within {}; lower --connections or \
                 allow more time with --timeout",
                plan.connections, plan.timeout
            )));
        }
    }
}

fn stop<F: Fleet>(
    fleet: &mut F,
    grace: Span,
    stopped: &mut Option<Instant>,
) -> Result<(), Failure> {
    let now = fleet.now();
    fleet.command(now, Command::Stop { grace })?;
    *stopped = Some(now);
    Ok(())
}

/// Whether no worker has had a connection for longer than `timeout`.
fn disconnected(interval: &Interval, timeout: Span) -> bool {
    let gone = |worker: &WorkerReport| {
        worker.disconnected_since.is_some_and(|since| interval.at.since(since) > timeout)
    };
    interval.workers.iter().all(gone)
}

/// The last time that operations were seen to end.
struct Heard {
    settled: u64,
    at: Instant,
}

impl Heard {
    /// Whether a closed loop that only operations can end has stopped for good: all have timed
    /// out, but keep their slots, because their answers may still come.
    fn is_stuck(&mut self, plan: &Plan, totals: &Totals, now: Instant) -> bool {
        let settled = totals.segments.iter().map(Counters::settled).sum();
        if settled != self.settled {
            *self = Self { settled, at: now };
        }
        let endless = matches!(plan.pacing, Pacing::Closed) && plan.window.duration == Span::MAX;
        endless && now.since(self.at) > plan.timeout + OVERTIME
    }
}

impl Ended {
    /// The measured window that really was: its start and its end.
    pub(crate) fn window(&self, plan: &Plan) -> (Instant, Instant) {
        let start = plan.window.measure_start(self.start);
        let planned = plan.window.measure_end(self.start);
        let last = |of: fn(&WorkerReport) -> Instant| self.workers.iter().map(of).max();
        let end = if plan.is_counted() {
            // A count, not time, ended it: it reaches to the last thing that happened.
            let settled = last(|worker| worker.last_settled).unwrap_or(start);
            settled.max(last(|worker| worker.last_intended).unwrap_or(start)).min(planned)
        } else {
            planned.min(self.stopped)
        };
        (start, end.max(start))
    }

    /// From the beginning of the measured window to the last answer to an operation of it.
    pub(crate) fn answered_until(&self, plan: &Plan) -> Option<Span> {
        let last = self.workers.iter().map(|worker| worker.last_settled).max();
        let last = last.filter(|_| self.measured().answered > 0);
        last.map(|last| last.since(plan.window.measure_start(self.start)))
    }

    /// Operations of the measured window that found their server gone or their reply missing.
    pub(crate) fn measured(&self) -> &Counters {
        &self.totals.segments[usize::from(segment::MEASURE)]
    }

    /// Whether a server turned connections away for being too many.
    pub(crate) fn turned_away(&self) -> Option<usize> {
        let too_many = TroubleKind::Closed(Closed::Broken(PeerError::TooManyConnections));
        self.workers
            .iter()
            .filter_map(|worker| worker.trouble)
            .find(|trouble| trouble.what == too_many)
            .map(|trouble| trouble.server.index())
    }
}
