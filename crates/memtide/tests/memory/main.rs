//! The estimate of a run's memory against the memory that its plan, its workers and its rows take,
//! for drawn scenarios. No load is sent. `MEMTIDE_MEMORY_DRAWS` says how many are drawn, and
//! `MEMTIDE_MEMORY_SEED` draws others.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a test may panic, and counts allocations")]

use memtide_base::rng::{Random, Stream};
use memtide_base::{Instant, Span};
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, HostFleet};
use memtide_metrics::TallySum;
use memtide_run::lower::{Doors, Surroundings, lower};
use memtide_run::{PlanSizes, Share};
use memtide_scenario::{Scenario, Settings, from_toml};
use memtide_world::fleet::{Command, Fleet};
use memtide_world::plan::PlanMemory;
use memtide_world::{Address, ServerPlan, Stage};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes in use, and the most that were.
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn took(bytes: usize) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(used, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the promises of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The scenarios that are drawn unless the environment says how many: as many as CI has time for.
const DRAWS: u64 = 40;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |word| word.parse().unwrap())
}

#[test]
fn the_estimate_of_memory_holds_for_drawn_scenarios() {
    let seed = number("MEMTIDE_MEMORY_SEED", 36);
    let mut ratios = Vec::new();
    for draw in 0..number("MEMTIDE_MEMORY_DRAWS", DRAWS) {
        let mut random = Random::at(seed, Stream::SAMPLE, draw);
        let (words, servers) = drawn(&mut random);
        let share = (random.below(4) == 0).then_some(Share { number: 1, of: 4, units: 2 });
        let mut settings = Settings::default();
        settings.apply(&from_toml(&words, "a draw").unwrap()).unwrap();
        let sizes = PlanSizes::of(&settings.scenario, servers).unwrap();
        let own = share.map_or(sizes.plan, |share| sizes.plan.of_share(share.units, share.of));
        let needed = own.bytes() as f64;
        let peak = peak(&settings.scenario, servers, share, &sizes) as f64;
        let said = format!("seed {seed}, draw {draw}: {peak} bytes, not {needed}:\n{words}{own:?}");
        assert_near(peak, needed, &said);
        ratios.push(needed / peak);
    }
    check_usual_loads();
    check_that_workers_are_alike();
    check_long_values_in_flight();
    ratios.sort_by(f64::total_cmp);
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    let said =
        format!("{} draws; the estimate is {least:.2} to {most:.2} of the peak", ratios.len());
    drop(writeln!(std::io::stderr(), "seed {seed}: {said}"));
}

/// Asserts both bounds of an estimate of `needed` bytes, where `peak` were in use.
fn assert_near(peak: f64, needed: f64, said: &str) {
    assert!(peak <= 1.1 * needed + 8e6, "{said}");
    assert!(needed <= 2.0 * peak + 32e6, "{said}");
}

/// The estimate of the loads whose cost is measured, for seconds (docs/performance.md), is exact to
/// 1 MB.
fn check_usual_loads() {
    for load in ["connections = 16", "connections = 256", "connections = 16\ndepth = 16"] {
        let words = format!("{load}\nthreads = 1\nrate = 0\nkeys = 1000\nduration = '3s'\n");
        let mut settings = Settings::default();
        settings.apply(&from_toml(&words, "a usual load").unwrap()).unwrap();
        let sizes = PlanSizes::of(&settings.scenario, 1).unwrap();
        let needed = sizes.plan.bytes() as f64;
        let peak = peak(&settings.scenario, 1, None, &sizes) as f64;
        let said = format!("{peak} bytes, not {needed}: {:?}", sizes.plan);
        assert!((peak - needed).abs() <= 1e6, "{words}{said}");
        drop(writeln!(std::io::stderr(), "{load}: {said}"));
    }
}

/// Workers of one process whose memory is compared, each with 16 connections.
const WORKERS: [u64; 4] = [1, 8, 64, 256];
/// Part by which the memory of a further worker may differ between two numbers of workers.
const APART_MAX: f64 = 0.03;
/// Part by which its estimate may exceed it: the estimate holds for io_uring as well, which takes
/// more than epoll.
const OVER_MAX: f64 = 0.15;

