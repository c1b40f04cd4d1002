//! How often goals are met or missed wrongly, against what queueing theory says of an endless run.
//! At or above its capacity, a server misses every goal.
//!
//! `cargo xtask proof verdicts` makes 200 runs of each world instead of a few, and prints them.

use super::belief::{number, say, seeds};
use crate::prelude::*;
use memtide_record::GoalResult;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Runs at a time.
const THREADS: usize = 2;

/// The capacity of the server, in operations per second.
const CAPACITY: u64 = 10_000;
/// Bounds, as parts of the figure of the law.
const PARTS: [f64; 4] = [1.0 / 3.0, 0.9, 1.1, 3.0];
const MEASURES: [(&str, f64); 5] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("mean", 0.0)];
/// The utilisation whose figures stand for those of a server that has none.
const STAND_IN: f64 = 0.8;
/// Wrong decisions of one direction that chance explains in 200 runs, if 2.5 % are allowed.
const WRONG_MAX: f64 = 11.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Mm1,
    Dd1,
}

/// One kind of run.
#[derive(Clone, Copy, Debug)]
struct Cell {
    law: Law,
    capacity: u64,
    utilisation: f64,
    seconds: u64,
}

/// Decisions about one goal.
#[derive(Clone, Copy, Debug, Default)]
struct Decided {
    met: u32,
    missed: u32,
}

impl Decided {
    fn count(&mut self, result: GoalResult) {
        match result {
            GoalResult::Met => self.met += 1,
            GoalResult::Missed => self.missed += 1,
            GoalResult::Undecided => {}
        }
    }
}

impl Cell {
    fn service_ns(self) -> f64 {
        1e9 / self.capacity as f64
    }

    /// The figure of the law at a utilisation below 1, in ns.
    fn figure_ns(self, p: f64, utilisation: f64) -> f64 {
        match self.law {
            Law::Dd1 => self.service_ns(),
            Law::Mm1 if p == 0.0 => self.service_ns() / (1.0 - utilisation),
            Law::Mm1 => -(1.0 - p).ln() * self.service_ns() / (1.0 - utilisation),
        }
    }

    /// Time in which a queue forgets how it began, five times over.
    fn warmup_s(self) -> f64 {
        let distance = (1.0 - self.utilisation.sqrt()).powi(2);
        (5.0 / (self.capacity as f64 * distance)).max(1.0)
    }

    /// The bounds of all goals, in ns, measure by measure.
    fn bounds(self) -> Vec<(&'static str, f64, f64)> {
        let utilisation = if self.utilisation < 1.0 { self.utilisation } else { STAND_IN };
        let of = |(name, p): (&'static str, f64)| {
            PARTS.map(|part| (name, part, part * self.figure_ns(p, utilisation)))
        };
        MEASURES.into_iter().flat_map(of).collect()
    }

    /// The results of all goals of one run, as a step of a search takes them.
    fn run(self, seed: u64) -> Vec<GoalResult> {
        let goals = self.bounds().into_iter();
        let goals = goals.map(|(name, _, ns)| format!("all.{name}<{ns:.0}ns"));
        let goals = goals.collect::<Vec<_>>().join(",");
        let (arrival, service) = match self.law {
            Law::Mm1 => ("poisson", "exponential"),
            Law::Dd1 => ("fixed", "fixed"),
        };
        let rate = self.utilisation * self.capacity as f64;
        let words = format!(
            "rate={rate} arrival={arrival} duration={}s warmup={:.3}s mix=get=1 load=never \
             connections=512 timeout=60s errors-max=1",
            self.seconds,
            self.warmup_s()
        );
        let world = World { keeps_samples: false, ..World::of(&words).seed(seed) };
        let world = world.behaviour(&format!("queue:1,{service}:{}ns", self.service_ns()));
        let record = world.with(&[("goal", &goals)]).rehearse().record;
        let results = record.goals.iter().map(|goal| match record.overload() {
            Some(_) => GoalResult::Missed,
            None => goal.result,
        });
        results.collect()
    }

