//! The laws as sizes, and the words for them.

use super::*;
use crate::check::{assert_round_trip, assert_shares, assert_survives_nonsense};
use memtide_base::rng::{Stream, hash, unit};

fn law(word: &str) -> SizeLaw {
    word.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn sizes(law: &SizeLaw, n: u64) -> impl Iterator<Item = u64> + '_ {
    (0..n).map(|i| law.size_at(unit(hash(23, Stream::VALUE_SIZE, i))))
}

const WORDS: [&str; 16] = [
    "200",
    "64KiB",
    "fixed:0",
    "fixed:1k",
    "uniform:10,64k",
    "uniform:7,7",
    "normal:200,30",
    "normal:1k,0",
    "exponential:194.5",
    "pareto:15,214.476,0.348238",
    "pareto:0,1,-2",
    "gev:30.7984,8.20449,0.078688",
    "gev:30,8,-0.1",
    "etc-key",
    "etc-value",
    "table:100=3,1KiB=1,10=0.5",
];

#[test]
fn words_are_read_and_written() {
    for word in WORDS {
        assert_round_trip::<SizeLaw>(word);
    }
    assert_survives_nonsense::<SizeLaw>(4, &WORDS);
    assert_eq!(law("64KiB"), SizeLaw::fixed(65_536));
    assert_eq!(law("fixed:200").to_string(), "fixed:200");
    assert_eq!(law("table:100=3,1KiB=1,10=0.5").to_string(), "table:10=0.5,100=3,1024=1");
    assert_eq!(law("gev:30.7984,8.20449,0.078688").law(), law("etc-key").law());
}

#[test]
fn sizes_lie_within_the_bounds_that_are_told() {
    for word in WORDS {
        let law = law(word);
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
    let refused = |word: &str| word.parse::<SizeLaw>().unwrap_err().to_string();
    let unknown = refused("unifrom:1,2");
    assert!(unknown.contains("the nearest name is 'uniform'; write a size up to 1GiB"));
    for name in GRAMMAR.names {
        assert!(unknown.contains(name), "{unknown}");
    }
    assert!(refused("uniform:20,10").contains("the least size 20 is above the greatest 10"));
    assert!(refused("fixed:2G").contains("'2G' is above 1GiB"));
    assert!(refused("12parsecs").contains("'12parsecs' is not a size"));
    assert!(refused("200:1").contains("there is no '200'"));
    assert!(refused("normal:-5,1").contains("'-5' must be from 0 to 1GiB"));
    assert!(refused("normal:nan,1").contains("must be from 0"));
    assert!(refused("pareto:0,0,0.1").contains("the scale must be above 0"));
    assert!(refused("gev:0,1,99").contains("must be a shape from -10 to 10"));
    assert!(refused("table").contains("is not SIZE=WEIGHT"));
    assert!(refused("table:1=0").contains("must be a weight above 0"));
    assert!(refused("table:1=1,1=2").contains("the size 1 is given twice"));
    assert!(refused("etc-key:1").contains("it takes no argument"));
    let long: Vec<String> = (0..1001).map(|k| format!("{k}=1")).collect();
    assert!(refused(&format!("table:{}", long.join(","))).contains("at most 1000 rows"));
}
