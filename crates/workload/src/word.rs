//! Parses the words of this crate, `name` or `name:a,b,c`, and words the errors. Knows no
//! particular law.

pub(crate) use memtide_base::WordError;

/// One family of words.
pub(crate) struct Grammar {
    /// The kind of thing that a word of the family names, with its article: "a popularity".
    pub what: &'static str,
    /// Every name that may stand before the colon, for suggestions.
    pub names: &'static [&'static str],
    /// Every form, worded for a user.
    pub forms: &'static str,
}

impl Grammar {
    /// The error for `given`.
    pub fn wrong(&self, given: &str, reason: impl Into<String>) -> WordError {
        WordError {
            given: given.to_owned(),
            what: self.what,
            reason: reason.into(),
            forms: self.forms,
        }
    }

    /// The error for a name that is not in the family.
    pub fn unknown(&self, given: &str, name: &str) -> WordError {
        let reason = match nearest(name, self.names) {
            Some(near) => format!("there is no '{name}', the nearest name is '{near}'"),
            None if name.is_empty() => "a name is missing".to_owned(),
            None => format!("there is no '{name}'"),
        };
        self.wrong(given, reason)
    }

    /// The value of a word that is a name, given the values in the order of the names.
    pub fn choice<T, const N: usize>(&self, word: &str, values: [T; N]) -> Result<T, WordError> {
        let name = word.trim();
        let mut named = self.names.iter().zip(values);
        let found = named.find(|(known, _)| **known == name).map(|(_, value)| value);
        found.ok_or_else(|| self.unknown(word, name))
    }

    /// Parses exactly `N` arguments, separated by commas.
    pub fn arguments<'a, const N: usize>(
        &self,
        given: &str,
        text: Option<&'a str>,
    ) -> Result<[&'a str; N], WordError> {
        let parts: Vec<&str> = match text {
            None => Vec::new(),
            Some(text) => text.split(',').map(str::trim).collect(),
        };
        let count = parts.len();
        parts.try_into().map_err(|_| {
            let reason = match N {
                0 => format!("it takes no argument, {count} given"),
                1 => format!("it takes 1 argument, {count} given"),
                _ => format!("it takes {N} arguments, {count} given"),
            };
            self.wrong(given, reason)
        })
    }

    /// Parses a finite number for which `allowed` holds; `range` words the condition.
    pub fn number(
        &self,
        given: &str,
        argument: &str,
        range: &str,
        allowed: impl Fn(f64) -> bool,
    ) -> Result<f64, WordError> {
        match argument.parse::<f64>() {
            Ok(value) if value.is_finite() && allowed(value) => Ok(value),
            _ => Err(self.wrong(given, format!("'{argument}' must be {range}"))),
        }
    }
}

/// Splits `name:arguments`; no colon means no arguments.
pub(crate) fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once(':') {
        Some((name, arguments)) => (name.trim(), Some(arguments)),
        None => (word.trim(), None),
    }
}

/// The name closest to `word`, if close enough to be meant.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let letters = word.chars().count();
    if letters > 40 {
        return None; // Longer than any name; not worth the work.
    }
    let limit = (letters / 3).clamp(1, 3);
    names
        .iter()
        .map(|name| (strsim::osa_distance(word, name), *name))
        .filter(|&(far, _)| far <= limit)
        .min_by_key(|&(far, _)| far)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_or_none() {
        let names = ["poisson", "fixed", "uniform"];
        assert_eq!(nearest("posson", &names), Some("poisson"));
        assert_eq!(nearest("fxied", &names), Some("fixed"));
        assert_eq!(nearest("gaussian", &names), None);
        assert_eq!(nearest("", &names), None);
    }
}
