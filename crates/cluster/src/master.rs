//! A master's side of the protocol: it gathers agents, hands out the shares of a run, starts all
//! loads at one instant, follows their progress, and collects their records.
//!
//! It is pure: messages and the time are arguments, and its results are [`Action`]s. It does not
//! read records.

mod gathering;
mod beginning;
mod window;
mod ending;
mod member;

use beginning::PING_EVERY;
pub(crate) use ending::handing_over_max;
pub use ending::{LostMember, RoundEnd};
pub(crate) use gathering::NAME_CHARS_MAX;
pub use gathering::{Gathered, Wanted};
pub use member::Lost;
pub(crate) use member::titled;

use crate::clock::RoundTrip;
use crate::message::from_agent::What as Hears;
use crate::message::to_agent::What as Says;
use crate::message::{
    self, Acknowledged, FromAgent, Hello, Note, Refused, Share, Step, Stop, ToAgent, Warming,
};
use crate::{AGENT_SILENT_MAX, MASTER_SILENT_MAX, PROTOCOL};
use beginning::JUMPED;
use member::{Member, Stage};
use memtide_base::printable::printable;
use memtide_base::{Instant, Span, rng};
use memtide_record::{Aborted, Exit};
use std::collections::VecDeque;

/// The longest text of an agent that is shown whole, in characters.
const TEXT_CHARS_MAX: usize = 600;
/// The most notes of one agent in one run that are shown.
const NOTES_MAX: u32 = 64;
/// The most acknowledgements that wait for agents which have returned.
const OWED_MAX: usize = 4096;

/// A master's options.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The agents that it waits for.
    pub wanted: Wanted,
    /// The time that it waits for them.
    pub expect: Span,
    /// The longest time for which the preparation of a share may make no progress.
    pub prepare_max: Span,
    /// The user's flag for `expect`, if there is one.
    pub expect_flag: Option<&'static str>,
    /// The user's flag for `prepare_max`, if there is one.
    pub prepare_flag: Option<&'static str>,
    /// The number of agents that a run may lose.
    pub allow_lost: u32,
    /// True to begin without agents that did not come in time, if any other has come.
    pub goes_on: bool,
    /// The name of the agent in the master's own process, if that makes load; no other agent may
    /// use it.
    pub own: Option<String>,
    /// The version of memtide, which must be that of the agents.
    pub version: String,
    /// A number that no other master has.
    pub seed: u64,
}

/// One run that all agents carry out together: a whole run, or a step of a search or scan.
#[derive(Clone, Debug)]
pub struct Round {
    /// The loads of the round, which begin together. Each agent takes part in one of them.
    pub parts: Vec<RoundLoad>,
    /// True to fill the servers and do nothing else.
    pub load_only: bool,
    /// True to write measured operations to each agent's own folder.
    pub samples: bool,
    /// True to write measured operations as points to each agent's own database.
    pub points: bool,
    /// True to sample servers that are not to be filled, and to refuse values of other lengths.
    pub looks_unfilled: bool,
    /// True to ask servers that were filled whether they keep the items.
    pub looks_filled: bool,
    /// The addresses of servers, for agents that cannot resolve a name.
    pub servers: Vec<message::Server>,
    /// The longest time from the beginning of the load until every share's load has ended and its
    /// replies were awaited; `None` if that is unknown.
    pub load_max: Option<Span>,
}

/// One load of a round, and the agents that make it.
#[derive(Clone, Debug)]
pub struct RoundLoad {
    /// The scenario as TOML.
    pub scenario: String,
    /// The digest of the scenario as agents decide it, which their records name.
    pub digest: String,
    /// The step of a search or scan.
    pub step: Option<Step>,
    /// The agents by their numbers, and the number of shares of each, at least 1.
    pub members: Vec<(u32, u32)>,
}

impl RoundLoad {
    /// The number of its shares.
    pub fn units(&self) -> u32 {
        self.members.iter().map(|(_, units)| units).sum()
    }
}

/// An action for the code that drives the master, or an event for its user.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send this message to a peer.
    Send(u64, ToAgent),
    /// Close the connection to a peer.
    Close(u64),
    /// A note for the user, as a sentence without its full stop.
    Note(String),
    /// An agent failed at something beside the load, as a sentence without its full stop. The run
    /// has failed, whatever its figures are.
    Trouble(String),
    /// The run waits for these agents, as a sentence without its full stop. Comes seldom.
    Waiting(String),
    /// All agents that are still there have prepared their shares, this number outside the master's
    /// own process. Their clocks are compared next.
    Prepared(u32),
    /// The load of all agents begins at this instant of the master's clock.
    Begins(Instant),
    /// Another second of the load of the agent with this number is over: its interval, as
    /// the crate record encodes it. Report one that cannot be read to [`Master::unfit`].
    Second(u32, Vec<u8>),
    /// What the load of the agent with this number has counted, while its warm-up goes on.
    Warming(u32, Warming),
    /// The record so far of the agent with this number, for which the master was to
    /// [ask](Master::ask_so_far).
    SoFar(u32, Vec<u8>),
    /// The record of the agent with this number. Answer with [`Master::fit`] or
    /// [`Master::unfit`].
    Record(u32, Vec<u8>),
}

