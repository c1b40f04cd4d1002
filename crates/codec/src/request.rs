//! A client's requests to memcached, in any protocol. Only valid requests decode into these types.
//! They own no memory and do not check keys.

mod flags;
pub mod meta;

/// The longest key, in bytes ("Keys").
pub const KEY_BYTES_MAX: usize = 250;

/// Declares the commands of the text protocol and their words; this is their only table.
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

            /// The command with exactly this word.
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
    /// Read values and set a new expiry.
    Gat = "gat",
    /// Read values and their cas numbers, and set a new expiry.
    Gats = "gats",
    /// Store unconditionally.
    Set = "set",
    /// Store only if the key does not exist.
    Add = "add",
    /// Store only if the key exists.
    Replace = "replace",
    /// Append to a value.
    Append = "append",
    /// Prepend to a value.
    Prepend = "prepend",
    /// Store only if no other client stored since the cas number was read.
    Cas = "cas",
    /// Remove a key.
    Delete = "delete",
    /// Add to a decimal number.
    Incr = "incr",
    /// Subtract from a decimal number.
    Decr = "decr",
    /// Set a new expiry.
    Touch = "touch",
    /// Read the server's counters.
    Stats = "stats",
    /// Read the server's version.
    Version = "version",
    /// Remove all items.
    FlushAll = "flush_all",
    /// Set the server's log level.
    Verbosity = "verbosity",
    /// Ask the server to close the connection.
    Quit = "quit",
}

/// One request. A key has 1 to [`KEY_BYTES_MAX`] bytes without space, CR or LF. An expiry is in
/// seconds ("Expiration times"): 0 means never, negative means at once, up to 30 days counts from
/// now, and more is a Unix time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Read one or more values ("Retrieval command", "Get And Touch").
    Retrieve {
        /// Get, Gets, Gat or Gats.
        verb: Verb,
        /// The new expiry; given for Gat and Gats only.
        expiry: Option<i64>,
        /// The keys to read.
        keys: Keys<'a>,
    },
    /// Store a value ("Storage commands").
    Store {
        /// Set, Add, Replace, Append, Prepend or Cas.
        verb: Verb,
        /// The key.
        key: &'a [u8],
        /// A number that the server keeps for the client.
        flags: u32,
        /// The expiry.
        expiry: i64,
        /// The value's bytes; any bytes are allowed.
        value: &'a [u8],
        /// The cas number that must still be valid; given for Cas only.
        cas: Option<u64>,
        /// True if the client wants no reply.
        noreply: bool,
    },
    /// Remove a value ("Deletion").
    Delete {
        /// The key.
        key: &'a [u8],
        /// True if the client wants no reply.
        noreply: bool,
    },
    /// Increment or decrement a number ("Increment/Decrement").
    Arithmetic {
        /// Incr or Decr.
        verb: Verb,
        /// The key.
        key: &'a [u8],
        /// The amount.
        delta: u64,
        /// True if the client wants no reply.
        noreply: bool,
    },
    /// Set a new expiry ("Touch").
    Touch {
        /// The key.
        key: &'a [u8],
        /// The new expiry.
        expiry: i64,
        /// True if the client wants no reply.
        noreply: bool,
    },
    /// Read counters ("Statistics").
    Stats {
        /// The rest of the line, such as `settings`; not empty, and without spaces at either end.
        argument: Option<&'a [u8]>,
    },
    /// Read the version ("Other commands").
    Version,
    /// Remove all items ("Other commands").
    FlushAll {
        /// Flush after this many seconds instead of at once. 0 and negative numbers mean at once.
        delay: Option<i64>,
        /// True if the client wants no reply.
        noreply: bool,
    },
    /// Set the server's log level ("Other commands").
    Verbosity {
        /// The level; 0 to 2 have a meaning.
        level: u32,
        /// True if the client wants no reply.
        noreply: bool,
    },
    /// Close the connection ("Other commands").
    Quit,
    /// A command of the meta protocol ("Meta Commands").
    Meta(meta::Request<'a>),
}

/// The keys of one retrieval, in order: an iterator over borrowed words.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    rest: &'a [u8],
}

impl<'a> Keys<'a> {
    /// Keys separated by one or more spaces. There must be at least one key; a single key is a
    /// valid list.
    pub const fn spaced(words: &'a [u8]) -> Self {
        Self { rest: words }
    }

    /// The keys that the iterator has not returned yet, as written in the request.
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
