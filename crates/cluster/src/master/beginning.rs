//! From shares to the beginning of the load: preparation, comparison of clocks, one instant for
//! all.

use super::member::{Lost, Stage};
use super::{Action, Master, Phase};
use crate::clock::RoundTrip;
use crate::message::to_agent::What as Says;
use crate::message::{Armed, Clock, Ping, Pong};
use memtide_base::{Instant, Span};

/// The interval between pings of each agent, which measure its drift and show that its master
/// lives.
pub(super) const PING_EVERY: Span = Span::from_s(1);
/// The interval between pings of an agent that waits for others.
const PING_WAITING_EVERY: Span = Span::from_s(5);
/// The number of pings that compare clocks before the first load.
const BURST: u32 = 256;
/// The number of pings that compare clocks again before the load of each later step.
const BURST_AGAIN: u32 = 32;
/// The longest time of one agent's burst of pings, and of all agents' bursts together.
const BURST_MAX: Span = Span::from_s(1);
const BURSTS_MAX: Span = Span::from_s(10);
/// Time from the last comparison to the beginning of the load, in which every agent must learn of
/// it.
const LEAD: Span = Span::from_s(2);

impl Master {
    /// Pings an agent if a ping is due.
    pub(super) fn ping_if_due(&mut self, number: usize, now: Instant) {
        let member = &self.members[number];
        if member.ping.is_none() && now >= member.ping_at {
            self.ping(number, now);
        }
    }

    pub(super) fn prepared(&mut self, number: usize, now: Instant) {
        let member = &mut self.members[number];
        match member.stage {
            Stage::Preparing => member.stage = Stage::Prepared,
            _ => self.lose(
                number,
                None,
                "it reported that it was ready without a share".to_owned(),
                now,
            ),
        }
    }

    pub(super) fn pong(
        &mut self,
        number: usize,
        pong: &Pong,
        trip: Option<RoundTrip>,
        now: Instant,
    ) {
        let part = Span::from_ns(BURSTS_MAX.ns() / self.members.len() as u64);
        let burst_max = BURST_MAX.min(part);
        let is_gathering = self.phase == Phase::Gathering;
        let member = &mut self.members[number];
        let Some((_, sent)) = member.ping.filter(|(expected, _)| *expected == pong.number) else {
            return;
        };
        member.ping = None;
        member.ping_at = now + if is_gathering { PING_WAITING_EVERY } else { PING_EVERY };
        let RoundTrip { sent, received } = trip.unwrap_or(RoundTrip { sent, received: now });
        member.clock.ping(sent.ns(), received.ns(), pong.clock_ns);
        if member.burst > 0 {
            member.burst -= 1;
            // Over a slow link fewer pings must suffice: no agent holds up the others.
            if now.since(member.burst_began) >= burst_max {
                member.burst = 0;
            }
            member.is_compared = member.burst == 0;
            if member.burst > 0 {
                return self.ping(number, now);
            }
        }
        if self.phase == Phase::Running {
            self.tell_clock(number, now);
        }
    }

    /// Continues once all remaining agents have reached the stage that the phase waits for.
    pub(super) fn look_at_beginning(&mut self, now: Instant) {
        if self.stopping.is_some() {
            return;
        }
        if self.phase == Phase::Preparing {
            let mut stages = self.members.iter().map(|member| &member.stage);
            // A share that ends before its load has a record that says why; it is not waited for.
            let waits = stages
                .any(|stage| !matches!(stage, Stage::Prepared | Stage::Lost(_) | Stage::Done));
            if !waits && self.members.iter().any(|member| member.stage == Stage::Prepared) {
                self.phase = Phase::Comparing;
                let prepared = self.members.iter().filter(|it| it.stage == Stage::Prepared);
                let prepared = prepared.filter(|member| !member.is_own).count();
                self.act(Action::Prepared(prepared as u32));
            }
        }
        if self.phase == Phase::Comparing {
            let mut members = self.members.iter();
            match members.position(|it| it.stage == Stage::Prepared && !it.is_compared) {
                Some(number) => self.compare(number, now),
                None => self.arm(now),
            }
        }
    }

    /// Begins a burst of pings to one agent. The others wait, so that no answer waits behind
    /// theirs.
    fn compare(&mut self, number: usize, now: Instant) {
        let is_first = self.rounds == 1;
        let member = &mut self.members[number];
        if member.burst == 0 {
            member.burst_began = now;
            member.burst = if is_first { BURST } else { BURST_AGAIN };
            if member.ping.is_none() {
                self.ping(number, now);
            }
        }
    }

    /// Sends each agent the instant of the beginning, by its own clock.
    fn arm(&mut self, now: Instant) {
        self.phase = Phase::Running;
        let start = now + LEAD;
        self.load_until = self.load_max.map(|most| start + most);
        for number in 0..self.members.len() {
            if self.members[number].stage != Stage::Prepared {
                continue;
            }
            match self.members[number].clock.agent_instant(start.ns()) {
                Some(clock_ns) => {
                    self.members[number].stage = Stage::Armed;
                    self.members[number].armed_ns = Some(clock_ns);
                    let peer = self.members[number].peer;
                    self.say(peer, Says::Armed(Armed { clock_ns }));
                    self.tell_clock(number, now);
                }
                None => self.lose(number, Some(Lost::UNFIT), JUMPED.to_owned(), now),
            }
        }
        self.act(Action::Begins(start));
    }

    /// Sends an agent the comparison of its clock. After a jump nothing is known, so nothing is
    /// sent.
    fn tell_clock(&mut self, number: usize, now: Instant) {
        let member = &self.members[number];
        let (peer, is_loading) = (member.peer, member.is_loading());
        match member.clock.at(now.ns()) {
            Some(offset) => {
                let (clock_ns, ahead_ns) = (offset.agent_clock_ns, offset.ahead_ns);
                let clock = Clock { clock_ns, ahead_ns, error_ns: offset.error_ns };
                self.say(peer, Says::Clock(clock));
            }
            None if is_loading => self.lose(number, Some(Lost::UNFIT), JUMPED.to_owned(), now),
            None => {}
        }
    }

    fn ping(&mut self, number: usize, now: Instant) {
        let member = &mut self.members[number];
        member.pings += 1;
        member.ping = Some((member.pings, now));
        let (peer, ping) = (member.peer, Ping { number: member.pings });
        self.say(peer, Says::Ping(ping));
    }
}

pub(super) const JUMPED: &str = "its monotonic clock has jumped; run the agent on a machine that \
                                 is not paused or moved";
