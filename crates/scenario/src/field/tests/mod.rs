//! The table against itself, layers against each other, and words parsed and formatted again.

use super::*;
use crate::file::from_toml;
use crate::prose::flaw;
use crate::scenario::Secret;
use crate::table;
use memtide_base::Random;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::LazyLock;

/// A field, words that it must accept, and words that it must refuse with an error that says what
/// it accepts.
type Row = (&'static str, Vec<String>, Vec<String>);

/// For each field its words, by `words.txt`: the accepted ones, `!!`, and the refused ones.
static WORDS: LazyLock<Vec<Row>> = LazyLock::new(|| rows(include_str!("words.txt")));

/// The rows of a file. Two quotes are an empty word; words have Rust's escapes.
fn rows(text: &'static str) -> Vec<Row> {
    let words = |text: &str| {
        let words = text.split(" | ").map(str::trim).filter(|word| !word.is_empty());
        let plain = words.map(|word| word.replace("\\\\", "\u{1}").replace("\\n", "\n"));
        let plain = plain.map(|word| word.replace("\\r", "\r").replace("\\0", "\0"));
        plain.map(|word| word.replace('\u{1}', "\\").replace("''", "").replace('·', " ")).collect()
    };
    let row = |line: &'static str| {
        let (name, rest) = line.split_once(" =").expect("a field");
        let (good, bad) = rest.split_once("!!").expect("accepted and refused words");
        (name, words(good), words(bad))
    };
    text.lines().map(row).collect()
}

fn layer(words: &[(&str, &str)], origin: &Origin) -> Layer {
    let mut layer = Layer::new();
    for (name, word) in words {
        layer.push(find(name).unwrap(), vec![(*word).to_owned()], origin.clone());
    }
    layer
}

#[test]
fn every_row_is_whole() {
    let mut names = BTreeSet::new();
    for field in FIELDS {
        let name = field.name;
        assert!(names.insert(name), "{name} stands twice");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(!field.help.ends_with('.') && field.help.len() <= 72, "{name}: help is one line");
        assert!(field.long.ends_with('.'), "{name}: long is sentences");
        assert!(!field.long.contains("  ") && !field.long.contains('\n'), "{name}: stray space");
        assert_eq!(find(&name.replace('-', "_")), Some(field));
        assert!(WORDS.iter().any(|row| row.0 == name), "{name} has no words");
    }
    assert_eq!(FIELDS.len(), WORDS.len());
    let sections: Vec<Section> = FIELDS.iter().map(|field| field.section).collect();
    let order: Vec<usize> =
        sections.iter().map(|s| Section::ALL.iter().position(|t| t == s).unwrap()).collect();
    assert!(order.is_sorted(), "fields of one section stand together");
}

#[test]
fn defaults_say_what_is_the_default() {
    for field in FIELDS {
        let shown = field.show(&Settings::default());
        if shown.is_empty() || field.default.contains(' ') {
            continue;
        }
        let mut settings = Settings::default();
        field.set(&mut settings, field.default).unwrap();
        assert_eq!(settings, Settings::default(), "{}", field.name);
    }
}

#[test]
fn good_words_are_taken_and_shown_so_that_they_read_back() {
    for (name, words, _) in WORDS.iter() {
        let field = find(name).unwrap();
        for word in words {
            let mut settings = Settings::default();
            field.set(&mut settings, word).unwrap_or_else(|e| panic!("{name} {word}: {e}"));
            let shown = field.show(&settings).join(",");
            let mut again = Settings::default();
            field.set(&mut again, &shown).unwrap_or_else(|e| panic!("{name} {shown}: {e}"));
            assert_eq!(settings, again, "{name} {word} was shown as {shown}");
        }
    }
}

#[test]
fn bad_words_are_refused_with_a_sentence() {
    for (name, _, words) in WORDS.iter() {
        for word in words {
            let mut settings = Settings::default();
            let error = settings.apply(&layer(&[(name, word)], &Origin::Flag)).unwrap_err();
            let sentence = error.to_string();
            assert!(sentence.starts_with(&format!("--{name}: ")), "{sentence}");
            assert!(sentence.len() > name.len() + 20, "{name} {word} only says: {sentence}");
        }
    }
}

