//! Carries out one plan from start to finish: open, begin, watch, stop, collect. A fill, a probe
//! and the load all take this path.

mod abort;
mod beginning;
mod closing;
mod opening;
mod rows;
mod seconds;
mod timeline;
mod kinds;

pub(crate) use abort::Watch;
pub(crate) use closing::Closing;
pub use closing::SharedClosing;
pub(crate) use kinds::{keys_sent, kinds, merged, merged_slice, sent_unanswered, unanswered};
pub use opening::SharedWarmup;
pub(crate) use opening::WarmupEnded;
pub(crate) use rows::Rows;
pub(crate) use seconds::{EACH_MAX, Seconds, oldest_due};

use crate::failure::{Failure, Fault};
use crate::share::{Barrier, NotRun};
use beginning::{Begun, begin};
use memtide_base::{Instant, Span};
use memtide_metrics::{Counters, ErrorClass, TallySum};
use memtide_record::Aborted;
use memtide_scenario::Kind;
use memtide_world::driver::Refusal;
use memtide_world::fleet::{Command, Fleet, Interval, TroubleKind, WorkerReport};
use memtide_world::plan::segment;
use memtide_world::{Closed, Pacing, PeerError, Plan, Reconnect, Stage, Window};
use opening::Opening;
use std::borrow::Cow;
use std::ops::Range;

/// Period at which workers are polled.
const LOOK_EVERY: Span = Span::from_ms(100);
/// Time from the command to begin until the beginning: longer than a worker takes to notice.
const LEAD: Span = Span::from_ms(30);
/// Time that an interrupted run waits for operations in flight.
const GRACE_INTERRUPTED: Span = Span::from_s(1);
/// Time after the last deadline at which a plan is ended in any case.
const OVERTIME: Span = Span::from_s(5);
/// Extra time beyond the timeout after which silence means a plan is stuck, if only ends of
/// operations advance it: by then every operation in flight has timed out.
const STILL_MAX: Span = Span::from_s(1);

/// Longest time that `plan` takes from the beginning of its load until the servers' last reply;
/// none if only the number of operations ends the load.
pub fn load_max(plan: &Plan) -> Option<Span> {
    let Window { warmup, duration, .. } = plan.window;
    // One timeout each for the last operation, for those in flight at the stop, and for the last
    // queries.
    let replies = plan.timeout + plan.timeout + plan.timeout + OVERTIME;
    (duration != Span::MAX).then(|| warmup + duration + replies)
}

/// A plan that has ended.
pub(crate) struct Ended {
    pub(crate) totals: TallySum,
    pub(crate) workers: Vec<WorkerReport>,
    /// Start of the schedules.
    pub(crate) start: Instant,
    /// Instant of the command to stop.
    pub(crate) stopped: Instant,
    /// True if all operations or connections of the plan had been made by then.
    pub(crate) is_used_up: bool,
    /// True if the user asked to stop.
    pub(crate) interrupted: bool,
    /// Loss that made it impossible to continue.
    pub(crate) loss: Option<Loss>,
    /// Condition that ended the load early.
    pub(crate) aborted: Option<Aborted>,
    /// Reason why the load never began, if the shares of the run did not begin together.
    pub(crate) not_run: Option<NotRun>,
    /// The end of the warm-up, unless its length was fixed or the load ended before.
    pub(crate) warmup: Option<WarmupEnded>,
    /// The length of the window that was closed because the figures were narrow, or none if it
    /// ended before they were; unless its length was fixed or the load ended early.
    pub(crate) narrow: Option<Option<Span>>,
}

/// Losses without which a plan cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Every server was gone for longer than the timeout.
    Servers,
    /// The servers were connected, and silent for longer than the timeout.
    Silence,
    /// A connection was lost, and the plan forbids to reconnect.
    Connection,
    /// Nothing was ever answered, and one connection after another ended.
    Unserved,
}

/// What sees the plan, the start of its schedules and the totals about ten times a second. The
/// plan's window is the one that is known by then.
pub(crate) type Look<'a> = &'a mut dyn FnMut(&Plan, Instant, &Interval, &TallySum);

