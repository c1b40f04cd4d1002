//! Verification's counts: how many values were looked at, and in what way some were wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What verification found. Each value that was checked is in exactly one of ok, corrupt,
/// wrong_key, stale and truncated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationCounts {
    /// Values that were checked.
    pub checked: u64,
    /// Those that were right.
    pub ok: u64,
    /// Those with bytes that are in no value of their key.
    pub corrupt: u64,
    /// Those that are another key's, or came under a key that was not asked for.
    pub wrong_key: u64,
    /// Those that are older than what was certainly stored before they were asked for.
    pub stale: u64,
    /// Those that are only the beginning of a value of their key.
    pub truncated: u64,
}

impl VerificationCounts {
    /// How many were wrong, in whatever way.
    pub const fn wrong(&self) -> u64 {
        self.checked.saturating_sub(self.ok)
    }
}
