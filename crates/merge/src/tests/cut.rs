//! One run against the same operations cut into shards: the numbers must be identical.

use super::generate::run;
use super::{json, same};
use memtide_base::{Random, Span};
use memtide_metrics::counter::Fate;
use memtide_metrics::slices::first_width;
use memtide_metrics::{Answer, Histogram, Row, Shape, Tally, TallySum, UnansweredCount};
use memtide_record::*;
use memtide_scenario::Kind;
use memtide_workload::OpKind;

const KINDS: [OpKind; 2] = [OpKind::Get, OpKind::Set];
const SERVERS: usize = 2;

/// One operation with its outcome.
struct Operation {
    intended: Span,
    kind: OpKind,
    server: usize,
    response: Span,
    lag: Span,
    fate: Fate,
    hit: bool,
}

fn operation(random: &mut Random, window: Span) -> Operation {
    let longest_ns = 1 << (10 + random.below(25));
    let response = Span::from_ns(1 + random.below(longest_ns));
    Operation {
        intended: Span::from_ns(random.below(window.ns())),
        kind: KINDS[random.below(2) as usize],
        server: random.below(SERVERS as u64) as usize,
        response,
        lag: Span::from_ns(random.below(response.ns())),
        fate: match random.below(50) {
            0 => Fate::TimedOut,
            1 => Fate::Failed,
            2 => Fate::Unacknowledged,
            3 | 4 => Fate::Dropped,
            _ => Fate::Answered,
        },
        hit: random.below(10) > 0,
    }
}

/// Records operations per shard as workers do, and sums them as a run does.
fn record(operations: &[&Operation], window: Span, start_ms: u64) -> Record {
    let width = Span::from_s(1);
    let mut slots = vec![false; 16];
    KINDS.iter().for_each(|kind| slots[kind.index()] = true);
    let shape = Shape {
        response: slots.clone(),
        service: slots.clone(),
        slots,
        segments: 1,
        servers: SERVERS,
        row_width: width,
        rows_max: 1024,
        row_gets: vec![OpKind::Get.index()],
        slice_width: first_width(Some(window)),
        cells: 12,
        depth: 9,
        churn: false,
        message_sizes: true,
        item_figures: false,
        bounds: true,
    };
    let (mut tally, mut sums) = (Tally::new(&shape), TallySum::new(&shape));
    for operation in operations {
        note(&mut tally, operation);
    }
    sums.absorb(&mut tally);
    sealed(&sums, window, start_ms)
}

fn note(tally: &mut Tally, operation: &Operation) {
    let Operation { intended, server, response, lag, fate, hit, .. } = *operation;
    let at = operation.kind.index();
    let (hits, misses) = (u32::from(hit), u32::from(!hit));
    tally.intended(intended, 1);
    for counters in [&mut tally.segments[0], &mut tally.servers[server]] {
        counters.intended += 1;
        counters.sent += 1;
        counters.kinds[at].sent += 1;
        counters.bytes_sent += 30;
        counters.settle(at, fate);
    }
    tally.sent_in_window[at] += 1;
    tally.times.in_flight_at_send.record(response.ns() % 50);
    tally.sent_with(1 + response.ns() as usize % 9);
    let is_sent = fate != Fate::Dropped;
    let (kind, nth) = (at as u8, server as u16);
    let lost = UnansweredCount { kind, server: Some(nth), is_sent, hits: 0, misses: 0, count: 1 };
    match fate {
        Fate::Unacknowledged => {}
        Fate::Answered => {
            tally.times.lag[at].as_mut().unwrap().record(lag.ns());
            tally.times.servers[server].record(response.ns());
            tally.times.lag_generator.record(lag.ns());
            let service = response.saturating_sub(lag);
            let (slot, server) = (kind, nth);
            let answer = Answer { count: 1, slot, kind, server, response, service, hits, misses };
            tally.answered(intended, answer);
        }
        Fate::Dropped => {
            // The operation took at least the time of its answer.
            tally.lost(intended, lost);
            tally.segments[0].dropped_at_end += 1;
            tally.servers[server].dropped_at_end += 1;
            tally.times.bounds[at].as_mut().unwrap().record(response.ns() / 8);
            tally.times.server_bounds[server].record(response.ns() / 8);
        }
        _ => tally.lost(intended, lost),
    }
}

