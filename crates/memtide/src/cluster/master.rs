//! The master of a run by agents: it waits for them, hands out shares, shows progress, and merges
//! their records.

use super::agent::{Local, LocalOwn, Own, task_of};
use super::folder::state_folder;
use super::merged::{Seconds, TakenPart, Taking, lost_sentences};
use super::points::OwnPoints;
use super::rows::OwnRows;
use crate::exit::{FAILED, INTERRUPTED, Stop, UNREACHABLE, USAGE};
use crate::session::front::division::{Division, OwnPart};
use crate::session::{Front, LostAgents};
use memtide_base::{Instant, Sentence, Span};
use memtide_cluster::law::LawWords;
use memtide_cluster::master::{
    Action, Gathered, Lost, Master, Round, RoundEnd, RoundLoad, Rules, Wanted,
};
use memtide_cluster::message::{self, Step};
use memtide_cluster::transport::{FromNet, MasterNet, files};
use memtide_engine::plan::StepTask;
use memtide_host::clock::monotonic_ns;
use memtide_host::signal::StopFlag;
use memtide_run::steps::{Runner, plan_step};
use memtide_run::{Failure, Lowered, Observer, RunOutcome, Surroundings, load_max, lower};
use memtide_schema::record::{Aborted, EndedBy};
use memtide_schema::scenario::{Agents, AgentsWord, Placement, Tags};
use memtide_schema::{Event, OutputKind, Outputs, Scenario, Settings, scenario_digest};
use std::path::PathBuf;
use std::time::Duration;

/// Address on which the master of a user's own agents listens.
const OWN_ADDRESS: &str = "127.0.0.1:11298";
/// Period at which the master checks the time while no message arrives.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The loads of a round and the parts that collect their records, with the longest time that they
/// may take; none if unknown.
type Parts = (Vec<RoundLoad>, (Vec<TakenPart>, Option<Span>));

/// The master of a run, with its agents.
pub(crate) struct Fleet {
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
    tags: Tags,
    /// Agents lost in the last round.
    lost: LostAgents,
    /// Failures of agents outside the load, such as of their outputs.
    trouble: Vec<Stop>,
    /// The agent in this process, if the master makes load.
    _own: Option<Local>,
}

