//! The table against itself, layers against each other, and words parsed and formatted again.

use super::*;
use crate::file::from_toml;
use crate::prose::flaw;
use crate::scenario::Secret;
use memtide_base::Random;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// For each field, words that it must accept, and words that it must refuse with an error that says
/// what it accepts.
const WORDS: &[(&str, &[&str], &[&str])] = &[
    ("server", &["localhost", "a:1-3,[::1]:11300,unix:/run/a.sock"], &["host:0", "a,,b"]),
    ("connections", &["16", "2k"], &["-1", "many", "5G", "1.5"]),
    ("depth", &["1", "4096"], &["", "x"]),
    ("refill", &["whole", "each"], &["half", ""]),
    ("clients", &["16", "2k"], &["-1", "some"]),
    ("connections-per-client", &["1", "128"], &["x", "5G"]),
    ("connection-turn", &["random", "round-robin"], &["next"]),
    ("reconnect", &["50ms..5s", "1500us", "never"], &["10", "1s..1ms", "never..1s"]),
    ("bind", &["127.0.0.1,::1", "10.0.0.7"], &["localhost", "10.0.0.1:80", ","]),
    ("nagle", &["on", "false"], &["2", ""]),
    ("protocol", &["binary", "text"], &["udp", "Binary"]),
    ("transport", &["udp", "split", "tcp"], &["unix", "UDP"]),
    ("writers", &["1", "2k"], &["-1", "all"]),
    ("replicate", &["one", "all"], &["2", "some"]),
    ("trailing-space", &["true", "off"], &["2"]),
    ("send-buffer", &["4KiB", "4096"], &["big", "-1"]),
    ("receive-buffer", &["16k", "0"], &["1.5"]),
    ("busy-poll", &["50us", "0s"], &["1500ns", "2s", "50"]),
    ("user", &["tim", "a:b@c"], &["", "a b", "a\nb"]),
    ("password", &["***"], &["a\r\nb", "a\0b"]),
    ("rate", &["0", "20k", "1.5M", "0.1"], &["fast", "-1", "1e3"]),
    ("rate-unit", &["keys", "ops"], &["bytes"]),
    ("arrival", &["fixed", "normal:0.2", "pareto:0,16.0292,0.154971"], &["poison", "pareto:1"]),
    ("schedule", &["connection", "shared"], &["mine"]),
    (
        "on-full",
        &["drop", "skip:5ms,4ms"],
        &["cry", "skip", "skip:5ms", "skip:4ms,5ms", "skip:5,4"],
    ),
    ("pause-after-reply", &["250us", "1s"], &["250", "soon"]),
    ("wave", &["step:10k,50k@20s", "ramp:0,20k", "sine:10k,5k,60s"], &["ramp:1", "tsunami"]),
    ("before", &["start_trace", "verbosity 1, 2"], &["", "a\nb", " "]),
    ("after", &["stop_trace"], &["a\r\n", "a\0"]),
    ("calls", &["10", "1M"], &["many"]),
    ("connection-rate", &["0", "1000", "2.5k"], &["-5"]),
    ("connection-arrival", &["poisson", "uniform:0.5", "ascending:2"], &["sometimes"]),
    ("call-rate", &["0", "1k"], &["fast"]),
    ("gap-draws", &["rand48:4660,22136,25923", "seed"], &["dice", "rand48:1,2"]),
    ("linger", &["0", "2s"], &["2"]),
    ("threads", &["1", "8"], &["0.5"]),
    ("pin", &["true", "no"], &["maybe"]),
    ("wait", &["hybrid", "spin"], &["patiently"]),
    ("io", &["epoll", "uring"], &["poll"]),
    ("keys", &["10M", "500"], &["1.5", "lots"]),
    ("key-size", &["etc-key", "40", "uniform:20,64"], &["fixed:", "big"]),
    ("key-form", &["decimal", "hex"], &["octal"]),
    ("key-prefix", &["mcp:", "a\"b"], &["a b", "a\nb"]),
    ("key-first", &["1", "1G"], &["-1", "first"]),
    ("value-size", &["etc-value", "64KiB", "table:10=1,1k=3"], &["uniform:5", "-3"]),
    ("value-draws", &["rand48:4660,22136,25923", "seed"], &["dice", "rand48:1,2"]),
    ("value-fill", &["0", "drawn"], &["00", "é", " "]),
    ("value-max", &["4MiB", "1000"], &["1 parsec"]),
    (
        "popularity",
        &["zipf:0.99", "hotspot:20%,80%", "walk:9,2,5%@uniform:0,9"],
        &["zipf", "hotspot:2,3"],
    ),
    ("window", &["10k", "auto:4G,5%", "auto:1MiB,0"], &["0", "auto", "auto:4G,10%", "large"]),
    ("overwrite", &["0.2", "100%"], &["1.5", "x"]),
    ("window-pick", &["sequential", "random"], &["best"]),
    ("mix", &["get=30,set=1,delete=0.5", "gets=1,cas=1"], &["get", "got=1", "get=0"]),
    ("mix-order", &["turn", "drawn"], &["zigzag"]),
    ("delta", &["fixed:7", "uniform-real:1,16"], &["-1", "some"]),
    ("numeric-keys", &["shared", "own"], &["none"]),
    ("cas-unique", &["1", "18446744073709551615"], &["0", "-1"]),
    ("multiget", &["100", "65535"], &["65536"]),
    ("multiget-share", &["0.25", "100%"], &["1.5", "some"]),
    ("expiry", &["-1", "3600"], &["tomorrow", "1.5"]),
    ("expiry-share", &["0.05", "100%"], &["2", "-1"]),
    ("flags", &["4294967295", "7"], &["-1", "4294967296"]),
    ("noreply", &["1", "off"], &["2"]),
    ("load", &["always", "never"], &["sometimes"]),
    ("load-partial", &["yes", "false"], &[""]),
    ("no-stats", &["yes", "false"], &["perhaps"]),
    ("duration", &["30s", "1.5h", "123456789ns"], &["10", "-1s", "forever"]),
    ("warmup", &["5s", "0"], &["5"]),
    ("ops-max", &["1M", "1"], &["-5"]),
    ("connections-total", &["100k", "1"], &["1.5"]),
    ("timeout", &["250ms", "1m"], &["5"]),
    ("goal", &["get.p99<1ms,rate>=50k", "errors<0.1%"], &["get.p99", "get.p99<1ms,,"]),
    ("abort-on", &["errors>50%,rate<1k", "all.p99>1s"], &["errors", "errors>50%,,"]),
    ("errors-max", &["1", "5%", "0.001"], &["all", "1.5", "-0.1"]),
    ("strict", &["on", "0"], &["very"]),
    ("verify", &["1", "5%", "0.001"], &["all", "1.5", "-0.1"]),
    ("verify-keys", &["1", "1M"], &["some", "0.5"]),
    ("verify-expiry", &["true", "off"], &["maybe"]),
    ("message-sizes", &["true", "off"], &["all"]),
    ("interval", &["250ms", "10s"], &["1", "often"]),
    ("interval-times", &["true", "off"], &["2"]),
    ("cooldown", &["drain", "load", "stop"], &["ice"]),
    ("seed", &["18446744073709551615", "0x2a"], &["-1", "0x+1", "1k", "18446744073709551616"]),
    ("json", &["-", "out file.json"], &["", "a\0b"]),
    ("plot", &["a.svg", "out/b c.png"], &["-", "a.pdf", ""]),
    ("samples", &["-", "a \"b\"\\n.csv"], &[""]),
    (
        "out",
        &["json=-", "md=a \"b\"\\n.md,plot=p.svg", "samples=agents"],
        &[
            "r.json",
            "json",
            "json=",
            "pdf=x",
            "plot=-",
            "samples=x.xls",
            "md=a,md=a",
            "influx=h",
            "",
        ],
    ),
    ("spool", &["points,1000000"], &["", "points", "points,", ",1MB", "points,0", "points,many"]),
    ("verify-details", &["-", "wrong values.json"], &[""]),
    ("tag", &["build=42,note=a b=c", "x=1"], &["build", "=1", "a b=1", "a=1,a=2", ""]),
    ("plan", &["true", "false"], &["b"]),
    ("quiet", &["true", "false"], &["loud"]),
    (
        "shard",
        &["0/4", "3/4", "auto", "auto/65535", "none"],
        &["", "4/4", "1", "-1/2", "0/0", "auto/x", "all"],
    ),
    (
        "start-at",
        &["2026-01-31T12:00:00.25Z", "@1769860800", "2026-01-31 12:00:00-08:00"],
        &["", "12:00", "2026-01-31T12:00:00", "@", "@1.", "@-1", "1769860800"],
    ),
    ("barrier", &["pmi", "dir:/shared/a b", "dir:start"], &["", "dir:", "pmi2", "/shared/start"]),
    ("barrier-timeout", &["60s", "1500ms"], &["60", "never"]),
    ("agents", &["2", "lab1,lab2:11299", "[::1]:7"], &["", "0", "a,,b", "a:x", "::1"]),
    ("key", &["/keys/master"], &[""]),
    ("expect", &["30s", "2m"], &["30", "never"]),
    ("master-share", &["true", "false"], &["perhaps"]),
    ("master-rate", &["", "1k", "20000"], &["-1", "fast"]),
    ("allow-lost", &["0", "3"], &["", "-1", "some"]),
];

