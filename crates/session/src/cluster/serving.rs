//! An agent: it waits for a master, carries out its shares, and hands over their records.

use super::own_outputs::{OwnPoints, OwnRows};
use super::share::{LINE_CHARS_MAX, Reports, ShareLog, Told, Work};
use crate::console::say;
use crate::exit::Stop;
use memtide_base::hex::to_hex;
use memtide_base::printable::printable;
use memtide_base::{Instant, Span};
use memtide_cluster::MASTER_SILENT_MAX;
use memtide_cluster::agent::{Action, Agent, Report};
use memtide_cluster::files::{self, Kept};
use memtide_cluster::join::Join;
use memtide_cluster::law::{AskedShare, Law};
use memtide_cluster::message::{Hello, Share as ShareMessage, Step};
use memtide_cluster::transport::{AgentNet, FromMaster, Waker};
use memtide_compat::FaceWords;
use memtide_host::clock::monotonic_ns;
use memtide_host::signal::StopFlag;
use memtide_run::lower::lengthen;
use memtide_run::steps::{LONGER_MAX, RestedStep, RunTask};
use memtide_run::{SampledServers, Share};
use memtide_scenario::{Layer, Outputs, Scenario, Secret, Settings, Tls, Wait, scenario_digest};
use memtide_world::plan::StepTask;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Periods at which an agent that nothing wakes checks the time: with a share or a record to hand
/// over, and while it waits for a share.
const LOOK_EVERY: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(12)];
/// Longest time that an agent told to end waits for its record to be acknowledged.
const HAND_OVER_MAX: Span = Span::from_s(10);

/// Placeholder destination of measured operations that go to an output already open in this
/// process, not to a file.
const OWN_ROWS: &str = "-";

/// Callback for a record, as JSON.
pub type ShowRecord = Box<dyn Fn(&str) + Send>;

/// Makes the log of a load's part. Its arguments are the number of the load from 1, the number of
/// equal shares of all agents' load, and whether the agents only fill the servers.
pub type MakeLog = Box<dyn Fn(u32, u32, bool) -> ShareLog + Send>;

/// Start-up settings of an agent.
#[derive(Default)]
pub struct Setup {
    /// The operator's limits; none for the user of this process, who may do everything.
    pub law: Option<Law>,
    /// Name of the agent.
    pub name: String,
    /// Number of a run's equal shares that it takes; 0 counts as 1.
    pub shares: u32,
    /// Folder that keeps records until they are acknowledged; none to keep no records.
    pub kept: Option<Kept>,
    /// Folder to which measured operations may be written.
    pub samples: Option<PathBuf>,
    /// Database to which points of operations may be written.
    pub points: Option<OwnPoints>,
    /// Output of this process's own user for measured operations.
    pub rows: Option<OwnRows>,
    /// The agent's credentials for the servers.
    pub own: Own,
    /// True if its shares query the servers' statistics during the load.
    pub watches: bool,
    /// True if its workers sleep between events, whatever the master says.
    pub sleeps: bool,
    /// True if its workers are pinned to CPUs, whatever the master says.
    pub pins: bool,
    /// The words of its face for failures; none for memtide's own.
    pub words: Option<&'static FaceWords>,
    /// The log of each share on stderr in the words of its face.
    pub logs: Option<MakeLog>,
    /// Callback for the record of each share.
    pub shows: Option<ShowRecord>,
    /// True to end after the runs of one master.
    pub once: bool,
    /// True to report on stderr why a share has failed.
    pub complains: bool,
    /// True to log to stderr.
    pub speaks: bool,
}

/// The variables of an agent's own environment that it puts into the scenario of a share.
const OWN: [&str; 5] =
    ["MEMTIDE_USER", "MEMTIDE_PASSWORD", "MEMTIDE_TLS_CA", "MEMTIDE_TLS_CERT", "MEMTIDE_TLS_KEY"];

/// Credentials for the servers, and the CAs and keys of TLS. They never come from a master.
#[derive(Clone, Default)]
pub struct Own {
    /// User name.
    user: Option<String>,
    /// Password.
    password: Option<Secret>,
    /// Files of the CAs to trust, of a client certificate and of its key.
    tls: [Option<String>; 3],
}

