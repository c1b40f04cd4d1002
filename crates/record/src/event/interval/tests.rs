//! Random seconds of the load: they survive serialisation, and impossible ones are refused.

use super::*;
use crate::event::Progress;
use crate::record::Phase;
use memtide_base::Random;
use memtide_scenario::Goal;

/// Random seconds of a load on two servers.
struct Seconds(Random);

impl Seconds {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn maybe<T>(&mut self, of: impl Fn(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| of(self))
    }

    fn counts(&mut self) -> SettledCounts {
        let mut counts = SettledCounts {
            sent: self.below(3_000),
            answered: self.below(2_000),
            failed: self.below(20),
            timed_out: self.below(20),
            lost: self.below(3),
            dropped: self.below(3),
            unacknowledged: self.below(20),
            abandoned: self.below(2),
            hits: self.below(900),
            misses: self.below(100),
            bytes_sent: self.0.bits() >> 8,
            bytes_received: self.0.bits() >> 8,
            ..SettledCounts::default()
        };
        counts.settled = counts.ended().unwrap();
        counts
    }

    fn times(&mut self) -> Histogram<u64> {
        let mut times = Histogram::new();
        for _ in 0..1 + self.below(200) {
            // Some exceed the largest value of a histogram.
            times.record(self.0.bits() >> (20 + self.below(40)));
        }
        times
    }

    fn kinds(&mut self) -> BTreeMap<Kind, Histogram<u64>> {
        let kinds = [Kind::All, Kind::Get, Kind::GetHit, Kind::Set];
        let some: Vec<Kind> = kinds.into_iter().filter(|_| self.below(4) > 0).collect();
        some.into_iter().map(|kind| (kind, self.times())).collect()
    }

    fn fraction(&mut self) -> f64 {
        memtide_base::rng::unit(self.0.bits())
    }

    /// A random report of one of three servers.
    fn report(&mut self) -> (String, ServerReport) {
        let report = ServerReport {
            answers: self.below(3),
            gets: self.maybe(|this| this.below(1_000)),
            items: self.maybe(|this| this.below(1_000)),
            restarts: self.below(2),
            ..ServerReport::default()
        };
        (format!("server-{}", self.below(3)), report)
    }

    fn next(&mut self) -> Interval {
        let servers = [(); 2].map(|()| ServerSecond {
            counts: self.counts(),
            connections_open: self.maybe(|this| this.below(50)),
        });
        let no_server = self.counts();
        let counts = servers.iter().fold(no_server, |sum, server| sum.plus(&server.counts));
        Interval {
            start: Span::from_ns(self.0.bits() >> 20),
            length: Span::from_ns(self.below(3_000_000_000)),
            counts,
            keys_sent: self.maybe(|this| this.below(9_000)),
            response: self.kinds(),
            service: self.kinds(),
            lag: self.kinds(),
            unanswered: [(Kind::All, 1 + self.below(9)), (Kind::Set, 1 + self.below(4))].into(),
            under_way: UnderWay {
                in_flight: self.maybe(|this| this.below(100)),
                backlog: self.maybe(|this| this.below(100)),
                oldest_due_s: self.maybe(Self::fraction),
                connections_open: self.maybe(|this| this.below(100)),
            },
            servers: servers.to_vec(),
            no_server,
            workers: (0..self.below(3))
                .map(|_| WorkerSecond {
                    in_flight: self.below(64),
                    connections_open: self.below(64),
                    oldest_due_s: self.maybe(Self::fraction),
                    busy: self.maybe(Self::fraction),
                    kept: self.maybe(Self::fraction),
                })
                .collect(),
            reports: (0..self.below(3)).map(|_| self.report()).collect(),
            host: self.maybe(|this| HostSecond {
                cpus: vec![this.fraction(), this.fraction()],
                cpu_busy: this.maybe(Self::fraction),
                sent_bytes: this.maybe(|this| this.below(1_000)),
                retransmits: this.maybe(|this| this.below(9)),
                ..HostSecond::default()
            }),
            agents: Vec::new(),
            is_over: self.below(4) == 0,
            is_of_agents: false,
        }
    }
}