fn sealed(sums: &TallySum, window: Span, start_ms: u64) -> Record {
    let counters = &sums.segments[0];
    let measure = PhaseCounts::from(counters);
    let timeout = Span::from_s(5);
    let kinds = |slots: &[Option<Histogram<u64>>], unanswered: bool| {
        let (mut all, mut all_bounds) = (Histogram::new(), Histogram::new());
        let mut kinds = std::collections::BTreeMap::new();
        for kind in KINDS {
            let times = slots[kind.index()].as_ref().unwrap();
            all.absorb(times);
            let of_kind = match unanswered {
                true => {
                    let bounds = sums.times.bounds[kind.index()].as_ref().unwrap();
                    all_bounds.absorb(bounds);
                    let above = counters.kinds[kind.index()].unanswered;
                    Distribution::cut_off(times, above, timeout, bounds)
                }
                false => Distribution::of(times, 0, timeout),
            };
            kinds.insert(kind.into(), of_kind);
        }
        let above = if unanswered { counters.unanswered() } else { 0 };
        kinds.insert(Kind::All, Distribution::cut_off(&all, above, timeout, &all_bounds));
        kinds
    };
    let server = |at: usize| ServerRecord {
        name: ["a:11211", "b:11211"][at].to_owned(),
        totals: ServerTotals::of((&sums.servers[at]).into(), &Totals::default()),
        rate_per_s: per_second(sums.servers[at].answered, window),
        response: Distribution::cut_off(
            &sums.times.servers[at],
            sums.servers[at].unanswered(),
            timeout,
            &sums.times.server_bounds[at],
        ),
        ..ServerRecord::default()
    };
    let (width, slices) = sums.series.slices();
    let none = Distribution::of(&Histogram::new(), 0, timeout);
    let sent = KINDS.map(|kind| (Kind::from(kind), sums.sent_in_window[kind.index()]));
    Record {
        window_ns: window.ns(),
        measured_s: window.as_s_f64(),
        totals: measure.totals.clone(),
        phases: Phases { measure, ..Phases::default() },
        servers: (0..SERVERS).map(server).collect(),
        sent_in_window: sent.into(),
        rate: RateRecord {
            achieved_per_s: per_second(sent.iter().map(|(_, count)| count).sum(), window),
            kinds_per_s: sent.map(|(kind, count)| (kind, per_second(count, window))).into(),
            ..RateRecord::default()
        },
        response: kinds(&sums.times.response, true),
        service: kinds(&sums.times.service, false),
        lag: kinds(&sums.times.lag, false),
        lag_split: LagSplit {
            generator: Distribution::of(&sums.times.lag_generator, 0, timeout),
            client_busy: none.clone(),
            server: none.clone(),
            disconnected: none.clone(),
        },
        client_delay: none,
        in_flight_at_send: Counts::of(&sums.times.in_flight_at_send),
        outstanding_at_send: Counts::of(&sums.outstanding()),
        intervals: rows(sums.series.rows(), sums.series.width(), window, IntervalRecord::of),
        slices: rows(&slices, width, window, SliceRecord::of),
        ..run(start_ms, 1)
    }
}

fn rows<T>(rows: &[Row], width: Span, window: Span, of: fn(&Row, Span, Span) -> T) -> Vec<T> {
    let row = |(number, row): (usize, &Row)| {
        let start = width * number as u64;
        of(row, start, width.min(window.saturating_sub(start)))
    };
    rows.iter().enumerate().map(row).collect()
}

