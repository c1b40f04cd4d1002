//! Parsers of single words, shared by the sections of the table.
//!
//! Each error names the given word and what is allowed, but not the field: the caller, which knows
//! the origin, adds it.

use crate::scenario::{OutputKind, Secret, Tags, fraction_word, plain_place};
use memtide_base::{ItemFlags, Span, units};
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;

/// The member of a row: `member!(scenario.rate, some rate)` is an optional value, `each` a list;
/// what follows the parser formats the value where its `Display` does not.
macro_rules! member {
    (scenario.$($how:tt)+) => { member!(@of Scenario it.$($how)+) };
    (outputs.$($how:tt)+) => { member!(@of Outputs it.$($how)+) };
    (placement.$($how:tt)+) => { member!(@of Placement it.$($how)+) };
    (@of $part:ident $it:ident$(.$name:ident)+, $($how:tt)+) => {
        super::Member::$part {
            set: |$it, word| {
                $it$(.$name)+ = member!(@read word, $($how)+);
                Ok(())
            },
            show: |$it| member!(@show $it$(.$name)+, $($how)+),
        }
    };
    (@read $word:ident, some $read:path $(, $show:path)?) => { Some($read($word)?) };
    (@read $word:ident, each $read:path) => { $read($word)? };
    (@read $word:ident, $read:path $(, $show:path)?) => { $read($word)? };
    (@show $value:expr, some span) => {
        $value.map(crate::scenario::span_word).into_iter().collect()
    };
    (@show $value:expr, span) => { vec![crate::scenario::span_word($value)] };
    (@show $value:expr, some $read:path) => { $value.iter().map(ToString::to_string).collect() };
    (@show $value:expr, each $read:path) => { $value.iter().map(ToString::to_string).collect() };
    (@show $value:expr, some $read:path, $show:path) => { $show(&$value) };
    (@show $value:expr, $read:path, $show:path) => { $show(&$value) };
    (@show $value:expr, $read:path) => { vec![$value.to_string()] };
}
pub(super) use member;

/// Parses a word by the grammar of its type.
pub(super) fn parsed<T: FromStr>(word: &str) -> Result<T, String>
where
    T::Err: Display,
{
    word.trim().parse().map_err(|e: T::Err| e.to_string())
}

/// Parses a count that fits its type, which has no sign; the error names the largest.
pub(super) fn count<T: TryFrom<u64>>(word: &str) -> Result<T, String> {
    let count = units::parse_count(word).map_err(|e| e.to_string())?;
    let largest = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
    T::try_from(count).map_err(|_| format!("'{word}' is above {largest}"))
}

/// Parses a length of time.
pub(super) fn span(word: &str) -> Result<Span, String> {
    units::parse_span(word).map_err(|e| e.to_string())
}

