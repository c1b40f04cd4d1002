//! How far a record's figures can be believed, through the whole simulator: intervals hold what
//! queueing theory says, slices of shares add up, and ranges hold what a punctual run measured.

use crate::agents::pair::Pair;
use crate::prelude::*;
use memtide_merge::Merging;
use memtide_metrics::Slice;
use memtide_metrics::slices::from_text;
use memtide_record::{ClockRecord, Distribution, Percentile, Wide};
use memtide_scenario::Measure;
use std::io::Write;

/// The number in this environment variable, or a small one.
pub(crate) fn number(name: &str, few: u64) -> u64 {
    let word = std::env::var(name).ok();
    word.map_or(few, |word| word.parse().unwrap_or_else(|_| panic!("{name}: '{word}'")))
}

/// The seeds of `runs` runs; `MEMTIDE_BELIEF_FROM` is the first one, if it is there.
pub(crate) fn seeds(runs: u64) -> Range<u64> {
    let from = number("MEMTIDE_BELIEF_FROM", 1);
    from..from + runs
}

/// All `worlds`, or the one whose place among them, counted from 0, `MEMTIDE_BELIEF_WORLD` says.
fn chosen<T>(worlds: Vec<T>) -> Vec<T> {
    let place = number("MEMTIDE_BELIEF_WORLD", u64::MAX);
    let is_chosen = |at: &(usize, T)| place == u64::MAX || at.0 as u64 == place;
    worlds.into_iter().enumerate().filter(is_chosen).map(|(_, world)| world).collect()
}

pub(crate) fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// The least share of runs that must hold if 93 % do: less 3.5 deviations of a binomial count.
pub(crate) fn least(runs: u64) -> f64 {
    0.93 - 3.5 * (0.95 * 0.05 / runs as f64).sqrt()
}

pub(crate) fn merged(shares: impl IntoIterator<Item = Record>) -> Record {
    let mut merging = Merging::new(Scenarios::Same);
    for record in shares {
        merging.add(record).unwrap_or_else(|error| panic!("{error:?}"));
    }
    merging.finish().unwrap_or_else(|error| panic!("{error:?}"))
}

/// The records of two shares that began together by one clock, each with a server of its own.
fn two_shares(world: impl Fn() -> World) -> [Record; 2] {
    [0, 1].map(|share| {
        let mut record = World { share: Some(Share::one(share, 2)), ..world() }.rehearse().record;
        record.clock = Some(ClockRecord {
            window_start_monotonic_ns: Some(Wide(7)),
            boot_id: Some("one".to_owned()),
            time_namespace: Some(1),
            synchronised: None,
            error_max_ns: None,
            reference: None,
        });
        record
    })
}

fn slices(record: &Record) -> Vec<Slice> {
    let slicing = record.slicing.as_ref().expect("slices are kept");
    assert_eq!(slicing.unusable, None);
    from_text(&slicing.response[&Kind::All], slicing.count as usize).expect("it is their text")
}

#[test]
fn the_slices_of_two_shares_add_up_exactly() {
    let shares = two_shares(|| {
        World::of("rate=4k duration=2s connections=8 mix=get=1 load=never")
            .behaviour("queue:1,exponential:200us")
            .seed(3)
    });
    let [mut sum, other] = [0, 1].map(|share: usize| slices(&shares[share]));
    for (slice, part) in sum.iter_mut().zip(&other) {
        slice.absorb(part);
    }
    let merged = merged(shares);
    assert_eq!(slices(&merged), sum);
    assert!(merged.rate.achieved_ci_low_per_s.is_some(), "they have an interval");
}

/// The law of a queue with one server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Queue {
    /// Poisson arrivals, exponential service.
    Mm1,
    /// Poisson arrivals, a fixed service time.
    Md1,
    /// Exponential service, and Poisson arrivals at 1.6 and .4 of the rate in turn, in phases whose
    /// number of steps is geometric.
    OnOff,
}

/// Who makes the load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    ByOne,
    /// Two agents have a server each.
    ByTwo,
    /// Two agents share a server.
    Beside,
}

impl Made {
    /// The record of a load in such a world.
    fn record(self, world: impl Fn() -> World) -> Record {
        match self {
            Self::ByOne => world().rehearse().record,
            Self::ByTwo => merged(two_shares(world)),
            Self::Beside => merged(Pair::of(world()).carry_out().records),
        }
    }
}

/// A queue at a utilisation, and who makes its load.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    queue: Queue,
    utilisation: f64,
    made: Made,
}

/// Mean service time of a queue, in ns.
const SERVICE_NS: f64 = 1e6;
/// The length of a step of on/off arrivals, and the mean number of steps of a phase.
const STEP_NS: f64 = 1e7;
const STEPS: u64 = 20;