/// Carries out `plan`; `watch` sees the totals about ten times a second.
pub(crate) fn run_plan<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    watch: Look<'_>,
) -> Result<Ended, Failure> {
    let alone = Steering { unless: Watch::new(&[]), barrier: None, closing: None };
    carry_out(fleet, plan, alone, Liveness::Answers, watch)
}

/// The response time that nine tenths of the operations of `plan` have in a load of this length;
/// none if nothing was answered.
pub fn tried<F: Fleet>(fleet: &mut F, plan: &Plan, length: Span) -> Result<Option<Span>, Failure> {
    let window = Window {
        warmup: Span::from_ns(length.ns() / 5),
        opened_by_command: false,
        closed_by_command: false,
        duration: length,
        ops_max: None,
        cooldown: plan.window.cooldown,
    };
    let plan = Plan { window, samples: false, ..plan.clone() };
    let ended = run_plan(fleet, &plan, &mut |_, _, _, _| {})?;
    let times = merged(&ended.totals.times.response, Kind::All, &plan);
    let rank = (times.count() as f64 * 0.9).ceil() as u64;
    Ok(times.value_at_rank(rank).map(Span::from_ns))
}

/// What decides, beside a plan, when its load begins and ends.
pub(crate) struct Steering<'a> {
    /// Ends the load early when one of its conditions is true.
    pub(crate) unless: Watch<'a>,
    /// Where the load begins when all shares of the run agree, and ends early when they do; none
    /// if the run is not shared.
    pub(crate) barrier: Option<&'a mut dyn Barrier>,
    /// Closes the window when the figures are narrow; none if its length is fixed.
    pub(crate) closing: Option<Closing<'a>>,
}

/// Carries out the load of a run.
pub(crate) fn run_load<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    steering: Steering<'_>,
    watch: Look<'_>,
) -> Result<Ended, Failure> {
    carry_out(fleet, plan, steering, Liveness::Endings, watch)
}

/// Signs of life that show that a server has not fallen silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Liveness {
    /// Operations end, with or without an answer: that is what is measured.
    Endings,
    /// Operations are answered in time: required if only answers are useful.
    Answers,
}

/// What `interval` shows to be lost, without which a run cannot go on.
fn lost(
    plan: &Plan,
    start: Instant,
    interval: &Interval,
    totals: &TallySum,
    heard: &mut Heard,
) -> Option<Loss> {
    if plan.reconnect == Reconnect::Never && totals.all_connections().lost > 0 {
        Some(Loss::Connection)
    } else if is_unserved(plan, totals, interval.at.since(start)) {
        Some(Loss::Unserved)
    } else if disconnected(interval, plan.timeout) {
        Some(Loss::Servers)
    } else {
        heard.is_stuck(plan, totals, interval.at).then_some(Loss::Silence)
    }
}

/// True if all was measured, or should have been long ago.
fn is_over(plan: &Plan, start: Instant, interval: &Interval, is_used_up: bool) -> bool {
    let end = plan.window.measure_end(start);
    (is_measured(interval) && (is_used_up || interval.at >= end))
        || interval.at >= end + plan.timeout + OVERTIME
}