    fn decided(self, runs: u64) -> Vec<Decided> {
        let next = AtomicU64::new(0);
        let all: Vec<u64> = seeds(runs).collect();
        let some = || {
            let mut results = Vec::new();
            while let Some(seed) = all.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                results.push(self.run(*seed));
            }
            results
        };
        let results = thread::scope(|scope| {
            let each = [0; THREADS].map(|_| scope.spawn(some));
            each.map(|it| it.join().expect("a run ends")).concat()
        });
        let mut decided = vec![Decided::default(); self.bounds().len()];
        for run in &results {
            decided.iter_mut().zip(run).for_each(|(decided, result)| decided.count(*result));
        }
        decided
    }

    /// Checks one row of goals, those of one measure; returns the wrong decisions of both kinds.
    fn check(self, name: &str, decided: &[Decided], runs: u64) -> [u32; 2] {
        let is_met = |part: f64| self.utilisation < 1.0 && part > 1.0;
        let wrong =
            PARTS.iter().zip(decided).fold([0, 0], |[met, missed], (part, of)| {
                match is_met(*part) {
                    true => [met, missed + of.missed],
                    false => [met + of.met, missed],
                }
            });
        let each = decided.iter().map(|of| format!("{:>3}/{:>3}", of.missed, of.met));
        let each = each.collect::<Vec<_>>().join(" ");
        let Self { law, capacity, utilisation, seconds } = self;
        say(&format!(
            "{law:?} {capacity}/s × {utilisation:<4} {seconds:>2} s {name:<5} missed/met by bound: \
             {each}; wrong {}/{}",
            wrong[1], wrong[0]
        ));
        let worst = |of: &dyn Fn(&Decided) -> u32, wrong: bool| {
            let those = PARTS.iter().zip(decided).filter(|(part, _)| is_met(**part) == wrong);
            those.map(|(_, decided)| of(decided)).max().unwrap_or(0)
        };
        let allowed = (WRONG_MAX * runs as f64 / 200.0).max(2.0);
        let worst = [worst(&|of| of.met, false), worst(&|of| of.missed, true)];
        assert!(
            worst.iter().all(|count| f64::from(*count) <= allowed),
            "{self:?} {name}: {worst:?}"
        );
        wrong
    }
}

fn cells() -> Vec<Cell> {
    let runs = number("MEMTIDE_BELIEF_RUNS", 0);
    let capacity = number("MEMTIDE_VERDICTS_CAPACITY", CAPACITY);
    let lengths = if runs > 0 { &[1, 2, 5, 10][..] } else { &[1][..] };
    let utilisations =
        if runs > 0 { &[0.5, 0.8, 0.95, 1.05, 1.5, 2.0][..] } else { &[0.8, 1.05][..] };
    let mut cells = Vec::new();
    for law in [Law::Mm1, Law::Dd1] {
        for &utilisation in utilisations {
            let of = |&seconds| Cell { law, capacity, utilisation, seconds };
            cells.extend(lengths.iter().map(of));
        }
    }
    cells
}

#[test]
fn goals_are_rarely_decided_wrongly_and_surely_where_the_figure_is_far_from_its_bound() {
    let runs = number("MEMTIDE_BELIEF_RUNS", 3);
    let mut pooled = [0; 2];
    let mut open = Vec::new();
    for cell in cells() {
        let decided = cell.decided(runs);
        for (at, (name, p)) in MEASURES.into_iter().enumerate() {
            let decided = &decided[at * PARTS.len()..(at + 1) * PARTS.len()];
            let wrong = cell.check(name, decided, runs);
            pooled = [pooled[0] + wrong[0], pooled[1] + wrong[1]];
            // Far from the bound: three times above, or a third.
            let beyond = cell.utilisation * (cell.capacity * cell.seconds) as f64 * (1.0 - p);
            let far = [(20.0, "missed", decided[0].missed), (100.0, "met", decided[3].met)];
            let far = far.into_iter().filter(|_| cell.utilisation <= STAND_IN);
            for (_, word, count) in far.filter(|(needed, ..)| beyond >= *needed) {
                if f64::from(count) < 0.99 * runs as f64 {
                    open.push(format!("{cell:?} {name}: {word} in {count} ({beyond:.0} beyond)"));
                }
            }
        }
    }
    open.iter().for_each(|line| say(&format!("far, and not always decided: {line}")));
    say(&format!("all together wrongly met {}, wrongly missed {}", pooled[0], pooled[1]));
}