impl Fleet {
    /// Starts to wait for the agents that `settings` name, and for one more in this process if the
    /// master has its own load.
    ///
    /// Cause: The master's key cannot be read, or its address is taken.
    pub(crate) fn open(
        settings: &Settings,
        around: Surroundings,
        front: &dyn Front,
        rows: Option<OwnRows>,
        stop: &StopFlag,
    ) -> Result<Self, Stop> {
        let Agents { which, key, expect, master_share, allow_lost, .. } =
            &settings.placement.agents;
        let has_own = front.has_own_load(settings);
        let makes_load = *master_share || has_own;
        let folder = match key {
            Some(folder) => PathBuf::from(folder),
            None => own_key()?,
        };
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
                let own = LocalOwn {
                    name: own_name.clone(),
                    login: Own::of(&settings.scenario),
                    rows,
                    points: OwnPoints::of(&settings.outputs),
                    watches: front.watches_servers(),
                };
                Some(Local::start(&key.join, address, own)?)
            }
            _ => None,
        };
        let rules = Rules {
            wanted,
            expect: *expect,
            expect_flag: front.patience_flag(),
            allow_lost: *allow_lost,
            goes_on: front.goes_on_without(),
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
            tags: settings.outputs.tags.clone(),
            lost: LostAgents::default(),
            trouble: Vec::new(),
            _own: own,
        })
    }

    /// Waits until all agents have come.
    ///
    /// Cause: Agents are missing, or the user does not wait any longer.
    pub(crate) fn gather(&mut self, observer: &mut impl Observer) -> Result<(), Stop> {
        loop {
            match self.master.gathered(now()) {
                Gathered::All => return Ok(()),
                Gathered::Missing(message) => return Err(Stop { code: UNREACHABLE, message }),
                Gathered::Waiting if self.stop.is_raised() => {
                    let message = "interrupted while waiting for agents".to_owned();
                    return Err(Stop { code: INTERRUPTED, message });
                }
                Gathered::Waiting => self.turn(None, observer),
            }
        }
    }

    /// Number of shares of each agent, in the order of agents.
    pub(crate) fn shares(&self) -> Vec<u32> {
        let agents = self.master.agents();
        agents.iter().filter(|agent| !agent.is_own).map(|agent| agent.units).collect()
    }

    /// Agents that did not come, and without which the run continues.
    pub(crate) fn missing(&self) -> LostAgents {
        let addresses = self.master.missing_listed();
        let sentence = |address: &String| format!("agent {address} did not connect in time");
        let sentences = addresses.iter().map(sentence).collect();
        LostAgents { addresses, sentences }
    }

    /// Sets the division of the run.
    pub(crate) fn divide(&mut self, division: Division) {
        self.division = division;
    }

    /// Lets all agents carry out the run, or one step of a search or scan.
    pub(crate) fn carry_out(
        &mut self,
        load_only: bool,
        step: Option<Step>,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        let (parts, (taken, load_max)) = self.parts(load_only, step)?;
        let load_max = load_max.filter(|_| !load_only);
        let Self { samples, points, .. } = *self;
        let round = Round { parts, load_only, samples, points, load_max };
        self.master.begin(&round, now());
        let mut taking = Taking::new(&self.division.agents, taken);
        let end = loop {
            if let Some(end) = self.master.round_end() {
                break end;
            }
            if self.stop.is_raised() {
                self.master.stop(None, "the user ended the run", now());
            }
            self.turn(Some(&mut taking), observer);
        };
        // Acknowledgements must be sent before the round ends.
        self.turn(Some(&mut taking), observer);
        self.lost = self.lost(&end);
        let outcome = taking.finish(&end, self.master.agents().len())?;
        if self.stop.is_raised() && outcome.record.ended_by == EndedBy::NotRun {
            let sentence = Sentence::new("interrupted before the load began");
            return Err(Failure { exit: INTERRUPTED, sentence });
        }
        observer.on(&Event::WrongValues(Box::new(outcome.wrong_values.clone())));
        observer.on(&Event::Done(Box::new(outcome.record.clone())));
        Ok(outcome)
    }

    /// Agents lost in a round with this end.
    fn lost(&self, end: &RoundEnd) -> LostAgents {
        let agents = self.master.agents();
        let found = |(number, ..): &(u32, String, Lost)| {
            Some(agents.iter().find(|agent| agent.number == *number)?.address.clone())
        };
        let addresses = end.lost.iter().filter_map(found).collect();
        LostAgents { addresses, sentences: lost_sentences(&end.lost) }
    }

    /// The loads of a round and the parts that collect their records, with the longest time that
    /// they may take. A fill involves all agents, including the master's own.
    fn parts(&self, load_only: bool, step: Option<Step>) -> Result<Parts, Failure> {
        let Division { agents, shares, own } = &self.division;
        let facts = self.master.agents();
        let (own_members, members): (Vec<_>, Vec<_>) =
            facts.iter().partition(|agent| agent.is_own && !load_only);
        let shares = shares.iter().copied().chain(std::iter::repeat(1));
        let members = members.iter().map(|agent| agent.number).zip(shares).collect();
        let own = own.as_ref().zip(own_members.first());
        let (theirs, ours) = match (own, step) {
            (Some((OwnPart { rates, .. }, _)), Some(step)) => {
                let (theirs, ours) = rates(step.rate_per_s);
                let at = |rate_per_s| Some(Step { rate_per_s, ..step });
                (at(theirs), at(ours))
            }
            (_, step) => (step, step),
        };
        let mut all = vec![self.part(agents, theirs, members)?];
        if let Some((OwnPart { scenario, .. }, agent)) = own {
            all.push(self.part(scenario, ours, vec![(agent.number, 1)])?);
        }
        let longest = all.iter().map(|(.., max)| *max).reduce(|a, b| Some(a?.max(b?))).flatten();
        let (parts, taken) = all.into_iter().map(|(part, taken, _)| (part, taken)).unzip();
        Ok((parts, (taken, longest)))
    }

    fn part(
        &self,
        scenario: &Scenario,
        step: Option<Step>,
        members: Vec<(u32, u32)>,
    ) -> Result<(RoundLoad, TakenPart, Option<Span>), Failure> {
        let lowered = self.lowered(scenario, step.as_ref())?;
        let taken = TakenPart::new(scenario_digest(&lowered.document), &members);
        let part = RoundLoad { scenario: document(scenario, &self.tags), step, members };
        Ok((part, taken, load_max(&lowered.plan)))
    }

    /// A load, or a step of it, with the decisions that all its shares have in common.
    fn lowered(&self, scenario: &Scenario, step: Option<&Step>) -> Result<Lowered, Failure> {
        let lowered = match step {
            Some(step) => plan_step(scenario, task_of(step), &self.around),
            None => lower(scenario, &self.around),
        };
        lowered.map_err(|problem| {
            let sentence = Sentence::new(problem.to_string());
            Failure { exit: USAGE, sentence }
        })
    }

    /// Failures of agents outside the load, such as of their outputs.
    pub(crate) fn trouble(&mut self) -> Vec<Stop> {
        std::mem::take(&mut self.trouble)
    }

    /// Dismisses the agents. If the result `is_written`, they need not keep their records. Returns
    /// the agents lost in the last round.
    pub(crate) fn dismiss(mut self, is_written: bool) -> LostAgents {
        if is_written {
            self.master.acknowledge();
        }
        self.master.dismiss();
        while let Some(Action::Send(peer, message)) = self.master.poll() {
            self.net.send(peer, message);
        }
        self.lost
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
                FromNet::Turned { address, why } | FromNet::Unreachable { address, why } => {
                    self.master.turned(&address, &why);
                }
            }
            self.act(taking.as_deref_mut(), observer);
            next = self.net.next(Duration::ZERO);
        }
        let at = now();
        self.master.tick(at);
        self.act(taking, observer);
        observer.tick(at);
    }

    fn act(&mut self, mut taking: Option<&mut Taking>, observer: &mut impl Observer) {
        while let Some(action) = self.master.poll() {
            match action {
                Action::Send(peer, message) => self.net.send(peer, message),
                Action::Close(peer) => self.net.close(peer),
                Action::Note(text) => observer.on(&Event::Note(text)),
                Action::Trouble(message) => self.trouble.push(Stop { code: FAILED, message }),
                Action::Begins(_) => {}
                Action::Seconds(seconds) => {
                    let Some(taking) = taking.as_deref_mut() else { continue };
                    self.take_seconds(taking, &seconds, observer);
                }
                Action::Record(number, record) => {
                    let Some(taking) = taking.as_deref_mut() else { continue };
                    match taking.record(&record, number, self.master.is_stopping()) {
                        Ok(()) => self.master.fit(number),
                        Err(why) => self.master.unfit(number, why, now()),
                    }
                }
            }
        }
    }

    /// Shows a second of the load of all agents, and ends the load if a condition is true.
    fn take_seconds(
        &mut self,
        taking: &mut Taking,
        seconds: &[(u32, Vec<u8>)],
        observer: &mut impl Observer,
    ) {
        match taking.seconds(seconds) {
            Ok(None) => {}
            Ok(Some(Seconds { interval, progress, aborted })) => {
                observer.on(&Event::Progress(progress));
                observer.on(&Event::Interval(Box::new(interval)));
                if let Some(aborted) = aborted {
                    let why = format!("--abort-on {} was met", aborted.condition);
                    self.master.stop(Some(said(aborted)), &why, now());
                }
            }
            Err((number, why)) => self.master.unfit(number, why, now()),
        }
    }
}

