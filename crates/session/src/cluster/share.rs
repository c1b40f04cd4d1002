//! One share of a run as an agent carries it out: a session whose front is the agent, and which the
//! agent directs on this machine, within its limits.

use super::own_outputs::OwnRows;
use crate::console::{complain, say_part};
use crate::exit::Stop;
use crate::front::{
    Came, Ended, Front, FrontProfile, InStep, Opened, Screen, check_whole, failed_in,
};
use crate::outlets::{facts, open, open_points};
use crate::placement::Division;
use crate::session::{Session, Task};
use crate::world::{HostWorld, Supervisor};
use memtide_base::printable::printable;
use memtide_base::{Instant, Span};
use memtide_belief::WarmupSlice;
use memtide_cluster::agent::Report;
use memtide_cluster::clock::Estimates;
use memtide_cluster::law::{Asked, AskedServer, Endpoint, Law};
use memtide_cluster::message;
use memtide_cluster::transport::Waker;
use memtide_compat::FaceWords;
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, keep_process_on};
use memtide_record::{
    Aborted, AgentRecord, ClockRecord, Event, Phase, Progress, Record, ReferenceClock, ShareStart,
    Wide,
};
use memtide_run::steps::RunTask;
use memtide_run::{Barrier, CpuPlacement, Lowered, NotRun, PlanSizes, SampledServers, Share};
use memtide_scenario::{Outputs, Settings, Target};
use memtide_sinks::{OutputFacts, OutputSubject, Sink};
use memtide_world::{Address, ServerPlan};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SendError, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// The fields of a scenario that name files of the agent.
const OWN_FILES: [&str; 3] = ["tls-ca", "tls-cert", "tls-key"];

/// The longest line about a share, in characters: a master chose its words.
pub(super) const LINE_CHARS_MAX: usize = 1_000;
/// The most addresses of one server that are taken from a master.
const ADDRESSES_MAX: usize = 64;

/// The log of a share on stderr, from its events.
pub(crate) type ShareLog = Box<dyn FnMut(&Event) -> String + Send>;

/// The way of a share's events to its agent, which they wake.
#[derive(Clone)]
pub(super) struct Reports {
    pub(super) events: Sender<Report>,
    pub(super) waker: Waker,
}

impl Reports {
    fn send(&self, report: Report) -> Result<(), SendError<Report>> {
        self.events.send(report)?;
        self.waker.wake();
        Ok(())
    }
}

/// Commands of the agent to the share that it carries out.
pub(super) struct Told {
    /// Beginning of the load, by the kernel's monotonic clock in nanoseconds.
    armed_ns: Mutex<Option<u64>>,
    /// The opening and the end of the measured window by that clock, once all agents were told.
    window_ns: [Mutex<Option<u64>>; 2],
    /// True if the master asks for the record so far.
    is_asked: AtomicBool,
    /// The condition that ended the load.
    aborted: Mutex<Option<Aborted>>,
    /// Offset of the master's clock, by recent estimates.
    clock: Mutex<Estimates>,
    /// Raised to end the load: by the agent, or because the master is silent.
    pub(super) stop: StopFlag,
}

impl Told {
    pub(super) fn new(stop: StopFlag) -> Self {
        let (armed_ns, window_ns, is_asked, aborted, clock) = Default::default();
        Self { armed_ns, window_ns, is_asked, aborted, clock, stop }
    }

    pub(super) fn open(&self, clock_ns: u64) {
        *locked(&self.window_ns[0]) = Some(clock_ns);
    }

    pub(super) fn close(&self, clock_ns: u64) {
        *locked(&self.window_ns[1]) = Some(clock_ns);
    }

    pub(super) fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    pub(super) fn arm(&self, clock_ns: u64) {
        *locked(&self.armed_ns) = Some(clock_ns);
    }

    /// The agreed instant, as the record has it.
    fn armed(&self) -> Option<Wide> {
        locked(&self.armed_ns).map(|ns| Wide(ns.into()))
    }

    /// Delay of the schedules' beginning after the agreed instant. Their window began at `start` by
    /// the kernel's monotonic clock.
    fn late_ns(&self, start: Wide, warmup: Span) -> Option<u64> {
        let began = u64::try_from(start.0).ok()?.checked_sub(warmup.ns())?;
        Some(began.saturating_sub((*locked(&self.armed_ns))?))
    }

    pub(super) fn abort(&self, aborted: Aborted) {
        *locked(&self.aborted) = Some(aborted);
    }

    pub(super) fn compare(&self, clock: &message::Clock) {
        locked(&self.clock).add(clock);
    }
}

