//! Words of the scenario's own types, and refused combinations of fields.

use super::*;
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

/// The fields of the problems of a scenario that was changed from the default.
fn problems(change: impl FnOnce(&mut Scenario)) -> Vec<&'static str> {
    let mut scenario = Scenario::default();
    change(&mut scenario);
    let problems = scenario.check();
    for problem in &problems {
        let message = problem.to_string();
        assert!(message.contains(problem.field), "{message} does not name {}", problem.field);
    }
    problems.into_iter().map(|problem| problem.field).collect()
}

#[test]
fn writers_need_servers_and_clients_and_answers() {
    let named = |scenario: &mut Scenario| {
        scenario.servers = Target::parse_list("a,b,c").unwrap();
        scenario.client.clients = Some(3);
        scenario.replication.writers = Some(2);
    };
    assert_eq!(problems(named), [""; 0]);
    let with = |change: fn(&mut Scenario)| {
        problems(|scenario| {
            named(scenario);
            change(scenario);
        })
    };
    assert_eq!(with(|s| s.client.clients = Some(1)), [""; 0], "one client reaches all servers");
    assert_eq!(with(|s| s.client.clients = None), ["writers"]);
    assert_eq!(with(|s| s.servers.truncate(1)), ["writers"]);
    assert_eq!(with(|s| s.replication.writers = Some(4)), ["writers"]);
    assert_eq!(with(|s| s.replication.writers = Some(0)), ["writers"]);
    assert_eq!(with(|s| s.transport = Transport::Udp), ["transport"]);
    assert_eq!(with(|s| s.noreply = true), ["noreply"]);
    assert_eq!(problems(|s| s.replication.replicate = Some(Replicate::One)), ["replicate"]);
}

#[test]
fn split_needs_clients_and_lets_stores_be_long() {
    let split = |scenario: &mut Scenario| {
        scenario.transport = Transport::Split;
        scenario.client.clients = Some(2);
    };
    assert_eq!(problems(split), [""; 0]);
    let with = |change: fn(&mut Scenario)| {
        problems(|scenario| {
            split(scenario);
            change(scenario);
        })
    };
    assert_eq!(with(|s| s.value_size = known("fixed:3000")), [""; 0]);
    assert_eq!(with(|s| s.multiget = 60), ["multiget"]);
    assert_eq!(with(|s| s.client.clients = None), ["transport"]);
    assert_eq!(with(|s| s.servers = Target::parse_list("unix:/a").unwrap()), ["transport"]);
}

#[test]
fn the_default_is_possible() {
    assert_eq!(problems(|_| {}), [""; 0]);
}

#[test]
fn a_name_and_a_password_go_together_and_to_a_server() {
    let named = |s: &mut Scenario| {
        s.servers = Target::parse_list("a").unwrap();
        s.user = Some("tim".to_owned());
    };
    let with = |s: &mut Scenario, word: &str| {
        named(s);
        s.password = Some(Secret::new(word));
    };
    assert_eq!(problems(|s| with(s, "word")), [""; 0]);
    assert_eq!(problems(named), ["user"]);
    assert_eq!(problems(|s| s.password = Some(Secret::new("word"))), ["password"]);
    assert_eq!(problems(|s| with(s, "two words")), ["password"]);
    let frames = |s: &mut Scenario| {
        with(s, "two words");
        s.protocol = Protocol::Binary;
    };
    assert_eq!(problems(frames), [""; 0]);
    let embedded = |s: &mut Scenario| {
        with(s, "word");
        s.servers.clear();
    };
    assert_eq!(problems(embedded), ["user"]);
}

#[test]
fn without_replies_frames_need_more_than_a_touch() {
    let touching = |s: &mut Scenario| {
        s.mix = "get=1,touch=1".parse().unwrap();
        s.noreply = true;
    };
    assert_eq!(problems(touching), [""; 0]);
    let frames = |s: &mut Scenario| {
        touching(s);
        s.protocol = Protocol::Binary;
    };
    assert_eq!(problems(frames), ["noreply"]);
}