/// Values that no field or no scenario takes.
const ABSURD: &[(&str, &[&str])] = &[
    ("rate", &["nan", "inf", "1e18", "1e400", "99999999999999999999999999", "0x10", "1/0", "٣"]),
    ("connections", &["99999999999"]),
    ("depth", &["18446744073709551616"]),
    ("threads", &["1e9"]),
    ("verify", &["nan", "101%", "-0.5"]),
    ("multiget-share", &["inf"]),
    ("key-first", &["18446744073709551615"]),
    ("ops-max", &["1e30"]),
    ("duration", &["10lightyears", "nans", "infs", "-1s", "1e300s", "99999999999999h", "0s"]),
    ("timeout", &["1000h"]),
    ("interval", &["0s", "1ns"]),
    ("reconnect", &["0s..0s", ".."]),
    ("mix", &["get=nan", "get=-1,set=2", "get=1,get=2", ",,,", "get=1e308,set=1e308"]),
    ("popularity", &["zipf:nan", "zipf:-1", "zipf:1e9"]),
    ("value-size", &["uniform:9,1", "normal:nan,1", "fixed:-5", "1e30", "1MiB1", "2MiB"]),
    ("key-size", &["0", "251"]),
    ("wave", &["step:", "step:1,2@0s", "sine:nan,1@1s", "step:1e18,0@1s"]),
    ("arrival", &["pareto:", "fixed:nan"]),
    ("goal", &["get.p200<1ms", "get.p99<", "<", "get.p99<-1ms", "get.p-1<1ms", "errors<nan"]),
    ("bind", &["256.1.1.1"]),
    ("send-buffer", &["1EiB"]),
];

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
    for (name, words, _) in WORDS {
        let field = find(name).unwrap();
        for word in *words {
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
    for (name, _, words) in WORDS {
        for word in *words {
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
    for (name, words) in ABSURD {
        for word in *words {
            let mut settings = Settings::default();
            let taken = settings.apply(&layer(&[(name, word)], &Origin::Flag));
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
        for (name, words, _) in WORDS {
            if random.below(2) == 0 {
                let word = words[random.below(words.len() as u64) as usize];
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
        for (name, words, _) in WORDS {
            if random.below(6) == 0 {
                let word = words[random.below(words.len() as u64) as usize];
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
    let cases = [
        ("kye-size", Some("key-size")),
        ("Key_Size", Some("key-size")),
        ("conections", Some("connections")),
        ("conn", Some("connections")),
        ("rates", Some("rate")),
        ("serevr", Some("server")),
        ("durations-in-s", Some("duration")),
        ("qps", None),
        ("x", None),
        ("", None),
        ("zzzzzz", None),
    ];
    for (name, near) in cases {
        assert_eq!(nearest(name), near, "{name}");
    }
}

#[test]
fn a_former_name_is_no_field_and_its_present_one_is() {
    let is_field = |name: &str| FIELDS.iter().any(|field| field.name == name);
    for (former, present) in FORMER_NAMES {
        assert!(!is_field(former) && is_field(present), "{former} and {present}");
        assert!(renamed(&former.replace('-', "_"), &Origin::Flag).is_some(), "{former}");
    }
    assert_eq!(renamed("rate", &Origin::Flag), None);
}

#[test]
fn an_error_names_the_present_field_as_its_origin_spells_it() {
    let flag = unknown("pick", Origin::Flag).to_string();
    assert_eq!(flag, "--pick: this field is now called window-pick; use --window-pick");
    let variable = ("MEMTIDE_TRAILING_BLANK".to_owned(), "1".to_owned());
    assert_eq!(
        Layer::from_environment([variable]).unwrap_err().to_string(),
        "MEMTIDE_TRAILING_BLANK: this field is now called trailing-space; use \
         MEMTIDE_TRAILING_SPACE"
    );
    assert_eq!(
        from_toml("rate = 1\ntrailing_blank = true\n", "s.toml").unwrap_err().to_string(),
        "trailing_blank in s.toml line 2: this field is now called trailing-space; use \
         trailing-space"
    );
}
