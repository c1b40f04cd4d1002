//! Renders docs/scenario.md from the table of fields, so that both always agree.
//!
//! Used only by the test that compares the file with the rendered text.

use crate::field::{FIELDS, Field, Section};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Scenarios

<!-- Generated from the table of fields in crates/scenario/src/field; do not edit.
     `cargo xtask docs` generates it again. -->

A scenario is everything that you tell `memtide run`. Every field has one name, which you can use
in three places:

| place | spelling |
|---|---|
| command line | `--key-size 40` |
| environment | `MEMTIDE_KEY_SIZE=40` |
| file | `key-size = 40` (or `key_size`) |

**Flags override the environment, which overrides the file, which overrides the defaults.** A list
replaces the whole list of a place that it overrides; lists are never joined.

Values are written the same way in all three places. Counts and rates take `k`, `M` and `G` (powers
of 1 000), sizes `k`, `KiB`, `MiB`, `GiB` (powers of 1 024) and `kB`, `MB`, `GB` (powers of 1 000).
Times need a unit: `ns`, `us`, `ms`, `s`, `m`, `h`, `d`. Fractions are `0.2` or `20%`. In a file, a
number needs no quotes, a switch is `true` or `false`, and a list is an array or a comma list. On
the command line a switch needs no value; `--strict=false` switches off what the environment or the
file switches on. If you repeat a flag, the last value counts; for a list, all values count. The
file `-` is stdin.

An empty value is an error, so that a script's unset variable cannot change a run unnoticed. In a
file, `[]` is an empty list. Only a password may be empty.

An invalid value, an unknown field or a contradiction between fields ends the run before it starts,
with exit code 2 and a message that names the place and the allowed values. memtide never guesses.

## An example

";

/// A scenario file that the page shows and a test parses.
pub(crate) const EXAMPLE: &str = "\
# An hour of a shop's cache: a few hot keys, mostly reads, sizes of Facebook's ETC pool.
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

/// The whole page docs/scenario.md.
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
        line(wrapped(&format!("{} {}. {}", spellings(field), field.help, field.long)));
    }
}

/// The flag with its short form and value, and the environment variable.
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

/// Wraps text at 98 characters; words are never broken.
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
