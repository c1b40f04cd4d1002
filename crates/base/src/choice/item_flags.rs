//! The properties of an item that a read may ask a server for: letters, as users and servers write
//! them. What they mean is known elsewhere.

use std::fmt;
use std::str::FromStr;

/// A set of letters, in the order of [`ItemFlags::LETTERS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemFlags(u8);

impl ItemFlags {
    /// Every letter: seconds until expiry, read before, seconds since the last access, size, flags
    /// and cas number.
    pub const LETTERS: &'static [u8; 6] = b"thlsfc";

    /// The letters of the set.
    pub fn letters(self) -> impl Iterator<Item = u8> {
        let numbered = (0..).zip(*Self::LETTERS);
        numbered.filter(move |(nth, _)| self.0 >> nth & 1 == 1).map(|(_, letter)| letter)
    }

    /// True if the set has no letter.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromStr for ItemFlags {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let mut flags = Self::default();
        let letters = word.bytes().filter(|letter| !matches!(letter, b' ' | b','));
        for letter in letters {
            let nth = Self::LETTERS.iter().position(|known| *known == letter);
            let nth = nth.ok_or_else(|| {
                format!("'{word}' has a letter that is none of t, h, l, s, f and c: write thl")
            })?;
            flags.0 |= 1 << nth;
        }
        Ok(flags)
    }
}

impl fmt::Display for ItemFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.letters().try_for_each(|letter| write!(f, "{}", char::from(letter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_a_set() {
        for (word, shown) in [("", ""), ("thl", "thl"), ("l t,t", "tl"), ("cfslht", "thlsfc")] {
            assert_eq!(word.parse::<ItemFlags>().unwrap().to_string(), shown, "{word}");
        }
        assert!("v".parse::<ItemFlags>().is_err());
    }
}
