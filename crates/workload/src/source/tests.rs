//! The sequence of operations: golden values, independent of order, and within its keys.

use super::*;
use memtide_base::rng::mix;

fn plan(mix: &str, popularity: &str) -> SourcePlan {
    SourcePlan {
        seed: 1,
        mix: mix.parse().unwrap(),
        order: MixOrder::Drawn,
        popularity: popularity.parse().unwrap(),
        keys: 100_000,
        walkers: 1,
        multiget: 1,
        multiget_share: 1.0,
        numeric_keys: 100,
        window: None,
    }
}

fn op(source: &mut MixSource, index: u64) -> Op {
    match source.next(index, Instant::ZERO) {
        Next::Op(op) => op,
        Next::Done => panic!("a mix never ends"),
    }
}

/// A hash of everything that is decided about the first thousand operations.
fn fingerprint(plan: &SourcePlan) -> u64 {
    let mut source = MixSource::new(plan);
    (0..1000).fold(0, |sum, index| {
        let op = op(&mut source, index);
        let kind = mix(sum ^ op.kind.index() as u64);
        (0..op.keys).fold(kind, |sum, nth| mix(sum ^ source.key(&op, nth)))
    })
}

#[test]
fn the_first_operations_are_golden() {
    let mut source = MixSource::new(&plan("get=9,set=1", "uniform"));
    let first: Vec<(&str, u64)> =
        (0..10).map(|i| op(&mut source, i)).map(|op| (op.kind.name(), op.key)).collect();
    let golden = [
        ("get", 46696),
        ("set", 3433),
        ("get", 4596),
        ("get", 56363),
        ("get", 39856),
        ("get", 79925),
        ("get", 41686),
        ("get", 15270),
        ("get", 72403),
        ("get", 24605),
    ];
    assert_eq!(first, golden);
    let all = "get=1,gets=1,set=1,cas=1,delete=1,incr=1,decr=1,touch=1,gat=1";
    let mut wide = plan(all, "zipf:0.99");
    wide.multiget = 5;
    let prints = [
        fingerprint(&plan("get=9,set=1", "uniform")),
        fingerprint(&plan("get=9,set=1", "zipf:0.99")),
        fingerprint(&plan("get=9,set=1", "sequential")),
        fingerprint(&plan("get=9,set=1", "hotspot:0.2,0.8")),
        fingerprint(&wide),
        fingerprint(&SourcePlan { seed: 2, ..wide }),
    ];
    let golden = [
        1_025_907_919_404_559_728,
        8_146_194_045_736_607_012,
        12_307_852_877_832_238_272,
        15_557_601_376_520_939_607,
        17_598_694_599_497_313_596,
        14_551_759_986_404_636_095,
    ];
    assert_eq!(prints, golden);
}

#[test]
fn an_operation_does_not_depend_on_who_asks_nor_when() {
    let plan = plan("get=5,set=3,incr=2", "zipf:1.1");
    let mut whole = MixSource::new(&plan);
    let forward: Vec<Op> = (0..1000).map(|i| op(&mut whole, i)).collect();
    for lanes in [2, 3, 7] {
        let mut sources: Vec<MixSource> = (0..lanes).map(|_| MixSource::new(&plan)).collect();
        for i in (0..1000).rev() {
            let source = &mut sources[i as usize % lanes];
            assert_eq!(op(source, i), forward[i as usize]);
            source.settle(&forward[i as usize], Outcome::TimedOut);
        }
    }
}

#[test]
fn numeric_operations_have_keys_of_their_own() {
    let mut source = MixSource::new(&plan("get=1,incr=1,decr=1", "uniform"));
    for i in 0..10_000 {
        let op = op(&mut source, i);
        let range = if op.kind.is_numeric() { 100_000..100_100 } else { 0..100_000 };
        assert!(range.contains(&op.key), "{op:?}");
        assert_eq!(op.keys, 1);
        assert_eq!(op.index, i);
    }
}

#[test]
fn only_get_and_gets_ask_for_many_keys() {
    let mut wide = plan("get=1,gets=1,gat=1,cas=1,set=1,incr=1", "uniform");
    wide.multiget = 24;
    let mut source = MixSource::new(&wide);
    for i in 0..1000 {
        let op = op(&mut source, i);
        let many = matches!(op.kind, OpKind::Get | OpKind::Gets);
        assert_eq!(op.keys, if many { 24 } else { 1 });
        assert_eq!(source.key(&op, 0), op.key);
        assert!((0..op.keys).all(|nth| source.key(&op, nth) < 100_100));
    }
}

#[test]
fn a_share_of_the_gets_asks_for_many_keys() {
    let of = |share: f64| {
        let mut wide = plan("get=9,set=1", "uniform");
        (wide.multiget, wide.multiget_share) = (100, share);
        let mut source = MixSource::new(&wide);
        let ops = (0..20_000).map(|i| op(&mut source, i));
        let gets: Vec<u16> = ops.filter(|op| op.kind == OpKind::Get).map(|op| op.keys).collect();
        let many = gets.iter().filter(|&&keys| keys == 100).count();
        assert!(gets.iter().all(|&keys| keys == 100 || keys == 1));
        many as f64 / gets.len() as f64
    };
    assert_eq!((of(0.0), of(1.0)), (0.0, 1.0));
    let quarter = of(0.25);
    // Four standard deviations of a count of 18 000 draws.
    assert!((quarter - 0.25).abs() < 4.0 * (0.25 * 0.75 / 18_000f64).sqrt(), "{quarter}");
}

#[test]
fn without_numeric_keys_incr_and_decr_ask_for_the_others() {
    let mut shared = plan("set=1,incr=1", "sequential");
    shared.numeric_keys = 0;
    let mut source = MixSource::new(&shared);
    for i in 0..2 * shared.keys {
        assert_eq!(op(&mut source, i).key, i % shared.keys);
    }
}
