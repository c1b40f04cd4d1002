//! A fleet of threads in this process.
//!
//! A thread belongs to one plan: `start` makes it, and it is gone when the plan is over. It
//! communicates with the fleet only through atomics and the hand-over.

mod watch;

use crate::clock::{self, Clock};
use crate::driver::epoll::{AHEAD_MAX, EpollDriver};
use crate::driver::guard::{self, ConnectGuard};
use crate::driver::peer::Peers;
use crate::driver::uring::UringDriver;
use crate::export::{SampleQueues, SampleSink};
use crate::handoff::{Giver, Parcel, Taker, handoff};
use crate::machine;
use crate::machine::pin;
use crate::memory;
use crate::signal::StopFlag;
use memtide_base::{Instant, ServerId, Span};
use memtide_engine::probe::ask_unless;
use memtide_engine::{MeasuredWindow, Worker};
use memtide_metrics::{Tally, TallySum};
use memtide_workload::{PlannedSource, Source};
use memtide_world::driver::{DriverError, Sample};
use memtide_world::fleet::{Command, CpuTime, Fleet, FleetError, Interval, STOP_MIN, WorkerReport};
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Driver, Io, Pacing, Plan, ServerPlan, Stage, WindowCommands};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use watch::Watched;

/// The interval between hand-overs.
const HANDOVER_EVERY: Span = Span::from_ms(100);
/// The collector's sleep between checks for a stop, silence or a refused address. Workers wake it.
const COLLECT_STEP: Span = Span::from_ms(100);
/// Connections that a worker begins to open before it handles those that are open: with thousands
/// to one server, each takes the kernel long.
const OPENED_AT_ONCE: u32 = 256;
/// The longest wait for replies after silence has ended the load.
const SILENT_GRACE: Span = Span::from_s(1);
/// Attempts to make a driver while the process has no descriptor left.
const DRIVER_ATTEMPTS: usize = 20;
/// The pause between such attempts.
const DRIVER_PAUSE: Duration = Duration::from_millis(1);
/// Servers that are asked a question at the same time, each by a thread of its own.
const ASKED_AT_ONCE_MAX: usize = 64;
/// Measured operations that may wait to be written, per worker.
const SAMPLES_WAITING: usize = 1 << 16;

/// A fleet of threads.
pub struct HostFleet {
    clock: Clock,
    stop: StopFlag,
    cpus: Vec<usize>,
    samples: Option<SampleSink>,
    guard: ConnectGuard,
    workers: Vec<Thread>,
    watched: Option<Watched>,
    /// The plan that runs, or ran last.
    plan: Option<Arc<Plan>>,
    stops: Stops,
}

/// One worker's thread, from outside.
struct Thread {
    /// The worker's number in its plan.
    number: u16,
    mailbox: Arc<Mailbox>,
    taker: Taker,
    report: WorkerReport,
    handle: Option<JoinHandle<Result<Parcel, DriverError>>>,
}

/// Commands for a worker, on cache lines of their own: a worker reads them with every turn.
#[derive(Debug)]
#[repr(align(128))]
struct Mailbox {
    /// The instant to begin; never until commanded.
    begin_ns: AtomicU64,
    /// The instant to stop; never until commanded.
    stop_ns: AtomicU64,
    /// The grace of the stop; stored before the stop.
    stop_grace_ns: AtomicU64,
    /// True if the worker has handed over early, because it reached what its fleet waits for.
    reached: AtomicBool,
    /// True if the worker hands over nothing more but its last parcel, which its thread returns.
    ended: AtomicBool,
    /// The thread that collects, asleep between hand-overs.
    collector: thread::Thread,
}

// The commands of two workers are never on one cache line, nor on a pair that is fetched together.
const _: () = assert!(align_of::<Mailbox>() == 128 && size_of::<Mailbox>().is_multiple_of(128));

impl Mailbox {
    /// Wakes the collector for what the worker has handed over.
    fn reach(&self) {
        self.reached.store(true, Ordering::Release);
        self.collector.unpark();
    }

    fn stop(&self, at: Instant, grace: Span) {
        self.stop_grace_ns.store(grace.ns(), Ordering::Relaxed);
        self.stop_ns.store(at.ns(), Ordering::Release);
    }
}

const NEVER_NS: u64 = u64::MAX;

