//! Words without a grammar of their own: switches and lists.
//!
//! It knows no field.

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
