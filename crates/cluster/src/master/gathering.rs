//! Waiting for agents: admission, missing agents, and the numbers of shares.

use super::member::{Member, in_brackets};
use super::{Master, PROTOCOL, Phase};
use crate::UNITS_MAX;
use crate::message::to_agent::What as Says;
use crate::message::{Hello, Welcome};
use memtide_base::printable::printable;
use memtide_base::{Instant, Span};

/// The longest name of an agent that is shown whole, in characters.
pub(crate) const NAME_CHARS_MAX: usize = 64;
/// The most agents remembered that cannot take part.
const TURNED_MAX: usize = 8;
/// The most agents that a message names among those that came when others are missing.
const NAMED_MAX: usize = 8;

/// The agents that a master waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This number of agents.
    Count(u32),
    /// The agents at these addresses, which the master dials.
    Listed(Vec<String>),
    /// The agents at these addresses, and one more in the master's own process.
    ListedAndOwn(Vec<String>),
}

impl Wanted {
    /// The addresses that the master dials.
    pub fn listed(&self) -> &[String] {
        match self {
            Self::Count(_) => &[],
            Self::Listed(addresses) | Self::ListedAndOwn(addresses) => addresses,
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Count(count) => *count as usize,
            Self::Listed(addresses) => addresses.len(),
            Self::ListedAndOwn(addresses) => addresses.len() + 1,
        }
    }
}

/// The progress of gathering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// Agents are missing.
    Waiting,
    /// All agents are there.
    All,
    /// The time is up; the sentence names the missing agents.
    Missing(String),
}

/// The knowledge about agents that are not there.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Addresses, and the reason why the agent there could not take part at its last attempt.
    turned: Vec<(String, String)>,
}

impl Master {
    /// The progress of gathering. Once all agents are there, they are numbered and no other is
    /// admitted.
    pub fn gathered(&mut self, now: Instant) -> Gathered {
        if self.phase != Phase::Gathering {
            return Gathered::All;
        }
        if self.members.len() == self.rules.wanted.count() {
            self.number();
            self.phase = Phase::Resting;
            return Gathered::All;
        }
        if now.since(self.began) < self.rules.expect {
            return Gathered::Waiting;
        }
        if self.rules.goes_on && self.is_enough() {
            self.number();
            self.phase = Phase::Resting;
            return Gathered::All;
        }
        Gathered::Missing(self.missing())
    }

    /// True if the present agents can make the run: at least one, and the master's own if it has
    /// one.
    fn is_enough(&self) -> bool {
        let own = self.members.iter().filter(|member| member.is_own).count();
        own == usize::from(self.rules.own.is_some()) && self.members.len() > own
    }

    /// Records that the agent at `address` could not take part; `why` is a sentence without its
    /// full stop.
    pub fn turned(&mut self, address: &str, why: &str) {
        let turned = &mut self.gathering.turned;
        let is_known = turned.iter().any(|(_, known)| known == why);
        let is_listed = self.rules.wanted.listed().iter().any(|listed| listed == address);
        // Strangers with one reason are remembered once; of the user's own agents each counts.
        if is_known && !is_listed {
            return;
        }
        turned.retain(|(known, _)| known != address);
        if is_listed || turned.len() < TURNED_MAX {
            turned.push((address.to_owned(), why.to_owned()));
            if !is_known {
                self.note(format!("{address}: {why}"));
            }
        }
    }

