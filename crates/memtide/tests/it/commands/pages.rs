//! The commands that a page shows: lines of its code blocks, split as a shell splits them. It
//! expands nothing, and refuses a line that it cannot split.

use crate::prelude::*;

/// The name of a program at the beginning of a line.
const PROGRAM: &str = "memtide";
/// How a step of a job on GitHub begins.
const STEP: &str = "- run: ";
/// How the program is started where it is not installed.
const BY_CARGO: &str = "cargo run --release --";
/// Languages of blocks whose lines are output unless a prompt stands before them.
const OUTPUT: &str = "text";

/// One code block.
pub(super) struct Block {
    pub(super) page: String,
    /// What stands behind its fence; empty for none and for an indented block.
    language: String,
    /// Each line with its number. Lines that continue with a backslash are one.
    lines: Vec<(usize, String)>,
}

/// One command line as it stands on a page.
pub(super) struct Command {
    /// Page and line.
    pub(super) place: String,
    pub(super) text: String,
    /// What is assigned before the program's name.
    pub(super) variables: Vec<(String, String)>,
    /// The words behind the program's name.
    pub(super) words: Vec<String>,
    /// What stands behind them for the shell: a pipe, or `&`.
    pub(super) rest: String,
}

impl Command {
    /// The command among those of memtide; empty if there is none.
    pub(super) fn verb(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// True if `word` is one of its words, also with a value behind `=`.
    pub(super) fn has(&self, word: &str) -> bool {
        let begins = |it: &String| it.strip_prefix(word).is_some_and(|rest| rest.starts_with('='));
        self.words.iter().any(|it| it == word || begins(it))
    }

    /// The value of a flag, in either form.
    pub(super) fn value(&self, flag: &str) -> Option<&str> {
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if word == flag {
                return words.next().map(String::as_str);
            }
            if let Some(value) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
                return Some(value);
            }
        }
        None
    }

    /// The words between the command and its first flag.
    pub(super) fn operands(&self) -> impl Iterator<Item = &str> {
        let behind = self.words.iter().skip(1).map(String::as_str);
        behind.take_while(|word| !word.starts_with('-'))
    }
}

/// What a line of a block holds.
pub(super) enum Line {
    /// A command of memtide.
    Command(Command),
    /// A command of another program, with one of memtide inside; its place and text.
    Within(String, String),
}

impl Block {
    /// Its lines that hold a command of memtide, by paragraphs.
    pub(super) fn paragraphs(&self) -> Vec<Vec<Line>> {
        let paragraphs = self.lines.split(|(_, text)| text.is_empty());
        let line = |(number, text): &(usize, String)| self.line(*number, text);
        paragraphs.map(|lines| lines.iter().filter_map(line).collect()).collect()
    }

    fn line(&self, number: usize, text: &str) -> Option<Line> {
        let place = format!("{}:{number}", self.page);
        // Behind a prompt that names a machine stands the command.
        let (begin, behind) = text.split_once("$ ").unwrap_or(("-", text));
        let is_prompt = begin.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self.language == OUTPUT && !is_prompt {
            return None;
        }
        let line = if is_prompt { behind } else { text };
        let line = line.strip_prefix(STEP).unwrap_or(line).replace(BY_CARGO, PROGRAM);
        let Some((mut words, rest)) = split(&line) else {
            // It is prose, or nothing that can be run.
            let is_within = has_program(&line);
            return is_within.then_some(Line::Within(place, line));
        };
        let variables: Vec<_> = words.iter().map_while(|word| assignment(word)).collect();
        words.drain(..variables.len());
        if words.first().is_some_and(|word| word == PROGRAM) {
            words.remove(0);
            return Some(Line::Command(Command { place, text: line, variables, words, rest }));
        }
        let is_within = has_program(&words.join(" ")) || has_program(&rest);
        is_within.then_some(Line::Within(place, line))
    }
}

