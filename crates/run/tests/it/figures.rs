//! The record's figures against a recount of the exported operations, one by one.

use crate::world::{
    Ran, Script, Stretch, WatchedFleet, around, closes, run_in, run_toml, scenario,
};
use memtide_base::{Instant, Span};
use memtide_metrics::Histogram;
use memtide_record::event::IntervalRow;
use memtide_record::{Distribution, Interval, IntervalRecord, Record, Totals};
use memtide_scenario::Kind;
use memtide_workload::{OpKind, Outcome};
use memtide_world::driver::Sample;

fn ran() -> Ran {
    let script = Script {
        server_stops: vec![Stretch::ms(1_200, 1_300), Stretch::ms(1_800, 2_400)],
        closes: closes([(2_000, 1)]),
        ..Script::default()
    };
    let toml = "server = 'unix:/s'\nrate = 2000\nduration = '3s'\nwarmup = '100ms'\nkeys = 500\n\
                connections = 4\nthreads = 2\ndepth = 16\ntimeout = '300ms'\nmix = 'get=3,set=1,\
                delete=1'\nload = 'never'\n";
    run_toml(script, toml)
}

fn is_answered(sample: &&Sample) -> bool {
    use Outcome::{Deleted, Exists, Hit, Miss, NotFound, NotStored, Number, Stored, Touched};
    matches!(
        sample.outcome,
        Hit | Miss | Stored | NotStored | Exists | NotFound | Deleted | Touched | Number
    )
}

#[test]
fn what_settled_in_all_seconds_is_what_the_load_came_to() {
    let ran = ran();
    let (record, intervals) = (ran.record(), &ran.observer.intervals);
    assert!(intervals.len() >= 3, "{}", intervals.len());
    let mut end = Span::ZERO;
    for interval in intervals {
        assert_eq!(interval.start, end, "no gap and no overlap");
        end = interval.start + interval.length;
    }
    let sum = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
    let phases = [&record.phases.warmup, &record.phases.measure, &record.phases.cooldown];
    let all = |of: fn(&Totals) -> u64| phases.iter().map(|phase| of(&phase.totals)).sum::<u64>();
    assert_eq!(sum(|i| i.counts.settled), all(|of| of.intended));
    assert_eq!(sum(|i| i.counts.answered), all(|of| of.answered));
    assert_eq!(sum(|i| i.counts.timed_out), all(|of| of.timed_out));
    assert_eq!(sum(|i| i.counts.lost), all(|of| of.lost));
    assert_eq!(sum(|i| i.counts.sent), all(|of| of.sent));
    for (kind, response) in &record.response {
        let mut times = Histogram::<u64>::new();
        let parts = intervals.iter().filter_map(|interval| interval.response.get(kind));
        parts.for_each(|part| times.absorb(part));
        assert_eq!(times.to_text(), response.times().unwrap().to_text(), "{kind}");
        let above = intervals.iter().filter_map(|interval| interval.unanswered.get(kind));
        assert_eq!(above.sum::<u64>(), response.unanswered, "{kind}");
    }
    let over: Vec<bool> = intervals.iter().map(|interval| interval.is_over).collect();
    assert!(over.is_sorted() && !over[0] && over[over.len() - 1], "{over:?}");
    // The record keeps them.
    let kept: Vec<u64> = record.seconds.iter().map(|second| second.counts.settled).collect();
    assert_eq!(kept, intervals.iter().map(|i| i.counts.settled).collect::<Vec<_>>());
    // Rows made of the record say what the run's own rows said.
    for (kept, told) in IntervalRow::of_record(record).iter().zip(intervals) {
        let told = &IntervalRow::of_interval(told, None)[0];
        for ((column, kept), (_, told)) in kept.cells().zip(told.cells()) {
            assert!(kept.is_null() || kept == told, "{column} is {kept} and was {told}");
        }
    }
    // The server stalled from 1.8 s to 2.4 s: operations due in that time had to wait.
    let oldest = intervals.iter().filter_map(|interval| interval.under_way.oldest_due_s);
    assert!(oldest.fold(0.0, f64::max) > 0.0);
}

