//! The rate as a function of time, its integral, and the integral's inverse: the instant at which
//! the n-th operation is expected. A position is a double, which resolves 10^-4 of an operation
//! after 10^12 operations.

use super::Wave;
use memtide_base::Span;
use memtide_base::rng::{Stream, hash, unit};
use std::f64::consts::TAU;
use std::sync::Arc;

/// The rate over the offset from the schedule's start.
#[derive(Clone, Debug)]
pub struct RateCurve {
    shape: Shape,
    /// The wave keeps its first rate until this many seconds.
    before_s: f64,
    /// The first rate, and the number of operations expected until then.
    before_rate: f64,
    before_ops: f64,
}

/// The position that the last sum or inversion of a random wave reached, so that the next one need
/// not sum all levels again. It affects the time to compute an answer, never the answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    level: u64,
    ops_before: f64,
}

/// A wave with its spans in seconds and its sums computed.
#[derive(Clone, Debug)]
enum Shape {
    Constant { rate: f64, ns_per_op: f64 },
    Ramp { from: f64, to: f64, window_s: f64 },
    Step { rates: Arc<[f64]>, every_s: f64, ops_through: Arc<[f64]> },
    Sine(Sine),
    Random { min: f64, max: f64, every_s: f64, seed: u64 },
}

impl RateCurve {
    /// The curve of a wave. Only a constant wave uses `rate`. The wave begins at `window_start`;
    /// its first rate holds before that. A ramp ends after `window`.
    pub fn new(wave: &Wave, rate: f64, window_start: Span, window: Span, seed: u64) -> Self {
        let shape = match wave {
            Wave::Constant => Shape::Constant { rate, ns_per_op: 1e9 / rate },
            Wave::Ramp { from, to } => {
                Shape::Ramp { from: *from, to: *to, window_s: window.as_s_f64() }
            }
            Wave::Step { rates, every } => {
                let every_s = every.as_s_f64();
                let mut sum = 0.0;
                let through = rates.iter().map(|rate| {
                    sum += rate * every_s;
                    sum
                });
                let ops_through = through.collect();
                Shape::Step { rates: rates.as_slice().into(), every_s, ops_through }
            }
            Wave::Sine { mean, amplitude, period } => {
                Shape::Sine(Sine::new(*mean, *amplitude, period.as_s_f64()))
            }
            Wave::Random { min, max, every } => {
                Shape::Random { min: *min, max: *max, every_s: every.as_s_f64(), seed }
            }
        };
        let before_s = window_start.as_s_f64();
        let before_rate = shape.first_rate();
        Self { shape, before_s, before_rate, before_ops: before_rate * before_s }
    }

    /// The rate at `at`, in operations per second.
    pub fn rate(&self, at: Span) -> f64 {
        let s = at.as_s_f64();
        if s < self.before_s { self.before_rate } else { self.shape.rate(s - self.before_s) }
    }

    /// The number of operations expected until `at`. For a random wave this takes time in
    /// proportion to the number of levels until then.
    pub fn cumulative(&self, at: Span) -> f64 {
        self.until(at, &mut Cursor::default())
    }

    /// [`RateCurve::cumulative`] of each of `instants`, which do not decrease: a random wave sums
    /// each of its levels once.
    pub fn cumulative_each(&self, instants: &[Span]) -> Vec<f64> {
        let mut cursor = Cursor::default();
        instants.iter().map(|at| self.until(*at, &mut cursor)).collect()
    }

    fn until(&self, at: Span, cursor: &mut Cursor) -> f64 {
        let s = at.as_s_f64();
        if s < self.before_s {
            self.before_rate * s
        } else {
            self.before_ops + self.shape.ops(s - self.before_s, cursor)
        }
    }

    /// The instant after which more than `target` operations are expected, to the nearest
    /// nanosecond: the inverse of [`RateCurve::cumulative`], at the end of any stretch with rate 0.
    /// [`Span::MAX`] means never. It does not decrease in `target`, except that within a sine the
    /// last nanosecond may vary.
    pub fn invert(&self, target: f64, cursor: &mut Cursor) -> Span {
        if let Shape::Constant { rate, ns_per_op } = &self.shape {
            return if *rate > 0.0 {
                Span::from_ns((target * ns_per_op + 0.5) as u64)
            } else {
                Span::MAX
            };
        }
        if target < self.before_ops {
            return Span::from_s_f64(target / self.before_rate);
        }
        match self.shape.invert(target - self.before_ops, cursor) {
            Some(s) => Span::from_s_f64(self.before_s + s),
            None => Span::MAX,
        }
    }
}

