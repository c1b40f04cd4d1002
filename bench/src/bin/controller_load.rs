//! What collecting the measurements of many workers costs their controller: tallies as a busy
//! worker fills them are handed over ten times a second, and absorbed by one thread. Makes no load.
//!
//! With a number of workers and one of hand-overs of each, it does only these, so that a profiler
//! can count the instructions of `TallySum::absorb`.
#![allow(clippy::print_stdout)] // A program talks to its user.

use clap::{Arg, Command, value_parser};
use memtide_base::{Random, Span};
use memtide_metrics::{Answer, Fate, Shape, Tally, TallySum};
use rustix::time::{ClockId, clock_gettime};

/// Hand-overs of each worker in a second.
const PER_SECOND: u64 = 10;
/// Answered operations between two hand-overs of a worker.
const OPERATIONS: u64 = 20_000;
/// Seconds of hand-overs that are measured.
const SECONDS: u64 = 5;
/// Workers of one process.
const WORKERS: [u64; 4] = [1, 8, 64, 256];
/// Slots: gets and sets; hits, misses and sets.
const SLOTS: usize = 3;

fn main() {
    let number = |name| Arg::new(name).value_parser(value_parser!(u64).range(1..));
    let words = Command::new("controller-load")
        .about("Absorbs the tallies of many workers")
        .args([number("workers").requires("rounds"), number("rounds")])
        .get_matches();
    if let (Some(&workers), Some(&rounds)) = (words.get_one("workers"), words.get_one("rounds")) {
        // A profiler may hide what the clock is read through.
        absorb(workers, rounds, || Span::ZERO);
        return;
    }
    println!("workers   us per hand-over   share of a core   MB of tallies per s");
    for workers in WORKERS {
        let rounds = SECONDS * PER_SECOND;
        let cpu = absorb(workers, rounds, thread_cpu);
        let each_us = cpu.as_s_f64() * 1e6 / (rounds * workers) as f64;
        let share = cpu.as_s_f64() / SECONDS as f64;
        let bytes = Tally::bytes(&shape()) * workers * PER_SECOND;
        println!(
            "{workers:>7}{each_us:>19.1}{:>16.2} %{:>22.1}",
            share * 100.0,
            bytes as f64 / 1e6
        );
    }
}

/// Absorbs the tallies of `workers` workers, `rounds` of each; returns the time of that by `clock`.
fn absorb(workers: u64, rounds: u64, clock: impl Fn() -> Span) -> Span {
    let shape = shape();
    let mut sum = TallySum::new(&shape);
    let mut tally = Tally::new(&shape);
    let mut random = Random::new(workers);
    let mut cpu = Span::ZERO;
    for round in 0..rounds {
        for _ in 0..workers {
            fill(&mut tally, round, &mut random);
            let before = clock();
            sum.absorb(&mut tally);
            cpu += clock().saturating_sub(before);
        }
    }
    cpu
}

/// The CPU time of this thread.
fn thread_cpu() -> Span {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Span::from_s(time.tv_sec as u64) + Span::from_ns(time.tv_nsec as u64)
}

fn shape() -> Shape {
    let used = vec![true; SLOTS];
    Shape {
        slots: used.clone(),
        response: used.clone(),
        service: used,
        segments: 3,
        slice_width: Span::from_ms(150),
        cells: 10,
        ..Shape::default()
    }
}

/// Fills a tally as a worker does between two hand-overs: times from 50 us on, whose logarithm is
/// spread over five doublings, a tenth of them of sets.
fn fill(tally: &mut Tally, round: u64, random: &mut Random) {
    let width = Span::from_s(1).ns() / PER_SECOND;
    for nth in 0..OPERATIONS {
        let at = Span::from_ns(round * width + nth * width / OPERATIONS);
        let response = Span::from_ns((50_000.0 * (5.0 * random.unit()).exp2()) as u64);
        let kind = if nth % 10 == 0 { 1 } else { 0 };
        let counters = &mut tally.segments[1];
        counters.intended += 1;
        counters.sent += 1;
        counters.kinds[usize::from(kind)].sent += 1;
        counters.settle(usize::from(kind), Fate::Answered);
        tally.intended(at, 1);
        tally.sent_with(1);
        let times = &mut tally.times;
        if let Some(lag) = &mut times.lag[usize::from(kind)] {
            lag.record(response.ns() / 64);
        }
        times.lag_generator.record(response.ns() / 64);
        if let Some(punctual) = &mut times.punctual[usize::from(kind)] {
            punctual.record(response.ns());
        }
        let (service, hits) = (response, 1 - u32::from(kind));
        let (slot, server) = (kind, 0);
        let answer = Answer { count: 1, slot, kind, server, response, service, hits, misses: 0 };
        tally.answered(at, answer);
    }
}
