//! Published traces, closed forms, and the grammar of words.

use super::*;
use memtide_base::Span;

fn trace(seed: i32, min: u32, max: u32, intervals: u32) -> Vec<u32> {
    let waveform = Waveform::Random { min, max, seed: Some(seed) };
    Dynamic { waveform, interval: Span::from_s(10), intervals }.targets(0)
}

#[test]
fn a_seed_gives_the_published_trace() {
    assert_eq!(
        trace(42, 5000, 100_000, 8),
        [5031, 54838, 74868, 30015, 40743, 23648, 97712, 53672]
    );
    assert_eq!(trace(3274, 5000, 100_000, 6), [7434, 67201, 85927, 63953, 31595, 87879]);
    assert_eq!(trace(23, 10_000, 50_000, 5), [10007, 11014, 25157, 31958, 20146]);
    assert_eq!(trace(2333, 5000, 180_000, 6), [8195, 158_594, 149_766, 10382, 170_548, 150_565]);
}

/// The numbers of a C++ program of five lines with libstdc++ 12.
#[test]
fn negative_seeds_and_degenerate_ranges_are_those_of_the_library() {
    assert_eq!(trace(7, 4000, 4000, 3), [4000, 4000, 4000]);
    assert_eq!(trace(i32::MAX, 0, 9, 5), [0, 1, 7, 4, 5], "a multiple of the modulus is seed 1");
    assert_eq!(trace(1, 0, 9, 5), [0, 1, 7, 4, 5]);
    assert_eq!(trace(-1, 5000, 100_000, 4), [5002, 42490, 30348, 40717]);
    assert_eq!(trace(5, 0, RATE_MAX, 3), [42017, 706_188_122, 835_399_711]);
}

#[test]
fn a_waveform_without_a_seed_takes_a_fresh_one() {
    let waveform = Waveform::Random { min: 5000, max: 100_000, seed: None };
    let dynamic = Dynamic { waveform, interval: Span::from_s(1), intervals: 3 };
    assert_eq!(dynamic.targets(42), [5031, 54838, 74868]);
    let waveform = Waveform::Supplied(vec![7, 0, 9]);
    assert_eq!(Dynamic { waveform, ..dynamic }.targets(42), [7, 0, 9]);
}

#[test]
fn threads_have_all_servers_or_take_them_in_turn() {
    for is_roundrobin in [false, true] {
        for servers in 1..5 {
            for threads in 1..5 {
                let connections = Connections { servers, threads, each: 3, is_roundrobin };
                let most = servers.max(threads);
                let pairs = if is_roundrobin { most } else { servers * threads };
                assert_eq!(connections.total(), 3 * u64::from(pairs), "{connections:?}");
            }
        }
    }
}

#[test]
fn a_search_names_a_percentile_a_per_mille_or_the_mean() {
    let statistic = |word: &str| Search::read(word, false, 0.0).map(|search| search.statistic);
    let percentile = |number| Some(Statistic::Percentile(number));
    assert_eq!(statistic("95:1000"), percentile(95.0));
    assert_eq!(statistic("99.9:1000"), percentile(99.0), "as atoi reads it");
    assert_eq!(statistic("100:1"), percentile(100.0));
    assert_eq!(statistic("999:1000"), percentile(99.9));
    assert_eq!(statistic("950:1000"), percentile(95.0));
    assert_eq!(statistic("9999:1000"), percentile(99.99));
    for mean in ["avg:1000", "av:1000", "a:1000", "vg:1000"] {
        assert_eq!(statistic(mean), Some(Statistic::Mean));
    }
    for wrong in
        ["95", "95:", ":95", "", "p95:1000", "10001:5", "95:1ms", "95:-1", "-5:1", "95:inf"]
    {
        assert_eq!(statistic(wrong), None, "{wrong}");
    }
    let mcperf = Search::read("999:1500.5", false, 0.5).unwrap();
    assert_eq!((mcperf.word.as_str(), mcperf.bound_us), ("999", 1500.0));
    assert_eq!((mcperf.rate_floor, mcperf.retreat, mcperf.searched), (0.01, 0.99, Searched::Both));
    let mutilate = Search::read("95:1000", true, 0.5).unwrap();
    assert_eq!(
        (mutilate.rate_floor, mutilate.retreat, mutilate.searched),
        (0.1, 0.98, Searched::Gets)
    );
    for is_mutilate in [false, true] {
        let sets = Search::read("95:1000", is_mutilate, 1.0).unwrap();
        assert_eq!(sets.searched, Searched::Sets, "there is nothing else");
    }
    assert!(Search::has_fraction("99.9:1000") && Search::has_fraction("99:0.5"));
    assert!(!Search::has_fraction("999:1000") && !Search::has_fraction("avg:1000"));
}

#[test]
fn a_scan_names_its_rates() {
    let scan = |word: &str| Scan::read(word).map(|scan| (scan.min, scan.max, scan.step));
    assert_eq!(scan("1000:3000:1000"), Some((1000, 3000, 1000)));
    assert_eq!(scan("500:500:0"), Some((500, 500, 0)));
    assert_eq!(scan("3000:1000:500"), Some((3000, 1000, 500)));
    assert_eq!(scan("0:10:010"), Some((0, 10, 10)), "no octal here");
    for wrong in ["", "1000", "1000:2000", "a:b:c", "1000:2000:1k", "0:10:-1", "1::2"] {
        assert_eq!(scan(wrong), None, "{wrong}");
    }
}

fn law(word: &str) -> Option<Law> {
    Law::read(word, true).unwrap_or_else(|fault| panic!("{word}: {fault:?}"))
}