impl Own {
    /// The credentials in `scenario`.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let Tls { ca, cert, key, .. } = scenario.tls.clone();
        let (user, password) = (scenario.user.clone(), scenario.password.clone());
        Self { user, password, tls: [ca, cert, key] }
    }

    /// Puts them into the scenario of a share. A client certificate is for TLS only.
    fn apply(&self, scenario: &mut Scenario) {
        scenario.user = self.user.clone();
        scenario.password = self.password.clone();
        if scenario.tls.on {
            [scenario.tls.ca, scenario.tls.cert, scenario.tls.key] = self.tls.clone();
        }
    }

    /// The credentials in the agent's own environment.
    ///
    /// # Errors
    /// If a variable has a value that its field does not allow.
    pub fn of_environment() -> Result<Self, Stop> {
        let fields = std::env::vars_os().filter(|(name, _)| OWN.iter().any(|own| name == *own));
        let mut settings = Settings::default();
        settings.apply(&Layer::from_environment(fields)?)?;
        Ok(Self::of(&settings.scenario))
    }
}

/// An agent in the process of its master, which carries out the master's own share.
pub(crate) struct Local {
    stop: StopFlag,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Local {
    /// Starts an agent that dials the master at `address`.
    pub(super) fn start(join: &Join, address: SocketAddr, setup: Setup) -> Result<Self, Stop> {
        let join = Join { address: address.to_string(), ..join.clone() };
        let net = AgentNet::dial(&join, monotonic_ns).map_err(Stop::usage)?;
        let stop = StopFlag::default();
        let (told, waker) = (stop.clone(), net.waker());
        let thread = thread::Builder::new().name("agent".to_owned());
        let thread = thread.spawn(move || serve(setup, net, &told)).map_err(|error| {
            let message = format!("the system started no thread for the master's share: {error}");
            Stop { code: crate::exit::FAILED, message }
        })?;
        Ok(Self { stop, waker, thread: Some(thread) })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.stop.raise();
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has printed its message.
            drop(thread.join());
        }
    }
}

/// Serves masters over `net` until `stop` is raised; with `once`, until it has served one.
pub fn serve(setup: Setup, net: AgentNet, stop: &StopFlag) {
    let law = setup.law.clone().map(Arc::new);
    let mut shell = Shell {
        setup,
        law,
        net,
        peer: 0,
        agent: Agent::default(),
        busy: None,
        served: 0,
        cpus: memtide_host::machine::look().cpus_allowed,
        ending: None,
    };
    shell.introduce();
    while !shell.is_done(stop) {
        shell.turn();
    }
}

struct Shell {
    setup: Setup,
    law: Option<Arc<Law>>,
    net: AgentNet,
    /// The connection to the present or last master.
    peer: u64,
    agent: Agent,
    /// The share that is being carried out.
    busy: Option<Busy>,
    /// The number of shares that it has begun.
    served: u32,
    /// CPUs that it may use.
    cpus: Vec<usize>,
    /// Instant at which the agent was told to end, by the kernel's monotonic clock.
    ending: Option<u64>,
}

/// A share that is being carried out.
struct Busy {
    told: Arc<Told>,
    events: Receiver<Report>,
    /// Description of the share for the log.
    line: String,
    /// Start, in seconds since 1970.
    since_unix_s: u64,
}

impl Shell {
    /// True if the agent can end. A signal ends the present share; its record is made and handed
    /// over.
    fn is_done(&mut self, stop: &StopFlag) -> bool {
        let is_idle = self.busy.is_none();
        if self.setup.once && self.served > 0 && is_idle && !self.agent.has_master() {
            return true;
        }
        if !stop.is_raised() {
            return false;
        }
        if let Some(busy) = &self.busy {
            busy.told.stop.raise();
            if self.ending.is_none() {
                let why = "it was told to end, so its share is incomplete".to_owned();
                self.agent.report(Report::Note(why));
            }
        }
        let since = *self.ending.get_or_insert_with(monotonic_ns);
        let waited = Span::from_ns(monotonic_ns().saturating_sub(since));
        is_idle && (!self.agent.is_handing() || waited > HAND_OVER_MAX)
    }