#[test]
fn bounds_are_kept() {
    assert_eq!(problems(|s| s.threads = Some(0)), ["threads"]);
    assert_eq!(problems(|s| s.threads = Some(1025)), ["threads"]);
    assert_eq!(problems(|s| s.connections = Some(0)), ["connections"]);
    assert_eq!(problems(|s| s.depth = Some(0)), ["depth"]);
    assert_eq!(problems(|s| s.depth = Some(4096)), [""; 0]);
    let batches = |rate, depth| {
        problems(|s| (s.wire.refill, s.rate, s.depth) = (Refill::Whole, Some(rate), depth))
    };
    assert_eq!(batches(0.0, None), ["refill"]);
    assert_eq!(batches(0.0, Some(2)), [""; 0]);
    assert_eq!(batches(1e3, Some(1)), ["refill"]);
    assert_eq!(batches(1e3, None), [""; 0]);
    assert_eq!(problems(|s| s.keys = 0), ["keys"]);
    assert_eq!(problems(|s| s.multiget = 0), ["multiget"]);
    assert_eq!(problems(|s| s.duration = Some(Span::ZERO)), ["duration"]);
    assert_eq!(problems(|s| s.ops_max = Some(0)), ["ops-max"]);
    assert_eq!(problems(|s| s.timeout = Span::ZERO), ["timeout"]);
    assert_eq!(problems(|s| s.pause_after_reply = Span::from_s(3601)), ["pause-after-reply"]);
    assert_eq!(problems(|s| s.timeout = Span::from_s(3601)), ["timeout"]);
    assert_eq!(problems(|s| s.value_max = 2 << 30), ["value-max"]);
    assert_eq!(problems(|s| s.warmup = Span::MAX), ["warmup"]);
    assert_eq!(problems(|s| s.rate = Some(2e9)), ["rate"]);
    assert_eq!(problems(|s| s.keys = 1 << 50), ["keys"]);
}

#[test]
fn contradictions_are_refused() {
    let wave = |s: &mut Scenario| s.wave = "ramp:1k,2k".parse().unwrap();
    assert_eq!(problems(wave), [""; 0]);
    assert_eq!(
        problems(|s| {
            wave(s);
            s.rate = Some(1e3);
        }),
        ["rate"]
    );
    assert_eq!(
        problems(|s| {
            wave(s);
            s.rate = Some(0.0);
        }),
        ["rate"]
    );
    assert_eq!(
        problems(|s| {
            wave(s);
            s.ops_max = Some(10);
        }),
        ["duration"]
    );
    assert_eq!(
        problems(|s| {
            s.rate = Some(0.0);
            s.on_full = OnFull::Drop;
        }),
        ["on-full"]
    );
    assert_eq!(
        problems(|s| {
            s.threads = Some(4);
            s.connections = Some(2);
        }),
        ["threads"]
    );
}

#[test]
fn clients_and_windows_that_cannot_be_are_refused() {
    let windowed = |change: fn(&mut Scenario)| {
        problems(|s| {
            s.client.window = Some("10k".parse().unwrap());
            change(s);
        })
    };
    let counted = |change: fn(&mut Scenario)| {
        problems(|s| {
            s.client.clients = Some(16);
            change(s);
        })
    };
    assert_eq!(windowed(|_| {}), [""; 0]);
    assert_eq!(counted(|s| s.client.connections_per_client = 1_000), [""; 0]);
    assert_eq!(counted(|s| s.client.connections_per_client = 100_000), ["connections-per-client"]);
    assert_eq!(counted(|s| s.connections = Some(16)), ["connections"]);
    assert_eq!(counted(|s| s.depth = Some(2)), ["depth"]);
    assert_eq!(counted(|s| s.depth = Some(1)), [""; 0]);
    assert_eq!(counted(|s| s.wire.refill = Refill::Whole), ["refill"]);
    assert_eq!(counted(|s| s.threads = Some(17)), ["threads"]);
    assert_eq!(counted(|s| s.servers = Target::parse_list("h:1-17").unwrap()), ["clients"]);
    assert_eq!(counted(|s| s.mix_order = MixOrder::Turn), [""; 0]);
    assert_eq!(problems(|s| s.client.clients = Some(0)), ["clients"]);
    assert_eq!(problems(|s| s.client.connections_per_client = 2), ["connections-per-client"]);
    assert_eq!(problems(|s| s.mix_order = MixOrder::Turn), ["mix-order"]);
    assert_eq!(problems(|s| s.client.overwrite = 0.2), ["overwrite"]);
    assert_eq!(windowed(|s| s.mix = "get=1,delete=1".parse().unwrap()), ["mix"]);
    assert_eq!(windowed(|s| s.popularity = Popularity::Sequential), ["popularity"]);
    assert_eq!(windowed(|s| (s.multiget, s.multiget_share) = (10, 0.5)), ["multiget-share"]);
    assert_eq!(windowed(|s| s.noreply = true), ["noreply"]);
    assert_eq!(problems(|s| s.expiry_share = 0.5), ["expiry-share"]);
    assert_eq!(problems(|s| (s.expiry, s.expiry_share) = (60, 0.5)), [""; 0]);
    assert_eq!(windowed(|s| s.verify_expiry = true), ["expiry"]);
    assert_eq!(windowed(|s| (s.verify_expiry, s.expiry) = (true, 60)), [""; 0]);
    assert_eq!(problems(|s| (s.verify_expiry, s.expiry) = (true, 60)), ["verify-expiry"]);
}