/// The factor of the rate of each step of on/off arrivals.
fn steps(seed: u64) -> impl Iterator<Item = f64> {
    let mut random = Random::new(seed ^ 0x0F0F);
    let mut is_on = random.below(2) == 0;
    std::iter::repeat_with(move || {
        is_on ^= random.below(STEPS) == 0;
        if is_on { 1.6 } else { 0.4 }
    })
}

impl Loaded {
    fn run(&self, seed: u64, seconds: u64) -> Record {
        let parts = if self.made == Made::ByTwo { 2.0 } else { 1.0 };
        let rate = self.utilisation * 1e9 / SERVICE_NS * parts;
        let load = match self.queue {
            Queue::Mm1 | Queue::Md1 => format!("rate={rate}"),
            Queue::OnOff => {
                let count = ((seconds + 2) as f64 * 1e9 / STEP_NS) as usize;
                let rates = steps(seed).take(count).map(|factor| (factor * rate).to_string());
                let rates = rates.collect::<Vec<_>>().join(",");
                format!("wave=step:{rates}@{}ms", STEP_NS / 1e6)
            }
        };
        let words = format!(
            "{load} arrival=poisson duration={seconds}s warmup=2s mix=get=1 load=never \
             connections=512 timeout=60s"
        );
        let law = if self.queue == Queue::Md1 { "fixed" } else { "exponential" };
        let world = || World {
            keeps_samples: false,
            ..World::of(&words).behaviour(&format!("queue:1,{law}:1ms")).seed(seed)
        };
        self.made.record(world)
    }

    /// p50, p90, p99 and mean of the response time in ns, and the rate.
    fn truth(&self) -> [f64; 5] {
        let parts = if self.made == Made::ByTwo { 2.0 } else { 1.0 };
        let rate = self.utilisation * 1e9 / SERVICE_NS * parts;
        let [p50, p90, p99, mean] = match self.queue {
            Queue::Mm1 => {
                let mean = SERVICE_NS / (1.0 - self.utilisation);
                let [p50, p90, p99] = [0.5f64, 0.1, 0.01].map(|above| -above.ln() * mean);
                [p50, p90, p99, mean]
            }
            Queue::Md1 => {
                let per_ns = self.utilisation / SERVICE_NS;
                let [p50, p90, p99] = [0.5, 0.9, 0.99]
                    .map(|p| SERVICE_NS + super::m_d_1_wait_quantile(per_ns, SERVICE_NS, p));
                let wait = self.utilisation * SERVICE_NS / (2.0 * (1.0 - self.utilisation));
                [p50, p90, p99, SERVICE_NS + wait]
            }
            Queue::OnOff => recursed(self.utilisation),
        };
        [p50, p90, p99, mean, rate]
    }
}

/// p50, p90, p99 and mean of the response time in ns of on/off arrivals, by Lindley's recursion:
/// an operation waits for as long as the one before it was there after it came.
fn recursed(utilisation: f64) -> [f64; 4] {
    let mut random = Random::new(77);
    let mut exponential = |mean: f64| -mean * (1.0 - random.unit()).ln();
    let (mut times, mut response, mut last) = (Vec::new(), 0.0f64, 0.0);
    for (number, factor) in steps(78).take(1_500_000).enumerate() {
        let gap = SERVICE_NS / (utilisation * factor);
        let (begin, end) = (number as f64 * STEP_NS, (number + 1) as f64 * STEP_NS);
        // A Poisson process has no memory, so each step begins anew.
        let mut at = begin + exponential(gap);
        while at < end {
            response = (response - (at - last)).max(0.0) + exponential(SERVICE_NS);
            times.push(response);
            (last, at) = (at, at + exponential(gap));
        }
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_unstable_by(f64::total_cmp);
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|p| times[(times.len() as f64 * p) as usize]);
    [p50, p90, p99, mean]
}

/// The intervals of p50, p90, p99, mean and rate.
fn intervals(record: &Record) -> [Option<[f64; 2]>; 5] {
    let of = |measure| record.response_figure(Kind::All, measure)?.interval;
    let [p50, p90, p99] = [50.0, 90.0, 99.0].map(|percent| of(Measure::Percentile(percent)));
    [p50, p90, p99, of(Measure::Mean), record.rate_figure().interval]
}