impl HostFleet {
    /// A fleet without workers. Its Nth worker is pinned to processor N of `cpus`, which repeat if
    /// there are fewer; if there are more of them than workers, these share all; without `cpus`,
    /// workers are not pinned. `samples` receives the queues of exported operations. The fleet
    /// connects to no address that `guard` refuses.
    pub fn new(
        clock: Clock,
        stop: StopFlag,
        cpus: &[usize],
        samples: Option<SampleSink>,
        guard: ConnectGuard,
    ) -> Self {
        let (cpus, workers) = (cpus.to_vec(), Vec::new());
        let (watched, plan, stops) = (None, None, Stops::default());
        Self { clock, stop, cpus, samples, guard, workers, watched, plan, stops }
    }

    fn asker(&self) -> Asker {
        let (clock, guard, stop) = (self.clock, self.guard.clone(), self.stop.clone());
        Asker { clock, guard, is_late: stop.is_raised(), stop }
    }

    /// Ends the run if the guard has refused an address.
    fn check_refused(&self) -> Result<(), FleetError> {
        self.guard
            .refused()
            .map_or(Ok(()), |address| Err(FleetError::NotAllowed { address: address.to_string() }))
    }

    fn spawn(
        &self,
        plan: &Arc<Plan>,
        worker: u16,
        cpus: Vec<usize>,
        samples: Option<SyncSender<Sample>>,
    ) -> Result<Thread, FleetError> {
        let (giver, taker) = handoff();
        let mailbox = Arc::new(Mailbox {
            begin_ns: AtomicU64::new(NEVER_NS),
            stop_ns: AtomicU64::new(NEVER_NS),
            stop_grace_ns: AtomicU64::new(0),
            reached: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            collector: thread::current(),
        });
        let job = Job {
            plan: Arc::clone(plan),
            worker,
            mailbox: Arc::clone(&mailbox),
            giver,
            clock: self.clock,
            cpus,
            samples,
            guard: self.guard.clone(),
            stop: self.stop.clone(),
        };
        let handle = thread::Builder::new()
            .name(format!("worker-{worker}"))
            .spawn(move || {
                let mailbox = Arc::clone(&job.mailbox);
                let last = job.run();
                mailbox.ended.store(true, Ordering::Release);
                mailbox.collector.unpark();
                last
            })
            .map_err(|error| FleetError::NoThread { worker, why: error.to_string() })?;
        Ok(Thread {
            number: worker,
            mailbox,
            taker,
            report: WorkerReport::default(),
            handle: Some(handle),
        })
    }
}