    /// Admits an agent that has proved itself, or returns the reason why not.
    pub(super) fn admit(
        &mut self,
        peer: u64,
        address: &str,
        hello: &Hello,
        now: Instant,
    ) -> Result<(), String> {
        if let Err(why) = self.check(hello) {
            self.turned(address, &why);
            return Err(why);
        }
        if self.phase != Phase::Gathering || self.members.len() >= self.rules.wanted.count() {
            return Err(
                "the run already has all its agents; this agent can join the next run".to_owned()
            );
        }
        let name = name(&hello.name);
        let is_there = self.members.iter().any(|member| member.name == name);
        if self.rules.own.as_ref() == Some(&name) && is_there {
            let why = format!("the master's own agent has the name {name}; use another name");
            self.turned(address, &why);
            return Err(why);
        }
        self.gathering.turned.retain(|(known, _)| known != address);
        let member = Member::new(peer, &name, address, hello.units, now);
        let is_own = self.rules.own.as_ref() == Some(&name);
        self.members.push(Member { is_own, ..member });
        assert!(self.members.len() <= self.rules.wanted.count(), "an agent has a place");
        self.say(peer, Says::Welcome(Welcome { version: self.rules.version.clone() }));
        if !is_own {
            let (here, wanted) = self.counts();
            self.note(format!("agent {name} ({address}) joined, {here} of {wanted}"));
        }
        Ok(())
    }

    /// Checks that an agent can work for this master.
    fn check(&self, hello: &Hello) -> Result<(), String> {
        let (ours, theirs) = (&self.rules.version, name(&hello.version));
        if hello.protocol != PROTOCOL || *ours != theirs {
            return Err(format!(
                "the agent runs memtide {theirs} and the master {ours}; install the same version \
                 on both"
            ));
        }
        if hello.units > UNITS_MAX {
            return Err(format!(
                "the agent takes {} shares of a run, and at most {UNITS_MAX} are allowed; start it \
                 with fewer shares",
                hello.units
            ));
        }
        match hello.busy_since_unix_s {
            Some(since) => Err(format!(
                "the agent has been busy with another run since @{since}; wait for the end of that \
                 run, or leave the agent out"
            )),
            None => Ok(()),
        }
    }

    /// Orders the agents: as they are listed, or by name; the master's own agent comes last.
    fn number(&mut self) {
        let listed = self.rules.wanted.listed();
        self.members.sort_by_key(|member| {
            let at = listed.iter().position(|address| *address == member.address);
            (
                member.is_own,
                at.is_none(),
                at,
                member.name.clone(),
                member.address.clone(),
                member.peer,
            )
        });
    }

    /// The number of agents that are there, and of those that the user asked for. The master's own
    /// is none of them.
    fn counts(&self) -> (usize, usize) {
        let here = self.members.iter().filter(|member| !member.is_own).count();
        (here, self.rules.wanted.count() - usize::from(self.rules.own.is_some()))
    }

    fn missing(&self) -> String {
        let (here, wanted) = self.counts();
        let expect: Span = self.rules.expect;
        let flag = in_brackets(self.rules.expect_flag);
        let mut text = format!("{here} of {wanted} agents joined within {expect}{flag}");
        if here > 0 {
            let elsewhere = self.members.iter().filter(|member| !member.is_own);
            let names: Vec<&str> =
                elsewhere.take(NAMED_MAX).map(|member| member.name.as_str()).collect();
            let more = if here > NAMED_MAX { " and others" } else { "" };
            text.push_str(&format!(": {}{more}", names.join(", ")));
        }
        for address in self.rules.wanted.listed() {
            let is_there = self.members.iter().any(|member| member.address == *address);
            if !is_there && self.gathering.turned.iter().all(|(known, _)| known != address) {
                text.push_str(&format!("; {address}: no answer"));
            }
        }
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (address, why) in &self.gathering.turned {
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, addresses)) => addresses.push(address),
                None => reasons.push((why, vec![address])),
            }
        }
        for (why, addresses) in reasons {
            let more = if addresses.len() > NAMED_MAX { " and others" } else { "" };
            let named = addresses[..addresses.len().min(NAMED_MAX)].join(", ");
            text.push_str(&format!("; {named}{more}: {why}"));
        }
        if self.gathering.turned.is_empty() && matches!(self.rules.wanted, Wanted::Count(_)) {
            text.push_str("; start memtide agent --join FILE on each machine");
        }
        text
    }
}

/// The printable form of an agent's name.
fn name(text: &str) -> String {
    match printable(text, NAME_CHARS_MAX) {
        name if name.is_empty() => "unnamed".to_owned(),
        name => name,
    }
}
