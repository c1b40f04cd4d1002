//! Fleets share a plan, and carry out commands at the instant that the commands name.

use crate::prelude::*;
use memtide_world::fleet::Stage;

/// A fleet made of two fleets, each of which runs half of the workers.
struct Halves([SimFleet; 2]);

impl Halves {
    fn of(fleet: SimFleet) -> Self {
        let other = fleet.beside();
        Self([fleet, other])
    }
}

impl Fleet for Halves {
    fn now(&self) -> Instant {
        self.0[0].now()
    }

    fn since_unix(&self) -> Span {
        self.0[0].since_unix()
    }

    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        let middle = workers.start.midpoint(workers.end);
        let [first, second] = &mut self.0;
        first.start(plan, workers.start..middle)?;
        second.start(plan, middle..workers.end)
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError> {
        self.0.iter_mut().try_for_each(|half| half.command(at, command))
    }

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        let [first, second] = &mut self.0;
        let mut all = first.collect(until, totals)?;
        // If the first ended its wait early, so does the second.
        let rest = second.collect(all.at, totals)?;
        all.workers.extend(rest.workers);
        Ok(Interval { interrupted: all.interrupted || rest.interrupted, ..all })
    }

    fn is_interrupted(&self) -> bool {
        self.0.iter().any(Fleet::is_interrupted)
    }

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        self.0[0].ask(plan, server, question)
    }

    fn watch_servers(&mut self, plan: &Plan, servers: &[ServerId]) {
        self.0[0].watch_servers(plan, servers);
    }
}

fn world(threads: &str, seed: u64) -> World {
    let mut world = World::of(&format!(
        "rate=4k duration=2s warmup=300ms mix=get=5,gets=1,set=2,cas=1,delete=1 keys=500 \
         threads={threads} connections=10"
    ));
    world.servers = vec![ServerProfile::default(), ServerProfile::default()];
    world.behaviour("queue:2,exponential:200us").seed(seed)
}

#[test]
fn two_fleets_that_share_a_plan_give_the_same_run_as_one() {
    for (threads, seed) in [("1", 3), ("2", 4), ("5", 5)] {
        let one = world(threads, seed).rehearse();
        let two = world(threads, seed).try_rehearse_with(Halves::of);
        let two = two.unwrap_or_else(|failure| panic!("{}", failure.message()));
        assert_eq!((one.hash, one.events), (two.hash, two.events), "{threads} workers");
        assert_eq!(one.record, two.record, "{threads} workers");
        assert_eq!(one.samples, two.samples, "{threads} workers");
    }
}

#[test]
fn two_fleets_are_interrupted_as_one() {
    let interrupted = || {
        let mut world = world("4", 6);
        world.interrupt_at = Instant::ZERO + Span::from_ms(2_500);
        world
    };
    let one = interrupted().rehearse();
    let two = interrupted().try_rehearse_with(Halves::of);
    let two = two.unwrap_or_else(|failure| panic!("{}", failure.message()));
    assert!(one.record.partial, "it was interrupted");
    assert!(one.record.totals.answered > 100, "{}", one.record.totals.answered);
    assert_eq!((one.record, one.hash), (two.record, two.hash));
}

/// A command for a later instant is carried out then, and not before.
#[test]
fn a_stop_is_obeyed_at_its_instant() {
    let (fleet, plan, samples) = world("3", 7).fleet();
    let mut fleet = Halves::of(fleet);
    let mut totals = TallySum::new(&plan.shape());
    let step = Span::from_ms(10);
    let mut all = |fleet: &mut Halves, stage: Stage| {
        let until = fleet.now() + step;
        let interval = fleet.collect(until, &mut totals).expect("it goes on");
        interval.workers.iter().all(|worker| worker.stage >= stage)
    };
    fleet.start(&plan, 0..plan.workers).expect("it starts");
    while !all(&mut fleet, Stage::Ready) {}
    let start = fleet.now() + step;
    // Between two of the instants at which the fleet is collected.
    let stop = start + Span::from_ms(800) + Span::from_us(3_333);
    fleet.command(start, Command::Begin).expect("it begins");
    fleet.command(stop, Command::Stop { grace: Span::from_s(1) }).expect("it will stop");
    while !all(&mut fleet, Stage::Finished) {}
    let ended = fleet.now();
    assert!(ended >= stop && ended < stop + Span::from_ms(100), "it ended at {ended:?}");
    let last = samples.borrow().iter().map(|sample| sample.intended).max();
    let last = last.expect("operations were measured");
    assert!(last <= stop && stop.since(last) < Span::from_ms(10), "{last:?}, not {stop:?}");
}