/// An agent that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// The agent's number, by which the agents of a run are ordered.
    pub number: u32,
    /// The name of its machine.
    pub name: String,
    /// Its address.
    pub address: String,
    /// The number of the run's equal shares that it takes, at least 1.
    pub units: u32,
    /// True if it is in the master's own process.
    pub is_own: bool,
}

/// A master, its agents, and their state.
#[derive(Debug)]
pub struct Master {
    rules: Rules,
    began: Instant,
    members: Vec<Member>,
    gathering: gathering::Gathering,
    /// The number of rounds begun.
    rounds: u64,
    phase: Phase,
    /// The longest time that the load of a share may take, and its end once the load is armed.
    load_max: Option<Span>,
    load_until: Option<Instant>,
    /// The reason why the round ends early, if it does, and the instant of that decision.
    stopping: Option<(String, Instant)>,
    /// The instant at which the user ended the round, if that has happened.
    interrupted: Option<Instant>,
    /// The instants at which the round began, and at which the user last learned for whom it waits.
    round_began: Instant,
    waiting_said: Option<Instant>,
    /// The last instant at which this master did anything. It may have stood still since.
    looked: Instant,
    /// No silence before this instant counts: this master did not listen.
    excused: Instant,
    /// Agents that have returned for the acknowledgement of a merged record, with run and share.
    owed: Vec<(u64, Acknowledged)>,
    actions: VecDeque<Action>,
}

/// The phase of a round, for all agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The master waits for agents.
    Gathering,
    /// No round has begun, or the last has ended.
    Resting,
    /// Shares are handed out and prepared.
    Preparing,
    /// Clocks are compared, one agent at a time.
    Comparing,
    /// The load has begun, or an instant for it is agreed.
    Running,
    /// The agents are dismissed.
    Over,
}

impl Master {
    /// A master that begins to wait for its agents at `now`.
    pub fn new(rules: Rules, now: Instant) -> Self {
        Self {
            rules,
            began: now,
            members: Vec::new(),
            gathering: gathering::Gathering::default(),
            rounds: 0,
            phase: Phase::Gathering,
            load_max: None,
            load_until: None,
            stopping: None,
            interrupted: None,
            round_began: now,
            waiting_said: None,
            looked: now,
            excused: now,
            owed: Vec::new(),
            actions: VecDeque::new(),
        }
    }

    /// The next action, if any.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The agents that take part, by their number.
    pub fn agents(&self) -> Vec<AgentFacts> {
        let facts = (0..).zip(&self.members).map(|(number, member)| AgentFacts {
            number,
            name: member.name.clone(),
            address: member.address.clone(),
            units: member.units,
            is_own: member.is_own,
        });
        facts.collect()
    }

    /// Handles a peer at `address` that has proved itself.
    pub fn opened(&mut self, peer: u64, address: &str, hello: &Hello, now: Instant) {
        self.resume(now);
        if self.owes(peer, hello) {
            return;
        }
        if let Err(why) = self.admit(peer, address, hello, now) {
            self.say(peer, Says::Refused(Refused { why }));
            self.act(Action::Close(peer));
        }
    }

    /// Handles the end of the connection to a peer.
    pub fn closed(&mut self, peer: u64, why: &str, now: Instant) {
        self.resume(now);
        self.owed.retain(|(owed, _)| *owed != peer);
        let Some(number) = self.number_of(peer) else { return };
        self.lose(number, None, format!("its connection was closed: {why}"), now);
        self.look(now);
    }

    /// Handles a message of a peer. The answer to a ping arrives at `now`.
    pub fn handle(&mut self, peer: u64, message: FromAgent, now: Instant) {
        self.handle_timed(peer, message, None, now);
    }