/// Locks a mutex; its holders never panic.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A share, with everything needed to carry it out.
pub(super) struct Work {
    /// The master's settings as it sent them; in a step, with its rate and length.
    pub(super) sent: Settings,
    pub(super) task: RunTask,
    pub(super) share: Share,
    /// The limits of this machine's operator; none if everything is allowed.
    pub(super) law: Option<Arc<Law>>,
    /// CPUs that this process may use.
    pub(super) cpus: Vec<usize>,
    /// Name of the agent.
    pub(super) name: String,
    /// The run, in hexadecimal.
    pub(super) run: String,
    /// Output of this process's own user for measured operations.
    pub(super) rows: Option<OwnRows>,
    /// True to report on stderr why it failed.
    pub(super) complains: bool,
    /// True to query the servers' statistics during the load.
    pub(super) watches: bool,
    /// The servers that the master wants sampled beside the load.
    pub(super) sampled: SampledServers,
    /// Addresses of servers as the master knows them.
    pub(super) servers: Vec<message::Server>,
    /// The words of the agent's face; none for memtide's own.
    pub(super) words: Option<&'static FaceWords>,
    /// The log of the agent's face; none without one.
    pub(super) log: Mutex<Option<ShareLog>>,
    pub(super) told: Arc<Told>,
    pub(super) events: Reports,
}

impl Work {
    /// Carries out the share with the master's `settings`, completed by the agent's own outputs and
    /// credentials; the agent receives its events.
    pub(super) fn run(self, settings: Settings) {
        // The previous share may have used other CPUs for its workers.
        keep_process_on(&self.cpus);
        let guard = self.law.as_ref().map_or_else(ConnectGuard::default, guard);
        let (task, work) = (Task::Run(self.task), Rc::new(self));
        let agent = AgentSupervisor { work: Rc::clone(&work), memory_bytes: Cell::default() };
        let division = Some(Division::of(work.share));
        let world = HostWorld::new(division).under(guard, Rc::new(agent));
        Session { settings, task, front: Box::new(AgentFront(work)), world }.run();
    }

    /// Logs an event in the words of the agent's face.
    fn log(&self, event: &Event) {
        if let Some(log) = &mut *locked(&self.log) {
            say_part(&log(event));
        }
    }

    /// Sends a report; an agent that no longer listens is about to end.
    fn tell(&self, report: Report) {
        drop(self.events.send(report));
    }
}

/// Guard that permits the addresses within the agent's limits.
fn guard(law: &Arc<Law>) -> ConnectGuard {
    let law = Arc::clone(law);
    ConnectGuard::new(move |address: &Address| match address {
        Address::Tcp(address) | Address::Udp(address) => law.is_allowed(*address),
        Address::Unix(path) => law.is_allowed_unix(path),
    })
}

/// The front of a share: it reports to the agent instead of a user.
struct AgentFront(Rc<Work>);

impl Front for AgentFront {
    /// The master has already refused a repeated server where it is a mistake, and decides whether
    /// values are looked at before the load, as its front decides on a single machine.
    fn profile(&self, settings: &Settings) -> FrontProfile {
        let native = FrontProfile::native(settings);
        let Work { words, watches, sampled, .. } = *self.0;
        let watches_servers = watches;
        FrontProfile { words, repeats: true, watches_servers, sampled, ..native }
    }

    /// A face does not judge memory on a single machine, either.
    fn check(&self, settings: &Settings, servers_within: u64) -> Result<(), Stop> {
        if self.0.words.is_some() { Ok(()) } else { check_whole(settings, servers_within) }
    }

    fn open(&mut self, settings: &Settings) -> Result<Opened, Stop> {
        let mut files = Outputs { out: Vec::new(), ..settings.outputs.clone() };
        if self.0.rows.is_some() {
            files = files.without_samples();
        }
        let files = Settings { outputs: files, ..settings.clone() };
        let mut opened = open(&files, OutputSubject::Run, false)?;
        if let Some(rows) = &self.0.rows {
            rows.add_to(&mut opened.samples)?;
        }
        let step = match self.0.task {
            RunTask::Step(step) => Some(step.task.number),
            RunTask::Fill | RunTask::Whole => None,
        };
        let share = Some(self.0.share.number);
        let facts = facts(settings, OutputSubject::Run)?;
        open_points(&mut opened, &OutputFacts { share, step, has_seconds: false, ..facts })?;
        Ok(opened)
    }

    fn screens<'a>(&'a self, _settings: &'a Settings) -> Vec<InStep<'a>> {
        vec![InStep { name: "the master", screen: Box::new(Reporting { work: &self.0, done: 0 }) }]
    }

