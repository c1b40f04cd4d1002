//! Shortfalls: differences between a server's items and the scenario that the scenario accepts.

use super::WarningKind;

/// A difference between the items on a server and those of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// The server does not hold every key, and the scenario accepts that.
    LoadPartial {
        /// Number of sampled keys.
        sampled: u64,
        /// Number of sampled keys that were missing.
        missing: u64,
    },
    /// A fill stored fewer than all keys, and the scenario accepts that.
    StoresRefused {
        /// Name of the server.
        server: String,
        /// Number of keys stored.
        stored: u64,
        /// Number of keys of the scenario.
        total: u64,
        /// The server's reason for the others: a clause after a semicolon, or nothing.
        why: String,
    },
    /// The values on a server have other lengths than the scenario's, and the scenario accepts
    /// that.
    ValuesResized {
        /// Name of the server.
        server: String,
        /// Lengths in the scenario.
        values: String,
        /// Number of sampled values of another length.
        resized: u64,
        /// Number of sampled values.
        found: u64,
        /// Mean length of the sampled values, in bytes.
        mean: f64,
    },
}

impl Shortfall {
    /// What the warning is about.
    pub(super) const fn kind(&self) -> WarningKind {
        match self {
            Self::LoadPartial { .. } => WarningKind::LoadPartial,
            Self::StoresRefused { .. } => WarningKind::StoresRefused,
            Self::ValuesResized { .. } => WarningKind::ValuesResized,
        }
    }

    /// The problem, with its figures: a sentence without its full stop.
    pub(super) fn message(&self) -> String {
        match self {
            Self::LoadPartial { sampled, missing } => {
                format!("{missing} of {sampled} sampled keys are missing from the server")
            }
            Self::StoresRefused { server, stored, total, why } => {
                format!("the fill of {server} stored {stored} of {total} keys{why}")
            }
            Self::ValuesResized { server, values, resized, found, mean } => format!(
                "{server} holds values of other lengths than {values}: {resized} of {found} \
                 sampled values differ, and their mean is {mean:.0} bytes"
            ),
        }
    }
}