/// The controller looks at reports that are up to a tenth of a second old.
#[test]
fn a_backlog_is_as_old_as_when_its_worker_told_of_it() {
    for late in [Span::ZERO, Span::from_ms(60)] {
        let mut fleet = WatchedFleet::new(Script::default());
        fleet.late = late;
        // Nearly all that one connection can carry, so that a few operations always wait.
        let toml = "server = 'unix:/s'\nrate = 9000\narrival = 'poisson'\nduration = '5s'\n\
                    warmup = '0s'\nkeys = 500\nconnections = 1\nthreads = 1\ndepth = 1\n\
                    load = 'never'\n";
        let ran = run_in(fleet, &around(1, true), &scenario(toml));
        let record = ran.record();
        assert_eq!(record.totals.answered, record.totals.intended, "all were sent");
        let longest = record.lag[&Kind::All].max_ns.unwrap() as f64 / 1e9;
        let states = || ran.observer.intervals.iter().map(|interval| interval.under_way);
        let oldest = states().filter_map(|state| state.oldest_due_s).fold(0.0, f64::max);
        assert!(oldest > 0.0, "something waits");
        assert!(
            oldest <= longest,
            "an operation waited {oldest} s, but none more than {longest} s"
        );
        let most = states().filter_map(|state| state.backlog).max().unwrap();
        assert!((most as f64) <= 1.0 + 9_000.0 * longest, "{most} operations waited");
        let status = ran.observer.progress.iter().filter_map(|progress| progress.oldest_due).max();
        assert!(status.unwrap_or_default().as_s_f64() <= longest, "{status:?}");
    }
}

#[test]
fn rows_are_told_once_when_they_are_final_and_stay_what_they_were() {
    let ran = ran();
    assert_eq!(ran.observer.rows, ran.record().intervals);
}

#[test]
fn counts_are_the_samples_counts() {
    let ran = ran();
    let (record, samples) = (ran.record(), ran.fleet.samples());
    let count = |outcome| samples.iter().filter(|s| s.outcome == outcome).count() as u64;
    let totals = &record.totals;
    assert_eq!(totals.intended, samples.len() as u64);
    assert_eq!(totals.answered, samples.iter().filter(is_answered).count() as u64);
    assert_eq!(totals.timed_out, count(Outcome::TimedOut));
    assert_eq!(totals.lost, count(Outcome::Lost));
    assert!(totals.timed_out > 100 && totals.lost > 5, "the bad days happened: {totals:?}");
    assert_eq!(totals.hits, count(Outcome::Hit));
    assert_eq!(totals.misses, count(Outcome::Miss));
    assert_eq!(totals.replies["deleted"], count(Outcome::Deleted));
    let queued = samples.iter().filter(|s| s.connection == u32::MAX).count() as u64;
    assert_eq!(totals.timed_out_queued, queued);
    assert_eq!(totals.sent, samples.len() as u64 - queued);
    let bytes: u64 = samples.iter().map(|s| u64::from(s.bytes)).sum();
    // Late replies were received as well, but belong to no operation any more.
    assert!(totals.late_replies > 0 && totals.bytes_received > bytes, "{totals:?}");
    let ops: u64 = record.phases.measure.ops.values().sum();
    assert_eq!(ops, totals.sent);
}

/// The value of rank ⌈p × count⌉ over all operations, unanswered ones ranked highest.
fn naive(mut times: Vec<u64>, unanswered: u64, p: f64) -> Option<u64> {
    times.sort_unstable();
    let rank = (p * (times.len() as f64 + unanswered as f64)).ceil() as usize;
    times.get(rank.max(1) - 1).copied()
}