/// Parses a 64-bit whole number, decimal or hexadecimal, without suffixes.
pub(super) fn bits(word: &str) -> Result<u64, String> {
    let word = word.trim();
    let number = match word.strip_prefix("0x") {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    number.ok_or_else(|| format!("'{word}' is not a whole number below 2^64, such as 42 or 0x2a"))
}

/// Parses the destination of an output: a path, or `-` for stdout.
pub(super) fn output_path(word: &str) -> Result<Option<String>, String> {
    let allowed = !word.is_empty() && !word.contains('\0');
    let path = allowed.then(|| Some(plain_place(word).to_owned()));
    path.ok_or_else(|| format!("{word:?} is not a file's path, nor - for stdout"))
}

/// Parses the destination of samples, whose extension is one of their formats.
pub(super) fn samples_path(word: &str) -> Result<Option<String>, String> {
    OutputKind::Samples.check_ending(word)?;
    output_path(word)
}

/// Largest length of a server command, in bytes.
const COMMAND_BYTES_MAX: usize = 1024;

/// Parses a server command: one line of limited length.
pub(super) fn command_line(word: &str) -> Result<String, String> {
    let allowed = (1..=COMMAND_BYTES_MAX).contains(&word.len())
        && !word.contains(['\r', '\n', '\0'])
        && word.trim() == word;
    allowed.then(|| word.to_owned()).ok_or_else(|| {
        format!(
            "{word:?} is not one line of 1 to {COMMAND_BYTES_MAX} bytes that begins and ends with \
             a word"
        )
    })
}

/// Formats flags as one word, or none.
pub(super) fn shown_flags(flags: &ItemFlags) -> Vec<String> {
    given(&(!flags.is_empty()).then_some(*flags))
}

/// Formats an optional value as words.
pub(super) fn given<T: ToString>(value: &Option<T>) -> Vec<String> {
    value.iter().map(ToString::to_string).collect()
}

/// Parses a word whose spaces count.
pub(super) fn untrimmed<T: FromStr<Err = String>>(word: &str) -> Result<T, String> {
    word.parse()
}

/// Parses the name of a file, or another word without an inner grammar.
pub(super) fn path(word: &str) -> Result<String, String> {
    match word.trim() {
        "" => Err("an empty word is not allowed".to_owned()),
        word => Ok(word.to_owned()),
    }
}

/// Parses a rate per second.
pub(super) fn rate(word: &str) -> Result<f64, String> {
    units::parse_rate(word).map_err(|e| e.to_string())
}

/// Parses a number of bytes.
pub(super) fn size(word: &str) -> Result<u64, String> {
    units::parse_size(word).map_err(|e| e.to_string())
}

/// Parses a fraction from 0 to 1.
pub(super) fn fraction(word: &str) -> Result<f64, String> {
    units::parse_fraction(word.trim()).map_err(|e| e.to_string())
}

/// Formats an optional fraction as words.
pub(super) fn fraction_words(value: &Option<f64>) -> Vec<String> {
    value.map(fraction_word).into_iter().collect()
}

/// Parses a comma list of addresses without ports.
pub(super) fn addresses(word: &str) -> Result<Vec<IpAddr>, String> {
    let items = word.split(',').filter(|_| !word.trim().is_empty());
    let addresses = items.map(|item| {
        item.trim().parse::<IpAddr>().map_err(|_| {
            format!("'{item}' is not an address such as 10.0.0.7 or fd00::7, without a port")
        })
    });
    addresses.collect()
}

/// Parses a user name of a server.
pub(super) fn user(word: &str) -> Result<String, String> {
    let allowed = (1..=250).contains(&word.len()) && !word.contains([' ', '\r', '\n', '\0']);
    allowed.then(|| word.to_owned()).ok_or_else(|| {
        format!("{word:?} is not a name of 1 to 250 bytes without spaces and line ends")
    })
}

/// Parses a password. It may be empty: some servers require only a user name.
pub(super) fn password(word: &str) -> Result<Secret, String> {
    let allowed = word.len() <= 250 && !word.contains(['\r', '\n', '\0']);
    let secret = allowed.then(|| Secret::new(word));
    secret.ok_or_else(|| "a password has at most 250 bytes and no line ends".to_owned())
}

/// Parses a time of busy polling.
pub(super) fn busy_poll(word: &str) -> Result<Span, String> {
    let time = span(word)?;
    let allowed = time <= Span::from_s(1) && time.ns().is_multiple_of(1_000);
    let time = allowed.then_some(time);
    time.ok_or_else(|| format!("'{word}' is not whole microseconds up to 1s, such as 50us"))
}

/// Largest size of a key prefix in bytes; leaves room in a key for any number.
const PREFIX_BYTES_MAX: usize = 200;

/// Parses a key prefix, which may be empty.
pub(super) fn key_prefix(word: &str) -> Result<String, String> {
    let is_plain = !word.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    if word.len() > PREFIX_BYTES_MAX || !is_plain {
        return Err(format!(
            "{word:?} cannot be a key prefix: use at most {PREFIX_BYTES_MAX} bytes without spaces \
             and control characters"
        ));
    }
    Ok(word.to_owned())
}

/// Formats a text that may be empty as words.
pub(super) fn given_text(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text.to_owned()] }
}

/// Parses a cas number.
pub(super) fn cas_unique(word: &str) -> Result<u64, String> {
    match bits(word)? {
        0 => Err("'0' is not a cas number; use 1 or more".to_owned()),
        number => Ok(number),
    }
}

/// Parses an expiry time, in seconds.
pub(super) fn expiry<T: FromStr>(word: &str) -> Result<T, String> {
    let number = word.trim().parse();
    number.map_err(|_| format!("'{word}' is not a whole number of seconds, such as 0 or 3600"))
}

/// Parses the path of a chart.
pub(super) fn chart_path(word: &str) -> Result<Option<String>, String> {
    OutputKind::Plot.check_ending(word)?;
    output_path(word)
}

/// Formats tags as words.
pub(super) fn tag_words(tags: &Tags) -> Vec<String> {
    tags.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Parses a value that an empty word takes away.
pub(super) fn optional<T: FromStr>(word: &str) -> Result<Option<T>, String>
where
    T::Err: Display,
{
    (!word.is_empty()).then(|| parsed(word)).transpose()
}

/// Parses a rate that an empty word takes away.
pub(super) fn optional_rate(word: &str) -> Result<Option<f64>, String> {
    (!word.is_empty()).then(|| rate(word)).transpose()
}

/// Parses a text that an empty word takes away.
pub(super) fn optional_text(word: &str) -> Result<Option<String>, String> {
    Ok((!word.is_empty()).then(|| word.to_owned()))
}

/// Parses a choice that `auto` leaves to memtide.
pub(super) fn or_auto<T: FromStr>(word: &str) -> Result<Option<T>, String>
where
    T::Err: Display,
{
    if word == "auto" { Ok(None) } else { parsed(word).map(Some) }
}

/// Formats a choice that memtide may make as words.
pub(super) fn auto_word<T: ToString>(value: &Option<T>) -> Vec<String> {
    vec![value.as_ref().map_or_else(|| "auto".to_owned(), ToString::to_string)]
}