#[test]
fn distributions_are_found_by_a_piece_of_their_name_in_a_fixed_order() {
    let fixed = |value| Some(Law::Fixed(value));
    assert_eq!(law("30"), fixed(30.0));
    assert_eq!(law("30.7"), fixed(30.7));
    assert_eq!(law("0"), fixed(0.0));
    assert_eq!(law("12abc"), fixed(12.0));
    assert_eq!(law("fixed:0.5"), fixed(0.5));
    assert_eq!(law("Fixed"), fixed(0.0));
    assert_eq!(law("-5"), fixed(-5.0));
    assert_eq!(law("normal:200,20"), Some(Law::Normal { mean: 200.0, deviation: 20.0 }));
    assert_eq!(law("lognormal:1"), Some(Law::Normal { mean: 1.0, deviation: 0.0 }));
    assert_eq!(law("exponential"), Some(Law::Exponential { rate: 0.0 }));
    assert_eq!(law("EXPONENTIAL:0.5"), Some(Law::Exponential { rate: 0.5 }));
    let pareto = Law::Pareto { location: 0.0, scale: 16.0, shape: 0.154_971 };
    assert_eq!(law("pareto:0.0,16,0.154971"), Some(pareto));
    assert_eq!(law("gev:1,2,3"), Some(Law::Gev { location: 1.0, scale: 2.0, shape: 3.0 }));
    assert_eq!(law("uniform:100,1000"), Some(Law::Uniform { least: 100.0, most: 1000.0 }));
    assert_eq!(law("uniform:100"), Some(Law::Uniform { least: 0.0, most: 100.0 }));
    assert_eq!(law("none"), None);
    assert_eq!(law("fb_key"), Some(Law::FacebookKey));
    assert_eq!(law("fb_value"), Some(Law::FacebookValue));
    assert_eq!(law("fb_ia"), Some(Law::FacebookGap));
    // The name may be anywhere in the word, and the first name in the table's order counts.
    assert_eq!(law("x:7,fixed"), fixed(7.0));
    assert_eq!(law("uniform:fixed"), fixed(0.0));
}

#[test]
fn other_words_are_no_distributions() {
    for word in ["0.5", "zipf:0.99", "n:1,2", "e:5", "fb_keys", "0x10"] {
        assert_eq!(Law::read(word, true), Err(LawFault::Unknown), "{word}");
    }
    for word in ["", ":", "::"] {
        assert_eq!(Law::read(word, true), Err(LawFault::Empty), "{word}");
    }
    assert_eq!(Law::read("none", false), Err(LawFault::Unknown), "mutilate has no none");
    let uniform = Law::Uniform { least: 0.0, most: 100.0 };
    assert_eq!(Law::read("uniform:100,1000", false), Ok(Some(uniform)), "nor a lower bound");
}

#[test]
fn laws_draw_what_their_parameters_say() {
    let median = |word: &str| law(word).unwrap().quantiles().quantile(0.5);
    assert_eq!(median("17"), 17.0);
    assert_eq!(median("uniform:100,200"), 150.0);
    assert!((median("normal:10,2") - 10.0).abs() < 1e-6);
    assert!((median("exponential:2") - std::f64::consts::LN_2 / 2.0).abs() < 1e-12);
    assert_eq!(median("exponential"), 0.0);
    let pareto = 1.0 + 2.0 * (2f64.powf(0.5) - 1.0) / 0.5;
    assert!((median("pareto:1,2,0.5") - pareto).abs() < 1e-9);
    assert_eq!(
        law("fb_key").unwrap().quantiles(),
        law("gev:30.7984,8.20449,0.078688").unwrap().quantiles()
    );
    assert_eq!(
        law("fb_ia").unwrap().quantiles(),
        law("pareto:0,16.0292,0.154971").unwrap().quantiles()
    );
    assert!(median("fb_value") > 1.0);
}

#[test]
fn server_words_name_hosts_and_ports() {
    let all = |word: &str| {
        servers(word).map(|found| {
            let shown = found.iter().map(|server| format!("{} {}", server.host, server.port));
            shown.collect::<Vec<_>>().join(", ")
        })
    };
    assert_eq!(all("host"), Ok("host 11211".to_owned()));
    assert_eq!(all("host:"), Ok("host 11211".to_owned()));
    assert_eq!(all("my-host:7000"), Ok("my-host 7000".to_owned()));
    assert_eq!(
        all("10.0.0.1:7000-7002"),
        Ok("10.0.0.1 7000, 10.0.0.1 7001, 10.0.0.1 7002".to_owned())
    );
    assert_eq!(all("[::1]:7000"), Ok("::1 7000".to_owned()));
    assert_eq!(all("[::1]:7000-7001"), Ok("::1 7000, ::1 7001".to_owned()));
    assert_eq!(all("[fe80::1]"), Ok("fe80::1 11211".to_owned()));
    assert_eq!(all("::1"), Ok("::1 11211".to_owned()));
    assert_eq!(servers("host:1-65535").unwrap().len(), 65535);
    let wrongs = "|:11211|[]:1|[::1|[::1]7|host:0|host:65536|host:x|host:5-4|host:5-|host:-5";
    for wrong in wrongs.split('|') {
        assert!(all(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn profiles_raise_connections_to_their_least_number() {
    assert_eq!(PROFILES.map(|profile| profile.connections_each(1, 3)), [1334, 334, 1, 34]);
    assert_eq!(PROFILES.map(|profile| profile.connections_each(500, 16)), [500, 500, 500, 500]);
    for profile in PROFILES {
        for word in [profile.keysize, profile.keyorder, profile.valuesize] {
            assert!(Law::read(word, true).is_ok(), "{word}");
        }
        assert!(profile.search.is_none_or(|word| Search::read(word, false, 0.0).is_some()));
    }
}
