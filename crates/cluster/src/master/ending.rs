//! The end of a round: seconds, records, lost agents, and the result.

use super::member::{Lost, Member, Progress, Stage, in_brackets, titled};
use super::{Action, Master, Phase, TEXT_CHARS_MAX};
use crate::message::{Preparing, RecordPart};
use crate::{AGENT_SILENT_MAX, MASTER_SILENT_MAX};
use memtide_base::printable::printable;
use memtide_base::{Instant, Span};

/// The time that agents have to hand over their records once the round is to end: they await the
/// operations in flight, and a busy machine is slow.
const HAND_OVER_MAX: Span = Span::from_s(30);
/// The least rate at which a long record may come, in bytes per second, and its latest end.
const HAND_OVER_RATE_MIN: u64 = 256 * 1024;
const HAND_OVER_LONG_MAX: Span = Span::from_s(300);
/// The time that agents have for it once the user has ended the run.
const INTERRUPTED_MAX: Span = Span::from_s(2);
/// The wait for some agents after which the user learns for which ones, and the time until the next
/// such sentence.
const WAIT_QUIET: Span = Span::from_s(2);
const WAIT_AGAIN: Span = Span::from_s(10);

/// The most agents that a sentence about a wait names.
const NAMED_MAX: usize = 4;

/// The result of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundEnd {
    /// The agents that were lost.
    pub lost: Vec<LostMember>,
    /// Names of the agents that ended their load because they heard nothing from this master. Their
    /// records are here.
    pub alone: Vec<String>,
    /// True if more agents were lost than the user allows, so that the run failed.
    pub has_failed: bool,
}

/// An agent that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostMember {
    /// The agent's number in the run.
    pub number: u32,
    /// Its name and its address.
    pub label: String,
    /// Why it was lost, and the exit code.
    pub lost: Lost,
}

impl Master {
    /// The result of the round; `None` while records are awaited.
    pub fn round_end(&self) -> Option<RoundEnd> {
        let mut stages = self.members.iter().map(|member| &member.stage);
        if self.rounds == 0 || !stages.all(|stage| matches!(stage, Stage::Done | Stage::Lost(_))) {
            return None;
        }
        let lost = (0..).zip(&self.members).filter_map(|(number, member)| {
            let Stage::Lost(lost) = &member.stage else { return None };
            Some(LostMember { number, label: member.label(), lost: lost.clone() })
        });
        let alone = self.members.iter().filter(|member| member.is_alone && member.is_there());
        let (lost, alone) = (lost.collect(), alone.map(Member::label).collect());
        Some(RoundEnd { lost, alone, has_failed: self.has_lost_too_many() })
    }

    /// Takes all steps that the last message or the passing of time allows.
    pub(super) fn look(&mut self, now: Instant) {
        self.look_at_beginning(now);
        for number in 0..self.members.len() {
            if let Some(why) = self.overdue(number, now) {
                self.lose(number, None, why, now);
            }
        }
        self.say_waiting(now);
    }

    /// The deadline that an agent at work has missed, if any. An agent whose network answers may
    /// still never prepare, end its load, or complete its record.
    fn overdue(&self, number: usize, now: Instant) -> Option<String> {
        let member = &self.members[number];
        let stopping = self.stopping.as_ref().map(|(_, since)| *since);
        if !member.is_at_work() {
            return None;
        }
        if self.interrupted.is_some_and(|since| self.has_passed(since, INTERRUPTED_MAX, now)) {
            return Some(format!(
                "it did not hand over its record within {INTERRUPTED_MAX} after the user ended the \
                 run; memtide agent records fetches it"
            ));
        }
        if let Some(since) = member.handing_since {
            let bytes = member.record.len();
            let most = handing_over_max(bytes);
            return self.has_passed(since, most, now).then(|| {
                format!("it did not hand over its record in time: {bytes} bytes in {most}")
            });
        }
        if stopping.is_some_and(|since| self.has_passed(since, HAND_OVER_MAX, now)) {
            return Some(format!("it did not hand over its record within {HAND_OVER_MAX}"));
        }
        if member.is_preparing() {
            return self.unprepared(member, now);
        }
        let is_overdue =
            self.load_until.is_some_and(|until| self.has_passed(until, HAND_OVER_MAX, now));
        (is_overdue && member.is_loading()).then(|| {
            format!("its load did not end within {HAND_OVER_MAX} of its latest planned end")
        })
    }

    /// True if this master, without the time that it stood still, has waited for `most`.
    fn has_passed(&self, since: Instant, most: Span, now: Instant) -> bool {
        now.since(since.max(self.excused)) >= most
    }

