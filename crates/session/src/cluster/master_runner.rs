//! The runner of a master: it waits for agents, hands out shares, shows progress, and merges their
//! records. Agents are no fleet: each is the controller of its own workers.

use super::folder::own_key;
use super::own_outputs::{OwnPoints, OwnRows};
use super::serving::{Local, Own, Setup};
use super::window::SharedWindow;
use crate::console::say;
use crate::exit::{FAILED, INTERRUPTED, Stop, UNREACHABLE, USAGE};
use crate::front::division::{Division, OwnPart};
use crate::front::{Front, FrontProfile, LostAgents};
use crate::outlets::unix_ns;
use memtide_base::{Instant, Sentence, Span};
use memtide_cluster::files;
use memtide_cluster::master::{
    Action, AgentFacts, Gathered, Lost, Master, Round, RoundEnd, RoundLoad, Rules, Wanted,
};
use memtide_cluster::message::{self, Step};
use memtide_cluster::taking::{Row, Taking, lost_sentences};
use memtide_cluster::transport::{FromNet, MasterNet};
use memtide_host::clock::monotonic_ns;
use memtide_host::resolve;
use memtide_host::signal::StopFlag;
use memtide_record::steps::LostAgent;
use memtide_record::{
    EndedBy, Event, Phase, PlanRecord, PlannedServer, Progress, Shared, WrongValues,
};
use memtide_run::steps::{RestedStep, RunTask, Runner};
use memtide_run::{Failure, Lowered, Observer, RunOutcome, SampledServers, Surroundings, load_max};
use memtide_scenario::{
    Agents, AgentsWord, OutputKind, Outputs, Scenario, Settings, Tags, Target, scenario_digest,
};
use memtide_world::plan::{StepTask, Window};
use memtide_world::{Address, ServerPlan};
use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Period at which the master checks the time while no message arrives.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A master with its agents.
pub struct MasterRunner {
    master: Master,
    net: MasterNet,
    stop: StopFlag,
    /// Division of the run; known once the agents have come.
    division: Division,
    /// Surroundings from which every machine makes the same decisions.
    around: Surroundings,
    samples: bool,
    /// True if agents write points of measured operations.
    points: bool,
    /// The servers that agents sample beside the load.
    sampled: SampledServers,
    /// Addresses of the servers that this machine can resolve.
    servers: Vec<message::Server>,
    tags: Tags,
    is_quiet: bool,
    /// Output of the measured operations of the master's own load.
    rows: Option<OwnRows>,
    /// The beginning of the loads of the present round by this machine's time of day, once it is
    /// agreed.
    began_unix_ns: Option<u64>,
    /// The measured window of the present round.
    window: Option<SharedWindow>,
    /// The fill before the load of the present round.
    fill: Fill,
    /// Addresses of the agents of the next round, in their order; of the first round also those
    /// that did not come.
    enlisted: Vec<String>,
    /// End of the last round.
    end: RoundEnd,
    /// Failures of agents outside the load, such as of their outputs.
    trouble: Vec<Stop>,
    /// The agent in this process, if the master makes load.
    _own: Option<Local>,
}

/// The fill of a round, which the agents make together.
#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    since: Instant,
    /// Keys of each server, and how many of them are stored.
    keys: u64,
    done: u64,
}

