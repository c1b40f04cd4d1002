//! Drawn fleets: the shares of one run, each in a world with pauses and faults of its own, merged
//! as agents' records are. The seconds of all shares are where their operations ended, and their
//! sums are what the whole load came to.

use crate::check::is_answered;
use crate::harness::{Rehearsal, World};
use crate::setting;
use memtide_base::rng::Random;
use memtide_base::{Instant, Law, Span};
use memtide_merge::{Scenarios, merge};
use memtide_metrics::TallySum;
use memtide_record::{Record, SecondRecord, SettledCounts};
use memtide_run::Share;
use memtide_sim::{PauseKind, SimFleet, WorkerPause};
use memtide_world::fleet::{Fleet, FleetError, Interval};
use std::ops::Range;

/// A machine that stands still: a collection that falls into the stretch ends with it.
struct StandsStill {
    fleet: SimFleet,
    stretch: Range<Instant>,
}

impl Fleet for StandsStill {
    memtide_world::pass_to_fleet!(
        fleet: now, since_unix, start, command, is_interrupted, ask, watch_servers
    );

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        let until = if self.stretch.contains(&until) { self.stretch.end } else { until };
        self.fleet.collect(until, totals)
    }
}

/// A fleet's shares, and their records merged.
struct Merged {
    shares: Vec<Rehearsal>,
    record: Record,
}

impl Merged {
    /// The fleet of `seed`; `None` if a share of it cannot begin.
    fn of(seed: u64) -> Option<Self> {
        let mut draw = Random::new(seed ^ 0xA9E7);
        let of = 2 + draw.below(4) as u32;
        let threads = 1 + draw.below(2);
        let connections = u64::from(of) * threads * (1 + draw.below(3));
        let pick = |draw: &mut Random, words: &[&'static str]| {
            words[draw.below(words.len() as u64) as usize]
        };
        let text = format!(
            "threads={threads} connections={connections} rate={} duration={}ms warmup={}ms \
             timeout={}ms arrival={} mix={} keys=50 load=never cooldown={} rate-unit={} \
             multiget={} depth={}",
            100 + draw.below(500),
            500 + draw.below(4_000),
            draw.below(2) * draw.below(900),
            20 + draw.below(900),
            pick(&mut draw, &["fixed", "poisson", "uniform"]),
            pick(&mut draw, &["get=1", "get=3,set=1"]),
            pick(&mut draw, &["load", "drain", "stop"]),
            pick(&mut draw, &["ops", "keys"]),
            1 + 2 * draw.below(2),
            pick(&mut draw, &["1", "4"]),
        );
        let behaviour = pick(&mut draw, &["fixed:100us", "exponential:300us", "queue:1,fixed:3ms"]);
        let share = |number: u32| {
            let mut world = World::of(&text).behaviour(behaviour).seed(seed);
            world.share = Some(Share::one(number, of));
            world.network.delay = Law::Fixed(draw.unit() * 1e-3);
            if draw.below(4) == 0 {
                let from = Instant::ZERO + Span::from_ms(draw.below(3_000));
                world.deaths.push((0, from, from + Span::from_ms(draw.below(1_500))));
            }
            if draw.below(12) == 0 {
                world.interrupt_at = Instant::ZERO + Span::from_ms(200 + draw.below(4_000));
            }
            let stops = draw.below(3) == 0;
            let (from, length) =
                (Span::from_ms(draw.below(3_000)), Span::from_ms(draw.below(3_500)));
            let stretch = Instant::ZERO + from..Instant::ZERO + from + length;
            if stops {
                let kind = PauseKind::Stopped;
                let of_worker = |worker| WorkerPause { worker, from, length, kind };
                world.pauses = (0..threads as u16).map(of_worker).collect();
            }
            let stretch = if stops { stretch } else { Instant::ZERO..Instant::ZERO };
            world.try_rehearse_with(|fleet| StandsStill { fleet, stretch }).ok()
        };
        let shares: Vec<Rehearsal> = (0..of).map(share).collect::<Option<_>>()?;
        let records: Vec<Record> = shares.iter().map(|share| share.record.clone()).collect();
        let record = merge(&records, Scenarios::Same).unwrap_or_else(|error| panic!("{error:?}"));
        Some(Self { shares, record })
    }

    /// Checks the seconds of the merged record.
    fn check(&self) -> Result<(), String> {
        for share in &self.shares {
            sums("a share", &share.record)?;
        }
        sums("the fleet", &self.record)?;
        self.follow()?;
        self.places()
    }