#[track_caller]
fn same(seen: &Distribution, times: &[u64], unanswered: u64) {
    assert_eq!(seen.count, times.len() as u64 + unanswered);
    assert_eq!(seen.unanswered, unanswered);
    assert_eq!(seen.min_ns, times.iter().copied().min());
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    match unanswered {
        0 => {
            let off = seen.mean_ns.expect("a mean") / mean - 1.0;
            assert!(off.abs() < 1e-9, "the mean is exact");
        }
        _ => assert!(seen.mean_ns.is_none() && seen.mean_at_least_ns.is_some(), "{seen:?}"),
    }
    let ranks = [(seen.p50_ns, 0.5), (seen.p90_ns, 0.9), (seen.p95_ns, 0.95)];
    for (value, p) in ranks {
        match (value, naive(times.to_vec(), unanswered, p)) {
            (Some(value), Some(naive)) => {
                let off = value.abs_diff(naive) as f64;
                assert!(off <= 0.008 * naive as f64, "p{p}: {value} against {naive}");
            }
            (None, None) => {}
            other => panic!("p{p}: {other:?}"),
        }
    }
}

#[test]
fn times_are_the_samples_times() {
    let ran = ran();
    let (record, samples) = (ran.record(), ran.fleet.samples());
    let kinds = [
        (Kind::All, None),
        (Kind::Get, Some(OpKind::Get)),
        (Kind::Set, Some(OpKind::Set)),
        (Kind::Delete, Some(OpKind::Delete)),
    ];
    for (kind, op) in kinds {
        let of_kind: Vec<_> = samples.iter().filter(|s| op.is_none_or(|op| op == s.kind)).collect();
        let answered: Vec<_> = of_kind.iter().copied().filter(is_answered).collect();
        let response: Vec<_> = answered.iter().map(|s| s.received.since(s.intended).ns()).collect();
        let unanswered = (of_kind.len() - answered.len()) as u64;
        same(&record.response[&kind], &response, unanswered);
        let service: Vec<_> = answered.iter().map(|s| s.received.since(s.sent).ns()).collect();
        let sent = of_kind.iter().filter(|s| s.sent != Instant::NEVER);
        same(&record.service[&kind], &service, sent.clone().count() as u64 - service.len() as u64);
        let lag: Vec<_> = sent.map(|s| s.sent.since(s.intended).ns()).collect();
        same(&record.lag[&kind], &lag, 0);
    }
    for (kind, outcome) in [(Kind::GetHit, Outcome::Hit), (Kind::GetMiss, Outcome::Miss)] {
        let answered = samples.iter().filter(|s| s.outcome == outcome);
        let times: Vec<_> = answered.map(|s| s.received.since(s.intended).ns()).collect();
        same(&record.response[&kind], &times, 0);
    }
}

#[test]
fn intervals_are_by_intended_instant() {
    let ran = ran();
    let (record, samples) = (ran.record(), ran.fleet.samples());
    let first = samples.iter().map(|s| s.intended).min().expect("samples");
    assert_eq!(record.intervals.len(), 3);
    // The window's start is not exported; every interval has the width that it states.
    assert!(record.intervals.iter().all(|row| row.length_s == 1.0));
    let ops: u64 = record.intervals.iter().map(|row| row.ops).sum();
    assert_eq!(ops, record.totals.answered);
    let window = ran.fleet.plans.last().expect("a plan").window;
    let begin = window_start(&samples, first, window.duration.ns());
    for (number, row) in record.intervals.iter().enumerate() {
        let held = |s: &&Sample| s.intended.since(begin).ns() / 1_000_000_000 == number as u64;
        let count = samples.iter().filter(is_answered).filter(held).count() as u64;
        assert!(row.ops.abs_diff(count) <= 2, "row {number}: {} against {count}", row.ops);
    }
}

#[test]
fn operations_that_need_no_answer_end_the_window_and_are_missing_from_no_service_time() {
    let toml = "server = 'unix:/s'\nrate = 1000\narrival = 'fixed'\nops-max = 1000\nkeys = 100\n\
                mix = 'get=1,set=1'\nnoreply = true\nload = 'never'\n";
    let ran = run_toml(Script::default(), toml);
    let record = ran.record();
    let (answered, unacknowledged) = (record.totals.answered, record.totals.unacknowledged);
    assert!(answered > 400 && answered + unacknowledged == 1_000);
    let service = &record.service[&Kind::All];
    assert_eq!((service.count, service.unanswered), (answered, 0));
    let sets = run_toml(Script::default(), &toml.replace("get=1,", ""));
    assert_eq!(sets.record().totals.unacknowledged, 1_000);
    assert_eq!(sets.record().window_ns, 999_000_000, "from the first operation to the last");
    let lengths: Vec<f64> = sets.record().intervals.iter().map(|row| row.length_s).collect();
    assert_eq!(lengths, [0.999], "the last row ends with the window");
}

