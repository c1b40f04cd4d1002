//! A window against a server that stores every value, or none.

use super::*;
use crate::source::PlannedSource;
use crate::{Popularity, SourcePlan};
use std::collections::{BTreeMap, BTreeSet};

const CLIENTS: u32 = 3;

fn window(objects: u32) -> WindowPlan {
    let pick = Pick::Random;
    WindowPlan { clients: CLIENTS, objects, overwrite: 0.0, pick, full: false, keys_end: None }
}

fn plan(mix: &str, window: WindowPlan) -> SourcePlan {
    SourcePlan {
        seed: 11,
        mix: mix.parse().expect("a mix"),
        order: MixOrder::Turn,
        popularity: Popularity::Uniform,
        keys: 1,
        walkers: 1,
        multiget: 1,
        multiget_share: 1.0,
        numeric_keys: 0,
        window: Some(window),
    }
}

/// One client and what its server holds.
struct Play {
    source: PlannedSource,
    client: u64,
    made: u64,
    held: BTreeSet<u64>,
}

impl Play {
    fn of(plan: &SourcePlan, client: u32) -> Self {
        let source = PlannedSource::new(plan).of_client(client);
        Self { source, client: u64::from(client), made: 0, held: BTreeSet::new() }
    }

    /// Makes the next operation and settles it, as stored unless `fails`; returns its kind and
    /// keys.
    fn step(&mut self, fails: bool) -> (OpKind, Vec<u64>) {
        let index = self.made * u64::from(CLIENTS) + self.client;
        let Next::Op(op) = self.source.next(index, Instant::ZERO) else { panic!("it goes on") };
        self.made += u64::from(op.keys);
        let keys: Vec<u64> = (0..op.keys).map(|nth| self.source.key(&op, nth)).collect();
        let outcome = match op.kind {
            OpKind::Set if fails => Outcome::Failed,
            OpKind::Set => {
                self.held.extend(&keys);
                Outcome::Stored
            }
            _ if keys.iter().all(|key| self.held.contains(key)) => Outcome::Hit,
            _ => Outcome::Miss,
        };
        self.source.settle(&op, outcome);
        (op.kind, keys)
    }
}

#[test]
fn a_set_comes_first_and_then_each_kind_in_its_turn() {
    let mut play = Play::of(&plan("set=0.1,get=0.9", window(100)), 1);
    let kinds: Vec<OpKind> = (0..30).map(|_| play.step(false).0).collect();
    for (at, kind) in kinds.into_iter().enumerate() {
        assert_eq!(kind == OpKind::Set, at % 10 == 0, "operation {at}");
    }
}

#[test]
fn only_what_was_set_and_not_kicked_out_is_read() {
    let mut play = Play::of(&plan("set=1,get=3", window(16)), 2);
    let mut last: Vec<u64> = Vec::new();
    for _ in 0..1_000 {
        let (kind, keys) = play.step(false);
        if kind == OpKind::Set {
            assert!(!last.contains(&keys[0]), "a new object has a key of its own");
            last.push(keys[0]);
        } else {
            let window = &last[last.len().saturating_sub(16)..];
            assert!(window.contains(&keys[0]), "{} is not in the window", keys[0]);
        }
    }
    assert!(play.held.iter().all(|id| id % u64::from(CLIENTS) == 2), "objects of this client");
}

#[test]
fn a_part_of_the_sets_overwrites() {
    let with = WindowPlan { overwrite: 0.2, ..window(50) };
    let mut play = Play::of(&plan("set=1", with), 0);
    let mut times = BTreeMap::<u64, u32>::new();
    for _ in 0..1_000 {
        *times.entry(play.step(false).1[0]).or_default() += 1;
    }
    assert_eq!(times.len(), 800);
}

