//! The commands and the flags: their letters, and the words of one line. Checks nothing.

/// The longest opaque that a server repeats, in bytes.
pub const OPAQUE_BYTES_MAX: usize = 31;

/// A command of the meta protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// `mg`: read a value, its properties, or both ("Meta Get").
    Get,
    /// `ms`: store a value ("Meta Set").
    Set,
    /// `md`: remove a value or mark it as stale ("Meta Delete").
    Delete,
    /// `ma`: add to a decimal number or subtract from it ("Meta Arithmetic").
    Arithmetic,
    /// `mn`: do nothing, and say so ("Meta No-Op").
    Noop,
    /// `me`: describe an item for people ("Meta Debug").
    Debug,
}

impl Command {
    /// Every command.
    pub const ALL: [Self; 6] =
        [Self::Get, Self::Set, Self::Delete, Self::Arithmetic, Self::Noop, Self::Debug];

    /// The command's word on the wire.
    pub const fn word(self) -> &'static [u8; 2] {
        match self {
            Self::Get => b"mg",
            Self::Set => b"ms",
            Self::Delete => b"md",
            Self::Arithmetic => b"ma",
            Self::Noop => b"mn",
            Self::Debug => b"me",
        }
    }

    /// The command with exactly this word.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|command| command.word() == word)
    }
}

/// Declares the flags and their letters; this is their only table.
macro_rules! flags {
    ($($(#[$doc:meta])* $flag:ident = $letter:literal,)*) => {
        /// A flag of a request or of a reply; its number is its letter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Flag {
            $($(#[$doc])* $flag = $letter,)*
        }

        impl Flag {
            /// Every flag.
            pub const ALL: &'static [Self] = &[$(Self::$flag,)*];

            /// The flag with this letter.
            pub const fn from_letter(letter: u8) -> Option<Self> {
                match letter {
                    $($letter => Some(Self::$flag),)*
                    _ => None,
                }
            }
        }
    };
}

flags! {
    /// The key is written in base64; a reply repeats the flag if it repeats the key (`k`).
    Base64 = b'b',
    /// Return the cas number.
    ReturnCas = b'c',
    /// mg: return no value if the cas number is still this one (1.6.40 or later). Other commands:
    /// do nothing unless it is.
    CompareCas = b'C',
    /// ma: the amount, 1 if not given.
    Delta = b'D',
    /// Use this cas number for the item instead of a new one (1.6.27 or later).
    NewCas = b'E',
    /// mg: return the client's flags.
    ReturnFlags = b'f',
    /// ms: store these client's flags.
    StoreFlags = b'F',
    /// mg: return 1 if the item was read before, else 0.
    HitBefore = b'h',
    /// md: mark as stale instead of removing. ms: with `C`, store even if the item's cas number is
    /// above the given one, and mark as stale.
    Invalidate = b'I',
    /// ma: the initial number of a key that is created, 0 if not given.
    Initial = b'J',
    /// Return the key.
    Key = b'k',
    /// mg: return the seconds since the last access.
    LastAccess = b'l',
    /// Accepted and ignored; proxies use it.
    ProxyLog = b'L',
    /// ms and ma: the mode, one letter.
    Mode = b'M',
    /// Create a missing key, with this expiry.
    Vivify = b'N',
    /// Repeat this word of up to [`OPAQUE_BYTES_MAX`] bytes.
    Opaque = b'O',
    /// Accepted and ignored; proxies use it.
    ProxyPath = b'P',
    /// Send no reply in the usual case.
    Quiet = b'q',
    /// mg: win if less than these seconds are left until expiry.
    Recache = b'R',
    /// Return the length of the value; ms since 1.6.20.
    Size = b's',
    /// Return the seconds until expiry, -1 for never.
    Ttl = b't',
    /// Set this expiry.
    Expiry = b'T',
    /// mg: do not count as a use.
    NoBump = b'u',
    /// Return the value.
    Value = b'v',
    /// A reply: the client has won and shall store a new value.
    Won = b'W',
    /// md: remove the value but keep the item (1.6.27 or later).
    RemoveValue = b'x',
    /// A reply: the item is stale.
    Stale = b'X',
    /// A reply: another client has won.
    Waiting = b'Z',
}

impl Flag {
    /// True if only replies have it.
    pub(crate) const fn is_returned_only(self) -> bool {
        matches!(self, Self::Won | Self::Stale | Self::Waiting)
    }
}

/// A flag as written: its letter and the rest of its word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The letter, which may be that of no [`Flag`].
    pub letter: u8,
    /// The rest of the word; often empty.
    pub token: &'a [u8],
}

impl Word<'_> {
    /// The token as a decimal number without sign.
    pub fn number(self) -> Option<u64> {
        crate::scan::decimal(self.token)
    }

    /// The token as a decimal number with an optional sign.
    pub fn signed(self) -> Option<i64> {
        crate::scan::signed_decimal(self.token)
    }

    /// The token as a decimal number of 32 bits with an optional sign, as servers read it.
    pub(crate) fn signed_32(self) -> Option<i64> {
        self.signed().filter(|number| i32::try_from(*number).is_ok())
    }

    /// The token as a decimal number of 64 bits, before which servers allow a plus sign.
    pub(crate) fn number_signless(self) -> Option<u64> {
        crate::scan::decimal(self.token.strip_prefix(b"+").unwrap_or(self.token))
    }
}

/// A set of flags' letters, to find out cheaply whether any of them was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Letters(u64);

impl Letters {
    /// All letters.
    const ALL: Self = Self(u64::MAX);

    /// These letters.
    pub const fn of(letters: &[u8]) -> Self {
        let mut set = Self(0);
        let mut at = 0;
        while at < letters.len() {
            set = set.with(letters[at]);
            at += 1;
        }
        set
    }

    /// True if a letter is in both; bytes that differ by 64 are not distinguished.
    #[inline(always)]
    pub(crate) const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// These and one more; bytes that differ by 64 are not distinguished.
    #[inline(always)]
    pub(crate) const fn with(self, letter: u8) -> Self {
        Self(self.0 | 1 << (letter & 63))
    }
}

/// The flags of one request or reply, in order: an iterator over borrowed words.
#[derive(Clone, Copy, Default)]
pub struct Flags<'a> {
    rest: &'a [u8],
    /// The letters that may be among them.
    letters: Letters,
}

