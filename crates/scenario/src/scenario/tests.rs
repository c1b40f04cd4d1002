//! Words of the scenario's own types, and refused combinations of fields.

use super::*;
use crate::field::find;
use crate::table::assert_shown;
use memtide_base::Random;

fn targets(word: &str) -> Vec<String> {
    let targets = Target::parse_list(word).unwrap();
    targets.iter().map(Target::to_string).collect()
}

#[test]
fn servers_are_read_in_every_form() {
    assert_eq!(targets("localhost"), ["localhost:11211"]);
    assert_eq!(targets("10.0.0.1:11300"), ["10.0.0.1:11300"]);
    assert_eq!(
        targets("[::1]:11300, ::1 ,[fe80::1%eth0]"),
        ["[::1]:11300", "[::1]:11211", "[fe80::1%eth0]:11211"]
    );
    assert_eq!(targets("cache:1-3"), ["cache:1", "cache:2", "cache:3"]);
    assert_eq!(targets("unix:/run/memcached.sock,h"), ["unix:/run/memcached.sock", "h:11211"]);
    assert_eq!(targets(""), [""; 0]);
    assert_eq!(Target::parse_list("h:1-65535").unwrap_err().matches("1024").count(), 1);
}

#[test]
fn servers_that_cannot_be_meant_are_refused_with_every_form_that_can() {
    let wrong = ",|a,,b|host:|:11211|host:0|host:65536|host:3-1|host:x|[::1|[::1]x|[nonsense]:1|\
        a:b:c|unix:|http://host|ho st|host:1-2-3|host:+1";
    for word in wrong.split('|') {
        let error = Target::parse_list(word).unwrap_err();
        assert!(error.contains("allowed are host, host:port"), "{word}: {error}");
    }
}

#[test]
fn servers_read_back_as_themselves() {
    for word in ["a,b:1", "[::1]:1,unix:/a b", "x:5-9"] {
        let first = Target::parse_list(word).unwrap();
        let shown: Vec<String> = first.iter().map(Target::to_string).collect();
        assert_eq!(Target::parse_list(&shown.join(",")).unwrap(), first);
    }
}

#[test]
fn goals_are_read_and_shown() {
    assert_shown::<Goal>(include_str!("tests/words.txt"), "goals");
    let goal: Goal = "get.p99<1ms".parse().unwrap();
    let measure = Measure::Percentile(99.0);
    assert_eq!(goal.subject, Subject::Response { kind: crate::Kind::Get, measure });
    assert_eq!((goal.relation, goal.bound), (Relation::Less, 1e6));
    assert!(goal.relation.holds(9.9e5, goal.bound) && !goal.relation.holds(1e6, goal.bound));
}

#[test]
fn errors_are_allowed_as_said_or_as_a_goal_bounds_them() {
    let allowed = |goals: &[&str], errors_max| {
        let goals = goals.iter().map(|goal| goal.parse().unwrap()).collect();
        let trust = Trust { errors_max, ..Trust::default() };
        Scenario { goals, trust, ..Scenario::default() }.errors_allowed()
    };
    assert_eq!(allowed(&[], None), 0.01);
    assert_eq!(allowed(&["all.p99<1ms", "rate>1", "errors>50%"], None), 0.01);
    assert_eq!(allowed(&["errors<5%"], None), 0.05);
    assert_eq!(allowed(&["errors<5%", "errors<=0.2%"], None), 0.002);
    assert_eq!(allowed(&["errors<5%"], Some(0.0)), 0.0);
}

#[test]
fn nonsense_goals_are_refused_with_an_example() {
    let wrong = "|get.p99|get.p99=1ms|get.p0<1ms|get.p100<1ms|get.pinf<1ms|get.p99<1|got.p99<1ms|\
        rate>=fast|errors<200%|p0<1ms|get.<1ms|get.p99<|get.p99<<1ms|hits<-1|stolen<200%";
    for word in wrong.split('|') {
        let error = word.parse::<Goal>().unwrap_err();
        assert!(error.contains("a goal such as"), "{word}: {error}");
    }
}

