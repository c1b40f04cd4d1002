//! The operations that a workload is made of, and what can come of them. Says nothing of how an
//! operation is spelt on the wire.

/// What is asked of the server. `Cas` is a gets followed by a cas, counted as one operation.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// Read one or more keys.
    Get,
    /// Read one or more keys with their versions.
    Gets,
    /// Store, whether or not the key exists.
    Set,
    /// Store only when the key does not exist.
    Add,
    /// Store only when the key exists.
    Replace,
    /// Add bytes behind an existing value.
    Append,
    /// Add bytes before an existing value.
    Prepend,
    /// Read with its version, then store unless somebody stored in between.
    Cas,
    /// Remove.
    Delete,
    /// Add to a decimal number.
    Incr,
    /// Subtract from a decimal number.
    Decr,
    /// Set the expiry anew.
    Touch,
    /// Read, and set the expiry anew.
    Gat,
}

impl OpKind {
    /// How many kinds there are.
    pub const COUNT: usize = 13;

    /// Every kind, in the order of [`OpKind::index`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::Get,
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

    /// The names, in the order of [`OpKind::index`].
    pub(crate) const NAMES: [&'static str; Self::COUNT] = [
        "get", "gets", "set", "add", "replace", "append", "prepend", "cas", "delete", "incr",
        "decr", "touch", "gat",
    ];

    /// The kind as a position in a table, below [`OpKind::COUNT`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name that people write and read.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// The kind of exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|&known| known == name).map(|index| Self::ALL[index])
    }

    /// Whether it asks for a value, so that a miss matters.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Get | Self::Gets | Self::Gat | Self::Cas)
    }

    /// Whether it carries a value to the server.
    pub const fn stores_value(self) -> bool {
        matches!(
            self,
            Self::Set | Self::Add | Self::Replace | Self::Append | Self::Prepend | Self::Cas
        )
    }

    /// Whether it works on decimal numbers, which have keys of their own.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Incr | Self::Decr)
    }

    /// Whether it can be sent without wanting an answer: all that need not read first.
    pub const fn allows_noreply(self) -> bool {
        !self.reads()
    }

    /// Whether one operation can ask for several keys.
    pub const fn allows_many_keys(self) -> bool {
        matches!(self, Self::Get | Self::Gets)
    }
}

/// One operation, decided but not yet rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Position in the one sequence of the run, from 0.
    pub index: u64,
    /// Id of the first key.
    pub key: u64,
    /// What is asked.
    pub kind: OpKind,
    /// How many keys, at least 1; more than 1 only for get and gets.
    pub keys: u16,
}

/// What came of an operation, as a [`crate::source::Source`] learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A value came back; of several keys, at least one.
    Hit,
    /// No value came back.
    Miss,
    /// The value was stored.
    Stored,
    /// The condition of add, replace, append or prepend did not hold.
    NotStored,
    /// Somebody else stored between the two halves of a cas.
    Exists,
    /// The key to change did not exist.
    NotFound,
    /// The key was removed.
    Deleted,
    /// The expiry was set.
    Touched,
    /// The new number came back.
    Number,
    /// Sent without wanting an answer.
    Unacknowledged,
    /// The server answered with an error.
    Failed,
    /// No answer came before the deadline.
    TimedOut,
    /// The connection that carried it went away.
    Lost,
    /// Never sent, because there was no room and waiting was not wanted.
    Dropped,
    /// Still unanswered when the run was ended early.
    Abandoned,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_positions_and_kinds_agree() {
        for (index, kind) in OpKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
            assert_eq!(OpKind::from_name(kind.name()), Some(kind));
            assert_eq!(kind.name(), format!("{kind:?}").to_lowercase());
        }
        assert_eq!(OpKind::from_name("GET"), None);
        assert_eq!(OpKind::from_name(""), None);
    }
}
