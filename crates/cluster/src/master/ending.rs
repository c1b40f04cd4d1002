//! The end of a round: seconds, records, lost agents, and the result.

use super::member::{Lost, Member, Stage, titled};
use super::{Action, Master, Phase};
use crate::message::RecordPart;
use memtide_base::{Instant, Span};

/// The time that agents have to hand over their records once the round is to end: they await the
/// operations in flight, and a busy machine is slow.
const HAND_OVER_MAX: Span = Span::from_s(30);

/// The result of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundEnd {
    /// The agents that were lost, with the number of their share and their name.
    pub lost: Vec<(u32, String, Lost)>,
    /// True if more agents were lost than the user allows, so that the run failed.
    pub has_failed: bool,
}

impl Master {
    /// The result of the round; `None` while records are awaited.
    pub fn round_end(&self) -> Option<RoundEnd> {
        let is_over = |member: &Member| matches!(member.stage, Stage::Done | Stage::Lost(_));
        if self.rounds == 0 || !self.members.iter().all(is_over) {
            return None;
        }
        let lost = self.members.iter().enumerate().filter_map(|(number, member)| {
            let Stage::Lost(lost) = &member.stage else { return None };
            Some((number as u32, member.label(), lost.clone()))
        });
        Some(RoundEnd { lost: lost.collect(), has_failed: self.has_lost_too_many() })
    }

    /// Takes all steps that the last message or the passing of time allows.
    pub(super) fn look(&mut self, now: Instant) {
        self.look_at_beginning(now);
        let stopping = self.stopping.as_ref().map(|(_, since)| *since);
        let is_overdue = self.load_until.is_some_and(|until| now >= until + HAND_OVER_MAX);
        for number in 0..self.members.len() {
            // An agent that is alive may still never complete its record.
            let member = &self.members[number];
            let mut since = stopping.into_iter().chain(member.handing_since);
            if member.is_at_work() && since.any(|since| now.since(since) >= HAND_OVER_MAX) {
                let why = format!("it did not hand over its record within {HAND_OVER_MAX}");
                self.lose(number, None, why, now);
            } else if is_overdue && member.is_loading() && member.handing_since.is_none() {
                let why = format!(
                    "its load did not end within {HAND_OVER_MAX} of its latest planned end"
                );
                self.lose(number, None, why, now);
            }
        }
    }

    /// Handles the loss of an agent. If more are lost than the user allows, the round ends for all.
    pub(super) fn lose(&mut self, number: usize, exit: Option<u8>, why: String, now: Instant) {
        let member = &mut self.members[number];
        if !member.is_there() {
            return;
        }
        let lost = Lost { exit: exit.unwrap_or(Lost::UNREACHABLE), why };
        let (title, peer) = (titled(&member.label()), member.peer);
        let is_waiting = self.phase == Phase::Gathering;
        let what = if is_waiting { "has left" } else { "is lost" };
        let text = format!("{title} {what}: {}", lost.why);
        match member.stage {
            _ if is_waiting => drop(self.members.remove(number)),
            // Its part of this round is done; it counts as lost from the next round on.
            Stage::Done => member.gone = Some(lost),
            _ => member.stage = Stage::Lost(lost),
        }
        self.note(text);
        self.act(Action::Close(peer));
        if !is_waiting && self.has_lost_too_many() {
            let why = format!("{title} was lost");
            self.stop(None, &why, now);
        }
    }

    pub(super) fn second(&mut self, number: usize, interval: Vec<u8>, now: Instant) {
        // What an agent still reports after its dismissal has no reader.
        if self.phase == Phase::Over {
            return;
        }
        if !self.members[number].is_loading() {
            let why = "it reported a load that was not running";
            return self.lose(number, None, why.to_owned(), now);
        }
        self.act(Action::Second(number as u32, interval));
    }

    pub(super) fn part(&mut self, number: usize, part: &RecordPart, now: Instant) {
        let run = self.run();
        let member = &mut self.members[number];
        if !member.is_at_work() {
            return self.lose(number, None, "it sent a record twice".to_owned(), now);
        }
        if member.handing_since.is_none() || !part.data.is_empty() {
            member.handing_since = Some(now);
        }
        match member.record.add(&run, part) {
            Ok(None) => {}
            Ok(Some(record)) => {
                member.stage = Stage::Judged;
                self.act(Action::Record(number as u32, record));
            }
            Err(why) => self.lose(number, Some(Lost::UNFIT), why, now),
        }
    }

    pub(super) fn has_lost_too_many(&self) -> bool {
        let is_lost = |member: &&Member| matches!(member.stage, Stage::Lost(_));
        let lost = self.members.iter().filter(is_lost).count();
        lost > self.rules.allow_lost as usize || lost == self.members.len()
    }
}
