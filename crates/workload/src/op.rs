//! The operations that a workload is made of, and what can come of them. Says nothing of how an
//! operation is spelt on the wire.

/// Calls the macro `$then` with THE table of operation kinds: for each its variant, its name, what
/// it does, and its meaning. All that is said of a kind anywhere follows from its row.
#[macro_export]
macro_rules! op_kinds {
    ($then:ident) => {
        $then! {
            Get "get" Read "Read one or more keys.",
            Gets "gets" Read "Read one or more keys with their versions.",
            Set "set" Store "Store, whether or not the key exists.",
            Add "add" Store "Store only when the key does not exist.",
            Replace "replace" Store "Store only when the key exists.",
            Append "append" Store "Add bytes behind an existing value.",
            Prepend "prepend" Store "Add bytes before an existing value.",
            Cas "cas" CompareAndStore
                "Read with its version, then store unless another client stored in between.",
            Delete "delete" Remove "Remove.",
            Incr "incr" Count "Add to a decimal number.",
            Decr "decr" Count "Subtract from a decimal number.",
            Touch "touch" Touch "Set the expiry anew.",
            Gat "gat" ReadAndTouch "Read, and set the expiry anew.",
            Gats "gats" ReadAndTouch "Read with its version, and set the expiry anew.",
        }
    };
}

/// What an operation does: it decides the shape of its request, what may answer it, and which of
/// the server's counters it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read one or more keys. The server counts each key as a get.
    Read,
    /// Read one key and set its expiry anew. The server counts a touch.
    ReadAndTouch,
    /// Carry a value to the server, which counts a set.
    Store,
    /// Read, then store if nothing changed: a get and, if there was something, a set.
    CompareAndStore,
    /// Remove a key.
    Remove,
    /// Change a decimal number, which has keys of its own.
    Count,
    /// Set an expiry anew. The server counts a touch.
    Touch,
}

macro_rules! enum_of_kinds {
    ($($kind:ident $name:literal $action:ident $doc:literal,)*) => {
        /// What is asked of the server. `Cas` is a gets followed by a cas, counted as one
        /// operation.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum OpKind {
            $(#[doc = $doc] $kind,)*
        }

        impl OpKind {
            /// Every kind, in the order of [`OpKind::index`].
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind,)*];

            /// How many kinds there are.
            pub const COUNT: usize = [$($name,)*].len();

            /// The names, in the order of [`OpKind::index`].
            pub(crate) const NAMES: [&'static str; Self::COUNT] = [$($name,)*];

            /// What it does.
            #[inline]
            pub const fn action(self) -> Action {
                match self { $(Self::$kind => Action::$action,)* }
            }
        }
    };
}

op_kinds!(enum_of_kinds);

impl OpKind {
    /// The kind as a position in a table, below [`OpKind::COUNT`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name that people write and read: the word of memcached's text protocol.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// The kind of exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|&known| known == name).map(|index| Self::ALL[index])
    }

    /// Whether it does this. Cheaper than to ask for its action: one bit of a constant.
    #[inline]
    pub const fn does(self, action: Action) -> bool {
        self.is_among(KINDS_THAT[action as usize])
    }

    /// Whether it asks for a value, so that a miss matters.
    #[inline]
    pub const fn reads(self) -> bool {
        const READ: u32 =
            kinds_that(&[Action::Read, Action::ReadAndTouch, Action::CompareAndStore]);
        self.is_among(READ)
    }

    /// Whether it carries a value to the server.
    #[inline]
    pub const fn stores_value(self) -> bool {
        const STORE: u32 = kinds_that(&[Action::Store, Action::CompareAndStore]);
        self.is_among(STORE)
    }

    /// Whether it works on decimal numbers, which have keys of their own.
    #[inline]
    pub const fn is_numeric(self) -> bool {
        self.does(Action::Count)
    }

    /// Whether it can be sent without wanting an answer: all that need not read first.
    pub const fn allows_noreply(self) -> bool {
        !self.reads()
    }

    /// Whether one operation can ask for several keys.
    pub const fn allows_many_keys(self) -> bool {
        self.does(Action::Read)
    }

    /// Whether it lengthens a value, so that the length of what is stored is not the one planned.
    pub const fn lengthens_value(self) -> bool {
        matches!(self, Self::Append | Self::Prepend)
    }

    #[inline]
    const fn is_among(self, kinds: u32) -> bool {
        kinds >> self.index() & 1 == 1
    }
}

/// For each action the kinds that do it.
const KINDS_THAT: [u32; 7] = [
    kinds_that(&[Action::Read]),
    kinds_that(&[Action::ReadAndTouch]),
    kinds_that(&[Action::Store]),
    kinds_that(&[Action::CompareAndStore]),
    kinds_that(&[Action::Remove]),
    kinds_that(&[Action::Count]),
    kinds_that(&[Action::Touch]),
];

/// The kinds that do one of these, as a bit each.
const fn kinds_that(actions: &[Action]) -> u32 {
    const { assert!(OpKind::COUNT <= u32::BITS as usize) };
    let (mut kinds, mut at) = (0, 0);
    while at < OpKind::COUNT * actions.len() {
        let kind = OpKind::ALL[at % OpKind::COUNT];
        if kind.action() as u8 == actions[at / OpKind::COUNT] as u8 {
            kinds |= 1 << kind.index();
        }
        at += 1;
    }
    kinds
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
