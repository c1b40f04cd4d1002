//! Every limit, in words and as a check; and addresses that mean the same in every notation.

use super::*;
use memtide_base::Random;
use memtide_scenario::{Target, from_toml};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn targets(words: &[&str]) -> LawWords {
    let allow_target = words.iter().map(|&word| word.to_owned()).collect();
    LawWords { allow_target, ..LawWords::default() }
}

fn law(words: &[&str]) -> Law {
    Law::parse(&targets(words)).unwrap()
}

fn allows(law: &Law, address: &str) -> bool {
    law.is_allowed(address.parse().unwrap())
}

/// The limits for 10.1.0.0/16 with these numeric limits.
fn limited(most: &[(&'static str, &str)]) -> Law {
    let most = most.iter().map(|&(name, word)| (name, word.to_owned())).collect();
    Law::parse(&LawWords { most, ..targets(&["10.1.0.0/16:11211"]) }).unwrap()
}

fn settings(toml: &str) -> Settings {
    let mut settings = Settings::default();
    settings.scenario.servers = Target::parse_list("10.1.0.5").unwrap();
    let layer = from_toml(toml, "test").unwrap();
    settings.apply(&layer).unwrap();
    settings
}

/// The verdict of `law` on half of the run that `toml` describes.
fn said(law: &Law, toml: &str) -> Result<(), String> {
    let settings = settings(toml);
    let address = Endpoint::Ip("10.1.0.5:11211".parse().unwrap());
    let servers = [AskedServer { name: "10.1.0.5:11211", addresses: vec![address] }];
    let numbers = (64, 4, 100 << 20);
    law.check(&asked(&settings, &servers, numbers))
}

fn asked<'a>(
    settings: &'a Settings,
    servers: &'a [AskedServer<'a>],
    (connections, threads, memory_bytes): (u64, u64, u64),
) -> Asked<'a> {
    Asked { settings, servers, own_part: 0.5, connections, threads, memory_bytes, load_only: false }
}

#[test]
fn targets_are_networks_with_ports_and_paths() {
    let law = law(&["10.1.0.0/16:11211, 192.168.7.9:*", "[fd00::]/8:11300", "unix:/run/mc.sock"]);
    for address in ["10.1.0.0:11211", "10.1.255.255:11211", "192.168.7.9:1", "[fd12::1]:11300"] {
        assert!(allows(&law, address), "{address}");
    }
    for address in
        ["10.2.0.0:11211", "10.1.0.1:22", "192.168.7.8:1", "[fe80::1]:11300", "[fd12::1]:22"]
    {
        assert!(!allows(&law, address), "{address}");
    }
    assert!(law.is_allowed_unix("/run/mc.sock"));
    assert!(!law.is_allowed_unix("/run/../run/mc.sock"));
    assert!(!law.is_allowed_unix("/run/other.sock"));
}

#[test]
fn wrong_targets_are_refused_with_what_would_be_right() {
    for (word, why) in [
        ("", "its port is missing"),
        ("10.0.0.0/8", "its port is missing"),
        ("10.0.0.0/8:0", "'0' is neither a port"),
        ("10.0.0.0/8:+1", "'+1' is neither a port"),
        ("10.0.0.0/8:70000", "'70000' is neither a port"),
        ("10.0.0.0/33:1", "'/33' is not a length from /0 to /32"),
        ("10.0.0.0/+8:1", "'/+8' is not a length"),
        ("10.0.0.9/8:1", "10.0.0.9 is an address within the network 10.0.0.0/8"),
        ("localhost:1", "'localhost' is not an address"),
        ("fd00::/8:1", "'fd00::' has colons and needs brackets"),
        ("[fd00::/8:1", "'[fd00::' has colons"),
        ("[10.0.0.1]:1", "'[10.0.0.1]' is not an address"),
        ("[fd00::]/129:1", "'/129' is not a length from /0 to /128"),
        ("unix:mc.sock", "a unix socket needs its absolute path"),
        ("unix:/a\0b", "a unix socket needs its absolute path"),
    ] {
        let error = Law::parse(&targets(&[word])).unwrap_err();
        assert!(error.starts_with("allow-target: "), "{error}");
        assert!(error.contains(why) && error.contains("10.1.0.0/16:11211"), "{word}: {error}");
    }
}

