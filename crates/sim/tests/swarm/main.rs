//! The swarm: worlds and scenarios drawn from a seed, run under checkers that do not use the
//! engine's code. `MEMTIDE_SWARM_FROM` and `MEMTIDE_SWARM_SEEDS` choose the seeds;
//! `cargo xtask swarm --seed N` replays a seed that failed.
#![allow(
    clippy::disallowed_methods,
    unsafe_code,
    reason = "it counts memory, and seeds come from outside"
)]
#![allow(clippy::print_stdout, reason = "a swarm says what it did")]

#[path = "../it/harness.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod harness;

mod backlog;
mod batches;
mod check;
mod errors;
mod fleets;
mod keys;
mod recount;
mod draw;
mod memory;
mod meta;
mod mutations;

use check::check;
use draw::world;
use harness::Rehearsal;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(word) => word.parse().unwrap_or_else(|_| panic!("{name}={word} is not a number")),
        Err(_) => default,
    }
}

/// The outcomes of the swarm's runs.
#[derive(Debug, Default)]
struct Tally {
    whole: u64,
    cut: u64,
    refused: u64,
    operations: u64,
}

/// The fault of the run of `seed`, if it has one.
fn problem(seed: u64, tally: &mut Tally) -> Option<String> {
    let twice = catch_unwind(|| (world(seed).try_rehearse(), world(seed).try_rehearse()));
    let (first, again) = match twice {
        Ok((Ok(first), Ok(again))) => (first, again),
        // If no run can begin in a world, it must fail twice with the same error.
        Ok((Err(first), Err(again))) => {
            tally.refused += 1;
            let same = first == again && !first.message().is_empty();
            return (!same).then(|| format!("it failed in two ways: {first:?}, {again:?}"));
        }
        Ok(_) => return Some("it could be run once and not twice".to_owned()),
        Err(panic) => return Some(format!("it panicked: {}", said(&*panic))),
    };
    *if first.record.partial { &mut tally.cut } else { &mut tally.whole } += 1;
    tally.operations += first.record.totals.intended;
    if (first.hash, first.events) != (again.hash, again.events) {
        return Some("the same seed gave two traces".to_owned());
    }
    catch_unwind(AssertUnwindSafe(|| check(&first)))
        .unwrap_or_else(|panic| Err(format!("a checker panicked: {}", said(&*panic))))
        .err()
}

/// The message of a panic.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("nothing").to_owned()
}

#[test]
fn no_seed_breaks_a_law() {
    let (from, count) = (setting("MEMTIDE_SWARM_FROM", 1), setting("MEMTIDE_SWARM_SEEDS", 300));
    if count == 1 {
        println!("{}", draw::described(from));
    }
    let mut tally = Tally::default();
    for seed in from..from + count {
        if let Some(problem) = problem(seed, &mut tally) {
            panic!(
                "seed {seed}: {problem}\n{}\nreplay it with: cargo xtask swarm --seed {seed}",
                draw::described(seed)
            );
        }
    }
    println!("{count} seeds from {from}: {tally:?}");
    // A swarm in which most runs cannot begin proves nothing.
    assert!(count < 100 || 2 * tally.whole > count, "{tally:?}");
}

/// A law about what no world has holds nothing.
#[test]
fn worlds_have_what_the_laws_are_about() {
    let worlds: Vec<_> = (1..=300).map(world).collect();
    for (field, word) in [
        ("rate-unit", "keys"),
        ("cooldown", "stop"),
        ("refill", "whole"),
        ("protocol", "meta"),
        ("tls", "on"),
        ("warmup", "auto"),
    ] {
        let has = |(name, value): &(&str, String)| (*name, &**value) == (field, word);
        let count = worlds.iter().filter(|world| world.words.iter().any(has)).count();
        println!("{count} of 300 worlds have {field} {word}");
        assert!(count >= 5, "{count} of 300 worlds have {field} {word}");
    }
}

/// A world of the swarm that ran to its end, for tests that corrupt its results.
fn whole(accepts: impl Fn(&Rehearsal) -> bool) -> Rehearsal {
    (1..500)
        .filter_map(|seed| world(seed).try_rehearse().ok())
        .find(|rehearsal| !rehearsal.record.partial && accepts(rehearsal))
        .expect("one of many worlds is so")
}
