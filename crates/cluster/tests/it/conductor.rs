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

/// Time from the command to open or close the window until then.
pub const WINDOW_LEAD: Span = Span::from_ms(750);
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
    /// The times of the agents' last reports of their warm-up, and their records so far.
    pub warming: BTreeMap<u32, u64>,
    pub so_far: BTreeMap<u32, Vec<u8>>,
    /// The opening of the window, whether records so far were asked for, and its end; 0 if unknown.
    pub window: Option<[u64; 3]>,
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
    /// True to open the window of each round once all agents have reported this warm-up, to ask for
    /// the records so far a second later, and to close it once they have come.
    pub opens_after: Option<Span>,
    wanted: u32,
    load_only: bool,
}

/// The rules of a master with this number of agents.
pub fn rules(agents: u32, allow_lost: u32, seed: u64) -> Rules {
    Rules {
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
    }
}

/// A round of one load for `members`, or of a fill.
pub fn round(members: Vec<(u32, u32)>, load_only: bool, load_max: Span) -> Round {
    let (scenario, digest) = (String::new(), String::new());
    Round {
        parts: vec![RoundLoad { scenario, digest, step: None, members }],
        load_only,
        samples: false,
        points: false,
        looks_unfilled: false,
        looks_filled: true,
        servers: Vec::new(),
        load_max: Some(load_max),
    }
}

impl Conductor {
    pub fn new(agents: u32, allow_lost: u32, (rounds, load_only): (u32, bool), seed: u64) -> Self {
        Self {
            master: Master::new(rules(agents, allow_lost, seed), Instant::ZERO),
            is_up: true,
            is_over: false,
            rounds: Vec::new(),
            notes: Vec::new(),
            missing: None,
            is_interrupted: false,
            opens_after: None,
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
            self.direct(now);
            if self.is_over || !self.goes_on(now) {
                return wishes;
            }
        }
    }

    /// Directs the window of the present round.
    fn direct(&mut self, now: Instant) {
        let Some((found, after)) = self.rounds.last_mut().zip(self.opens_after) else { return };
        let loading = self.master.loading();
        let warmed = |number| found.warming.get(number).is_some_and(|ns| *ns >= after.ns());
        if self.master.is_stopping() || loading.is_empty() || found.end.is_some() {
            return;
        }
        match found.window {
            None if loading.iter().all(warmed) => {
                let at = now + WINDOW_LEAD;
                self.master.open_window(at, now);
                found.window = Some([at.ns(), 0, 0]);
            }
            Some([open, 0, 0]) if now.ns() >= open => {
                self.master.ask_so_far();
                found.window = Some([open, 1, 0]);
            }
            Some([open, 1, 0]) if loading.iter().all(|it| found.so_far.contains_key(it)) => {
                let at = now + WINDOW_LEAD;
                self.master.close_window(at, now);
                found.window = Some([open, 1, at.ns()]);
            }
            _ => {}
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
        self.master.begin(&round(members, load_only, LOAD_MAX), now);
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
            Action::Warming(number, warming) => {
                found.expect("a round").warming.insert(number, warming.passed_ns);
            }
            Action::SoFar(number, record) => {
                found.expect("a round").so_far.insert(number, record);
            }
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
