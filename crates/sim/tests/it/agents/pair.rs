//! Two controllers that share a world. One is on a thread of its own, and asks the world's thread
//! to do what it wants of its fleet. Time passes only as far as both want.

use crate::prelude::*;
use crate::queues::belief::merged;
use memtide_belief::WarmupSlice;
use memtide_record::{ClockRecord, ShareStart, Wide};
use memtide_run::{Failure, RunOutcome, SharedClosing, SharedWarmup};
use memtide_world::driver::Sample;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// Time from the last agent's arrival to the beginning of the load.
const LEAD: Span = Span::from_s(2);

/// Work for the other controller's fleet; it may let time pass until an instant.
struct Job {
    until: Option<Instant>,
    work: Box<dyn FnOnce(&mut SimFleet) + Send>,
}

/// The fleet of the first controller, which also does what the second wants of its own.
struct First {
    own: SimFleet,
    other: SimFleet,
    jobs: Receiver<Job>,
    /// What the second wants later.
    later: Option<Job>,
}

impl First {
    /// Does what the second wants before `until`, until it wants something later, or nothing more.
    fn serve(&mut self, until: Instant) {
        while let Some(job) = self.later.take().or_else(|| self.jobs.recv().ok()) {
            if job.until.is_some_and(|at| at > until) {
                self.later = Some(job);
                return;
            }
            (job.work)(&mut self.other);
        }
    }
}

impl Fleet for First {
    memtide_world::pass_to_fleet!(own: now, since_unix, start, command, ask, watch_servers);

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        self.serve(until);
        self.own.collect(until, totals)
    }
}

/// The fleet of the second controller, which is on another thread than its world.
struct Second(Sender<Job>);

impl Second {
    fn do_there<R: Send + 'static>(
        &self,
        until: Option<Instant>,
        work: impl FnOnce(&mut SimFleet) -> R + Send + 'static,
    ) -> R {
        let (tell, told) = channel();
        let work = Box::new(move |fleet: &mut SimFleet| drop(tell.send(work(fleet))));
        self.0.send(Job { until, work }).expect("the world goes on");
        told.recv().expect("the world answers")
    }
}

impl Fleet for Second {
    fn now(&self) -> Instant {
        self.do_there(None, |fleet| fleet.now())
    }

    fn since_unix(&self) -> Span {
        self.do_there(None, |fleet| fleet.since_unix())
    }

    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        let plan = plan.clone();
        self.do_there(None, move |fleet| fleet.start(&plan, workers))
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError> {
        self.do_there(None, move |fleet| fleet.command(at, command))
    }

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        let mut theirs = totals.clone();
        let (interval, sum) = self.do_there(Some(until), move |fleet| {
            let interval = fleet.collect(until, &mut theirs);
            (interval, theirs)
        });
        *totals = sum;
        interval
    }

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        let (plan, server) = (plan.clone(), server.clone());
        let question = match question {
            Question::Version => Question::Version,
            Question::Statistics => Question::Statistics,
            Question::Settings => Question::Settings,
            Question::Get => Question::Get,
            Question::Line(line) => panic!("an agent asks {line}"),
        };
        self.do_there(None, move |fleet| fleet.ask(&plan, &server, question))
    }

    fn watch_servers(&mut self, plan: &Plan, servers: &[ServerId]) {
        let (plan, servers) = (plan.clone(), servers.to_vec());
        self.do_there(None, move |fleet| fleet.watch_servers(&plan, &servers));
    }
}

/// What the master knows and has told.
struct Board {
    arrived: u32,
    begins: Option<Instant>,
    warmup: SharedWarmup,
    closing: SharedClosing,
    /// The instants at which windows open and close, and when they were decided.
    told: [Option<(Instant, Instant)>; 2],
    /// Which agents are asked for their records so far, and those that have come.
    asked: [bool; 2],
    so_far: Vec<Record>,
}

/// The barrier of an agent: the master is reached without a message, which then takes a while.
struct AtBoard {
    number: u32,
    board: Arc<Mutex<Board>>,
    delay: Span,
    now: Instant,
}

impl AtBoard {
    fn heard(&self, board: &Board, which: usize) -> Option<Instant> {
        let (at, decided) = board.told[which]?;
        (self.now >= decided + self.delay).then_some(at)
    }
}

impl Barrier for AtBoard {
    fn kind(&self) -> ShareStart {
        ShareStart::Agents
    }

    fn arrive(&mut self) -> Result<(), NotRun> {
        self.board.lock().expect("no agent panics").arrived += 1;
        Ok(())
    }

