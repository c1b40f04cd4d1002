//! The numbers of the binary protocol: commands and statuses, and what follows from each alone.

use crate::reply::ErrorKind;

/// A command ("Command Opcodes"). A quiet one is answered only when it has something to tell: a
/// quiet retrieval when it hits, any other when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// Read a value.
    Get = 0x00,
    /// Store whatever was there before, or only if the cas number is still valid.
    Set = 0x01,
    /// Store only if nothing is there.
    Add = 0x02,
    /// Store only if something is there.
    Replace = 0x03,
    /// Remove.
    Delete = 0x04,
    /// Add to a number.
    Increment = 0x05,
    /// Subtract from a number.
    Decrement = 0x06,
    /// Close the connection.
    Quit = 0x07,
    /// Forget everything.
    Flush = 0x08,
    /// Get, quietly.
    GetQ = 0x09,
    /// Nothing; its answer shows that all before it is done.
    Noop = 0x0a,
    /// Read the server's version.
    Version = 0x0b,
    /// Get, answered with the key.
    GetK = 0x0c,
    /// Get, answered with the key, quietly.
    GetKQ = 0x0d,
    /// Lengthen a value at its end.
    Append = 0x0e,
    /// Lengthen a value at its beginning.
    Prepend = 0x0f,
    /// Read the server's counters.
    Stat = 0x10,
    /// Set, quietly.
    SetQ = 0x11,
    /// Add, quietly.
    AddQ = 0x12,
    /// Replace, quietly.
    ReplaceQ = 0x13,
    /// Delete, quietly.
    DeleteQ = 0x14,
    /// Increment, quietly.
    IncrementQ = 0x15,
    /// Decrement, quietly.
    DecrementQ = 0x16,
    /// Quit, quietly.
    QuitQ = 0x17,
    /// Flush, quietly.
    FlushQ = 0x18,
    /// Append, quietly.
    AppendQ = 0x19,
    /// Prepend, quietly.
    PrependQ = 0x1a,
    /// Set how much the server logs.
    Verbosity = 0x1b,
    /// Give a new expiry.
    Touch = 0x1c,
    /// Read a value and give it a new expiry.
    Gat = 0x1d,
    /// Gat, quietly.
    GatQ = 0x1e,
    /// Which mechanisms there are to authenticate with.
    SaslList = 0x20,
    /// Begin to authenticate.
    SaslAuth = 0x21,
    /// Go on to authenticate.
    SaslStep = 0x22,
    /// Gat, answered with the key.
    GatK = 0x23,
    /// Gat, answered with the key, quietly.
    GatKQ = 0x24,
}

impl Opcode {
    /// Every command, in the order of its number.
    pub const ALL: [Self; 36] = [
        Self::Get,
        Self::Set,
        Self::Add,
        Self::Replace,
        Self::Delete,
        Self::Increment,
        Self::Decrement,
        Self::Quit,
        Self::Flush,
        Self::GetQ,
        Self::Noop,
        Self::Version,
        Self::GetK,
        Self::GetKQ,
        Self::Append,
        Self::Prepend,
        Self::Stat,
        Self::SetQ,
        Self::AddQ,
        Self::ReplaceQ,
        Self::DeleteQ,
        Self::IncrementQ,
        Self::DecrementQ,
        Self::QuitQ,
        Self::FlushQ,
        Self::AppendQ,
        Self::PrependQ,
        Self::Verbosity,
        Self::Touch,
        Self::Gat,
        Self::GatQ,
        Self::SaslList,
        Self::SaslAuth,
        Self::SaslStep,
        Self::GatK,
        Self::GatKQ,
    ];