fn carry_out<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    steering: Steering<'_>,
    liveness: Liveness,
    watch: Look<'_>,
) -> Result<Ended, Failure> {
    let Steering { mut unless, mut barrier, mut closing } = steering;
    let mut totals = TallySum::new(&plan.shape());
    fleet.start(plan, plan.own_workers())?;
    let opened = open(fleet, plan, &mut totals, lent(&mut barrier))?;
    let begun = begin(fleet, &opened, lent(&mut barrier), &mut totals)?;
    let Begun { start, mut stopped, not_run } = begun;
    let (mut loss, mut aborted, mut is_used_up) = (None, None, false);
    let mut heard = Heard { liveness, count: 0, at: start };
    let (mut plan, mut opening) = (Cow::Borrowed(plan), Opening::new(plan));
    loop {
        let interval = fleet.collect(fleet.now() + LOOK_EVERY, &mut totals)?;
        let is_shared = barrier.is_some();
        if let Some(opening) = opening.as_mut().filter(|_| stopped.is_none())
            && let Some(at) =
                opening.look(&plan, start, interval.at, &totals, lent(&mut barrier))?
        {
            command(fleet, at, Command::Open, is_shared)?;
            plan.to_mut().window.warmup = at.since(start);
        }
        let is_open = stopped.is_none() && opening.as_ref().is_none_or(|it| it.ended.is_some());
        if let Some(closing) = closing.as_mut().filter(|_| is_open)
            && let Some(at) =
                closing.look(fleet, &plan, start, &interval, &mut totals, lent(&mut barrier))?
        {
            command(fleet, at, Command::Close, is_shared)?;
            plan.to_mut().window.duration = at.since(plan.window.measure_start(start));
        }
        watch(&plan, start, &interval, &totals);
        if interval.workers.iter().all(|worker| worker.stage == Stage::Finished) {
            let stopped = stopped.unwrap_or(interval.at);
            let Interval { workers, interrupted, .. } = interval;
            let ended = Ended {
                totals,
                workers,
                start,
                stopped,
                is_used_up,
                interrupted,
                loss,
                aborted,
                not_run,
                warmup: opening.and_then(|opening| opening.ended),
                narrow: closing.and_then(|closing| closing.ended),
            };
            ended.check_books();
            return Ok(ended.with_all_rows(&plan));
        }
        if stopped.is_some() {
            continue;
        }
        is_used_up = interval.workers.iter().all(|worker| worker.is_used_up);
        if interval.interrupted {
            stop(fleet, GRACE_INTERRUPTED.min(plan.timeout), &mut stopped)?;
        } else if let Some(lost) = lost(&plan, start, &interval, &totals, &mut heard) {
            loss = Some(lost);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if is_over(&plan, start, &interval, is_used_up) {
            stop(fleet, plan.timeout, &mut stopped)?;
        } else {
            aborted = unless
                .look(&plan, start, interval.at, &totals)
                .or_else(|| barrier.as_mut().and_then(|barrier| barrier.aborted()));
            if aborted.is_some() {
                stop(fleet, GRACE_INTERRUPTED.min(plan.timeout), &mut stopped)?;
            }
        }
    }
}

/// The barrier for one call.
fn lent<'a>(barrier: &'a mut Option<&mut dyn Barrier>) -> Option<&'a mut dyn Barrier> {
    barrier.as_mut().map(|barrier| &mut **barrier as &mut dyn Barrier)
}

/// Commands the window to open or to close. If other shares act on it as well, all workers must
/// have learned of it before its instant.
fn command<F: Fleet>(
    fleet: &mut F,
    at: Instant,
    command: Command,
    is_shared: bool,
) -> Result<(), Failure> {
    fleet.command(at, command)?;
    let now = fleet.now();
    match is_shared && now >= at {
        true => Err(Fault::WindowLate { late: now.since(at) }.into()),
        false => Ok(()),
    }
}

/// A server refuses connections because it has too many.
const TOO_MANY: TroubleKind = TroubleKind::Closed(Closed::Broken(PeerError::TooManyConnections));

