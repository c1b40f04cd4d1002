//! The bare paced client: gets at precomputed instants with exponential gaps, on any free
//! connection, and nothing else. It shows the cost of pacing alone, and its lateness.
//!
//! Response times count from the planned instant. It parses nothing: a reply is recognised by its
//! length.

use clap::{Arg, ArgMatches, Command};
use memtide_base::rng::{Stream, hash, unit};
use memtide_bench::pattern::{Pattern, Shape};
use memtide_bench::ready::{await_events, read};
use memtide_bench::{front, peer, usage};
use rustix::event::{Timespec, epoll};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::time::Instant;

const SEED: u64 = 1;
/// The time after its last planned instant in which a run waits for answers.
const GRACE_NS: u64 = 10_000_000_000;

fn main() -> ExitCode {
    front::exit("bare-paced", run(&command().get_matches()))
}

fn command() -> Command {
    Command::new("bare-paced")
        .about("The floor of what paced gets cost and of how late they are")
        .arg(front::server())
        .arg(front::positive("rate", "20000", "Gets per second"))
        .arg(front::positive("connections", "16", "Connections"))
        .arg(front::positive("keys", "1000", "Distinct keys, stored before the run"))
        .arg(front::positive("seconds", "10", "Length of the plan"))
        .arg(
            Arg::new("wait")
                .long("wait")
                .default_value("sleep")
                .value_parser(["sleep", "spin"])
                .help("How the next instant is waited for"),
        )
}

fn run(words: &ArgMatches) -> io::Result<String> {
    let number = |name| front::number_of(words, name);
    let server = front::server_of(words);
    let spins = words.get_one::<String>("wait").is_some_and(|wait| wait == "spin");
    let pattern = Pattern::new(Shape::gets(number("keys") as usize));
    let unreachable = |error: io::Error| io::Error::new(error.kind(), format!("{server}: {error}"));
    peer::fill(server, &pattern).map_err(unreachable)?;
    let streams = peer::connect(server, number("connections") as usize).map_err(unreachable)?;
    let plan = plan(f64::from(number("rate")), f64::from(number("seconds")));
    // Without this the kernel may add 50 us to every sleep.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let mut client = Client::new(&pattern, streams, plan)?;

    let cpu_before = usage::Cpu::used();
    let began = Instant::now();
    client.run(began, spins)?;
    let figures = front::figures("ops", client.response_ns.len() as u64, (began, cpu_before));
    client.response_ns.sort_unstable();
    let at = |share: f64| {
        let rank = (client.response_ns.len() as f64 * share) as usize;
        client.response_ns.get(rank).map_or("null".to_owned(), u64::to_string)
    };
    let open = figures.strip_suffix('}').expect("an object");
    Ok(format!("{open},\"p50_ns\":{},\"p99_ns\":{}}}", at(0.5), at(0.99)))
}

/// The instants of all gets, in nanoseconds from the beginning.
fn plan(rate: f64, seconds: f64) -> Vec<u64> {
    let mut at_s = 0.0;
    let instants = (0..).map_while(|nth| {
        at_s += -(1.0 - unit(hash(SEED, Stream::GAP, nth))).ln() / rate;
        (at_s < seconds).then_some((at_s * 1e9) as u64)
    });
    instants.collect()
}

struct Peer {
    stream: TcpStream,
    /// The planned instant of the get in flight.
    intended_ns: u64,
    /// Bytes of its reply so far.
    have: usize,
}

struct Client<'a> {
    pattern: &'a Pattern,
    peers: Vec<Peer>,
    idle: VecDeque<usize>,
    plan: Vec<u64>,
    /// The number of gets sent.
    sent: usize,
    response_ns: Vec<u64>,
    reply_bytes: usize,
    epoll: rustix::fd::OwnedFd,
    input: Vec<u8>,
}

impl<'a> Client<'a> {
    fn new(pattern: &'a Pattern, streams: Vec<TcpStream>, plan: Vec<u64>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut peers = Vec::with_capacity(streams.len());
        for (index, stream) in streams.into_iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, &stream, data, epoll::EventFlags::IN)?;
            peers.push(Peer { stream, intended_ns: 0, have: 0 });
        }
        Ok(Self {
            pattern,
            idle: (0..peers.len()).collect(),
            peers,
            sent: 0,
            response_ns: Vec::with_capacity(plan.len()),
            plan,
            reply_bytes: pattern.probe().1.len(),
            epoll,
            input: vec![0; 64 * 1024],
        })
    }

    fn run(&mut self, began: Instant, spins: bool) -> io::Result<()> {
        let last_ns = self.plan.last().copied().unwrap_or(0) + GRACE_NS;
        let mut events = Vec::with_capacity(256);
        while self.response_ns.len() < self.plan.len() {
            let now_ns = began.elapsed().as_nanos() as u64;
            if now_ns > last_ns {
                return Err(io::Error::other("some gets were never answered"));
            }
            self.send_due(now_ns)?;
            let due_ns = self.plan.get(self.sent).copied().unwrap_or(last_ns);
            // If every connection is busy, only an answer frees one.
            let until_ns = if self.idle.is_empty() { last_ns } else { due_ns };
            let rest_ns = if spins { 0 } else { until_ns.saturating_sub(now_ns) };
            let rest = Timespec {
                tv_sec: (rest_ns / 1_000_000_000) as i64,
                tv_nsec: (rest_ns % 1_000_000_000) as i64,
            };
            await_events(&self.epoll, &mut events, rest)?;
            for event in &events {
                self.receive(event.data.u64() as usize, began)?;
            }
        }
        Ok(())
    }

    /// Sends due gets, as long as a connection is free.
    fn send_due(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(&due_ns) = self.plan.get(self.sent)
            && due_ns <= now_ns
            && let Some(index) = self.idle.pop_front()
        {
            let request = self.pattern.request(self.sent);
            let peer = &mut self.peers[index];
            peer.intended_ns = due_ns;
            peer.stream.write_all(request)?;
            self.sent += 1;
        }
        Ok(())
    }

    fn receive(&mut self, index: usize, began: Instant) -> io::Result<()> {
        let peer = &mut self.peers[index];
        let Some(bytes) = read(&mut peer.stream, &mut self.input)? else { return Ok(()) };
        peer.have += bytes.len();
        if peer.have >= self.reply_bytes {
            peer.have = 0;
            self.response_ns.push(began.elapsed().as_nanos() as u64 - peer.intended_ns);
            self.idle.push_back(index);
        }
        Ok(())
    }
}
