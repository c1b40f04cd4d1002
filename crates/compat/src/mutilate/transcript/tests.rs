//! The text at each event of a run, as files: its words, its stream, and its time.

use super::super::args::tests::load;
use super::super::{Command, Face, parse};
use super::*;
use crate::tests::words;
use memtide_base::choice::RateUnit;
use memtide_base::{Rate, Span};
use memtide_metrics::histogram::Histogram;
use memtide_record::steps::Conclusion;
use memtide_record::{
    CheckKind, Counts, Distribution, IntervalRecord, IntervalTimes, MachineCpu, Phase, PlanRecord,
    PlannedServer, Reason, Shared, StepBegun, Totals, Verdict,
};
use memtide_scenario::Kind;

/// Asserts that the file `name` holds the whole output on `events` for the command line `line`.
fn expect(name: &str, face: Face, line: &str, events: &[(&str, Event)]) {
    let options = load(face, "program", &words(line)).unwrap();
    let targets = match &options.mode {
        Mode::Dynamic(dynamic) => dynamic.targets(1),
        _ => Vec::new(),
    };
    let mut transcript = Transcript::new(&options, &targets);
    let mut text = format!("$ {line}\n");
    write(&mut text, "begin", &transcript.begin());
    for (what, event) in events {
        write(&mut text, what, &transcript.on(event).unwrap());
    }
    crate::tests::expect(&format!("mutilate/transcript/expect/{name}"), &text);
}

fn write(text: &mut String, what: &str, printed: &Printed) {
    *text += &format!("[{what}]\n");
    let streams =
        [("stdout", &printed.stdout), ("stderr", &printed.stderr), ("notes", &printed.notes)];
    for (stream, said) in streams {
        assert!(said.is_empty() || said.ends_with('\n'), "{what}: lines are whole");
        said.lines().for_each(|line| *text += &format!("{stream}|{line}\n"));
    }
}

/// `count` times, each slightly longer than the one before.
fn times(count: u64, least_us: u64) -> Distribution {
    let mut times = Histogram::new();
    (0..count).for_each(|i| times.record((least_us + i % 100) * 1000));
    Distribution::of(&times, 0, Span::ZERO)
}

/// Nine gets for each set, for a second.
fn record(ops: u64) -> Record {
    let (gets, sets) = (ops - ops / 10, ops / 10);
    let mut outstanding = Histogram::new();
    (0..ops).for_each(|i| outstanding.record(1 + i % 2));
    let mut record = Record {
        measured_s: 1.0,
        started_unix_ms: 1_700_000_000_000,
        ended_unix_ms: 1_700_000_001_250,
        plan: PlanRecord { connections: 4, ..PlanRecord::default() },
        totals: Totals {
            keys: gets,
            misses: 3,
            bytes_received: gets * 247,
            bytes_sent: ops * 40,
            ..Totals::default()
        },
        outstanding_at_send: Counts::of(&outstanding),
        machine_cpu: Some(MachineCpu {
            avg: 0.5,
            min: 0.125,
            max: 0.875,
            least_of_1s: Some(0.25),
            most_of_1s: Some(0.75),
            ..MachineCpu::default()
        }),
        ..Record::default()
    };
    let kinds = [(Kind::Get, gets), (Kind::Set, sets), (Kind::All, ops)];
    for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
        record.service.insert(kind, times(count, 50));
        record.response.insert(kind, times(count, 80));
        record.lag.insert(kind, times(count, 30));
    }
    record
}

fn done(ops: u64) -> (&'static str, Event) {
    ("done", Event::Done(Box::new(record(ops))))
}

fn step(role: StepRole, rate_per_s: Option<f64>, ops: u64) -> (&'static str, Event) {
    let step = Step {
        number: 1,
        role,
        rate_per_s,
        achieved_per_s: ops as f64,
        behind: false,
        goal: None,
        figure_ns: Some(ops as f64 * 100.0),
        low_per_s: Some(1.0),
        high_per_s: Some(20_000.0),
        spoilt: false,
        record: record(ops),
    };
    ("step", Event::StepDone(Box::new(step)))
}

fn over() -> (&'static str, Event) {
    ("over", Event::StepsDone(Conclusion::default()))
}

