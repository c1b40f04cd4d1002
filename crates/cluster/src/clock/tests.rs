//! Bounds of clocks: they always contain the truth, and a clock that jumps is detected.

use super::*;
use crate::message;
use memtide_base::rng::Random;

/// An agent's clock: an offset, and a drift in millionths that changes now and then.
struct Clock {
    says: f64,
    at: f64,
    ppm: f64,
}

impl Clock {
    fn new(random: &mut Random, ppm_max: f64) -> Self {
        Self { says: random.below(1 << 50) as f64, at: 0.0, ppm: drawn_ppm(random, ppm_max) }
    }

    /// Returns the clock's reading at `ns` of true time, which is the master's clock and never goes
    /// back.
    fn read(&mut self, ns: f64) -> u64 {
        self.says += (ns - self.at) * (1.0 + self.ppm / 1e6);
        self.at = ns;
        self.says as u64
    }
}

fn drawn_ppm(random: &mut Random, max: f64) -> f64 {
    match random.below(4) {
        0 => max,
        1 => -max,
        _ => (random.unit() * 2.0 - 1.0) * max,
    }
}

/// The delay of one way: usually short, sometimes very long.
fn way(random: &mut Random, scale: f64) -> f64 {
    let long = if random.below(10) == 0 { 1_000.0 } else { 1.0 };
    -random.unit().ln() * scale * long
}

/// The error of floating point and of whole nanoseconds.
const ROUNDED_NS: i128 = 4;

fn told(Offset { ahead_ns, error_ns, agent_clock_ns }: Offset) -> message::Clock {
    message::Clock { clock_ns: agent_clock_ns, ahead_ns, error_ns }
}

fn holds(offset: Offset, truth: i128) -> bool {
    (i128::from(offset.ahead_ns) - truth).abs() <= i128::from(offset.error_ns) + ROUNDED_NS
}

#[test]
fn the_truth_is_inside_the_bound_always() {
    for seed in 1..=300 {
        let mut random = Random::new(seed);
        let mut clock = Clock::new(&mut random, 600.0);
        let (mut bounds, mut estimates) = (ClockBounds::default(), Estimates::default());
        let scales = [1e3, 1e5, 1e7];
        let there = scales[random.below(3) as usize];
        let back = scales[random.below(3) as usize];
        let mut now = random.below(1 << 50) as f64;
        clock.at = now;
        let mut truths = Vec::new();
        for number in 0..400 {
            now += way(&mut random, if number < 256 { 1e3 } else { 1e9 });
            let (sent, answered) = (now, now + way(&mut random, there));
            let agent = clock.read(answered);
            truths.push((agent, answered as i128 - i128::from(agent)));
            now = answered + way(&mut random, back);
            bounds.ping(sent as u64, now as u64, agent);
            let says = clock.read(now);
            let truth = now as i128 - i128::from(says);
            let offset = bounds.at(now as u64).expect("no clock has jumped");
            assert!(holds(offset, truth), "seed {seed}, ping {number}: {offset:?}, {truth}");
            let near = i128::from(offset.agent_clock_ns) - i128::from(says);
            assert!(near.abs() <= i128::from(offset.error_ns) + ROUNDED_NS, "seed {seed}");
            // The agent receives the comparison later.
            estimates.add(&told(offset));
            if random.below(20) == 0 {
                clock.ppm = drawn_ppm(&mut random, 600.0);
            }
        }
        for (agent, truth) in truths {
            let offset = estimates.best(agent).expect("no clock has jumped");
            assert!(holds(offset, truth), "seed {seed}, at {agent}: {offset:?}, {truth}");
        }
    }
}

#[test]
fn a_burst_of_pings_gives_half_of_the_shortest_round_trip() {
    let mut random = Random::new(7);
    let mut bounds = ClockBounds::default();
    let mut now = 1_000_000_000;
    for _ in 0..256 {
        let there = random.below(30_001);
        bounds.ping(now, now + 30_000, now + there + 77_000_000_000);
        now += 30_000;
    }
    let offset = bounds.at(now).expect("no clock has jumped");
    assert!(holds(offset, -77_000_000_000), "{offset:?}");
    // Widened by the drift since the last ping was sent.
    assert!(offset.error_ns <= 15_000 + 20, "{offset:?}");
    let start = now + 2_000_000_000;
    let agent = bounds.agent_instant(start).expect("it is known");
    let truth = i128::from(start) + 77_000_000_000;
    let error = bounds.at(start).expect("it is known").error_ns;
    assert!((i128::from(agent) - truth).abs() <= i128::from(error));
    assert!(error <= 15_000 + 1_200_000 + 1_000, "{error}");
}

#[test]
fn a_clock_that_jumps_is_found() {
    for jump in [-1_000_000_000i64, -2_000_000, -50_000, 50_000, 2_000_000, 1_000_000_000_000] {
        let mut bounds = ClockBounds::default();
        let agent = |master: u64| master + 5_000_000_000_000;
        let mut now = 1_000_000_000;
        for _ in 0..256 {
            bounds.ping(now, now + 30_000, agent(now + 15_000));
            now += 40_000;
        }
        assert!(!bounds.has_jumped() && bounds.at(now).is_some());
        bounds.ping(now, now + 30_000, agent(now + 15_000).saturating_add_signed(jump));
        assert!(bounds.has_jumped(), "{jump}");
        assert_eq!((bounds.at(now), bounds.agent_instant(now)), (None, None));
        // The bounds do not recover.
        bounds.ping(now + 40_000, now + 70_000, agent(now + 55_000));
        assert_eq!(bounds.at(now + 80_000), None);
    }
    let mut backwards = ClockBounds::default();
    backwards.ping(1_000, 999, 5);
    assert!(backwards.has_jumped());
}

#[test]
fn nothing_is_known_before_the_first_ping() {
    assert_eq!(ClockBounds::default().at(5), None);
    assert_eq!(ClockBounds::default().agent_instant(5), None);
    assert_eq!(Estimates::default().best(5), None);
    // The offset at an instant before the agent's clock began does not exist.
    let mut bounds = ClockBounds::default();
    bounds.ping(1_000_000, 1_000_010, 5);
    assert_eq!(bounds.agent_instant(10), None);
}

#[test]
fn estimates_are_bounded_and_name_a_contradiction() {
    let mut estimates = Estimates::default();
    for second in 0..100_000u64 {
        let agent_clock_ns = second * 1_000_000_000;
        estimates.add(&told(Offset { ahead_ns: -5, error_ns: 10, agent_clock_ns }));
        assert!(estimates.told.len() <= 4_096);
    }
    let early = estimates.best(0).expect("they agree");
    assert_eq!((early.ahead_ns, early.error_ns, early.agent_clock_ns), (-5, 10, 0));
    estimates.add(&told(Offset { ahead_ns: 1 << 40, error_ns: 1, agent_clock_ns: 0 }));
    assert_eq!(estimates.best(0), None);
}
