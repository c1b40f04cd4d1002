//! Figures that rise during the window, through the whole simulator: service times that grow are
//! named, steady ones are not.

use super::belief::{number, say, seeds};
use crate::prelude::*;

/// M/M/1 whose server is half busy; each run has 100 000 operations. With
/// `MEMTIDE_BELIEF_RUNS=100`, about 95 growing runs must be named, and at most about 9 steady ones.
#[test]
fn growing_service_times_are_named_and_steady_ones_are_not() {
    let runs = number("MEMTIDE_BELIEF_RUNS", 2);
    let named = |growth: &str| {
        let is_named = |seed: &u64| {
            let words = "rate=10k duration=10s warmup=1s connections=256 mix=get=1 load=never \
                         timeout=60s";
            let world = World { keeps_samples: false, ..World::of(words).seed(*seed) };
            let world = world.behaviour(&format!("queue:1,exponential:50us{growth}"));
            !world.rehearse().record.drift.is_empty()
        };
        seeds(runs).filter(is_named).count()
    };
    let (steady, growing) = (named(""), named("+slowing:1%/s"));
    say(&format!("of {runs} runs each: {steady} steady ones and {growing} growing ones are named"));
    let slack = 3.5 * (0.09 * 0.91 / runs as f64).sqrt();
    assert!(steady as f64 <= (0.09 + slack) * runs as f64, "{steady} of {runs} steady runs");
    assert!(growing as f64 >= (0.95 - slack) * runs as f64, "{growing} of {runs} growing runs");
}