#[test]
fn wrong_limits_are_refused_by_their_names() {
    for Limit { name, .. } in LIMITS {
        for (word, why) in [("many", "'many' is not "), ("0", "would allow no run")] {
            let most = [(name, word.to_owned())].into();
            let error = Law::parse(&LawWords { most, ..LawWords::default() }).unwrap_err();
            assert!(error.starts_with(name) && error.contains(why), "{error}");
        }
    }
}

/// IPv6 forms of one IPv4 address are equal, in limits and in requests.
#[test]
fn a_mapped_address_is_the_address_that_it_stands_for() {
    let seed = 22;
    let mut random = Random::new(seed);
    for round in 0..10_000 {
        let ip = Ipv4Addr::from(random.bits() as u32);
        let length = random.below(33) as u32;
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        let network = Ipv4Addr::from(u32::from(ip) & mask);
        let plain = law(&[&format!("{network}/{length}:*")]);
        let mapped = law(&[&format!("[{}]/{}:*", network.to_ipv6_mapped(), 96 + length)]);
        assert_eq!(plain, mapped, "seed {seed}, round {round}");
        // Close to the network's bounds, on either side.
        let near = u32::from(ip) ^ 1_u32.checked_shl(random.below(32) as u32).unwrap_or(0);
        for other in [ip, Ipv4Addr::from(near), Ipv4Addr::from(random.bits() as u32)] {
            let is_within = u32::from(other) & mask == u32::from(network);
            for address in [IpAddr::V4(other), IpAddr::V6(other.to_ipv6_mapped())] {
                let address = SocketAddr::new(address, 11211);
                let round = format!("seed {seed}, round {round}: {address} in {network}/{length}");
                assert_eq!(plain.is_allowed(address), is_within, "{round}");
            }
        }
        // An IPv6 address never lies in a network of IPv4 addresses.
        let v6 = Ipv6Addr::from(u128::from(random.bits()) << 64 | u128::from(random.bits()));
        assert!(!plain.is_allowed(SocketAddr::new(v6.into(), 11211)), "{v6}");
    }
}

#[test]
fn networks_of_ipv6_do_not_contain_ipv4() {
    let law = law(&["[::]/0:*"]);
    assert!(allows(&law, "[2001:db8::1]:1"));
    assert!(!allows(&law, "10.0.0.1:1"));
    assert!(!allows(&law, "[::ffff:10.0.0.1]:1"));
}

#[test]
fn without_a_join_file_loopback_alone_is_a_target() {
    let law = Law::loopback();
    for address in ["127.0.0.1:1", "127.255.0.9:11211", "[::1]:22122", "[::ffff:127.0.0.1]:9"] {
        assert!(allows(&law, address), "{address}");
    }
    for address in ["128.0.0.1:1", "10.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::2]:1", "[fe80::1]:1"] {
        assert!(!allows(&law, address), "{address}");
    }
    assert!(!law.is_allowed_unix("/run/mc.sock"));
}

#[test]
fn of_two_laws_both_must_allow() {
    let both = law(&["10.1.0.0/16:*", "192.168.0.0/16:11211", "unix:/a"]).narrowed(&law(&[
        "10.1.2.0/24:11211",
        "192.168.0.0/16:22",
        "unix:/a",
        "unix:/b",
    ]));
    assert!(allows(&both, "10.1.2.9:11211"));
    assert!(!allows(&both, "10.1.3.9:11211"));
    assert!(!allows(&both, "10.1.2.9:22"));
    assert!(!allows(&both, "192.168.0.1:11211"));
    assert!(both.is_allowed_unix("/a") && !both.is_allowed_unix("/b"));
    assert!(both.complete().is_ok());

    let unsaid = Law::parse(&LawWords::default()).unwrap();
    let one = law(&["10.1.2.0/24:11211"]);
    assert_eq!(unsaid.clone().narrowed(&one), one);
    assert_eq!(one.clone().narrowed(&unsaid), one);
    assert!(!allows(&unsaid, "127.0.0.1:11211"));
    let error = unsaid.complete().unwrap_err();
    assert!(error.starts_with("no target is allowed"), "{error}");
    let error = one.narrowed(&law(&["10.2.0.0/16:*"])).complete().unwrap_err();
    assert!(error.starts_with("no target is allowed both"), "{error}");
}

