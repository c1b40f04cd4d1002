//! Facts of planted machines: what spoils is named, and nothing else.

use super::*;

fn times(each: &[u64]) -> Histogram<u64> {
    let mut times = Histogram::new();
    each.iter().for_each(|ns| times.record(*ns));
    times
}

fn trial(cpu: usize) -> Trial {
    Trial {
        cpu,
        late: times(&[8_000; 100]),
        pauses_per_s: 3.0,
        longest: Span::from_us(40),
        paused: 0.000_1,
        kept: 0.001,
        reading: Span::from_ns(25),
    }
}

fn quiet() -> Condition {
    Condition {
        cpus_online: 4,
        cpus_allowed: vec![0, 1, 2, 3],
        cores: (0..4).map(|cpu| (cpu, cpu)).collect(),
        cpu_quota: None,
        governor: Some("performance".to_owned()),
        idle: Some(("C1".to_owned(), Span::from_us(2))),
        clock_source: Some("tsc".to_owned()),
        slack: Some(Span::from_us(50)),
        stolen: Some(0.0),
        is_throttled: false,
        busy: Some(0.01),
        interrupts: vec![(0, 120.0, "24 net0".to_owned())],
        trials: vec![trial(0), trial(1)],
        files_max: 1_048_576,
        memory_bytes: Some(8 << 30),
        uring: Ok(()),
        servers: Vec::new(),
    }
}

fn server(threads: u64) -> Server {
    Server {
        version: "1.6.18".to_owned(),
        is_local: true,
        threads: Some(threads),
        connections_max: Some(1_024),
        round_trips: times(&[20_000; 100]),
    }
}

/// What spoils, and what could be better, by the words of the facts.
fn judged(condition: &Condition) -> (Vec<String>, Vec<String>) {
    let facts = condition.facts();
    let (spoiling, fine): (Vec<_>, Vec<_>) = facts.into_iter().partition(|fact| fact.spoils);
    assert!(spoiling.iter().all(|fact| fact.to_do.is_some()), "{spoiling:?}");
    let better = fine.into_iter().filter(|fact| fact.to_do.is_some());
    (spoiling.into_iter().map(|fact| fact.about).collect(), better.map(|fact| fact.about).collect())
}

#[test]
fn a_quiet_machine_is_fit() {
    assert_eq!(judged(&quiet()), (Vec::new(), Vec::new()));
}

#[test]
fn each_planted_condition_is_named_alone() {
    type Plant = fn(&mut Condition);
    let spoiling: [(&str, Plant); 9] = [
        ("CPUs", |it| it.cpus_allowed = vec![1]),
        ("CPUs", |it| it.cpu_quota = Some(1.5)),
        ("other load", |it| it.trials[1].kept = 0.06),
        ("steal", |it| it.stolen = Some(0.02)),
        ("open files", |it| it.files_max = 191),
        ("wake-ups", |it| it.trials[0].late = times(&[2_000_000; 50])),
        ("pauses", |it| {
            (it.trials[0].paused, it.trials[0].longest) = (0.02, Span::from_ms(6));
        }),
        ("clock", |it| it.trials[1].reading = Span::from_us(1)),
        ("server", |it| it.servers = vec![("h1".to_owned(), Err("refused it".to_owned()))]),
    ];
    for (about, plant) in spoiling {
        let mut condition = quiet();
        plant(&mut condition);
        assert_eq!(judged(&condition), (vec![about.to_owned()], Vec::new()));
    }
    let advised: [(&str, Plant); 4] = [
        ("CPUs", |it| it.cores = [(0, 0), (1, 0), (2, 2), (3, 2)].into()),
        ("frequency", |it| it.governor = Some("powersave".to_owned())),
        ("idle states", |it| it.idle = Some(("C6".to_owned(), Span::from_us(133)))),
        ("server", |it| it.servers = vec![("h1".to_owned(), Ok(server(4)))]),
    ];
    for (about, plant) in advised {
        let mut condition = quiet();
        plant(&mut condition);
        assert_eq!(judged(&condition), (Vec::new(), vec![about.to_owned()]));
    }
}

#[test]
fn one_cpu_is_enough_for_a_server_elsewhere() {
    let elsewhere = Server { is_local: false, ..server(4) };
    let servers = vec![("h1".to_owned(), Ok(elsewhere))];
    let one = Condition { cpus_allowed: vec![1], servers, ..quiet() };
    assert_eq!(judged(&one), (Vec::new(), Vec::new()));
}

/// A run warns of CPUs that it shares with its own server, and needs files for that one's ends.
#[test]
fn a_server_of_the_users_is_not_the_embedded_one() {
    let servers = vec![("h1".to_owned(), Ok(server(1)))];
    let one = Condition { cpus_allowed: vec![1], servers, files_max: 150, ..quiet() };
    let facts = one.facts();
    let of = |about: &str| facts.iter().find(|fact| fact.about == about).unwrap();
    assert_eq!((of("CPUs").spoils, of("CPUs").warning), (true, None));
    assert_eq!((of("open files").spoils, of("open files").warning), (false, None));
    let own = Condition { servers: Vec::new(), ..one };
    let warnings: Vec<_> = own.facts().iter().filter_map(|fact| fact.warning).collect();
    assert_eq!(warnings, ["shared_cpu", "file_limit"]);
}

/// The trials spin on all CPUs, and a quota below that stops them.
#[test]
fn a_quota_that_stops_the_trials_is_no_other_program() {
    let stopped = |cpu| Trial { kept: 0.4, paused: 0.8, longest: Span::from_ms(50), ..trial(cpu) };
    let trials = vec![stopped(0), stopped(1)];
    let by =
        |is_throttled| judged(&Condition { is_throttled, trials: trials.clone(), ..quiet() }).0;
    assert_eq!(by(true), Vec::<String>::new());
    assert_eq!(by(false).len(), 2, "without a quota, another program had the CPUs");
}

#[test]
fn what_the_kernel_does_not_show_spoils_nothing() {
    let unknown = Condition {
        governor: None,
        idle: None,
        clock_source: None,
        slack: None,
        stolen: None,
        busy: None,
        interrupts: Vec::new(),
        trials: Vec::new(),
        memory_bytes: None,
        uring: Err("this system forbids io_uring".to_owned()),
        ..quiet()
    };
    assert_eq!(judged(&unknown), (Vec::new(), Vec::new()));
}

#[test]
fn a_server_is_told_with_its_distance() {
    let servers = vec![("h1:11211".to_owned(), Ok(server(2)))];
    let facts = Condition { servers, ..quiet() }.facts();
    let last = facts.last().expect("there are facts");
    assert!(last.found.contains("1.6.18, on this machine, 2 threads"), "{}", last.found);
    assert!(last.found.contains("a question takes 20"), "{}", last.found);
}