    /// Handles a message of a peer at `now`. If it answers a ping, `trip` holds the instants at
    /// which the ping really left and the answer really arrived, if the network measured them.
    pub fn handle_timed(
        &mut self,
        peer: u64,
        message: FromAgent,
        trip: Option<RoundTrip>,
        now: Instant,
    ) {
        self.resume(now);
        let Some(number) = self.number_of(peer) else { return };
        self.members[number].heard = now;
        match message.what {
            Some(Hears::Pong(pong)) => self.pong(number, &pong, trip, now),
            Some(Hears::Note(note)) => self.noted(number, &note),
            Some(Hears::Preparing(report)) => self.preparing(number, report, now),
            Some(Hears::Prepared(_)) => self.prepared(number, now),
            Some(Hears::Alone(_)) => self.alone(number, now),
            Some(Hears::Second(second)) => self.second(number, second.interval, now),
            Some(Hears::Warming(warming)) => self.warming(number, warming, now),
            Some(Hears::SoFar(part)) => self.part_so_far(number, &part, now),
            Some(Hears::Record(part)) => self.part(number, &part, now),
            Some(Hears::Failed(failed)) => {
                let exit = Exit::of_failure(failed.exit).code();
                let why = printable(&failed.why, TEXT_CHARS_MAX);
                self.lose(number, Some(exit), why, now);
            }
            Some(Hears::Refused(refused)) => {
                let why = printable(&refused.why, TEXT_CHARS_MAX);
                self.lose(number, Some(Lost::REFUSED), why, now);
            }
            Some(Hears::Hello(_)) | None => {
                let why = "it sent an unknown message; use the same version of memtide on all \
                           machines";
                self.lose(number, None, why.to_owned(), now);
            }
        }
        self.look(now);
    }

    /// Handles the passing of time: deadlines, silence, and pings that are due.
    pub fn tick(&mut self, now: Instant) {
        self.resume(now);
        // From the last to the first, because removing a gathered agent moves those behind it.
        for number in (0..self.members.len()).rev() {
            if !self.members[number].is_there() {
                continue;
            }
            if self.members[number].is_silent(self.excused, now) {
                let why = format!("it has been silent for {AGENT_SILENT_MAX}");
                self.lose(number, None, why, now);
            } else {
                self.ping_if_due(number, now);
            }
        }
        self.look(now);
    }

