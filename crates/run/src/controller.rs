//! The course of a run: query the servers, fill them if needed, make the load, query again, seal
//! the record. It decides from data alone.

use crate::failure::{Failure, Fault};
use crate::fill::{Filled, fill};
use crate::lower::{Lowered, signed};
use crate::observer::Observer;
use crate::run_plan::{
    Closing, EACH_MAX, Ended, Loss, Rows, Seconds, Steering, WarmupEnded, Watch, oldest_due,
    run_load,
};
use crate::seal::{Began, Material, none_opened, seal, service_so_far, so_far, wrong_values};
use crate::share::{Barrier, Share};
use crate::survey::{
    OwnCounts, QueryFilter, ServerCommands, Survey, compare, figures_of_all, first_survey,
};
use memtide_base::{Instant, Sentence, ServerId, Span, rng};
use memtide_metrics::{Churn, ChurnCounters, Counters, TallySum};
use memtide_record::{
    Agreement, Event, Phase, Progress, Record, ShareStart, TimesSoFar, WarmupEnd, WrongValues,
    natively,
};
use memtide_scenario::{Goal, Load, Scenario};
use memtide_world::fleet::{Fleet, Interval};
use memtide_world::plan::segment;
use memtide_world::question::AskError;
use memtide_world::{Plan, ServerPlan, Window};
use std::borrow::Cow;

/// A run that has ended, by its plan or early.
#[derive(Debug)]
pub struct RunOutcome {
    /// The record.
    pub record: Record,
    /// Failure that ended the run early, as a sentence; the record is then partial.
    pub failure: Option<Failure>,
    /// Wrong values that verification found.
    pub wrong_values: WrongValues,
}

/// Time in which servers may count requests that were sent without asking for a reply.
const SETTLE: Span = Span::from_s(1);
const SETTLE_STEP: Span = Span::from_ms(20);
/// Time that an interrupted run waits for the servers' counters.
const FAREWELL: Span = Span::from_s(1);
const TICK: Span = Span::from_s(1);
/// Shortest time over which operations are counted for the displayed rate, in seconds.
const RATE_OVER_S: f64 = 0.5;

/// Carries out `scenario` as it was lowered. With `load_only` the servers are filled and nothing
/// else happens. With a `barrier`, the load begins when the barrier allows.
pub fn run<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    lowered: &Lowered,
    load_only: bool,
    barrier: Option<&mut dyn Barrier>,
    observer: &mut impl Observer,
) -> Result<RunOutcome, Failure> {
    let ended = carry_out(fleet, scenario, lowered, load_only, barrier, observer);
    match ended {
        // A failure after the user's interrupt is its consequence.
        Err(_) if fleet.is_interrupted() => Err(Fault::Interrupted.into()),
        ended => ended,
    }
}