impl MasterRunner {
    /// Starts to wait for the agents that `settings` name, and for one more in this process if the
    /// master has its own load.
    pub(super) fn open(
        settings: &Settings,
        around: Surroundings,
        profile: &FrontProfile,
        rows: Option<OwnRows>,
        stop: &StopFlag,
    ) -> Result<Self, Stop> {
        let Agents { which, key, expect, master_share, allow_lost, .. } =
            &settings.placement.agents;
        let has_own = profile.has_own_load;
        let makes_load = *master_share || has_own;
        let folder = key.as_ref().map_or_else(own_key, |folder| Ok(PathBuf::from(folder)))?;
        let key = files::read_identity(&folder).map_err(Stop::usage)?;
        let (wanted, listen) = match (which, makes_load) {
            (Some(AgentsWord::Listed(all)), false) => (Wanted::Listed(all.clone()), None),
            (Some(AgentsWord::Listed(all)), true) => {
                (Wanted::ListedAndOwn(all.clone()), Some("127.0.0.1:0"))
            }
            (Some(AgentsWord::Count(count)), own) => {
                (Wanted::Count(count + u32::from(own)), Some(&*key.bind))
            }
            (None, _) => return Err(Stop::usage("--agents is missing; add --agents N")),
        };
        let dial = wanted.listed().to_vec();
        let net =
            MasterNet::start(&key.identity, key.join.token.clone(), listen, dial, monotonic_ns);
        let net = net.map_err(Stop::usage)?;
        let seed = memtide_base::rng::mix(memtide_host::clock::since_unix().ns())
            ^ u64::from(std::process::id());
        let own_name = own_name(has_own, seed);
        let own = match (makes_load, net.local_address()) {
            (true, Some(address)) => {
                let setup = own_agent(&own_name, settings, profile, rows.clone());
                Some(Local::start(&key.join, address, setup)?)
            }
            _ => None,
        };
        let rules = Rules {
            wanted,
            expect: *expect,
            prepare_max: settings.placement.agents.prepare_timeout,
            expect_flag: profile.patience_flag,
            prepare_flag: profile.words.is_none().then_some("--prepare-timeout"),
            allow_lost: *allow_lost,
            goes_on: profile.goes_on_without,
            own: has_own.then_some(own_name),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
        };
        Ok(Self {
            master: Master::new(rules, now()),
            net,
            stop: stop.clone(),
            division: Division::of(settings, Vec::new()),
            around,
            samples: settings.outputs.first(OutputKind::Samples).is_some(),
            points: settings.outputs.wants_agents_points(),
            sampled: profile.sampled,
            servers: settings.scenario.servers.iter().filter_map(resolved).collect(),
            tags: settings.outputs.tags.clone(),
            is_quiet: settings.outputs.quiet,
            rows,
            began_unix_ns: None,
            window: None,
            fill: Fill::default(),
            enlisted: Vec::new(),
            end: RoundEnd::default(),
            trouble: Vec::new(),
            _own: own,
        })
    }

    /// Waits until all agents have come, and divides the run between them.
    pub(super) fn gather(
        &mut self,
        settings: &Settings,
        front: &dyn Front,
        observer: &mut impl Observer,
    ) -> Result<(), Stop> {
        loop {
            match self.master.gathered(now()) {
                Gathered::All => break,
                Gathered::Missing(message) => return Err(Stop { code: UNREACHABLE, message }),
                Gathered::Waiting if self.stop.is_raised() => {
                    let message = "interrupted while waiting for agents".to_owned();
                    return Err(Stop { code: INTERRUPTED, message });
                }
                Gathered::Waiting => self.turn(None, observer),
            }
        }
        let agents = self.master.agents();
        self.enlisted = match &settings.placement.agents.which {
            Some(AgentsWord::Listed(all)) => all.clone(),
            _ => others(&agents).map(|agent| agent.address.clone()).collect(),
        };
        let shares = agents.iter().filter(|agent| !agent.is_own).map(|agent| agent.units);
        self.division = front.divide(settings, shares.collect())?;
        Ok(())
    }

