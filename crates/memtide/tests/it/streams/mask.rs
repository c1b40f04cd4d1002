//! Masks figures in texts, so that only a change of words, columns, lines or streams shows.

use crate::prelude::*;

/// The lines of `text` with single spaces between words, `#` for figures, and repeated lines once.
pub(super) fn masked(text: &str, links: &Path) -> Vec<String> {
    let text = text.replace(&format!("{}/", links.display()), "").replace('\u{1b}', "ESC");
    // Warnings depend on the state of the machine.
    let has_notes = text.contains("memtide: p50 / p99");
    let is_warning = |line: &&str| {
        let of_notes = has_notes && line.starts_with("memtide: ");
        let of_cpu = line.starts_with("Warning! Detected max cpu usage");
        // Other tests create a file there for a while.
        let of_home = line.contains(".memslap.cnf is there and is read");
        of_cpu || of_home || of_notes && !line.contains("p50 / p99")
    };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !is_warning(line)) {
        let words: Vec<String> = line.split_whitespace().map(word).collect();
        let line = words.join(" ");
        let line = match line.find("believable:") {
            // The verdict depends on other users of the machine.
            Some(end) => format!("{}believable: …", &line[..end]),
            None if line.starts_with("#: #") => "#: # …".to_owned(),
            None => line,
        };
        if line.is_empty() || lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

/// A word without its figures. Numbers that are part of a name stay: p99, 5th, mcperf.cc(780).
fn word(word: &str) -> String {
    if word.ends_with("th") || word.ends_with("1st") || word.starts_with("--") {
        return word.to_owned();
    }
    let mut masked = String::new();
    let mut rest = word;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, figures) = rest.split_at(start);
        masked += before;
        let end = figures.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (figure, after) = figures.split_at(end.unwrap_or(figures.len()));
        let is_name = before.ends_with(|letter: char| letter.is_ascii_alphabetic());
        let is_place = masked.ends_with(".cc(") || masked.ends_with(".h(");
        masked += if is_name || is_place { figure } else { "#" };
        rest = after;
    }
    masked + rest
}

#[test]
fn figures_are_masked_and_names_are_not() {
    for (text, left) in [
        ("read      106.0    67.7", "read # #"),
        ("#type avg p95 p9999", "#type avg p95 p9999"),
        ("mcperf.cc(780): Find QPS @ 1000us 95th", "mcperf.cc(780): Find QPS @ #us 95th"),
        ("Total QPS = 4993.1 (149793 / 30.0s)", "Total QPS = # (# / #s)"),
        ("CPU Usage Stats (avg/min/max): 99.95%,49.24%", "CPU Usage Stats (avg/min/max): #%,#%"),
        ("a -nan 1", "a -nan #"),
    ] {
        assert_eq!(masked(text, Path::new("/nowhere")), [left]);
    }
}