fn carry_out<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    lowered: &Lowered,
    load_only: bool,
    barrier: Option<&mut dyn Barrier>,
    observer: &mut impl Observer,
) -> Result<RunOutcome, Failure> {
    let floor = if load_only { None } else { observer.floor(&lowered.record) };
    let began = Began { at: fleet.now(), unix_ns: fleet.since_unix().ns() };
    let plan = &signed(&lowered.plan, writer(&began, lowered));
    observer.on(&Event::Started(Box::new(lowered.record.clone())));
    let fleet = &mut QueryFilter::new(fleet, scenario.trust.no_stats);
    let mut survey = first_survey(fleet, plan, observer)?;
    let load = match scenario.load {
        _ if load_only => Load::Always,
        Load::Auto if survey.unreachable => Load::Never,
        load => load,
    };
    let filled = fill(fleet, scenario, plan, load, lowered.sampled, observer)?;
    let mut commands = ServerCommands::default();
    let start = barrier.as_ref().map_or(ShareStart::WhenReady, |barrier| barrier.kind());
    let mut monitor = Monitor::new(plan, watched(lowered, plan, &survey), began);
    let main = if load_only || filled.interrupted {
        None
    } else {
        commands.before(fleet, plan, &survey, scenario)?;
        let mut so_far = |plan: &Plan, ended: &Ended| {
            so_far(ended, plan, lowered, scenario, start, &survey, &began)
        };
        let steering = Steering {
            unless: Watch::new(conditions(scenario, start)),
            // A reference in an option is not shortened by itself.
            barrier: barrier.map(|barrier| barrier as &mut dyn Barrier),
            closing: Closing::new(plan, &mut so_far),
        };
        waits_for(start).into_iter().for_each(|words| observer.on(&Event::Note(words.to_owned())));
        let ended = main_phase(fleet, plan, steering, &mut monitor, observer);
        commands.after(fleet, plan, &survey, scenario);
        Some(ended?)
    };
    let asked = survey.asked.questions + filled.asked + commands.asked + monitor.asked();
    survey.asked_between = asked + plan.servers.len() as u64;
    survey.is_touched = commands.is_taken;
    let own = own_counts(&filled, main.as_ref());
    let interrupted = filled.interrupted || main.as_ref().is_some_and(|main| main.interrupted);
    let agreement = take_leave(fleet, &farewell(plan, interrupted), &mut survey, &own);
    survey.passed = fleet.now().since(began.at);
    if let Some(ended) = &main {
        monitor.finish(ended, fleet.now(), &survey, observer);
    }
    survey.expected = survey.expected_of_share(plan, &own);
    let failure = main.as_ref().and_then(|ended| failure(plan, ended));
    let lowered = with_window(lowered, main.as_ref());
    let (record, warnings) = seal(Material {
        scenario,
        lowered: &lowered,
        filled: &filled,
        main: main.as_ref(),
        seconds: &monitor.seconds,
        survey: &survey,
        commands: &commands,
        agreement,
        floor,
        interrupted,
        start,
        began,
        ended_unix_ns: fleet.since_unix().ns(),
        observer,
    });
    for row in monitor.rows.rest(&record.intervals) {
        observer.on(&Event::Row(Box::new(row.clone())));
    }
    warnings.into_iter().for_each(|warning| observer.on(&Event::Warning(warning)));
    let wrong_values = wrong_values(plan, &filled, main.as_ref());
    observer.on(&Event::WrongValues(Box::new(wrong_values.clone())));
    observer.on(&Event::Done(Box::new(record.clone())));
    Ok(RunOutcome { record, failure, wrong_values })
}

/// `lowered`, once the load has `ended` whose window it left open.
fn with_window<'a>(lowered: &'a Lowered, ended: Option<&Ended>) -> Cow<'a, Lowered> {
    let Some(Ended { warmup, narrow, .. }) = ended else { return Cow::Borrowed(lowered) };
    let mut known = Cow::Borrowed(lowered);
    if let Some(WarmupEnded { length, found }) = *warmup {
        let known = known.to_mut();
        known.plan.window.warmup = length;
        known.record.warmup_s = length.as_s_f64();
        known.record.warmup_end = if found { WarmupEnd::Steady } else { WarmupEnd::Unsteady };
    }
    if let Some(narrow) = *narrow {
        let Lowered { plan, record, .. } = known.to_mut();
        let at_most = plan.window.duration;
        plan.window.duration = narrow.unwrap_or(at_most);
        record.duration_s = Some(plan.window.duration.as_s_f64());
        if let Some(precision) = &mut record.precision {
            precision.reached = Some(narrow.is_some());
        }
    }
    known
}

/// The plan for the servers' final query.
fn farewell(plan: &Plan, interrupted: bool) -> Plan {
    let timeout = if interrupted { plan.timeout.min(FAREWELL) } else { plan.timeout };
    Plan { timeout, ..plan.clone() }
}

/// Conditions that end the load early. Agents have none: their master judges them for all agents.
fn conditions(scenario: &Scenario, start: ShareStart) -> &[Goal] {
    if start == ShareStart::Agents { &[] } else { &scenario.trust.abort_on }
}

