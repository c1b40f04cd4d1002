//! Words and the values that the C library reads from them. Does not test ranges.

use super::*;
use std::fmt::Debug;
use std::str::FromStr;

/// Asserts that each word of `rows` is read as the value behind its last `=`; without a value it is
/// refused.
fn reads<T: FromStr + PartialEq + Debug>(read: impl Fn(&str) -> Option<T>, rows: &str) {
    for row in rows.split('|') {
        let (word, value) = row.rsplit_once('=').expect("a value");
        assert_eq!(read(word), value.parse().ok(), "{word:?}");
    }
}

#[test]
fn integers_are_read_in_the_base_that_they_name() {
    reads(
        integer,
        "0x10=16|0X1f=31|010=8|10=10| 7=7|+7=7|-7=-7|-0x10=-16|=0|0=0|08=|0x=|0xg=|10k=|7 =| =|-=|\
         1.5=|99999999999999999999=9223372036854775807|\
         -99999999999999999999=-9223372036854775808",
    );
}

#[test]
fn decimals_are_read_as_strtod_reads_them() {
    reads(
        decimal,
        "0.5=0.5|.5=0.5|5.=5|1e3=1000|1E-3=0.001|+.5e+1=5|0x1p3=8|0x.8=0.5|inf=inf|-Infinity=-inf|\
         =0|.=|1e=|1e+=|0.5x=|0x=|half=",
    );
    assert!(decimal("nan").is_some_and(f64::is_nan));
}

#[test]
fn whole_decimals_have_one_base() {
    reads(
        whole_decimal,
        "010=10| +5=5|-0=0|-7=-7|=|0x10=|5 =|99999999999999999999=9223372036854775807",
    );
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