impl Fleet for HostFleet {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn since_unix(&self) -> Span {
        clock::since_unix()
    }

    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        assert!(self.workers.iter().all(|worker| worker.handle.is_none()), "one plan at a time");
        memory::release();
        // The commands to an earlier plan are past.
        let plan = Arc::new(Plan { commands: WindowCommands::default(), ..plan.clone() });
        (self.stops, self.plan) = (Stops::default(), Some(Arc::clone(&plan)));
        self.workers.clear();
        let mut receivers = Vec::new();
        let is_shared = self.cpus.len() > workers.len();
        for (nth, worker) in workers.enumerate() {
            let samples = plan.samples.then(|| {
                let (sender, receiver) = sync_channel(SAMPLES_WAITING);
                receivers.push(receiver);
                sender
            });
            let cpus = match is_shared {
                true => self.cpus.clone(),
                false => self.cpus.iter().copied().cycle().nth(nth).into_iter().collect(),
            };
            let thread = self.spawn(&plan, worker, cpus, samples)?;
            self.workers.push(thread);
        }
        if let (true, Some(begin)) = (plan.samples, &mut self.samples) {
            begin(SampleQueues(receivers));
        }
        Ok(())
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError> {
        if let (Command::Begin, Some(watched)) = (command, &self.watched) {
            watched.begin(at);
        }
        match (command, &self.plan) {
            (Command::Begin, Some(plan)) => {
                self.stops.window = plan.window.measure_start(at)..plan.window.measure_end(at);
            }
            (Command::Open, Some(plan)) => {
                plan.commands.open(at);
                self.stops.window = at..at + plan.window.duration;
            }
            (Command::Close, Some(plan)) => {
                plan.commands.close(at);
                self.stops.window.end = at;
            }
            _ => {}
        }
        if matches!(command, Command::Begin | Command::Stop { .. }) {
            memory::release();
        }
        for worker in &self.workers {
            let begun = worker.mailbox.begin_ns.load(Ordering::Relaxed) != NEVER_NS;
            assert!(!begun || command != Command::Begin, "a load begins once");
            match command {
                Command::Begin => worker.mailbox.begin_ns.store(at.ns(), Ordering::Release),
                // All workers share the plan's commands.
                Command::Open | Command::Close => {}
                Command::Stop { grace } => worker.mailbox.stop(at, grace),
            }
        }
        Ok(())
    }

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        let interrupted_before = self.stop.is_raised();
        let waited = machine::thread_run_delay();
        loop {
            let now = self.clock.now();
            let running = self.workers.iter().any(|worker| worker.handle.is_some());
            let over = running && self.workers.iter().all(Thread::is_over);
            let interrupted = self.stop.is_raised() && !interrupted_before;
            let refused = self.guard.refused().is_some();
            // Each worker's word is taken, so that none ends the next wait.
            let reached = self.workers.iter().fold(false, |any, worker| {
                any | worker.mailbox.reached.swap(false, Ordering::Acquire)
            });
            if now >= until || over || interrupted || refused || reached {
                break;
            }
            let step = until.since(now).min(COLLECT_STEP);
            thread::park_timeout(Duration::from_nanos(step.ns()));
            self.stops.note(now + step, self.clock.now(), waited);
        }
        for thread in &mut self.workers {
            let worker = thread.number;
            thread.collect(totals).map_err(|error| FleetError::Worker { worker, error })?;
        }
        if self.workers.iter().all(|worker| worker.handle.is_none()) {
            memory::release();
        }
        // Checked after the collection, because its reports may cause a refusal to be seen.
        self.check_refused()?;
        Ok(Interval {
            at: self.clock.now(),
            workers: self.workers.iter().map(|worker| self.stops.complete(worker.report)).collect(),
            polled: self.watched.as_ref().map(Watched::collect).unwrap_or_default(),
            interrupted: self.stop.is_raised(),
        })
    }

    fn is_interrupted(&self) -> bool {
        self.stop.is_raised()
    }

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        self.asker().ask(plan, server, question)
    }

    fn ask_all(
        &mut self,
        plan: &Plan,
        servers: &[&ServerPlan],
        question: Question<'_>,
    ) -> Vec<Result<Answer, AskError>> {
        let asker = &self.asker();
        let mut answers = Vec::with_capacity(servers.len());
        for servers in servers.chunks(ASKED_AT_ONCE_MAX) {
            answers.extend(thread::scope(|scope| {
                let (first, others) = servers.split_first().expect("a chunk is not empty");
                let others = others.iter().map(|&server| {
                    let thread = thread::Builder::new().name("stats".to_owned());
                    let started =
                        thread.spawn_scoped(scope, move || asker.ask(plan, server, question));
                    // Without a thread the server waits for the others.
                    started.map_err(|_| server)
                });
                let others: Vec<_> = others.collect();
                let mut answers = vec![asker.ask(plan, first, question)];
                answers.extend(others.into_iter().map(|other| match other {
                    Ok(thread) => thread.join().expect("a question does not panic"),
                    Err(server) => asker.ask(plan, server, question),
                }));
                answers
            }));
        }
        answers
    }

    fn watch_servers(&mut self, plan: &Plan, servers: &[ServerId]) {
        // The threads of the earlier plan end first.
        self.watched = None;
        if !servers.is_empty() {
            self.watched = Some(Watched::new(plan, servers, self.clock, &self.guard));
        }
    }
}

/// Asks servers beside the load.
struct Asker {
    clock: Clock,
    guard: ConnectGuard,
    stop: StopFlag,
    /// True if the user had asked to stop before, and may still see the servers' counters.
    is_late: bool,
}

impl Asker {
    fn ask(
        &self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        let mut driver = EpollDriver::of_one(self.clock, &self.guard)?;
        let answer = ask_unless(
            &|| self.stop.is_raised() && !self.is_late,
            &mut driver,
            plan,
            server,
            question,
        );
        match self.guard.refused() {
            // Another address of the server may have answered, but the run ends all the same.
            Some(address) => Err(AskError::Connect(guard::refusal(address))),
            None => answer,
        }
    }
}

/// Stops of the whole process within the measured window, which the collecting thread notices by
/// its own late wake-ups: it asked for a short sleep, and did not wait for a processor after it.
#[derive(Debug)]
struct Stops {
    window: Range<Instant>,
    longest: Span,
    total: Span,
}

impl Default for Stops {
    fn default() -> Self {
        let window = Instant::NEVER..Instant::NEVER;
        Self { window, longest: Span::ZERO, total: Span::ZERO }
    }
}

