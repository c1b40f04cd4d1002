//! Whose delay it was: stalls of a server are not memtide's, and stalls of workers are, also where
//! the server stalls beside them. Each seed draws a world.

use super::belief::{merged, number, say, seeds};
use crate::agents::pair::Pair;
use crate::prelude::*;
use memtide_record::{Distribution, GradedFigure, Percentile};
use memtide_scenario::Measure;
use memtide_sim::Stretch;

/// The largest share of a figure that may be called memtide's if none is.
const SHARE_MAX: f64 = 0.02;

/// Who makes the load.
#[derive(Clone, Copy, Debug)]
enum Made {
    By(u16),
    /// Two agents that share a server.
    ByAgents,
}

/// How workers stall.
#[derive(Clone, Copy, Debug)]
enum Planted {
    /// One of them, for this reason.
    One(PauseKind),
    /// Each at an instant of its own.
    Each(PauseKind),
    /// All at once, and no kernel says so.
    Machine,
}

/// A load, and the length and the distance of stalls, of the server or of workers.
#[derive(Clone, Copy, Debug)]
struct Stalls {
    seed: u64,
    length: Span,
    every: Span,
    rate: f64,
    made: Made,
    /// How the server behaves beside its stalls.
    server: &'static str,
    /// True if requests that arrive in a server's stall are read after it, and false if they are
    /// carried out and all answers leave at its end.
    reads_later: bool,
}

/// The seeds of a few short runs. Those of 40, 49 and 50 were called memtide's when the replies of
/// a stall were drawn as the others.
const FEW: [u64; 6] = [5, 24, 40, 49, 50, 53];

/// True if many runs are asked for; the few others are short.
fn is_proof() -> bool {
    number("MEMTIDE_BLAME_RUNS", 0) > 0
}

/// The seeds of the runs that are asked for, or of a few.
fn worlds() -> Vec<u64> {
    match number("MEMTIDE_BLAME_RUNS", 0) {
        0 => FEW.to_vec(),
        runs => seeds(runs).collect(),
    }
}

impl Stalls {
    /// Those of a seed: of 5, 20 or 200 ms, every .2 to 5 s, at 1 000 to 50 000/s.
    fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xB1A3E);
        let length_ms = [5, 20, 200][random.below(3) as usize];
        let (every_s, rate) = (0.2 * 25f64.powf(random.unit()), 1e3 * 50f64.powf(random.unit()));
        let made = [Made::By(1), Made::By(2), Made::By(4), Made::ByAgents];
        let servers = ["queue:1,fixed:10us", "queue:1,exponential:10us", "exponential:30us"];
        Self {
            seed,
            length: Span::from_ms(length_ms),
            every: Span::from_s_f64(every_s.max(length_ms as f64 * 2.5e-3)),
            rate: if is_proof() { rate } else { rate.min(12e3) },
            made: made[random.below(4) as usize],
            server: servers[random.below(3) as usize],
            reads_later: random.below(2) == 0,
        }
    }

    fn seconds(&self) -> u64 {
        let (least, stalls) = if is_proof() { (10.0, 4.0) } else { (2.0, 2.0) };
        (self.every.as_s_f64() * stalls).max(least).ceil() as u64
    }

    /// Instants of stalls, counted from the load's beginning.
    fn instants(&self, random: &mut Random) -> Vec<Span> {
        let jitter_ns = (self.every.ns() - self.length.ns()) / 2;
        let count = self.seconds() * 1_000_000_000 / self.every.ns();
        let mut at = |nth| self.every * nth + Span::from_ns(random.below(jitter_ns));
        (0..=count).map(&mut at).collect()
    }

    /// Stalls as stretches of the world's time.
    fn stretches(&self, random: &mut Random) -> Vec<Stretch> {
        let instants = self.instants(random).into_iter();
        let from = instants.map(|at| Instant::ZERO + Span::from_s(1) + at);
        from.map(|from| Stretch { from, to: from + self.length }).collect()
    }

    /// A world whose server stalls or not, and whose workers do or not.
    fn world(&self, server_stalls: bool, planted: Option<Planted>) -> World {
        let workers = if let Made::By(workers) = self.made { workers } else { 1 };
        let (rate, seconds) = (self.rate, self.seconds());
        let words = format!(
            "rate={rate} arrival=poisson duration={seconds}s warmup=1s mix=get=1 load=never \
             timeout=60s connections=64 depth=4096 threads={workers}"
        );
        let (every_us, length_us) = (self.every.ns() / 1_000, self.length.ns() / 1_000);
        let behaviour = match server_stalls && !self.reads_later {
            true => format!("{}+pause:{every_us}us,{length_us}us", self.server),
            false => self.server.to_owned(),
        };
        let mut world = World::of(&words).behaviour(&behaviour).seed(self.seed);
        world.keeps_samples = false;
        let mut random = Random::new(self.seed);
        if server_stalls && self.reads_later {
            world.script.server_stops = self.stretches(&mut random);
        }
        // Other instants than the server's.
        let mut random = Random::new(self.seed + 1);
        let stalled: Vec<(u16, PauseKind)> = match planted {
            None => Vec::new(),
            Some(Planted::One(kind)) => vec![(0, kind)],
            Some(Planted::Each(kind)) => (0..workers).map(|worker| (worker, kind)).collect(),
            Some(Planted::Machine) => {
                world.script.worker_stops = self.stretches(&mut random);
                Vec::new()
            }
        };
        for (worker, kind) in stalled {
            let instants = self.instants(&mut random).into_iter();
            let pause = |from| WorkerPause { worker, from, length: self.length, kind };
            world.pauses.extend(instants.map(pause));
        }
        world
    }

    fn record(&self, server_stalls: bool, planted: Option<Planted>) -> Record {
        let world = self.world(server_stalls, planted);
        match self.made {
            Made::By(_) => world.rehearse().record,
            Made::ByAgents => merged(Pair::of(world).carry_out().records),
        }
    }
}

