//! An agent's side of the protocol: its messages and actions, one message at a time.
//!
//! It is pure. The network answers pings by itself, at once; the code that carries out shares
//! reports their progress to the agent. The agent returns [`Action`]s for both.

use crate::message::from_agent::What as Says;
use crate::message::to_agent::What as Hears;
use crate::message::{
    self, Alone, Failed, FromAgent, Note, Prepared, Preparing, Refused, Second, Share, ToAgent,
    Warming,
};
use crate::parts::parts;
use crate::{MASTER_AWAY_MAX, MASTER_SILENT_MAX};
use memtide_base::printable::printable;
use memtide_base::{Instant, Span};
use memtide_record::Aborted;
use std::collections::VecDeque;

/// The length of a run's name, in bytes.
pub const RUN_BYTES: usize = 16;
/// The longest text of a master that is shown whole, in characters.
const TEXT_CHARS_MAX: usize = 600;
/// The interval at which a master learns of the progress of a preparation.
const PREPARING_EVERY: Span = Span::from_s(1);
/// The silence of its master after which an agent leaves it, although it has a record to hand over.
const MASTER_GONE_MAX: Span = Span::from_s(35);

/// An agent and its state; by default it has no master.
#[derive(Debug, Default)]
pub struct Agent {
    state: State,
    /// True while a master is connected.
    has_master: bool,
    actions: VecDeque<Action>,
}

/// An action for the code that drives the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send this message to the master.
    Send(FromAgent),
    /// Close the connection to the master, for this reason.
    Close(String),
    /// Carry out this share.
    Begin(Box<Share>),
    /// Begin the share's load at this instant of the agent's monotonic clock.
    Arm {
        /// The instant, in nanoseconds.
        clock_ns: u64,
    },
    /// Keep this comparison of the clocks.
    Compare(message::Clock),
    /// Open the share's measured window at this instant of the agent's monotonic clock.
    Open {
        /// The instant, in nanoseconds.
        clock_ns: u64,
    },
    /// Close it at this instant of the agent's monotonic clock.
    Shut {
        /// The instant, in nanoseconds.
        clock_ns: u64,
    },
    /// Make the record of the share's load so far, and report it.
    Look,
    /// End the share's load; its record is made all the same.
    End {
        /// The condition that was met; `None` if the run is over for another reason.
        aborted: Option<Aborted>,
        /// The reason, as a sentence without its full stop.
        why: String,
    },
    /// Keep this record until it is acknowledged.
    Keep {
        /// The run to which the record belongs.
        run: Vec<u8>,
        /// The number of its share.
        share: u32,
        /// The record's bytes.
        record: Vec<u8>,
    },
    /// Drop the record of this run's share, which the master has.
    Forget {
        /// The run.
        run: Vec<u8>,
        /// The number of the share.
        share: u32,
    },
    /// Look up the record of this run's share, and pass it to [`Agent::found`].
    Find {
        /// The run.
        run: Vec<u8>,
        /// The number of the share.
        share: u32,
    },
}

/// A report of the code that carries out a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The share is being prepared.
    Preparing {
        /// The number of keys that are stored.
        done: u64,
        /// What it does or waits for, as a sentence without its full stop; `None` as before.
        what: Option<String>,
    },
    /// The servers are filled, and the connections are open.
    Prepared,
    /// Another second of the load is over, as the crate record encodes it.
    Second(Vec<u8>),
    /// What the load has counted, while its warm-up goes on.
    Warming(Warming),
    /// The record of the load so far, for which the master asked.
    SoFar(Vec<u8>),
    /// A note for the user, as a sentence without its full stop.
    Note(String),
    /// A failure beside the load, such as that of an output, as a sentence without its full stop.
    Trouble(String),
    /// The share has ended with this record.
    Ended(Vec<u8>),
    /// The share could not be carried out, so that there is no record.
    Failed {
        /// The exit code that it would have ended a program with.
        exit: u8,
        /// The reason, as a sentence without its full stop.
        why: String,
    },
    /// The agent's limits do not allow the share, for this reason.
    Refused(String),
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// It has nothing to do.
    #[default]
    Idle,
    /// It carries out a share.
    Working(Work),
    /// The record was sent and is not acknowledged yet.
    Handing { run: Vec<u8>, share: u32 },
}

/// A share that is being carried out.
#[derive(Debug, PartialEq)]
struct Work {
    run: Vec<u8>,
    share: u32,
    is_prepared: bool,
    is_armed: bool,
    /// The progress of the preparation, and the instant at which the master last learned of it.
    progress: Preparing,
    told: Option<Instant>,
    /// True once its master was silent for too long.
    is_alone: bool,
    /// The way in which it was told to end, if it was.
    ending: Option<Ending>,
}