/// Identifier of this run in the values it stores: it differs from that of runs that began at
/// another instant, and from those of the run's other shares.
fn writer(began: &Began, lowered: &Lowered) -> u32 {
    let of_run = rng::mix(began.unix_ns) as u32;
    let Some(Share { number, of, .. }) = lowered.share else { return of_run };
    // Each server takes an identifier of its own.
    let servers = lowered.plan.servers.len() as u32;
    let bits = of.saturating_mul(servers).next_power_of_two().ilog2();
    of_run.unbounded_shl(bits) | (number * servers)
}

/// Reason why the load could not continue or never began, if it failed.
fn failure(plan: &Plan, ended: &Ended) -> Option<Failure> {
    let unopened = none_opened(ended) && !ended.interrupted;
    if ended.loss.is_none() && !unopened {
        return None;
    }
    let trouble = ended.workers.iter().find_map(|worker| worker.trouble);
    let what =
        trouble.map_or_else(|| Sentence::new("went away"), |trouble| trouble.what.sentence());
    let server = match trouble {
        Some(trouble) => format!("server {}", plan.servers[trouble.server.index()].name),
        None => "a server".to_owned(),
    };
    let timeout = plan.timeout;
    let fault = match ended.loss {
        Some(Loss::Servers) => Fault::ServersLost { timeout, server, what },
        Some(Loss::Silence) => {
            let who = match &plan.servers[..] {
                [server] => format!("server {}", server.name),
                _ => "every server".to_owned(),
            };
            Fault::Silence { who, timeout }
        }
        Some(Loss::Unserved) => Fault::Unserved { server, what },
        Some(Loss::Connection) => Fault::ConnectionLost { server, what },
        None => Fault::NoneOpened { server, what },
    };
    Some(fault.into())
}

/// The servers to query while the load runs: each once, if it answered before the load.
fn watched(lowered: &Lowered, plan: &Plan, survey: &Survey) -> Vec<ServerId> {
    let each = plan.servers.iter().enumerate().filter(|&(number, server)| {
        survey.first(number) == number && survey.before.contains_key(&server.name)
    });
    let asked: Vec<ServerId> = each.map(|(number, _)| ServerId(number as u16)).collect();
    if lowered.watches_servers && asked.len() <= EACH_MAX { asked } else { Vec::new() }
}

/// Carries out the load itself.
fn main_phase<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    steering: Steering<'_>,
    monitor: &mut Monitor<'_>,
    observer: &mut impl Observer,
) -> Result<Ended, Failure> {
    fleet.watch_servers(plan, &monitor.watched);
    let ended = run_load(fleet, plan, steering, &mut |plan, start, looked, totals| {
        monitor.window = plan.window;
        monitor.watch(plan, start, looked, totals, observer);
    });
    fleet.watch_servers(plan, &[]);
    let ended = ended?;
    monitor.passed = fleet.now().since(ended.start);
    if !monitor.is_over {
        observer.tick(fleet.now());
    }
    Ok(ended)
}

/// Queries every server again. Requests without a reply may still be on their way, so a count that
/// is too low is read again for a while. A count that is too high is read again, too: if it still
/// grows although none of our commands is in flight, other clients are active. (The number of open
/// connections does not show that, because servers count listening sockets.)
fn take_leave<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    survey: &mut Survey,
    own: &OwnCounts,
) -> Agreement {
    let deadline = fleet.now() + SETTLE;
    let mut surplus = None;
    loop {
        let servers: Vec<&ServerPlan> = survey.servers(plan).collect();
        let answers = figures_of_all(fleet, plan, &servers);
        for (server, figures) in servers.into_iter().zip(answers) {
            match figures {
                Ok(figures) => drop(survey.after.insert(server.name.clone(), figures)),
                Err(AskError::NotAsked) => {}
                Err(error) => {
                    let what = natively(&error.sentence());
                    survey.unavailable = Some(format!("server {} {what}", server.name));
                }
            }
        }
        let mut agreement = compare(survey, plan, own);
        let Agreement::Differs(_, theirs, ours) = agreement else { return agreement };
        if theirs > ours as i64 {
            let counted = survey.readings().commands();
            survey.is_moving = *surplus.get_or_insert(counted) < counted;
            agreement = compare(survey, plan, own);
        }
        if survey.is_moving || fleet.now() >= deadline {
            return agreement;
        }
        survey.asked_between += plan.servers.len() as u64;
        let mut nothing = TallySum::new(&plan.shape());
        let pause = fleet.now() + SETTLE_STEP;
        if fleet.collect(pause, &mut nothing).is_err() {
            return agreement;
        }
    }
}