    /// Carries out a round; returns its end, and what the agents sent.
    fn round(
        &mut self,
        task: RunTask,
        observer: &mut impl Observer,
    ) -> Result<(RoundEnd, Taking), Failure> {
        let (round, lowered) = self.loads(task)?;
        let window = lowered.plan.window;
        (self.began_unix_ns, self.window) = (None, Some(SharedWindow::new(window)));
        self.fill = Fill { since: now(), keys: lowered.record.keys, done: 0 };
        observer.on(&Event::Shared(Box::new(self.shared(lowered.record))));
        self.master.begin(&round, now());
        let Window { warmup, duration, .. } = window;
        let duration = Some(duration).filter(|it| *it != Span::MAX);
        let mut taking = Taking::new(&self.division.agents, warmup, duration, &round, &self.master);
        let end = loop {
            if let Some(end) = self.master.round_end() {
                break end;
            }
            if self.stop.is_raised() {
                self.master.interrupt(now());
            }
            self.turn(Some(&mut taking), observer);
        };
        // Acknowledgements must be sent before the round ends.
        self.turn(Some(&mut taking), observer);
        let there = self.present(&end);
        self.enlisted.retain(|address| there.iter().any(|agent| agent.address == *address));
        Ok((end, taking))
    }

    /// The shares of a round, and the plan of the master's own load or of the agents'.
    fn shared(&self, plan: PlanRecord) -> Shared {
        let there = self.present(&self.end);
        let agents = self.enlisted.iter().map(|address| {
            let agent = there.iter().find(|agent| agent.address == *address);
            agent.map(|agent| agent.units)
        });
        let agents = agents.collect();
        let servers = plan.servers.into_iter().map(|server| self.with_addresses(server)).collect();
        Shared { plan: PlanRecord { servers, ..plan }, agents }
    }

    /// The agents elsewhere that the round with this `end` has not lost.
    fn present(&self, end: &RoundEnd) -> Vec<AgentFacts> {
        let agents = self.master.agents();
        others(&agents).filter(|agent| !is_lost(agent, end)).cloned().collect()
    }

    /// A planned server with the addresses that this machine knows; names are resolved where the
    /// load is made.
    fn with_addresses(&self, server: PlannedServer) -> PlannedServer {
        let known = self.servers.iter().find(|known| known.name == server.name);
        let addresses = known.map_or_else(Vec::new, |known| known.addresses.clone());
        PlannedServer { addresses, ..server }
    }

    /// The loads of a round, and the plan of the master's own, or of its agents'. A fill involves
    /// all agents, including the master's own.
    fn loads(&self, task: RunTask) -> Result<(Round, Lowered), Failure> {
        let Division { agents, shares, own } = &self.division;
        let facts = self.master.agents();
        let load_only = matches!(task, RunTask::Fill);
        let (own_members, members): (Vec<_>, Vec<_>) =
            facts.iter().partition(|agent| agent.is_own && !load_only);
        let shares = shares.iter().copied().chain(std::iter::repeat(1));
        let members = members.iter().map(|agent| agent.number).zip(shares).collect();
        let own = own.as_ref().zip(own_members.first());
        let (theirs, ours) = match (own, task) {
            (Some((OwnPart { rates, .. }, _)), RunTask::Step(step)) => {
                let (theirs, ours) = rates(step.task.rate_per_s);
                (at_rate(step, theirs), at_rate(step, ours))
            }
            (_, task) => (task, task),
        };
        let mut all = vec![self.load(agents, theirs, members)?];
        if let Some((OwnPart { scenario, .. }, agent)) = own {
            all.push(self.load(scenario, ours, vec![(agent.number, 1)])?);
        }
        let longest = all.iter().map(|(_, lowered)| load_max(&lowered.plan));
        let longest = longest.reduce(|a, b| Some(a?.max(b?))).flatten();
        let (parts, mut lowered): (_, Vec<_>) = all.into_iter().unzip();
        let round = Round {
            parts,
            load_only,
            samples: self.samples,
            points: self.points,
            looks_unfilled: self.sampled.unfilled,
            looks_filled: self.sampled.filled,
            servers: self.servers.clone(),
            load_max: longest.filter(|_| !load_only),
        };
        Ok((round, lowered.pop().expect("a round has a load")))
    }