    fn end(&self, _: &Settings, ended: Ended) -> Result<u8, Stop> {
        ended.trouble.iter().for_each(|stop| self.0.tell(Report::Trouble(stop.message.clone())));
        let Came::Run(outcome) = ended.came else { return Ok(0) };
        if let Some(failure) = &outcome.failure {
            self.0.tell(Report::Note(failed_in(self.0.words, failure).message));
        }
        let mut record = outcome.record;
        if let Some(share) = &mut record.share {
            let (name, run) = (self.0.name.clone(), self.0.run.clone());
            let window = record.clock.as_ref().and_then(|clock| clock.window_start_monotonic_ns);
            let warmup = Span::from_s_f64(record.plan.warmup_s);
            let began_late_ns = window.and_then(|start| self.0.told.late_ns(start, warmup));
            let armed_ns = self.0.told.armed();
            share.agent = Some(AgentRecord { name, run, armed_ns, began_late_ns });
        }
        // Where this machine keeps its keys is no master's business.
        record.scenario.retain(|field, _| !OWN_FILES.contains(&field.as_str()));
        record.plan.decided.retain(|field, _| !OWN_FILES.contains(&field.as_str()));
        self.0.tell(Report::Ended(record.to_json().into_bytes()));
        Ok(0)
    }

    fn exit(&self, ended: Result<u8, Stop>, _stop: &StopFlag) -> u8 {
        match ended {
            Ok(code) => code,
            Err(stop) => {
                let code = stop.code;
                if self.0.complains {
                    complain(&printable(&stop.message, LINE_CHARS_MAX));
                }
                self.0.tell(Report::Failed { exit: code, why: stop.message });
                code
            }
        }
    }
}

/// Reports seconds and notes to the agent, and logs in the words of its face.
struct Reporting<'a> {
    work: &'a Work,
    /// Number of keys that the last report of a fill named.
    done: u64,
}

impl Screen for Reporting<'_> {}

impl Sink for Reporting<'_> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.work.log(event);
        let events = &self.work.events;
        let report = match event {
            Event::Interval(interval) => Report::Second(interval.to_bytes()),
            Event::Note(note) => {
                let what = Some(note.clone());
                drop(events.send(Report::Preparing { done: self.done, what }));
                Report::Note(note.clone())
            }
            Event::Progress(Progress { phase: Phase::Load, done, .. }) => {
                self.done = *done;
                Report::Preparing { done: *done, what: None }
            }
            _ => return Ok(()),
        };
        // An agent that is about to end no longer listens.
        drop(events.send(report));
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        use Event::{Done, Interval, LoadBegun, Note, Phase, Progress, Started};
        |event| {
            let is_logged = matches!(event, Started(_) | LoadBegun(_) | Phase(_) | Done(_));
            is_logged || matches!(event, Interval(_) | Note(_) | Progress(_))
        }
    }
}

/// Directs a share on this machine, within the agent's limits.
struct AgentSupervisor {
    work: Rc<Work>,
    /// The estimated memory of the share, once it is known.
    memory_bytes: Cell<u64>,
}

/// A server in the form that limits are checked with.
fn asked(server: &ServerPlan) -> AskedServer<'_> {
    AskedServer { name: &server.name, addresses: server.addresses.iter().map(endpoint).collect() }
}

/// An address in the form that limits are checked with.
fn endpoint(address: &Address) -> Endpoint<'_> {
    match address {
        Address::Tcp(address) | Address::Udp(address) => Endpoint::Ip(*address),
        Address::Unix(path) => Endpoint::Unix(path),
    }
}

impl AgentSupervisor {
    /// Checks the share, with as much of it as is known, against the operator's limits.
    fn check(
        &self,
        servers: &[AskedServer<'_>],
        connections: u64,
        threads: u64,
    ) -> Result<(), Stop> {
        let Some(law) = &self.work.law else { return Ok(()) };
        let asked = Asked {
            settings: &self.work.sent,
            servers,
            own_part: f64::from(self.work.share.units) / f64::from(self.work.share.of),
            connections,
            threads,
            memory_bytes: self.memory_bytes.get(),
            load_only: matches!(self.work.task, RunTask::Fill),
        };
        law.check(&asked).map_err(Stop::usage)
    }
}

impl Supervisor for AgentSupervisor {
    fn server(&self, target: &Target) -> Option<ServerPlan> {
        let name = target.to_string();
        let known = self.work.servers.iter().find(|server| server.name == name)?;
        let parsed = known.addresses.iter().take(ADDRESSES_MAX).filter_map(|it| it.parse().ok());
        let addresses: Vec<Address> = parsed.map(Address::Tcp).collect();
        (!addresses.is_empty()).then_some(ServerPlan { name, addresses })
    }

    /// What follows from the settings is asked before a plan allocates anything; the shares of a
    /// run are equal.
    fn permit(&self) -> Result<(), Stop> {
        let scenario = &self.work.sent.scenario;
        let Some(sizes) = PlanSizes::of(scenario, scenario.servers.len() as u32) else {
            return Ok(());
        };
        let own = sizes.plan.of_share(self.work.share.units, self.work.share.of);
        self.memory_bytes.set(own.bytes());
        self.check(&[], own.connections, own.workers)
    }

