//! Medians of known figures, and ratios within rounds.

use super::*;

#[test]
fn the_middle_and_its_interval() {
    let few = Spread { median: 2.0, low: 1.0, high: 3.0 };
    let of = |figures: &[f64]| Spread::of(figures.iter().copied()).expect("there are some");
    assert_eq!(of(&[3.0, 1.0, 2.0]), few);
    assert_eq!(of(&[4.0, 1.0]).median, 2.5);
    assert_eq!(of(&[1.2, 1.1, 1.3]).text(1), "1.2 (1.1 – 1.3)");
    assert_eq!(Spread::of([]), None);
    // Conover, Practical Nonparametric Statistics, table A3: of 11 the 2nd and the 10th.
    let eleven = Spread::of((1..=11).map(f64::from)).expect("eleven");
    assert_eq!((eleven.low, eleven.median, eleven.high), (2.0, 6.0, 10.0));
}

/// Test runs with these operations and CPU times; without them the client slept.
fn rounds_of(runs: [(usize, Option<(f64, f64)>); 6]) -> Rounds {
    let mut rounds = Rounds::of(["bare", "memtide", "peer"]);
    for (client, run) in runs {
        let figures = |(ops_per_s, cpu_s_per_mops)| Run {
            ops_per_s,
            cpu_s_per_mops,
            rss_max_bytes: 1e6,
            response_us: None,
            lag_us: Some((1.0, 2.0)),
        };
        rounds.add(client, run.map(figures).ok_or_else(|| "it slept".to_owned()));
    }
    rounds
}

#[test]
fn ratios_are_taken_within_a_round() {
    let rounds = rounds_of([
        (0, Some((100.0, 5.0))),
        (1, Some((90.0, 6.0))),
        (2, None),
        (2, Some((40.0, 20.0))),
        (1, Some((45.0, 12.0))),
        (0, Some((50.0, 10.0))),
    ]);
    let ratio = &rounds.json()[1]["ratio"];
    assert_eq!(ratio["ops_per_s"]["median"], 0.9);
    assert_eq!(ratio["cpu_s_per_mops"]["high"], 1.2);
    assert_eq!(rounds.json()[2]["ratio"]["ops_per_s"]["median"], 0.8);
    assert!(rounds.text().contains("0.900 (0.900 – 0.900)"), "{}", rounds.text());
    let beside = "bare: 0.500 (0.500 – 0.500) of peer's CPU\n\
                  memtide: 0.600 (0.600 – 0.600) of peer's CPU\n";
    assert_eq!(rounds.cpu_beside("peer"), beside);
    assert_eq!(rounds.cpu_beside("other"), "");
    let each = rounds.per_cpu_s("handshakes");
    let ratio = "ratio 0.833 (0.833 – 0.833)";
    assert!(
        each.contains(&format!("memtide: 125000 handshakes per CPU second, {ratio}\n")),
        "{each}"
    );
}

#[test]
fn what_could_not_be_measured_is_said_with_its_reason() {
    let rounds = rounds_of([
        (0, Some((100.0, 5.0))),
        (0, Some((50.0, 10.0))),
        (1, None),
        (1, Some((45.0, 12.0))),
        (2, None),
        (2, None),
    ]);
    let text = rounds.text();
    assert!(text.contains("memtide: 1 of 2 rounds without a figure: it slept\n"), "{text}");
    assert!(text.contains("peer: 2 of 2 rounds without a figure: it slept\n"), "{text}");
    let json = rounds.json();
    assert_eq!(json[1]["runs"][0]["missing"], "it slept");
    assert!(json[2]["ratio"]["ops_per_s"].is_null());
}