/// For any two sets of limits, both together allow an address exactly if each does.
#[test]
fn narrowing_is_exact() {
    let seed = 5;
    let mut random = Random::new(seed);
    let mut some = |count: u64| -> Law {
        let words: Vec<String> = (0..count)
            .map(|_| {
                let length = 24 + random.below(9) as u32;
                let mask = u32::MAX << (32 - length);
                let base =
                    (u32::from(Ipv4Addr::new(10, 0, 0, 0)) | random.below(512) as u32) & mask;
                let port = ["*", "1", "2"][random.below(3) as usize];
                format!("{}/{length}:{port}", Ipv4Addr::from(base))
            })
            .collect();
        Law::parse(&LawWords { allow_target: words, ..LawWords::default() }).unwrap()
    };
    for round in 0..200 {
        let (one, two) = (some(1 + round % 4), some(1 + round % 3));
        let both = one.clone().narrowed(&two);
        for last in 0..512_u32 {
            let ip = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) | last);
            for port in [1, 2] {
                let address = SocketAddr::from((ip, port));
                let each = one.is_allowed(address) && two.is_allowed(address);
                assert_eq!(both.is_allowed(address), each, "seed {seed}, {round}: {address}");
            }
        }
    }
}

#[test]
fn of_two_limits_the_lower_holds() {
    let one = limited(&[("rate-max", "5k"), ("connections-max", "10"), ("duration-max", "1m")]);
    let two = limited(&[("rate-max", "2k"), ("connections-max", "20"), ("threads-max", "3")]);
    for both in [one.clone().narrowed(&two), two.narrowed(&one)] {
        assert_eq!(both.most, [Some(2000.0), Some(60e9), Some(10.0), Some(3.0), None, None]);
    }
}

#[test]
fn each_address_of_each_server_must_be_a_target() {
    let law = law(&["10.1.0.0/16:11211", "unix:/run/mc.sock"]);
    let settings = settings("");
    let at = |text: &str| Endpoint::Ip(text.parse().unwrap());
    let said = |name, addresses: Vec<Endpoint<'static>>| {
        let allowed = AskedServer { name: "unix:/run/mc.sock", addresses: Vec::new() };
        let servers = [allowed, AskedServer { name, addresses }];
        law.check(&asked(&settings, &servers, (1, 1, 1)))
    };
    assert_eq!(said("web", vec![at("10.1.0.5:11211"), at("[::ffff:10.1.9.9]:11211")]), Ok(()));
    assert_eq!(said("unix:/run/mc.sock", vec![Endpoint::Unix("/run/mc.sock")]), Ok(()));
    let error = said("web", vec![at("10.1.0.5:11211"), at("10.0.0.9:11211")]).unwrap_err();
    assert_eq!(
        error,
        "server web at 10.0.0.9:11211 is not among the targets that this agent allows \
         (10.1.0.0/16:11211, unix:/run/mc.sock); measure another server, or add this one to the \
         agent's limits (allow-target)"
    );
    let error = said("unix:/etc/x", vec![Endpoint::Unix("/etc/x")]).unwrap_err();
    assert!(error.starts_with("server unix:/etc/x is not among the targets"), "{error}");
}

