//! The operations of a workload and their outcomes. Does not know how an operation is encoded.

/// Calls the macro `$then` with the table of operation kinds, the only one: for each kind its
/// variant, name, action and meaning. Everything else about a kind follows from its row.
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
            Recache "recache" Recache
                "Read; a client that wins a missing or ageing item stores it anew (meta only).",
            Invalidate "invalidate" Invalidate "Mark an item as stale (meta only).",
            Peek "peek" Peek
                "Read with its version, but no value that is known already (meta only).",
        }
    };
}

/// The action of an operation. It decides the form of the request, the possible replies, and which
/// of the server's counters move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read one or more keys. The server counts a get for each key.
    Read,
    /// Read one key and set a new expiry. The server counts a touch.
    ReadAndTouch,
    /// Send a value to the server, which counts a set.
    Store,
    /// Read, then store if the value has not changed: a get and, on a hit, a set.
    CompareAndStore,
    /// Remove a key.
    Remove,
    /// Increment or decrement a decimal number, which may have keys of its own.
    Count,
    /// Set a new expiry. The server counts a touch.
    Touch,
    /// Read, and store if the server says so: a get and, for the client that wins, a set.
    Recache,
    /// Mark an item as stale. The server counts a missing item only.
    Invalidate,
    /// Read one key whose version may be known. The server counts a get.
    Peek,
}

macro_rules! enum_of_kinds {
    ($($kind:ident $name:literal $action:ident $doc:literal,)*) => {
        /// The kind of an operation. `Cas` is a gets followed by a cas, counted as one operation.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum OpKind {
            $(#[doc = $doc] $kind,)*
        }

        impl OpKind {
            /// Every kind, in the order of [`OpKind::index`].
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind,)*];

            /// The number of kinds.
            pub const COUNT: usize = [$($name,)*].len();

            /// The names, in the order of [`OpKind::index`].
            pub(crate) const NAMES: [&'static str; Self::COUNT] = [$($name,)*];

            /// The action of this kind.
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

    /// The kind's name for users: the word of memcached's text protocol, if that has one.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// The kind with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|&known| known == name).map(|index| Self::ALL[index])
    }

    /// True if the kind has this action. One bit of a constant, so cheaper than [`OpKind::action`].
    #[inline]
    pub const fn does(self, action: Action) -> bool {
        self.is_among(KINDS_THAT[action as usize])
    }

    /// True if the kind reads a value, so that a miss matters.
    #[inline]
    pub const fn reads(self) -> bool {
        const READ: u32 = kinds_that(&[
            Action::Read,
            Action::ReadAndTouch,
            Action::CompareAndStore,
            Action::Recache,
            Action::Peek,
        ]);
        self.is_among(READ)
    }

    /// True if the kind sends a value to the server.
    #[inline]
    pub const fn stores_value(self) -> bool {
        const STORE: u32 = kinds_that(&[Action::Store, Action::CompareAndStore, Action::Recache]);
        self.is_among(STORE)
    }

    /// True if the kind stores after it has read, if what it read says so.
    #[inline]
    pub const fn stores_second(self) -> bool {
        const SECOND: u32 = kinds_that(&[Action::CompareAndStore, Action::Recache]);
        self.is_among(SECOND)
    }

    /// True if only the meta protocol has a command for it.
    pub const fn is_meta_only(self) -> bool {
        matches!(self.action(), Action::Recache | Action::Invalidate | Action::Peek)
    }

    /// True if the kind works on decimal numbers, which may have keys of their own.
    #[inline]
    pub const fn is_numeric(self) -> bool {
        self.does(Action::Count)
    }

    /// True if the operation can be sent without a reply: every kind that does not read first.
    pub const fn allows_noreply(self) -> bool {
        !self.reads()
    }

    /// True if one operation can read several keys.
    pub const fn allows_many_keys(self) -> bool {
        self.does(Action::Read)
    }

    /// True if the kind appends or prepends, so that a stored value is longer than planned.
    pub const fn lengthens_value(self) -> bool {
        matches!(self, Self::Append | Self::Prepend)
    }

    #[inline]
    const fn is_among(self, kinds: u32) -> bool {
        kinds >> self.index() & 1 == 1
    }
}

/// For each action, the kinds that have it.
const KINDS_THAT: [u32; 10] = [
    kinds_that(&[Action::Read]),
    kinds_that(&[Action::ReadAndTouch]),
    kinds_that(&[Action::Store]),
    kinds_that(&[Action::CompareAndStore]),
    kinds_that(&[Action::Remove]),
    kinds_that(&[Action::Count]),
    kinds_that(&[Action::Touch]),
    kinds_that(&[Action::Recache]),
    kinds_that(&[Action::Invalidate]),
    kinds_that(&[Action::Peek]),
];

/// The kinds that have one of these actions, one bit each.
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

/// One operation, decided but not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The position in the run's one sequence, from 0.
    pub index: u64,
    /// The id of the first key.
    pub key: u64,
    /// The kind.
    pub kind: OpKind,
    /// The number of keys, at least 1; more than 1 for get and gets only.
    pub keys: u16,
}

/// The outcome of an operation, as a [`crate::source::Source`] learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A value was returned; for several keys, at least one.
    Hit,
    /// No value was returned.
    Miss,
    /// The value was stored.
    Stored,
    /// The condition of add, replace, append or prepend did not hold.
    NotStored,
    /// Another client stored the key between the two halves of a cas.
    Exists,
    /// The key to change did not exist.
    NotFound,
    /// The key was removed.
    Deleted,
    /// The expiry was set.
    Touched,
    /// The item was marked as stale.
    Invalidated,
    /// The new number was returned.
    Number,
    /// Sent without a reply.
    Unacknowledged,
    /// The server answered with an error.
    Failed,
    /// No reply arrived before the timeout.
    TimedOut,
    /// Its connection was lost.
    Lost,
    /// Never sent: no connection had room, and the operation was not to wait.
    Dropped,
    /// Still unanswered when the run was ended early.
    Abandoned,
}

#[cfg(test)]
mod tests;
