//! The measured window of all agents: what their loads count before and in it, and the instants at
//! which it opens and closes. Others decide these instants.

use super::member::Lost;
use super::{Action, JUMPED, Master};
use crate::message::to_agent::What as Says;
use crate::message::{Closes, Look, Opens, RecordPart, Warming};
use crate::parts::Assembly;
use memtide_base::Instant;

impl Master {
    /// Tells all agents whose load runs to open their windows at `at`, an instant to come.
    pub fn open_window(&mut self, at: Instant, now: Instant) {
        self.tell_instant(at, now, |clock_ns| Says::Opens(Opens { clock_ns }));
    }

    /// Tells all agents whose load runs to close their windows at `at`, an instant to come.
    pub fn close_window(&mut self, at: Instant, now: Instant) {
        self.tell_instant(at, now, |clock_ns| Says::Closes(Closes { clock_ns }));
    }

    /// Sends each agent an instant by its own clock.
    fn tell_instant(&mut self, at: Instant, now: Instant, says: fn(u64) -> Says) {
        for number in self.loading() {
            let member = &self.members[number as usize];
            let peer = member.peer;
            match member.clock.agent_instant(at.ns()) {
                Some(clock_ns) => self.say(peer, says(clock_ns)),
                None => self.lose(number as usize, Some(Lost::UNFIT), JUMPED.to_owned(), now),
            }
        }
    }

    /// Asks all agents whose load runs for their records so far.
    pub fn ask_so_far(&mut self) {
        for number in self.loading() {
            let member = &mut self.members[number as usize];
            member.so_far = Some(Assembly::default());
            let peer = member.peer;
            self.say(peer, Says::Look(Look {}));
        }
    }

    pub(super) fn warming(&mut self, number: usize, warming: Warming, now: Instant) {
        match self.members[number].is_loading() {
            true => self.act(Action::Warming(number as u32, warming)),
            false => {
                let why = "it reported the warm-up of a load that was not running";
                self.lose(number, None, why.to_owned(), now);
            }
        }
    }

    pub(super) fn part_so_far(&mut self, number: usize, part: &RecordPart, now: Instant) {
        let run = self.run();
        let Some(so_far) = &mut self.members[number].so_far else {
            let why = "it sent a record so far for which it was not asked";
            return self.lose(number, None, why.to_owned(), now);
        };
        match so_far.add(&run, part) {
            Ok(None) => {}
            Ok(Some(record)) => {
                self.members[number].so_far = None;
                self.act(Action::SoFar(number as u32, record));
            }
            Err(why) => self.lose(number, Some(Lost::UNFIT), why, now),
        }
    }
}