#[test]
fn a_rate_is_limited_by_its_peak_and_by_this_agents_part() {
    let law = limited(&[("rate-max", "5k")]);
    let fits = [
        "rate = '10k'\nload = 'never'",
        "wave = 'ramp:1,10k'\nload = 'never'",
        "wave = 'step:10k,1@1s'\nload = 'never'",
        "wave = 'sine:5k,5k,1s'\nload = 'never'",
        "wave = 'random:1,10k@1s'\nload = 'never'",
        "connection-rate = 1000\ncalls = 10\nload = 'never'",
        "connection-rate = 10000\nload = 'never'",
        "wave = 'ramp:1,10k'\ncalls = 1\nload = 'never'",
        "rate = '5k'\nwriters = 2\nclients = 2\nload = 'never'",
        "rate = '10k'\nwriters = 2\nclients = 2\nreplicate = 'one'\nload = 'never'",
    ];
    for toml in fits {
        assert_eq!(said(&law, toml), Ok(()), "{toml}");
    }
    let exceeds = [
        "rate = '10001'\nload = 'never'",
        "wave = 'ramp:1,11k'\nload = 'never'",
        "wave = 'ramp:11k,1'\nload = 'never'",
        "wave = 'step:1,11k,1@1s'\nload = 'never'",
        "wave = 'sine:6k,5k,1s'\nload = 'never'",
        "wave = 'random:1,11k@1s'\nload = 'never'",
        "connection-rate = 1000\ncalls = 11\nload = 'never'",
        "wave = 'ramp:1,1100'\ncalls = 10\nload = 'never'",
        "rate = '6k'\nwriters = 2\nclients = 2\nload = 'never'",
    ];
    for toml in exceeds {
        let error = said(&law, toml).unwrap_err();
        assert!(error.starts_with("the share asks for up to "), "{toml}: {error}");
        assert!(error.contains("this agent allows 5000 operations/s (rate-max)"), "{error}");
    }
    // A get of many keys counts as its keys, on average over the mix.
    let many = "mix = 'get=3,set=1'\nmultiget-share = 0.5\nload = 'never'\n";
    assert_eq!(said(&law, &format!("{many}rate = '1k'\nmultiget = 25")), Ok(()));
    let error = said(&law, &format!("{many}rate = '1k'\nmultiget = 26")).unwrap_err();
    assert!(error.starts_with("the share asks for up to 5188 keys/s"), "{error}");
    assert!(error.contains("this agent allows 5000 keys/s (rate-max)"), "{error}");
    let in_keys = format!("{many}rate = '10k'\nrate-unit = 'keys'\nmultiget = 26");
    assert_eq!(said(&law, &in_keys), Ok(()));
    let error = said(&law, "rate = '10000.2'\nload = 'never'").unwrap_err();
    assert!(error.contains("up to 5000.1 operations/s"), "{error}");
}

#[test]
fn with_a_limit_of_the_rate_nothing_is_as_fast_as_possible() {
    let law = limited(&[("rate-max", "5k")]);
    for (toml, why) in [
        ("load = 'never'", "the scenario has no rate"),
        ("rate = 0\nload = 'never'", "the scenario has no rate"),
        ("calls = 10\nload = 'never'", "the scenario has calls without a connection-rate"),
        ("calls = 10\ncall-rate = 1\nload = 'never'", "the scenario has calls without"),
        ("rate = 10", "a fill is as fast as the servers answer"),
        ("rate = 10\nload = 'always'", "a fill is as fast as the servers answer"),
    ] {
        let error = said(&law, toml).unwrap_err();
        assert!(error.starts_with(why) && error.contains("(rate-max)"), "{toml}: {error}");
        // Users of older load generators read it, too, and have no such flag.
        assert!(!error.contains("--"), "{toml}: {error}");
    }
    let mut settings = settings("rate = 10\nload = 'never'");
    for rate in [-1.0, f64::NAN] {
        settings.scenario.rate = Some(rate);
        let error = law.check(&asked(&settings, &[], (1, 1, 1))).unwrap_err();
        assert!(error.starts_with("the scenario has no rate"), "{error}");
    }
    let fill = Asked { load_only: true, ..asked(&settings, &[], (1, 1, 1)) };
    assert!(law.check(&fill).unwrap_err().starts_with("a fill is as fast"));
}

#[test]
fn a_duration_counts_with_its_warm_up_and_must_be_there() {
    let law = limited(&[("duration-max", "60s")]);
    assert_eq!(said(&law, "duration = '50s'\nwarmup = '10s'"), Ok(()));
    let error = said(&law, "duration = '50s'\nwarmup = '11s'").unwrap_err();
    assert!(error.starts_with("the load with its warm-up takes 61 s"), "{error}");
    assert!(error.contains("this agent allows 60 s (duration-max)"), "{error}");
    for toml in ["", "ops-max = 10", "calls = 1\nconnections-total = 9"] {
        let error = said(&law, toml).unwrap_err();
        assert!(error.starts_with("the scenario has no duration"), "{toml}: {error}");
    }
}

