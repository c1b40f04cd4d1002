//! A run that is divided: its shares together make the load of one process.

mod barrier;
mod many;

use crate::prelude::*;
use memtide_workload::OpKind;
use memtide_world::driver::Sample;

/// The facts of an operation that are decided before it is sent.
type Decided = (u64, OpKind, u64, Vec<u8>, Option<u64>);

fn world(words: &[(&'static str, &str)], share: Option<Share>) -> World {
    let words = [&[("connections", "8"), ("warmup", "100ms"), ("load", "always")], words].concat();
    World { share, ..World::new(&words) }
}

/// The shares of a run, each in a world of its own.
fn divided(words: &[(&'static str, &str)], of: u32) -> Vec<Rehearsal> {
    (0..of).map(|number| world(words, Some(Share::one(number, of))).rehearse()).collect()
}

fn decided(rehearsals: &[Rehearsal]) -> Vec<Decided> {
    let of_sample = |plan: &Plan, sample: &Sample| {
        let (contents, at) = (plan.contents(), sample.intended.since(sample.begun));
        let (key, size) = (contents.key(sample.key), contents.size(sample.kind, sample.key));
        (sample.index, sample.kind, at.ns(), key, size)
    };
    let of_run = |run: &Rehearsal| -> Vec<Decided> {
        run.samples.iter().map(|sample| of_sample(&run.plan, sample)).collect()
    };
    let mut all: Vec<Decided> = rehearsals.iter().flat_map(of_run).collect();
    all.sort();
    all
}

const ETC: [(&str, &str); 8] = [
    ("arrival", "fixed"),
    ("rate", "5k"),
    ("duration", "1s"),
    ("keys", "2k"),
    ("popularity", "zipf:0.99"),
    ("key-size", "etc-key"),
    ("value-size", "etc-value"),
    ("verify", "1"),
];

#[test]
fn shares_ask_for_what_one_process_asks_for_when_it_does() {
    for threads in ["1", "2"] {
        for of in [1, 2, 4] {
            let words = [&ETC[..], &[("mix", "get=4,set=1")]].concat();
            let workers = (of * threads.parse::<u32>().expect("a number")).to_string();
            let whole = world(&[&words[..], &[("threads", &workers)]].concat(), None).rehearse();
            let shares = divided(&[&words[..], &[("threads", threads)]].concat(), of);
            assert!(whole.samples.len() >= 4_999, "{}", whole.samples.len());
            assert_eq!(decided(&shares), decided(&[whole]), "{of} shares of {threads} workers");
        }
    }
}

#[test]
fn shares_add_up() {
    let whole = world(&[&ETC[..], &[("threads", "3")]].concat(), None).rehearse().record;
    let shares = divided(&ETC, 3);
    let sum = |of: fn(&Rehearsal) -> u64| shares.iter().map(of).sum::<u64>();
    let stored = |share: &Rehearsal| share.record.phases.load.totals.replies["stored"];
    assert_eq!(sum(stored), 2_000, "each key once");
    assert_eq!(sum(|share| share.record.totals.intended), whole.totals.intended);
    assert_eq!(sum(|share| u64::from(share.record.plan.connections)), 8);
    let rate: f64 = shares.iter().filter_map(|share| share.record.rate.target_per_s).sum();
    assert!((rate - 5_000.0).abs() < 1.0, "{rate}");
    for (number, share) in (0..).zip(&shares) {
        let lanes = share.record.lanes.expect("it says its lanes");
        assert_eq!((lanes.first, lanes.count, lanes.total), (number, 1, 3));
        let of = share.record.share.as_ref().expect("it is a share");
        assert_eq!((of.number, of.of, of.scenario_digest.len()), (number, 3, 64));
        assert_eq!(share.record.phases.verification().wrong(), 0);
    }
    let digest = |share: &Rehearsal| share.record.share.clone().map(|of| of.scenario_digest);
    assert!(shares.iter().all(|share| digest(share) == digest(&shares[0])));
}

/// Runs of a number of operations, with windows, and with connection churn are divided too.
#[test]
fn every_kind_of_load_is_divided() {
    let only_meta = "get=4,set=1,recache=2,invalidate=1,peek=2";
    let cases: [&[(&str, &str)]; 5] = [
        &[("protocol", "meta"), ("mix", only_meta), ("ops-max", "1001"), ("rate", "2k")],
        &[("ops-max", "1001"), ("rate", "2k")],
        &[("ops-max", "1001"), ("rate", "0")],
        &[("clients", "7"), ("window", "16"), ("rate", "2k"), ("duration", "500ms")],
        &[("rate", "2k"), ("duration", "500ms"), ("schedule", "connection")],
    ];
    for words in cases {
        let words = [words, &[("arrival", "fixed"), ("warmup", "0"), ("keys", "50")]].concat();
        let words: Vec<_> = words.into_iter().collect();
        let clients = words.iter().any(|(name, _)| *name == "clients");
        let shared = if clients { vec![("connections-per-client", "1")] } else { vec![] };
        let base: Vec<(&'static str, &str)> = [&words[..], &shared].concat();
        let make = |share, more: &[(&'static str, &str)]| {
            let all = [&[("load", "always")], &base[..], more].concat();
            World { share, ..World::new(&all) }
        };
        let whole = make(None, &[("threads", "3")]).rehearse();
        let shares: Vec<Rehearsal> =
            (0..3).map(|number| make(Some(Share::one(number, 3)), &[]).rehearse()).collect();
        let loaded = |runs: &[Rehearsal]| -> u64 {
            runs.iter().map(|run| run.record.phases.load.totals.replies["stored"]).sum()
        };
        let whole = [whole];
        assert_eq!(loaded(&shares), loaded(&whole), "{words:?}");
        let count = |runs: &[Rehearsal]| runs.iter().map(|run| run.samples.len()).sum::<usize>();
        if words.contains(&("rate", "0")) {
            assert_eq!(count(&shares), 1_001, "{words:?}");
        } else {
            let of = |runs: &[Rehearsal]| -> Vec<(u64, u64)> {
                let all = decided(runs);
                all.into_iter().map(|(index, _, at, ..)| (index, at)).collect()
            };
            assert_eq!(of(&shares), of(&whole), "{words:?}");
        }
    }
}

/// Lanes of a Poisson schedule have gaps of their own. Together they are a Poisson process again,
/// whose instants are uniform over the window.
#[test]
fn poisson_shares_together_are_a_poisson_process() {
    let words = [("arrival", "poisson"), ("rate", "20k"), ("duration", "1s"), ("mix", "set=1")];
    let shares = divided(&words, 4);
    let mut at: Vec<f64> = decided(&shares).iter().map(|(_, _, at, ..)| *at as f64 / 1e9).collect();
    at.sort_by(f64::total_cmp);
    let n = at.len() as f64;
    assert!((n - 20_000.0).abs() < 5.0 * 20_000f64.sqrt(), "{n}");
    let distance = |sorted: &[f64], law: &dyn Fn(f64) -> f64| {
        let n = sorted.len() as f64;
        let gap = |(nth, x): (usize, &f64)| {
            let (below, above) = (nth as f64 / n, (nth as f64 + 1.0) / n);
            (law(*x) - below).abs().max((law(*x) - above).abs())
        };
        sorted.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
    };
    // Kolmogorov–Smirnov: above 1.95 once in a thousand times.
    assert!(distance(&at, &|x| x - 0.1) < 1.95);
    let mut gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    assert!(distance(&gaps, &|gap| 1.0 - (-gap * 20_000.0).exp()) < 1.95);
}

#[test]
fn lanes_that_nothing_is_left_for_are_refused() {
    let world = world(&[("threads", "4"), ("rate", "1k")], Some(Share::one(1, 3)));
    let refused = lower(&world.scenario(), &world.around()).map(drop);
    let problem = refused.expect_err("8 connections are fewer than 12 workers");
    assert_eq!(problem.field, "connections");
    assert!(problem.message.contains("12 workers"), "{}", problem.message);
}