/// The window's start, exact to the gap before its first operation.
fn window_start(samples: &[Sample], first: Instant, length_ns: u64) -> Instant {
    let last = samples.iter().map(|s| s.intended).max().expect("samples");
    assert!(last.since(first).ns() <= length_ns);
    first
}

#[test]
fn a_record_is_read_back_from_its_json() {
    let ran = ran();
    let again: Record =
        serde_json::from_str(&ran.record().to_json()).expect("a record is read back");
    assert_eq!(again.totals, ran.record().totals);
    for (kind, times) in &ran.record().response {
        let again = &again.response[kind];
        assert_eq!((again.sum_ns, &again.histogram), (times.sum_ns, &times.histogram));
    }
}

/// All fields that scenarios gained for the mutilate family, at once.
#[test]
fn a_walk_with_pauses_in_steps_has_a_row_with_the_times_of_its_gets_for_each_step() {
    let toml = "server = 'unix:/s'\nwave = 'step:1k,3k,2k@500ms'\ninterval = '500ms'\n\
                interval-times = true\narrival = 'fixed'\nduration = '1500ms'\nkeys = 1000\n\
                key-form = 'decimal'\nkey-size = 'etc-key'\npopularity = 'walk:500'\n\
                schedule = 'connection'\nmultiget = 5\nmultiget-share = 0.2\nthreads = 2\n\
                on-full = 'skip:5ms,4ms'\npause-after-reply = '50us'\nconnections = 8\n";
    let ran = run_toml(Script::default(), toml);
    let record = ran.record();
    assert_eq!((record.totals.answered, record.totals.misses), (3_000, 0));
    let rows = &record.intervals;
    let intended: Vec<u64> = rows.iter().map(|row| row.intended).collect();
    assert_eq!(intended, [500, 1_500, 1_000]);
    assert!(rows.iter().all(|row| (row.ops, row.unanswered) == (row.intended, 0)));
    let gets = |row: &IntervalRecord| row.gets.clone().expect("they were asked for");
    let counted: u64 = rows.iter().map(|row| gets(row).service.count).sum();
    assert_eq!(counted, record.service[&Kind::Get].count);
    assert!(rows.iter().all(|row| gets(row).service.min_ns == Some(100_000)));
    let whole = rows.iter().map(|row| gets(row).response.sum_ns.0).sum::<u128>();
    assert_eq!(whole, record.response[&Kind::Get].sum_ns.0);
    // A fifth of the gets request five keys: 1.8 keys per get on average.
    let keys = record.totals.keys as f64 / counted as f64;
    assert!((keys - 1.8).abs() < 4.0 * (16.0f64 * 0.16 / 2_700.0).sqrt(), "{keys} keys a get");
    assert_eq!(record.outstanding_at_send.count, 3_000);
    assert_eq!(record.scenario["popularity"], "walk:500");
    let plain = run_toml(Script::default(), &toml.replace("interval-times = true\n", ""));
    assert!(plain.record().intervals.iter().all(|row| row.gets.is_none()));
}

/// The schedule counts from the load's beginning, and its target is that of the window.
#[test]
fn the_target_of_a_wave_is_its_mean_rate_in_the_window() {
    let toml = "server = 'unix:/s'\nwave = 'step:1k,3k,2k@500ms'\narrival = 'fixed'\nkeys = 100\n\
                warmup = '1s'\nduration = '1500ms'\n";
    let record = run_toml(Script::default(), toml).record().clone();
    assert_eq!(record.totals.intended, 3_000);
    assert_eq!(record.rate.target_per_s, Some(2_000.0));
}