#[test]
fn counts_are_limited_as_planned_for_this_agent() {
    for (name, most, asks) in [
        ("connections-max", "64", "65 connections"),
        ("threads-max", "4", "5 threads"),
        ("memory-max", "1MB", "1001 kB of memory"),
    ] {
        let (law, settings) = (limited(&[(name, most)]), settings(""));
        let said = |numbers| law.check(&asked(&settings, &[], numbers));
        assert_eq!(said((64, 4, 1_000_000)), Ok(()), "{name}");
        let error = said((65, 5, 1_001_000)).unwrap_err();
        assert!(error.starts_with(&format!("the share asks for {asks} on this agent")), "{error}");
        assert!(error.contains(&format!("({name}); ask for less")), "{error}");
    }
}

#[test]
fn values_are_limited_by_the_largest_that_may_be_drawn() {
    let law = limited(&[("value-size-max", "2000")]);
    for (toml, largest) in [
        ("value-size = 'fixed:2000'", None),
        ("value-size = 'uniform:1,2000'", None),
        ("value-size = 'exponential:10'\nvalue-max = '2000'", None),
        ("value-size = 'fixed:2001'", Some("2001 B")),
        ("value-size = 'uniform:1,4000'", Some("4000 B")),
        ("value-size = 'exponential:10'", Some("1048 kB")),
    ] {
        let found = said(&law, toml);
        let Some(largest) = largest else {
            assert_eq!(found, Ok(()), "{toml}");
            continue;
        };
        let error = found.unwrap_err();
        assert!(
            error.starts_with(&format!("the share asks for values of up to {largest}")),
            "{error}"
        );
        assert!(error.contains("(value-size-max); ask for less"), "{error}");
    }
}

#[test]
fn no_refusal_quotes_a_secret() {
    let mut settings = settings("");
    settings.scenario.user = Some("tim-the-user".to_owned());
    let password = FIELDS.iter().find(|field| field.name == "password").unwrap();
    password.set(&mut settings, "tell-no-one").unwrap();
    let error = Law::check_fields(&settings).unwrap_err();
    assert!(error.starts_with("user is not accepted from a master"), "{error}");
    settings.scenario.user = None;
    let error = Law::check_fields(&settings).unwrap_err();
    assert!(error.starts_with("password is not accepted from a master"), "{error}");
    assert!(!error.contains("tell-no-one"), "{error}");
}

#[test]
fn a_field_that_names_a_file_or_a_secret_is_refused() {
    for field in FIELDS.iter().filter(|field| field.agents == AgentRule::Allowed) {
        let value = field.value.unwrap_or_default();
        let is_foreign = ["FILE", "DIR", "KIND", "WORD"].iter().any(|word| value.contains(word));
        assert!(!is_foreign, "{} {value}: state its rule for agents in its row", field.name);
    }
}

#[test]
fn whatever_is_not_the_masters_is_refused_by_its_name() {
    let words = [
        ("user", "tim"),
        ("password", "tell-no-one"),
        ("json", "/etc/cron.d/x"),
        ("plot", "out.svg"),
        ("samples", "s.csv"),
        ("verify-details", "-"),
        ("plan", "true"),
        ("shard", "0/4"),
        ("start-at", "@9"),
        ("barrier", "dir:/shared"),
        ("barrier-timeout", "9s"),
    ];
    for field in FIELDS.iter().filter(|field| field.agents != AgentRule::Allowed) {
        let Some((_, word)) = words.iter().find(|(name, _)| *name == field.name) else {
            continue; // A field of the master itself has words of its own.
        };
        let mut settings = settings("");
        field.set(&mut settings, word).unwrap();
        let error = Law::check_fields(&settings).unwrap_err();
        assert!(error.starts_with(&format!("{} is", field.name)), "{error}");
        assert!(!error.contains(word) || *word == "-", "{error}");
    }
}

#[test]
fn a_load_alone_is_allowed_and_a_server_of_its_own_is_not() {
    assert_eq!(Law::check_fields(&settings("")), Ok(()));
    let error = Law::check_fields(&Settings::default()).unwrap_err();
    assert!(error.starts_with("the scenario names no server"), "{error}");
}
