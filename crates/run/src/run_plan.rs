//! One plan, from start to finish: open, begin, watch, stop, collect. The same for a fill, a
//! probe and the run itself.

mod abort;
mod beginning;
mod rows;
mod seconds;
mod timeline;
mod kinds;

pub(crate) use abort::Watch;
pub(crate) use kinds::{kinds, merged, unanswered};
pub(crate) use rows::Rows;
pub(crate) use seconds::{EACH_MAX, Seconds, oldest_due};

use crate::failure::{Failure, Fault};
use crate::share::{Barrier, NotRun};
use beginning::{Begun, begin};
use memtide_base::{Instant, Span};
use memtide_engine::fleet::{Command, Fleet, Interval, TroubleKind, WorkerReport};
use memtide_engine::plan::segment;
use memtide_engine::{Closed, Pacing, PeerError, Plan, Reconnect, Stage, Window};
use memtide_metrics::{Counters, ErrorClass, TallySum};
use memtide_schema::record::Aborted;

/// How often the workers are looked at.
const LOOK_EVERY: Span = Span::from_ms(100);
/// From the order to begin to the beginning: longer than a worker takes to notice.
const LEAD: Span = Span::from_ms(30);
/// How long a user who interrupts waits for what is in flight.
const GRACE_INTERRUPTED: Span = Span::from_s(1);
/// How much later than the last deadline a run is ended in any case.
const OVERTIME: Span = Span::from_s(5);
/// How much longer than the timeout nothing may end where only endings lead on: by then every
/// operation in flight has timed out.
const STILL_MAX: Span = Span::from_s(1);

/// The longest that `plan` takes from the beginning of its load until the last reply of its servers
/// was awaited; none if only the number of operations ends the load.
pub fn load_max(plan: &Plan) -> Option<Span> {
    let Window { warmup, duration, .. } = plan.window;
    // Of the last operation, of those in flight at the stop, and of the last questions.
    let replies = plan.timeout + plan.timeout + plan.timeout + OVERTIME;
    (duration != Span::MAX).then(|| warmup + duration + replies)
}

/// A plan that is over.
pub(crate) struct Ended {
    pub(crate) totals: TallySum,
    pub(crate) workers: Vec<WorkerReport>,
    /// When the schedules started.
    pub(crate) start: Instant,
    /// When the order to stop was given.
    pub(crate) stopped: Instant,
    /// Every operation or connection that was to be made had been made by then.
    pub(crate) is_used_up: bool,
    /// The user asked to stop.
    pub(crate) interrupted: bool,
    /// What was lost, so that there was no going on.
    pub(crate) loss: Option<Loss>,
    /// The condition that ended it early.
    pub(crate) aborted: Option<Aborted>,
    /// Why its load never began, if the shares of the run did not begin together.
    pub(crate) not_run: Option<NotRun>,
}

/// What a plan cannot go on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Every server was gone for longer than the timeout.
    Servers,
    /// They were there, and said nothing for longer than the timeout.
    Silence,
    /// A connection, where none is opened again.
    Connection,
    /// Nothing was ever answered, and one connection after the other ended.
    Unserved,
}

/// Carries out `plan`; `watch` sees the totals about ten times a second.
pub(crate) fn run_plan<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    watch: &mut dyn FnMut(Instant, &Interval, &TallySum),
) -> Result<Ended, Failure> {
    carry_out(fleet, plan, (Watch::new(&[]), Liveness::Answers, None), watch)
}

/// Carries out `plan`, or ends it early when a condition of `unless` is true. Where there is a
/// `barrier`, the load begins when the shares of the run agree, and ends early when they do.
pub(crate) fn run_plan_unless<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    (unless, barrier): (Watch<'_>, Option<&mut dyn Barrier>),
    watch: &mut dyn FnMut(Instant, &Interval, &TallySum),
) -> Result<Ended, Failure> {
    carry_out(fleet, plan, (unless, Liveness::Endings, barrier), watch)
}

/// What shows that a server has not fallen silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Liveness {
    /// Operations end, with or without an answer: that is what is measured.
    Endings,
    /// Some are answered in time: where the answers are needed, nothing else is of use.
    Answers,
}