#[test]
fn choices_and_waits_are_read_and_shown() {
    assert_eq!("drop".parse(), Ok(OnFull::Drop));
    let skip = OnFull::Skip { behind: Span::from_ms(5), until: Span::from_us(4500) };
    assert_eq!(
        ("skip:5ms, 4500us".parse(), skip.to_string()),
        (Ok(skip), "skip:5ms,4500us".into())
    );
    assert_eq!(Sharing::Connection.to_string(), "connection");
    let error = "sometimes".parse::<Load>().unwrap_err();
    assert_eq!(error, "'sometimes' is not one of auto, always, never");
    let reconnect: Reconnect = "10ms..1s".parse().unwrap();
    assert_eq!(reconnect, Scenario::default().reconnect);
    assert_eq!(reconnect.to_string(), "10ms..1s");
    assert_eq!("50ms".parse::<Reconnect>().unwrap().to_string(), "50ms..50ms");
    for word in ["", "1s..10ms", "0s..1s", "10..20", "10ms.."] {
        assert!(word.parse::<Reconnect>().is_err(), "{word}");
    }
}

#[test]
fn spans_are_shown_so_that_nothing_is_lost() {
    let seed = 5;
    let mut random = Random::new(seed);
    for _ in 0..10_000 {
        let bits = 1 + random.below(50);
        let span = Span::from_ns(random.below(1 << bits));
        let word = span_word(span);
        assert_eq!(memtide_base::units::parse_span(&word), Ok(span), "{word}, seed {seed}");
    }
}

/// Asserts that a scenario of `base` and `words` has a problem with the fields `expected`, or none.
/// A `~` is a blank.
fn check(base: &str, words: &str, expected: &str) {
    let words = format!("{base} {words}");
    let mut settings = Settings::default();
    for pair in words.split_whitespace() {
        let (name, word) = pair.split_once('=').expect("a field and its word");
        let taken = find(name).unwrap().set(&mut settings, &word.replace('~', " "));
        taken.unwrap_or_else(|error| panic!("{pair}: {error}"));
    }
    let problems = settings.scenario.check();
    for problem in &problems {
        let message = problem.to_string();
        assert!(message.contains(&problem.field), "{message} does not name {}", problem.field);
    }
    let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields.join(" "), expected, "{words}");
}

#[test]
fn what_cannot_be_is_refused_by_its_field() {
    let (mut base, mut checked) = ("", 0);
    for line in include_str!("tests/possible.txt").lines() {
        if let Some(fields) = line.strip_prefix("base") {
            base = fields;
        } else if let Some(row) = line.strip_prefix("+ ") {
            let (words, field) = row.split_once("=>").expect("a field or none");
            check(base, words, field.trim());
            checked += 1;
        }
    }
    assert!(checked > 100);
}

#[test]
fn a_value_above_the_limit_says_what_to_raise() {
    let value_size = "fixed:2MiB".parse().unwrap();
    let problems = Scenario { value_size, ..Scenario::default() }.check();
    assert_eq!(
        problems[0].to_string(),
        "value-size fixed:2097152 is above value-max 1023KiB: use smaller values, or raise \
         value-max (beyond 1023KiB also memcached's -I)"
    );
}

/// The settings of `words` from one place.
fn settings_from(words: &[(&str, &str)], origin: &crate::Origin) -> Settings {
    let mut settings = Settings::default();
    settings.apply(&layer_of(words, origin)).unwrap();
    settings
}

fn layer_of(words: &[(&str, &str)], origin: &crate::Origin) -> crate::Layer {
    let mut layer = crate::Layer::new();
    for &(name, word) in words {
        layer.push(find(name).unwrap(), vec![word.to_owned()], origin.clone());
    }
    layer
}

type Fields = &'static [(&'static str, &'static str)];

/// Fields with their defaults, what makes them have no effect, and another value.
const WITHOUT_EFFECT: [(&str, &str, Fields, &str); 19] = [
    ("tls-min", "1.2", &[], "1.3"),
    ("tls-resume", "on", &[], "off"),
    ("expect", "30s", &[], "31s"),
    ("prepare-timeout", "60s", &[], "61s"),
    ("allow-lost", "0", &[], "1"),
    ("gap-draws", "seed", &[], "rand48:1,2,3"),
    ("gap-draws", "seed", &[("calls", "9"), ("server", "h")], "rand48:1,2,3"),
    ("on-full", "queue", &[("rate", "0")], "drop"),
    ("on-full", "queue", &[("calls", "9"), ("server", "h")], "drop"),
    ("schedule", "shared", &[("calls", "9")], "connection"),
    ("connections-per-client", "1", &[], "2"),
    ("overwrite", "0", &[], "0.5"),
    ("popularity", "uniform", &[("window", "10")], "zipf:1"),
    ("multiget-share", "1", &[("window", "10"), ("multiget", "2")], "0.5"),
    ("multiget-share", "1", &[], "0.5"),
    ("expiry-share", "1", &[], "0.5"),
    ("delta", "1", &[], "2"),
    ("numeric-keys", "own", &[], "shared"),
    ("duration", "300s", &[("precision", "p99 5%")], "299s"),
];

