//! Scenario files: the text of a TOML file becomes a layer of words.
//!
//! The caller passes the text; nothing is opened here. Nothing in it is skipped: an unknown name,
//! or a value that no field can have, is an error that names its line.

use crate::field::{Field, FieldError, Layer, Origin, find, unknown};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The layer of a scenario file. Keys are the names of fields (`_` may stand for `-`); values are
/// strings, numbers, booleans and, for lists, arrays of these. `path` is for messages only.
pub fn from_toml(text: &str, path: &str) -> Result<Layer, FieldError> {
    let origin = |span: &Range<usize>| Origin::File {
        path: path.to_owned(),
        line: line_of(text, span.start),
    };
    let table = DeTable::parse(text).map_err(|error| FieldError {
        field: None,
        origin: origin(&error.span().unwrap_or(0..0)),
        message: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
    })?;
    let mut layer = Layer::new();
    // The parser's order is not that of the file.
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let name = key.get_ref().as_ref();
        let origin = origin(&key.span());
        let field = find(name).ok_or_else(|| unknown(name, origin.clone()))?;
        let fail =
            |message| FieldError { field: Some(name.to_owned()), origin: origin.clone(), message };
        if layer.mentions(field) {
            return Err(fail("it is given twice in this file; leave one of them".to_owned()));
        }
        let words = words(field, value.get_ref()).map_err(fail)?;
        layer.push(field, words, origin);
    }
    Ok(layer)
}

/// The words of a field's value.
fn words(field: &Field, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match value {
        DeValue::Array(items) if field.many => {
            items.iter().map(|item| word(field, item.get_ref())).collect()
        }
        _ => word(field, value).map(|word| vec![word]),
    }
}

/// One value as a word. Numbers lose their TOML spelling (`0x10`, `1e3`), because fields have their
/// own.
fn word(field: &Field, value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Boolean(switch) => Ok(switch.to_string()),
        DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
            .map(|number| number.to_string())
            .map_err(|_| format!("{} is not a number that fits", integer.as_str())),
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number.to_string()),
            _ => Err(format!("{} is not a finite number", float.as_str())),
        },
        // Only one field is a time of day.
        DeValue::Datetime(time) if field.name == "start-at" => Ok(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_) => Err(format!(
            "a value of type {} is not allowed here; allowed are {}",
            value.type_str(),
            allowed(field)
        )),
    }
}

fn allowed(field: &Field) -> &'static str {
    match field.value {
        None => "true and false",
        Some(_) if field.many => "a string, and an array of strings",
        Some(_) => "a string and a number",
    }
}

/// Line number, from 1, of the byte at offset `at`.
fn line_of(text: &str, at: usize) -> u32 {
    let before = &text.as_bytes()[..at.min(text.len())];
    let breaks = before.iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(breaks).map_or(u32::MAX, |breaks| breaks.saturating_add(1))
}

#[cfg(test)]
mod tests;
