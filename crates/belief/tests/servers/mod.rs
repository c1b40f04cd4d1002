//! Simulated single servers with known true percentiles: each operation waits for those before it
//! (Lindley's recursion). At 10 000 operations per second.

use crate::random::Random;
use memtide_metrics::slices::coarse;
use memtide_metrics::{Histogram, Slice};

pub(crate) const RATE_PER_S: f64 = 10_000.0;
/// Mean time between operations, in ns.
const GAP_NS: f64 = 1e9 / RATE_PER_S;
/// Part of a run before it is measured.
const WARM: f64 = 0.2;
/// Mean length of a phase of the on/off load, in ns, and its two rates.
const PHASE_NS: f64 = 20e6;
const PHASES: [f64; 2] = [0.4, 1.6];
/// A server that stalls: for how long, and the mean time between, in ns.
const STALL_NS: f64 = 20e6;
const BETWEEN_STALLS_NS: f64 = 1e9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Model {
    /// Poisson arrivals, constant service.
    Md1,
    /// Poisson arrivals, exponential service.
    Mm1,
    /// Arrivals at 1.6 and 0.4 of the rate in exponential phases, exponential service.
    OnOff,
    /// M/M/1 that stands still for 20 ms, about each second.
    Stall,
}

pub(crate) const ALL: [(Model, f64); 16] = [
    (Model::Md1, 0.5),
    (Model::Md1, 0.7),
    (Model::Md1, 0.8),
    (Model::Md1, 0.9),
    (Model::Mm1, 0.5),
    (Model::Mm1, 0.7),
    (Model::Mm1, 0.8),
    (Model::Mm1, 0.9),
    (Model::OnOff, 0.5),
    (Model::OnOff, 0.7),
    (Model::OnOff, 0.8),
    (Model::OnOff, 0.9),
    (Model::Stall, 0.5),
    (Model::Stall, 0.7),
    (Model::Stall, 0.8),
    (Model::Stall, 0.9),
];

/// p50, p90, p99, p99.9 and mean in ns, of 4.8 · 10⁸ simulated operations each.
const LONG: [(Model, f64, [f64; 5]); 8] = [
    (Model::OnOff, 0.5, [1.2618e5, 4.976e5, 1.0475e6, 1.5974e6, 2.0416e5]),
    (Model::OnOff, 0.7, [1.8485e6, 7.5788e6, 1.5674e7, 2.3616e7, 3.0041e6]),
    (Model::OnOff, 0.8, [5.8155e6, 2.2136e7, 4.5058e7, 6.7336e7, 8.9911e6]),
    (Model::OnOff, 0.9, [1.8465e7, 6.5537e7, 1.3261e8, 2.0043e8, 2.7502e7]),
    (Model::Stall, 0.5, [73_454.0, 2.753e5, 1.5255e7, 1.9885e7, 5.018e5]),
    (Model::Stall, 0.7, [1.7843e5, 7.6001e5, 1.7865e7, 2.4889e7, 9.3216e5]),
    (Model::Stall, 0.8, [3.2327e5, 1.9465e6, 1.9657e7, 3.2842e7, 1.5143e6]),
    (Model::Stall, 0.9, [8.7633e5, 1.3304e7, 3.0352e7, 4.7694e7, 3.5262e6]),
];

#[derive(Clone, Copy)]
pub(crate) struct Server {
    pub(crate) model: Model,
    pub(crate) utilisation: f64,
}

/// The response times of one run.
pub(crate) struct Run {
    pub(crate) whole: Histogram<u64>,
    pub(crate) slices: Vec<Slice>,
}

/// The numbers of one stream.
fn random(seed: u64, stream: u64) -> Random {
    let seed = (seed.wrapping_mul(7_919)).wrapping_add(104_729 * stream).wrapping_add(12_345);
    Random(seed.wrapping_mul(0xD134_2543_DE82_EF95))
}

/// Instants of arrivals, in ns.
struct Arrivals {
    random: Random,
    at: f64,
    /// The present phase of the on/off load and its end; none for a steady load.
    phase: Option<(usize, f64)>,
}

impl Arrivals {
    fn next(&mut self) -> f64 {
        let Some((mut phase, mut until)) = self.phase else {
            self.at += self.random.exponential(GAP_NS);
            return self.at;
        };
        let mut need = self.random.exponential(GAP_NS);
        while need > (until - self.at) * PHASES[phase] {
            need -= (until - self.at) * PHASES[phase];
            (self.at, phase) = (until, 1 - phase);
            until = self.at + self.random.exponential(PHASE_NS);
        }
        self.at += need / PHASES[phase];
        self.phase = Some((phase, until));
        self.at
    }
}

/// The stalls of a server, by its work clock, which stands still in a stall.
struct Stalls {
    random: Random,
    /// Instants of the work clock at which stalls begin.
    begins: Vec<f64>,
    arrived: usize,
    departed: usize,
}

impl Stalls {
    fn begin(&mut self, number: usize) -> f64 {
        while self.begins.len() <= number {
            let last = self.begins.last().copied().unwrap_or(0.0);
            self.begins.push(last + self.random.exponential(BETWEEN_STALLS_NS));
        }
        self.begins[number]
    }

