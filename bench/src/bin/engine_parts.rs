//! Runs one part of the engine's work a given number of times and nothing else, so that a profiler
//! can count its instructions. Measures no time and prints nothing.
#![allow(clippy::print_stderr)] // A program talks to its user.

use clap::{Arg, Command, value_parser};
use memtide_base::{Instant, Span};
use memtide_codec::Verb;
use memtide_codec::meta::{Flags, ReplyDecoder as MetaDecoder};
use memtide_codec::text::{ReplyDecoder, encode};
use memtide_engine::Worker;
use memtide_host::driver::NullDriver;
use memtide_metrics::histogram::Tallying;
use memtide_run::{Surroundings, lower};
use memtide_scenario::{Protocol, Scenario};
use memtide_workload::{Next, PlannedSource, Source};
use memtide_world::{Address, Plan, ServerPlan};
use std::hint::black_box;

const VALUE_BYTES: usize = 200;
const CONNECTIONS: u32 = 16;

/// A part's name and its work.
type Part = (&'static str, fn(u64));

const PARTS: [Part; 11] = [
    ("next", next),
    ("encode", encode),
    ("decode", decode),
    ("record", record),
    ("turn", turn),
    ("deep turn", deep_turn),
    ("key of a multiget", key_of_a_multiget),
    ("meta decode", meta_decode),
    ("meta turn", |times| turns(&over_meta(closed_loop()), times)),
    ("meta deep turn", |times| turns(&over_meta(deep()), times)),
    ("meta multiget", |times| keys(&over_meta(multigets()), times)),
];

fn main() {
    let words = Command::new("engine-parts")
        .about("Does one part of the engine's work many times")
        .arg(Arg::new("part").required(true).value_parser(PARTS.map(|(name, _)| name)))
        .arg(Arg::new("times").required(true).value_parser(value_parser!(u64).range(1..)))
        .get_matches();
    let named: &String = words.get_one("part").expect("it is required");
    let times: u64 = *words.get_one("times").expect("it is required");
    let (_, work) = PARTS.iter().find(|(name, _)| name == named).expect("only these are taken");
    work(times);
}

/// A closed loop of nine gets to one set, 30-byte keys and 200-byte values.
fn closed_loop() -> Scenario {
    Scenario {
        rate: Some(0.0),
        connections: Some(CONNECTIONS),
        keys: 10_000,
        threads: Some(1),
        ..Scenario::default()
    }
}

/// The plan as it is lowered.
fn plan() -> Plan {
    lowered(&closed_loop())
}

fn lowered(scenario: &Scenario) -> Plan {
    let server =
        ServerPlan { name: "null".to_owned(), addresses: vec![Address::Unix("null".to_owned())] };
    let around = Surroundings::simulated(vec![server], 1);
    lower(scenario, &around).unwrap_or_else(|problem| panic!("{}", problem.message)).plan
}

/// Deciding an operation: its kind and its key.
fn next(times: u64) {
    let mut source = PlannedSource::new(&plan().source);
    for index in 0..times {
        let Next::Op(op) = source.next(black_box(index), Instant::ZERO) else { return };
        black_box(op);
    }
}

/// Writing the request of a get with a 30-byte key.
fn encode(times: u64) {
    let keys = plan().keys;
    let mut out = Vec::with_capacity(1 << 16);
    for id in 0..times {
        out.clear();
        encode::command(&mut out, Verb::Get);
        keys.write_spaced(black_box(id % 10_000), &mut out);
        encode::line_end(&mut out, false);
        black_box(&out);
    }
}

/// Reading the reply to a get that hits.
fn decode(times: u64) {
    let mut reply = format!("VALUE k 0 {VALUE_BYTES}\r\n").into_bytes();
    reply.resize(reply.len() + VALUE_BYTES, b'v');
    reply.extend_from_slice(b"\r\nEND\r\n");
    let mut decoder = ReplyDecoder::new();
    for _ in 0..times {
        let mut input = black_box(&reply[..]);
        // By reference, as the engine reads it: a moved reply is copied.
        while let Ok(Some(ref reply)) = decoder.next(&mut input) {
            black_box(reply);
        }
        assert!(input.is_empty(), "it is a whole reply");
    }
}

/// Reading the reply to an mg that hits, with its key.
fn meta_decode(times: u64) {
    let mut reply = format!("VA {VALUE_BYTES} kk\r\n").into_bytes();
    reply.resize(reply.len() + VALUE_BYTES, b'v');
    reply.extend_from_slice(b"\r\nMN\r\n");
    let mut decoder = MetaDecoder::new();
    for _ in 0..times {
        let mut input = black_box(&reply[..]);
        loop {
            let mut flags = Flags::default();
            match decoder.next_reply(&mut input, &mut flags) {
                Ok(Some(ref reply)) => drop(black_box(reply)),
                _ => break,
            }
        }
        assert!(input.is_empty(), "it is a whole reply");
    }
}

/// Recording one time.
fn record(times: u64) {
    let mut histogram = Tallying::default();
    for nth in 0..times {
        histogram.record(black_box(20_000 + nth % 4096 * 64));
    }
    black_box(&histogram);
}

/// Whole operations through a worker: decided, encoded, sent, answered, matched and recorded.
fn turn(times: u64) {
    turns(&closed_loop(), times);
}

/// 16 operations of a connection are sent and answered together.
fn deep_turn(times: u64) {
    turns(&deep(), times);
}

fn deep() -> Scenario {
    Scenario { depth: Some(16), ..closed_loop() }
}

fn over_meta(scenario: Scenario) -> Scenario {
    Scenario { protocol: Protocol::Meta, ..scenario }
}

/// Multigets of 100 through a worker, per key.
fn key_of_a_multiget(times: u64) {
    keys(&multigets(), times);
}

fn multigets() -> Scenario {
    let mix = "get=1".parse().expect("it is a mix");
    Scenario { multiget: 100, mix, ..closed_loop() }
}

fn keys(scenario: &Scenario, times: u64) {
    turns(scenario, times / u64::from(scenario.multiget));
}

fn turns(scenario: &Scenario, times: u64) {
    let plan = lowered(scenario);
    let driver = NullDriver::new(CONNECTIONS, VALUE_BYTES);
    let mut worker = Worker::new(driver, &plan, 0, &PlannedSource::new(&plan.source));
    worker.open();
    worker.begin(&plan, Instant::ZERO + Span::from_us(1));
    let settled = |worker: &mut Worker<_, _>| -> u64 {
        worker.tally_mut().segments.iter().map(|segment| segment.settled()).sum()
    };
    while settled(&mut worker) < times {
        worker.turn().expect("the null driver does not fail");
    }
}
