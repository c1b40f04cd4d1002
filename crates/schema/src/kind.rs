//! What a row of results is about: every operation together, or one kind of them.
//!
//! The order of the variants is the order of every map and table by kind. It knows no figures.

use memtide_workload::OpKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// All operations, one kind of operation, or the hits or misses of get.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Every operation, whatever its kind.
    All,
    /// `get`, hits and misses together.
    Get,
    /// Those `get` operations of which every key was there.
    GetHit,
    /// Those `get` operations of which some key was not there.
    GetMiss,
    /// `gets`.
    Gets,
    /// `set`.
    Set,
    /// `add`.
    Add,
    /// `replace`.
    Replace,
    /// `append`.
    Append,
    /// `prepend`.
    Prepend,
    /// `gets` and then `cas`, one operation.
    Cas,
    /// `delete`.
    Delete,
    /// `incr`.
    Incr,
    /// `decr`.
    Decr,
    /// `touch`.
    Touch,
    /// `gat`.
    Gat,
}

impl Kind {
    /// Every kind, in the order of tables.
    pub const ALL: [Self; 16] = [
        Self::All,
        Self::Get,
        Self::GetHit,
        Self::GetMiss,
        Self::Gets,
        Self::Set,
        Self::Add,
        Self::Replace,
        Self::Append,
        Self::Prepend,
        Self::Cas,
        Self::Delete,
        Self::Incr,
        Self::Decr,
        Self::Touch,
        Self::Gat,
    ];

    /// The name in records, tables and goals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::GetHit => "get_hit",
            Self::GetMiss => "get_miss",
            _ => match self.op() {
                Some(op) => op.name(),
                None => "all",
            },
        }
    }

    /// The operation behind this kind: get for its hits and misses, none for all.
    pub const fn op(self) -> Option<OpKind> {
        Some(match self {
            Self::All => return None,
            Self::Get | Self::GetHit | Self::GetMiss => OpKind::Get,
            Self::Gets => OpKind::Gets,
            Self::Set => OpKind::Set,
            Self::Add => OpKind::Add,
            Self::Replace => OpKind::Replace,
            Self::Append => OpKind::Append,
            Self::Prepend => OpKind::Prepend,
            Self::Cas => OpKind::Cas,
            Self::Delete => OpKind::Delete,
            Self::Incr => OpKind::Incr,
            Self::Decr => OpKind::Decr,
            Self::Touch => OpKind::Touch,
            Self::Gat => OpKind::Gat,
        })
    }
}

impl From<OpKind> for Kind {
    fn from(op: OpKind) -> Self {
        match op {
            OpKind::Get => Self::Get,
            OpKind::Gets => Self::Gets,
            OpKind::Set => Self::Set,
            OpKind::Add => Self::Add,
            OpKind::Replace => Self::Replace,
            OpKind::Append => Self::Append,
            OpKind::Prepend => Self::Prepend,
            OpKind::Cas => Self::Cas,
            OpKind::Delete => Self::Delete,
            OpKind::Incr => Self::Incr,
            OpKind::Decr => Self::Decr,
            OpKind::Touch => Self::Touch,
            OpKind::Gat => Self::Gat,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == word).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("'{word}' is not a kind of operation; known are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_name_and_every_operation_one_kind() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        for op in OpKind::ALL {
            assert_eq!(Kind::from(op).op(), Some(op));
            assert_eq!(Kind::from(op).name(), op.name());
        }
        assert!(Kind::ALL.is_sorted());
    }
}