#[test]
fn sequence_goes_round_and_random_goes_everywhere() {
    for (pick, exactly) in [(Pick::Sequential, true), (Pick::Random, false)] {
        let with = WindowPlan { pick, full: true, ..window(10) };
        let mut play = Play::of(&plan("get=1", with), 1);
        let mut times = BTreeMap::<u64, u32>::new();
        for _ in 0..10_000 {
            *times.entry(play.step(false).1[0]).or_default() += 1;
        }
        assert!(times.keys().copied().eq((0..10).map(|slot| slot * 3 + 1)));
        let even =
            |&times: &u32| if exactly { times == 1_000 } else { times.abs_diff(1_000) < 150 };
        assert!(times.values().all(even), "{times:?}");
    }
}

#[test]
fn failing_sets_keep_the_mix_and_the_window() {
    let mut play = Play::of(&plan("set=1,get=9", window(8)), 0);
    (0..200).for_each(|_| drop(play.step(false)));
    let held = play.held.clone();
    let (mut sets, mut reads) = (0, BTreeSet::new());
    for _ in 0..1_000 {
        let (kind, keys) = play.step(true);
        if kind == OpKind::Set { sets += 1 } else { reads.extend(keys) }
    }
    assert_eq!(sets, 100);
    assert!(reads.len() == 8 && reads.is_subset(&held));
    // A server that never stores anything is still read.
    let mut play = Play::of(&plan("set=1,get=9", window(8)), 0);
    let sets = (0..1_000).filter(|_| play.step(true).0 == OpKind::Set).count();
    assert_eq!(sets, 100);
}

#[test]
fn gets_of_many_keys_share_by_keys_and_end_exactly() {
    for clients_share in 1..200 {
        let end = clients_share * u64::from(CLIENTS) + 1;
        let with = WindowPlan { keys_end: Some(end), ..window(100) };
        let plan = SourcePlan { multiget: 10, ..plan("set=1,get=9", with) };
        let (mut gets, mut sets) = (0, 0);
        for client in 0..CLIENTS {
            let mut play = Play::of(&plan, client);
            let mine = clients_share + u64::from(client == 0);
            while play.made < mine {
                let (kind, keys) = play.step(false);
                if kind == OpKind::Set { sets += 1 } else { gets += keys.len() as u64 }
            }
            assert_eq!(play.made, mine);
            // Every tenth of its keys is a set, beginning with the first.
            assert_eq!(play.held.len() as u64, mine.div_ceil(10), "{mine} of client {client}");
        }
        assert_eq!(gets + sets, end);
    }
}

#[test]
fn an_operation_that_is_never_sent_disturbs_none_that_is_under_way() {
    let with = WindowPlan { full: true, ..window(100) };
    let plan = SourcePlan { multiget: 5, ..plan("get=1", with) };
    let mut source = PlannedSource::new(&plan).of_client(0);
    let Next::Op(sent) = source.next(0, Instant::ZERO) else { panic!("it goes on") };
    let keys = |source: &PlannedSource| (0..5).map(|nth| source.key(&sent, nth)).collect();
    let before: Vec<u64> = keys(&source);
    for nth in 1..4 {
        let Next::Op(unsent) = source.skip(nth * 15, Instant::ZERO) else { panic!("it goes on") };
        source.settle(&unsent, Outcome::TimedOut);
    }
    let after: Vec<u64> = keys(&source);
    assert_eq!(before, after);
    source.settle(&sent, Outcome::Hit);
}

#[test]
fn the_manual_s_examples_come_near_their_formulas() {
    // 128 clients, keys of 128 bytes, values of 2048; the manual rounds to whole thousands.
    for (word, objects) in [
        ("auto:4G,0", 7_710),
        ("auto:4G,5%", 10_794),
        ("auto:16G,0", 30_840),
        ("auto:16G,5%", 43_176),
    ] {
        let law: WindowLaw = word.parse().expect("a window");
        assert_eq!(law.objects(128, 2_176.0), objects, "{word}");
        assert_eq!(law.to_string().parse(), Ok(law));
    }
    assert_eq!("10k".parse(), Ok(WindowLaw::Objects(10_000)));
    for wrong in ["", "0", "auto", "auto:4G", "auto:4G,10%", "auto:0,0", "many", "10k:3", "2G"] {
        let error = wrong.parse::<WindowLaw>().expect_err(wrong).to_string();
        assert!(error.contains("auto:CACHE,MISS"), "{error}");
    }
}
