//! Round trips of words, and the requests that are struck.

use super::*;
use crate::cases as table;

const SEED: u64 = 5;

fn faults(word: &str) -> Faults {
    word.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn words_read_back_as_they_were_written() {
    let words = include_str!("tests/words.txt");
    table::assert_shown::<Faults>(words, "words");
    assert!(table::words(words, "words").iter().all(|it| faults(it).is_none() == (it == "none")));
}

#[test]
fn nonsense_is_refused_with_every_form() {
    let words = "|,|flip|flip:|flip:x|flip:1.1|flip:-1|flip:nan|flip:101%|flip:0.1@|flip:0.1@set|\
         flip:0.1@fetch|flip:0.1@get@gets|reset:0.1@stats|refuse:0.1@get|Flip:0.1|none,flip:0.1|\
         flip:0.1,flip:0.2|flip:0.1@get,|flip:0.1@get,reset:1,flip:0.2@get";
    for word in words.split('|') {
        let error = word.parse::<Faults>().expect_err(word).to_string();
        assert!(error.starts_with(&format!("'{word}' is not a list of faults: ")), "{error}");
        let named = FaultKind::ALL.iter().all(|kind| error.contains(kind.word()));
        assert!(named, "{error}");
    }
}

#[test]
fn the_struck_are_a_function_of_seed_kind_and_number() {
    let list = faults("reset:2%,flip:3%@get,garbage:1%");
    let struck = |seed, number, verb| list.drawn(seed, number, verb).kinds().collect::<Vec<_>>();
    let all: Vec<_> = (0..100_000).map(|number| struck(SEED, number, Verb::Get)).collect();
    for (kind, rate) in
        [(FaultKind::Reset, 0.02), (FaultKind::Flip, 0.03), (FaultKind::Garbage, 0.01_f64)]
    {
        let count = all.iter().filter(|kinds| kinds.contains(&kind)).count() as f64;
        let deviation = (1e5 * rate * (1.0 - rate)).sqrt();
        assert!((count - 1e5 * rate).abs() < 4.0 * deviation, "{kind:?} {count}, seed {SEED}");
    }
    for number in (0..1000).rev() {
        assert_eq!(struck(SEED, number, Verb::Get), all[number as usize]);
        let without_flip = all[number as usize].iter().filter(|kind| **kind != FaultKind::Flip);
        assert!(struck(SEED, number, Verb::Set).iter().eq(without_flip));
        assert!(struck(SEED, number, Verb::Stats).is_empty());
    }
    let other = (0..1000).map(|number| struck(SEED + 1, number, Verb::Get));
    assert!(!other.eq(all[..1000].iter().cloned()));
}

#[test]
fn a_rate_of_one_strikes_always_and_of_none_never() {
    let list = faults("refuse:1,stall:0,garbage:1");
    for number in 0..1000 {
        assert!(list.refuses(SEED, number));
        assert!(list.drawn(SEED, number, Verb::Set).kinds().eq([FaultKind::Garbage]));
    }
    assert!(faults("none").drawn(SEED, 0, Verb::Get).is_empty());
}

#[test]
fn a_full_list_is_told() {
    let mut full = Vec::new();
    for kind in FaultKind::ALL {
        let verbs = Verb::ALL.iter().copied().filter(|verb| kind.can_strike(*verb));
        full.extend(verbs.map(|verb| format!("{}:0.1@{}", kind.word(), verb.word())));
    }
    assert!(full.join(",").parse::<Faults>().is_err(), "{} faults", full.len());
    full.truncate(FAULTS_MAX);
    assert_eq!(full.len(), FAULTS_MAX);
    let full = full.join(",");
    assert_eq!(faults(&full).to_string(), full);
    assert!(format!("{full},refuse:1").parse::<Faults>().is_err());
}