    /// A load of a round, with the decisions that all its shares have in common, and its plan.
    fn load(
        &self,
        scenario: &Scenario,
        task: RunTask,
        members: Vec<(u32, u32)>,
    ) -> Result<(RoundLoad, Lowered), Failure> {
        let lowered = task.lower(scenario, &self.around).map_err(|problem| {
            let sentence = Sentence::new(problem.to_string());
            Failure { exit: USAGE, sentence }
        })?;
        let (digest, step) = (scenario_digest(&lowered.document), step_message(task));
        let scenario = document(scenario, &self.tags);
        Ok((RoundLoad { scenario, digest, step, members }, lowered))
    }

    /// The failure of a round whose load never began, for which there is no result to show.
    fn unbegun(&self, failure: Option<Failure>) -> Failure {
        let (exit, why) = match self.stop.is_raised() {
            true => (INTERRUPTED, "interrupted before the load began"),
            false => (UNREACHABLE, "no agent began its load"),
        };
        let unsaid = Failure { exit, sentence: Sentence::new(why) };
        failure.filter(|_| exit != INTERRUPTED).unwrap_or(unsaid)
    }

    /// Closes the output of the master's own load. Returns its failure, and those of agents outside
    /// the load, such as of their outputs.
    pub(super) fn finish(&mut self) -> Vec<Stop> {
        let closed = self.rows.take().and_then(|rows| rows.close()).map(Stop::from);
        self.trouble.drain(..).chain(closed).collect()
    }

    /// Dismisses the agents. If the result `is_written`, they need not keep their records. Returns
    /// the agents lost in the last round.
    pub(super) fn dismiss(mut self, is_written: bool) -> LostAgents {
        if is_written {
            self.master.acknowledge();
        }
        self.master.dismiss();
        while let Some(action) = self.master.poll() {
            if let Action::Send(peer, message) = action {
                self.net.send(peer, message);
            }
        }
        let agents = self.master.agents();
        let lost = agents.into_iter().filter(|agent| is_lost(agent, &self.end));
        let addresses = lost.map(|agent| agent.address).collect();
        LostAgents { addresses, sentences: lost_sentences(&self.end.lost) }
    }

    /// Handles the messages that have come, or waits briefly.
    fn turn(&mut self, mut taking: Option<&mut Taking>, observer: &mut impl Observer) {
        let mut next = self.net.next(LOOK_EVERY);
        while let Some(came) = next {
            let at = now();
            match came {
                FromNet::Opened { peer, address, hello } => {
                    self.master.opened(peer, &address, &hello, at);
                }
                FromNet::Message { peer, message, trip } => {
                    self.master.handle_timed(peer, message, trip, at);
                }
                FromNet::Closed { peer, why } => self.master.closed(peer, &why, at),
                FromNet::Turned { address, why } => {
                    self.master.turned(&address, &why);
                }
                FromNet::Woken => {}
            }
            self.act(taking.as_deref_mut(), observer);
            next = self.net.next(Duration::ZERO);
        }
        let at = now();
        self.master.tick(at);
        self.act(taking.as_deref_mut(), observer);
        if let Some(taking) = taking {
            self.show_fill(at, observer);
            self.show_seconds(taking, observer);
            self.show_phases(at, observer);
            if let Some(window) = &mut self.window {
                window.look(&mut self.master, taking, at);
            }
        }
        observer.tick(at);
    }

    /// Shows how far the agents' fills are.
    fn show_fill(&mut self, at: Instant, observer: &mut impl Observer) {
        let Fill { since, keys, done: before } = self.fill;
        let Some(done) = self.master.filled().filter(|done| *done > 0 && *done != before) else {
            return;
        };
        self.fill.done = done;
        let elapsed_s = at.since(since).as_s_f64();
        observer.on(&Event::Progress(Progress {
            phase: Phase::Load,
            elapsed_s,
            done: done.min(keys),
            total: Some(keys),
            rate_per_s: (elapsed_s > 0.0).then(|| done as f64 / elapsed_s),
            ..Progress::default()
        }));
    }

