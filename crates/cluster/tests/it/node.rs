//! An agent in the virtual world: its machine, its clock, and a simple model of a share.

use memtide_cluster::agent::{Action, Agent, Report};
use memtide_cluster::message::{Clock, FromAgent, Warming};
use std::collections::BTreeMap;

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;
/// Operations per second of each share.
const RATE: u64 = 1_000;

/// A machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    pub offset: i64,
    pub ppm: i64,
}

impl MachineClock {
    pub fn at(&self, now: u64) -> u64 {
        let drifted = i128::from(now) * i128::from(1_000_000 + self.ppm) / 1_000_000;
        (drifted + i128::from(self.offset)) as u64
    }

    /// The true time at which the clock shows `clock`.
    pub fn when(&self, clock: u64) -> u64 {
        let ns = (i128::from(clock) - i128::from(self.offset)) * 1_000_000;
        (ns / i128::from(1_000_000 + self.ppm)).max(0) as u64
    }
}

/// An event of a share.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Fills(u64),
    Prepared,
    Begins,
    /// It reports what its warm-up has counted.
    Warms,
    Second,
    Ends,
}

/// A share that is being carried out.
#[derive(Debug)]
pub struct Running {
    pub run: Vec<u8>,
    pub number: u32,
    pub load_only: bool,
    pub count: u64,
    /// The beginning of the load and its last observation, in true time.
    pub since: Option<(u64, u64)>,
    /// The end of the load, if it is known.
    pub until: u64,
    /// True once the order to end has come.
    pub is_ending: bool,
}

/// A request of an agent to its world.
#[derive(Debug)]
pub enum Wish {
    Send(FromAgent),
    Close,
    /// Cause this event of its share at this time.
    Later(u64, Step),
}

/// An agent and its machine.
#[derive(Debug)]
pub struct Node {
    pub agent: Agent,
    pub clock: MachineClock,
    pub is_up: bool,
    /// The machine is suspended until this time.
    pub resumes: u64,
    /// The time of its master's last message, by its own clock.
    pub heard: u64,
    /// The number of its present share. Events of an older one have no effect.
    pub epoch: u64,
    pub running: Option<Running>,
    pub kept: BTreeMap<Vec<u8>, Vec<u8>>,
    pub forgotten: Vec<Vec<u8>>,
    pub made: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The instants, in true time, at which it opened and closed its windows, and those of them
    /// that it learned of too late.
    pub windows: Vec<u64>,
    pub late: Vec<u64>,
    /// The beginning of each load in true time, and the first comparison of the clocks, from which
    /// it was computed.
    pub begun: Vec<u64>,
    pub told: Option<Clock>,
    /// The longest time that its load continued after its master's last message, by its own clock.
    pub alone_ns: u64,
    /// The exit code with which shares fail before their load, if they do; 2 is a refusal.
    pub fails: Option<u8>,
    /// True if its records name another share.
    pub lies: bool,
    /// The time that shares prepare, and the length of their load.
    pub prepares: u64,
    /// True if its warm-up has no fixed length.
    pub warms: bool,
    /// True if its preparation reports a new count of keys each second.
    pub fills: bool,
    pub length: u64,
    /// Bytes of each record beyond its figures.
    pub padding: usize,
}

impl Node {
    pub fn clock_now(&self, now: u64) -> u64 {
        self.clock.at(now)
    }

