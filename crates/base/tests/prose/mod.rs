//! Rules for every sentence that the program writes for people. Several crates' tests share it.

/// Returns the flaw in the style of `text`; `None` if it has none.
pub fn flaw(text: &str) -> Option<String> {
    let flawed = |what: &str| Some(format!("{what} in: {text:?}"));
    if text.trim() != text || text.is_empty() {
        return flawed("a space at an end, or nothing");
    }
    if text.contains("  ") || text.contains('\n') {
        return flawed("a stray space");
    }
    if text.contains("{}") || text.contains("{:") {
        return flawed("a value that was not put in");
    }
    if [" ,", " ;", " .", ";;", ",,", "( ", " )"].iter().any(|odd| text.contains(odd)) {
        return flawed("odd punctuation");
    }
    let words: Vec<String> = text
        .split(' ')
        // Punctuation before a word begins another clause.
        .map(|word| word.trim_start_matches('(').to_lowercase())
        .collect();
    for pair in words.windows(2) {
        let [first, second] = pair else { continue };
        let is_word = first.len() > 1 && first.chars().all(char::is_alphabetic);
        if is_word && first == second {
            return flawed("a word twice");
        }
        if first == "it" && ["the", "it", "server"].contains(&second.as_str()) {
            return flawed("two subjects");
        }
    }
    None
}

/// Returns the flaw in the style of a sentence that leaves out its subject, a server.
#[allow(dead_code, reason = "not every crate has such sentences")]
pub fn flaw_of_predicate(text: &str) -> Option<String> {
    let first = text.split(' ').next().unwrap_or_default();
    let is_verb = first.chars().all(|c| c.is_ascii_lowercase())
        && !["the", "it", "a", "an", "server", "this"].contains(&first);
    match is_verb {
        true => flaw(&format!("server a:1 {text}")).or_else(|| flaw(&format!("it {text}"))),
        false => Some(format!("it does not begin with what a server did: {text:?}")),
    }
}