/// The way in which a share was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    ByCondition,
    AtOnce,
}

impl Agent {
    /// The next action, if any.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// True while a share is carried out.
    pub fn is_working(&self) -> bool {
        matches!(self.state, State::Working(_))
    }

    /// True if a record was sent that the master has not acknowledged.
    pub fn is_handing(&self) -> bool {
        matches!(self.state, State::Handing { .. })
    }

    /// True while a master is connected.
    pub fn has_master(&self) -> bool {
        self.has_master
    }

    /// Handles the connection of a master that has proved itself and has received this agent's
    /// hello.
    pub fn opened(&mut self) {
        self.has_master = true;
    }

    /// Handles the end of the connection. A share that is carried out ends; its record is kept.
    pub fn closed(&mut self) {
        self.has_master = false;
        self.end(None, "the master is gone".to_owned());
        if let State::Handing { .. } = self.state {
            self.state = State::Idle;
        }
    }

    /// Handles the passing of time: the master's last message came at `heard`. A master that is
    /// silent for too long counts as lost: the load ends. The connection stays for a while, so that
    /// a master that only stood still gets the record.
    pub fn tick(&mut self, now: Instant, heard: Instant) {
        if !self.has_master {
            return;
        }
        let silent = now.since(heard);
        let most = match &mut self.state {
            State::Idle => MASTER_AWAY_MAX,
            State::Handing { .. } => MASTER_GONE_MAX,
            State::Working(work) => {
                if silent >= MASTER_SILENT_MAX && !work.is_alone {
                    work.is_alone = true;
                    self.say(Says::Alone(Alone {}));
                    self.end(None, format!("the master has been silent for {MASTER_SILENT_MAX}"));
                }
                MASTER_GONE_MAX
            }
        };
        if silent >= most {
            return self.leave(format!("the master has been silent for {most}"));
        }
        self.tell_progress(now);
    }

    /// Tells the master once a second how the preparation goes.
    fn tell_progress(&mut self, now: Instant) {
        let State::Working(work) = &mut self.state else { return };
        let is_due = work.told.is_none_or(|told| now.since(told) >= PREPARING_EVERY);
        if is_due && !work.is_prepared {
            work.told = Some(now);
            let progress = work.progress.clone();
            self.say(Says::Preparing(progress));
        }
    }

    /// Handles a message of the master.
    pub fn handle(&mut self, message: ToAgent) {
        match message.what {
            Some(Hears::Share(share)) => self.take(share),
            Some(Hears::Armed(armed)) => self.arm(armed.clock_ns),
            Some(Hears::Clock(clock)) => self.act(Action::Compare(clock)),
            Some(Hears::Opens(opens)) => self.direct(Action::Open { clock_ns: opens.clock_ns }),
            Some(Hears::Closes(closes)) => self.direct(Action::Shut { clock_ns: closes.clock_ns }),
            Some(Hears::Look(_)) => self.direct(Action::Look),
            Some(Hears::Stop(stop)) => {
                self.end(stop.aborted.map(aborted), printable(&stop.why, TEXT_CHARS_MAX));
            }
            Some(Hears::Acknowledged(of)) if of.run.len() == RUN_BYTES => {
                if self.state == (State::Handing { run: of.run.clone(), share: of.share }) {
                    self.state = State::Idle;
                }
                self.act(Action::Forget { run: of.run, share: of.share });
            }
            Some(Hears::Fetch(of)) if of.run.len() == RUN_BYTES => {
                self.act(Action::Find { run: of.run, share: of.share });
            }
            Some(Hears::Fetch(_)) => self.refused_fetch(),
            Some(Hears::Refused(refused)) => {
                self.leave(format!("it refused: {}", printable(&refused.why, TEXT_CHARS_MAX)));
            }
            Some(Hears::Bye(_)) => self.leave("it has no more work".to_owned()),
            // The network handles these messages.
            Some(Hears::Ping(_) | Hears::Alive(_)) => {}
            Some(Hears::Welcome(_) | Hears::Acknowledged(_)) | None => {}
        }
    }

