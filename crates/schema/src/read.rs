//! The one way in which JSON becomes a type of this crate: from text, with the place of an error.
//!
//! Each way to read a record costs the compiler as much as the rest of the crate; so there is one.

use serde::de::DeserializeOwned;

/// Reads `what`, such as "a record", from JSON. The error is a clause that names the place at which
/// `text` is not JSON, or not `what`.
pub(crate) fn json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        match path.as_str() {
            "." => format!("it is not {what}: {problem}"),
            _ => format!("it is not {what}: at {path}, {problem}"),
        }
    })?;
    reader.end().map_err(|problem| format!("text follows {what}: {problem}"))?;
    Ok(read)
}
