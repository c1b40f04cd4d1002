//! The report as files of bytes, and the published sample of twemperf.

use super::*;
use crate::tests::expect;
use memtide_metrics::histogram::Histogram;

fn times(ns: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut times = Histogram::new();
    ns.into_iter().for_each(|ns| times.record(ns));
    times
}

fn always(value: f64) -> Spread {
    Spread { mean: value, min: value, max: value, deviation: 0.0 }
}

/// The run of the sample, as far as its report shows it.
fn sample() -> Material {
    Material {
        connections: 3,
        requests: 15,
        responses: 15,
        duration_s: 0.006_402,
        concurrent_max: 1,
        connection_ms: Spread { mean: 2.1, min: 0.3, max: 5.7, deviation: 3.06 },
        connect_ms: Spread { mean: 1.5, min: 0.0, max: 4.4, deviation: 2.51 },
        request_bytes: always(38.0),
        response_bytes: always(8.0),
        response_ns: times((0..14).map(|_| 40_000).chain([1_100_000])),
        replies: Replies { stored: 15, ..Replies::default() },
        errors: Errors::default(),
        cpu: Cpu { user_s: 0.000_7, system_s: 0.0 },
    }
}

#[test]
fn the_sample_of_the_original() {
    // Except for three figures: percentiles below 1 ms, and the deviation of response times in ms.
    assert_eq!(report(&sample(), true), include_str!("golden/sample.txt"));
}

/// The run that sets values in fatcache's notes.
fn published() -> Material {
    Material {
        connections: 100,
        requests: 1_000_000,
        responses: 1_000_000,
        duration_s: 10.691_517,
        concurrent_max: 100,
        connection_ms: Spread { mean: 10_581.9, min: 10_066.1, max: 10_688.3, deviation: 141.8 },
        connect_ms: Spread { mean: 3.2, min: 0.1, max: 6.3, deviation: 2.05 },
        request_bytes: always(129.0),
        response_bytes: always(8.0),
        response_ns: times([100_000_000, 200_000_000]),
        replies: Replies { stored: 1_000_000, ..Replies::default() },
        errors: Errors::default(),
        cpu: Cpu { user_s: 2.068_5, system_s: 6.584_5 },
    }
}

#[test]
fn the_published_run_has_its_lines() {
    let text = report(&published(), false);
    for line in [
        "Connection rate: 9.4 conn/s (106.9 ms/conn <= 100 concurrent connections)",
        "Connection time [ms]: avg 10581.9 min 10066.1 max 10688.3 stddev 141.80",
        "Request rate: 93532.1 req/s (0.0 ms/req)",
        "Request size [B]: avg 129.0 min 129.0 max 129.0 stddev 0.00",
        "CPU time [s]: user 2.07 system 6.58 (user 19.3% system 61.6% total 80.9%)",
        "Net I/O: bytes 130.7 MB rate 12513.6 KB/s (102.5*10^6 bps)",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}\n{text}");
    }
    expect("twemperf/text/golden/published.txt", &text);
}

#[test]
fn what_there_is_nothing_of_is_left_out() {
    expect("twemperf/text/golden/nothing.txt", &report(&Material::default(), true));
    let refused = Material {
        connections: 2,
        duration_s: 0.000_1,
        errors: Errors { refused: 2, ..Errors::default() },
        ..Material::default()
    };
    expect("twemperf/text/golden/refused.txt", &report(&refused, true));
    let unanswered = Material {
        responses: 0,
        response_bytes: Spread::default(),
        response_ns: Histogram::new(),
        replies: Replies::default(),
        ..sample()
    };
    expect("twemperf/text/golden/noreply.txt", &report(&unanswered, true));
}

#[test]
fn every_count_has_its_place() {
    let material = Material {
        replies: Replies {
            stored: 1,
            not_stored: 2,
            exists: 3,
            not_found: 4,
            number: 5,
            deleted: 6,
            end: 7,
            value: 8,
            error: 9,
            client_error: 10,
            server_error: 11,
        },
        errors: Errors {
            client_timed_out: 1,
            socket_timed_out: 2,
            refused: 3,
            reset: 4,
            no_descriptors: 5,
            file_table_full: 6,
            no_ports: 7,
            other: 8,
        },
        ..sample()
    };
    expect("twemperf/text/golden/counts.txt", &report(&material, false));
}

#[test]
fn no_number_is_nan_or_infinite() {
    for material in [
        Material { duration_s: 0.0, ..sample() },
        Material { response_ns: Histogram::new(), ..sample() },
        Material { connections: 1, ..Material::default() },
        Material { requests: 1, ..Material::default() },
        Material { responses: 1, ..Material::default() },
    ] {
        let text = report(&material, true).to_lowercase();
        assert!(!text.contains("nan") && !text.contains("inf"), "{text}");
    }
}