    /// The work clock at `instant`; instants ascend.
    fn work_clock(&mut self, instant: f64) -> f64 {
        loop {
            let begin = self.begin(self.arrived);
            let before = self.arrived as f64 * STALL_NS;
            if instant < begin + before {
                return instant - before;
            }
            if instant < begin + before + STALL_NS {
                return begin;
            }
            self.arrived += 1;
        }
    }

    /// The instant at which the work clock is at `work`; these ascend.
    fn instant(&mut self, work: f64) -> f64 {
        while work > self.begin(self.departed) {
            self.departed += 1;
        }
        work + self.departed as f64 * STALL_NS
    }
}

impl Server {
    /// True p50, p90, p99, p99.9 and mean of the response time, in ns.
    pub(crate) fn truth(&self) -> [f64; 5] {
        let (load, service) = (self.utilisation, self.utilisation * GAP_NS);
        let percentiles = [0.5, 0.9, 0.99, 0.999];
        match self.model {
            Model::Mm1 => {
                let mean = service / (1.0 - load);
                let [p50, p90, p99, p999] = percentiles.map(|p: f64| -(1.0 - p).ln() * mean);
                [p50, p90, p99, p999, mean]
            }
            Model::Md1 => {
                let waits = constant_service(load);
                let [p50, p90, p99, p999] =
                    percentiles.map(|p| service * quantile(&waits, load, p));
                [p50, p90, p99, p999, service * (1.0 + load / (2.0 * (1.0 - load)))]
            }
            Model::OnOff | Model::Stall => {
                let is_it = |row: &&(Model, f64, _)| (row.0, row.1) == (self.model, load);
                LONG.iter().find(is_it).expect("a server of the table").2
            }
        }
    }

    /// One run, whose service times grow by the fraction `growth_per_s` of the first ones.
    pub(crate) fn run(&self, seed: u64, seconds: f64, slices: usize, growth_per_s: f64) -> Run {
        let (service, length) = (self.utilisation * GAP_NS, seconds * 1e9);
        let warm = WARM * length;
        let mut first = random(seed, 0);
        let phase = (self.model == Model::OnOff).then(|| {
            let phase = usize::from(first.uniform() < 0.5);
            (phase, first.exponential(PHASE_NS))
        });
        let mut arrivals = Arrivals { random: first, at: 0.0, phase };
        let mut services = random(seed + 500_009, 1);
        let mut stalls = Stalls {
            random: random(seed + 700_001, 2),
            begins: Vec::new(),
            arrived: 0,
            departed: 0,
        };
        let mut run = Run { whole: Histogram::new(), slices: vec![Slice::default(); slices] };
        let mut departure = 0.0f64;
        loop {
            let at = arrivals.next();
            if at >= warm + length {
                return run;
            }
            let of = match self.model {
                Model::Md1 => service,
                Model::Mm1 | Model::OnOff | Model::Stall => services.exponential(service),
            };
            let of = of * (1.0 + growth_per_s * (at - warm).max(0.0) / 1e9);
            let is_stalling = self.model == Model::Stall;
            let arrival = if is_stalling { stalls.work_clock(at) } else { at };
            departure = arrival.max(departure) + of;
            let left = if is_stalling { stalls.instant(departure) } else { departure };
            if at >= warm {
                let ns = (left - at) as u64;
                let slice = (((at - warm) / length * slices as f64) as usize).min(slices - 1);
                run.whole.record(ns);
                let slice = &mut run.slices[slice];
                *slice.buckets.entry(coarse(ns)).or_default() += 1;
                slice.answered += 1;
                slice.sum_ns += u128::from(ns);
            }
        }
    }
}

/// Distribution of the number in an M/D/1 system, summed. Source: Franx, Operations Research
/// Letters 29 (2001).
fn constant_service(load: f64) -> Vec<f64> {
    let states = (60.0 / (1.0 - load)) as usize + 60;
    let arrivals: Vec<f64> = (0..states + 2)
        .scan(-load, |log, k| {
            if k > 0 {
                *log += load.ln() - (k as f64).ln();
            }
            Some(log.exp())
        })
        .collect();
    let mut of = vec![1.0 - load, (1.0 - load) * (1.0 - arrivals[0]) / arrivals[0]];
    for j in 1..states {
        let before: f64 = (1..=j).map(|i| of[i] * arrivals[j - i + 1]).sum();
        of.push((of[j] - of[0] * arrivals[j] - before) / arrivals[0]);
    }
    let sums = of.iter().scan(0.0, |sum, part| {
        *sum += part;
        Some(*sum)
    });
    sums.collect()
}

/// Quantile of an M/D/1 server's response time, in service times.
fn quantile(states: &[f64], load: f64, p: f64) -> f64 {
    let at_most = |wait: f64| {
        let k = wait as usize + 1;
        let u = load * (k as f64 - wait);
        let mut term = (-u).exp();
        let mut sum = 0.0;
        for j in 0..k {
            if j > 0 {
                term *= u / j as f64;
            }
            sum += states[(k - j).min(states.len() - 2)] * term;
        }
        sum
    };
    if at_most(0.0) >= p {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 60.0 / (1.0 - load));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        *if at_most(middle) >= p { &mut high } else { &mut low } = middle;
    }
    1.0 + high
}
