//! Words of the scenario's own types, and refused combinations of fields.

use super::*;
use crate::field::find;
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
    let wrong = [
        ",",
        "a,,b",
        "host:",
        ":11211",
        "host:0",
        "host:65536",
        "host:3-1",
        "host:x",
        "[::1",
        "[::1]x",
        "[nonsense]:1",
        "a:b:c",
        "unix:",
        "http://host",
        "ho st",
        "host:1-2-3",
        "host:+1",
    ];
    for word in wrong {
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
    let cases = [
        ("get.p99<1ms", "get.p99<1ms"),
        ("all.p99.9<=5ms", "all.p99.9<=5ms"),
        ("get_hit.mean < 0.25ms", "get_hit.mean<250us"),
        ("set.max<2s", "set.max<2s"),
        ("rate>=50k", "rate>=50000"),
        ("rate>12.5/s", "rate>12.5"),
        ("errors<0.1%", "errors<0.1%"),
        ("errors<=0.001", "errors<=0.1%"),
    ];
    for (word, shown) in cases {
        let goal: Goal = word.parse().unwrap();
        assert_eq!(goal.to_string(), shown);
        assert_eq!(shown.parse(), Ok(goal));
    }
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
    let wrong = [
        "",
        "get.p99",
        "get.p99=1ms",
        "get.p0<1ms",
        "get.p100<1ms",
        "get.pinf<1ms",
        "get.p99<1",
        "got.p99<1ms",
        "rate>=fast",
        "errors<200%",
        "p99<1ms",
        "get.<1ms",
        "get.p99<",
        "get.p99<<1ms",
    ];
    for word in wrong {
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

/// Asserts for each row that a scenario of `base` and the row's words has a problem with the field
/// beside them, or none. A `~` is a blank.
#[track_caller]
fn check(base: &str, rows: &[(&str, &str)]) {
    for (words, expected) in rows {
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
        assert_eq!(fields.join(" "), *expected, "{words}");
    }
}

#[test]
fn the_default_is_possible() {
    check("", &[("", "")]);
}

#[test]
fn writers_need_servers_and_clients_and_answers() {
    check("", &[("replicate=one", "replicate")]);
    check("server=a writers=2 clients=3", &[("", "writers")]);
    check("server=a,b,c writers=2", &[("", "writers")]);
    let named = "server=a,b,c clients=3 writers=2";
    check(
        named,
        &[
            ("", ""),
            // One client reaches all servers.
            ("clients=1", ""),
            ("writers=4", "writers"),
            ("writers=0", "writers"),
            ("transport=udp", "transport"),
            ("noreply=true", "noreply"),
        ],
    );
}

#[test]
fn split_needs_clients_and_lets_stores_be_long() {
    check("transport=split", &[("", "transport")]);
    check(
        "transport=split clients=2",
        &[
            ("", ""),
            ("value-size=fixed:3000", ""),
            ("multiget=60", "multiget"),
            ("server=unix:/a", "transport"),
        ],
    );
}

#[test]
fn a_name_and_a_password_go_together_and_to_a_server() {
    check("password=word", &[("", "password"), ("user=tim", "user")]);
    check(
        "server=a user=tim",
        &[
            ("", "user"),
            ("password=word", ""),
            ("password=two~words", "password"),
            ("password=two~words protocol=binary", ""),
        ],
    );
}

#[test]
fn without_replies_frames_need_more_than_a_touch() {
    let touching = "mix=get=1,touch=1 noreply=true";
    check(touching, &[("", ""), ("protocol=binary", "noreply")]);
}

#[test]
fn bounds_are_kept() {
    check(
        "",
        &[
            ("threads=0", "threads"),
            ("threads=1025", "threads"),
            ("connections=0", "connections"),
            ("depth=0", "depth"),
            ("depth=4096", ""),
            ("refill=whole rate=0", "refill"),
            ("refill=whole rate=0 depth=2", ""),
            ("refill=whole rate=1000 depth=1", "refill"),
            ("refill=whole rate=1000", ""),
            ("keys=0", "keys"),
            ("keys=1125899906842624", "keys"),
            ("multiget=0", "multiget"),
            ("duration=0s", "duration"),
            ("ops-max=0", "ops-max"),
            ("timeout=0s", "timeout"),
            ("timeout=3601s", "timeout"),
            ("pause-after-reply=3601s", "pause-after-reply"),
            ("value-max=2GiB", "value-max"),
            ("warmup=1000000000s", "warmup"),
            ("rate=2G", "rate"),
        ],
    );
}

#[test]
fn contradictions_are_refused() {
    check("rate=0", &[("on-full=drop", "on-full")]);
    check("threads=4", &[("connections=2", "threads")]);
    let wave = "wave=ramp:1k,2k";
    check(wave, &[("", ""), ("rate=1000", "rate"), ("rate=0", "rate"), ("ops-max=10", "duration")]);
}

#[test]
fn clients_and_windows_that_cannot_be_are_refused() {
    check(
        "clients=16",
        &[
            ("connections-per-client=1000", ""),
            ("connections-per-client=100000", "connections-per-client"),
            ("connections=16", "connections"),
            ("depth=2", "depth"),
            ("depth=1", ""),
            ("refill=whole", "refill"),
            ("threads=17", "threads"),
            ("server=h:1-17", "clients"),
            ("mix-order=turn", ""),
        ],
    );
    check(
        "window=10k",
        &[
            ("", ""),
            ("mix=get=1,delete=1", "mix"),
            ("popularity=sequential", "popularity"),
            ("multiget=10 multiget-share=0.5", "multiget-share"),
            ("noreply=true", "noreply"),
            ("verify-expiry=true", "expiry"),
            ("verify-expiry=true expiry=60", ""),
        ],
    );
    check(
        "",
        &[
            ("clients=0", "clients"),
            ("connections-per-client=2", "connections-per-client"),
            ("mix-order=turn", "mix-order"),
            ("overwrite=0.2", "overwrite"),
            ("expiry-share=0.5", "expiry-share"),
            ("expiry=60 expiry-share=0.5", ""),
            ("verify-expiry=true expiry=60", "verify-expiry"),
        ],
    );
}

#[test]
fn data_that_cannot_be_is_refused() {
    check(
        "",
        &[
            ("key-size=fixed:2", "key-size"),
            ("key-size=251", "key-size"),
            // A decimal key is stretched, or cut.
            ("key-form=decimal key-size=fixed:2", ""),
            ("key-form=decimal key-size=uniform:1,500", ""),
            ("value-size=fixed:2MiB", "value-size"),
            ("value-size=fixed:2MiB value-max=2MiB", ""),
            ("value-size=etc-value", ""),
            ("multiget=10 mix=set=1", "multiget"),
            ("multiget-share=0.5", "multiget-share"),
            ("multiget-share=0.5 multiget=2", ""),
            ("interval=9ms", "interval"),
            ("interval=10ms", ""),
            ("interval=100ms duration=1638s timeout=102s", ""),
            ("interval=100ms duration=1639s timeout=102s", "interval"),
            ("interval=100ms duration=1638s timeout=103s", "interval"),
            ("interval-times=true", ""),
            ("interval-times=true mix=gets=1", "interval-times"),
            ("noreply=true mix=get=1,gat=1", "noreply"),
            ("abort-on=delete.p99>1ms", "abort-on"),
            ("goal=delete.p99<1ms", "goal"),
            ("goal=get_miss.p99<1ms", ""),
            ("goal=set.p99<1ms noreply=true", "goal"),
        ],
    );
}

#[test]
fn verification_is_refused_where_it_could_not_tell_right_from_wrong() {
    check(
        "verify=0.5",
        &[
            ("", ""),
            ("mix=get=1,append=0.1", "verify"),
            ("mix=get=1,prepend=0.1", "verify"),
            // Nothing is read.
            ("mix=set=1,delete=1", "verify"),
            ("mix=cas=1,incr=1,delete=1", ""),
            ("verify-keys=0", "verify-keys"),
            ("verify-keys=100000001", "verify-keys"),
        ],
    );
}

#[test]
fn a_value_above_the_limit_says_what_to_raise() {
    let value_size = "fixed:2MiB".parse().unwrap();
    let problems = Scenario { value_size, ..Scenario::default() }.check();
    assert_eq!(
        problems[0].to_string(),
        "value-size fixed:2097152 is above value-max 1MiB: use smaller values, or raise value-max \
         (and the server's -I beyond 1MiB)"
    );
}

#[test]
fn connections_as_the_load_have_rates_of_their_own() {
    check(
        "calls=10",
        &[
            ("", ""),
            ("connection-rate=1000", ""),
            ("wave=ramp:10,20", ""),
            ("rate=1000", "rate"),
            ("ops-max=100", "ops-max"),
            ("schedule=connection", "schedule"),
            ("calls=0", "calls"),
            ("connections-total=1099511627776", "connections-total"),
            ("connection-rate=10000000", "connection-rate"),
            ("linger=1500ms", "linger"),
            ("on-full=drop", "on-full"),
            ("cooldown=stop", "cooldown"),
            ("gap-draws=rand48:1,2,3", "gap-draws"),
            ("wave=step:10,20@1s connection-rate=5", "connection-rate"),
        ],
    );
    // A rate alone means one call on each; without either, the other fields have no effect.
    check(
        "",
        &[
            ("connection-rate=1000", ""),
            ("connection-rate=1000 cooldown=stop", "cooldown"),
            ("cooldown=stop", ""),
            ("gap-draws=rand48:1,2,3", "gap-draws"),
            ("linger=0", "linger"),
            ("call-rate=1", "call-rate"),
            ("connections-total=1", "connections-total"),
        ],
    );
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
fn what_requests_look_like_must_fit_what_is_asked() {
    let numbers = "mix=incr=1,cas=1 delta=fixed:2 numeric-keys=shared cas-unique=1";
    check(numbers, &[("noreply=true trailing-space=true", "")]);
    check(
        "",
        &[
            ("delta=fixed:2", "delta"),
            ("numeric-keys=shared", "numeric-keys"),
            ("cas-unique=1", "cas-unique"),
            ("trailing-space=true protocol=binary", "trailing-space"),
            ("value-fill=0 verify=1", "value-fill"),
            ("send-buffer=2147483648", "send-buffer"),
            ("key-first=1000000000001", "key-first"),
            ("key-size=ascending:5", "key-size"),
            ("value-size=ascending:5", ""),
        ],
    );
}
