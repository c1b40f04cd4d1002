//! Numbers as C's strtol, strtod, atoi and atof read them. On overflow the values saturate, and
//! callers check the range.

/// Returns the value of `strtol(word, &end, 0)` if `end` is the word's end: decimal, `0x` or `0X`
/// for hexadecimal, a leading `0` for octal. An empty word is 0; too large a number saturates.
pub(crate) fn integer(word: &str) -> Option<i64> {
    let (value, rest) = strtol(word, 0);
    rest.is_empty().then_some(value)
}

/// Returns the value of `strtoul(word, &end, 10)` as a signed number if `end` is the word's end.
/// `None` for an empty word; too large a number saturates.
pub(crate) fn whole_decimal(word: &str) -> Option<i64> {
    let (value, rest) = strtol(word, 10);
    (rest.is_empty() && !word.is_empty()).then_some(value)
}

/// Returns the value of `strtod(word, &end)` if `end` is the word's end; an empty word is 0.
pub(crate) fn decimal(word: &str) -> Option<f64> {
    let (value, rest) = strtod(word);
    rest.is_empty().then_some(value)
}

/// Returns the value of `atoi`: the decimal number at the beginning, else 0.
pub(crate) fn leading_integer(word: &str) -> i64 {
    strtol(word, 10).0
}

/// Returns the value of `atof`: the number at the beginning, else 0.
pub(crate) fn leading_decimal(word: &str) -> f64 {
    strtod(word).0
}

/// Formats a finite number as `printf("%g", value)`.
pub(crate) fn general(value: f64) -> String {
    const DIGITS: i32 = 6;
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent of a number is a number");
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).expect("the range keeps it above 0");
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

/// Removes the zeros at the end of a fraction.
fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

/// The characters that C treats as spaces.
pub(crate) const SPACES: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// Removes a sign; returns true for minus, and the rest.
fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// The text behind `0x` or `0X`.
fn after_0x(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// The value, and the rest of the word; the whole word if it begins with no number.
pub(crate) fn strtol(word: &str, base: u32) -> (i64, &str) {
    let (negative, body) = sign(word.trim_start_matches(SPACES));
    let hexadecimal =
        after_0x(body).filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (base, digits) = match (base, hexadecimal) {
        (0, Some(rest)) => (16, rest),
        (0, None) if body.starts_with('0') => (8, body),
        (0, None) => (10, body),
        _ => (base, body),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    if end == 0 {
        return (0, word);
    }
    let mut value = 0_i64;
    for digit in digits[..end].chars() {
        let digit = i64::from(digit.to_digit(base).expect("only digits were taken"));
        let shifted = value.saturating_mul(i64::from(base));
        value =
            if negative { shifted.saturating_sub(digit) } else { shifted.saturating_add(digit) };
    }
    (value, &digits[end..])
}

/// Reads floating point as [`strtol`] does integers: decimal, hexadecimal, `inf`, `infinity`,
/// `nan`.
pub(crate) fn strtod(word: &str) -> (f64, &str) {
    let (negative, body) = sign(word.trim_start_matches(SPACES));
    let lower = body.to_ascii_lowercase();
    let named = [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)];
    let named = named.into_iter().find(|(name, _)| lower.starts_with(name));
    let (value, rest) = if let Some((name, value)) = named {
        (value, &body[name.len()..])
    } else if let Some(found) = after_0x(body).and_then(hexadecimal) {
        found
    } else {
        let length = decimal_length(body);
        if length == 0 {
            return (0.0, word);
        }
        (body[..length].parse().expect("only what is a number was taken"), &body[length..])
    };
    (if negative { -value } else { value }, rest)
}

/// The number of bytes at the front of `text` that form a decimal number with an optional fraction
/// and exponent.
fn decimal_length(text: &str) -> usize {
    let whole = digits(text);
    let mut end = whole;
    let mut count = whole;
    if text[end..].starts_with('.') {
        let fraction = digits(&text[end + 1..]);
        count += fraction;
        end += 1 + fraction;
    }
    if count == 0 {
        return 0;
    }
    if text[end..].starts_with(['e', 'E']) {
        let signed = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[end + 1 + signed..]);
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    end
}

/// The number of decimal digits at the front of `text`.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Reads a hexadecimal number without its `0x`; `None` if no digit follows.
fn hexadecimal(text: &str) -> Option<(f64, &str)> {
    let (mut value, mut rest) = hexadecimal_digits(text);
    let mut count = text.len() - rest.len();
    if let Some(fraction) = rest.strip_prefix('.') {
        let (part, after) = hexadecimal_digits(fraction);
        let length = fraction.len() - after.len();
        count += length;
        value += part / 16f64.powi(i32::try_from(length).ok()?);
        rest = after;
    }
    if count == 0 {
        return None;
    }
    if let Some(power) = rest.strip_prefix(['p', 'P']) {
        let (negative, body) = sign(power);
        let length = digits(body);
        if length > 0 {
            let exponent: i32 = body[..length].parse().unwrap_or(i32::MAX);
            value *= 2f64.powi(if negative { -exponent } else { exponent });
            rest = &body[length..];
        }
    }
    Some((value, rest))
}

/// The value of the hexadecimal digits at the front of `text`, and what follows them.
fn hexadecimal_digits(text: &str) -> (f64, &str) {
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    let values = text[..end].chars().filter_map(|digit| digit.to_digit(16));
    (values.fold(0.0, |sum, digit| sum * 16.0 + f64::from(digit)), &text[end..])
}

#[cfg(test)]
mod tests;