    fn turn(&mut self) {
        let waits = self.busy.is_none() && !self.agent.is_handing() && self.ending.is_none();
        match self.net.next(LOOK_EVERY[usize::from(waits)]) {
            Some(FromMaster::Opened { peer, address, .. }) => {
                self.peer = peer;
                let key = to_hex(&self.net.master()[..8]);
                self.log(&format!("connected to master {address} (key {key})"));
                self.agent.opened();
            }
            Some(FromMaster::Message { message, .. }) => self.agent.handle(message),
            Some(FromMaster::Closed { why, .. }) => {
                if self.agent.has_master() {
                    self.log(&format!("the master has left: {why}"));
                }
                self.agent.closed();
            }
            Some(FromMaster::Turned { address, why }) => self.log(&format!("{address}: {why}")),
            Some(FromMaster::Woken) | None => {}
        }
        while let Some(report) = self.next() {
            self.take(report);
        }
        let heard = self.net.heard().load(Ordering::Relaxed);
        self.agent.tick(Instant::from_ns(monotonic_ns()), Instant::from_ns(heard));
        while let Some(action) = self.agent.poll() {
            self.act(action);
        }
    }

    /// The next event of the share. A share whose thread ended without an event has failed.
    fn next(&self) -> Option<Report> {
        match self.busy.as_ref()?.events.try_recv() {
            Ok(report) => Some(report),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let why = "the share ended without a result; see the messages of the agent";
                Some(Report::Failed { exit: crate::exit::FAILED, why: why.to_owned() })
            }
        }
    }

    fn take(&mut self, report: Report) {
        match &report {
            Report::Trouble(text) => self.log(text),
            Report::Ended(record) => {
                self.rest("ended");
                let record = String::from_utf8_lossy(record);
                self.setup.shows.iter().for_each(|show| show(&record));
            }
            Report::Failed { why, .. } => self.rest(why),
            _ => {}
        }
        self.agent.report(report);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send(message) => self.net.send(message),
            Action::Close(why) => {
                self.log(&format!("left the master: {why}"));
                self.net.close(self.peer);
            }
            Action::Begin(share) => {
                if let Err(why) = self.begin(&share) {
                    self.log(&format!("refused share {} of {}: {why}", share.number, share.of));
                    self.agent.report(Report::Refused(why));
                }
            }
            Action::Arm { clock_ns } => self.tell(|told| told.arm(clock_ns)),
            Action::Compare(clock) => self.tell(|told| told.compare(&clock)),
            Action::Open { clock_ns } => self.tell(|told| told.open(clock_ns)),
            Action::Shut { clock_ns } => self.tell(|told| told.close(clock_ns)),
            Action::Look => self.tell(Told::ask),
            Action::End { aborted, why } => {
                self.log(&format!("the load ends: {why}"));
                match aborted {
                    Some(aborted) => self.tell(|told| told.abort(aborted)),
                    None => self.tell(|told| told.stop.raise()),
                }
            }
            Action::Keep { run, share, record } => self.keep(&run, share, &record),
            Action::Forget { run, share } => {
                if let Some(kept) = &self.setup.kept {
                    kept.forget(&run, share);
                }
                self.introduce();
            }
            Action::Find { run, share } => {
                let record = self.setup.kept.as_ref().and_then(|kept| kept.find(&run, share));
                self.agent.found(&run, record.as_deref());
            }
        }
    }

    fn keep(&mut self, run: &[u8], share: u32, record: &[u8]) {
        let Some(kept) = &self.setup.kept else { return };
        kept.tidy();
        if let Err(error) = kept.keep(run, share, record) {
            let why = format!("its record could not be stored until the master has it: {error}");
            self.log(&why);
            self.agent.report(Report::Note(why));
        }
        self.introduce();
    }

    /// Begins to carry out a share. The error says why it cannot.
    fn begin(&mut self, share: &ShareMessage) -> Result<(), String> {
        let AskedShare { mut settings, mut sent } = AskedShare::read(share)?;
        let task = task_of(share);
        if let RunTask::Step(step) = task {
            // Limits are for the step as it is carried out: a search lengthens some.
            lengthen(&mut sent.scenario, step.task.longer);
        }
        self.name_outputs(share, &mut settings.outputs)?;
        self.setup.own.apply(&mut settings.scenario);
        settings.scenario.pin |= self.setup.pins;
        if self.setup.sleeps {
            settings.scenario.wait = Some(Wait::Sleep);
        }
        let line = line_of(share, &settings);
        self.served = self.served.saturating_add(1);
        let log = self.setup.logs.as_ref();
        let log = log.map(|logs| logs(self.served, share.of, share.load_only));
        let stop = StopFlag::on_silence(self.net.heard(), MASTER_SILENT_MAX);
        let waker = self.net.waker();
        let (told, (events, heard)) = (Arc::new(Told::new(stop)), channel());
        let work = Work {
            sent,
            task,
            share: Share { number: share.number, of: share.of, units: share.units },
            law: self.law.clone(),
            cpus: self.cpus.clone(),
            name: self.setup.name.clone(),
            run: to_hex(&share.run),
            rows: self.setup.rows.clone(),
            complains: self.setup.complains,
            watches: self.setup.watches,
            sampled: SampledServers { unfilled: share.looks_unfilled, filled: share.looks_filled },
            servers: share.servers.clone(),
            words: self.setup.words,
            log: Mutex::new(log),
            told: Arc::clone(&told),
            events: Reports { events, waker: waker.clone() },
        };
        let spawned = thread::Builder::new().name("share".to_owned()).spawn(move || {
            work.run(settings);
            // A share that ended without an event is noticed at once, too.
            waker.wake();
        });
        spawned.map_err(|error| format!("the system started no thread for the share: {error}"))?;
        self.log(&format!("begins {line}"));
        let since_unix_s = memtide_host::clock::since_unix().ns() / 1_000_000_000;
        self.busy = Some(Busy { told, events: heard, line, since_unix_s });
        self.introduce();
        Ok(())
    }

    /// Sets the outputs of a share, as far as the operator allows them.
    fn name_outputs(&self, share: &ShareMessage, outputs: &mut Outputs) -> Result<(), String> {
        outputs.quiet = true;
        if share.samples {
            let folder = self.setup.samples.as_ref().ok_or(
                "it has no folder for samples; start it with --samples DIR, or remove --samples",
            )?;
            let name = format!("{}-{}.csv", to_hex(&share.run), share.number);
            let path = folder.join(name);
            // Samples of a run that a master names like an earlier one stay as they are.
            files::new_result(&path)?;
            outputs.samples = Some(path.display().to_string());
        }
        if share.points {
            let points = self.setup.points.as_ref().ok_or(
                "it has no database for points; start it with --influx URL, or remove --out \
                 influx=agents",
            )?;
            points.name_in(outputs);
        }
        if self.setup.rows.is_some() {
            outputs.samples = Some(OWN_ROWS.to_owned());
        }
        Ok(())
    }

    /// Ends the present share.
    fn rest(&mut self, how: &str) {
        if let Some(busy) = self.busy.take() {
            // Its master may only have stood still, and now get the record.
            self.net.hear_again();
            self.log(&format!("done with {}: {how}", busy.line));
        }
        self.introduce();
    }

    fn tell(&self, what: impl FnOnce(&Told)) {
        if let Some(busy) = &self.busy {
            what(&busy.told);
        }
    }

    /// Publishes the agent's present state to masters that connect later.
    fn introduce(&self) {
        self.net.set_hello(Hello {
            protocol: memtide_cluster::PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: Vec::new(),
            name: self.setup.name.clone(),
            cpus: self.cpus.len() as u32,
            busy_since_unix_s: self.busy.as_ref().map(|busy| busy.since_unix_s),
            kept: self.setup.kept.as_ref().map(Kept::list).unwrap_or_default(),
            units: self.setup.shares,
        });
    }

    fn log(&self, line: &str) {
        if self.setup.speaks {
            say(&format!("memtide agent: {}", printable(line, LINE_CHARS_MAX)));
        }
    }
}

/// The run to which a share belongs, as it was sent.
fn task_of(share: &ShareMessage) -> RunTask {
    match (share.load_only, share.step) {
        (true, _) => RunTask::Fill,
        (false, None) => RunTask::Whole,
        (false, Some(Step { number, rate_per_s, keeps_data, rest_ns, longer })) => {
            let longer = longer.clamp(1, LONGER_MAX);
            let task = StepTask { number, rate_per_s, longer, keeps_data };
            RunTask::Step(RestedStep { task, rest: Span::from_ns(rest_ns) })
        }
    }
}

/// Description of a share for the log.
fn line_of(share: &ShareMessage, settings: &Settings) -> String {
    let targets: Vec<String> = settings.scenario.servers.iter().map(ToString::to_string).collect();
    format!(
        "share {} of {} of run {}, scenario {}, targets {}",
        share.number,
        share.of,
        to_hex(&share.run),
        &scenario_digest(&settings.scenario)[..16],
        targets.join(",")
    )
}
