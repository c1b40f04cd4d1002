//! Numbers as C's functions read and print them.

//! Words and the values that the C library reads from them. Does not test ranges.

use super::*;

#[test]
fn integers_are_read_in_the_base_that_they_name() {
    let cases = [
        ("0x10", Some(16)),
        ("0X1f", Some(31)),
        ("010", Some(8)),
        ("10", Some(10)),
        (" 7", Some(7)),
        ("+7", Some(7)),
        ("-7", Some(-7)),
        ("-0x10", Some(-16)),
        ("", Some(0)),
        ("0", Some(0)),
        ("08", None),
        ("0x", None),
        ("0xg", None),
        ("10k", None),
        ("7 ", None),
        (" ", None),
        ("-", None),
        ("1.5", None),
        ("99999999999999999999", Some(i64::MAX)),
        ("-99999999999999999999", Some(i64::MIN)),
    ];
    for (word, value) in cases {
        assert_eq!(integer(word), value, "{word:?}");
    }
}

#[test]
fn decimals_are_read_as_strtod_reads_them() {
    let cases = [
        ("0.5", Some(0.5)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1e3", Some(1000.0)),
        ("1E-3", Some(0.001)),
        ("+.5e+1", Some(5.0)),
        ("0x1p3", Some(8.0)),
        ("0x.8", Some(0.5)),
        ("inf", Some(f64::INFINITY)),
        ("-Infinity", Some(f64::NEG_INFINITY)),
        ("", Some(0.0)),
        (".", None),
        ("1e", None),
        ("1e+", None),
        ("0.5x", None),
        ("0x", None),
        ("half", None),
    ];
    for (word, value) in cases {
        assert_eq!(decimal(word), value, "{word:?}");
    }
    assert!(decimal("nan").is_some_and(f64::is_nan));
}

#[test]
fn whole_decimals_have_one_base() {
    let cases = [
        ("010", Some(10)),
        (" +5", Some(5)),
        ("-0", Some(0)),
        ("-7", Some(-7)),
        ("", None),
        ("0x10", None),
        ("5 ", None),
        ("99999999999999999999", Some(i64::MAX)),
    ];
    for (word, value) in cases {
        assert_eq!(whole_decimal(word), value, "{word:?}");
    }
}

#[test]
fn general_numbers_are_as_short_as_cs() {
    let cases = [
        (0.0, "0"),
        (5.0, "5"),
        (0.5, "0.5"),
        (1e5, "100000"),
        (123_456.5, "123456"),
        (999_999.5, "1e+06"),
        (1e6, "1e+06"),
        (1.25e-5, "1.25e-05"),
        (0.000_123_456_7, "0.000123457"),
        (1e300, "1e+300"),
        (2.0 / 3.0, "0.666667"),
    ];
    for (value, text) in cases {
        assert_eq!(general(value), text);
    }
}

#[test]
fn leading_numbers_stop_at_the_first_other_letter() {
    assert_eq!(leading_integer("95.9"), 95);
    assert_eq!(leading_integer("010"), 10);
    assert_eq!(leading_integer("avg"), 0);
    assert_eq!(leading_decimal("0.25,3"), 0.25);
    assert_eq!(leading_decimal("x"), 0.0);
}
