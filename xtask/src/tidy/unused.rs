//! STYLE.md's tables of words not to use, which say where tidy looks for each.

const HEADING: &str = "### Words not to use";
const PHRASES: &str = "| not in messages |";

/// A word that is not used.
pub(super) struct Unused {
    pub(super) word: String,
    /// The words to use in its place.
    pub(super) instead: String,
    /// True if no comment and no document may contain it.
    pub(super) in_texts: bool,
    /// True if no identifier may contain it.
    pub(super) in_names: bool,
}

/// The words of the table in the text of STYLE.md. The third column says `texts`, `names`, both, or
/// neither, before its first semicolon.
pub(super) fn words(style: &str) -> Vec<Unused> {
    let section = style.split(HEADING).nth(1).unwrap_or_default();
    let section = section.split("\n#").next().unwrap_or_default();
    // The first two rows are the heading and its line.
    let rows = section.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|')).skip(2);
    let mut words = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [listed, but, places] = cells[..] else { continue };
        let places = places.split(';').next().unwrap_or_default();
        words.extend(listed.split(", ").map(|word| Unused {
            word: word.to_owned(),
            instead: format!("write: {but}"),
            in_texts: places.contains("texts"),
            in_names: places.contains("names"),
        }));
    }
    words
}

/// The phrases that no text of the program contains, each with what to do instead. They are code
/// spans in the first column. Letters are compared as they stand.
pub(super) fn phrases(style: &str) -> Vec<(String, String)> {
    let table = style.split(PHRASES).nth(1).unwrap_or_default().split("\n\n").next();
    let mut phrases = Vec::new();
    for row in table.unwrap_or_default().lines() {
        let Some((listed, but)) = row.trim_end_matches('|').rsplit_once('|') else { continue };
        // The parts of odd number are code spans.
        let spans = listed.split('`').skip(1).step_by(2);
        phrases.extend(spans.map(|span| (span.to_owned(), but.trim().to_owned())));
    }
    phrases
}
