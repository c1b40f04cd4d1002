//! Numbers as texts print them: with a unit, and as precise as their last digit.

/// A printed number: nanoseconds, bytes, a fraction or a plain number, and half of its last digit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) value: f64,
    slack: f64,
}

/// Units, with the sign that stands for a number of this unit in a shape, and their size.
const UNITS: [(&str, &str, f64); 9] = [
    ("ns", "{t}", 1.0),
    ("µs", "{t}", 1e3),
    ("ms", "{t}", 1e6),
    ("s", "{t}", 1e9),
    ("%", "{p}", 0.01),
    ("kB", "{b}", 1e3),
    ("MB", "{b}", 1e6),
    ("GB", "{b}", 1e9),
    ("B", "{b}", 1.0),
];

impl Shown {
    /// True if the number is `truth`, as precisely as it is printed; a sign is not looked at.
    pub(super) fn is(self, truth: f64) -> bool {
        (self.value - truth.abs()).abs() <= self.slack * 1.001 + truth.abs() * 1e-12
    }
}

/// The shape of a text, in which signs stand for numbers, and the numbers.
pub(super) fn numbers(text: &str) -> (String, Vec<Shown>) {
    let (mut shape, mut found, mut rest) = (String::new(), Vec::new(), text);
    while let Some(letter) = rest.chars().next() {
        let is_inside = shape.ends_with(|it: char| it.is_alphanumeric() || "_.:-=#".contains(it));
        let mut length = letter.len_utf8();
        if letter.is_ascii_digit() && !is_inside {
            let (sign, shown, read) = number(rest);
            shape.push_str(sign);
            found.push(shown);
            length = read;
        } else {
            shape.push(letter);
        }
        rest = &rest[length..];
    }
    (shape, found)
}

/// The number at the beginning of `text`, with its sign and its length in bytes.
fn number(text: &str) -> (&'static str, Shown, usize) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    // Groups of three digits.
    while text[length..].starts_with(' ') && digits(&text[length + 1..]) == 3 {
        length += 4;
    }
    let decimals = text[length..].strip_prefix('.').map_or(0, digits);
    length += if decimals > 0 { decimals + 1 } else { 0 };
    let value: f64 = text[..length].replace(' ', "").parse().unwrap();
    let slack = 0.5 * 10f64.powi(-(decimals as i32));
    let after = text[length..].strip_prefix(' ').unwrap_or(&text[length..]);
    let ends = |unit: &str| !after[unit.len()..].starts_with(char::is_alphanumeric);
    let unit = UNITS.iter().find(|(unit, ..)| after.starts_with(unit) && ends(unit));
    let Some((unit, sign, size)) = unit else { return ("{n}", Shown { value, slack }, length) };
    // Percent and sizes have lost zeros behind their point.
    let slack = match *sign {
        "{p}" => slack.min(0.0501),
        "{b}" if *size > 1.0 => slack.min(value * 5e-4),
        _ => slack,
    };
    length = text.len() - after.len() + unit.len();
    (sign, Shown { value: value * size, slack: slack * size }, length)
}

#[test]
fn numbers_are_as_precise_as_their_last_digit() {
    let (shape, found) = numbers("20 003/s of p99.9, 89.8 µs (36.4 %), 14.2 MB, −2.00 %");
    assert_eq!(shape, "{n}/s of p99.9, {t} ({p}), {b}, −{p}");
    let truths = [20_003.4, 89_840.0, 0.36437, 14_203_000.0, -0.02];
    for (shown, truth) in found.iter().zip(truths) {
        assert!(shown.is(truth) && !shown.is(truth * 1.1), "{shown:?} {truth}");
    }
}
