//! Draws against the shares that each popularity promises, and the words for them.

use super::*;
use crate::tests::{assert_refused, assert_shares, assert_words};

fn counts(popularity: Popularity, keys: u64, draws: u64) -> Vec<u64> {
    let picker = KeyPicker::new(popularity, keys, 17);
    let mut counts = vec![0; keys as usize];
    for i in 0..draws {
        counts[picker.pick(i, 0) as usize] += 1;
    }
    counts
}

/// The shares of a Zipf law over `keys` ranks, summed from the small ones up.
fn zipf_shares(exponent: f64, keys: u64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=keys).map(|rank| (rank as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().rev().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn even_popularities_are_even() {
    for popularity in [Popularity::Uniform, Popularity::Sample(KeyPart::ALL)] {
        assert_shares(&counts(popularity, 100, 100_000), &[0.01; 100]);
    }
    assert!(counts(Popularity::Sequential, 100, 100_000).iter().all(|&count| count == 1000));
}

#[test]
fn zipf_has_exact_shares_over_few_keys() {
    for exponent in [0.0, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.0 - 1e-8, 1.2, 2.0] {
        let got = counts(Popularity::Zipf(exponent), 20, 100_000);
        assert_shares(&got, &zipf_shares(exponent, 20));
    }
}

#[test]
fn zipf_has_exact_shares_at_its_head_over_many_keys() {
    let (keys, draws) = (1_000_000, 2_000_000);
    let got = counts(Popularity::Zipf(0.99), keys, draws);
    let shares = zipf_shares(0.99, keys);
    for rank in 0..5 {
        let expected = draws as f64 * shares[rank];
        let sigma = (expected * (1.0 - shares[rank])).sqrt();
        let off = (got[rank] as f64 - expected) / sigma;
        assert!(off.abs() < 4.0, "rank {}: {off} standard deviations off", rank + 1);
    }
    // The rest in parts of a tenfold of ranks each.
    let edges = [0, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
    let parts = edges.windows(2).map(|pair| pair[0]..pair[1]);
    let got: Vec<u64> = parts.clone().map(|part| got[part].iter().sum()).collect();
    let shares: Vec<f64> = parts.map(|part| shares[part].iter().sum()).collect();
    assert_shares(&got, &shares);
}

#[test]
fn zipf_stays_within_its_keys_at_its_limits() {
    for exponent in [0.0, 1.0, 10.0] {
        for keys in [1, 2, 1 << 40, u64::MAX] {
            let picker = KeyPicker::new(Popularity::Zipf(exponent), keys, 1);
            assert!((0..1000).all(|i| picker.pick(i, 0) < keys), "zipf:{exponent} of {keys}");
        }
    }
}

#[test]
fn a_hotspot_is_as_hot_as_asked_and_even_within() {
    let shares: Vec<f64> =
        (0..50).map(|key| if key < 10 { 0.8 / 10.0 } else { 0.2 / 40.0 }).collect();
    let hotspot = Popularity::Hotspot { keys: 0.2, ops: 0.8 };
    assert_shares(&counts(hotspot, 50, 100_000), &shares);
    // One key is hot even when the fraction is less than one key; a single key is all there is.
    let tiny = Popularity::Hotspot { keys: 0.001, ops: 0.5 };
    assert_shares(&counts(tiny.clone(), 3, 100_000), &[0.5, 0.25, 0.25]);
    assert_eq!(counts(tiny, 1, 100), [100]);
    let all = Popularity::Hotspot { keys: 0.5, ops: 1.0 };
    assert_eq!(counts(all, 4, 1000)[2..], [0, 0]);
}

#[test]
fn the_keys_of_many_key_operations_share_no_draw() {
    let picker = |popularity| KeyPicker::new(popularity, 1000, 1).with_stride(4);
    let sequential = picker(Popularity::Sequential);
    let first: Vec<u64> = (0..8).map(|n| sequential.pick(n / 4, (n % 4) as u16)).collect();
    assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(sequential.pick(250, 1), 1, "it begins again after the last key");
    let (single, many) =
        (KeyPicker::new(Popularity::Zipf(0.9), 1000, 1), picker(Popularity::Zipf(0.9)));
    for n in 0..1000 {
        assert_eq!(single.pick(n, 0), many.pick(n / 4, (n % 4) as u16));
    }
}

fn walk(word: &str, keys: u64, walkers: u32) -> KeyPicker {
    KeyPicker::new(word.parse().unwrap(), keys, 11).with_walkers(walkers)
}

#[test]
fn a_walk_begins_at_its_second_key_and_ends_each_pass_at_its_first() {
    let first = |picker: &KeyPicker, count| -> Vec<u64> {
        (0..count).map(|index| picker.pick(index, 0)).collect()
    };
    assert_eq!(first(&walk("walk:4", 100, 1), 9), [1, 2, 3, 0, 1, 2, 3, 0, 1]);
    // Never beyond the keys; walkers step in parallel.
    assert_eq!(first(&walk("walk:10k", 3, 1), 4), [1, 2, 0, 1]);
    assert_eq!(first(&walk("walk:3", 100, 2), 8), [1, 1, 2, 2, 0, 0, 1, 1]);
    assert_eq!(first(&walk("walk:1", 100, 1), 3), [0, 0, 0]);
}

#[test]
fn more_keys_of_one_operation_are_any_of_the_walk() {
    let picker = walk("walk:20", 1_000, 1).with_stride(50);
    let mut counts = [0; 20];
    for index in 0..1_000 {
        assert_eq!(picker.pick(index, 0), (index + 1) % 20);
        (1..50).for_each(|nth| counts[picker.pick(index, nth) as usize] += 1);
    }
    assert_shares(&counts, &[0.05; 20]);
}

#[test]
fn a_drawn_walk_repeats_itself_and_each_walker_has_its_own() {
    let pass = |picker: &KeyPicker, walker: u64, pass: u64| -> Vec<u64> {
        (pass * 500..(pass + 1) * 500).map(|step| picker.pick(step * 2 + walker, 0)).collect()
    };
    let drawn = walk("walk:500@uniform:0,99999", 1000, 2);
    assert_eq!(pass(&drawn, 0, 0), pass(&drawn, 0, 7));
    assert_ne!(pass(&drawn, 0, 0), pass(&drawn, 1, 0));
    let mut counts = vec![0; 50];
    (0..2).for_each(|walker| {
        pass(&drawn, walker, 0).into_iter().for_each(|key| counts[key as usize / 20] += 1);
    });
    assert_shares(&counts, &[0.02; 50]);
}

#[test]
fn after_its_passes_a_part_of_a_walk_is_drawn_anew_at_even_distances() {
    let picker = walk("walk:1000,3,10%@uniform:0,999999999", 1_000_000_000, 1);
    let pass = |pass: u64| -> Vec<u64> {
        // In the order of entries.
        (0..1000).map(|entry| picker.pick(pass * 1000 + (entry + 999) % 1000, 0)).collect()
    };
    let changed = |before: u64, after: u64| -> Vec<usize> {
        let (before, after) = (pass(before), pass(after));
        (0..1000).filter(|&entry| before[entry] != after[entry]).collect()
    };
    for renewal in 1..30 {
        assert_eq!(changed(renewal * 3, renewal * 3 + 2), [], "between two renewals");
        let entries = changed(renewal * 3 - 1, renewal * 3);
        let apart = entries[1] - entries[0];
        assert!((1..=10).contains(&apart), "at most ten apart: a tenth or more");
        assert!(entries[0] < apart && entries[entries.len() - 1] + apart >= 1000);
        assert!(entries.windows(2).all(|pair| pair[1] - pair[0] == apart));
    }
}

#[test]
fn a_sample_is_drawn_apart_from_the_workload() {
    let picker = KeyPicker::new(Popularity::Sample(KeyPart::ALL), 1 << 40, 9);
    for i in 0..100 {
        assert_eq!(picker.pick(i, 0), below(hash(9, Stream::SAMPLE, i), 1 << 40));
    }
}

#[test]
fn words_are_read_and_written() {
    assert_words::<Popularity>("popularity", 3);
    let hotspot = Popularity::Hotspot { keys: 0.2, ops: 0.8 };
    assert_eq!("hotspot:20%, 80%".parse(), Ok(hotspot));
}

#[test]
fn refusals_name_the_fault_and_every_form() {
    assert_refused::<Popularity>("not a popularity", "zipf");
}
