//! One line, read from its left to its right: fixed words, and numbers as C's printf writes them.
//!
//! A number that is wider or narrower than its format makes it is an error, and so is nan.

/// The rest of a line.
pub(super) struct Line<'a> {
    rest: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// True if `word` comes next.
    pub(super) fn follows(&self, word: &str) -> bool {
        self.rest.starts_with(word)
    }

    /// Skips exactly these characters.
    pub(super) fn word(&mut self, word: &str) -> Result<(), String> {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.ok_or_else(|| format!("'{word}' is missing before '{}'", self.rest))?;
        Ok(())
    }

    /// Checks that nothing is left.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.rest {
            "" => Ok(()),
            rest => Err(format!("'{rest}' is too much")),
        }
    }

    /// Reads everything before `word`, which is skipped.
    pub(super) fn up_to(&mut self, word: &str) -> Result<String, String> {
        let parts = self.rest.split_once(word);
        let (text, rest) = parts.ok_or_else(|| format!("'{word}' is missing"))?;
        self.rest = rest;
        Ok(text.to_owned())
    }

    /// Reads everything before `word`, which must end the line.
    pub(super) fn up_to_the_last(&mut self, word: &str) -> Result<String, String> {
        let text = self.rest.strip_suffix(word);
        let text = text.ok_or_else(|| format!("'{word}' is missing at the end"))?;
        self.rest = "";
        Ok(text.to_owned())
    }

    /// Reads `%<width>d`.
    pub(super) fn whole(&mut self, width: usize) -> Result<u64, String> {
        let digits = self.field(width, |c| c.is_ascii_digit())?;
        digits.parse().map_err(|_| format!("'{digits}' is not a whole number"))
    }

    /// Reads `% <width>d`, which always begins with a space.
    pub(super) fn spaced(&mut self, width: usize) -> Result<u64, String> {
        self.word(" ")?;
        self.whole(width - 1)
    }

    /// Reads `%<width>.<decimals>f`.
    pub(super) fn decimal(&mut self, width: usize, decimals: usize) -> Result<f64, String> {
        let number = self.field(width, |c| c.is_ascii_digit() || c == '.')?;
        let behind = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        if behind != decimals {
            return Err(format!("'{number}' does not have {decimals} decimals"));
        }
        number.parse().map_err(|_| format!("'{number}' is not a number"))
    }

    /// Reads a right-aligned word of characters that `of` accepts.
    fn field(&mut self, width: usize, of: impl Fn(char) -> bool) -> Result<&'a str, String> {
        let number = self.rest.trim_start_matches(' ');
        let spaces = self.rest.len() - number.len();
        let length = number.find(|c| !of(c)).unwrap_or(number.len());
        let (word, rest) = number.split_at(length);
        if word.is_empty() {
            return Err(format!("a number is missing before '{}'", self.rest));
        }
        if spaces != width.saturating_sub(length) {
            return Err(format!("'{word}' is not in a field of {width}"));
        }
        self.rest = rest;
        Ok(word)
    }
}
