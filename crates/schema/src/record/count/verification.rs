//! Verification's counts: how many values were looked at, and in what way some were wrong.

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
            /// What verification found. Each value that was checked is in exactly one of ok,
            /// corrupt, wrong_key, stale and truncated.
            VerificationCounts {
                /// Values that were checked.
                checked;
                /// Those that were right.
                ok;
                $($(#[doc = $doc])* $count;)*
                /// Keys whose values were to be checked and did not come; none that are stored with
                /// an expiry which is verified. A cache may have reasons for it.
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
                let of = |class: VerifyClass| counters.wrong[class as usize];
                let of_values = VerifyClass::ALL.into_iter().filter(|class| class.is_of_value());
                Self {
                    checked: counters.verified,
                    ok: counters.verified - of_values.map(of).sum::<u64>(),
                    $($count: of(VerifyClass::$class),)*
                    verify_misses: counters.verify_misses,
                    $($told: of(VerifyClass::$other),)*
                }
            }
        }
    };
}

memtide_metrics::verify_classes!(of_verification);

impl VerificationCounts {
    /// How often something was wrong, in whatever way: a value, that there was one, or that there
    /// was none.
    pub const fn wrong(&self) -> u64 {
        self.checked.saturating_sub(self.ok) + self.expired_get + self.unexpired_unget
    }
}
