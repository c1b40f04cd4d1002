//! Many small fleets, each with faults of its own.

use crate::conductor::{Conductor, Found};
use crate::network::{Fault, When, World};
use crate::node::{MS, S, read};
use memtide_base::rng::Random;
use memtide_cluster::master::LostMember;
use std::io::{self, Write};

/// The number of fleets in every test run. `MEMTIDE_FLEETS` sets another number, and `MEMTIDE_SEED`
/// the first seed.
const FLEETS: u64 = 300;
/// An agent checks ten times a second whether its master has been silent for five seconds.
const ALONE_MAX: u64 = 5 * S + 200 * MS;

fn say(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Asserts the invariants of every fleet, whatever its faults.
pub fn check(world: &World) {
    let conductor = &world.conductor;
    for found in conductor.rounds.iter().filter(|found| found.end.is_some()) {
        check_round(world, found);
    }
    if conductor.rounds.is_empty() && conductor.is_up && !conductor.is_interrupted {
        assert!(conductor.missing.is_some(), "who is missing is said");
    }
    let has_stopped = |of: usize| {
        let strange = |fault: &Fault| matches!(fault, Fault::Stop(_) | Fault::Jump(_));
        world.faults.iter().any(|(_, it, fault)| *it == of && strange(fault))
    };
    for (of, node) in world.nodes.iter().enumerate() {
        assert!(has_stopped(of) || node.alone_ns <= ALONE_MAX, "{of}: {}", node.alone_ns);
        for (run, record) in &node.made {
            let is_found =
                conductor.rounds.iter().any(|found| found.records.values().any(|it| it == record));
            let is_forgotten = node.forgotten.contains(run);
            assert_eq!(!node.kept.contains_key(run), is_forgotten, "{of}");
            assert!(!is_forgotten || is_found, "{of}: a record is gone that no master has");
        }
    }
}

fn check_round(world: &World, found: &Found) {
    let end = found.end.as_ref().expect("it has ended");
    for (number, name) in (0..).zip(&found.agents) {
        let lost = end.lost.iter().find(|agent| agent.number == number);
        let record = found.records.get(&number);
        assert!(lost.is_some() != record.is_some(), "{name}: either lost or there, {end:?}");
        if let Some(LostMember { label, lost, .. }) = lost {
            assert!(label.starts_with(name.as_str()) && !lost.why.is_empty(), "{label}");
            assert!((1..=3).contains(&lost.exit));
        }
        let Some(record) = record else { continue };
        let of: usize = name[4..].parse().expect("its name says which it is");
        assert!(world.nodes[of].made.values().any(|it| it == record), "{name}: another record");
        let (_, count) = read(record).expect("a record");
        let seconds = found.seconds.get(&number).copied().unwrap_or(0);
        assert!(seconds <= count, "{name}: {seconds} of {count}");
    }
}

fn world(seed: u64) -> World {
    let mut random = Random::new(seed ^ 0xF1EE7);
    let agents = 2 + random.below(11);
    let allow_lost = random.below(3).min(agents - 1);
    let rounds = 1 + u32::from(random.below(3) == 0);
    let load_only = random.below(8) == 0;
    let of_rounds = (rounds, load_only);
    let conductor = Conductor::new(agents as u32, allow_lost as u32, of_rounds, seed);
    let mut world = World::new(seed, agents as usize, conductor);
    if seed.is_multiple_of(16) {
        // A share that hangs: only an order to end, or the loss of its master, ends it.
        world.nodes[random.below(agents) as usize].length = 10_000 * S;
    }
    for _ in 0..random.below(5) {
        let of = random.below(agents) as usize;
        if random.below(8) == 0 {
            world.nodes[of].fails = Some(1 + random.below(2) as u8);
            continue;
        }
        let when = match random.below(2) {
            0 => When::At(random.below(20 * S)),
            _ => When::Message(random.below(agents * 600)),
        };
        let fault = fault(&mut random);
        world.faults.push((when, of, fault));
    }
    world
}

fn fault(random: &mut Random) -> Fault {
    let length = [500 * MS, 2 * S, 4 * S, 7 * S, 30 * S, 10_000 * S];
    let time = |random: &mut Random| length[random.below(6) as usize];
    match random.below(10) {
        0 => Fault::Reset,
        1 => Fault::Cut { to_master: time(random), to_agent: 0 },
        2 => Fault::Cut { to_master: 0, to_agent: time(random) },
        3 => {
            let both = time(random);
            Fault::Cut { to_master: both, to_agent: both }
        }
        4 => Fault::Stop(if random.below(2) == 0 { 2 * S } else { 30 * S }),
        5 => {
            let again = (random.below(2) == 0).then(|| random.below(10 * S));
            Fault::Crash { silent: random.below(2) == 0, again }
        }
        6 => Fault::MasterCrash { silent: random.below(2) == 0 },
        7 => Fault::Interrupt,
        8 => Fault::MasterStop([2 * S, 12 * S, 60 * S][random.below(3) as usize]),
        _ => Fault::Jump([-(S as i64), 40 * MS as i64, 3_600 * S as i64][random.below(3) as usize]),
    }
}

#[test]
fn whatever_happens_is_named_and_what_is_left_is_exact() {
    let (first, fleets) = (number("MEMTIDE_SEED"), number("MEMTIDE_FLEETS").unwrap_or(FLEETS));
    let first = first.unwrap_or(1);
    let (mut whole, mut partial, mut wrong) = (0, 0, Vec::new());
    for seed in first..first + fleets {
        let shown = std::panic::catch_unwind(|| {
            let mut world = world(seed);
            world.run();
            check(&world);
            world.conductor.rounds.last().and_then(|found| Some(found.end.as_ref()?.lost.len()))
        });
        match shown {
            Ok(Some(0)) => whole += 1,
            Ok(Some(_)) => partial += 1,
            Ok(None) => {}
            Err(_) => {
                say(&format!("seed {seed}: {:?}", world(seed).faults));
                wrong.push(seed);
            }
        }
    }
    say(&format!("seeds {first} to {}: {whole} whole, {partial} partial", first + fleets - 1));
    assert!(wrong.is_empty(), "seeds {wrong:?}");
    assert!(fleets < 100 || (whole > 20 && partial > 20), "{whole} whole, {partial} partial");
}

/// A fleet of 100 agents, a tenth of which have a fault. `MEMTIDE_LARGE` sets a number of seeds for
/// fleets of 1 000 agents.
#[test]
fn the_counts_of_a_large_fleet_add_up() {
    let large = number("MEMTIDE_LARGE");
    let agents = if large.is_some() { 1_000 } else { 100 };
    for seed in 1..=large.unwrap_or(1) {
        let mut random = Random::new(seed ^ 0x1A46E);
        let conductor = Conductor::new(agents as u32, agents as u32, (1, false), seed);
        let mut world = World::new(seed, agents as usize, conductor);
        for _ in 0..agents / 10 {
            let of = random.below(agents) as usize;
            let agents_own = loop {
                match fault(&mut random) {
                    Fault::MasterCrash { .. } | Fault::MasterStop(_) | Fault::Interrupt => {}
                    of_agent => break of_agent,
                }
            };
            world.faults.push((When::At(4 * S + random.below(60 * S)), of, agents_own));
        }
        world.run();
        check(&world);
        let found = world.conductor.rounds.last().map(|found| found.records.len());
        say(&format!("seed {seed}: {found:?} of {agents} records"));
    }
}

#[test]
fn without_faults_all_shares_arrive_and_begin_at_one_instant() {
    for seed in 1..=40 {
        let agents = 2 + (seed % 11) as u32;
        let mut world =
            World::new(seed, agents as usize, Conductor::new(agents, 0, (1, false), seed));
        world.run();
        check(&world);
        let found = &world.conductor.rounds[0];
        assert!(found.end.as_ref().expect("it ended").lost.is_empty(), "seed {seed}");
        assert_eq!(found.records.len(), agents as usize, "seed {seed}");
        for (number, record) in &found.records {
            let (_, count) = read(record).expect("a record");
            assert!(count >= 2_000, "seed {seed}: {count}");
            assert_eq!(found.seconds[number], count, "seed {seed}");
        }
        let agreed = found.begins.expect("it began");
        for node in &world.nodes {
            let told = node.told.expect("clocks were compared");
            let apart = node.clock_now(agreed).abs_diff(told.clock_ns);
            let bound = told.error_ns + apart * 601 / 1_000_000 + 100;
            let late = node.begun[0].abs_diff(agreed);
            assert!(late <= bound.max(3 * S * 601 / 1_000_000 + told.error_ns), "{late}, {bound}");
            assert!(node.kept.is_empty() && node.forgotten.len() == 1, "seed {seed}");
        }
    }
}
