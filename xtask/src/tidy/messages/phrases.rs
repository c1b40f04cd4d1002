//! Words that no text of the program contains, because they need a second reading or name one thing
//! by two names.

/// The words, and what to write instead. Letters are compared as they stand.
const PHRASES: [(&str, &str); 17] = [
    ("cannot be meant", "say that it is invalid, and what is allowed"),
    ("takes no file", "say that it cannot be written"),
    ("prove who", "write: authenticates with"),
    ("proves the user", "write: credentials"),
    ("are said by", "write: are reported by"),
    ("costs no other", "write: does not affect the others"),
    ("hybrid or spin", "advise one of them"),
    ("spin or hybrid", "advise one of them"),
    ("Under way", "write: in flight, or backlog"),
    ("Asked and", "write: target and achieved"),
    ("apart (start skew)", "write: start skew, and its value"),
    (" questions", "write: stats requests, or the name of the request"),
    ("then a no", "write: the check fails, or the result is not believable"),
    ("generator's", "write: memtide's own delay, if that is meant"),
    ("agent's law", "write: the agent's limits"),
    ("}us", "write times with units::format_time or format_span"),
    ("}ms", "write times with units::format_time or format_span"),
];

/// The words in `text` that are not used, and what to write instead.
pub(super) fn found(text: &str) -> Option<(&'static str, &'static str)> {
    PHRASES.into_iter().find(|(words, _)| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_not_used_are_found_with_what_to_write_instead() {
        let found_in = |text| found(text).map(|(words, _)| words);
        assert_eq!(found_in("try --wait hybrid or spin"), Some("hybrid or spin"));
        assert_eq!(found_in("it took {}us"), Some("}us"));
        assert_eq!(found_in("start skew {} (± {})"), None);
    }
}
