//! docs/scenario.md, rendered from the table of fields so that it cannot disagree with it.
//!
//! Only a test needs it: the one that holds the file equal to what is rendered here.

use crate::field::{FIELDS, Field, Section};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Scenarios

<!-- Rendered from the table of fields in crates/schema/src/field; do not edit.
     `UPDATE_DOCS=1 cargo test -p memtide-schema` renders it again. -->

A scenario is everything that `memtide run` is told. Each of its fields can be said in three
places, under one name:

| place | spelling |
|---|---|
| command line | `--key-size 40` |
| environment | `MEMTIDE_KEY_SIZE=40` |
| file | `key-size = 40` (`key_size` is read as well) |

**A flag beats the environment, which beats the file, which beats the default.** A list that is
said in one place replaces the whole list of the place it beats; nothing is joined.

Words have one grammar wherever they stand. Counts and rates take `k`, `M` and `G` (powers of
1 000), sizes `k`, `KiB`, `MiB`, `GiB` (powers of 1 024) and `kB`, `MB`, `GB` (powers of 1 000).
Times carry their unit: `ns`, `us`, `ms`, `s`, `m`, `h`, `d`. Fractions are `0.2` or `20%`. In a
file a number may also stand without quotes, a switch is `true` or `false`, and a list is an
array or a comma list. A switch on the command line needs no value; `--strict=false` takes back
what the environment or the file switches on. A flag that is given twice means its last value;
one that takes a list means all of them. The file `-` is stdin.

An empty value is an error, so that a script's unset variable changes nothing in silence; in a
file `[]` is a list of nothing. Only a password may be empty.

A word that is not allowed, a field that does not exist and fields that contradict each other
end the run before it begins, with exit code 2 and a sentence that says where and what is
allowed. Nothing is guessed.

## An example

";

/// A scenario file that the page shows and a test reads.
pub(crate) const EXAMPLE: &str = "\
# An hour of a shop's cache: a hot set, mostly reads, values as at Facebook.
server = [\"10.0.0.1\", \"10.0.0.2:11300\"]
rate = 50000
duration = \"1h\"
warmup = \"30s\"
keys = \"10M\"
key-size = \"etc-key\"
value-size = \"etc-value\"
popularity = \"zipf:0.99\"
mix = \"get=30,set=1\"
goal = [\"get.p99<1ms\", \"errors<0.1%\"]
strict = true
";

/// The page docs/scenario.md, whole.
pub(crate) fn scenario_markdown() -> String {
    let mut page = format!("{INTRODUCTION}```toml\n{EXAMPLE}```\n");
    for section in Section::ALL {
        let fields: Vec<&Field> = FIELDS.iter().filter(|f| f.section == section).collect();
        section_markdown(&mut page, section, &fields);
    }
    page
}

fn section_markdown(page: &mut String, section: Section, fields: &[&Field]) {
    let mut line = |text: String| {
        page.push_str(&text);
        page.push('\n');
    };
    line(format!("\n## {}\n", section.title()));
    line("| field | value | default | meaning |".to_owned());
    line("|---|---|---|---|".to_owned());
    for field in fields {
        line(format!(
            "| [`{}`](#{}) | {} | {} | {} |",
            field.name,
            field.name,
            cell(field.value.unwrap_or("switch")),
            cell(field.default),
            cell(field.help)
        ));
    }
    for field in fields {
        line(format!("\n### {}\n", field.name));
        line(wrapped(&format!("{} {}", spellings(field), field.long)));
    }
}

/// The flag with its short form and value, and the variable.
fn spellings(field: &Field) -> String {
    let mut text = "`".to_owned();
    let mut add = |part: std::fmt::Arguments<'_>| {
        text.write_fmt(part).expect("writing to a string does not fail");
    };
    if let Some(short) = field.short {
        add(format_args!("-{short}, "));
    }
    add(format_args!("--{}", field.name));
    if let Some(value) = field.value {
        add(format_args!(" {value}"));
    }
    add(format_args!("`, `{}`.", field.variable()));
    text
}

fn cell(text: &str) -> String {
    match text.is_empty() {
        true => "–".to_owned(),
        false => text.replace('|', "\\|"),
    }
}

/// Lines of at most 98 characters; words are never broken.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 98 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines
}

#[cfg(test)]
mod tests;