    /// Announces the phases of the load that have begun by `at`. A load that ends early has no
    /// further ones.
    fn show_phases(&mut self, at: Instant, observer: &mut impl Observer) {
        if let Some(window) = self.window.as_mut().filter(|_| !self.master.is_stopping()) {
            window.phases(at).into_iter().for_each(|phase| observer.on(&Event::Phase(phase)));
        }
    }

    fn act(&mut self, mut taking: Option<&mut Taking>, observer: &mut impl Observer) {
        while let Some(action) = self.master.poll() {
            match action {
                Action::Send(peer, message) => self.net.send(peer, message),
                Action::Close(peer) => self.net.close(peer),
                Action::Note(text) => observer.on(&Event::Note(text)),
                Action::Waiting(text) => self.tell_waiting(text, observer),
                Action::Trouble(message) => self.trouble.push(Stop { code: FAILED, message }),
                Action::Prepared(count) => observer.on(&Event::Prepared(count)),
                Action::Begins(at) => {
                    self.window.iter_mut().for_each(|window| window.begin(at));
                    let ahead = at.since(Instant::ZERO).ns();
                    let passed = now().since(Instant::ZERO).ns();
                    let began = unix_ns().saturating_add(ahead) - passed;
                    self.began_unix_ns = Some(began);
                    observer.on(&Event::LoadBegun(began));
                }
                Action::Second(number, second) => {
                    let Some(taking) = taking.as_deref_mut() else { continue };
                    let at = now();
                    let passed = self.window.as_ref().map_or(Span::ZERO, |it| it.passed(at));
                    if let Err(why) = taking.second(number, &second, passed) {
                        self.master.unfit(number, why, at);
                    }
                }
                Action::Warming(number, warming) => {
                    self.window.iter_mut().for_each(|window| window.warming(number, warming));
                }
                Action::SoFar(number, record) => {
                    self.window.iter_mut().for_each(|it| it.so_far(number, record.clone()));
                }
                Action::Record(number, record) => {
                    let Some(taking) = taking.as_deref_mut() else { continue };
                    let armed_ns = self.master.armed_ns(number);
                    match taking.record(number, &record, armed_ns, self.master.is_stopping()) {
                        Ok(()) => self.master.fit(number),
                        Err(why) => self.master.unfit(number, why, now()),
                    }
                }
            }
        }
    }

    /// Says for which agents the run waits, on the status line if there is one.
    fn tell_waiting(&self, text: String, observer: &mut impl Observer) {
        match std::io::stderr().is_terminal() {
            true => observer.on(&Event::Note(text)),
            false if self.is_quiet => {}
            false => say(&format!("memtide: {text}")),
        }
    }

    /// Shows the seconds that all agents have reported, and ends the load if a condition is true.
    fn show_seconds(&mut self, taking: &mut Taking, observer: &mut impl Observer) {
        while let Some(Row { interval, progress, aborted }) = taking.row(&self.master.loading()) {
            observer.on(&Event::Progress(progress));
            if let Some(interval) = interval {
                observer.on(&Event::Interval(Box::new(interval)));
            }
            if let Some(aborted) = aborted {
                let why = format!("--abort-on {} was met", aborted.condition);
                self.master.stop(Some(aborted), &why, now());
            }
        }
    }
}

impl Runner for MasterRunner {
    /// Lets all agents carry out the run.
    fn carry_out(
        &mut self,
        task: RunTask,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        let (end, taking) = self.round(task, observer)?;
        self.end = end;
        let finished = taking.finish(&self.end);
        let (mut record, failed) = finished.map_err(failure)?;
        // Agents have clocks of their own; rows and points have this one.
        self.began_unix_ns.into_iter().for_each(|began| record.set_load_began(began));
        let failure = failed.map(failure);
        if record.ended_by == EndedBy::NotRun {
            return Err(self.unbegun(failure));
        }
        let outcome = RunOutcome { record, failure, wrong_values: WrongValues::default() };
        observer.on(&Event::WrongValues(Box::new(outcome.wrong_values.clone())));
        observer.on(&Event::Done(Box::new(outcome.record.clone())));
        Ok(outcome)
    }