/// Waits until every connection is open, and tells the barrier meanwhile how many are; gives up if
/// none opens within the timeout.
fn open<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    totals: &mut TallySum,
    mut barrier: Option<&mut dyn Barrier>,
) -> Result<Interval, Failure> {
    let (mut opened_before, mut since) = (totals.all_connections().opened, fleet.now());
    loop {
        let interval = fleet.collect(fleet.now() + LEAD, totals)?;
        let opened = totals.all_connections().opened;
        if let Some(barrier) = &mut barrier {
            barrier.opening(opened, plan.own_connections());
        }
        let ready = interval.workers.iter().all(|worker| worker.stage >= Stage::Ready);
        if ready || interval.interrupted {
            return Ok(interval);
        }
        let wanted = plan.own_connections();
        let trouble = interval.workers.iter().find_map(|worker| worker.trouble);
        if let Some(trouble) = trouble {
            let server = &plan.servers[trouble.server.index()];
            let so_far = match opened {
                0 => String::new(),
                // A server says so only on a connection that the kernel has opened.
                _ if trouble.what == TOO_MANY => format!(
                    " (when {opened} of {wanted} connections had been opened on this side; how \
                     many of these the server took is not known)"
                ),
                _ => format!(" (when {opened} of {wanted} connections had been opened)"),
            };
            let (server, what) = (server.name.clone(), trouble.what);
            return Err(Fault::Opening { server, what, so_far }.into());
        }
        if opened != opened_before {
            (opened_before, since) = (opened, interval.at);
        }
        if interval.at.since(since) >= plan.timeout + LOOK_EVERY {
            let (wanted, timeout) = (u64::from(wanted), plan.timeout);
            return Err(Fault::OpeningSlowly { opened, wanted, timeout }.into());
        }
    }
}

/// Number of connections that must end, one after another, before a server that never answered is
/// given up.
const UNSERVED_CONNECTIONS: u64 = 8;