impl Runner for Fleet {
    fn carry_out(
        &mut self,
        task: StepTask,
        rest: Span,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        let StepTask { number, rate_per_s, keeps_data } = task;
        let step = Step { number, rate_per_s, keeps_data, rest_ns: rest.ns() };
        Self::carry_out(self, false, Some(step), observer)
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

/// An abort condition that came true, as it is sent.
fn said(aborted: Aborted) -> message::Aborted {
    let Aborted { condition, measured, why, after_s } = aborted;
    message::Aborted { condition, measured, why, after_s }
}

/// The scenario and its tags as sent to agents. Each agent has its own credentials for the servers,
/// and conditions are judged here, over all agents.
fn document(scenario: &Scenario, tags: &Tags) -> String {
    let scenario = Scenario { user: None, password: None, ..scenario.clone() };
    let outputs = Outputs { tags: tags.clone(), ..Outputs::default() };
    let sent = Settings { scenario, outputs, placement: Placement::default() };
    sent.words().iter().map(|(field, word)| format!("{field} = {word}\n")).collect()
}

/// The key of this user's own agents on this machine; created if it is missing.
pub(crate) fn own_key() -> Result<PathBuf, Stop> {
    let folder = state_folder()?.join("key");
    if files::read_identity(&folder).is_err() {
        let made = files::make_folder(&folder, OWN_ADDRESS, None, LawWords::default());
        // Another process may have created it at the same time.
        if let (Err(why), Err(_)) = (made, files::read_identity(&folder)) {
            return Err(Stop::usage(why));
        }
    }
    Ok(folder)
}