#[test]
fn a_field_without_effect_is_refused_whatever_its_value() {
    let file = crate::Origin::File { path: "s.toml".to_owned(), line: 1 };
    for (field, default, others, other) in WITHOUT_EFFECT {
        let words = |word| [others, &[(field, word)]].concat();
        let refused = |settings: &Settings| {
            let problems = settings.check().into_iter().map(|problem| problem.message);
            let begins = format!("{field} ");
            let is_named = |message: &String| {
                message.starts_with(&begins)
                    || message.contains(&format!(" {begins}"))
                    || message.contains(&format!("with {field}"))
            };
            problems.filter(is_named).count()
        };
        for origin in [crate::Origin::Flag, crate::Origin::Environment] {
            for word in [default, other] {
                let settings = settings_from(&words(word), &origin);
                assert_eq!(refused(&settings), 1, "{field} {word} from {origin:?}");
            }
        }
        // A file may have every field, and what overrides a file may take its value back.
        let mut settings = settings_from(&words(default), &file);
        assert_eq!(refused(&settings), 0, "{field} from a file");
        settings.apply(&layer_of(&[(field, other)], &file)).unwrap();
        assert_eq!(refused(&settings), 1, "{field} {other} from a file");
        settings.apply(&layer_of(&[(field, default)], &crate::Origin::Flag)).unwrap();
        assert_eq!(refused(&settings), 0, "{field} taken back");
    }
    let off = settings_from(&[("tls-insecure", "false")], &crate::Origin::Flag);
    assert_eq!(off.check(), []);
}

#[test]
fn a_field_that_is_set_to_its_default_is_set() {
    let lengths = find("value-size").unwrap();
    let file = crate::Origin::File { path: "s.toml".to_owned(), line: 1 };
    for origin in [file, crate::Origin::Flag] {
        assert!(settings_from(&[("value-size", "200")], &origin).sets(lengths));
        assert!(!settings_from(&[("keys", "7")], &origin).sets(lengths));
    }
    let mut settings = Settings::default();
    settings.scenario.value_size = "300".parse().unwrap();
    assert!(settings.sets(lengths));
}

#[test]
fn connections_without_any_rate_are_a_closed_loop() {
    let closed = |connections, calls| {
        let rates = (Some(connections), Some(calls));
        let mut scenario = Scenario::default();
        (scenario.churn.connection_rate, scenario.churn.call_rate) = rates;
        scenario.is_closed_loop()
    };
    assert!(closed(0.0, 0.0) && !closed(1.0, 0.0) && !closed(0.0, 1.0));
}

#[test]
fn a_named_server_without_a_rate_means_a_closed_loop() {
    let mut scenario = Scenario::default();
    assert!(!scenario.is_closed_loop());
    scenario.servers = Target::parse_list("h").unwrap();
    assert!(scenario.is_closed_loop());
    scenario.wave = "sine:10k,5k,60s".parse().unwrap();
    assert!(!scenario.is_closed_loop());
    scenario = Scenario { rate: Some(0.0), ..Scenario::default() };
    assert!(scenario.is_closed_loop());
}

#[test]
fn a_warmup_is_found_by_default_where_it_can_be() {
    let default = |words: &[(&str, &str)]| {
        let mut layer = crate::Layer::new();
        for &(name, word) in words {
            layer.push(find(name).unwrap(), vec![word.to_owned()], crate::Origin::Flag);
        }
        let mut settings = Settings::default();
        settings.apply(&layer).unwrap();
        settings.warmup_by_default()
    };
    for words in [
        ("rate", "1k"),
        ("duration", "5s"),
        ("precision", "p99 5%"),
        ("rate", "0"),
        ("agents", "2"),
    ] {
        assert_eq!(default(&[words]), Warmup::Auto, "{words:?}");
    }
    for words in [
        ("duration", "4.9s"),
        ("ops-max", "1k"),
        ("wave", "ramp:1k,2k"),
        ("calls", "9"),
        ("shard", "0/2"),
    ] {
        assert_eq!(default(&[words]), Warmup::NONE, "{words:?}");
    }
    let short = [("precision", "p99 5%"), ("at-most", "4s")];
    assert_eq!(default(&short), Warmup::NONE);
    assert_eq!(default(&[("agents", "2"), ("duration", "9s")]), Warmup::NONE);
}

