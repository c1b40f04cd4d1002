//! Seconds of the load out of a seed: they travel, and what cannot be one is refused.

use super::*;
use memtide_base::Random;

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
            // Some are longer than what a histogram tells apart.
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
            response: self.kinds(),
            service: self.kinds(),
            lag: self.kinds(),
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
                })
                .collect(),
        }
    }
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

/// What is said of a second in which `change` was made on its way.
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
    assert!(cut.starts_with("it is no second of the load: EOF"), "{cut}");
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 9] = [
        (|it| it["counts"]["answered"] = 3.into(), "2 operations ended, but their outcomes add up"),
        (|it| it["no_server"]["answered"] = 1.into(), "do not add up to those of all: 2 of 2"),
        (|it| it["counts"]["failed"] = u64::MAX.into(), "add up to more"),
        (|it| it["servers"] = 1.into(), "invalid type: integer `1`, expected a sequence"),
        (|it| it["workers"][0]["busy"] = (-0.5).into(), "a time is below zero"),
        (|it| it["response"]["all"]["count"] = 3.into(), "response.all does not hold what its"),
        (|it| it["response"]["all"]["min"] = 95_000.into(), "response.all does not hold what its"),
        (|it| it["response"]["all"]["histogram"] = "AAAA".into(), "response.all does not hold"),
        (|it| it["more"] = 1.into(), "unknown field `more`"),
    ];
    for (change, expected) in cases {
        let sentence = refused(change);
        assert!(sentence.contains(expected), "{sentence} is not about {expected}");
    }
    let endless = Interval { start: Span::MAX, length: Span::from_ns(1), ..Interval::default() };
    let sentence = Interval::from_bytes(&endless.to_bytes()).unwrap_err();
    assert_eq!(sentence, "a second of the load ends at an impossible time");
}
