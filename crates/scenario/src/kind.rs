//! Kinds of operations, by which results are split into rows: all together, or one kind each.
//!
//! The order of the variants is the order of every map and table by kind. No figures here.

use memtide_workload::{OpKind, op_kinds};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! enum_of_rows {
    (
        Get $get:literal $read:ident $reads:literal,
        $($kind:ident $name:literal $action:ident $doc:literal,)*
    ) => {
        /// All operations, one kind of operation, or the hits or misses of get.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Kind {
            /// Every operation, whatever its kind.
            All,
            /// `get`, hits and misses together.
            Get,
            /// `get` operations that found every key.
            GetHit,
            /// `get` operations that missed at least one key.
            GetMiss,
            $(#[doc = $doc] $kind,)*
        }

        impl Kind {
            /// Every kind, in the order of tables.
            pub const ALL: &'static [Self] =
                &[Self::All, Self::Get, Self::GetHit, Self::GetMiss, $(Self::$kind,)*];

            /// The operation of this kind: get for its hits and misses, none for all.
            pub const fn op(self) -> Option<OpKind> {
                match self {
                    Self::All => None,
                    Self::Get | Self::GetHit | Self::GetMiss => Some(OpKind::Get),
                    $(Self::$kind => Some(OpKind::$kind),)*
                }
            }
        }

        impl From<OpKind> for Kind {
            fn from(op: OpKind) -> Self {
                match op {
                    OpKind::Get => Self::Get,
                    $(OpKind::$kind => Self::$kind,)*
                }
            }
        }
    };
}

op_kinds!(enum_of_rows);

impl Kind {
    /// The name in records, tables and goals.
    pub const fn name(self) -> &'static str {
        match (self, self.op()) {
            (Self::GetHit, _) => "get_hit",
            (Self::GetMiss, _) => "get_miss",
            (_, Some(op)) => op.name(),
            (_, None) => "all",
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
        Self::ALL.iter().copied().find(|kind| kind.name() == word).ok_or_else(|| {
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
        for &kind in Kind::ALL {
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