/// The events of every run before its result; the originals print nothing for them.
fn beginning() -> [(&'static str, Event); 3] {
    [
        ("started", Event::Started(Box::default())),
        ("note", Event::Note("Something that needs no remedy.".to_owned())),
        ("phase", Event::Phase(Phase::Load)),
    ]
}

#[test]
fn once() {
    let [started, note, phase] = beginning();
    let events = [started, note, phase, done(2000)];
    expect("once.txt", Face::Mutilate, "-s h --save f", &events);
    expect("once-response.txt", Face::McperfDynamic, "-s h --response", &[done(2000)]);
}

#[test]
fn once_and_not_to_be_believed() {
    let mut record = record(20);
    record.believable.verdict = Verdict::No;
    record.believable.reasons.push(Reason {
        code: CheckKind::WorkerBusy,
        message: "the worker was busy".to_owned(),
        measured: None,
        allowed: None,
    });
    let events = [("done", Event::Done(Box::new(record)))];
    expect("doubtful.txt", Face::Mutilate, "-s h", &events);
}

#[test]
fn scan() {
    let line = "-s h --scan 1000:2000:1000";
    let events = || {
        let row = |rate: f64| step(StepRole::Scan, Some(rate), rate as u64);
        [done(1000), row(1000.0), done(2000), row(2000.0), over()]
    };
    expect("scan.txt", Face::Mutilate, line, &events());
    expect("scan-mcperf.txt", Face::Mcperf, line, &events());
    expect("scan-dynamic.txt", Face::McperfDynamic, line, &events());
}

#[test]
fn search() {
    for (name, face, line) in [
        ("search.txt", Face::Mutilate, "-s h --search 95:1000"),
        ("search-mcperf.txt", Face::Mcperf, "-s h --search 999:1000"),
    ] {
        let events = [
            done(20_000),
            step(StepRole::Peak, None, 20_000),
            done(10_000),
            step(StepRole::Narrow, Some(10_000.0), 10_000),
            done(9800),
            step(StepRole::Confirm, Some(9800.0), 9800),
            over(),
        ];
        expect(name, face, line, &events);
    }
}

#[test]
fn dynamic() {
    let interval = |ops: u64, start_s: f64| IntervalRecord {
        start_s,
        length_s: 0.5,
        intended: ops,
        ops,
        gets: Some(IntervalTimes { response: times(ops, 80), service: times(ops, 50) }),
        ..IntervalRecord::default()
    };
    let mut record = record(1500);
    record.intervals = vec![interval(1000, 0.0), interval(500, 0.5)];
    let events = [("done", Event::Done(Box::new(record)))];
    let line = "-s h --qps_interval 0.5 --qps_target 2000,1000";
    expect("dynamic.txt", Face::McperfDynamic, line, &events);
    let line = "-s h --qps_interval 0.5 -t 1 --qps_seed 42 --response";
    expect("dynamic-seed.txt", Face::McperfDynamic, line, &events);
}

#[test]
fn those_who_are_silent() {
    for line in ["-s h --loadonly", "-s h -M", "-s h -M -v"] {
        let [started, note, phase] = beginning();
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let options = load(Face::Mutilate, "mutilate", &argv).unwrap();
        let mut transcript = Transcript::new(&options, &[]);
        assert_eq!(transcript.begin(), Printed::default(), "{line}");
        for (what, event) in [started, note, phase, done(1000)] {
            assert_eq!(transcript.on(&event).unwrap(), Printed::default(), "{line}: {what}");
        }
    }
}

#[test]
fn quiet_is_about_stderr_alone() {
    expect("quiet.txt", Face::Mutilate, "-s h --quiet", &[done(2000)]);
    let events = [done(20_000), step(StepRole::Peak, None, 20_000), over()];
    expect("quiet-search.txt", Face::Mcperf, "-s h --quiet --search avg:5000", &events);
}

#[test]
fn a_search_that_ends_before_its_first_step_has_no_table() {
    let argv: Vec<String> = ["-s", "h", "--search", "95:1000"].map(str::to_owned).to_vec();
    let options = load(Face::Mutilate, "mutilate", &argv).unwrap();
    let mut transcript = Transcript::new(&options, &[]);
    assert_eq!(transcript.on(&over().1).unwrap(), Printed::default());
}

/// The log on stderr of the command line `line` for `events`.
fn logged(face: Face, line: &str, events: &[Event]) -> String {
    let options = load(face, "program", &words(line)).unwrap();
    let mut transcript = Transcript::new(&options, &[]);
    let log: String = events.iter().map(|event| transcript.log(event)).collect();
    assert!(log.is_empty() || log.ends_with('\n'), "{line}: lines are whole");
    format!("$ {line}\n{log}")
}

/// The plan of a load with a second of measurement.
fn plan(warmup_s: f64) -> PlanRecord {
    let server =
        PlannedServer { name: "h:1".to_owned(), addresses: vec!["192.0.2.1:1".to_owned()] };
    PlanRecord { servers: vec![server], duration_s: Some(1.0), warmup_s, ..PlanRecord::default() }
}

/// The events of a load by agents of these numbers of shares, all of which prepare it.
fn by_agents(warmup_s: f64, agents: &[Option<u32>]) -> Vec<Event> {
    let shared = Shared { plan: plan(warmup_s), agents: agents.to_vec() };
    let prepared = agents.iter().flatten().count() as u32;
    let mut events = vec![
        Event::Shared(Box::new(shared)),
        Event::Prepared(prepared),
        Event::LoadBegun(1_700_000_000_250_000_000),
        Event::Phase(Phase::Warmup),
        Event::Phase(Phase::Measure),
        Event::Phase(Phase::Cooldown),
        Event::Done(Box::new(Record { own: Some(Box::new(record(200))), ..record(1800) })),
    ];
    events.retain(|event| *event != Event::Phase(Phase::Warmup) || warmup_s > 0.0);
    events
}

const FAMILY: [Face; 3] = [Face::Mutilate, Face::Mcperf, Face::McperfDynamic];

/// Two agents with two threads and one, and a third that does not come.
#[test]
fn log_of_a_master() {
    let at = "-s h:1 -a 192.0.2.2:5 -a 192.0.2.3:5 -c 2 -t 1";
    let two = [Some(2), Some(1)];
    let mut text = String::new();
    for face in FAMILY {
        for (words, warmup_s, agents) in [
            ("-q 2000 -v", 0.0, &two[..]),
            ("-q 2000 -T 2 -Q 600 -C 1 -w 2 -v --noload", 2.0, &two),
            ("-q 2000 -T 0 -v", 0.0, &two),
            ("-q 2000 -T 2 -Q 200 -C 1 -vv", 0.0, &[None, Some(1)]),
            ("-q 2000", 0.0, &[Some(2), None]),
            ("-q 2000 --quiet", 0.0, &[Some(2), None]),
        ] {
            text += &logged(face, &format!("{at} {words}"), &by_agents(warmup_s, agents));
        }
    }
    crate::tests::expect("mutilate/transcript/expect/log-agents.txt", &text);
}

#[test]
fn log_of_a_master_with_several_loads_or_none() {
    let at = "-s h:1 -a 192.0.2.2:5 -T 1";
    let mut text = String::new();
    let step = |number, per_s| {
        let rate = Some(Rate::new(per_s, RateUnit::Operations));
        let begun = StepBegun { number, rate, role: StepRole::Scan };
        [vec![Event::StepBegun(begun)], by_agents(0.0, &[Some(4)])].concat()
    };
    for face in FAMILY {
        let steps = [step(1, 200.0), step(2, 600.0)].concat();
        let line = format!("{at} --scan 200:600:400 -Q 100 -v");
        text += &logged(face, &line, &steps);
        let shared = Shared { plan: plan(0.0), agents: vec![Some(2)] };
        let filled = [Event::Shared(Box::new(shared)), done(0).1];
        text += &logged(face, &format!("{at} --loadonly -v"), &filled);
    }
    crate::tests::expect("mutilate/transcript/expect/log-agents-steps.txt", &text);
}

/// Two threads of weight 2 make 4 of 6 shares: 12 connections in all, each of which sends 50
/// a second.
#[test]
fn log_of_an_agent() {
    let mut text = String::new();
    for face in FAMILY {
        for (line, wave) in [
            ("-A -T 2 -l 2 -v", "constant"),
            ("-A -T 2 -l 2 -vv", "constant"),
            ("-A -T 2 -l 2 -v", "step:600,1200@1s"),
        ] {
            let Ok(Command::Agent(agent)) = parse(face, "program", &words(line)) else { panic!() };
            let is_constant = wave == "constant";
            let handed = PlanRecord {
                connections: 8,
                rate_per_s: is_constant.then_some(600.0),
                wave: wave.to_owned(),
                load: if is_constant { "always" } else { "never" }.to_owned(),
                value_size: "exponential:100".to_owned(),
                key_size: "etc-key".to_owned(),
                popularity: "walk:100@uniform:0,9".to_owned(),
                arrival: "poisson".to_owned(),
                ..plan(0.0)
            };
            let filled = [Event::Phase(Phase::Load)];
            let mut events = vec![Event::Started(Box::new(handed))];
            events.extend(filled.into_iter().filter(|_| is_constant));
            events.extend(by_agents(0.0, &[Some(4)]).into_iter().skip(1));
            let mut log = agent_log(&agent, 3, 6, false);
            text += &format!("$ {line}   # {wave}\n{}", agent_waits(&agent));
            events.iter().for_each(|event| text += &log(event));
            let rows = agent_rows(&agent, &record(200)).unwrap();
            rows.lines().for_each(|line| text += &format!("stdout|{line}\n"));
        }
    }
    crate::tests::expect("mutilate/transcript/expect/log-served.txt", &text);
}

/// The instants are those of the load, and not those at which it is heard of.
#[test]
fn log_of_a_load_that_is_cut_short() {
    let cut = Record { window_ns: 500_000_000, ..record(200) };
    let events = [
        Event::Started(Box::new(plan(1.0))),
        Event::LoadBegun(1_700_000_000_250_000_000),
        Event::Phase(Phase::Warmup),
        Event::Phase(Phase::Measure),
        Event::Done(Box::new(cut)),
    ];
    let log = logged(Face::Mutilate, "-s h -t 1 -w 1 -v", &events);
    let lines: Vec<&str> = log.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "mutilate.cc(876): Warmup start.",
            "mutilate.cc(951): Warmup stop.",
            "mutilate.cc(979): started at 1700000001.250000",
            "mutilate.cc(1011): stopped at 1700000001.750000  options.time = 1",
        ]
    );
}