    /// Begins a round. All agents must have been [gathered](Self::gathered), and no other round may
    /// be in progress.
    pub fn begin(&mut self, round: &Round, now: Instant) {
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Over);
        assert!(!is_open, "a round begins with agents that are gathered");
        self.rounds += 1;
        self.phase = Phase::Preparing;
        (self.load_max, self.load_until) = (round.load_max, None);
        (self.stopping, self.interrupted) = (None, None);
        (self.round_began, self.waiting_said) = (now, None);
        // Between rounds nothing is awaited.
        (self.looked, self.excused) = (now, self.excused.max(now));
        for part in &round.parts {
            self.begin_part(round, part, now);
        }
        if self.has_lost_too_many() {
            self.stop(None, "agents were lost before the load began", now);
        }
        self.look(now);
    }

    fn begin_part(&mut self, round: &Round, part: &RoundLoad, now: Instant) {
        let (run, of) = (self.run(), part.units());
        let rest = part.step.map_or(Span::ZERO, |step| Span::from_ns(step.rest_ns));
        let mut first = 0;
        for &(member, units) in &part.members {
            let share = Share {
                run: run.clone(),
                scenario: part.scenario.clone(),
                number: first,
                of,
                units,
                load_only: round.load_only,
                step: part.step,
                samples: round.samples,
                points: round.points,
                looks_unfilled: round.looks_unfilled,
                looks_filled: round.looks_filled,
                servers: round.servers.clone(),
            };
            let member = &mut self.members[member as usize];
            member.share = first;
            first += units;
            if member.begin(round.load_only, rest, now) {
                let peer = member.peer;
                self.say(peer, Says::Share(share));
            }
        }
    }

    /// Ends the round early; records are collected all the same. `aborted` is the condition that
    /// was met, if any.
    pub fn stop(&mut self, aborted: Option<Aborted>, why: &str, now: Instant) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some((why.to_owned(), now));
        let aborted = aborted.map(|Aborted { condition, measured, why, after_s }| {
            message::Aborted { condition, measured, why, after_s }
        });
        for number in 0..self.members.len() {
            let member = &self.members[number];
            if member.is_at_work() {
                let stop = Stop { aborted: aborted.clone(), why: why.to_owned() };
                self.say(member.peer, Says::Stop(stop));
            }
        }
    }

    /// Ends the round because the user wants it: with the records that come within two seconds.
    pub fn interrupt(&mut self, now: Instant) {
        self.interrupted.get_or_insert(now);
        self.stop(None, "the user ended the run", now);
    }

    /// The beginning of the load of an agent, by its own clock, once it was told.
    pub fn armed_ns(&self, number: u32) -> Option<u64> {
        self.members[number as usize].armed_ns
    }

    /// The numbers of the agents whose load runs, as far as is known: each may report more seconds.
    pub fn loading(&self) -> Vec<u32> {
        let each = self.members.iter().enumerate().filter(|(_, member)| member.is_loading());
        each.map(|(number, _)| number as u32).collect()
    }

    /// The number of keys that the agents have stored so far, each on the server that it fills now;
    /// none unless they prepare their shares.
    pub fn filled(&self) -> Option<u64> {
        let each = self.members.iter().map(|member| member.progress.report.done);
        (self.phase == Phase::Preparing).then(|| each.fold(0, u64::saturating_add))
    }

    /// True if the round ends early.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Accepts the record of an agent. The agent keeps it until [`acknowledge`](Self::acknowledge).
    pub fn fit(&mut self, number: u32) {
        let member = &mut self.members[number as usize];
        if member.stage == Stage::Judged {
            member.stage = Stage::Done;
            member.taken.push((self.rounds, member.share));
        }
    }

    /// Tells the agents that the merged record is written, so that they need not keep theirs.
    pub fn acknowledge(&mut self) {
        for number in 0..self.members.len() {
            let member = &mut self.members[number];
            let (peer, taken) = (member.peer, std::mem::take(&mut member.taken));
            if !member.is_there() {
                continue;
            }
            for (round, share) in taken {
                let run = self.run_of(round);
                self.say(peer, Says::Acknowledged(Acknowledged { run, share }));
            }
        }
        for (peer, owed) in std::mem::take(&mut self.owed) {
            self.say(peer, Says::Acknowledged(owed));
        }
    }

    /// True if a peer keeps records that are merged, and that its lost connection handed over: it
    /// stays until they are written.
    fn owes(&mut self, peer: u64, hello: &Hello) -> bool {
        let gone = self.members.iter().filter(|member| !member.is_there());
        let taken = gone.flat_map(|member| &member.taken).copied();
        let merged: Vec<_> = taken.map(|(round, share)| (self.run_of(round), share)).collect();
        let kept = hello.kept.iter();
        let kept = kept.filter(|kept| merged.contains(&(kept.run.clone(), kept.share)));
        let owed = kept.map(|kept| Acknowledged { run: kept.run.clone(), share: kept.share });
        let owed: Vec<_> = owed.take(OWED_MAX).map(|owed| (peer, owed)).collect();
        if self.owed.len() + owed.len() > OWED_MAX {
            return false;
        }
        let owes = !owed.is_empty();
        self.owed.extend(owed);
        owes
    }

    /// Notices that this master stood still, so that it heard no agent.
    fn resume(&mut self, now: Instant) {
        let still = now.since(self.looked);
        self.looked = now;
        // Agents may have waited for the next ping already.
        if still + PING_EVERY < MASTER_SILENT_MAX {
            return;
        }
        self.excused = now;
        if matches!(self.phase, Phase::Preparing | Phase::Comparing | Phase::Running) {
            self.act(Action::Waiting(format!(
                "this machine stood still for {still}, so agents may have ended their loads; \
                 memtide agent records fetches the records that did not arrive"
            )));
        }
    }

    /// Rejects the figures of an agent, for this reason.
    pub fn unfit(&mut self, number: u32, why: String, now: Instant) {
        self.lose(number as usize, Some(Lost::UNFIT), why, now);
        self.look(now);
    }

    /// Dismisses all agents, and admits no others.
    pub fn dismiss(&mut self) {
        self.phase = Phase::Over;
        for number in 0..self.members.len() {
            if self.members[number].is_there() {
                let peer = self.members[number].peer;
                self.say(peer, Says::Bye(message::Bye {}));
            }
        }
    }

    /// The name of the present run, which all its shares and no other run have.
    pub(crate) fn run(&self) -> Vec<u8> {
        self.run_of(self.rounds)
    }

    fn run_of(&self, round: u64) -> Vec<u8> {
        let name = [self.rules.seed, rng::mix(self.rules.seed ^ round)];
        name.iter().flat_map(|half| half.to_be_bytes()).collect()
    }

    fn number_of(&self, peer: u64) -> Option<usize> {
        self.members.iter().position(|member| member.peer == peer && member.is_there())
    }

    /// Handles a note of an agent. Beyond [`NOTES_MAX`] notes are ignored.
    fn noted(&mut self, number: usize, note: &Note) {
        let member = &mut self.members[number];
        member.notes += 1;
        if member.notes <= NOTES_MAX {
            let text = printable(&note.text, TEXT_CHARS_MAX);
            let text = format!("{}: {text}", titled(&member.label()));
            self.act(if note.is_trouble { Action::Trouble(text) } else { Action::Note(text) });
        }
    }

    fn note(&mut self, text: String) {
        self.act(Action::Note(text));
    }

    fn say(&mut self, peer: u64, what: Says) {
        self.act(Action::Send(peer, ToAgent { what: Some(what) }));
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }
}
