//! One wrong value, as a row of the file of verification's details.
//!
//! A plain value; it knows no file.

use serde::Serialize;

/// A value that differs from what was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongValue {
    /// Position of its operation in the run's sequence.
    pub op: u64,
    /// The server that sent it, as the user named it.
    pub server: String,
    /// The requested key. For a value under a key that was not requested: the first requested key.
    pub key: String,
    /// Kind of fault: corrupt, wrong_key, stale or truncated.
    pub class: &'static str,
    /// Oldest version that was allowed; 0 for any.
    pub version_min: u32,
    /// Version that the value claims to be; none if it claims none.
    pub version: Option<u32>,
    /// Offset of the first wrong byte, from 0; the end of a truncated value.
    pub offset: u64,
}

/// Wrong values found during the fill and the run. Bounded: values beyond the limit are only
/// counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrongValues {
    /// The listed values.
    pub listed: Vec<WrongValue>,
    /// Number of further wrong values.
    pub not_listed: u64,
}

impl WrongValue {
    /// The row as a line of JSON, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a row has only names as keys")
    }
}