impl Stops {
    /// Notes that the thread woke at `woke`, although its sleep ended at `due`; it had `waited` for
    /// a processor shortly before. Not knowing that wait, or a wait that explains half of the
    /// delay, is no stop.
    fn note(&mut self, due: Instant, woke: Instant, waited: Span) {
        let late = woke.since(due);
        if late < STOP_MIN || waited.is_zero() {
            return;
        }
        let waited = machine::thread_run_delay().saturating_sub(waited);
        let within = woke.min(self.window.end).since(due.max(self.window.start));
        if waited.ns() < late.ns() / 2 {
            self.total += within;
            self.longest = self.longest.max(within);
        }
    }

    const fn complete(&self, report: WorkerReport) -> WorkerReport {
        WorkerReport { stopped: self.total, stopped_longest: self.longest, ..report }
    }
}

impl Drop for HostFleet {
    /// No thread outlives its fleet, however the run ended.
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.mailbox.stop(Instant::ZERO, Span::ZERO);
            if let Some(handle) = worker.handle.take() {
                drop(handle.join());
            }
        }
    }
}

impl Thread {
    /// True if nothing more will come; the last parcel may still wait to be collected.
    fn is_over(&self) -> bool {
        self.handle.as_ref().is_none_or(|handle| {
            // A panic ends a thread without a word.
            self.mailbox.ended.load(Ordering::Acquire) || handle.is_finished()
        })
    }

    fn collect(&mut self, totals: &mut TallySum) -> Result<(), DriverError> {
        let over = self.is_over();
        let report = &mut self.report;
        self.taker.take(|parcel| {
            totals.absorb(&mut parcel.tally);
            *report = parcel.report;
        });
        if over && let Some(handle) = self.handle.take() {
            let mut last = handle.join().expect("a worker's panic ends the program")?;
            totals.absorb(&mut last.tally);
            self.report = last.report;
        }
        Ok(())
    }
}

/// One worker's thread, from inside.
struct Job {
    plan: Arc<Plan>,
    worker: u16,
    mailbox: Arc<Mailbox>,
    giver: Giver,
    clock: Clock,
    /// The processors that it may use; empty for any.
    cpus: Vec<usize>,
    samples: Option<SyncSender<Sample>>,
    guard: ConnectGuard,
    stop: StopFlag,
}

impl Job {
    fn run(mut self) -> Result<Parcel, DriverError> {
        if !self.cpus.is_empty() {
            pin::keep(None, &self.cpus).map_err(|errno| DriverError {
                action: "sched_setaffinity",
                code: errno.raw_os_error(),
            })?;
        }
        // The default slack of 50 µs would be the largest part of a paced operation's lag. If it
        // cannot be set, the lag shows it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        match self.plan.io {
            Io::Epoll => {
                // Operations due by a schedule must not wait for several receives.
                let is_closed = matches!(self.plan.pacing, Pacing::Closed);
                let ahead_max = if is_closed { AHEAD_MAX } else { 1 };
                let driver = patiently(|| EpollDriver::new(self.peers(), ahead_max))?;
                self.run_driver(driver)
            }
            Io::Uring => {
                let driver = patiently(|| UringDriver::new(self.peers()))?;
                self.run_driver(driver)
            }
            Io::Simulated => panic!("a plan for threads names a driver of the kernel"),
        }
    }

    fn peers(&self) -> Peers {
        let connections = self.plan.connections_of(self.worker);
        let (samples, guard) = (self.samples.clone(), self.guard.clone());
        Peers::new(self.clock, self.plan.wait, connections, samples, guard)
    }

    fn run_driver(&mut self, driver: impl Driver) -> Result<Parcel, DriverError> {
        let source = PlannedSource::new(&self.plan.source);
        let tally = Box::new(Tally::new(&self.plan.shape()));
        self.giver.stock(Parcel { tally, report: WorkerReport::default() });
        let mut worker = Worker::new(driver, &self.plan, self.worker, &source);
        let mut opening = true;
        let mut meter = CpuMeter::default();
        let mut begun = false;
        let mut stops_at = Instant::NEVER;
        let mut handover = self.clock.now();
        let mut told = Reached::Nothing;
        loop {
            opening = opening && worker.open_more(OPENED_AT_ONCE);
            let begin_ns = self.mailbox.begin_ns.load(Ordering::Acquire);
            if !begun && begin_ns != NEVER_NS {
                begun = true;
                worker.begin(&self.plan, Instant::from_ns(begin_ns));
            }
            if begun && !meter.window.knows_end {
                worker.measured_window().into_iter().for_each(|window| meter.window(window));
            }
            let stop_at = Instant::from_ns(self.mailbox.stop_ns.load(Ordering::Acquire));
            if stop_at < stops_at {
                stops_at = stop_at;
                let grace_ns = self.mailbox.stop_grace_ns.load(Ordering::Relaxed);
                worker.stop(stop_at, Span::from_ns(grace_ns));
            }
            let now = worker.turn()?;
            meter.pass(now);
            // Only a thread's last parcel reports that it has finished: its reader may start the
            // next plan at once, and closing many connections takes a while.
            if worker.is_finished() {
                let report = meter.complete(worker.report(), true);
                return Ok(Parcel { tally: worker.into_tally(), report });
            }
            let reached = Reached::by(&worker).max(told);
            if now >= handover || reached > told {
                handover = now + HANDOVER_EVERY;
                // A process that was suspended must not first send operations that became due
                // meanwhile.
                if begun && stops_at == Instant::NEVER && self.stop.is_silent() {
                    stops_at = now;
                    worker.stop(now, SILENT_GRACE.min(self.plan.timeout));
                }
                let report = meter.complete(worker.report(), false);
                if self.giver.give(worker.tally_mut(), report) && reached > told {
                    told = reached;
                    self.mailbox.reach();
                }
            }
        }
    }
}