#[test]
fn absurd_values_are_refused_by_their_field_or_by_the_scenario() {
    for (name, _, words) in rows(include_str!("absurd.txt")) {
        for word in words {
            let mut settings = Settings::default();
            let taken = settings.apply(&layer(&[(name, &word)], &Origin::Flag));
            assert!(taken.is_err() || !settings.check().is_empty(), "{name} {word}");
        }
    }
}

#[test]
fn a_record_of_words_is_a_scenario_file() {
    let seed = 11;
    let mut random = Random::new(seed);
    for round in 0..300 {
        let mut settings = Settings::default();
        for (name, words, _) in WORDS.iter() {
            if random.below(2) == 0 {
                let word = &words[random.below(words.len() as u64) as usize];
                find(name).unwrap().set(&mut settings, word).unwrap();
            }
        }
        let text = toml::to_string(&settings.words()).unwrap();
        let mut again = Settings::default();
        again.apply(&from_toml(&text, "words").unwrap()).unwrap();
        assert_eq!(settings, again, "seed {seed}, round {round}:\n{text}");
    }
}

#[test]
fn every_contradiction_reads_as_a_sentence() {
    let seed = 12;
    let mut random = Random::new(seed);
    let mut seen = BTreeSet::new();
    for _ in 0..5_000 {
        let mut settings = Settings::default();
        for (name, words, _) in WORDS.iter() {
            if random.below(6) == 0 {
                let word = &words[random.below(words.len() as u64) as usize];
                find(name).unwrap().set(&mut settings, word).unwrap();
            }
        }
        for problem in settings.check() {
            let sentence = problem.to_string();
            if let Some(flaw) = flaw(&sentence) {
                panic!("seed {seed}: {flaw}");
            }
            seen.insert(problem.field);
        }
    }
    assert!(seen.len() >= 15, "only {seen:?} were ever wrong");
}

