//! What a client may ask of memcached, whatever the wire form. Only meaning that is valid can be
//! decoded into these types; they own nothing and never check a key they are given.

/// The longest key, in bytes ("Keys").
pub const KEY_BYTES_MAX: usize = 250;

/// Declares the commands of the text protocol: THE table of their words.
macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident = $word:literal,)*) => {
        /// The name of a command of the text protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Verb {
            $($(#[$doc])* $verb,)*
        }

        impl Verb {
            /// Every verb, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$verb,)*];

            /// The command's word on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$verb => $word,)* }
            }

            /// The command of exactly this word.
            pub fn from_word(word: &[u8]) -> Option<Self> {
                $(if word == $word.as_bytes() {
                    return Some(Self::$verb);
                })*
                None
            }
        }
    };
}

verbs! {
    /// Read values.
    Get = "get",
    /// Read values and their cas numbers.
    Gets = "gets",
    /// Read values and give them a new expiry.
    Gat = "gat",
    /// Read values and their cas numbers, and give them a new expiry.
    Gats = "gats",
    /// Store whatever was there before.
    Set = "set",
    /// Store only if nothing is there.
    Add = "add",
    /// Store only if something is there.
    Replace = "replace",
    /// Lengthen a value at its end.
    Append = "append",
    /// Lengthen a value at its beginning.
    Prepend = "prepend",
    /// Store only if no other client stored since the cas number was read.
    Cas = "cas",
    /// Remove.
    Delete = "delete",
    /// Add to a decimal number.
    Incr = "incr",
    /// Subtract from a decimal number.
    Decr = "decr",
    /// Give a new expiry.
    Touch = "touch",
    /// Read the server's counters.
    Stats = "stats",
    /// Read the server's version.
    Version = "version",
    /// Forget everything.
    FlushAll = "flush_all",
    /// Set how much the server logs.
    Verbosity = "verbosity",
    /// Ask the server to close the connection.
    Quit = "quit",
}

/// One request. Keys are 1 to [`KEY_BYTES_MAX`] bytes without space, CR or LF. An expiry is in
/// seconds: 0 never, negative at once, up to 30 days from now, above that Unix time ("Expiration
/// times").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Read one or more values ("Retrieval command", "Get And Touch").
    Retrieve {
        /// Get, Gets, Gat or Gats.
        verb: Verb,
        /// The new expiry: given for Gat and Gats, and only for them.
        expiry: Option<i64>,
        /// What to read.
        keys: Keys<'a>,
    },
    /// Store a value ("Storage commands").
    Store {
        /// Set, Add, Replace, Append, Prepend or Cas.
        verb: Verb,
        /// Where to.
        key: &'a [u8],
        /// A number that the server keeps for the client.
        flags: u32,
        /// When the value ends.
        expiry: i64,
        /// The bytes, any at all.
        value: &'a [u8],
        /// The cas number which must still be valid: given for Cas, and only for it.
        cas: Option<u64>,
        /// Whether the client wants no answer.
        noreply: bool,
    },
    /// Remove a value ("Deletion").
    Delete {
        /// Which.
        key: &'a [u8],
        /// Whether the client wants no answer.
        noreply: bool,
    },
    /// Count up or down ("Increment/Decrement").
    Arithmetic {
        /// Incr or Decr.
        verb: Verb,
        /// Which.
        key: &'a [u8],
        /// By how much.
        delta: u64,
        /// Whether the client wants no answer.
        noreply: bool,
    },
    /// Give a new expiry ("Touch").
    Touch {
        /// Which.
        key: &'a [u8],
        /// The new expiry.
        expiry: i64,
        /// Whether the client wants no answer.
        noreply: bool,
    },
    /// Read counters ("Statistics").
    Stats {
        /// The rest of the line, such as `settings`; never empty, no spaces at its ends.
        argument: Option<&'a [u8]>,
    },
    /// Read the version ("Other commands").
    Version,
    /// Forget everything ("Other commands").
    FlushAll {
        /// Not at once, but after this expiry. A value that is not above 0 means at once.
        delay: Option<i64>,
        /// Whether the client wants no answer.
        noreply: bool,
    },
    /// Set how much the server logs ("Other commands").
    Verbosity {
        /// Up to 2 has a meaning.
        level: u32,
        /// Whether the client wants no answer.
        noreply: bool,
    },
    /// Close the connection ("Other commands").
    Quit,
}

/// The keys of one retrieval, in order: an iterator over borrowed words.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    rest: &'a [u8],
}

impl<'a> Keys<'a> {
    /// Keys that stand one after another with at least one space between; there must be at least
    /// one. A single key is its own list.
    pub const fn spaced(words: &'a [u8]) -> Self {
        Self { rest: words }
    }

    /// The keys that were not taken yet, as they stand in the request.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        crate::scan::word(&mut self.rest)
    }
}

impl PartialEq for Keys<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl Eq for Keys<'_> {}

impl std::fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.map(<[u8]>::escape_ascii)).finish()
    }
}