impl Shape {
    fn first_rate(&self) -> f64 {
        match self {
            Self::Ramp { from, .. } => *from,
            other => other.rate(0.0),
        }
    }

    /// The rate `s` seconds into the wave.
    fn rate(&self, s: f64) -> f64 {
        match self {
            Self::Constant { rate, .. } => *rate,
            Self::Ramp { to, window_s, .. } if s >= *window_s => *to,
            Self::Ramp { from, to, window_s } => from + (to - from) * (s / window_s),
            Self::Step { rates, every_s, .. } => {
                rates[((s / every_s) as u64 % rates.len() as u64) as usize]
            }
            Self::Sine(sine) => {
                let Sine { mean, amplitude, period_s, .. } = sine;
                mean + amplitude * (TAU * (s / period_s).fract()).sin()
            }
            Self::Random { min, max, every_s, seed } => {
                level(*min, *max, *seed, (s / every_s) as u64)
            }
        }
    }

    /// The number of operations expected in the first `s` seconds of the wave; of a random one,
    /// levels are summed from `cursor` on, and it is moved to the level of `s`.
    fn ops(&self, s: f64, cursor: &mut Cursor) -> f64 {
        match self {
            Self::Constant { rate, .. } => rate * s,
            Self::Ramp { from, to, window_s } => {
                let inside = s.min(*window_s);
                let reached = if s < *window_s { self.rate(s) } else { *to };
                (from + reached) / 2.0 * inside + to * (s - inside)
            }
            Self::Step { rates, every_s, ops_through } => {
                let steps = (s / every_s) as u64;
                let count = rates.len() as u64;
                let step = (steps % count) as usize;
                let before = if step > 0 { ops_through[step - 1] } else { 0.0 };
                let cycles = (steps / count) as f64 * ops_through[rates.len() - 1];
                let inside = (s - steps as f64 * every_s).max(0.0);
                cycles + before + rates[step] * inside
            }
            Self::Sine(sine) => {
                let waves = (s / sine.period_s).floor();
                let inside = s - waves * sine.period_s;
                waves * sine.wave_ops() + sine.ops_and_rate(inside).0
            }
            Self::Random { min, max, every_s, seed } => {
                let levels = (s / every_s) as u64;
                if levels < cursor.level {
                    *cursor = Cursor::default();
                }
                for k in cursor.level..levels {
                    cursor.ops_before += level(*min, *max, *seed, k) * every_s;
                }
                cursor.level = levels;
                let inside = (s - levels as f64 * every_s).max(0.0);
                cursor.ops_before + level(*min, *max, *seed, levels) * inside
            }
        }
    }

    /// The seconds into the wave after which more than `ops` operations are expected.
    fn invert(&self, ops: f64, cursor: &mut Cursor) -> Option<f64> {
        match self {
            Self::Constant { rate, .. } => (*rate > 0.0).then(|| ops / rate),
            Self::Ramp { from, to, window_s } => invert_ramp(ops, *from, *to, *window_s),
            Self::Step { rates, every_s, ops_through } => {
                let (cycles, rest) = divide(ops, ops_through[rates.len() - 1]);
                let step = ops_through.partition_point(|&through| through <= rest);
                let before = if step > 0 { ops_through[step - 1] } else { 0.0 };
                let inside = ((rest - before) / rates[step]).min(*every_s);
                Some((cycles * rates.len() as f64 + step as f64) * every_s + inside)
            }
            Self::Sine(sine) => {
                let (waves, rest) = divide(ops, sine.wave_ops());
                Some(waves * sine.period_s + sine.invert(rest))
            }
            Self::Random { min, max, every_s, seed } => {
                if ops < cursor.ops_before {
                    *cursor = Cursor::default();
                }
                loop {
                    let rate = level(*min, *max, *seed, cursor.level);
                    let through = cursor.ops_before + rate * every_s;
                    if ops < through {
                        let inside = ((ops - cursor.ops_before) / rate).min(*every_s);
                        return Some(cursor.level as f64 * every_s + inside);
                    }
                    *cursor = Cursor { level: cursor.level + 1, ops_before: through };
                }
            }
        }
    }
}