#[test]
fn a_password_is_shown_to_nobody() {
    let mut settings = Settings::default();
    let said = [("user", "tim"), ("password", "tan staaf")];
    settings.apply(&layer(&said, &Origin::Flag)).unwrap();
    assert_eq!(settings.scenario.password.as_ref().map(Secret::reveal), Some("tan staaf"));
    let words = serde_json::to_string(&settings.words()).unwrap();
    let bad = [("password", "tan\nstaaf")];
    let error = settings.clone().apply(&layer(&bad, &Origin::Flag)).unwrap_err().to_string();
    for shown in [words.as_str(), &format!("{settings:?}"), &error] {
        assert!(!shown.contains("staaf"), "{shown}");
    }
    assert!(words.contains(r#""password":"***""#), "{words}");
}

#[test]
fn a_higher_layer_wins_and_replaces_lists() {
    let file = Origin::File { path: "a.toml".to_owned(), line: 1 };
    let mut settings = Settings::default();
    let below = [("server", "a,b"), ("rate", "5k"), ("keys", "7"), ("goal", "rate>1")];
    settings.apply(&layer(&below, &file)).unwrap();
    let environment = [
        ("MEMTIDE_RATE", "6k"),
        ("MEMTIDE_KEY_SIZE", "44"),
        ("PATH", "x"),
        ("MEMTIDE_GOAL", "rate>2"),
    ];
    let pairs = environment.map(|(name, word)| (name.to_owned(), word.to_owned()));
    settings.apply(&Layer::from_environment(pairs).unwrap()).unwrap();
    let mut flags = layer(&[("rate", "7k")], &Origin::Flag);
    let servers = vec!["c".to_owned(), "d,e".to_owned()];
    flags.push(find("server").unwrap(), servers, Origin::Flag);
    settings.apply(&flags).unwrap();
    assert_eq!(settings.scenario.rate, Some(7e3));
    assert_eq!(settings.scenario.keys, 7);
    assert_eq!(settings.scenario.key_size.to_string(), "fixed:44");
    assert_eq!(
        settings.scenario.goals.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["rate>2"]
    );
    let names: Vec<String> = settings.scenario.servers.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["c:11211", "d:11211", "e:11211"]);
}

#[test]
fn an_empty_value_is_refused_for_every_field_and_names_its_origin() {
    let file = Origin::File { path: "s.toml".to_owned(), line: 3 };
    for field in FIELDS.iter().filter(|field| field.name != "password") {
        let variable = field.variable();
        for (origin, begin) in [
            (Origin::Flag, format!("--{}: ", field.name)),
            (Origin::Environment, format!("{variable}: ")),
            (file.clone(), format!("{} in s.toml line 3: ", field.name)),
        ] {
            for word in ["", " "] {
                let said = layer(&[(field.name, word)], &origin);
                let sentence = Settings::default().apply(&said).unwrap_err().to_string();
                assert!(sentence.starts_with(&format!("{begin}the value is empty")), "{sentence}");
            }
        }
    }
    // An item of a list must not be empty either, but a file may contain an empty list.
    let text = "server = [\"a\", \"\"]";
    let error = Settings::default().apply(&from_toml(text, "s.toml").unwrap()).unwrap_err();
    assert!(error.to_string().contains("the value is empty"), "{error}");
    Settings::default().apply(&from_toml("server = []", "s.toml").unwrap()).unwrap();
    Settings::default().apply(&layer(&[("password", "")], &Origin::Flag)).unwrap();
}

#[test]
fn an_environment_may_hold_any_bytes_but_a_field_s_value_is_text() {
    let bytes = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let foreign = [(bytes(b"CAF\xe9"), bytes(b"x")), (bytes(b"LESS"), bytes(b"\xff\xfe"))];
    assert_eq!(Layer::from_environment(foreign).unwrap(), Layer::new());
    let value = [(bytes(b"MEMTIDE_KEY_SIZE"), bytes(b"4\xff"))];
    assert_eq!(
        Layer::from_environment(value).unwrap_err().to_string(),
        "MEMTIDE_KEY_SIZE: the value \"4\\xFF\" is not UTF-8 text; give it as UTF-8"
    );
    let name = [(bytes(b"MEMTIDE_KEY_S\xffZE"), bytes(b"4"))];
    let error = Layer::from_environment(name).unwrap_err().to_string();
    assert!(error.starts_with("MEMTIDE_KEY_S") && error.contains("no such field"), "{error}");
}

#[test]
fn errors_name_the_field_as_its_origin_spells_it() {
    let said = |origin: Origin| {
        let mut settings = Settings::default();
        settings.apply(&layer(&[("key-size", "big")], &origin)).unwrap_err().to_string()
    };
    assert!(said(Origin::Flag).starts_with("--key-size: 'big' is not "));
    assert!(said(Origin::Environment).starts_with("MEMTIDE_KEY_SIZE: 'big' is not "));
    let file = Origin::File { path: "s.toml".to_owned(), line: 3 };
    assert!(said(file).starts_with("key-size in s.toml line 3: 'big' is not "));
    let pair = ("MEMTIDE_KYE_SIZE".to_owned(), "4".to_owned());
    assert_eq!(
        Layer::from_environment([pair]).unwrap_err().to_string(),
        "MEMTIDE_KYE_SIZE: there is no such field; did you mean MEMTIDE_KEY_SIZE?"
    );
    let mut twice = Layer::new();
    let words = vec!["1".to_owned(), "2".to_owned()];
    twice.push(find("keys").unwrap(), words, Origin::Flag);
    assert_eq!(
        Settings::default().apply(&twice).unwrap_err().to_string(),
        "--keys: it takes one value, 2 were given"
    );
}

#[test]
fn the_nearest_name_is_found_and_no_far_one() {
    for (name, near) in
        table::rows(include_str!("../../scenario/tests/words.txt"), "names that are near")
    {
        assert_eq!(nearest(&name), near.first().copied(), "{name}");
    }
}
