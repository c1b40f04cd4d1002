//! The numbers of the binary protocol: commands and statuses, and the properties that follow from
//! each.

use crate::reply::ErrorKind;

/// Declares the commands with their numbers; a quiet one names the form that is always answered.
macro_rules! opcodes {
    ($($(#[doc = $doc:literal])* $opcode:ident = $number:literal $(quiet $loud:ident)?,)*) => {
        /// A command ("Command Opcodes"). A quiet command is answered only when there is something
        /// to report: a quiet retrieval on a hit, any other quiet command on failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $($(#[doc = $doc])* $opcode = $number,)*
        }

        impl Opcode {
            /// Every command, in the order of its number.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$opcode),*];

            /// The form of this command that is always answered.
            pub const fn loud(self) -> Self {
                match self {
                    $($(Self::$opcode => Self::$loud,)?)*
                    loud => loud,
                }
            }
        }
    };
}

opcodes! {
    /// Read a value.
    Get = 0x00,
    /// Store unconditionally, or only if the cas number is still valid.
    Set = 0x01,
    /// Store only if the key does not exist.
    Add = 0x02,
    /// Store only if the key exists.
    Replace = 0x03,
    /// Remove a key.
    Delete = 0x04,
    /// Add to a number.
    Increment = 0x05,
    /// Subtract from a number.
    Decrement = 0x06,
    /// Close the connection.
    Quit = 0x07,
    /// Remove all items.
    Flush = 0x08,
    /// Get, quiet.
    GetQ = 0x09 quiet Get,
    /// Do nothing. Its answer shows that all commands before it are done.
    Noop = 0x0a,
    /// Read the server's version.
    Version = 0x0b,
    /// Get whose answer repeats the key.
    GetK = 0x0c,
    /// Get whose answer repeats the key, quiet.
    GetKQ = 0x0d quiet GetK,
    /// Append to a value.
    Append = 0x0e,
    /// Prepend to a value.
    Prepend = 0x0f,
    /// Read the server's counters.
    Stat = 0x10,
    /// Set, quiet.
    SetQ = 0x11 quiet Set,
    /// Add, quiet.
    AddQ = 0x12 quiet Add,
    /// Replace, quiet.
    ReplaceQ = 0x13 quiet Replace,
    /// Delete, quiet.
    DeleteQ = 0x14 quiet Delete,
    /// Increment, quiet.
    IncrementQ = 0x15 quiet Increment,
    /// Decrement, quiet.
    DecrementQ = 0x16 quiet Decrement,
    /// Quit, quiet.
    QuitQ = 0x17 quiet Quit,
    /// Flush, quiet.
    FlushQ = 0x18 quiet Flush,
    /// Append, quiet.
    AppendQ = 0x19 quiet Append,
    /// Prepend, quiet.
    PrependQ = 0x1a quiet Prepend,
    /// Set the server's log level.
    Verbosity = 0x1b,
    /// Set a new expiry.
    Touch = 0x1c,
    /// Read a value and set a new expiry.
    Gat = 0x1d,
    /// Gat, quiet.
    GatQ = 0x1e quiet Gat,
    /// List the SASL mechanisms.
    SaslList = 0x20,
    /// Begin SASL authentication.
    SaslAuth = 0x21,
    /// Continue SASL authentication.
    SaslStep = 0x22,
    /// Gat whose answer repeats the key.
    GatK = 0x23,
    /// Gat whose answer repeats the key, quiet.
    GatKQ = 0x24 quiet GatK,
}

impl Opcode {
    /// The command with this number; `None` if there is none.
    pub fn from_byte(byte: u8) -> Option<Self> {
        // 0x1f is not assigned, nor is anything above 0x24.
        let place = match byte {
            0..=0x1e => byte,
            0x20..=0x24 => byte - 1,
            _ => return None,
        };
        Some(Self::ALL[usize::from(place)])
    }

    /// True if the command is answered only when there is something to report.
    pub const fn is_quiet(self) -> bool {
        self as u8 != self.loud() as u8
    }

    /// True if an answer to the command can carry a value.
    pub const fn retrieves(self) -> bool {
        matches!(self.loud(), Self::Get | Self::GetK | Self::Gat | Self::GatK)
    }

    /// True if an answer with this status carries a value.
    pub(crate) fn brings_value(self, status: Status) -> bool {
        status == Status::SUCCESS && (self.retrieves() || self == Self::SaslList)
    }

    /// True if its answer repeats the key.
    pub const fn repeats_key(self) -> bool {
        matches!(self.loud(), Self::GetK | Self::GatK)
    }
}

/// The result of a command ("Response Status"). Servers may send numbers that have no name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(pub u16);

impl Status {
    /// The command succeeded.
    pub const SUCCESS: Self = Self(0x00);
    /// The key does not exist.
    pub const KEY_NOT_FOUND: Self = Self(0x01);
    /// The key exists, or its cas number differs.
    pub const KEY_EXISTS: Self = Self(0x02);
    /// The value is too large.
    pub const TOO_LARGE: Self = Self(0x03);
    /// The frame does not have the form that its command requires.
    pub const INVALID_ARGUMENTS: Self = Self(0x04);
    /// There is no value to append or prepend to.
    pub const NOT_STORED: Self = Self(0x05);
    /// The value is not a number.
    pub const NOT_A_NUMBER: Self = Self(0x06);
    /// The credentials are wrong or missing.
    pub const AUTHENTICATION_ERROR: Self = Self(0x20);
    /// The mechanism needs another step.
    pub const AUTHENTICATION_CONTINUE: Self = Self(0x21);
    /// The server does not know the command.
    pub const UNKNOWN_COMMAND: Self = Self(0x81);
    /// The server has no memory for the item.
    pub const OUT_OF_MEMORY: Self = Self(0x82);
    /// The server knows the command but does not support it.
    pub const NOT_SUPPORTED: Self = Self(0x83);
    /// The server failed.
    pub const INTERNAL_ERROR: Self = Self(0x84);
    /// The server is too busy.
    pub const BUSY: Self = Self(0x85);
    /// The server failed temporarily.
    const TEMPORARY_FAILURE: Self = Self(0x86);

    /// memcached's message for this status, for an answer without one.
    pub(crate) const fn words(self) -> &'static [u8] {
        match self {
            Self::KEY_NOT_FOUND => b"Not found",
            Self::KEY_EXISTS => b"Data exists for key.",
            Self::TOO_LARGE => b"Too large.",
            Self::INVALID_ARGUMENTS => b"Invalid arguments",
            Self::NOT_STORED => b"Not stored.",
            Self::NOT_A_NUMBER => b"Non-numeric server-side value for incr or decr",
            Self::AUTHENTICATION_ERROR => b"Auth failure.",
            Self::AUTHENTICATION_CONTINUE => b"Continue",
            Self::UNKNOWN_COMMAND => b"Unknown command",
            Self::OUT_OF_MEMORY => b"Out of memory",
            Self::NOT_SUPPORTED => b"Not supported",
            Self::INTERNAL_ERROR => b"Internal error",
            Self::BUSY => b"Busy",
            Self::TEMPORARY_FAILURE => b"Temporary failure",
            _ => b"Unknown status",
        }
    }

    /// The error kind of this status, as the text protocol's word for the error has it.
    pub(crate) const fn kind(self) -> ErrorKind {
        match self {
            Self::INVALID_ARGUMENTS
            | Self::NOT_A_NUMBER
            | Self::AUTHENTICATION_ERROR
            | Self::AUTHENTICATION_CONTINUE => ErrorKind::Client,
            Self::UNKNOWN_COMMAND => ErrorKind::Error,
            _ => ErrorKind::Server,
        }
    }
}

#[cfg(test)]
mod tests;