    fn lost(&self) -> Vec<LostAgent> {
        if self.end.has_failed {
            return Vec::new();
        }
        let agents = self.master.agents();
        let others: Vec<u32> = others(&agents).map(|agent| agent.number).collect();
        let lost = self.end.lost.iter();
        let lost: Vec<_> = lost.filter(|lost| others.contains(&lost.number)).collect();
        let of = others.len() as u32;
        let left = of - lost.len() as u32;
        let each = lost.into_iter().map(|agent| LostAgent {
            step: 0,
            agent: agent.label.clone(),
            why: agent.lost.why.clone(),
            left,
            of,
        });
        each.collect()
    }
}

/// True if the round with this `end` has lost the agent.
fn is_lost(agent: &AgentFacts, end: &RoundEnd) -> bool {
    end.lost.iter().any(|lost| lost.number == agent.number)
}

/// The failure of a run that is lost.
fn failure(Lost { exit, why }: Lost) -> Failure {
    Failure { exit, sentence: Sentence::new(why) }
}

/// The agents outside the master's own process.
fn others(agents: &[AgentFacts]) -> impl Iterator<Item = &AgentFacts> {
    agents.iter().filter(|agent| !agent.is_own)
}

/// The addresses of a server that is named, if this machine knows them.
fn resolved(target: &Target) -> Option<message::Server> {
    let Target::Tcp { host, port } = target else { return None };
    if host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let ServerPlan { name, addresses } = resolve::tcp(&target.to_string(), host, *port).ok()?;
    let addresses = addresses.iter().filter_map(|address| match address {
        Address::Tcp(address) => Some(address.to_string()),
        Address::Udp(_) | Address::Unix(_) => None,
    });
    Some(message::Server { name, addresses: addresses.collect() })
}

/// A step of a search or scan, as it is sent; none for other runs.
fn step_message(task: RunTask) -> Option<Step> {
    let RunTask::Step(RestedStep { task, rest }) = task else { return None };
    let StepTask { number, rate_per_s, longer, keeps_data } = task;
    Some(Step { number, rate_per_s, keeps_data, rest_ns: rest.ns(), longer })
}

/// A step at another rate.
fn at_rate(step: RestedStep, rate_per_s: Option<f64>) -> RunTask {
    RunTask::Step(RestedStep { task: StepTask { rate_per_s, ..step.task }, ..step })
}

/// The agent in this process. Its only limits are those of the user of this process, and the master
/// reports its failures.
fn own_agent(
    name: &str,
    settings: &Settings,
    profile: &FrontProfile,
    rows: Option<OwnRows>,
) -> Setup {
    Setup {
        name: name.to_owned(),
        own: Own::of(&settings.scenario),
        rows,
        points: OwnPoints::of(&settings.outputs),
        watches: profile.watches_servers,
        words: profile.words,
        once: true,
        ..Setup::default()
    }
}

/// Name of the agent in this process. If the master measures with it, the name is unpredictable, so
/// that no remote agent can be taken for it.
fn own_name(has_own: bool, seed: u64) -> String {
    match has_own {
        true => format!("master-{:016x}", memtide_base::rng::mix(seed)),
        false => "master".to_owned(),
    }
}

/// The kernel's monotonic clock, with which agents' clocks are compared.
fn now() -> Instant {
    Instant::from_ns(monotonic_ns())
}

/// The scenario and its tags as sent to agents. Each agent has its own credentials for the servers,
/// and conditions are judged here, over all agents.
fn document(scenario: &Scenario, tags: &Tags) -> String {
    let scenario = scenario.without_credentials();
    let outputs = Outputs { tags: tags.clone(), ..Outputs::default() };
    let sent = Settings { scenario, outputs, ..Settings::default() };
    sent.words().iter().map(|(field, word)| format!("{field} = {word}\n")).collect()
}
