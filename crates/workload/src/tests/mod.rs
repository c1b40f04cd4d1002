//! Shared by this crate's tests: distances between a sample and a law, and words that must be
//! refused. Draws no seed.

#[path = "../../../base/tests/table/mod.rs"]
mod table;

use memtide_base::Random;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Kolmogorov's critical distance at 0.1 % for a sample of `n`.
pub(crate) fn critical_distance(n: usize) -> f64 {
    1.95 / (n as f64).sqrt()
}

/// The greatest distance between the sample's distribution function and `cdf`.
pub(crate) fn distance(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let gap = |(rank, &x): (usize, &f64)| {
        let p = cdf(x);
        (p - rank as f64 / n).max((rank as f64 + 1.0) / n - p)
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// The distribution function of the exponential law of mean 1.
pub(crate) fn exponential(x: f64) -> f64 {
    -(-x).exp_m1()
}

/// Asserts that counts agree with shares that add up to 1: Pearson's χ² stays below its critical
/// value at 0.1 %, by Wilson and Hilferty's approximation.
pub(crate) fn assert_shares(counts: &[u64], shares: &[f64]) {
    assert_eq!(counts.len(), shares.len());
    let n = counts.iter().sum::<u64>() as f64;
    let chi: f64 = counts
        .iter()
        .zip(shares)
        .map(|(&count, share)| (count as f64 - n * share).powi(2) / (n * share))
        .sum();
    let freedom = counts.len() as f64 - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    let critical = freedom * (1.0 - spread + 3.09 * spread.sqrt()).powi(3);
    assert!(chi < critical, "χ² = {chi} is not below {critical}: {counts:?} for {shares:?}");
}

/// Asserts that a word parses, and that its formatted form parses to an equal value.
pub(crate) fn assert_round_trip<T>(word: &str)
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug,
{
    let read = |word: &str| word.parse::<T>().unwrap_or_else(|error| panic!("{word}: {error}"));
    let value = read(word);
    let again: T = read(&value.to_string());
    assert_eq!(value, again, "{word} became {value}");
    assert_eq!(value.to_string(), again.to_string());
}

const WORDS: &str = include_str!("words.txt");

/// The valid words of the grammar `name` in `words.txt`.
pub(crate) fn words(name: &str) -> Vec<String> {
    table::words(WORDS, name)
}

/// Asserts that the words of the grammar `name` in `words.txt` are read and written.
pub(crate) fn assert_words<T>(name: &str, seed: u64)
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug,
{
    let words = words(name);
    words.iter().for_each(|word| assert_round_trip::<T>(word));
    assert_survives_nonsense::<T>(seed, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Asserts that the words of the table `name` in `words.txt` are refused as it says; returns the
/// refusal of `word`.
pub(crate) fn assert_refused<T: FromStr<Err: Display> + Debug>(name: &str, word: &str) -> String {
    table::assert_refused(WORDS, name, str::parse::<T>);
    word.parse::<T>()
        .map(|value| format!("{value:?}"))
        .map_err(|error| error.to_string())
        .unwrap_err()
}

/// Asserts that random recombinations of valid words are refused or survive the round trip, and
/// never panic.
pub(crate) fn assert_survives_nonsense<T>(seed: u64, words: &[&str])
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug,
{
    let pieces: Vec<&str> =
        "|:|,|=|@|-1|0|nan|inf|1e400|10%|9999999999999999999|k|\u{b5}s|\u{0}|\u{20}|.|10s"
            .split('|')
            .collect();
    let mut random = Random::new(seed);
    for _ in 0..20_000 {
        let mut word = words[random.below(words.len() as u64) as usize].to_owned();
        for _ in 0..=random.below(3) {
            let at = (0..=word.len()).rev().find(|&at| word.is_char_boundary(at));
            let cut = random.below(at.unwrap_or(0) as u64 + 1) as usize;
            let cut = (0..=cut).rev().find(|&at| word.is_char_boundary(at)).unwrap_or(0);
            let piece = pieces[random.below(pieces.len() as u64) as usize];
            match random.below(3) {
                0 => word.insert_str(cut, piece),
                1 => word.truncate(cut),
                _ => word.replace_range(cut.., piece),
            }
        }
        let outcome = std::panic::catch_unwind(|| {
            if let Ok(value) = word.parse::<T>() {
                assert_round_trip::<T>(&value.to_string());
            }
        });
        assert!(outcome.is_ok(), "seed {seed}: the word '{word}' is not survived");
    }
}