#[test]
fn data_that_cannot_be_is_refused() {
    let mix = |s: &mut Scenario, word: &str| s.mix = word.parse().unwrap();
    assert_eq!(problems(|s| s.key_size = "fixed:2".parse().unwrap()), ["key-size"]);
    assert_eq!(problems(|s| s.key_size = "251".parse().unwrap()), ["key-size"]);
    assert_eq!(problems(|s| s.value_size = "fixed:2MiB".parse().unwrap()), ["value-size"]);
    let larger = |s: &mut Scenario| {
        s.value_size = "fixed:2MiB".parse().unwrap();
        s.value_max = 2 << 20;
    };
    assert_eq!(problems(larger), [""; 0]);
    assert_eq!(problems(|s| s.value_size = "etc-value".parse().unwrap()), [""; 0]);
    assert_eq!(
        problems(|s| {
            s.multiget = 10;
            mix(s, "set=1");
        }),
        ["multiget"]
    );
    assert_eq!(problems(|s| s.multiget_share = 0.5), ["multiget-share"]);
    assert_eq!(problems(|s| (s.multiget_share, s.multiget) = (0.5, 2)), [""; 0]);
    assert_eq!(problems(|s| s.interval = Some(Span::from_ms(9))), ["interval"]);
    assert_eq!(problems(|s| s.interval = Some(Span::from_ms(10))), [""; 0]);
    let long = |s: &mut Scenario, duration_s: u64, timeout_s: u64| {
        s.interval = Some(Span::from_ms(100));
        (s.duration, s.timeout) = (Some(Span::from_s(duration_s)), Span::from_s(timeout_s));
    };
    assert_eq!(problems(|s| long(s, 1638, 102)), [""; 0]);
    assert_eq!(problems(|s| long(s, 1639, 102)), ["interval"]);
    assert_eq!(problems(|s| long(s, 1638, 103)), ["interval"]);
    assert_eq!(problems(|s| s.interval_times = true), [""; 0]);
    assert_eq!(
        problems(|s| {
            s.interval_times = true;
            mix(s, "gets=1");
        }),
        ["interval-times"]
    );
    let decimal = |s: &mut Scenario, size: &str| {
        s.key_shape.form = "decimal".parse().unwrap();
        s.key_size = size.parse().unwrap();
    };
    assert_eq!(problems(|s| decimal(s, "fixed:2")), [""; 0], "a decimal key is stretched");
    assert_eq!(problems(|s| decimal(s, "uniform:1,500")), [""; 0], "a decimal key is cut");
    assert_eq!(
        problems(|s| {
            s.noreply = true;
            mix(s, "get=1,gat=1");
        }),
        ["noreply"]
    );
    assert_eq!(
        problems(|s| s.trust.abort_on = vec!["delete.p99>1ms".parse().unwrap()]),
        ["abort-on"]
    );
    let goal = |s: &mut Scenario, word: &str| s.goals = vec![word.parse().unwrap()];
    assert_eq!(problems(|s| goal(s, "delete.p99<1ms")), ["goal"]);
    assert_eq!(problems(|s| goal(s, "get_miss.p99<1ms")), [""; 0]);
    assert_eq!(
        problems(|s| {
            goal(s, "set.p99<1ms");
            s.noreply = true;
        }),
        ["goal"]
    );
}