/// Level `k` of a random wave.
fn level(min: f64, max: f64, seed: u64, k: u64) -> f64 {
    min + (max - min) * unit(hash(seed, Stream::WAVE, k))
}

/// The number of times that `part` goes into `whole`, and the remainder, which is less than `part`.
fn divide(whole: f64, part: f64) -> (f64, f64) {
    let times = (whole / part).floor();
    let rest = (whole - times * part).max(0.0);
    if rest < part { (times, rest) } else { (times + 1.0, 0.0) }
}

fn invert_ramp(ops: f64, from: f64, to: f64, window_s: f64) -> Option<f64> {
    let window_ops = (from + to) / 2.0 * window_s;
    if ops >= window_ops {
        return (to > 0.0).then(|| window_s + (ops - window_ops) / to);
    }
    if ops <= 0.0 {
        return Some(0.0);
    }
    // The positive root of from·s + slope·s²/2 = ops, in the form without cancellation.
    let slope = (to - from) / window_s;
    let reached = (from * from + 2.0 * slope * ops).max(0.0).sqrt();
    Some((2.0 * ops / (from + reached)).min(window_s))
}

/// One period of a sine, with its sum at evenly spaced nodes from which an inversion starts.
#[derive(Clone, Debug)]
struct Sine {
    mean: f64,
    amplitude: f64,
    period_s: f64,
    /// The operations until node k, which is at k / [`NODES`] of the period.
    ops_until: Arc<[f64]>,
}

const NODES: usize = 256;

impl Sine {
    fn new(mean: f64, amplitude: f64, period_s: f64) -> Self {
        let bare = Self { mean, amplitude, period_s, ops_until: Arc::new([]) };
        let seconds = (0..=NODES).map(|k| k as f64 / NODES as f64 * period_s);
        let ops_until = seconds.map(|s| bare.ops_and_rate(s).0).collect();
        Self { ops_until, ..bare }
    }

    fn wave_ops(&self) -> f64 {
        self.mean * self.period_s
    }

    /// The operations of the first `s` seconds, and the rate at their end.
    fn ops_and_rate(&self, s: f64) -> (f64, f64) {
        let Self { mean, amplitude, period_s, .. } = self;
        // Uses half the angle, because 1 - cos of a small angle loses digits.
        let (sin, cos) = (TAU / 2.0 * (s / period_s)).sin_cos();
        let swing = amplitude * period_s / TAU * 2.0 * sin * sin;
        (mean * s + swing, mean + amplitude * 2.0 * sin * cos)
    }

    /// The time at which `ops` operations are expected; `ops` is less than one period's. Newton's
    /// method between two nodes. A step that would leave the bracket is replaced by halving it,
    /// which happens only where the rate is almost 0; the bound on the steps is for that case too.
    fn invert(&self, ops: f64) -> f64 {
        const STEPS_MAX: usize = 60;
        const ERROR_MAX_S: f64 = 1e-11;
        let node_s = self.period_s / NODES as f64;
        let above = self.ops_until.partition_point(|&until| until <= ops).clamp(1, NODES);
        let (mut low, mut high) = ((above - 1) as f64 * node_s, above as f64 * node_s);
        let (ops_low, ops_high) = (self.ops_until[above - 1], self.ops_until[above]);
        let mut s = low + (ops - ops_low) / (ops_high - ops_low) * node_s;
        // The largest second derivative.
        let bend = self.amplitude * TAU / self.period_s;
        for _ in 0..STEPS_MAX {
            let (got, rate) = self.ops_and_rate(s);
            if got > ops {
                high = s;
            } else {
                low = s;
            }
            let newton = s - (got - ops) / rate;
            let inside = newton >= low && newton <= high;
            let next = if inside { newton } else { low + (high - low) / 2.0 };
            let moved = (next - s).abs();
            s = next;
            let error = if inside { moved * moved * bend / rate } else { moved };
            if error < ERROR_MAX_S {
                break;
            }
        }
        s
    }
}
