//! Words without a grammar of their own: switches and lists.
//!
//! It knows no field.

use super::fraction_word;
use memtide_base::units::parse_fraction;
use std::fmt::Display;
use std::str::FromStr;

/// Parses `true` or `false`, in the spellings that environments and files use.
pub(crate) fn parse_switch(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("'{word}' is neither true nor false")),
    }
}

/// How far the judged figures of a strict run must be known if nothing else is said: ± 30 %.
pub const STRICT: f64 = 0.30;

/// Parses `true`, which stands for [`STRICT`], `false`, or a bound such as `10%`.
///
/// # Errors
/// If it is neither, or no fraction above 0.
pub fn parse_strict(word: &str) -> Result<Option<f64>, String> {
    match (parse_switch(word), parse_fraction(word)) {
        (Ok(on), _) => Ok(on.then_some(STRICT)),
        (Err(_), Ok(bound)) if bound > 0.0 => Ok(Some(bound)),
        _ => Err(format!("'{word}' is neither true nor false nor a bound such as 10%")),
    }
}

/// The word from which [`parse_strict`] restores the value.
pub(crate) fn strict_words(strict: &Option<f64>) -> Vec<String> {
    let word = match strict {
        None => "false".to_owned(),
        Some(STRICT) => "true".to_owned(),
        Some(bound) => fraction_word(*bound),
    };
    vec![word]
}

/// Parses a comma list; an empty word is an empty list, an empty item is refused.
pub(crate) fn parse_list<T: FromStr>(word: &str) -> Result<Vec<T>, String>
where
    T::Err: Display,
{
    if word.trim().is_empty() {
        return Ok(Vec::new());
    }
    word.split(',').map(|item| item.trim().parse().map_err(|e: T::Err| e.to_string())).collect()
}