/// True if continuing is pointless: nothing was ever answered, and connections ended because the
/// server does not speak the protocol; or for any reason, if only answers end the plan.
fn is_unserved(plan: &Plan, totals: &TallySum, passed: Span) -> bool {
    let mut all = Counters::default();
    totals.segments.iter().for_each(|segment| all += segment);
    let is_answered = all.answered + all.failed + all.late_replies > 0;
    // What asks for no answer is not unserved because it has none; what was lost asked for one.
    let is_quiet = all.lost + all.timed_out == 0 && all.unacknowledged > 0;
    let ended = match ends_by_answers(plan) && !is_quiet {
        true => totals.all_connections().lost,
        false => all.errors[ErrorClass::Protocol as usize],
    };
    // With several servers, another may only be slow.
    let patient = plan.servers.len() == 1 || passed > plan.timeout;
    plan.churn().is_none() && !is_answered && ended >= UNSERVED_CONNECTIONS && patient
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

/// True if every measured operation has ended, and no more will come before the window ends.
fn is_measured(interval: &Interval) -> bool {
    interval.workers.iter().all(|worker| worker.measured_done)
}

/// True if no worker has had a connection for longer than `timeout`.
fn disconnected(interval: &Interval, timeout: Span) -> bool {
    interval.workers.iter().all(|worker| {
        worker.disconnected_since.is_some_and(|since| interval.at.since(since) > timeout)
    })
}

/// True if only answers end `plan`: a closed loop with a number of operations.
fn ends_by_answers(plan: &Plan) -> bool {
    matches!(plan.pacing, Pacing::Closed) && plan.window.duration == Span::MAX
}

/// The last time that operations were seen to end.
struct Heard {
    liveness: Liveness,
    count: u64,
    at: Instant,
}

impl Heard {
    /// True if a closed loop that only ends of operations advance is stuck for good: all operations
    /// have timed out but keep their slots, because their replies may still come; or every needed
    /// answer comes too late.
    fn is_stuck(&mut self, plan: &Plan, totals: &TallySum, now: Instant) -> bool {
        let count = match self.liveness {
            Liveness::Endings => Counters::settled,
            Liveness::Answers => |counters: &Counters| counters.settled() - counters.timed_out,
        };
        let count = totals.segments.iter().map(count).sum();
        if count != self.count {
            *self = Self { count, at: now, ..*self };
        }
        // Meanwhile nothing ends although all is well.
        let held = match plan.holds() {
            true => plan.requests.recache_time.at(1.0 - f64::EPSILON),
            false => Span::ZERO,
        };
        let quiet = plan.timeout + plan.pause + held + STILL_MAX;
        ends_by_answers(plan) && now.since(self.at) > quiet
    }
}

impl Ended {
    /// The actual measured window: its start and its end. It is the plan's, even if nothing
    /// happened in it, unless a number of operations, a loss or the user ended it early.
    pub(crate) fn window(&self, plan: &Plan) -> Range<Instant> {
        let start = plan.window.measure_start(self.start);
        let planned = plan.window.measure_end(self.start);
        let end = if self.is_counted_out() {
            // It extends to the last event.
            let last = self.workers.iter().map(|it| it.last_settled.max(it.last_intended)).max();
            last.unwrap_or(start).min(planned)
        } else {
            planned.min(self.stopped)
        };
        assert!(start <= planned, "a window ends after it begins");
        start..end.max(start)
    }

    /// True if a number of operations or connections, rather than time, ended the run within its
    /// window.
    pub(crate) fn is_counted_out(&self) -> bool {
        let cooldown = usize::from(segment::COOLDOWN);
        let later = self.totals.segments[cooldown].intended
            + self.totals.churn.as_ref().map_or(0, |churn| churn.segments[cooldown].intended);
        self.is_used_up && later == 0
    }

    /// Asserts that every operation ended once, and that all counts of the window agree. A
    /// violation is a fault in memtide, which no record may hide.
    fn check_books(&self) {
        for (number, counters) in self.totals.segments.iter().enumerate() {
            let (settled, intended) = (counters.settled(), counters.intended);
            assert_eq!(settled, intended, "operations must end exactly once, in segment {number}");
        }
        let (totals, measured) = (&self.totals, self.measured());
        let rows = totals.series.rows().iter();
        let in_rows = rows.fold((0, 0, 0), |(intended, answered, unanswered), row| {
            (intended + row.intended, answered + row.answered, unanswered + row.unanswered)
        });
        let counted = (measured.intended, measured.answered, measured.unanswered());
        assert_eq!(in_rows, counted, "rows hold all (intended, answered, unanswered)");
        let sets = totals.slices.rows().iter();
        let in_slices =
            sets.flat_map(|set| &set.response).fold((0, 0), |(answered, lost), slice| {
                (answered + slice.answered, lost + slice.unanswered)
            });
        let ended = (measured.answered, measured.unanswered());
        assert_eq!(in_slices, ended, "slices hold all (answered, unanswered)");
        let sent: u64 = totals
            .slices
            .rows()
            .iter()
            .flat_map(|set| &set.service)
            .map(|slice| slice.answered + slice.unanswered)
            .sum();
        assert_eq!(sent, measured.sent - measured.unacknowledged, "slices hold all that were sent");
        let times: u64 = totals.times.response.iter().flatten().map(|part| part.count()).sum();
        assert_eq!(times, measured.answered, "each answer has its response time");
    }

    /// Adds an empty row for each quiet stretch of the window.
    fn with_all_rows(mut self, plan: &Plan) -> Self {
        let window = self.window(plan);
        self.totals.series.cover(window.end.since(window.start));
        self
    }

    /// Time from the beginning of the measured window to the last answer to a measured operation.
    pub(crate) fn answered_until(&self, plan: &Plan) -> Option<Span> {
        let last = self.workers.iter().map(|worker| worker.last_settled).max();
        let last = last.filter(|_| self.measured().answered > 0);
        last.map(|last| last.since(plan.window.measure_start(self.start)))
    }

    /// Counters of the measured window's operations.
    pub(crate) fn measured(&self) -> &Counters {
        &self.totals.segments[usize::from(segment::MEASURE)]
    }

    /// The first error with which a server replied.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.workers.iter().find_map(|worker| worker.refusal)
    }

    /// Number of connections that ended because the server's bytes violated the protocol or were
    /// not requested.
    pub(crate) fn protocol_errors(&self) -> u64 {
        let segments = self.totals.segments.iter();
        segments.map(|counters| counters.errors[ErrorClass::Protocol as usize]).sum()
    }

    /// Number of the server that refused connections because it has too many, if one did.
    pub(crate) fn turned_away(&self) -> Option<usize> {
        self.workers
            .iter()
            .filter_map(|worker| worker.trouble)
            .find(|trouble| trouble.what == TOO_MANY)
            .map(|trouble| trouble.server.index())
    }
}
