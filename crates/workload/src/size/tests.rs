//! The laws as sizes, and their words.

use super::*;
use crate::tests::{
    assert_refused, assert_round_trip, assert_shares, assert_survives_nonsense, assert_words, words,
};
use memtide_base::rng::{Stream, hash, unit};

fn law(word: &str) -> SizeLaw {
    word.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn sizes(law: &SizeLaw, n: u64) -> impl Iterator<Item = u64> + '_ {
    (0..n).map(|i| law.size_at(unit(hash(23, Stream::VALUE_SIZE, i))))
}

#[test]
fn words_are_read_and_written() {
    assert_words::<SizeLaw>("size", 4);
    assert_eq!(law("64KiB"), SizeLaw::fixed(65_536));
    assert_eq!(law("fixed:200").to_string(), "fixed:200");
    assert_eq!(law("table:100=3,1KiB=1,10=0.5").to_string(), "table:10=0.5,100=3,1024=1");
    assert_eq!(law("gev:30.7984,8.20449,0.078688").law(), law("etc-key").law());
}

#[test]
fn sizes_lie_within_the_bounds_that_are_told() {
    for word in words("size") {
        let law = law(&word);
        let (least, most) = law.bounds();
        let ends = [0, u64::MAX].map(|bits| law.size_at(unit(bits)));
        for size in sizes(&law, 1000).chain(ends) {
            assert!(size >= least && most.is_none_or(|most| size <= most), "{word}: {size}");
        }
    }
    assert_eq!(law("uniform:10,20").bounds(), (10, Some(20)));
    assert_eq!(law("table:100=3,10=1").bounds(), (10, Some(100)));
    assert_eq!(law("pareto:15,214,0.3").bounds(), (15, None));
    assert_eq!(law("pareto:0,1,-2").bounds(), (0, Some(1)));
    assert_eq!(law("etc-key").bounds(), (0, None));
    assert_eq!(law("gev:30,8,-0.1").bounds(), (0, Some(110)));
}

#[test]
fn the_sizes_of_a_uniform_law_are_equally_likely() {
    for (word, least, count) in [("uniform:0,4", 0, 5), ("uniform:3,12", 3, 10)] {
        let mut counts = vec![0u64; count];
        for size in sizes(&law(word), 50_000) {
            counts[(size - least) as usize] += 1;
        }
        assert_shares(&counts, &vec![1.0 / count as f64; count]);
    }
}

#[test]
fn tables_draw_by_weight() {
    let mut counts = [0u64; 3];
    for size in sizes(&law("table:1=1,2=3,3=4"), 50_000) {
        counts[size as usize - 1] += 1;
    }
    assert_shares(&counts, &[0.125, 0.375, 0.5]);
}

#[test]
fn refusals_name_the_fault_and_every_form() {
    let unknown = assert_refused::<SizeLaw>("not a size", "unifrom:1,2");
    assert!(GRAMMAR.names.iter().all(|name| unknown.contains(name)), "{unknown}");
    let long: Vec<String> = (0..1001).map(|k| format!("{k}=1")).collect();
    let error = format!("table:{}", long.join(",")).parse::<SizeLaw>().unwrap_err().to_string();
    assert!(error.contains("at most 1000 rows"), "{error}");
}

/// The first `n` sizes of `word`, drawn as the twemperf client with these state words does.
fn drawn(word: &str, words: &str, n: u64) -> Vec<u64> {
    let sizes = Sizes::new(law(word), 1 << 20, 1, Stream::VALUE_SIZE);
    let sizes = sizes.with_draws(words.parse().unwrap());
    (0..n).map(|index| sizes.at(index)).collect()
}

#[test]
fn sizes_can_be_those_that_a_c_program_drew() {
    // Observed with mcperf 0.1.1, --client=0/1 and --client=3/8.
    let (first, third) = ("rand48:4660,22136,25923", "rand48:4663,21880,25920");
    let even = "uniform-real:1,16";
    assert_eq!(drawn(even, first, 12), [13, 5, 2, 7, 11, 5, 3, 6, 12, 3, 11, 5]);
    assert_eq!(drawn(even, third, 12), [4, 16, 4, 12, 12, 13, 5, 11, 16, 11, 10, 15]);
    let exponential = "exponential:40";
    assert_eq!(drawn(exponential, first, 12), [66, 13, 4, 23, 41, 13, 7, 16, 49, 5, 43, 13]);
    assert_eq!(drawn(exponential, third, 12), [8, 142, 11, 54, 48, 71, 14, 46, 161, 41, 36, 99]);
    assert_eq!(drawn("ascending:5", first, 4), [5, 6, 7, 8]);
    assert_eq!(drawn("ascending:5.5", first, 6), [6, 6, 8, 8, 10, 10]);
    assert_eq!(drawn("ascending:1048575", first, 4), [1_048_575, 1 << 20, 1 << 20, 1 << 20]);
}

#[test]
fn real_numbers_are_rounded_to_the_nearest_size() {
    let law = law("uniform-real:1,4");
    assert_eq!(law.bounds(), (1, Some(4)));
    let mut counts = [0; 4];
    sizes(&law, 60_000).for_each(|size| counts[size as usize - 1] += 1);
    assert_shares(&counts, &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0]);
    let ends = "uniform-real:2.5,2.5".parse::<SizeLaw>().unwrap();
    assert_eq!(ends.bounds(), (3, Some(3)));
    assert!(sizes(&ends, 100).all(|size| size == 3));
}

#[test]
fn ways_to_draw_are_read_and_written() {
    let words = ["seed", "rand48:0,1,65535"];
    words.iter().for_each(|word| assert_round_trip::<Draws>(word));
    assert_survives_nonsense::<Draws>(5, &words);
    for word in ["rand48", "rand48:1,2", "rand48:1,2,65536", "seed:1", "rand", "rand48:1,-2,3"] {
        assert!(word.parse::<Draws>().is_err(), "{word}");
    }
}
