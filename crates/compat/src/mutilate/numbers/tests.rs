//! Published traces, closed forms, and the grammar of words.

use super::*;
use crate::mutilate::Connections;
use crate::tests::table::{assert_refused, assert_said};
use memtide_base::Span;

const WORDS: &str = include_str!("tests/words.txt");

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
    assert_said(WORDS, "statistics", |word| {
        format!("{:?}", Search::read(word, false, 0.0).map(|search| search.statistic))
    });
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
    assert_said(WORDS, "scans", |word| {
        format!("{:?}", Scan::read(word).map(|scan| (scan.min, scan.max, scan.step)))
    });
}

fn law(word: &str) -> Option<Law> {
    Law::read(word, true).unwrap_or_else(|fault| panic!("{word}: {fault:?}"))
}

#[test]
fn distributions_are_found_by_a_piece_of_their_name_in_a_fixed_order() {
    assert_said(WORDS, "laws", |word| format!("{:?}", Law::read(word, true)));
    assert_said(WORDS, "laws of mutilate", |word| format!("{:?}", Law::read(word, false)));
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
    assert_said(WORDS, "servers", |word| {
        let shown = servers(word).unwrap().into_iter();
        let shown = shown.map(|server| format!("{} {}", server.host, server.port));
        shown.collect::<Vec<_>>().join(", ")
    });
    assert_refused(WORDS, "no servers", servers);
    assert_eq!(servers("host:1-65535").unwrap().len(), 65535);
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