#[test]
fn one_second_of_all_agents_is_the_sum_of_theirs() {
    for seed in 0..32 {
        let mut seconds = Seconds(Random::new(0x5ec0 + seed));
        let parts: Vec<Interval> = (0..2 + seed % 5).map(|_| seconds.next()).collect();
        let sum = Interval::merged(&parts).unwrap();
        let settled = |of: fn(&Interval) -> SettledCounts| {
            parts.iter().map(of).fold(SettledCounts::default(), |sum, part| sum.plus(&part))
        };
        assert_eq!(sum.counts, settled(|part| part.counts), "seed {seed}");
        assert_eq!(sum.no_server, settled(|part| part.no_server), "seed {seed}");
        for number in 0..2 {
            let parts = parts.iter().map(|part| part.servers[number].counts);
            let all = parts.fold(SettledCounts::default(), |sum, part| sum.plus(&part));
            assert_eq!(sum.servers[number].counts, all, "seed {seed}");
        }
        let all = |of: fn(&Interval) -> u64| parts.iter().map(of).sum::<u64>();
        let above = |of: &Interval| of.unanswered[&Kind::All];
        assert_eq!(above(&sum), all(|part| part.unanswered[&Kind::All]), "seed {seed}");
        assert_eq!(sum.workers.len() as u64, all(|part| part.workers.len() as u64), "seed {seed}");
        for kind in [Kind::All, Kind::Set] {
            let mut pooled = Histogram::<u64>::new();
            let times = parts.iter().filter_map(|part| part.lag.get(&kind));
            times.for_each(|times| pooled.absorb(times));
            assert_eq!(sum.lag.get(&kind).cloned().unwrap_or_default(), pooled, "seed {seed}");
        }
        // Every grouping gives the same result, also after serialisation.
        let (first, rest) = parts.split_at(1 + parts.len() / 3);
        let halves = [first, rest].map(|half| Interval::merged(half).unwrap());
        assert_eq!(Interval::merged(&halves), Some(sum.clone()), "seed {seed}");
        assert_eq!(Interval::from_bytes(&sum.to_bytes()), Ok(sum), "seed {seed}");
    }
    assert_eq!(Interval::merged(&[]), None);
}

/// A second from `start_s` on, with 1 000 answers of 1 ms each and `failed` failed operations.
fn second(start_s: u64, failed: u64) -> Interval {
    let counts = SettledCounts {
        settled: 1_000 + failed,
        sent: 1_000 + failed,
        answered: 1_000,
        failed,
        ..SettledCounts::default()
    };
    Interval {
        start: Span::from_s(start_s),
        length: Span::from_s(1),
        counts,
        no_server: counts,
        response: [(Kind::All, Histogram::from_recorded([(1_000_000, 1_000)]))].into(),
        unanswered: [(Kind::All, failed)].into(),
        ..Interval::default()
    }
}

#[test]
fn conditions_are_judged_over_the_second_of_all_agents() {
    let conditions =
        |words: &[&str]| -> Vec<Goal> { words.iter().map(|word| word.parse().unwrap()).collect() };
    let all = |start_s: u64| Interval::merged(&[second(start_s, 0), second(start_s, 40)]).unwrap();
    let aborted = |second: &Interval, words: &[&str]| {
        second.aborted(&conditions(words), Span::from_s(5)).map(|aborted| aborted.condition)
    };
    // 4 % of one agent's operations fail, and 2 % of both together.
    assert_eq!(aborted(&second(6, 40), &["errors>3%"]).as_deref(), Some("errors>3%"));
    assert_eq!(aborted(&all(6), &["errors>3%"]), None);
    assert_eq!(aborted(&all(6), &["rate>9k", "errors>1%"]).as_deref(), Some("errors>1%"));
    assert_eq!(aborted(&all(6), &["rate<2100"]).as_deref(), Some("rate<2100"));
    assert_eq!(aborted(&all(6), &["rate<2k"]), None);
    // Unanswered operations rank above every answer.
    assert_eq!(aborted(&all(6), &["all.p99>9ms"]).as_deref(), Some("all.p99>9ms"));
    assert_eq!(aborted(&all(6), &["all.p95>9ms"]), None);
    // No abort in the first 5 s, or when the load is over.
    assert_eq!(aborted(&all(3), &["errors>1%"]), None);
    assert_eq!(aborted(&Interval { is_over: true, ..all(6) }, &["errors>1%"]), None);
    let told = all(4).aborted(&conditions(&["rate>1"]), Span::from_s(5)).unwrap();
    assert_eq!((told.after_s, told.measured), (5.0, Some(2_040.0)));
    // A rate in keys is judged in keys: 4 for each operation.
    let keyed = || Interval { keys_sent: Some(8_160), ..all(6) };
    assert_eq!(aborted(&keyed(), &["rate<8k"]), None);
    let told = keyed().aborted(&conditions(&["rate<8.2k"]), Span::from_s(5)).unwrap();
    assert_eq!((told.measured, &*told.why), (Some(8_160.0), "it was 8 160 keys/s"));
}

#[test]
fn the_status_line_can_be_told_of_seconds() {
    let mut load = LoadSoFar::new(Span::from_s(2), Some(Span::from_s(3)), None);
    let told: Vec<Progress> = (0..6).map(|at| load.after(&second(at, at % 2))).collect();
    let phases: Vec<(Phase, f64)> = told.iter().map(|it| (it.phase, it.elapsed_s)).collect();
    let (warmup, measure) = (Phase::Warmup, Phase::Measure);
    let expected = [
        (warmup, 1.0),
        (measure, 0.0),
        (measure, 1.0),
        (measure, 2.0),
        (Phase::Cooldown, 0.0),
        (Phase::Cooldown, 1.0),
    ];
    assert_eq!(phases, expected);
    assert_eq!(told[0].length_s, Some(2.0));
    assert_eq!((told[2].length_s, told[4].length_s), (Some(3.0), None));
    assert_eq!((told[5].done, told[5].unanswered), (6_000, 3));
    assert_eq!(told[3].rate_per_s, Some(1_000.0));
    assert_eq!(told[3].response_p99_ns, Some(1_000_000));
    let short = Interval { length: Span::ZERO, ..Interval::default() };
    assert_eq!(load.after(&short).rate_per_s, None);
}

