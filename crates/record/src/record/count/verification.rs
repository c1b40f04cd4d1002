//! Counts of verification: values checked, and wrong values by fault.

use super::summed;
use memtide_metrics::counter::{Counters, VerifyClass};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! of_verification {
    (
        of_values { $($(#[doc = $doc:tt])* $class:ident => $count:ident;)* }
        of_presence { $($(#[doc = $presence:tt])* $other:ident => $told:ident;)* }
    ) => {
        summed! {
            /// Results of verification. Each checked value is exactly one of ok, corrupt,
            /// wrong_key, stale and truncated.
            VerificationCounts {
                /// Values that were checked.
                checked;
                /// Values that were right.
                ok;
                $($(#[doc = $doc])* $count;)*
                /// Expected values that did not arrive, except for keys whose expiry is verified. A
                /// cache may have reasons to miss.
                #[missing = default]
                verify_misses;
                $(
                    $(#[doc = $presence])*
                    #[missing = default]
                    $told;
                )*
            }
        }

        impl From<&Counters> for VerificationCounts {
            fn from(counters: &Counters) -> Self {
                let of_values = VerifyClass::ALL.into_iter().filter(|class| class.is_of_value());
                let of_values = of_values.map(|class| counters.wrong[class as usize]);
                Self {
                    checked: counters.verified,
                    ok: counters.verified - of_values.sum::<u64>(),
                    $($count: counters.wrong[VerifyClass::$class as usize],)*
                    verify_misses: counters.verify_misses,
                    $($told: counters.wrong[VerifyClass::$other as usize],)*
                }
            }
        }
    };
}

memtide_metrics::verify_classes!(of_verification);

impl VerificationCounts {
    /// Number of faults of any kind: a wrong value, an unexpected value, or a missing one.
    pub const fn wrong(&self) -> u64 {
        self.checked.saturating_sub(self.ok) + self.expired_get + self.unexpired_unget
    }
}