#[test]
fn verification_is_refused_where_it_could_not_tell_right_from_wrong() {
    let verify = |change: fn(&mut Scenario)| {
        problems(|s| {
            s.verify = 0.5;
            change(s);
        })
    };
    assert_eq!(verify(|_| {}), [""; 0]);
    assert_eq!(verify(|s| s.mix = "get=1,append=0.1".parse().unwrap()), ["verify"]);
    assert_eq!(verify(|s| s.mix = "get=1,prepend=0.1".parse().unwrap()), ["verify"]);
    assert_eq!(
        verify(|s| s.mix = "set=1,delete=1".parse().unwrap()),
        ["verify"],
        "nothing is read"
    );
    assert_eq!(verify(|s| s.mix = "cas=1,incr=1,delete=1".parse().unwrap()), [""; 0]);
    assert_eq!(verify(|s| s.verify_keys = 0), ["verify-keys"]);
    assert_eq!(verify(|s| s.verify_keys = 100_000_001), ["verify-keys"]);
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
    let living = |change: fn(&mut Scenario)| {
        problems(|s| {
            s.churn.calls = Some(10);
            change(s);
        })
    };
    assert_eq!(living(|_| {}), [""; 0]);
    assert_eq!(living(|s| s.churn.connection_rate = Some(1e3)), [""; 0]);
    assert_eq!(living(|s| s.wave = "ramp:10,20".parse().unwrap()), [""; 0]);
    assert_eq!(problems(|s| s.churn.connection_rate = Some(1e3)), [""; 0], "one call each");
    assert_eq!(living(|s| s.rate = Some(1e3)), ["rate"]);
    assert_eq!(living(|s| s.ops_max = Some(100)), ["ops-max"]);
    assert_eq!(living(|s| s.schedule = Sharing::Connection), ["schedule"]);
    assert_eq!(living(|s| s.churn.calls = Some(0)), ["calls"]);
    assert_eq!(living(|s| s.churn.connections_total = Some(1 << 40)), ["connections-total"]);
    assert_eq!(living(|s| s.churn.connection_rate = Some(1e7)), ["connection-rate"]);
    assert_eq!(living(|s| s.churn.linger = Some(Span::from_ms(1_500))), ["linger"]);
    assert_eq!(living(|s| s.on_full = OnFull::Drop), ["on-full"]);
    assert_eq!(living(|s| s.cooldown = Cooldown::Stop), ["cooldown"]);
    assert_eq!(
        problems(|s| {
            s.churn.connection_rate = Some(1e3);
            s.cooldown = Cooldown::Stop;
        }),
        ["cooldown"]
    );
    assert_eq!(problems(|s| s.cooldown = Cooldown::Stop), [""; 0]);
    assert_eq!(living(|s| s.churn.gap_draws = known("rand48:1,2,3")), ["gap-draws"]);
    assert_eq!(
        living(|s| {
            s.wave = "step:10,20@1s".parse().unwrap();
            s.churn.connection_rate = Some(5.0);
        }),
        ["connection-rate"]
    );
    // Without calls the field has no effect.
    assert_eq!(problems(|s| s.churn.gap_draws = known("rand48:1,2,3")), ["gap-draws"]);
    assert_eq!(problems(|s| s.churn.linger = Some(Span::ZERO)), ["linger"]);
    assert_eq!(problems(|s| s.churn.call_rate = Some(1.0)), ["call-rate"]);
    assert_eq!(problems(|s| s.churn.connections_total = Some(1)), ["connections-total"]);
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
    assert_eq!(problems(|s| s.delta = known("fixed:2")), ["delta"]);
    assert_eq!(problems(|s| s.numeric_keys = NumericKeys::Shared), ["numeric-keys"]);
    assert_eq!(problems(|s| s.wire.cas_unique = Some(1)), ["cas-unique"]);
    let numbers = problems(|s| {
        s.mix = known("incr=1,cas=1");
        s.delta = known("fixed:2");
        s.numeric_keys = NumericKeys::Shared;
        s.wire.cas_unique = Some(1);
        s.noreply = true;
        s.wire.trailing_blank = true;
    });
    assert_eq!(numbers, [""; 0]);
    let blank = problems(|s| (s.wire.trailing_blank, s.protocol) = (true, Protocol::Binary));
    assert_eq!(blank, ["trailing-space"]);
    let hidden = problems(|s| (s.value_fill, s.verify) = (ValueFill::Letter(b'0'), 1.0));
    assert_eq!(hidden, ["value-fill"]);
    assert_eq!(problems(|s| s.sockets.send_buffer_bytes = Some(1 << 31)), ["send-buffer"]);
    assert_eq!(problems(|s| s.key_shape.first = u64::MAX), ["key-first"]);
    assert_eq!(problems(|s| s.key_size = known("ascending:5")), ["key-size"]);
    assert_eq!(problems(|s| s.value_size = known("ascending:5")), [""; 0]);
}
