//! Numbers as people write them, `20k`, `1.5M`, `10s`, `64MiB`, `0.1%`, and as they read them, `20
//! 000/s`, `4.01 ms`, `318 µs`.

use super::*;

#[test]
fn words_become_numbers() {
    assert_eq!(parse_count("20k"), Ok(20_000));
    assert_eq!(parse_count("1.5M"), Ok(1_500_000));
    assert_eq!(parse_count("1_000"), Ok(1000));
    assert_eq!(parse_rate("1.5M/s"), Ok(1.5e6));
    assert_eq!(parse_size("64k"), Ok(65_536));
    assert_eq!(parse_size("1MB"), Ok(1_000_000));
    assert_eq!(parse_span("500us"), Ok(Span::from_us(500)));
    assert_eq!(parse_span("1.5s"), Ok(Span::from_ms(1500)));
    assert_eq!(parse_span("2m"), Ok(Span::from_s(120)));
    assert_eq!(parse_span("0"), Ok(Span::ZERO));
    assert_eq!(parse_fraction("20%"), Ok(0.2));
}

#[test]
fn a_rate_that_was_given_keeps_its_digits() {
    let rates =
        [(1_000.5, "1 000.5"), (20_000.0, "20 000"), (0.25, "0.25"), (3e9, "3 000 000 000")];
    for (per_s, word) in rates {
        assert_eq!(exact_digits(per_s), word);
    }
}

#[test]
fn nonsense_is_refused_with_what_would_be_right() {
    for word in ["", "k", "-1", "1.5", "ten", "1e3", "nan", "inf", "10x", "1..2"] {
        assert!(parse_count(word).is_err(), "{word}");
    }
    for word in ["10", "10 parsecs", "-1s", "s", ""] {
        assert!(parse_span(word).is_err(), "{word}");
    }
    assert!(parse_fraction("101%").is_err());
    let error = parse_span("10").unwrap_err();
    assert_eq!(error.to_string(), "'10' is not a time with its unit, such as 500us, 10s or 2m");
}

#[test]
fn numbers_become_words() {
    assert_eq!(format_span(Span::from_ns(90_250)), "90.25 µs");
    assert_eq!(format_span(Span::from_ms(1500)), "1.5 s");
    assert_eq!(format_span(Span::from_s(5)), "5 s");
    assert_eq!(format_span(Span::ZERO), "0 s");
    assert_eq!(format_count(20_000.0), "20k");
    assert_eq!(format_count(1_234_000.0), "1.234M");
    assert_eq!(format_count(9_999.0), "9999");
    assert_eq!(format_bytes(12_345), "12.35 kB");
}

#[test]
fn times_keep_three_digits_and_never_reach_1000_of_a_unit() {
    let cases = [
        (0.0, "0 ns"),
        (812.0, "812 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 µs"),
        (90_250.0, "90.2 µs"),
        (999_600.0, "1.00 ms"),
        (1_250_000.0, "1.25 ms"),
        (9_996_000.0, "10.0 ms"),
        (12.5e9, "12.5 s"),
        (3.6e12, "3600 s"),
    ];
    for (ns, text) in cases {
        assert_eq!(format_time(ns), text);
    }
}

#[test]
fn counts_rates_and_changes_are_spaced() {
    assert_eq!(format_whole(0), "0");
    assert_eq!(format_whole(999), "999");
    assert_eq!(format_whole(1_000), "1 000");
    assert_eq!(format_whole(1_234_567), "1 234 567");
    assert_eq!(format_rate(19_999.6), "20 000/s");
    assert_eq!(format_rate(12.5), "12.5/s");
    assert_eq!(format_percent(0.34), "34 %");
    assert_eq!(format_percent(0.9944), "99.4 %");
    assert_eq!(format_change(0.125, 1), "+12.5 %");
    assert_eq!(format_change(-0.05, 1), "−5.0 %");
}