#[test]
fn a_second_comes_as_it_was_sent() {
    for seed in 0..64 {
        let second = Seconds(Random::new(seed)).next();
        let back = Interval::from_bytes(&second.to_bytes());
        assert!(back.as_ref() == Ok(&second), "seed {seed}: {second:?} came as {back:?}");
    }
    let none = Interval::default();
    assert_eq!(Interval::from_bytes(&none.to_bytes()), Ok(none));
}

/// The error for a second after `change` was made to its JSON.
fn refused(change: impl Fn(&mut serde_json::Value)) -> String {
    let second = Interval {
        counts: SettledCounts { settled: 2, answered: 2, ..SettledCounts::default() },
        no_server: SettledCounts { settled: 2, answered: 2, ..SettledCounts::default() },
        response: [(Kind::All, Histogram::from_recorded([(1_000, 1), (90_000, 1)]))].into(),
        workers: vec![WorkerSecond::default()],
        ..Interval::default()
    };
    let mut value: serde_json::Value = serde_json::from_slice(&second.to_bytes()).unwrap();
    change(&mut value);
    Interval::from_bytes(&serde_json::to_vec(&value).unwrap()).unwrap_err()
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    let too_long = Interval::from_bytes(&vec![b' '; (4 << 20) + 1]).unwrap_err();
    assert!(too_long.contains("4194305 bytes long, more than 4194304"), "{too_long}");
    let cut = Interval::from_bytes(b"{\"start_ns\": 0").unwrap_err();
    assert!(cut.starts_with("it is not a second of the load: EOF"), "{cut}");
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 8] = [
        (|it| it["counts"]["answered"] = 3.into(), "2 operations ended, but their outcomes add up"),
        (|it| it["no_server"]["answered"] = 1.into(), "do not add up to those of all: 2 of 2"),
        (|it| it["counts"]["failed"] = u64::MAX.into(), "add up to more"),
        (|it| it["servers"] = 1.into(), "invalid type: integer `1`, expected a sequence"),
        (|it| it["workers"][0]["busy"] = (-0.5).into(), "a time is below zero"),
        (|it| it["response"]["all"]["count"] = 3.into(), "at response, all does not hold"),
        (|it| it["response"]["all"]["min"] = 95_000.into(), "at response, all does not hold"),
        (|it| it["response"]["all"]["histogram"] = "AAAA".into(), "at response, all does not hold"),
    ];
    for (change, expected) in cases {
        let sentence = refused(change);
        assert!(sentence.contains(expected), "{sentence} is not about {expected}");
    }
    let endless = Interval { start: Span::MAX, length: Span::from_ns(1), ..Interval::default() };
    let sentence = Interval::from_bytes(&endless.to_bytes()).unwrap_err();
    assert_eq!(sentence, "a second of the load ends at an impossible time");
}

#[test]
fn a_second_may_say_more_than_its_reader_knows() {
    let mut told: serde_json::Value = serde_json::from_slice(&second(3, 2).to_bytes()).unwrap();
    told["more"] = serde_json::json!({ "of": ["a", "newer", "agent"] });
    told["response"]["all"]["more"] = 1.into();
    let bytes = serde_json::to_vec(&told).unwrap();
    assert_eq!(Interval::from_bytes(&bytes), Ok(second(3, 2)));
}

#[test]
fn an_agents_part_has_the_figures_of_its_second() {
    let of = AgentSecond::of("berlin", &second(3, 2));
    assert_eq!(
        (of.name.as_str(), of.counts.answered, of.length),
        ("berlin", 1_000, Span::from_s(1))
    );
    // Two of 1 002 operations failed, and rank above the answers.
    assert_eq!((of.response_ns_p50, of.response_ns_p99), (Some(1_000_000), Some(1_000_000)));
    assert_eq!(AgentSecond::of("berlin", &second(3, 20)).response_ns_p99, None);
    assert_eq!((of.lag_ns_p99, of.busy, of.cpu_busy), (None, None, None));
}

#[test]
fn how_busy_a_worker_was_over_two_seconds_is_weighted_by_their_length() {
    let second = |start_s, length_s, busy| Interval {
        start: Span::from_s(start_s),
        length: Span::from_s(length_s),
        workers: vec![WorkerSecond { busy, ..WorkerSecond::default() }],
        ..Interval::default()
    };
    let mut sum = second(0, 1, Some(0.25));
    sum.then(&second(1, 3, Some(0.75)));
    assert_eq!((sum.length, sum.workers[0].busy), (Span::from_s(4), Some(0.625)));
    sum.then(&second(4, 1, None));
    assert_eq!(sum.workers[0].busy, None);
}