    /// Carries out the agent's actions.
    pub fn act(&mut self, now: u64) -> Vec<Wish> {
        let mut wishes = Vec::new();
        while let Some(action) = self.agent.poll() {
            match action {
                Action::Send(message) => wishes.push(Wish::Send(message)),
                Action::Close(_) => wishes.push(Wish::Close),
                Action::Begin(share) => {
                    self.epoch += 1;
                    let (run, number, load_only) = (share.run, share.number, share.load_only);
                    let until = u64::MAX;
                    self.running = Some(Running {
                        run,
                        number,
                        load_only,
                        count: 0,
                        since: None,
                        until,
                        is_ending: false,
                    });
                    wishes.push(Wish::Later(now + self.prepares, Step::Prepared));
                    if self.fills {
                        wishes.push(Wish::Later(now, Step::Fills(0)));
                    }
                }
                Action::Arm { clock_ns } => {
                    // Too late: the share's record says so.
                    let (at, step) = match clock_ns > self.clock.at(now) {
                        true => (self.clock.when(clock_ns), Step::Begins),
                        false => (now, Step::Ends),
                    };
                    wishes.push(Wish::Later(at, step));
                    if self.warms && matches!(step, Step::Begins) {
                        wishes.push(Wish::Later(at + 100 * MS, Step::Warms));
                    }
                }
                Action::Compare(clock) => drop(self.told.get_or_insert(clock)),
                Action::Open { clock_ns } | Action::Shut { clock_ns } => {
                    let at = self.clock.when(clock_ns);
                    self.windows.push(at);
                    if at <= now && self.running.take().is_some() {
                        self.late.push(at);
                        let why = "its window opened before it knew".to_owned();
                        self.agent.report(Report::Failed { exit: 1, why });
                        wishes.extend(self.act(now));
                    }
                }
                Action::Look => {
                    let count = self.running.as_ref().map_or(0, |running| running.count);
                    self.agent.report(Report::SoFar(count.to_be_bytes().to_vec()));
                    wishes.extend(self.act(now));
                }
                Action::End { .. } => {
                    if let Some(running) = &mut self.running {
                        running.is_ending = true;
                        running.until = now;
                    }
                    wishes.push(Wish::Later(now + 300 * MS, Step::Ends));
                }
                Action::Keep { run, record, .. } => drop(self.kept.insert(run, record)),
                Action::Forget { run, .. } => {
                    self.kept.remove(&run);
                    self.forgotten.push(run);
                }
                Action::Find { run, .. } => {
                    let record = self.kept.get(&run).cloned();
                    self.agent.found(&run, record.as_deref());
                }
            }
        }
        wishes
    }

    /// Handles an event of its share.
    pub fn step(&mut self, step: Step, now: u64) -> Option<Wish> {
        let running = self.running.as_mut()?;
        match step {
            Step::Fills(done) => {
                let what = Some("filling server a with 99 keys".to_owned());
                self.agent.report(Report::Preparing { done, what });
                Some(Wish::Later(now + S, Step::Fills(done + 1)))
            }
            Step::Prepared => {
                if let Some(exit) = self.fails {
                    self.running = None;
                    match exit {
                        2 => self.agent.report(Report::Refused("it is not allowed".to_owned())),
                        _ => {
                            let why = "no server answers".to_owned();
                            self.agent.report(Report::Failed { exit, why });
                        }
                    }
                    return None;
                }
                if running.load_only {
                    return Some(Wish::Later(now, Step::Ends));
                }
                self.agent.report(Report::Prepared);
                None
            }
            Step::Begins if running.is_ending => None,
            Step::Begins => {
                running.since = Some((now, now));
                running.until = now + self.length;
                self.begun.push(now);
                Some(Wish::Later(now + S, Step::Second))
            }
            Step::Warms => {
                let (began, _) = running.since?;
                let passed_ns = now - began;
                self.agent.report(Report::Warming(Warming { passed_ns, ..Warming::default() }));
                (now < running.until).then_some(Wish::Later(now + 100 * MS, Step::Warms))
            }
            Step::Second => {
                let (began, last) = running.since?;
                let end = now.min(running.until);
                let count = end.saturating_sub(last) * RATE / S;
                (running.count, running.since) = (running.count + count, Some((began, end)));
                self.alone_ns = self.alone_ns.max(self.clock.at(end).saturating_sub(self.heard));
                self.agent.report(Report::Second(count.to_be_bytes().to_vec()));
                let is_over = now >= running.until;
                Some(Wish::Later(
                    if is_over { now } else { running.until.min(now + S) },
                    if is_over { Step::Ends } else { Step::Second },
                ))
            }
            Step::Ends => {
                let Running { run, number, count, since, until, .. } = self.running.take()?;
                let end = now.min(until);
                let rest = since.map_or(0, |(_, last)| end.saturating_sub(last) * RATE / S);
                if rest > 0 {
                    self.alone_ns =
                        self.alone_ns.max(self.clock.at(end).saturating_sub(self.heard));
                    self.agent.report(Report::Second(rest.to_be_bytes().to_vec()));
                }
                let number = if self.lies { number + 1 } else { number };
                let record = record(number, count + rest, self.padding);
                self.made.insert(run, record.clone());
                self.agent.report(Report::Ended(record));
                None
            }
        }
    }
}

fn record(number: u32, count: u64, padding: usize) -> Vec<u8> {
    let mut record = number.to_be_bytes().to_vec();
    record.extend(count.to_be_bytes());
    record.resize(12 + padding, 7);
    record
}

/// The contents of a record: the number of the share, and its count.
pub fn read(record: &[u8]) -> Option<(u32, u64)> {
    let number = u32::from_be_bytes(record.get(..4)?.try_into().ok()?);
    let count = u64::from_be_bytes(record.get(4..12)?.try_into().ok()?);
    Some((number, count))
}