#[test]
fn only_a_first_run_has_a_precision_by_default() {
    let asked = |words: &[(&str, &str)]| {
        let mut layer = crate::Layer::new();
        for &(name, word) in words {
            layer.push(find(name).unwrap(), vec![word.to_owned()], crate::Origin::Flag);
        }
        let mut settings = Settings::default();
        settings.apply(&layer).unwrap();
        settings.decide_first_length();
        assert_eq!(settings.check().len(), 0, "{words:?}");
        let given = settings.scenario.words();
        let left = crate::given_fields(&given).into_iter().map(|(name, _)| name.to_owned());
        let Scenario { precision, at_most, .. } = settings.scenario;
        let asked: Vec<String> = precision.iter().map(ToString::to_string).collect();
        (asked.join(","), at_most, left.collect::<Vec<_>>())
    };
    let first = |words: &[(&str, &str)]| {
        let (precision, at_most, left) = asked(words);
        let is_first = precision == "p50 10%,p90 10%" && at_most == Some(Span::from_s(30));
        assert!(is_first || precision.is_empty() && at_most.is_none(), "{words:?}: {precision}");
        let told = left.iter().any(|name| name == "precision" || name == "at-most");
        assert!(!told, "a default is not repeated: {left:?}");
        is_first
    };
    for words in [&[][..], &[("rate", "0")], &[("keys", "1k"), ("tls", "true")]] {
        assert!(first(words), "{words:?}");
    }
    for words in [
        ("duration", "10s"),
        ("server", "h"),
        ("agents", "2"),
        ("ops-max", "1k"),
        ("cooldown", "drain"),
        ("wave", "ramp:1k,2k"),
        ("shard", "0/2"),
    ] {
        assert!(!first(&[words]), "{words:?}");
    }
    let own = asked(&[("precision", "p99 5%")]);
    assert_eq!((&*own.0, own.1), ("p99 5%", None));
    assert!(own.2.contains(&"precision".to_owned()), "{:?}", own.2);
}

#[test]
fn a_warmup_is_found_only_where_a_load_can_be_steady() {
    let problems = |words: &[(&str, &str)]| -> Vec<String> {
        let mut layer = crate::Layer::new();
        for &(name, word) in words.iter().chain(&[("warmup", "auto")]) {
            layer.push(find(name).unwrap(), vec![word.to_owned()], crate::Origin::Flag);
        }
        let mut settings = Settings::default();
        settings.apply(&layer).unwrap();
        settings.check().into_iter().map(|problem| problem.message).collect()
    };
    assert_eq!(problems(&[("rate", "1k")]), [""; 0]);
    assert_eq!(problems(&[("agents", "2"), ("precision", "p99 5%")]), [""; 0]);
    for (of, named) in [("shard", "0/2"), ("master-rate", "1k")].map(|it| (it, it.0)) {
        let words = [of, ("agents", "2"), ("precision", "p99 5%")];
        let begins = format!("precision is not possible with {named}, because ");
        let found = problems(&words);
        assert!(found.iter().any(|problem| problem.starts_with(&begins)), "{of:?}: {found:?}");
    }
    for (field, word, named) in [
        ("ops-max", "1k", "ops-max"),
        ("wave", "ramp:1k,2k", "a wave"),
        ("calls", "9", "connection churn"),
        ("shard", "0/2", "shard"),
    ] {
        let begins = format!("warmup auto is not possible with {named}");
        let found = problems(&[(field, word)]);
        assert!(found.iter().any(|problem| problem.starts_with(&begins)), "{field}: {found:?}");
        let fixed = Settings::default();
        assert_eq!(fixed.scenario.warmup, Warmup::NONE);
    }
    let longest = |word: &str| word.parse::<Warmup>().unwrap().longest(Some(Span::from_s(10)));
    assert_eq!([longest("2s"), longest("auto")], [Span::from_s(2), Span::from_s(3)]);
    assert_eq!([Warmup::Auto.to_string(), Warmup::NONE.to_string()], ["auto", "0s"]);
}