    fn obey(&self, lowered: &mut Lowered) -> Result<(), Stop> {
        let Some(law) = &self.work.law else { return Ok(()) };
        let plan = &lowered.plan;
        let connections = u64::from(plan.own_connections());
        // The servers' statistics are read over a connection of their own to each.
        let watches = lowered.watches_servers;
        lowered.watches_servers &= law.allows_connections(connections + plan.servers.len() as u64);
        if watches && !lowered.watches_servers {
            let note = "no connection is left for the servers' statistics during the load \
                        (connections-max)";
            self.work.tell(Report::Note(note.to_owned()));
        }
        let servers: Vec<AskedServer<'_>> = plan.servers.iter().map(asked).collect();
        self.check(&servers, connections, plan.own_workers().len() as u64)
    }

    fn settle(&self, placement: &CpuPlacement) {
        // The threads of network and agent use the CPUs that pinned workers leave, if these are not
        // a server's.
        if !placement.workers.is_empty() && !placement.apart {
            let left = self.work.cpus.iter().filter(|cpu| !placement.workers.contains(cpu));
            keep_process_on(&left.copied().collect::<Vec<_>>());
        }
    }

    fn stop(&self) -> StopFlag {
        self.work.told.stop.clone()
    }

    fn barrier(&self, clock: Clock) -> Box<dyn Barrier> {
        Box::new(AtMaster { work: Rc::clone(&self.work), clock })
    }

    fn reference(&self, monotonic_ns: u64) -> Option<ReferenceClock> {
        let best = locked(&self.work.told.clock).best(monotonic_ns)?;
        Some(ReferenceClock { ahead_ns: best.ahead_ns, error_max_ns: best.error_ns })
    }
}

/// The barrier of a run by agents: the master.
struct AtMaster {
    work: Rc<Work>,
    clock: Clock,
}

impl Barrier for AtMaster {
    fn kind(&self) -> ShareStart {
        ShareStart::Agents
    }

    fn opening(&mut self, open: u64, wanted: u32) {
        let what = Some(format!("opening {wanted} connections"));
        // An agent that no longer listens is about to end.
        drop(self.work.events.events.send(Report::Preparing { done: open, what }));
    }

    fn arrive(&mut self) -> Result<(), NotRun> {
        self.work.log(&Event::Prepared(1));
        let sent = self.work.events.send(Report::Prepared);
        sent.map_err(|_| NotRun("the agent has ended".to_owned()))
    }

    fn look(&mut self, now: Instant, _since_unix: Span) -> Result<Option<Instant>, NotRun> {
        let Some(armed_ns) = *locked(&self.work.told.armed_ns) else { return Ok(None) };
        match self.clock.at_monotonic(armed_ns) {
            Some(at) if at > now => Ok(Some(at)),
            at => {
                let late = now.since(at.unwrap_or(Instant::ZERO));
                Err(NotRun(format!("the master's start message arrived {late} late")))
            }
        }
    }

    fn aborted(&mut self) -> Option<Aborted> {
        locked(&self.work.told.aborted).clone()
    }

    fn opens(&mut self, passed: Span, so_far: WarmupSlice) -> Option<Instant> {
        let WarmupSlice { answered, response_ns, keys, hits } = so_far;
        let passed_ns = passed.ns();
        let warming = message::Warming { passed_ns, answered, response_ns, keys, hits };
        // An agent that is about to end no longer listens.
        drop(self.work.events.send(Report::Warming(warming)));
        self.window(0)
    }

    fn closes(
        &mut self,
        open: Instant,
        _passed: Span,
        so_far: &mut dyn FnMut() -> Record,
    ) -> Option<Instant> {
        if self.work.told.is_asked.swap(false, Ordering::Relaxed) {
            let open_ns = self.clock.monotonic_at(open);
            let best = locked(&self.work.told.clock).best(open_ns);
            let reference =
                best.map(|it| ReferenceClock { ahead_ns: it.ahead_ns, error_max_ns: it.error_ns });
            let window_start_monotonic_ns = Some(Wide(open_ns.into()));
            let clock = ClockRecord { window_start_monotonic_ns, reference, ..Default::default() };
            let record = Record { clock: Some(clock), ..so_far() };
            drop(self.work.events.send(Report::SoFar(record.to_json().into_bytes())));
        }
        self.window(1)
    }
}

impl AtMaster {
    /// The instant at which the window opens (0) or closes (1), once the master has told it.
    fn window(&self, which: usize) -> Option<Instant> {
        let at_ns = (*locked(&self.work.told.window_ns[which]))?;
        Some(self.clock.at_monotonic(at_ns).unwrap_or(Instant::ZERO))
    }
}
