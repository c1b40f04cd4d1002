//! The cost of each sink of measured operations: generated samples go to receivers that discard
//! them. The figures are processor time of the thread that makes rows and, for points, also of the
//! thread that compresses them.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program talks to its user.

use clap::{Arg, Command, value_parser};
use memtide_base::rng::mix;
use memtide_base::{Instant, Span};
use memtide_bench::usage::Cpu;
use memtide_record::{Event, Sample, SampleOutcome};
use memtide_scenario::{InfluxNames, Kind};
use memtide_sinks::{
    Answer, Delivered, Delivery, Document, InfluxOperations, InfluxRun, ParquetRun, ParquetSamples,
    Post, SampleCsv, SampleLines, SampleOrigin, Sink,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The gap between two operations: 20 000 per second.
const GAP_NS: u64 = 50_000;
const CONNECTIONS: u32 = 16;
/// The number of points made before waiting for the thread that compresses them.
const TURN: u64 = 50_000;
/// An instant of the year 2026, in nanoseconds since 1970.
const ORIGIN_UNIX_NS: u64 = 1_795_000_000_000_000_000;

fn main() {
    let words = Command::new("sink-parts")
        .about("Makes rows of generated samples, and prints the processor time as JSON")
        .arg(
            Arg::new("samples")
                .required(true)
                .value_parser(value_parser!(u64).range(1..=1_000_000_000)),
        )
        .get_matches();
    let count: u64 = *words.get_one("samples").expect("it is required");
    let figures = [
        points(count),
        rows("csv", count, SampleCsv::new),
        rows("jsonl", count, SampleLines::new),
        rows("parquet", count, |out| ParquetSamples::new(out, ParquetRun::default())),
    ];
    println!("{}", json!(figures));
}

/// Samples as a run at 20 000 operations per second makes them: seven hits, two misses and a set.
/// Some end out of order; keys and times are drawn.
fn sample(number: u64) -> Event {
    let drawn = mix(number);
    let intended = Instant::from_ns(1_000_000_000 + number * GAP_NS - number % 5 * 3 * GAP_NS / 2);
    let sent = intended + Span::from_ns(2_000 + drawn % 3_001);
    let (kind, outcome) = match number % 10 {
        9 => (Kind::Set, SampleOutcome::Answered),
        7 | 8 => (Kind::Get, SampleOutcome::Miss),
        _ => (Kind::Get, SampleOutcome::Hit),
    };
    Event::Sample(Sample {
        begun: Instant::from_ns(900_000_000),
        index: number,
        key: format!("{:030}", drawn % 1_000_000).into_bytes(),
        size: (kind == Kind::Set).then_some(200),
        intended,
        sent: Some(sent),
        received: Some(sent + Span::from_ns(60_000 + drawn % 90_001)),
        kind,
        outcome,
        bytes: 232,
        connection: Some((number % u64::from(CONNECTIONS)) as u32),
    })
}

/// Passes `count` samples to `sink` in turns; returns the processor time of this thread, without
/// that of making the samples. After each turn it waits for `settled`.
fn feed(sink: &mut impl Sink, count: u64, settled: impl Fn()) -> f64 {
    let mut spent = 0.0;
    for first in (0..count).step_by(TURN as usize) {
        let samples: Vec<Event> = (first..count.min(first + TURN)).map(sample).collect();
        let began = thread_s();
        for sample in &samples {
            sink.on(sample).expect("memory takes all rows");
        }
        sink.flush().expect("memory takes all rows");
        spent += thread_s() - began;
        settled();
    }
    spent
}

/// The processor time of this thread.
fn thread_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Points for InfluxDB. The receiver discards them.
fn points(count: u64) -> Value {
    let receiver = Receiver::default();
    let Receiver { zipped, plain } = receiver.clone();
    let delivery = Delivery::start(Box::new(receiver), None);
    let mut delivery = delivery.expect("a thread can be started");
    let run = InfluxRun {
        names: InfluxNames::default(),
        run: "0123456789abcdef".to_owned(),
        share: String::new(),
        tags: Vec::new(),
    };
    let mut sink = InfluxOperations::new(run, delivery.feed(), None);
    let leads = BTreeMap::from_iter((0..CONNECTIONS).map(|connection| (connection, 0)));
    let servers = vec!["127.0.0.1:11211".to_owned()];
    sink.set_origin(&SampleOrigin { unix_ns: ORIGIN_UNIX_NS, servers, leads });
    let (before, before_here) = (Cpu::used(), thread_s());
    let spent = feed(&mut sink, count, || {
        let is_behind = |so_far: Delivered| so_far.written < so_far.offered;
        while is_behind(delivery.so_far()) {
            thread::sleep(Duration::from_millis(1));
        }
    });
    sink.finish().expect("memory takes all points");
    let delivered = delivery.close();
    assert!(delivered.is_whole() && delivered.written == count, "{delivered:?}");
    let all = Cpu::used().since(before);
    let here = thread_s() - before_here;
    json!({
        "sink": "influx",
        "rows": count,
        "cpu_s": spent,
        "bytes": plain.load(Ordering::Relaxed),
        "gzip_cpu_s": all.user_s + all.system_s - here,
        "gzip_bytes": zipped.load(Ordering::Relaxed),
    })
}

/// A receiver that counts the bytes of posts and discards them.
#[derive(Clone, Default)]
struct Receiver {
    zipped: Arc<AtomicU64>,
    plain: Arc<AtomicU64>,
}

impl Post for Receiver {
    fn post(&mut self, zipped: &[u8], _limit: Duration) -> Answer {
        // The last four bytes are the uncompressed length (RFC 1952, section 2.3.1).
        let length = zipped.last_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        self.plain.fetch_add(length.into(), Ordering::Relaxed);
        self.zipped.fetch_add(zipped.len() as u64, Ordering::Relaxed);
        Answer::Taken
    }
}

/// Rows of a file whose destination discards them.
fn rows<S: Sink>(name: &str, count: u64, sink: fn(Counted) -> S) -> Value {
    let bytes = Arc::new(AtomicU64::new(0));
    let mut sink = sink(Counted(Arc::clone(&bytes)));
    let rows_s = feed(&mut sink, count, || {});
    let began = thread_s();
    sink.finish().expect("memory takes all rows");
    let spent = rows_s + thread_s() - began;
    let bytes = bytes.load(Ordering::Relaxed);
    json!({"sink": name, "rows": count, "cpu_s": spent, "bytes": bytes})
}

/// A destination that counts bytes and discards them.
struct Counted(Arc<AtomicU64>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Document for Counted {
    fn complete(self) -> io::Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        Ok(())
    }
}