/// With `MEMTIDE_BELIEF_RUNS=50`, each run is as long as 100 000 operations take.
#[test]
fn intervals_hold_what_queueing_theory_says() {
    let runs = number("MEMTIDE_BELIEF_RUNS", 4);
    let seconds = if runs < 50 { 20 } else { 120 };
    for (queue, utilisation, made) in chosen(vec![
        (Queue::Mm1, 0.5, Made::ByOne),
        (Queue::Mm1, 0.7, Made::ByOne),
        (Queue::Mm1, 0.8, Made::ByOne),
        (Queue::Md1, 0.5, Made::ByOne),
        (Queue::Md1, 0.8, Made::ByOne),
        (Queue::OnOff, 0.5, Made::ByOne),
        (Queue::Mm1, 0.5, Made::ByTwo),
        (Queue::Mm1, 0.5, Made::Beside),
    ]) {
        let loaded = Loaded { queue, utilisation, made };
        let (truth, mut held, mut printed) = (loaded.truth(), [0.0; 5], [0.0; 5]);
        for seed in seeds(runs) {
            let each = intervals(&loaded.run(seed, seconds)).into_iter().zip(truth);
            for (at, (interval, truth)) in each.enumerate() {
                let Some([low, high]) = interval else { continue };
                printed[at] += 1.0;
                held[at] += f64::from(u8::from(low <= truth && truth <= high));
            }
        }
        say(&format!("{loaded:?}: held {held:?} of {printed:?}"));
        for (at, (held, printed)) in held.into_iter().zip(printed).enumerate() {
            // On/off arrivals are a wave here, against which its rate is judged, not their mean.
            if queue == Queue::OnOff && at == 4 {
                continue;
            }
            // p99 of a short run may have too few effective operations.
            assert!(held >= least(runs) * printed, "{loaded:?}: figure {at} holds in {held}");
            let few = at == 2 || queue == Queue::OnOff;
            assert!(few || printed >= 0.9 * runs as f64, "{loaded:?}: figure {at} {printed}");
        }
    }
}

/// A world whose workers are late: how many there are, who is paused, how long and how often, and
/// the work that each event takes.
struct Late {
    name: &'static str,
    /// How the server behaves; its mean service time is 100 µs.
    server: &'static str,
    workers: u16,
    who: Range<u16>,
    every: Span,
    length: Span,
    kind: PauseKind,
    work_us: u64,
    utilisation: f64,
    made: Made,
}

impl Late {
    /// Long enough for a p99.9 where many runs are asked for.
    fn seconds() -> u64 {
        if number("MEMTIDE_BOUND_RUNS", 1) > 1 { 20 } else { 4 }
    }

    fn world(&self, seed: u64, is_late: bool) -> World {
        let servers = if self.made == Made::ByTwo { 2.0 } else { 1.0 };
        let rate = self.utilisation * 1e4 * servers;
        let words = format!(
            "rate={rate} arrival=poisson duration={}s mix=get=1 load=never timeout=60s \
             connections=64 threads={}",
            Self::seconds(),
            self.workers
        );
        let mut world = World::of(&words).behaviour(self.server).seed(seed);
        world.keeps_samples = false;
        if is_late {
            world.work = Span::from_us(self.work_us);
            let pauses = Self::seconds() * 1_000_000_000 / self.every.ns();
            let mut random = Random::new(seed);
            for nth in 0..pauses {
                let jitter = Span::from_ns(random.below(self.every.ns() / 2));
                let from = self.every * nth + jitter;
                world.pauses.extend(self.who.clone().map(|worker| WorkerPause {
                    worker,
                    from,
                    length: self.length,
                    kind: self.kind,
                }));
            }
        }
        world
    }

    fn record(&self, seed: u64, is_late: bool) -> Record {
        let world = || self.world(seed, is_late);
        self.made.record(world)
    }
}

/// The worlds: pauses stop sending and reading alike.
fn late_worlds() -> Vec<Late> {
    let pauses = [
        ("60 µs each 3 ms", 3_000, 60, PauseKind::OtherThreads),
        ("1 ms each 50 ms", 50_000, 1_000, PauseKind::OtherThreads),
        ("4 ms each 1 s", 1_000_000, 4_000, PauseKind::Stopped),
        ("hog: 10 ms each 100 ms", 100_000, 10_000, PauseKind::OtherThreads),
        ("steal: 2 ms each 500 ms", 500_000, 2_000, PauseKind::Steal),
    ];
    let case = |(name, every, length, kind), workers, who, utilisation| Late {
        name,
        server: "queue:1,exponential:100us",
        workers,
        who,
        every: Span::from_us(every),
        length: Span::from_us(length),
        kind,
        work_us: 0,
        utilisation,
        made: Made::ByOne,
    };
    let one = pauses.iter().map(|of| case(*of, 1, 0..1, 0.2));
    let two = pauses.iter().map(|of| case(*of, 2, 0..1, 0.2));
    let four = pauses[..3].iter().map(|of| case(*of, 4, 1..2, 0.7));
    let slow = [5, 20].map(|work_us| Late { work_us, ..case(pauses[2], 1, 0..0, 0.2) });
    let shares =
        pauses[1..3].iter().map(|of| Late { made: Made::ByTwo, ..case(*of, 1, 0..1, 0.5) });
    let beside = pauses.iter().map(|of| Late { made: Made::Beside, ..case(*of, 1, 0..1, 0.5) });
    // Answers that a server holds back leave together, as those of one that answers in batches.
    let batches =
        [(0, 1, 0.2), (1, 1, 0.2), (3, 2, 0.5)].map(|(pause, workers, utilisation)| Late {
            server: "queue:1,exponential:100us+pause:2ms,1ms",
            ..case(pauses[pause], workers, 0..1, utilisation)
        });
    let all = one.chain(two).chain(four).chain(slow).chain(shares).chain(batches).chain(beside);
    all.collect()
}

