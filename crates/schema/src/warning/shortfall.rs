//! What a fill left out, or a server holds in its place, where the scenario accepts that.

/// A server does not hold what the scenario says.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// The server does not hold every key, and the scenario accepts that.
    LoadPartial {
        /// Sampled keys that were asked for.
        sampled: u64,
        /// Those that were missing.
        missing: u64,
    },
    /// A fill stored less than all, and the scenario accepts that.
    StoresRefused {
        /// Which server.
        server: String,
        /// How many keys were stored.
        stored: u64,
        /// How many there are.
        total: u64,
        /// What the server said of the others: a clause after a semicolon, or nothing.
        why: String,
    },
    /// The values that a server holds have other lengths than the scenario says, which it accepts.
    ValuesResized {
        /// Which server.
        server: String,
        /// The lengths that the scenario says.
        values: String,
        /// Sampled values of another length.
        resized: u64,
        /// Sampled values.
        found: u64,
        /// Their mean length, in bytes.
        mean: f64,
    },
}

impl Shortfall {
    /// A stable word for programs.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::LoadPartial { .. } => "load_partial",
            Self::StoresRefused { .. } => "stores_refused",
            Self::ValuesResized { .. } => "values_resized",
        }
    }

    /// What is wrong, with its figures: a sentence without its full stop.
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

    /// What to do about it: a clause that begins with a verb.
    pub(super) const fn remedy(&self) -> &'static str {
        match self {
            Self::LoadPartial { .. } => "give the server more memory (its -m), or expect misses",
            Self::StoresRefused { .. } => {
                "find out why the server refuses stores or loses connections, or expect misses"
            }
            Self::ValuesResized { .. } => {
                "fill the server with --load auto, or set --value-size to the lengths that it holds"
            }
        }
    }
}
