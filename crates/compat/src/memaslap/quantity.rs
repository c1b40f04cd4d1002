//! Numbers with units as memaslap reads them: `24h` and `10k`. The last letter is the unit, and the
//! number ends at its last digit. Judges values only where they overflow.

use crate::number;

/// Seconds in `s`, `m`, `h` and `d`, in either case; `None` without a unit. A word that begins with
/// no digit is 0.
pub(super) fn seconds(word: &str) -> Option<i64> {
    let (number, unit) = unit(word)?;
    let each = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    Some(number.saturating_mul(each))
}

/// A count in `k`, `m` and `g`, powers of 1024, in either case; `None` without a unit.
pub(super) fn count(word: &str) -> Option<i64> {
    let (number, unit) = unit(word)?;
    let each = match unit {
        'k' => 1 << 10,
        'm' => 1 << 20,
        'g' => 1 << 30,
        _ => return None,
    };
    Some(number.saturating_mul(each))
}

/// Splits a word into the number at its beginning and the letter at its end.
fn unit(word: &str) -> Option<(i64, char)> {
    let unit = word.chars().last()?;
    let number = &word[..word.len() - unit.len_utf8()];
    Some((number::leading_integer(number), unit.to_ascii_lowercase()))
}