    /// The rows begin with the load, and each begins where the one before it ends.
    fn follow(&self) -> Result<(), String> {
        let mut until = 0.0;
        for second in &self.record.seconds {
            if (second.start_s - until).abs() > 1e-6 {
                return Err(format!("a row begins at {} s, after {until} s", second.start_s));
            }
            until = second.start_s + second.length_s;
        }
        let longest = self.shares.iter().flat_map(|share| &share.record.seconds);
        let longest = longest.map(|it| it.start_s + it.length_s).fold(0.0, f64::max);
        match (until - longest).abs() < 1e-6 {
            true => Ok(()),
            false => Err(format!("the rows end at {until} s, the longest share at {longest} s")),
        }
    }

    /// Until the end of each row, as many measured operations were answered as the rows say, of all
    /// phases.
    fn places(&self) -> Result<(), String> {
        let answers = || self.shares.iter().flat_map(|share| &share.samples);
        let answers = || answers().filter(|sample| is_answered(sample.outcome));
        let phases = &self.record.phases;
        let beside = phases.warmup.totals.answered + phases.cooldown.totals.answered;
        let mut told = 0;
        for second in &self.record.seconds {
            told += second.counts.answered;
            let until_s = second.start_s + second.length_s;
            let by = |at_s: f64| {
                answers().filter(|it| it.received.since(it.begun).as_s_f64() <= at_s).count() as u64
            };
            let (least, most) = (by(until_s - NEAR_S), by(until_s + NEAR_S) + beside);
            if !(least..=most).contains(&told) {
                return Err(format!(
                    "until {until_s} s rows have {told} answers, not {least} to {most}"
                ));
            }
        }
        Ok(())
    }
}

/// Time by which a worker's report of an operation may be late.
const NEAR_S: f64 = 0.1;

/// The sums of all seconds are the counts of the load.
fn sums(whose: &str, record: &Record) -> Result<(), String> {
    let phases = &record.phases;
    let none = SettledCounts::default;
    let load = [&phases.warmup, &phases.measure, &phases.cooldown];
    let load = load.iter().fold(none(), |sum, phase| sum.plus(&SettledCounts::from(&phase.totals)));
    let told = record.seconds.iter().fold(none(), |sum, second| sum.plus(&second.counts));
    match told == load {
        true => Ok(()),
        false => Err(format!("the seconds of {whose} have {told:?}, its load {load:?}")),
    }
}

#[test]
fn seconds_of_drawn_fleets_are_where_they_were_and_add_up() {
    let (from, count) = (setting("MEMTIDE_SWARM_FROM", 1), setting("MEMTIDE_SWARM_SEEDS", 300));
    let (mut fleets, mut stood_still, mut rows) = (0, 0, 0);
    for seed in (from..from + count).step_by(3) {
        let Some(merged) = Merged::of(seed) else { continue };
        merged.check().unwrap_or_else(|problem| panic!("fleet {seed}: {problem}"));
        fleets += 1;
        rows += merged.record.seconds.len();
        stood_still += usize::from(merged.record.seconds.iter().any(|it| it.length_s > 1.3));
    }
    println!("{fleets} fleets, {stood_still} of them with a long second, {rows} rows");
    assert!(count < 100 || (fleets > count / 4 && stood_still > 3), "{fleets}, {stood_still}");
}

/// What is said of a fleet with three rows and more, after `corrupt` has changed its seconds.
fn found(corrupt: impl Fn(&mut [SecondRecord])) -> String {
    let is_long =
        |it: &Merged| it.record.seconds.len() > 2 && it.record.seconds[1].counts.answered > 99;
    let mut merged = (1..100).filter_map(Merged::of).find(is_long).expect("one of many fleets");
    merged.check().expect("its seconds are right");
    corrupt(&mut merged.record.seconds);
    merged.check().expect_err("a fault was planted")
}

#[test]
fn a_second_of_a_fleet_that_is_elsewhere_is_found() {
    let said = found(|seconds| seconds[1].counts.timed_out += 1);
    assert!(said.contains("the seconds of the fleet have"), "{said}");
    let said = found(|seconds| seconds[1].length_s += 0.5);
    assert!(said.contains("a row begins at"), "{said}");
    let said = found(|seconds| {
        let [earlier, later] = [seconds[0].counts, seconds[1].counts];
        (seconds[0].counts, seconds[1].counts) = (earlier.plus(&later), SettledCounts::default());
    });
    assert!(said.contains("answers, not"), "{said}");
}