fn carry_out<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    (mut unless, liveness, mut barrier): (Watch<'_>, Liveness, Option<&mut dyn Barrier>),
    watch: &mut dyn FnMut(Instant, &Interval, &TallySum),
) -> Result<Ended, Failure> {
    let mut totals = TallySum::new(&plan.shape());
    fleet.start(plan, plan.own_workers())?;
    let opened = open(fleet, plan, &mut totals)?;
    let meeting = barrier.as_mut().map(|barrier| &mut **barrier as &mut dyn Barrier);
    let Begun { start, mut stopped, not_run } = begin(fleet, &opened, meeting, &mut totals)?;
    let (mut loss, mut aborted, mut is_used_up) = (None, None, false);
    let mut heard = Heard { liveness, count: 0, at: start };
    let last_deadline = plan.window.measure_end(start) + plan.timeout + OVERTIME;
    loop {
        let interval = fleet.collect(fleet.now() + LOOK_EVERY, &mut totals)?;
        watch(start, &interval, &totals);
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
            };
            ended.check_books();
            return Ok(ended.with_all_rows(plan));
        }
        if stopped.is_some() {
            continue;
        }
        is_used_up = interval.workers.iter().all(|worker| worker.is_used_up);
        if interval.interrupted {
            stop(fleet, GRACE_INTERRUPTED.min(plan.timeout), &mut stopped)?;
        } else if plan.reconnect == Reconnect::Never && totals.all_connections().lost > 0 {
            loss = Some(Loss::Connection);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if is_unserved(plan, &totals, interval.at.since(start)) {
            loss = Some(Loss::Unserved);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if disconnected(&interval, plan.timeout) {
            loss = Some(Loss::Servers);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if heard.is_stuck(plan, &totals, interval.at) {
            loss = Some(Loss::Silence);
            stop(fleet, Span::ZERO, &mut stopped)?;
        } else if (is_measured(&interval)
            && (is_used_up || interval.at >= plan.window.measure_end(start)))
            || interval.at >= last_deadline
        {
            stop(fleet, plan.timeout, &mut stopped)?;
        } else {
            aborted = unless
                .look(plan, start, interval.at, &totals)
                .or_else(|| barrier.as_mut().and_then(|barrier| barrier.aborted()));
            if aborted.is_some() {
                stop(fleet, GRACE_INTERRUPTED.min(plan.timeout), &mut stopped)?;
            }
        }
    }
}

/// A server turns connections away for being too many.
const TOO_MANY: TroubleKind = TroubleKind::Closed(Closed::Broken(PeerError::TooManyConnections));

/// Waits until every connection is open; gives up when no more of them open for the timeout.
fn open<F: Fleet>(fleet: &mut F, plan: &Plan, totals: &mut TallySum) -> Result<Interval, Failure> {
    let mut last = (totals.all_connections().opened, fleet.now());
    loop {
        let interval = fleet.collect(fleet.now() + LEAD, totals)?;
        let ready = interval.workers.iter().all(|worker| worker.stage >= Stage::Ready);
        if ready || interval.interrupted {
            return Ok(interval);
        }
        let opened = totals.all_connections().opened;
        let wanted = plan.own_connections();
        let trouble = interval.workers.iter().find_map(|worker| worker.trouble);
        if let Some(trouble) = trouble {
            let server = &plan.servers[trouble.server.index()];
            let so_far = match opened {
                0 => String::new(),
                // A server says so only on connections that the kernel has opened.
                _ if trouble.what == TOO_MANY => format!(
                    " (when {opened} of {wanted} connections had been opened on this side; how \
                     many of these the server took is not known)"
                ),
                _ => format!(" (when {opened} of {wanted} connections had been opened)"),
            };
            let (server, what) = (server.name.clone(), trouble.what);
            return Err(Fault::Opening { server, what, so_far }.into());
        }
        if opened != last.0 {
            last = (opened, interval.at);
        }
        if interval.at.since(last.1) >= plan.timeout + LOOK_EVERY {
            let (wanted, timeout) = (u64::from(wanted), plan.timeout);
            return Err(Fault::OpeningSlowly { opened, wanted, timeout }.into());
        }
    }
}

/// Connections that end one after the other until a server that never answered is given up.
const UNSERVED_CONNECTIONS: u64 = 8;

/// Whether there is no use in going on: nothing was ever answered, and connections ended because
/// the server does not speak the protocol; or for any reason, where only answers end the plan.
fn is_unserved(plan: &Plan, totals: &TallySum, passed: Span) -> bool {
    let sum = |of: fn(&Counters) -> u64| totals.segments.iter().map(of).sum::<u64>();
    let answered = sum(|counters| counters.answered + counters.failed + counters.late_replies);
    let broken = sum(|counters| counters.errors[ErrorClass::Protocol as usize]);
    let ended = if ends_by_answers(plan) { totals.all_connections().lost } else { broken };
    // Of several servers another may just be slow.
    let patient = plan.servers.len() == 1 || passed > plan.timeout;
    plan.churn().is_none() && answered == 0 && ended >= UNSERVED_CONNECTIONS && patient
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

/// Whether every measured operation has ended, and none is to come before the window ends.
fn is_measured(interval: &Interval) -> bool {
    interval.workers.iter().all(|worker| worker.measured_done)
}

/// Whether no worker has had a connection for longer than `timeout`.
fn disconnected(interval: &Interval, timeout: Span) -> bool {
    let gone = |worker: &WorkerReport| {
        worker.disconnected_since.is_some_and(|since| interval.at.since(since) > timeout)
    };
    interval.workers.iter().all(gone)
}

/// Whether only answers end `plan`: a closed loop of a number of operations.
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
    /// Whether a closed loop that only operations can end has stopped for good: all have timed
    /// out, but keep their slots, because their answers may still come; or every answer that is
    /// needed comes too late.
    fn is_stuck(&mut self, plan: &Plan, totals: &TallySum, now: Instant) -> bool {
        let count = match self.liveness {
            Liveness::Endings => Counters::settled,
            Liveness::Answers => |counters: &Counters| counters.settled() - counters.timed_out,
        };
        let count = totals.segments.iter().map(count).sum();
        if count != self.count {
            *self = Self { count, at: now, ..*self };
        }
        ends_by_answers(plan) && now.since(self.at) > plan.timeout + STILL_MAX
    }
}

impl Ended {
    /// The measured window that really was: its start and its end. It is the plan's, whether or
    /// not something happened in it, unless a count, a loss or the user ended it before.
    pub(crate) fn window(&self, plan: &Plan) -> (Instant, Instant) {
        let start = plan.window.measure_start(self.start);
        let planned = plan.window.measure_end(self.start);
        let last = |of: fn(&WorkerReport) -> Instant| self.workers.iter().map(of).max();
        let end = if self.is_counted_out() {
            // It reaches to the last thing that happened.
            let settled = last(|worker| worker.last_settled).unwrap_or(start);
            settled.max(last(|worker| worker.last_intended).unwrap_or(start)).min(planned)
        } else {
            planned.min(self.stopped)
        };
        assert!(start <= planned, "a window ends after it begins");
        (start, end.max(start))
    }

    /// Whether a number of operations or connections ended the run within its window, and not
    /// time.
    pub(crate) fn is_counted_out(&self) -> bool {
        let cooldown = usize::from(segment::COOLDOWN);
        let later = self.totals.segments[cooldown].intended
            + self.totals.churn.as_ref().map_or(0, |churn| churn.segments[cooldown].intended);
        self.is_used_up && later == 0
    }

    /// Every operation ended once, and each way of counting those of the window says the same. A
    /// fault of ours, which no record may hide.
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
        let times: u64 = totals.times.response.iter().flatten().map(|part| part.count()).sum();
        assert_eq!(times, measured.answered, "each answer has its response time");
        assert_eq!(totals.times.response_ideal.count(), times, "a perfect generator has as many");
    }

    /// Adds an empty row for each quiet stretch of the window.
    fn with_all_rows(mut self, plan: &Plan) -> Self {
        let (start, end) = self.window(plan);
        self.totals.series.cover(end.since(start));
        self
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

    /// Connections that ended because what came was not the protocol, or was never asked for.
    pub(crate) fn protocol_errors(&self) -> u64 {
        let errors = |counters: &Counters| counters.errors[ErrorClass::Protocol as usize];
        self.totals.segments.iter().map(errors).sum()
    }

    /// Whether a server turned connections away for being too many.
    pub(crate) fn turned_away(&self) -> Option<usize> {
        self.workers
            .iter()
            .filter_map(|worker| worker.trouble)
            .find(|trouble| trouble.what == TOO_MANY)
            .map(|trouble| trouble.server.index())
    }
}