impl<'a> Flags<'a> {
    /// Flags separated by one or more spaces; may be empty.
    pub const fn spaced(words: &'a [u8]) -> Self {
        Self { rest: words, letters: Letters::ALL }
    }

    /// Flags of which no letter is outside of `letters`.
    #[inline(always)]
    pub(crate) const fn seen(words: &'a [u8], letters: Letters) -> Self {
        Self { rest: words, letters }
    }

    /// False if none of the flags has one of these letters; mostly true if one has.
    #[inline(always)]
    pub const fn may_have(&self, letters: Letters) -> bool {
        self.letters.has_any(letters)
    }

    /// The flags that the iterator has not returned yet, as written.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The first word with this flag.
    pub fn find(mut self, flag: Flag) -> Option<Word<'a>> {
        Iterator::find(&mut self, |word| word.letter == flag as u8)
    }

    /// True if a word has this flag.
    pub fn has(self, flag: Flag) -> bool {
        self.find(flag).is_some()
    }
}

impl<'a> Iterator for Flags<'a> {
    type Item = Word<'a>;

    #[inline]
    fn next(&mut self) -> Option<Word<'a>> {
        let (&letter, token) = crate::scan::word(&mut self.rest)?.split_first()?;
        Some(Word { letter, token })
    }
}

impl PartialEq for Flags<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl Eq for Flags<'_> {}

impl std::fmt::Display for Flags<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (*self).into_iter().try_for_each(|word| write!(f, " {word}"))
    }
}

impl std::fmt::Debug for Flags<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flags({self})")
    }
}

impl std::fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", [self.letter].escape_ascii(), self.token.escape_ascii())
    }
}

impl std::fmt::Debug for Word<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