    /// Handles a report of the share that is carried out.
    pub fn report(&mut self, report: Report) {
        match report {
            Report::Preparing { done, what } => {
                if let State::Working(work) = &mut self.state {
                    work.progress.done = done;
                    if let Some(what) = what {
                        work.progress.what = what;
                    }
                }
            }
            Report::Prepared => {
                if let State::Working(work) = &mut self.state {
                    work.is_prepared = true;
                    self.say(Says::Prepared(Prepared {}));
                }
            }
            Report::Second(interval) => self.say(Says::Second(Second { interval })),
            Report::Warming(warming) => self.say(Says::Warming(warming)),
            Report::SoFar(record) => {
                if let State::Working(work) = &self.state {
                    parts(&work.run.clone(), &record).for_each(|part| self.say(Says::SoFar(part)));
                }
            }
            Report::Note(text) => self.say(Says::Note(Note { text, is_trouble: false })),
            Report::Trouble(text) => self.say(Says::Note(Note { text, is_trouble: true })),
            Report::Ended(record) => self.ended(record),
            Report::Failed { exit, why } => {
                self.state = State::Idle;
                self.say(Says::Failed(Failed { exit: exit.into(), why }));
            }
            Report::Refused(why) => {
                self.state = State::Idle;
                self.say(Says::Refused(Refused { why }));
            }
        }
    }

    fn ended(&mut self, record: Vec<u8>) {
        let State::Working(Work { run, share, .. }) =
            std::mem::replace(&mut self.state, State::Idle)
        else {
            return;
        };
        assert_eq!(run.len(), RUN_BYTES, "a share without the name of a run is a breach");
        if self.has_master {
            self.hand_over(&run, &record);
            self.state = State::Handing { run: run.clone(), share };
        }
        self.act(Action::Keep { run, share, record });
    }

    /// Answers [`Action::Find`]: the record of `run`, or `None`.
    pub fn found(&mut self, run: &[u8], record: Option<&[u8]>) {
        match record {
            Some(record) => self.hand_over(run, record),
            None => self.refused_fetch(),
        }
    }

    fn refused_fetch(&mut self) {
        let why = "it no longer has a record of this run: the record was handed over, or is older \
                   than a day";
        self.say(Says::Refused(Refused { why: why.to_owned() }));
    }

    fn take(&mut self, share: Share) {
        match &self.state {
            State::Working(_) => {
                self.breach("it sent a second share during a run");
            }
            _ if share.run.len() != RUN_BYTES => self.breach("it sent a run without an identifier"),
            State::Idle | State::Handing { .. } => {
                let (run, number) = (share.run.clone(), share.number);
                self.state = State::Working(Work {
                    run,
                    share: number,
                    is_prepared: false,
                    is_armed: false,
                    progress: Preparing::default(),
                    told: None,
                    is_alone: false,
                    ending: None,
                });
                self.act(Action::Begin(Box::new(share)));
            }
        }
    }

    fn arm(&mut self, clock_ns: u64) {
        match &mut self.state {
            State::Working(work) if work.is_prepared && !work.is_armed => {
                work.is_armed = true;
                self.act(Action::Arm { clock_ns });
            }
            // The share has ended while the message was in transit.
            State::Idle | State::Handing { .. } => {}
            State::Working(_) => self.breach("it sent a start time for a share that is not ready"),
        }
    }

    /// Directs the load of the share, which must have a beginning.
    fn direct(&mut self, action: Action) {
        match &self.state {
            State::Working(work) if work.is_armed => self.act(action),
            // The share has ended while the message was in transit.
            State::Idle | State::Handing { .. } => {}
            State::Working(_) => self.breach("it directed the window of a load that has not begun"),
        }
    }

    fn end(&mut self, aborted: Option<Aborted>, why: String) {
        // A share that was to end by a condition can still be ended at once.
        let is_hard = aborted.is_none();
        if let State::Working(work) = &mut self.state
            && (work.ending.is_none() || (is_hard && work.ending == Some(Ending::ByCondition)))
        {
            work.ending = Some(if is_hard { Ending::AtOnce } else { Ending::ByCondition });
            self.act(Action::End { aborted, why });
        }
    }

    /// Closes the connection to a master that violates the protocol.
    fn breach(&mut self, what: &str) {
        self.leave(format!("{what}; use the same version of memtide on both machines"));
    }

    fn leave(&mut self, why: String) {
        self.act(Action::Close(why));
        self.closed();
    }

    fn hand_over(&mut self, run: &[u8], record: &[u8]) {
        for part in parts(run, record) {
            self.say(Says::Record(part));
        }
    }

    fn say(&mut self, what: Says) {
        if self.has_master {
            self.act(Action::Send(FromAgent { what: Some(what) }));
        }
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }
}

/// A condition that came true, as the record has it.
fn aborted(aborted: message::Aborted) -> Aborted {
    let message::Aborted { condition, measured, why, after_s } = aborted;
    let [condition, why] = [condition, why].map(|text| printable(&text, TEXT_CHARS_MAX));
    Aborted { condition, measured, why, after_s }
}
