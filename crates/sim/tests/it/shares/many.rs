//! Many shares whose clocks differ, and some of which are lost: the merged record of the others is
//! exact, and it names the missing ones.

use crate::prelude::*;
use memtide_merge::Merging;
use memtide_metrics::Histogram;
use memtide_record::{ClockRecord, Distribution, ShareStart, Wide};
use std::io::Write;

/// A machine whose time of day is wrong.
struct Shifted {
    fleet: SimFleet,
    /// The time by which it is ahead of the slowest clock: up to twice [`SHIFT_MAX`].
    ahead: Span,
}

/// The largest error of a clock, ahead or behind.
const SHIFT_MAX: Span = Span::from_ms(40);
/// Time from the beginning of the world to the agreed beginning of the load, by a correct clock.
const LEAD: Span = Span::from_s(2);

impl Fleet for Shifted {
    memtide_world::pass_to_fleet!(
        fleet: now, start, command, collect, is_interrupted, ask, watch_servers
    );

    fn since_unix(&self) -> Span {
        self.fleet.since_unix() + self.ahead
    }
}

/// A beginning at a time of day, counted from the beginning of the world.
struct AtTime {
    first: Option<Span>,
    ahead: Span,
}

impl Barrier for AtTime {
    fn kind(&self) -> ShareStart {
        ShareStart::Time
    }

    fn arrive(&mut self) -> Result<(), NotRun> {
        Ok(())
    }

    fn look(&mut self, now: Instant, since_unix: Span) -> Result<Option<Instant>, NotRun> {
        // All worlds begin at one time of day, to which this clock adds its error.
        let zero = *self.first.get_or_insert_with(|| {
            since_unix.saturating_sub(now.since(Instant::ZERO)).saturating_sub(self.ahead)
        });
        let at = zero + LEAD + SHIFT_MAX;
        Ok(Some(now + at.saturating_sub(since_unix)).filter(|start| *start > now))
    }
}

/// The fate of a share.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Whole,
    /// Its machine is gone, and its record with it.
    Lost,
    /// It is commanded to end after this share of its window.
    Ended(f64),
}

/// A run of `of` shares with `lanes` lanes each.
struct ManyShares {
    of: u32,
    lanes: u32,
    seed: u64,
    /// True if each clock is kept in step with the world's.
    synchronised: bool,
}

/// A share that left a record.
struct Left {
    run: Rehearsal,
    /// The instant at which it began, in ns after the beginning of the world.
    began_ns: u64,
}

impl ManyShares {
    const DURATION: Span = Span::from_ms(500);

    fn rate(&self) -> u32 {
        self.of * self.lanes * 20
    }

    fn share(&self, number: u32, random: &mut Random) -> Option<Left> {
        let fate = match random.below(100) {
            0..80 => Fate::Whole,
            80..90 => Fate::Lost,
            _ => Fate::Ended(random.unit()),
        };
        let ahead = Span::from_ns(random.below(2 * SHIFT_MAX.ns()));
        if fate == Fate::Lost {
            return None;
        }
        let (rate, connections, threads) = (self.rate(), self.of * self.lanes, self.lanes);
        let words = format!(
            "arrival=fixed rate={rate} duration=500ms connections={connections} \
             threads={threads} mix=set=1 load=never warmup=0 cooldown=drain"
        );
        let began = Instant::ZERO + (LEAD + SHIFT_MAX).saturating_sub(ahead);
        let mut world = World {
            share: Some(Share::one(number, self.of)),
            barrier: Some(Box::new(AtTime { first: None, ahead })),
            ..World::of(&words)
        }
        .seed(self.seed);
        if let Fate::Ended(part) = fate {
            world.interrupt_at = began + Span::from_s_f64(Self::DURATION.as_s_f64() * part);
        }
        let run = world.try_rehearse_with(|fleet| Shifted { fleet, ahead });
        let mut run = run.unwrap_or_else(|failure| panic!("{}", failure.message()));
        assert!(run.samples.iter().all(|sample| sample.begun == began), "it began by its clock");
        run.record.clock = Some(ClockRecord {
            window_start_monotonic_ns: run.record.window_start_unix_ns.map(|_| Wide(7)),
            boot_id: Some(format!("machine {number}")),
            time_namespace: Some(1),
            synchronised: Some(self.synchronised),
            error_max_ns: self.synchronised.then_some(SHIFT_MAX.ns()),
            reference: None,
        });
        Some(Left { run, began_ns: began.since(Instant::ZERO).ns() })
    }

    fn check(&self) {
        let mut random = Random::new(self.seed);
        let shares: Vec<Left> =
            (0..self.of).filter_map(|number| self.share(number, &mut random)).collect();
        let records = || shares.iter().map(|share| &share.run.record);
        let merged = merged(records().cloned());
        assert_eq!(merged, grouped(records(), &mut random), "in any grouping");
        self.check_counts(&merged, &shares);
        check_times(&merged, &shares);
        self.check_skew(&merged, &shares);
    }