/// The counts of a fill and of the load that ended, if there was one.
fn own_counts(filled: &Filled, main: Option<&Ended>) -> OwnCounts {
    let mut own = OwnCounts { counters: filled.counters.clone(), opened: filled.opened };
    if let Some(ended) = main {
        ended.totals.segments.iter().for_each(|segment| own.counters += segment);
        own.opened += ended.totals.all_connections().opened;
    }
    own
}

/// Turns the intervals of a fleet into progress events and ticks.
struct Monitor<'a> {
    plan: &'a Plan,
    /// The measured window, as far as it is known.
    window: Window,
    /// Servers whose statistics are queried during the load.
    watched: Vec<ServerId>,
    /// The beginning of the run.
    began: Began,
    phase: Option<Phase>,
    last_tick: Option<Instant>,
    /// True if the last tick of the measured window has happened.
    is_over: bool,
    /// The last count of operations that were done, and its instant.
    done: u64,
    counted_at: Instant,
    rate_per_s: Option<f64>,
    /// Number of times that the times so far were shown.
    looks: u64,
    seconds: Seconds,
    /// Time since the beginning of the load; at last, its whole length.
    passed: Span,
    rows: Rows,
}

impl<'a> Monitor<'a> {
    fn new(plan: &'a Plan, watched: Vec<ServerId>, began: Began) -> Self {
        Self {
            plan,
            window: plan.window,
            watched,
            began,
            phase: None,
            last_tick: None,
            is_over: false,
            done: 0,
            counted_at: Instant::ZERO,
            rate_per_s: None,
            looks: 0,
            seconds: Seconds::new(),
            passed: Span::ZERO,
            rows: Rows::default(),
        }
    }

    fn watch(
        &mut self,
        plan: &Plan,
        start: Instant,
        looked: &Interval,
        totals: &TallySum,
        observer: &mut impl Observer,
    ) {
        let (window, now) = (self.window, looked.at);
        let (phase, since) = match window.segment_of(start, now) {
            segment::WARMUP => (Phase::Warmup, start),
            segment::MEASURE => (Phase::Measure, window.measure_start(start)),
            _ => (Phase::Cooldown, window.measure_end(start)),
        };
        if self.phase != Some(phase) && now >= start {
            if self.phase.is_none() {
                observer.on(&Event::LoadBegun(self.began.unix_ns(start)));
                observer.host_second();
            }
            self.phase = Some(phase);
            observer.on(&Event::Phase(phase));
        }
        self.seconds.timeline.take(plan, &looked.polled);
        if now >= start {
            self.tick(phase, now, observer);
            self.show_times(start, now, totals, observer);
            let second = self.seconds.look(plan, start, looked, totals, || observer.host_second());
            if let Some(second) = second {
                observer.on(&Event::Interval(Box::new(second)));
            }
            for row in self.rows.look(plan, start, looked, totals) {
                observer.on(&Event::Row(Box::new(row)));
            }
        }
        // All copies of a write are one operation.
        let segments = totals.segments.iter();
        let done = segments.map(|of| of.answered.saturating_sub(of.copies)).sum();
        self.count(done, now);
        // If a number of connections ends the load, progress is counted in connections.
        let counted = self.plan.churn().is_some_and(|churn| churn.openings_max.is_some());
        let ended = totals
            .churn
            .as_deref()
            .filter(|_| counted)
            .map(|churn| churn.segments.iter().map(ChurnCounters::ended).sum::<u64>());
        let length = match phase {
            Phase::Load | Phase::Measure => window.duration,
            Phase::Warmup => window.warmup,
            // The cool-down ends with its last operation.
            Phase::Cooldown => Span::MAX,
        };
        observer.on(&Event::Progress(Progress {
            phase,
            elapsed_s: now.since(since).as_s_f64(),
            length_s: (length != Span::MAX).then(|| length.as_s_f64()),
            done: ended.unwrap_or(done),
            total: window
                .ops_max
                .or(self.plan.churn().and_then(|churn| churn.openings_max))
                .map(|most| self.plan.own_ops(most)),
            rate_per_s: self.rate_per_s,
            living: totals.churn.as_deref().map(living),
            response_p99_ns: latest_p99(totals),
            unanswered: totals.segments.iter().map(Counters::unanswered).sum(),
            oldest_due: oldest_due(looked),
        }));
    }