    /// The command of this number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Self> {
        // There is a gap at 0x1f, and nothing above 0x24.
        let place = match byte {
            0..=0x1e => byte,
            0x20..=0x24 => byte - 1,
            _ => return None,
        };
        Some(Self::ALL[usize::from(place)])
    }

    /// Whether it is answered only when it has something to tell.
    pub const fn is_quiet(self) -> bool {
        self as u8 != self.loud() as u8
    }

    /// The same command with an answer in any case.
    pub const fn loud(self) -> Self {
        match self {
            Self::GetQ => Self::Get,
            Self::GetKQ => Self::GetK,
            Self::SetQ => Self::Set,
            Self::AddQ => Self::Add,
            Self::ReplaceQ => Self::Replace,
            Self::DeleteQ => Self::Delete,
            Self::IncrementQ => Self::Increment,
            Self::DecrementQ => Self::Decrement,
            Self::QuitQ => Self::Quit,
            Self::FlushQ => Self::Flush,
            Self::AppendQ => Self::Append,
            Self::PrependQ => Self::Prepend,
            Self::GatQ => Self::Gat,
            Self::GatKQ => Self::GatK,
            loud => loud,
        }
    }

    /// Whether it is answered with a value.
    pub const fn retrieves(self) -> bool {
        matches!(self.loud(), Self::Get | Self::GetK | Self::Gat | Self::GatK)
    }

    /// Whether an answer of this status carries a value.
    pub(crate) fn brings_value(self, status: Status) -> bool {
        status == Status::SUCCESS && (self.retrieves() || self == Self::SaslList)
    }

    /// Whether its answer repeats the key.
    pub const fn repeats_key(self) -> bool {
        matches!(self.loud(), Self::GetK | Self::GatK)
    }
}

/// How a command went ("Response Status"). Servers may know more of them than are named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(pub u16);

impl Status {
    /// Well.
    pub const SUCCESS: Self = Self(0x00);
    /// There is no such key.
    pub const KEY_NOT_FOUND: Self = Self(0x01);
    /// There is one, or it has another cas number.
    pub const KEY_EXISTS: Self = Self(0x02);
    /// The value is too large.
    pub const TOO_LARGE: Self = Self(0x03);
    /// The frame is not as its command wants it.
    pub const INVALID_ARGUMENTS: Self = Self(0x04);
    /// There is nothing to lengthen.
    pub const NOT_STORED: Self = Self(0x05);
    /// The value is no number.
    pub const NOT_A_NUMBER: Self = Self(0x06);
    /// The credentials are refused, or there have been none.
    pub const AUTHENTICATION_ERROR: Self = Self(0x20);
    /// The mechanism wants another step.
    pub const AUTHENTICATION_CONTINUE: Self = Self(0x21);
    /// There is no such command.
    pub const UNKNOWN_COMMAND: Self = Self(0x81);
    /// There is no memory for it.
    pub const OUT_OF_MEMORY: Self = Self(0x82);
    /// The server knows the command and does not do it.
    pub const NOT_SUPPORTED: Self = Self(0x83);
    /// The server failed.
    pub const INTERNAL_ERROR: Self = Self(0x84);
    /// The server has too much to do.
    pub const BUSY: Self = Self(0x85);
    /// The server failed for now.
    const TEMPORARY_FAILURE: Self = Self(0x86);

    /// What a server's own words would be, if it gave none.
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

    /// Whose fault it is. The text protocol's words for the same say so.
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
mod tests {
    use super::*;

    #[test]
    fn every_number_is_its_own_command_or_none() {
        let known = (0..=u8::MAX).filter_map(|byte| {
            let opcode = Opcode::from_byte(byte)?;
            assert_eq!(opcode as u8, byte);
            Some(opcode)
        });
        assert_eq!(known.collect::<Vec<_>>(), Opcode::ALL);
    }

    #[test]
    fn fourteen_commands_are_quiet() {
        assert_eq!(Opcode::ALL.iter().filter(|opcode| opcode.is_quiet()).count(), 14);
        assert!(Opcode::ALL.iter().all(|opcode| !opcode.loud().is_quiet()));
    }
}