/// The lines of the histogram of these times in ms, without blanks.
fn bins(ms: &[f64]) -> Vec<String> {
    let response_ns = times(ms.iter().map(|ms| (ms * 1e6) as u64));
    let text = report(&Material { responses: 1, response_ns, ..Material::default() }, true);
    let lines = text.lines().skip_while(|line| !line.contains("histogram")).skip(1);
    let bins = lines.take_while(|line| line.starts_with(' '));
    bins.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_histogram_has_bins_of_a_millisecond() {
    // Observed with the original behind a server that took 3, 5 and 9 ms.
    assert_eq!(
        bins(&[3.1, 3.2, 3.3, 5.1, 5.2, 6.1, 9.1, 9.2]),
        [":", "3.0 3", ":", "5.0 2", "6.0 1", ":", "9.0 2", ":"]
    );
    assert_eq!(bins(&[0.01, 0.2, 0.4, 0.7, 1.3]), ["0.0 3", "1.0 2", ":"]);
    assert_eq!(bins(&[]), [":"]);
    assert_eq!(bins(&[99_999.4, 500_000.0]), [":", "99999.0 2"]);
}

#[test]
fn deviations_are_estimates() {
    let of = |values: &[u64]| Spread::of(&times(values.iter().copied()), 1e6);
    let figures = of(&[1_000_000, 2_000_000, 3_000_000, 6_000_000]);
    assert_eq!((figures.mean, figures.min, figures.max), (3.0, 1.0, 6.0));
    // (4 + 1 + 0 + 9) / 3.
    assert!((figures.deviation - (14.0f64 / 3.0).sqrt()).abs() < 1e-12);
    assert_eq!(of(&[7_500_000]), always(7.5));
    assert_eq!(of(&[]), Spread::default());
    // Far from zero and close together: the squares of rounded numbers would cancel.
    let close = of(&[3_600_000_000_001, 3_600_000_000_003]);
    assert!((close.deviation - 2f64.sqrt() / 1e6).abs() < 1e-15, "{}", close.deviation);
}

#[test]
fn amounts_have_the_unit_that_fits() {
    let amount = |bytes: f64| {
        let material = Material { requests: 1, request_bytes: always(bytes), ..sample() };
        let material = Material { responses: 0, ..material };
        let text = report(&material, false);
        let line = text.lines().find(|line| line.starts_with("Net I/O")).unwrap();
        line.split(' ').skip(3).take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(amount(1023.0), "1023.0 B");
    assert_eq!(amount(1024.0), "1.0 KB");
    assert_eq!(amount(1024.0 * 1024.0), "1.0 MB");
    assert_eq!(amount(5e12), "4656.6 GB");
}

#[test]
fn a_record_is_read_by_its_names() {
    use memtide_base::Span;
    use memtide_record::{
        ChurnCounts, ChurnRecord, Counts, Distribution, MessageSizes, Record, Totals,
    };
    use memtide_scenario::Kind;
    let of = |times: &Histogram<u64>| Distribution::of(times, 0, Span::from_s(1));
    let (hits, misses) = (times([1_000_000, 3_000_000]), times([2_000_000]));
    let all = times([1_000_000, 3_000_000, 2_000_000]);
    let mut record = Record {
        measured_s: 2.0,
        totals: Totals { sent: 4, hits: 2, misses: 1, ..Totals::default() },
        message_sizes: Some(MessageSizes {
            requests: Counts::of(&times([19, 19, 19, 21])),
            replies: Counts::of(&times([133, 133, 5])),
        }),
        ..Record::default()
    };
    record.totals.errors.insert("server_error".to_owned(), 7);
    record.totals.replies.insert("values".to_owned(), 3);
    for (kind, times) in [(Kind::Get, &all), (Kind::GetHit, &hits), (Kind::GetMiss, &misses)] {
        record.service.insert(kind, of(times));
    }
    record.service.insert(Kind::All, of(&all));
    (record.client.cpu_user_s, record.client.cpu_system_s) = (Some(0.5), Some(1.5));
    let causes = [("refused", 1), ("connect_timed_out", 2), ("call_timed_out", 3), ("closed", 4)];
    record.churn = Some(ChurnRecord {
        concurrent_max: 5,
        measure: ChurnCounts {
            started: 20,
            causes: causes.map(|(cause, count)| (cause.to_owned(), count)).into(),
            ..ChurnCounts::default()
        },
        lifetime: of(&times([8_000_000, 10_000_000])),
        connect_service: of(&times([500_000])),
        ..ChurnRecord::default()
    });
    let material = Material::of(&record).unwrap();
    assert_eq!((material.connections, material.concurrent_max), (20, 5));
    assert_eq!((material.connection_ms.mean, material.connect_ms.max), (9.0, 0.5));
    let errors = Errors { refused: 1, client_timed_out: 5, other: 4, ..Errors::default() };
    assert_eq!(material.errors, errors);
    assert_eq!((material.requests, material.responses), (4, 3));
    assert_eq!((material.request_bytes.mean, material.request_bytes.max), (19.5, 21.0));
    assert_eq!((material.response_bytes.min, material.response_bytes.max), (5.0, 133.0));
    assert_eq!(material.response_ns.count(), 3);
    assert_eq!((material.replies.value, material.replies.end), (2, 1));
    assert_eq!(material.replies.server_error, 7);
    assert_eq!(material.cpu, Cpu { user_s: 0.5, system_s: 1.5 });
    record.service.get_mut(&Kind::Get).unwrap().count += 1;
    assert!(Material::of(&record).unwrap_err().contains("of get "));
}

/// Service times rank what was sent and never answered above all answers; twemperf's rows are of
/// answers.
#[test]
fn times_are_those_of_what_was_answered() {
    use memtide_base::Span;
    use memtide_record::{Distribution, Record};
    use memtide_scenario::Kind;
    let shown = |lost| {
        let answered = times([1_000_000, 2_000_000, 3_000_000]);
        let service = Distribution::of(&answered, lost, Span::ZERO);
        let record = Record { service: [(Kind::Get, service)].into(), ..Record::default() };
        let material = Material::of(&record).unwrap();
        assert_eq!(material.response_ns.count(), 3);
        report(&material, true)
    };
    assert_eq!(shown(1_666), shown(0));
}