/// From 1 to 256 workers each further one takes the same memory, in truth and by the estimate.
fn check_that_workers_are_alike() {
    let each = WORKERS.map(|workers| {
        let words = format!(
            "threads = {workers}\nconnections = {}\nrate = 0\nkeys = 1000\nduration = '2s'\n",
            16 * workers
        );
        let mut settings = Settings::default();
        settings.apply(&from_toml(&words, "many workers").unwrap()).unwrap();
        let sizes = PlanSizes::of(&settings.scenario, 1).unwrap();
        let peak = peak(&settings.scenario, 1, None, &sizes);
        (workers as f64, peak as f64, sizes.plan.bytes() as f64)
    });
    let step = |from: (f64, f64, f64), to: (f64, f64, f64)| {
        let workers = to.0 - from.0;
        ((to.1 - from.1) / workers, (to.2 - from.2) / workers)
    };
    let further: Vec<_> = each.windows(2).map(|pair| step(pair[0], pair[1])).collect();
    let said = format!("of {WORKERS:?} a further worker takes and is estimated as {further:.0?}");
    let first = further[0];
    for &(took, needed) in &further {
        assert!((took / first.0 - 1.0).abs() <= APART_MAX, "{said}");
        assert!((needed - first.1).abs() < 1.0, "{said}");
        assert!((0.0..=OVER_MAX).contains(&(needed / took - 1.0)), "{said}");
    }
    drop(writeln!(std::io::stderr(), "{said}"));
}

/// Sets of 30 MB at a depth of 64 took twice the estimate once they were sent: to a server that
/// reads them and never answers.
fn check_long_values_in_flight() {
    let words = "value-size = 30000000\nvalue-max = 30000000\nmix = 'set=1'\nkeys = 4\nrate = 0\n\
                 threads = 1\nconnections = 2\ndepth = 64\nduration = '120s'\ntimeout = '120s'\n";
    let mut settings = Settings::default();
    settings.apply(&from_toml(words, "long values").unwrap()).unwrap();
    let needed = PlanSizes::of(&settings.scenario, 1).unwrap().plan.bytes() as f64;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let mut buffers = [vec![0; 1 << 16], vec![0; 1 << 16]];
    static READ: AtomicUsize = AtomicUsize::new(0);
    std::thread::spawn(move || {
        let streams = [listener.accept().unwrap().0, listener.accept().unwrap().0];
        std::thread::scope(|scope| {
            for (mut stream, buffer) in streams.into_iter().zip(&mut buffers) {
                scope.spawn(move || {
                    while let Ok(1..) = stream.read(buffer).inspect(|bytes| {
                        READ.fetch_add(*bytes, Ordering::Relaxed);
                    }) {}
                });
            }
        });
    });
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let server = ServerPlan { name: "s".to_owned(), addresses: vec![address] };
    let plan = lower(&settings.scenario, &around(vec![server], None)).unwrap().plan;
    let mut sums = TallySum::new(&plan.shape());
    let mut fleet =
        HostFleet::new(Clock::start(), StopFlag::default(), &[], None, ConnectGuard::default());
    fleet.start(&plan, plan.own_workers()).unwrap();
    let soon = |fleet: &HostFleet| fleet.now() + Span::from_ms(20);
    while fleet.collect(soon(&fleet), &mut sums).unwrap().workers[0].stage < Stage::Ready {}
    fleet.command(soon(&fleet), Command::Begin).unwrap();
    let until = fleet.now() + Span::from_s(60);
    while READ.load(Ordering::Relaxed) < 2 * 64 * 30_000_000 && fleet.now() < until {
        fleet.collect(soon(&fleet), &mut sums).unwrap();
    }
    let read = READ.load(Ordering::Relaxed);
    assert!(read > 2 * 64 * 30_000_000, "{read} bytes were read: some sets were not sent");
    fleet.command(fleet.now(), Command::Stop { grace: Span::ZERO }).unwrap();
    drop(fleet);
    let peak = (PEAK.load(Ordering::Relaxed) - before) as f64;
    assert_near(peak, needed, &format!("128 sets of 30 MB: {peak} bytes, not {needed}"));
}

/// A number from `least` to `most`, each order of magnitude as likely as the others.
fn between(random: &mut Random, least: f64, most: f64) -> u64 {
    (least * (most / least).powf(random.unit())).round() as u64
}