/// True if a command of memtide stands somewhere in `text`.
fn has_program(text: &str) -> bool {
    let begins = |at: usize| text[..at].chars().next_back().is_none_or(|it| "/ ('\"".contains(it));
    text.match_indices("memtide ").any(|(at, _)| begins(at))
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    (is_name && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

/// The words of a line up to the first operator of the shell, and the rest of the line. None if a
/// quote is not closed.
fn split(line: &str) -> Option<(Vec<String>, String)> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => return Some((words, String::new())),
            (None, '|' | '&' | ';' | '<' | '>') => {
                words.extend(word.take());
                return Some((words, line[at..].trim().to_owned()));
            }
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some((words, String::new()))
}

/// The repository's folder.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page for users, by its path from the repository's folder.
pub(super) fn all() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/compat"] {
        pages.extend(names(folder).filter(|name| name.ends_with(".md")));
    }
    let readmes = names("deploy").map(|folder| format!("{folder}/README.md"));
    pages.extend(readmes.filter(|page| root().join(page).exists()));
    pages
}

fn names(folder: &str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    entries.map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy()))
}

/// The code blocks of a page: fenced ones, and indented ones behind an empty line.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<(bool, Block)> = None;
    let mut is_behind_empty = true;
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        let indented = line.strip_prefix("    ");
        let new = |language: &str| {
            let (page, language) = (page.to_owned(), language.trim().to_owned());
            Block { page, language, lines: Vec::new() }
        };
        match (&mut open, fence) {
            (Some((true, _)), Some(_)) => blocks.extend(open.take().map(|(_, block)| block)),
            (Some((true, block)), None) => block.add(index + 1, line.trim_start()),
            (_, Some(language)) => {
                blocks.extend(open.take().map(|(_, block)| block));
                open = Some((true, new(language)));
            }
            (Some((false, block)), None) if indented.is_some() => {
                block.add(index + 1, indented.unwrap_or_default());
            }
            (_, None) => {
                blocks.extend(open.take().map(|(_, block)| block));
                if let Some(line) = indented.filter(|_| is_behind_empty) {
                    let mut block = new("");
                    block.add(index + 1, line);
                    open = Some((false, block));
                }
            }
        }
        is_behind_empty = line.trim().is_empty();
    }
    blocks.extend(open.map(|(_, block)| block));
    blocks
}

impl Block {
    fn add(&mut self, number: usize, line: &str) {
        if let Some((_, last)) = self.lines.last_mut()
            && last.ends_with('\\')
        {
            last.pop();
            last.push_str(line.trim_start());
        } else {
            self.lines.push((number, line.to_owned()));
        }
    }

    /// The name and text of the file that it shows: one in TOML whose first line is its name.
    pub(super) fn file(&self) -> Option<(String, String)> {
        let (_, first) = self.lines.first().filter(|_| self.language == "toml")?;
        let name = first.strip_prefix("# ").filter(|name| name.ends_with(".toml"))?;
        let lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.as_str()).collect();
        Some((name.to_owned(), lines.join("\n")))
    }
}

#[test]
fn lines_are_split_as_a_shell_splits_them() {
    type Expected = Option<(&'static [&'static str], &'static str)>;
    let cases: [(&str, Expected); 6] = [
        (
            "memtide run -s a  --rate 1k # why",
            Some((&["memtide", "run", "-s", "a", "--rate", "1k"], "")),
        ),
        (
            "A=b memtide --goal 'all.p99<1 ms'",
            Some((&["A=b", "memtide", "--goal", "all.p99<1 ms"], "")),
        ),
        ("memtide agent &", Some((&["memtide", "agent"], "&"))),
        ("memtide run --json - | jq '.a'", Some((&["memtide", "run", "--json", "-"], "| jq '.a'"))),
        ("--out \"a b\"c#d ''", Some((&["--out", "a bc#d", ""], ""))),
        ("it's prose", None),
    ];
    for (line, expected) in cases {
        let expected = expected.map(|(words, rest)| {
            (words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), rest.to_owned())
        });
        assert_eq!(split(line), expected, "{line}");
    }
}
