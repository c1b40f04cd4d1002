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
    /// Keys whose values were to be checked and did not come; none that are stored with an expiry
    /// which is verified. A cache may have reasons for it.
    #[serde(default)]
    pub verify_misses: u64,
    /// Keys that were found although they had certainly expired.
    #[serde(default)]
    pub expired_get: u64,
    /// Keys that were not found although they had certainly not expired.
    #[serde(default)]
    pub unexpired_unget: u64,
}

impl VerificationCounts {
    /// How often something was wrong, in whatever way: a value, that there was one, or that there
    /// was none.
    pub const fn wrong(&self) -> u64 {
        self.checked.saturating_sub(self.ok) + self.expired_get + self.unexpired_unget
    }
}