/// The range of each figure holds what a punctual run of the same arrivals measured, in 95 % of the
/// runs, and none is wrongly a yes. A range from 0 says only how slow the server was at most, and
/// is counted apart.
#[test]
fn ranges_hold_what_a_punctual_run_measures() {
    let runs = number("MEMTIDE_BOUND_RUNS", 1);
    let figures = [(Percentile::P50, 50.0), (Percentile::P99, 99.0), (Percentile::P999, 99.9)];
    let worlds = chosen(late_worlds());
    let few = if runs > 1 { worlds.len() } else { 3 };
    for late in worlds.into_iter().step_by(if runs > 1 { 1 } else { 5 }).take(few) {
        let mut of: [[u64; 5]; 3] = Default::default();
        for seed in seeds(runs) {
            let (truth, record) = (late.record(seed, false), late.record(seed, true));
            let truth: &Distribution = &truth.response[&Kind::All];
            for ((percentile, percent), counts) in figures.into_iter().zip(&mut of) {
                let measure = Measure::Percentile(percent);
                let graded = record.response_figure(Kind::All, measure).expect("it is there");
                let (Some(truth), Some([low, high])) = (truth.percentile(percentile), graded.range)
                else {
                    continue;
                };
                // The truth is the middle of a bucket.
                let bucket = truth as f64 / 128.0;
                let holds = low <= truth as f64 + bucket && truth as f64 - bucket <= high;
                let is_spoiled = record.believable.verdict == Verdict::No;
                let is_yes = !is_spoiled && graded.grade.to_string() == "yes";
                let is_stated = !is_spoiled && graded.grade.to_string() != "no";
                let of = [true, holds, is_yes && !holds, is_stated && !holds, low == 0.0];
                counts.iter_mut().zip(of).for_each(|(count, is)| *count += u64::from(is));
            }
        }
        let (name, workers) = (late.name, late.workers);
        let more = format!("work {} µs, {:?}, {}", late.work_us, late.made, late.server);
        say(&format!(
            "{name}, {workers} workers, load {}, {more}: [ranges, hold, false yes, false range, \
             from 0] of p50, p99, p99.9 {of:?}",
            late.utilisation
        ));
        for [ranges, holds, false_yes, ..] in of {
            assert!(false_yes == 0, "{name}: {false_yes} false yes");
            assert!(holds as f64 >= 0.95 * ranges as f64, "{name}: {holds}");
        }
    }
}

/// A closed loop asks less while it is late, so no figure of it is a yes if one of its workers was
/// late for more than 1 % of the time.
#[test]
fn a_closed_loop_with_a_late_worker_has_no_yes() {
    let pauses = [(50_000, 1_000), (100_000, 4_000), (100_000, 10_000)];
    for (every, length) in pauses {
        for workers in [2, 4] {
            let late = Late {
                name: "closed loop",
                server: "exponential:100us",
                workers,
                who: 0..1,
                every: Span::from_us(every),
                length: Span::from_us(length),
                kind: PauseKind::OtherThreads,
                work_us: 0,
                utilisation: 0.5,
                made: Made::ByOne,
            };
            let figures = |is_late: bool| {
                let mut world = late.world(7, is_late);
                world.words.retain(|(field, _)| !["rate", "arrival"].contains(field));
                let record = world.rehearse().record;
                let grade = |percent| {
                    let measure = Measure::Percentile(percent);
                    record
                        .response_figure(Kind::All, measure)
                        .expect("it is there")
                        .grade
                        .to_string()
                };
                [50.0, 99.0].map(grade)
            };
            assert!(figures(false).contains(&"yes".to_owned()), "{:?}", figures(false));
            let late = figures(true);
            assert!(!late.contains(&"yes".to_owned()), "{every} {length} {workers}: {late:?}");
        }
    }
}