/// The numbers alone, without the machine, clock and shards.
fn numbers(record: Record) -> String {
    json(&Record {
        plan: PlanRecord::default(),
        client: ClientRecord::default(),
        believable: Believable::default(),
        warnings: Vec::new(),
        started_unix_ms: 0,
        ended_unix_ms: 0,
        start_skew_ns: None,
        shards: Vec::new(),
        ..record
    })
}

#[test]
fn a_run_cut_into_shards_merges_to_the_numbers_of_the_whole() {
    for (seed, window_ms, shards) in
        [(1, 10_000, 2), (2, 10_400, 3), (3, 700, 5), (4, 100_000, 4), (5, 1_100_000, 2)]
    {
        let mut random = Random::new(seed);
        let window = Span::from_ms(window_ms);
        let operations: Vec<_> = (0..20_000).map(|_| operation(&mut random, window)).collect();
        let mut parts = vec![Vec::new(); shards];
        for operation in &operations {
            parts[random.below(shards as u64) as usize].push(operation);
        }
        let whole = record(&operations.iter().collect::<Vec<_>>(), window, 0);
        let parts: Vec<Record> = parts
            .iter()
            .zip(1..)
            .map(|(part, seed)| {
                let mut record = record(part, window, 0);
                record.plan.seed = seed;
                record
            })
            .collect();
        let mut merged = same(&parts);
        assert_eq!(merged.shards.len(), shards);
        let slicing = merged.slicing.take().expect("it says why there are no intervals");
        assert_eq!(slicing.unusable.as_deref(), Some("pooled runs have no common slices"));
        assert_eq!(merged.start_skew_ns, Some(0));
        if whole.slices.len() < whole.intervals.len() {
            // Intervals that are shorter than slices keep only counts.
            for (merged, whole) in merged.intervals.iter_mut().zip(&whole.intervals) {
                assert_eq!((merged.response_p50_ns, merged.response_p99_ns), (None, None));
                merged.response_p50_ns = whole.response_p50_ns;
                merged.response_p99_ns = whole.response_p99_ns;
            }
        }
        for (merged, whole) in numbers(merged).lines().zip(numbers(whole).lines()) {
            assert_eq!(merged, whole, "seed {seed}");
        }
    }
}

#[test]
fn times_from_a_microsecond_to_ten_seconds_read_back_within_one_percent() {
    let mut parts = Vec::new();
    let mut injected = Vec::new();
    for shard in 0..4u64 {
        let mut random = Random::new(shard);
        let mut times = Histogram::<u64>::new();
        for _ in 0..30_000 {
            // Log-uniform over seven decades.
            let ns = 10f64.powf(3.0 + 7.0 * memtide_base::rng::unit(random.bits())) as u64;
            times.record(ns);
            injected.push(ns);
        }
        let mut part = run(shard, 1);
        let all = Distribution::of(&times, 0, Span::from_s(15));
        part.response = [(Kind::All, all)].into();
        parts.push(Record::from_json(&json(&part)).unwrap());
    }
    injected.sort_unstable();
    let merged = Record::from_json(&json(&same(&parts))).unwrap();
    let read = &merged.response[&Kind::All];
    for percentile in Percentile::ALL {
        let rank = (percentile.fraction() * injected.len() as f64).ceil() as usize;
        let (true_ns, ns) = (injected[rank - 1] as f64, read.percentile(percentile).unwrap());
        assert!((ns as f64 / true_ns - 1.0).abs() < 0.01, "{percentile}: {ns} for {true_ns}");
    }
    let times = read.times().unwrap();
    for (rank, &ns) in (1..).zip(&injected).step_by(97) {
        let seen = times.value_at_rank(rank).unwrap();
        assert!((seen as f64 / ns as f64 - 1.0).abs() < 0.01, "rank {rank}: {seen} for {ns}");
    }
    let mean = injected.iter().sum::<u64>() as f64 / injected.len() as f64;
    assert_eq!(read.mean_ns, Some(mean));
    assert_eq!((read.min_ns, read.max_ns), (injected.first().copied(), injected.last().copied()));
}