/// The words of a scenario, and its servers.
fn drawn(random: &mut Random) -> (String, u32) {
    let servers = between(random, 1.0, 6.0) as u32;
    let threads = between(random, 1.0, 8.0);
    let [rate, size] = [between(random, 10.0, 1e6), between(random, 1.0, 2e7)];
    let mut words = format!("threads = {threads}\nrate = {rate}\nvalue-max = '20M'\n");
    let mut say = |word: String| words += &format!("{word}\n");
    say(match random.below(3) {
        0 => format!("value-size = 'uniform:1,{size}'"),
        1 => format!("value-size = 'exponential:{}'", size.min(1_000)),
        _ => format!("value-size = {size}"),
    });
    say(format!("keys = {}", between(random, 1.0, 1e8)));
    let has_windows = random.below(4) == 0;
    if has_windows {
        let clients = between(random, threads as f64 * 4.0, 400.0);
        let window = between(random, 1.0, 2e7 / clients as f64);
        say(format!("clients = {clients}\nwindow = {window}\nmix = 'set=1,get=9'"));
    } else {
        let connections = between(random, threads as f64 * 4.0, 3_000.0);
        let depth = between(random, 1.0, 1e6 / connections as f64).min(4_096);
        say(format!("connections = {connections}\ndepth = {depth}"));
        say(["mix = 'get=1'", "mix = 'set=9,get=1'", "mix = 'get=9,set=1,delete=1,touch=1'"]
            [random.below(3) as usize]
            .to_owned());
    }
    if random.below(3) == 0 {
        say(format!("verify = 1\nverify-keys = {}", between(random, 1e3, 1e7)));
    }
    say(format!("timeout = '{}ms'", between(random, 50.0, 5e3)));
    if random.below(2) == 0 {
        let width = between(random, 10.0, 1e3);
        say(format!(
            "interval = '{width}ms'\nduration = '{}ms'",
            width * between(random, 1.0, 1.6e4)
        ));
    } else {
        say(format!("duration = '{}s'", between(random, 1.0, 1e5)));
    }
    (words, servers)
}

/// The most bytes that the plan, the workers, and the rows of the run take together.
fn peak(scenario: &Scenario, servers: u32, share: Option<Share>, sizes: &PlanSizes) -> usize {
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let server = |number| ServerPlan {
        name: format!("s{number}"),
        addresses: vec![Address::Unix(format!("/nowhere/at/all/{number}"))],
    };
    let plan = lower(scenario, &around((0..servers).map(server).collect(), share)).unwrap().plan;
    let mut sums = TallySum::new(&plan.shape());
    let plan_sizes = share.map_or(sizes.plan, |share| sizes.plan.of_share(share.units, share.of));
    let seconds = keep_rows(&mut sums, sizes, &plan_sizes);
    let (clock, own) = (Clock::start(), plan.own_workers());
    let guard = ConnectGuard::default();
    let mut fleet = HostFleet::new(clock, StopFlag::default(), &[], None, guard);
    fleet.start(&plan, own.clone()).unwrap();
    // A worker that has handed something over exists.
    while {
        let found = fleet.collect(fleet.now() + Span::from_ms(20), &mut sums).unwrap();
        found.workers.iter().any(|worker| worker.at == Instant::ZERO)
    } {}
    fleet.command(fleet.now(), Command::Stop { grace: Span::ZERO }).unwrap();
    drop((fleet, seconds));
    PEAK.load(Ordering::Relaxed) - before
}

/// Fills the rows that a run of this scenario keeps, with exponential times; returns the times of
/// the seconds that it keeps.
fn keep_rows(sums: &mut TallySum, sizes: &PlanSizes, plan: &PlanMemory) -> Vec<BTreeMap<u64, u64>> {
    let response = exponential(plan.row_operations);
    let rows = sizes.decided.duration.unwrap().ns().div_ceil(sums.series.width().ns());
    for row in 0..rows {
        sums.series.row_mut(row).response.clone_from(&response);
    }
    vec![exponential(plan.second_operations); plan.kept_seconds as usize]
}

/// The buckets of this number of exponential times.
fn exponential(operations: u64) -> BTreeMap<u64, u64> {
    let mut random = Random::at(operations, Stream::SERVICE, 0);
    let mut buckets = BTreeMap::new();
    for _ in 0..operations.min(200_000) {
        let ns = (-(1.0 - random.unit()).ln() * 200e3) as u64;
        let coarse = ns.checked_ilog2().unwrap_or(0).saturating_sub(7);
        *buckets.entry(ns >> coarse << coarse).or_insert(0) += 1;
    }
    buckets
}

/// What surrounds a run against these servers.
fn around(servers: Vec<ServerPlan>, share: Option<Share>) -> Surroundings {
    let io = Doors::Kernel { uring: Err("the pages of its buffers are the kernel's".to_owned()) };
    Surroundings { io, share, ..Surroundings::simulated(servers, 1) }
}