/// A figure of all response times, with memtide's own share of it.
fn figure(record: &Record, measure: Measure) -> GradedFigure {
    record.response_figure(Kind::All, measure).expect("operations were answered")
}

/// The share of a figure that memtide called its own; all of it if that is unknown.
fn share(record: &Record, measure: Measure) -> f64 {
    figure(record, measure).own.unwrap_or(1.0)
}

fn says_late(record: &Record) -> bool {
    record.warnings.iter().any(|warning| warning.code == "generator_late")
}

const P99: Measure = Measure::Percentile(99.0);

/// With `MEMTIDE_BLAME_RUNS=300`, long runs of 300 worlds.
#[test]
fn a_stall_of_the_server_is_not_memtides() {
    let worlds = worlds();
    let (runs, mut late, mut above, mut most) = (worlds.len(), 0, 0, [0.0f64; 2]);
    for seed in worlds {
        let stalls = Stalls::of(seed);
        let record = stalls.record(true, None);
        let shares = [P99, Measure::Mean].map(|measure| share(&record, measure));
        let is_wrong = shares.iter().any(|share| *share > SHARE_MAX);
        if is_wrong || says_late(&record) {
            say(&format!("seed {seed}: shares {shares:?}, {stalls:?}"));
        }
        late += u32::from(says_late(&record));
        above += u32::from(is_wrong);
        most = [0, 1].map(|at| most[at].max(shares[at]));
    }
    say(&format!(
        "server stalls: of {runs} runs, generator_late in {late}, a share above 2 % in {above}; \
         the largest of p99 {:.4}, of the mean {:.4}",
        most[0], most[1]
    ));
    assert_eq!((late, above), (0, 0), "generator_late, shares above 2 %");
}

/// What memtide said of a figure of a run whose workers stalled.
#[derive(Debug, Default)]
struct Judged {
    figures: u64,
    /// Those whose share is right within a factor of 2, or within two points.
    right: u64,
    /// Those whose share is not below half of the true one, or is so by at most two points.
    not_hidden: u64,
    false_yes: u64,
}

impl Judged {
    fn add(&mut self, measure: Measure, truth: &Distribution, record: &Record) -> bool {
        let figure = figure(record, measure);
        let true_value = match measure {
            Measure::Mean => truth.mean_ns,
            _ => truth.percentile(Percentile::P99).map(|ns| ns as f64),
        };
        let (Some(value), Some(true_value)) = (figure.value, true_value) else { return true };
        let (said, real) = (share(record, measure), (1.0 - true_value / value).max(0.0));
        let is_hidden = said < real / 2.0 - SHARE_MAX;
        let is_right = !is_hidden && said <= real * 2.0 + SHARE_MAX;
        // The truth is the middle of a bucket.
        let is_yes = figure.grade.to_string() == "yes";
        let is_false = is_yes && figure.range.is_some_and(|[low, _]| true_value < low * 0.992);
        self.figures += 1;
        self.right += u64::from(is_right);
        self.not_hidden += u64::from(!is_hidden);
        self.false_yes += u64::from(is_false || is_yes && real > 0.06);
        if !is_right || is_false {
            let name = figure.name();
            say(&format!("{name} {}: share {said:.4}, in truth {real:.4}", figure.grade));
        }
        is_right && !is_false
    }
}

/// The measured figures are compared with those of a run of the same arrivals whose workers do not
/// stall. With `MEMTIDE_BLAME_RUNS=300`, long runs of 300 worlds.
#[test]
fn a_stall_of_workers_is_memtides_also_beside_those_of_the_server() {
    for server_stalls in [false, true] {
        let mut of: [Judged; 2] = Default::default();
        for seed in worlds() {
            let stalls = Stalls::of(seed);
            let kinds = [PauseKind::OtherThreads, PauseKind::Stopped, PauseKind::Steal];
            let kind = kinds[(seed / 3 % 3) as usize];
            let planted = [Planted::One(kind), Planted::Each(kind), Planted::Machine];
            let planted = planted[(seed % 3) as usize];
            let truth = stalls.record(server_stalls, None);
            let record = stalls.record(server_stalls, Some(planted));
            let truth = &truth.response[&Kind::All];
            let each = [P99, Measure::Mean].into_iter().zip(&mut of);
            let right: Vec<bool> =
                each.map(|(measure, judged)| judged.add(measure, truth, &record)).collect();
            if right.contains(&false) {
                say(&format!("  {planted:?}, {stalls:?}"));
            }
        }
        say(&format!("worker stalls, server stalls {server_stalls}: p99 and mean {of:?}"));
        for judged in of {
            assert_eq!(judged.false_yes, 0, "{judged:?}");
            // A binomial count of 95 % less 2.6 deviations.
            let figures = judged.figures as f64;
            let least = (figures * 0.95 - 2.6 * (figures * 0.05 * 0.95).sqrt()) as u64;
            assert!(judged.not_hidden >= least, "{judged:?}");
            // Beside stalls of the server the bound is wide: what memtide may have delayed is not
            // told apart from what it did delay.
            assert!(server_stalls || judged.right >= least, "{judged:?}");
        }
    }
}
