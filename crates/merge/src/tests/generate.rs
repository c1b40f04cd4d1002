//! Random records from a seed: with something in every part, and every invariant of a record kept.

use memtide_base::{Random, Span};
use memtide_metrics::series::GetTimes;
use memtide_metrics::{Histogram, Row};
use memtide_record::*;
use memtide_scenario::{Kind, Scenario};
use std::collections::BTreeMap;

/// Beginning of these tests' day, in ns since 1970.
const DAY_NS: u64 = 1_700_000_000_123_456_789;

/// Random records. No two of them are equal.
pub(super) struct Generator(Random);

/// A random number for each counter.
macro_rules! totals_of {
    (
        told {
            $(
                $(#[doc = $doc:tt])* $(#[missing = $missing:ident])?
                $counter:ident => $count:ident: $of_server:ty
                $(, second $second:ident $meaning:literal)?;
            )*
        }
        untold $untold:tt
    ) => {
        fn totals(&mut self) -> Totals {
            Totals { $($count: self.below(1_000),)* ..Totals::default() }
        }
    };
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A fraction with all digits of a double.
    fn fraction(&mut self) -> f64 {
        memtide_base::rng::unit(self.0.bits())
    }

    pub(super) fn record(&mut self) -> Record {
        let measured = self.below(8) > 0;
        let window_ns = if measured { 1 + self.below(20_000_000_000) } else { 0 };
        let start_ns = DAY_NS + self.below(4) * self.below(15_000_000_000) + self.below(3);
        let start = (measured || self.below(2) == 0).then_some(Wide(u128::from(start_ns)));
        let phases = Phases {
            load: self.phase(),
            warmup: self.phase(),
            measure: self.phase(),
            cooldown: self.phase(),
        };
        let kinds = [Kind::All, Kind::Get, Kind::GetMiss, Kind::Set];
        let ended_by = [EndedBy::Duration, EndedBy::Operations, EndedBy::Interrupted];
        let results = [CheckResult::Failed, CheckResult::Passed, CheckResult::Skipped];
        let (result, busy) = (results[self.below(3) as usize], self.fraction());
        Record {
            partial: self.below(3) == 0,
            ended_by: ended_by[self.below(3) as usize],
            scenario: self.scenario(),
            plan: self.plan(),
            machine: machine(&["6.1", "6.9"][self.below(2) as usize..], 4 + self.below(2) as u32),
            started_unix_ms: start_ns / 1_000_000 - self.below(4),
            ended_unix_ms: (start_ns + window_ns) / 1_000_000 + self.below(4),
            window_start_unix_ns: start,
            window_ns,
            measured_s: Span::from_ns(window_ns).as_s_f64(),
            answered_until_s: (self.below(4) > 0).then(|| self.fraction() * 30.0),
            totals: phases.measure.totals.clone(),
            churn: (self.below(2) == 0).then(|| self.churn(&phases)),
            phases,
            servers: self.servers(),
            server: self.counters(),
            believable: believable(result, busy),
            rate: RateRecord {
                target_per_s: (self.below(5) > 0).then(|| self.fraction() * 1e5),
                ..RateRecord::default()
            },
            sent_in_window: self.names(&kinds[1..]),
            response: kinds.map(|kind| (kind, self.distribution(true))).into(),
            service: [(Kind::All, self.distribution(false))].into(),
            lag: [(Kind::Set, self.distribution(false))].into(),
            lag_split: LagSplit {
                generator: self.distribution(false),
                client_busy: self.distribution(false),
                server: self.distribution(false),
                disconnected: self.distribution(false),
            },
            client_delay: self.distribution(false),
            in_flight_at_send: Counts::of(&self.times(64)),
            outstanding_at_send: Counts::of(&self.times(8)),
            intervals: self.rows(window_ns, IntervalRecord::of),
            slices: self.rows(window_ns, SliceRecord::of),
            client: ClientRecord {
                cpu_user_s: (self.below(4) > 0).then(|| self.fraction()),
                cpu_system_s: (self.below(4) > 0).then(|| self.fraction()),
                rss_max_bytes: (self.below(4) > 0).then(|| self.below(1 << 30)),
                worker_busy: (0..self.below(3)).map(|_| self.fraction()).collect(),
                ..ClientRecord::default()
            },
            machine_cpu: (self.below(3) > 0).then(|| self.machine_cpu()),
            warnings: self.warnings(),
            ..Record::default()
        }
    }

    fn machine_cpu(&mut self) -> MachineCpu {
        MachineCpu {
            avg: self.fraction(),
            min: self.fraction(),
            max: self.fraction(),
            least_of_1s: (self.below(2) > 0).then(|| self.fraction()),
            most_of_1s: (self.below(2) > 0).then(|| self.fraction()),
            stolen: (self.below(2) > 0).then(|| self.fraction()),
            beside: None,
            throttled: (self.below(2) > 0).then(|| self.fraction()),
            server: None,
        }
    }

    fn scenario(&mut self) -> serde_json::Map<String, serde_json::Value> {
        let mut scenario = Scenario {
            seed: self.0.bits(),
            rate: (self.below(2) == 0).then_some(2e4),
            ..Scenario::default()
        };
        for goal in ["all.p50<1ms", "rate>=1000", "errors<1%"] {
            if self.below(2) == 0 {
                scenario.goals.push(goal.parse().unwrap());
            }
        }
        scenario.words()
    }

    fn plan(&mut self) -> PlanRecord {
        let names = ["a:11211", "b:11211", "c:11211"];
        let server = |name: &str, address: u64| PlannedServer {
            name: name.to_owned(),
            addresses: vec![format!("10.0.0.{address}:11211")],
        };
        let (first, count) = (self.below(3) as usize, 1 + self.below(3) as usize);
        let servers = (first..first + count).map(|at| server(names[at % 3], self.below(3)));
        PlanRecord {
            servers: servers.collect(),
            rate_per_s: (self.below(2) == 0).then(|| self.fraction() * 1e5),
            ops_max: (self.below(2) == 0).then(|| self.below(1_000)),
            workers: self.below(4) as u32,
            cpus: (0..self.below(3) as u32).collect(),
            connections: self.below(64) as u32,
            seed: self.0.bits(),
            why: [("threads".to_owned(), "it is so".to_owned())].into(),
            ..PlanRecord::default()
        }
    }

    memtide_metrics::counters!(totals_of);

    fn phase(&mut self) -> PhaseCounts {
        let mut totals = Totals {
            dropped: 2 + self.below(5),
            dropped_at_end: self.below(3),
            errors: self.names(&["closed".to_owned(), "server_error".to_owned()]),
            replies: self.names(&["stored".to_owned(), "values".to_owned()]),
            connections: ConnectionCounts {
                opened: self.below(50),
                failed: self.below(3),
                lost: self.below(3),
                handshakes_full: self.below(9),
                handshakes_resumed: self.below(9),
            },
            verification: VerificationCounts {
                checked: self.below(1_000),
                ok: self.below(1_000),
                corrupt: self.below(5),
                wrong_key: self.below(5),
                stale: self.below(5),
                truncated: self.below(5),
                verify_misses: self.below(5),
                expired_get: self.below(5),
                unexpired_unget: self.below(5),
            },
            datagrams: DatagramCounts {
                disordered: self.below(5),
                duplicate: self.below(2),
                late: self.below(5),
                lost: self.below(5),
                foreign: self.below(2),
            },
            ..self.totals()
        };
        totals.refused = totals.refused.min(totals.answered);
        totals.intended = totals.answered + totals.unanswered() + totals.unacknowledged;
        PhaseCounts { totals, ops: self.names(&[Kind::Get, Kind::Set]) }
    }

    fn churn(&mut self, phases: &Phases) -> ChurnRecord {
        let mut counts = || {
            let (completed, dropped, abandoned) = (self.below(500), self.below(5), self.below(5));
            let causes = self.names(&["refused".to_owned(), "reset".to_owned()]);
            let cause = |name: &str| causes.get(name).copied().unwrap_or(0);
            let (failed, lost) = (cause("refused"), cause("reset"));
            ChurnCounts {
                intended: completed + failed + lost + dropped + abandoned,
                started: self.below(500),
                opened: completed + lost,
                completed,
                failed,
                lost,
                dropped,
                abandoned,
                calls_not_made: self.below(99),
                causes,
            }
        };
        let [warmup, measure, cooldown] = [counts(), counts(), counts()];
        let unmade = warmup.calls_not_made + measure.calls_not_made + cooldown.calls_not_made;
        let calls_intended = ChurnRecord::calls_of(phases);
        ChurnRecord {
            target_per_s: (self.below(3) > 0).then(|| self.fraction() * 1e3),
            started_per_s: self.fraction() * 1e3,
            concurrent_max: self.below(100),
            warmup,
            measure,
            cooldown,
            connect: self.distribution(true),
            connect_service: self.distribution(false),
            connect_tcp: self.distribution(false),
            handshake: self.distribution(false),
            first_reply: self.distribution(false),
            lifetime: self.distribution(false),
            calls_planned: calls_intended + unmade,
            calls_intended,
        }
    }

    fn names<K: Clone + Ord>(&mut self, names: &[K]) -> BTreeMap<K, u64> {
        let some: Vec<K> = names.iter().filter(|_| self.below(4) > 0).cloned().collect();
        some.into_iter().map(|name| (name, self.below(100_000))).collect()
    }

    fn times(&mut self, bound: u64) -> Histogram<u64> {
        let mut times = Histogram::new();
        let count = self.below(3) * self.below(400);
        (0..count).for_each(|_| times.record(self.0.below(bound)));
        times
    }

    fn distribution(&mut self, ranked: bool) -> Distribution {
        let times = self.times(20_000_000_000);
        let timeout = Span::from_s(1 + self.below(5));
        if !ranked {
            return Distribution::of(&times, 0, timeout);
        }
        let (others, bounds) = (self.below(2) * self.below(40), self.times(timeout.ns()));
        Distribution::cut_off(&times, others + bounds.count(), timeout, &bounds)
    }

    fn servers(&mut self) -> Vec<ServerRecord> {
        let names = ["b:11211", "a:11211", "unplanned:1"];
        let count = self.below(4) as usize;
        let row = |name: &&str| ServerRecord {
            name: (*name).to_owned(),
            address: (self.below(4) > 0).then(|| format!("10.0.0.{}:1", self.below(2))),
            connections: self.below(64) as u32,
            totals: ServerTotals::of(
                self.phase().totals,
                &Totals { dropped: self.below(2), intended: self.below(2), ..Totals::default() },
            ),
            response: self.distribution(true),
            reconnects: Reconnects {
                lost: self.below(9),
                reconnected: self.below(9),
                disconnected_ns: self.below(1 << 40),
                disconnected_ns_max: self.below(1 << 35),
            },
            outages: self.away(),
            ..ServerRecord::default()
        };
        names[..count].iter().map(row).collect()
    }

    fn away(&mut self) -> Vec<Outage> {
        let count = self.below(4);
        let stretch = |_| {
            let from_unix_ms = self.below(100);
            let until = from_unix_ms + self.below(20);
            Outage { from_unix_ms, until_unix_ms: (self.below(5) > 0).then_some(until) }
        };
        Outage::united((0..count).map(stretch).collect())
    }

    fn counters(&mut self) -> ServerCounters {
        let mut side = || {
            let figures = [("cmd_get".to_owned(), Figure::Whole(self.below(1_000) as i64))];
            let named = [("a:11211".to_owned(), figures.into())];
            if self.below(3) > 0 { named.into() } else { BTreeMap::new() }
        };
        let (before, after) = (side(), side());
        let report = ServerReport {
            answers: self.below(9),
            sets: (self.below(2) == 0).then(|| self.below(1_000)),
            ..ServerReport::default()
        };
        let load = ServerLoad { report, why_unanswered: None };
        let during = (self.below(2) == 0).then(|| ("a:11211".to_owned(), load));
        let during = during.into_iter().collect();
        ServerCounters { during, ..ServerCounters::new(before, after) }
    }

    fn rows<T>(&mut self, window_ns: u64, of: fn(&Row, Span, Span) -> T) -> Vec<T> {
        let width = Span::from_ms([100, 500, 1_000][self.below(3) as usize]);
        let mut rows = Vec::new();
        let mut start = Span::ZERO;
        while start.ns() < window_ns {
            let length = width.min(Span::from_ns(window_ns).saturating_sub(start));
            let times = self.times(1_000_000);
            let row = Row {
                answered: times.count(),
                unanswered: self.below(3),
                hits: self.below(9),
                misses: self.below(9),
                response: times.recorded().collect(),
                intended: self.below(500),
                gets: (self.below(8) == 0).then(|| {
                    let mut gets = GetTimes::default();
                    gets.service.absorb_times(&self.times(1_000_000));
                    gets.response.absorb_times(&self.times(1_000_000));
                    gets.into()
                }),
            };
            rows.push(of(&row, start, length));
            start += width;
        }
        rows
    }

    fn warnings(&mut self) -> Vec<WarningRecord> {
        let warnings = [
            Warning::SampleOverflow { lost: self.below(2) },
            Warning::HistogramSaturated { count: self.below(9) },
            Warning::FileLimit { needed: 9, allowed: self.below(2) },
        ];
        warnings.iter().filter(|_| self.below(2) == 0).map(WarningRecord::from).collect()
    }
}

fn machine(kernel: &[&str], cpus: u32) -> MachineRecord {
    MachineRecord {
        os: "linux".to_owned(),
        kernel: kernel[0].to_owned(),
        architecture: "x86_64".to_owned(),
        cpus,
        cpus_allowed: 4,
        memtide_version: "0.1.0".to_owned(),
        ..MachineRecord::default()
    }
}

/// A verdict with one check, whose figure is `busy`.
pub(super) fn believable(result: CheckResult, busy: f64) -> Believable {
    let (code, message) = (CheckKind::WorkerBusy, format!("busy {busy}"));
    let (measured, allowed) = (Some(busy), Some(0.7));
    Believable::from_checks(vec![Check { code, result, message, measured, allowed }])
}

/// A run of the default scenario that began `start_ms` into the day: `length_s` seconds of 100
/// operations each, each of which took 1 ms.
pub(super) fn run(start_ms: u64, length_s: u64) -> Record {
    let start_ns = DAY_NS + start_ms * 1_000_000;
    let count = 100 * length_s;
    let times = |count: u64| {
        let mut times = Histogram::new();
        (0..count).for_each(|_| times.record(1_000_000));
        times
    };
    let row = Row {
        answered: 100,
        hits: 100,
        response: times(100).recorded().collect(),
        ..Row::default()
    };
    let second = Span::from_s(1);
    let totals = Totals { intended: count, answered: count, sent: count, ..Totals::default() };
    let all = Distribution::of(&times(count), 0, Span::from_s(5));
    let name = "a:11211".to_owned();
    let server = PlannedServer { name: name.clone(), addresses: Vec::new() };
    Record {
        scenario: Scenario::default().words(),
        plan: PlanRecord {
            servers: vec![server],
            rate_per_s: Some(100.0),
            workers: 2,
            connections: 16,
            seed: 1,
            ..PlanRecord::default()
        },
        machine: machine(&["6.1"], 4),
        started_unix_ms: start_ns / 1_000_000,
        ended_unix_ms: start_ns / 1_000_000 + length_s * 1_000,
        window_start_unix_ns: Some(Wide(u128::from(start_ns))),
        window_ns: length_s * 1_000_000_000,
        measured_s: length_s as f64,
        answered_until_s: Some(length_s as f64 + 0.001),
        totals: totals.clone(),
        phases: Phases {
            measure: PhaseCounts { totals: totals.clone(), ops: BTreeMap::new() },
            ..Phases::default()
        },
        servers: vec![ServerRecord {
            name,
            connections: 16,
            totals: ServerTotals::of(totals, &Totals::default()),
            response: all.clone(),
            ..ServerRecord::default()
        }],
        believable: believable(CheckResult::Passed, 0.2),
        rate: RateRecord {
            target_per_s: Some(100.0),
            achieved_per_s: 100.0,
            ..RateRecord::default()
        },
        sent_in_window: [(Kind::Get, count)].into(),
        response: [(Kind::All, all)].into(),
        in_flight_at_send: Counts::of(&times(count)),
        intervals: (0..length_s).map(|s| IntervalRecord::of(&row, second * s, second)).collect(),
        slices: (0..length_s).map(|s| SliceRecord::of(&row, second * s, second)).collect(),
        client: ClientRecord { worker_busy: vec![0.2, 0.1], ..ClientRecord::default() },
        ..Record::default()
    }
}
