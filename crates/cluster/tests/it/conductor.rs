//! A master in the virtual world, and the results that it collected.

use crate::node::read;
use memtide_base::{Instant, Span};
use memtide_cluster::master::{
    Action, Gathered, Master, Round, RoundEnd, RoundLoad, Rules, Wanted,
};
use memtide_cluster::message::ToAgent;
use std::collections::BTreeMap;

pub const VERSION: &str = "1.2.3";
/// The longest load of a share.
const LOAD_MAX: Span = Span::from_s(10);

/// The longest time for which a preparation may make no progress.
pub const PREPARE_MAX: Span = Span::from_s(60);

/// The result of a round.
#[derive(Debug, Default)]
pub struct Found {
    /// The names of its agents, by number.
    pub agents: Vec<String>,
    /// Its beginning and its end in true time.
    pub time: [u64; 2],
    /// Records that were accepted.
    pub records: BTreeMap<u32, Vec<u8>>,
    /// The sums of the intervals that were reported each second.
    pub seconds: BTreeMap<u32, u64>,
    pub begins: Option<u64>,
    pub end: Option<RoundEnd>,
}

/// A request of a master to its world.
#[derive(Debug)]
pub enum Wish {
    Send(u64, ToAgent),
    Close(u64),
}

pub struct Conductor {
    pub master: Master,
    pub is_up: bool,
    pub is_over: bool,
    pub rounds: Vec<Found>,
    pub notes: Vec<String>,
    /// The reason why there was no round.
    pub missing: Option<String>,
    pub is_interrupted: bool,
    wanted: u32,
    load_only: bool,
}

impl Conductor {
    pub fn new(agents: u32, allow_lost: u32, (rounds, load_only): (u32, bool), seed: u64) -> Self {
        let rules = Rules {
            wanted: Wanted::Count(agents),
            expect: Span::from_s(30),
            allow_lost,
            goes_on: false,
            prepare_max: PREPARE_MAX,
            expect_flag: None,
            prepare_flag: Some("--prepare-timeout"),
            own: None,
            version: VERSION.to_owned(),
            seed,
        };
        Self {
            master: Master::new(rules, Instant::ZERO),
            is_up: true,
            is_over: false,
            rounds: Vec::new(),
            notes: Vec::new(),
            missing: None,
            is_interrupted: false,
            wanted: rounds,
            load_only,
        }
    }

    /// Carries out the master's actions until there are none left.
    pub fn act(&mut self, now: Instant) -> Vec<Wish> {
        let mut wishes = Vec::new();
        loop {
            while let Some(action) = self.master.poll() {
                self.one(action, now, &mut wishes);
            }
            if self.is_over || !self.goes_on(now) {
                return wishes;
            }
        }
    }

    /// True if a round has begun or ended.
    fn goes_on(&mut self, now: Instant) -> bool {
        let Some(found) = self.rounds.last_mut() else {
            return match self.master.gathered(now) {
                Gathered::Waiting => false,
                Gathered::All => {
                    self.begin(now);
                    true
                }
                Gathered::Missing(why) => {
                    self.missing = Some(why);
                    self.leave();
                    true
                }
            };
        };
        let Some(end) = self.master.round_end() else { return false };
        let has_failed = end.has_failed;
        found.end = Some(end);
        found.time[1] = now.ns();
        match has_failed || self.is_interrupted || self.rounds.len() as u32 >= self.wanted {
            true => self.leave(),
            false => self.begin(now),
        }
        true
    }

    fn begin(&mut self, now: Instant) {
        let agents = self.master.agents().into_iter().map(|agent| agent.name).collect();
        self.rounds.push(Found { agents, time: [now.ns(); 2], ..Found::default() });
        let load_only = self.load_only;
        let members = self.master.agents().iter().map(|agent| (agent.number, 1)).collect();
        let parts =
            vec![RoundLoad { scenario: String::new(), digest: String::new(), step: None, members }];
        let load_max = Some(LOAD_MAX);
        let (samples, points, looks_unfilled, servers) = (false, false, false, Vec::new());
        let round = Round { parts, load_only, samples, points, looks_unfilled, servers, load_max };
        self.master.begin(&round, now);
    }

    /// Dismisses the agents, once the master has no action left.
    fn leave(&mut self) {
        self.is_over = true;
        self.master.acknowledge();
        self.master.dismiss();
    }

    /// Handles the user's request to stop.
    pub fn interrupt(&mut self, now: Instant) {
        self.is_interrupted = true;
        match self.rounds.is_empty() {
            true => self.leave(),
            false => self.master.interrupt(now),
        }
    }

    fn one(&mut self, action: Action, now: Instant, wishes: &mut Vec<Wish>) {
        let found = self.rounds.last_mut();
        match action {
            Action::Send(peer, message) => wishes.push(Wish::Send(peer, message)),
            Action::Close(peer) => wishes.push(Wish::Close(peer)),
            Action::Note(text) | Action::Trouble(text) | Action::Waiting(text) => {
                self.notes.push(text);
            }
            Action::Prepared(_) => {}
            Action::Begins(at) => found.expect("a round").begins = Some(at.ns()),
            Action::Second(number, bytes) => match <[u8; 8]>::try_from(&bytes[..]) {
                Ok(count) => {
                    let found = found.expect("a round");
                    *found.seconds.entry(number).or_default() += u64::from_be_bytes(count);
                }
                Err(_) => self.master.unfit(number, "no second".to_owned(), now),
            },
            Action::Record(number, record) => match read(&record) {
                Some((of, _)) if of == number => {
                    let before = found.expect("a round").records.insert(number, record);
                    assert_eq!(before, None, "a record is told once");
                    self.master.fit(number);
                }
                _ => {
                    let why = "its record is of another share".to_owned();
                    self.master.unfit(number, why, now);
                }
            },
        }
    }
}