/// Makes a driver. Other threads hold a descriptor for a moment while they read a figure of the
/// system, so a process that has one left may lack it now and have it a moment later.
fn patiently<D>(make: impl Fn() -> Result<D, DriverError>) -> Result<D, DriverError> {
    for _ in 1..DRIVER_ATTEMPTS {
        match make() {
            Err(error) if error.code == Errno::MFILE.raw_os_error() => thread::sleep(DRIVER_PAUSE),
            made => return made,
        }
    }
    make()
}

/// What a fleet waits for: its worker hands over at once, not when the next hand-over is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Nothing,
    /// Every connection is open.
    Ready,
    /// Nothing more will be measured.
    Through,
}

impl Reached {
    fn by<D: Driver, S: Source + Clone>(worker: &Worker<D, S>) -> Self {
        match worker.stage() {
            Stage::Ready => Self::Ready,
            Stage::Running if worker.is_through() => Self::Through,
            _ => Self::Nothing,
        }
    }
}

/// Processor time of this thread within the measured window, accurate to one turn.
#[derive(Debug)]
struct CpuMeter {
    window: MeasuredWindow,
    at_start: Option<CpuReading>,
    at_end: Option<CpuReading>,
    kept: machine::Kept,
}

/// The kernel's counters for this thread, since it was made.
#[derive(Clone, Copy, Debug)]
struct CpuReading {
    user: Span,
    system: Span,
    run_delay: Span,
}

impl CpuReading {
    fn now() -> Self {
        let (user, system) = machine::thread_cpu();
        Self { user, system, run_delay: machine::thread_run_delay() }
    }
}

impl Default for CpuMeter {
    fn default() -> Self {
        let never = Instant::NEVER;
        let window = MeasuredWindow { start: never, end: never, knows_end: false };
        let (at_start, at_end, kept) = Default::default();
        Self { window, at_start, at_end, kept }
    }
}

impl CpuMeter {
    fn window(&mut self, window: MeasuredWindow) {
        assert!(!self.window.knows_end, "a window closes once");
        self.window = window;
    }

    fn pass(&mut self, now: Instant) {
        if self.at_start.is_none() && now >= self.window.start {
            self.at_start = Some(CpuReading::now());
        }
        if self.at_end.is_none() && now >= self.window.end {
            self.at_end = Some(CpuReading::now());
        }
    }

    /// Adds the processor time used so far to `report`. The kernel is asked for it only once the
    /// window is over, because asking would cost a running worker more than the figure is worth.
    /// The time without a CPU is one system call at each hand-over, and says at once what disturbs.
    fn complete(&self, report: WorkerReport, finished: bool) -> WorkerReport {
        let Some(from) = self.at_start else { return report };
        let Some(to) = self.at_end.or_else(|| finished.then(CpuReading::now)) else {
            let waited = self.kept.read();
            let run_delay = waited.map(|waited| waited.saturating_sub(from.run_delay));
            return WorkerReport { run_delay, ..report };
        };
        WorkerReport {
            cpu: Some(CpuTime {
                user: to.user.saturating_sub(from.user),
                system: to.system.saturating_sub(from.system),
            }),
            run_delay: Some(to.run_delay.saturating_sub(from.run_delay)),
            ..report
        }
    }
}