    /// Takes the number of operations that are done, for the displayed rate.
    fn count(&mut self, done: u64, now: Instant) {
        let passed = now.since(self.counted_at).as_s_f64();
        let is_first = self.counted_at == Instant::ZERO;
        if is_first || passed >= RATE_OVER_S {
            let more = done.saturating_sub(self.done) as f64;
            self.rate_per_s = (!is_first).then_some(more / passed);
            (self.done, self.counted_at) = (done, now);
        }
    }

    /// Connections opened to query servers for their statistics.
    fn asked(&self) -> u64 {
        self.seconds.timeline.connections()
    }

    /// Emits the remaining seconds of the load that `ended`, with the servers' last reports, then
    /// final progress.
    fn finish(
        &mut self,
        ended: &Ended,
        now: Instant,
        survey: &Survey,
        observer: &mut impl Observer,
    ) {
        // A later command may have changed the servers' counters.
        if !survey.is_touched {
            self.seconds.timeline.end(now, &survey.after);
        }
        if let Some(rest) = self.seconds.finish(self.plan, self.passed, &ended.totals) {
            observer.on(&Event::Interval(Box::new(rest)));
        }
    }

    /// Ticks from the beginning of the measured window to its end. The cost of the last operations'
    /// ends is not part of the window.
    fn tick(&mut self, phase: Phase, now: Instant, observer: &mut impl Observer) {
        let due = match phase {
            Phase::Measure => self.last_tick.is_none_or(|last| now.since(last) >= TICK),
            Phase::Cooldown => !self.is_over,
            Phase::Load | Phase::Warmup => false,
        };
        if due {
            self.is_over = phase == Phase::Cooldown;
            self.last_tick = Some(now);
            observer.tick(now);
        }
    }

    /// Shows the times so far if another of the observer's periods is over.
    fn show_times(
        &mut self,
        start: Instant,
        now: Instant,
        totals: &TallySum,
        observer: &mut impl Observer,
    ) {
        let Some(every) = observer.looks_every().filter(|every| !every.is_zero()) else { return };
        let window = self.window;
        let passed = now.since(window.measure_start(start)).min(window.duration);
        let looks = passed.ns() / every.ns();
        if looks > self.looks {
            self.looks = looks;
            let service = service_so_far(totals, self.plan);
            observer.on(&Event::Times(Box::new(TimesSoFar { elapsed: every * looks, service })));
        }
    }
}

/// What a share waits for once its connections are open, in words; none if it does not wait, or its
/// master says so.
fn waits_for(start: ShareStart) -> Option<&'static str> {
    match start {
        ShareStart::Time => Some("waiting for the time at which all shares begin"),
        ShareStart::Pmi => Some("waiting for the other shares, through their launcher"),
        ShareStart::Folder => Some("waiting for the other shares, through their folder"),
        ShareStart::WhenReady | ShareStart::Agents => None,
    }
}

/// Number of connections under connection churn that were due and have not ended.
fn living(churn: &Churn<u64>) -> u64 {
    churn.segments.iter().map(|segment| segment.intended - segment.ended()).sum()
}

/// 99th percentile of the latest row that is probably complete.
fn latest_p99(totals: &TallySum) -> Option<u64> {
    let rows = totals.series.rows();
    let row = rows.len().checked_sub(2).map_or(rows.last(), |at| rows.get(at))?;
    row.response_quantile(0.99)
}