    fn check_counts(&self, merged: &Record, shares: &[Left]) {
        let sum = |of: fn(&Record) -> u64| -> u64 {
            shares.iter().map(|share| of(&share.run.record)).sum()
        };
        assert_eq!(merged.totals.intended, sum(|record| record.totals.intended));
        assert_eq!(merged.totals.answered, sum(|record| record.totals.answered));
        merged.check_conservation().expect("they add up");
        let missing = merged.missing.as_ref();
        let has_run = |share: &&Left| share.run.record.ended_by != EndedBy::NotRun;
        let there = shares.iter().filter(has_run).count();
        let lanes: u32 =
            missing.map_or(0, |missing| missing.lanes.iter().map(|[from, to]| to - from + 1).sum());
        assert_eq!(lanes, (self.of - there as u32) * self.lanes, "lanes that are missing");
        let unreported = missing.and_then(|missing| missing.unreported).unwrap_or(0);
        assert_eq!(merged.planned, Some(merged.totals.intended + unreported));
        if shares.iter().all(|share| !share.run.record.partial) {
            let all = f64::from(self.rate()) * Self::DURATION.as_s_f64();
            let planned = merged.planned.unwrap_or(0) as f64;
            assert!((planned - all).abs() <= 1.0, "{planned} of {all} planned");
        }
    }

    /// Asserts that the record's skew is true within its bound, or unknown.
    fn check_skew(&self, merged: &Record, shares: &[Left]) {
        let ran = shares.iter().filter(|share| share.run.record.window_start_unix_ns.is_some());
        let starts: Vec<u64> = ran.map(|share| share.began_ns).collect();
        let truth = starts.iter().max().zip(starts.iter().min()).map(|(last, first)| last - first);
        if starts.len() < 2 {
            return;
        }
        let alignment = merged.alignment.as_ref().expect("it says how clocks compare");
        if !self.synchronised {
            assert_eq!((merged.start_skew_ns, alignment.error_max_ns), (None, None));
            return;
        }
        let (skew, error) = merged.start_skew_ns.zip(alignment.error_max_ns).expect("it is known");
        let truth = truth.expect("some began");
        assert!(skew.abs_diff(truth) <= error, "{skew} is {truth} within {error}");
    }
}

/// Asserts that the percentiles are those of all samples together.
fn check_times(merged: &Record, shares: &[Left]) {
    let mut pooled = Histogram::<u64>::new();
    for sample in shares.iter().flat_map(|share| &share.run.samples) {
        if sample.outcome == memtide_workload::Outcome::Stored {
            pooled.record(sample.received.since(sample.intended).ns());
        }
    }
    let all = &merged.response[&Kind::All];
    let expected = Distribution::of(&pooled, all.unanswered, Span::from_s(1));
    assert_eq!(all.count, expected.count);
    assert_eq!((all.p50_ns, all.p99_ns), (expected.p50_ns, expected.p99_ns));
    assert_eq!((all.min_ns, all.max_ns), (expected.min_ns, expected.max_ns));
}

fn merged(records: impl Iterator<Item = Record>) -> Record {
    let mut merging = Merging::new(Scenarios::Same);
    for record in records {
        merging.add(record).unwrap_or_else(|error| panic!("{error:?}"));
    }
    merging.finish().unwrap_or_else(|error| panic!("{error:?}"))
}

/// The merge of groups of records, and then of the merged groups.
fn grouped<'a>(records: impl Iterator<Item = &'a Record>, random: &mut Random) -> Record {
    let mut groups: Vec<Vec<Record>> = vec![Vec::new(); 5];
    for record in records {
        groups[random.below(5) as usize].push(record.clone());
    }
    merged(groups.into_iter().filter(|group| !group.is_empty()).map(|of| merged(of.into_iter())))
}

/// The number in this environment variable, or a small one.
fn number(name: &str, few: u32) -> u32 {
    let word = std::env::var(name).ok();
    word.map_or(few, |word| word.parse().unwrap_or_else(|_| panic!("{name}: '{word}'")))
}

#[test]
fn what_is_left_of_many_shares_is_exact() {
    let (of, lanes) = (number("MEMTIDE_SHARES", 12), number("MEMTIDE_LANES", 2));
    let first = number("MEMTIDE_SHARES_FROM", 1);
    for seed in (first..).take(number("MEMTIDE_SHARES_SEEDS", 6) as usize).map(u64::from) {
        drop(writeln!(std::io::stderr(), "seed {seed}: {of} shares of {lanes} lanes"));
        ManyShares { of, lanes, seed, synchronised: seed % 2 == 1 }.check();
    }
}
