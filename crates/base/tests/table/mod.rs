//! Tables of cases in text files, for several crates' tests. A table stands below `## name`; a row
//! is `word => part | part`, and lines behind `# ` are comments.
#![allow(dead_code)] // No crate needs all of it.

use std::fmt::{Debug, Display};
use std::str::FromStr;

/// The words of the table `name`, each with the parts behind its arrow. `''` is an empty word, `\n`
/// a line's end.
pub fn rows<'a>(text: &'a str, name: &str) -> impl Iterator<Item = (String, Vec<&'a str>)> {
    let (_, table) = text.split_once(&format!("\n## {name}\n")).expect(name);
    let table = table.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    rows.map(|row| {
        let (word, parts) = row.split_once(" =>").map_or((row, None), |(w, p)| (w, Some(p)));
        let word = word.replace("''", "").replace("\\n", "\n");
        (word, parts.into_iter().flat_map(|parts| parts.trim_start().split(" | ")).collect())
    })
}

/// The words of the table `name`.
pub fn words(text: &str, name: &str) -> Vec<String> {
    rows(text, name).map(|(word, _)| word).collect()
}

/// Asserts that each word of the table is shown as the part behind it, which reads back as it.
pub fn assert_shown<T>(text: &str, name: &str)
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug,
{
    let read = |word: &str| word.parse::<T>().unwrap_or_else(|error| panic!("{word}: {error}"));
    for (word, shown) in rows(text, name) {
        let value = read(&word);
        let shown = shown.first().copied().unwrap_or(&word);
        assert_eq!(value.to_string(), shown, "{word}");
        assert_eq!(read(shown), value, "{word}");
    }
}

/// Asserts that `said` makes of each word the text behind it.
pub fn assert_said(text: &str, name: &str, said: impl Fn(&str) -> String) {
    for (word, parts) in rows(text, name) {
        assert_eq!(said(&word), parts.join(" | "), "{word}");
    }
}

/// Asserts that `read` refuses each word of the table with a sentence that contains the parts
/// behind it.
pub fn assert_refused<T, E: Display>(text: &str, name: &str, read: impl Fn(&str) -> Result<T, E>) {
    for (word, parts) in rows(text, name) {
        let Err(error) = read(&word) else { panic!("'{word}' is not refused") };
        let sentence = error.to_string();
        for part in parts {
            assert!(sentence.contains(part), "{word}: '{part}' is not in: {sentence}");
        }
    }
}