    fn look(&mut self, now: Instant, _: Span) -> Result<Option<Instant>, NotRun> {
        let mut board = self.board.lock().expect("no agent panics");
        if board.arrived == 2 {
            board.begins.get_or_insert(now + LEAD);
        }
        Ok(board.begins)
    }

    fn opens(&mut self, passed: Span, so_far: WarmupSlice) -> Option<Instant> {
        let mut board = self.board.lock().expect("no agent panics");
        let begins = board.begins.expect("it has begun");
        self.now = begins + passed;
        board.warmup.report(self.number, so_far);
        if let Some(length) = board.warmup.look(&[0, 1], passed) {
            board.told[0] = Some((begins + length, self.now));
        }
        self.heard(&board, 0)
    }

    fn closes(
        &mut self,
        open: Instant,
        passed: Span,
        so_far: &mut dyn FnMut() -> Record,
    ) -> Option<Instant> {
        let mut board = self.board.lock().expect("no agent panics");
        self.now = open + passed;
        if board.asked == [false; 2] && board.so_far.is_empty() {
            board.asked = [board.closing.is_due(passed); 2];
        }
        if std::mem::take(&mut board.asked[self.number as usize]) {
            board.so_far.push(clocked(so_far(), open));
        }
        if board.so_far.len() == 2 {
            let merged = merged(std::mem::take(&mut board.so_far));
            if let Some(length) = board.closing.look(Some(&merged), passed) {
                board.told[1] = Some((open + length, self.now));
            }
        }
        self.heard(&board, 1)
    }
}

/// `record` with the clock that both agents have.
fn clocked(record: Record, open: Instant) -> Record {
    let clock = ClockRecord {
        window_start_monotonic_ns: Some(Wide(open.ns().into())),
        boot_id: Some("one".to_owned()),
        time_namespace: Some(1),
        ..ClockRecord::default()
    };
    Record { clock: Some(clock), ..record }
}

/// Two agents of one run.
pub struct Pair {
    world: World,
    /// How long a command of the master takes to each.
    delays: [Span; 2],
}

/// What has become of a run by two agents.
pub struct Directed {
    /// The records of those that ended well.
    pub records: Vec<Record>,
    pub failures: Vec<String>,
    pub samples: Vec<Sample>,
    /// The lengths of warm-up and window, if the master commanded them.
    pub opened: Option<Span>,
    pub closed: Option<Span>,
}

impl Pair {
    pub fn of(world: World) -> Self {
        Self { world, delays: [Span::ZERO; 2] }
    }

    /// Commands of the master take this long to each.
    pub fn hearing_after(self, delays: [Span; 2]) -> Self {
        Self { delays, ..self }
    }

    pub fn carry_out(self) -> Directed {
        let Self { world, delays } = self;
        let parts = [0, 1].map(|number| world.part(Some(Share::one(number, 2))));
        let plan = world.part(None).1.plan;
        let board = Arc::new(Mutex::new(Board {
            arrived: 0,
            begins: None,
            warmup: SharedWarmup::new(plan.window.warmup),
            closing: SharedClosing::new(plan.window.duration),
            told: [None; 2],
            asked: [false; 2],
            so_far: Vec::new(),
        }));
        let at_board = |number: usize| AtBoard {
            number: number as u32,
            board: Arc::clone(&board),
            delay: delays[number],
            now: Instant::ZERO,
        };
        let (fleet, _, samples) = world.fleet();
        let (send, jobs) = channel();
        let first = First { other: fleet.beside(), own: fleet, jobs, later: None };
        let [one, two] = parts;
        let (mut barrier, mut other_barrier) = (at_board(0), at_board(1));
        let outcomes: [Result<RunOutcome, Failure>; 2] = thread::scope(|scope| {
            let second =
                scope.spawn(move || World::carry_out(&mut Second(send), &two, &mut other_barrier));
            // Dropped with this closure: the second waits for no answer if the first panics.
            let mut first = first;
            let outcome = World::carry_out(&mut first, &one, &mut barrier);
            first.serve(Instant::NEVER);
            [outcome, second.join().expect("no agent panics")]
        });
        let board = board.lock().expect("no agent panics");
        let begins = board.begins.expect("it has begun");
        let opened = board.told[0].map(|(at, _)| at.since(begins));
        let open = begins + opened.unwrap_or(plan.window.warmup);
        let mut directed = Directed {
            records: Vec::new(),
            failures: Vec::new(),
            samples: samples.borrow().clone(),
            opened,
            closed: board.told[1].map(|(at, _)| at.since(open)),
        };
        for outcome in outcomes {
            match outcome {
                Ok(outcome) => directed.records.push(clocked(outcome.record, open)),
                Err(failure) => directed.failures.push(failure.message()),
            }
        }
        directed
    }
}
