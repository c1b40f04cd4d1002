//! One wrong value as a row: what a file of verification's details holds.
//!
//! A plain value; it knows no file.

use serde::Serialize;

/// A value that was not what a server was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongValue {
    /// The operation, by its position in the run's sequence.
    pub op: u64,
    /// The server that sent it, as the user named it.
    pub server: String,
    /// The key that was asked for; of a value under a key that was not asked for, the first that
    /// was.
    pub key: String,
    /// In what way it was wrong: corrupt, wrong_key, stale or truncated.
    pub class: &'static str,
    /// The oldest version that was allowed; 0 for any.
    pub version_min: u32,
    /// The version that it claimed to be; none if it claimed none.
    pub version: Option<u32>,
    /// The first wrong byte, from 0; of a truncated value its end.
    pub offset: u64,
}

/// Wrong values that a run found, while it filled and after. Bounded: what a run could not keep is
/// only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrongValues {
    /// One by one.
    pub listed: Vec<WrongValue>,
    /// How many more there were.
    pub not_listed: u64,
}

impl WrongValue {
    /// The row as a line of JSON without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a row has only names as keys")
    }
}
