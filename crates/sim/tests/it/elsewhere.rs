//! A load that is made elsewhere: a fleet that receives the scenario as text, and of each plan only
//! its task, makes equal plans by itself.

use crate::prelude::*;
use memtide_run::steps::Course;
use memtide_run::{Planner, Unplannable};
use memtide_scenario::{Scenario, Settings, from_toml};
use memtide_world::plan::{Task, Work};

/// A stand-in for another machine.
struct Elsewhere {
    fleet: SimFleet,
    planner: Planner,
}

impl Elsewhere {
    /// A machine that receives the text of `document` and knows its surroundings.
    fn new(document: &Scenario, world: &World, fleet: SimFleet) -> Self {
        let words = document.words();
        let text: String =
            words.iter().map(|(field, word)| format!("{field} = {word}\n")).collect();
        let mut settings = Settings::default();
        let layer = from_toml(&text, "the document").expect("it is a scenario");
        settings.apply(&layer).expect("its words are allowed");
        Self { fleet, planner: Planner::new(settings.scenario, world.around()) }
    }

    fn plan(&mut self, task: Task) -> Plan {
        self.planner.plan(&task).unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    /// All data that travels when a plan starts.
    fn start_task(&mut self, task: Task, workers: Range<u16>) -> Result<(), FleetError> {
        let plan = self.plan(task);
        self.fleet.start(&plan, workers)
    }

    /// All data that travels with a question.
    fn ask_server(
        &mut self,
        task: Task,
        (server, timeout): (&str, Span),
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        let plan = Plan { timeout, ..self.plan(task) };
        let server = plan.servers.iter().find(|one| one.name == server).expect("it is known");
        self.fleet.ask(&plan, server, question)
    }
}

impl Fleet for Elsewhere {
    memtide_world::pass_to_fleet!(
        fleet: now, since_unix, command, collect, is_interrupted, watch_servers
    );

    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        self.start_task(plan.task, workers)
    }

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        self.ask_server(plan.task, (&server.name, plan.timeout), question)
    }
}

/// A run of `words` against `servers` servers, here and elsewhere.
fn both(words: &[(&'static str, &str)], servers: usize) -> [Rehearsal; 2] {
    let world = || {
        let mut world = World::new(words);
        world.servers = (0..servers).map(|_| ServerProfile::default()).collect();
        world.behaviour("queue:2,exponential:100us").seed(11)
    };
    let far = world();
    let lowered = lower(&far.scenario(), &far.around()).expect("it can be run");
    let (there, said) = (world(), lowered.document);
    let ran = far.try_rehearse_with(|fleet| Elsewhere::new(&said, &there, fleet));
    [world().rehearse(), ran.unwrap_or_else(|failure| panic!("{}", failure.message()))]
}

#[test]
fn a_run_that_is_planned_elsewhere_is_the_same_run() {
    let verified = ("mix", "get=6,gets=1,set=2,cas=1,delete=1,touch=1,incr=1");
    let cases: [(&[(&str, &str)], usize); 8] = [
        // Probed, filled, probed again, with a schedule and without.
        (&[("rate", "3k"), ("warmup", "200ms"), ("keys", "3000"), ("threads", "3")], 2),
        (&[("rate", "0"), ("connections", "3"), ("depth", "4"), ("keys", "1000")], 1),
        // Verified: later plans know what earlier ones have stored.
        (&[("rate", "4k"), ("keys", "800"), ("verify", "1"), verified], 2),
        (&[("rate", "0"), ("verify", "0.5"), verified, ("protocol", "binary")], 1),
        (&[("rate", "0"), ("verify", "0.5"), verified, ("protocol", "meta")], 1),
        (
            &[
                ("ops-max", "4k"),
                ("clients", "8"),
                ("window", "50"),
                ("overwrite", "20%"),
                ("verify", "1"),
                ("load", "always"),
            ],
            1,
        ),
        (&[("rate", "2k"), ("transport", "udp"), ("schedule", "connection")], 1),
        (&[("connections-total", "200"), ("connection-rate", "400"), ("calls", "4")], 1),
    ];
    for (words, servers) in cases {
        let mut all = words.to_vec();
        if !words.iter().any(|(field, _)| matches!(*field, "ops-max" | "connections-total")) {
            all.push(("duration", "1s"));
        }
        let [here, there] = both(&all, servers);
        assert!(here.record.totals.answered > 500, "{words:?}");
        assert_eq!((here.hash, here.events), (there.hash, there.events), "{words:?}");
        assert_eq!(here.record, there.record, "{words:?}");
        assert_eq!(here.samples, there.samples, "{words:?}");
    }
}

fn check_steps<C: Course + Clone>(course: &C, data: Data, words: &[(&'static str, &str)]) {
    let world = || {
        let mut world = World::of("duration=2s keys=1000 connections=16").with(words);
        world.keeps_samples = false;
        world.behaviour("queue:1,exponential:1ms").seed(3)
    };
    let here = world().rehearse_steps(&mut course.clone(), data);
    let there = world().rehearse_steps_with(
        &mut course.clone(),
        (Aim::Goals, data),
        |(plan, course), fleet| {
            let first = plan.first(course, &world().around()).expect("it can be run");
            Elsewhere::new(&plan.document(&first), &world(), fleet)
        },
    );
    assert!(here.steps.len() > 2, "{} steps", here.steps.len());
    assert_eq!(here.hash, there.hash, "{words:?}");
    assert_eq!(here.steps, there.steps, "{words:?}");
    assert_eq!(here.conclusion, there.conclusion, "{words:?}");
}

#[test]
fn steps_that_are_planned_elsewhere_are_the_same_steps() {
    let limits =
        Limits { unit: RateUnit::Operations, rate_min: None, rate_max: None, resolution: 0.1 };
    let goal = [("goal", "all.p95<10ms"), ("mix", "get=1")];
    check_steps(&Bracket::new(limits), Data::Kept, &goal);
    let scan = Scan::new("200..600+200".parse().expect("rates"), RateUnit::Operations);
    check_steps(&scan, Data::Anew, &[("verify", "1"), ("mix", "get=3,set=1")]);
}

#[test]
fn no_secret_travels() {
    let world = World::of("server=a rate=1k user=tim password=tan");
    let lowered = lower(&world.scenario(), &world.around()).expect("it can be run");
    assert!(lowered.plan.credentials.is_some());
    let words = lowered.document.words();
    assert!(!words.contains_key("user") && !words.contains_key("password"), "{words:?}");
}

#[test]
fn a_task_that_a_scenario_does_not_have_is_refused() {
    let world = World::new(&[("rate", "1k"), ("keys", "100")]);
    let mut planner = Planner::new(world.scenario(), world.around());
    let plan = planner.plan(&Task::default()).expect("the load is planned");
    assert_eq!(plan.task, Task::default());
    for work in [
        Work::FillWindows,
        Work::Fill { server: ServerId(1), first: 0, end: 10 },
        Work::Fill { server: ServerId(0), first: 10, end: 10 },
        Work::Fill { server: ServerId(0), first: 0, end: 101 },
        Work::Sample { server: ServerId(0), keys: 101 },
        Work::Earliest { server: ServerId(7) },
    ] {
        let problem = planner.plan(&Task { work, ..Task::default() }).expect_err("it has none");
        assert!(matches!(problem, Unplannable::Task(task) if task.work == work), "{problem:?}");
    }
    let work = Work::Fill { server: ServerId(0), first: 0, end: 100 };
    let task = Task { work, ..Task::default() };
    assert_eq!(planner.plan(&task).expect("it is filled").task, task);
}