    /// The deadline that an agent has missed in its preparation, if any.
    fn unprepared(&self, member: &Member, now: Instant) -> Option<String> {
        let (progress, most) = (&member.progress, self.rules.prepare_max);
        if self.has_passed(progress.told, AGENT_SILENT_MAX, now) {
            return Some(format!("it has not reported its preparation for {AGENT_SILENT_MAX}"));
        }
        self.has_passed(progress.moved, most, now).then(|| {
            let what = described(&progress.report);
            let flag = in_brackets(self.rules.prepare_flag);
            format!("its preparation made no progress for {most}{flag}: {what}")
        })
    }

    /// Handles the progress of an agent that prepares its share.
    pub(super) fn preparing(&mut self, number: usize, mut report: Preparing, now: Instant) {
        report.what = printable(&report.what, TEXT_CHARS_MAX);
        let member = &mut self.members[number];
        if !member.is_at_work() {
            let why = "it reported the preparation of a share that it does not have";
            return self.lose(number, None, why.to_owned(), now);
        }
        let progress = &mut member.progress;
        progress.told = now;
        if progress.report != report {
            (progress.report, progress.moved) = (report, progress.moved.max(now));
        }
    }

    /// Handles an agent that ends its load because it heard nothing from this master. Its share is
    /// incomplete, as if it were lost, but its record follows.
    pub(super) fn alone(&mut self, number: usize, now: Instant) {
        let member = &mut self.members[number];
        if std::mem::replace(&mut member.is_alone, true) {
            return;
        }
        let text = format!(
            "agent {} ended its load, because it heard nothing from this master for \
             {MASTER_SILENT_MAX}",
            self.members[number].label()
        );
        if self.has_lost_too_many() {
            self.stop(None, &text, now);
        }
        self.note(text);
    }

    /// Says for which agents the others wait, if that takes long.
    fn say_waiting(&mut self, now: Instant) {
        let (since, waited): (Instant, Vec<&Member>) = match self.phase {
            Phase::Preparing | Phase::Comparing | Phase::Running => {
                let prepares = self.members.iter().filter(|member| member.is_preparing());
                let ends = self.members.iter().filter(|member| member.is_at_work());
                match (&self.stopping, self.load_until) {
                    (Some((_, since)), _) => (*since, ends.collect()),
                    (None, Some(until)) => (until, ends.collect()),
                    (None, None) => (self.round_began, prepares.collect()),
                }
            }
            Phase::Gathering | Phase::Resting | Phase::Over => return,
        };
        if waited.is_empty() || now.since(since) < WAIT_QUIET {
            return;
        }
        if self.waiting_said.is_some_and(|said| now.since(said) < WAIT_AGAIN) {
            return;
        }
        let named = waited.iter().take(NAMED_MAX).map(|member| match member.is_preparing() {
            true => format!("{}: {}", member.label(), described_at(&member.progress, now)),
            false => member.label(),
        });
        let named: Vec<String> = named.collect();
        let more = match waited.len() - named.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let text = format!("waiting for agent {}{more}", named.join("; agent "));
        self.waiting_said = Some(now);
        self.act(Action::Waiting(text));
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
        member.handing_since.get_or_insert(now);
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
        let (lost, here): (Vec<&Member>, Vec<&Member>) =
            self.members.iter().partition(|member| matches!(member.stage, Stage::Lost(_)));
        let alone = here.iter().filter(|member| member.is_alone).count();
        lost.len() + alone > self.rules.allow_lost as usize || here.is_empty()
    }
}

/// The time that an agent has for handing over a record of which `bytes` have come.
pub(crate) fn handing_over_max(bytes: u64) -> Span {
    (HAND_OVER_MAX + Span::from_s(bytes / HAND_OVER_RATE_MIN)).min(HAND_OVER_LONG_MAX)
}

/// What an agent does while it prepares its share, and for how long it has made no progress.
fn described_at(progress: &Progress, now: Instant) -> String {
    let what = described(&progress.report);
    match now.since(progress.moved).ns() / 1_000_000_000 {
        0 => what,
        seconds => format!("{what}, for {seconds} s"),
    }
}

/// What an agent does while it prepares its share.
fn described(Preparing { done, what }: &Preparing) -> String {
    match (what.as_str(), done) {
        ("", _) => "it has just begun".to_owned(),
        (what, 0) => what.to_owned(),
        (what, done) => format!("{what} ({done} done)"),
    }
}
